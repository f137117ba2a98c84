#include "worker/ingest/reading_threads.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds longest_turn{2};

/// Longer than a document's step limit can take on a busy machine.
std::chrono::seconds longest_to_read(std::uint64_t document_bytes) {
  return std::chrono::seconds(30 + 4 * (document_bytes >> 20U));
}

}  // namespace

ReadingThreads::ReadingThreads(std::size_t threads, MemoryBudget& memory)
    : threads_(threads), most_of_one_host_(std::max<std::size_t>(threads / 2, 1)), memory_(memory), pool_(threads) {}

ReadingThreads::~ReadingThreads() {
  pool_.join();
  want_no_memory();
}

/// A turn ends with a posted callback, which runs after everything that was ready and after a poll for new events.
asio::awaitable<void> ReadingThreads::turn_of_loop() {
  const auto executor = co_await asio::this_coro::executor;
  for (;;) {
    if (!*in_turn_) {
      *in_turn_ = true;
      turn_began_ = Clock::now();
      asio::post(executor, [in_turn = in_turn_] { *in_turn = false; });
    }
    if (Clock::now() - turn_began_ < longest_turn) co_return;
    co_await asio::post(executor, asio::use_awaitable);
  }
}

/// Waits in line; returns true once the document has a thread, false if there was no memory for it.
asio::awaitable<bool> ReadingThreads::enter(Document& document) {
  asio::steady_timer wake(co_await asio::this_coro::executor, Clock::time_point::max());
  document.host = hosts_.try_emplace(document.name).first;
  Host& host = document.host->second;
  if (host.waiting.empty()) host.turn = line_.insert(line_.end(), document.host);
  document.place = host.waiting.insert(host.waiting.end(), &document);
  ++waiting_;
  document.wake = &wake;
  admit();
  while (document.wake != nullptr) {
    const auto [interrupted] = co_await wake.async_wait(asio::as_tuple(asio::use_awaitable));
    if (document.wake == nullptr) break;
    const auto cancelled = (co_await asio::this_coro::cancellation_state).cancelled();
    if (interrupted && cancelled == asio::cancellation_type::none) continue;  // from now on it waits for memory
    leave_line(document);
    admit();
    if (interrupted) throw boost::system::system_error(asio::error::operation_aborted);
    co_return false;
  }
  co_return true;
}

void ReadingThreads::admit() {
  while (reading_.size() < threads_ && admit_one()) {
  }
}

/// A document without memory blocks only documents of its own host, except one with the share that may always grow:
/// that one frees the memory it waits for.
bool ReadingThreads::admit_one() {
  for (const Hosts::iterator at : line_) {
    Host& host = at->second;
    if (host.busy >= most_of_one_host_) continue;
    auto next = host.waiting.begin();
    if (!finds_memory(**next)) {
      if (!std::exchange((*next)->refused, true)) (*next)->wake->expires_after((*next)->longest);
      next = std::ranges::find_if(host.waiting, [](const Document* one) { return one->share.may_always_grow(); });
      if (next == host.waiting.end() || !finds_memory(**next)) continue;
    }
    Document& document = **next;
    reading_.splice(reading_.end(), host.waiting, document.place);
    --waiting_;
    if (host.waiting.empty())
      line_.erase(host.turn);
    else
      line_.splice(line_.end(), line_, host.turn);
    ++host.busy;
    document.begun = Clock::now();
    std::exchange(document.wake, nullptr)->cancel();
    return true;
  }
  return false;
}

/// Whether there is memory for the document; if not, admit() runs again once any loop releases memory.
bool ReadingThreads::finds_memory(const Document& document) {
  if (document.share.cover_reading(document.bytes)) return true;
  if (released_) return false;
  released_ = LoopCall(document.wake->get_executor(), [this] {
    released_ = {};
    admit();
    memory_.serve_waiting();
  });
  memory_.on_released(released_);
  return document.share.cover_reading(document.bytes);  // memory may have been released in between
}

void ReadingThreads::want_no_memory() {
  memory_.forget(released_);
  released_.cancel();
  released_ = {};
}

void ReadingThreads::leave(Document& document) {
  reading_.erase(document.place);
  ++read_;
  Host& host = document.host->second;
  --host.busy;
  if (!host.waiting.empty())
    line_.splice(line_.end(), line_, host.turn);
  else if (host.busy == 0)
    hosts_.erase(document.host);
  admit();
}

void ReadingThreads::leave_line(Document& document) {
  Host& host = document.host->second;
  host.waiting.erase(document.place);
  if (--waiting_ == 0) want_no_memory();
  if (!host.waiting.empty()) return;
  line_.erase(host.turn);
  if (host.busy == 0) hosts_.erase(document.host);
}

ReadingThreads::Progress ReadingThreads::progress(Clock::time_point now) const {
  Progress progress{threads_, reading_.size(), waiting_, read_, {}, false};
  for (const Document* document : reading_) {
    progress.longest = std::max(progress.longest, now - document->begun);
    if (now - document->begun > longest_to_read(document->bytes)) progress.stuck = true;
  }
  return progress;
}

namespace {

constexpr std::chrono::seconds tick_every{1}, longest_silence{10};

}  // namespace

asio::awaitable<void> Liveness::tick() {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    looped_ = Clock::now();
    timer.expires_after(tick_every);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

std::vector<Check> Liveness::checks(Clock::time_point now) const {
  const bool loop = now - looped_ <= longest_silence;
  const ReadingThreads::Progress reading = reading_.progress(now);
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(reading.longest).count();
  std::string detail;
  if (reading.stuck) {
    detail = fmt::format("stuck: a thread has been reading one document for {} s", longest);
  } else if (reading.busy > 0) {
    detail = fmt::format("busy: {} of {} threads reading, the longest for {} s; {} documents waiting, {} read",
                         reading.busy, reading.threads, longest, reading.waiting, reading.read);
  }
  return {{"loop", loop, loop ? "" : "the event loop has been blocked for 10 s"},
          {"threads", !reading.stuck, std::move(detail)}};
}

bool Liveness::alive() const {
  return std::ranges::all_of(checks(), &Check::passed);
}

}  // namespace feedmill
