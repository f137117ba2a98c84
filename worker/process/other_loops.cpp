#include "worker/process/other_loops.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <pthread.h>
#include <time.h>

namespace feedmill {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds check_every{1}, longest_silence{10};  // RELIABILITY H1

}  // namespace

OtherLoops::OtherLoops(asio::any_io_executor first, const Config& config, std::size_t cpu_threads,
                       std::vector<IngestTask> tasks, const SharedByLoops& shared)
    : first_(std::move(first)), ended_(first_, SteadyClock::time_point::max()) {
  for (IngestTask& task : tasks)
    loops_.push_back(std::make_unique<Other>(config, cpu_threads, std::move(task), shared));
}

OtherLoops::~OtherLoops() {
  for (const auto& other : loops_) {
    other->loop.stop();
    if (other->thread.joinable()) other->thread.join();
  }
}

void OtherLoops::start(const std::string& store_id, const std::function<asio::awaitable<void>(IngestParts&)>& beside,
                       std::function<void()> failed) {
  failed_ = std::move(failed);
  for (const auto& other : loops_) {
    other->parts.refresher.set_store_id(store_id);
    other->checked = SteadyClock::now();
    asio::co_spawn(other->loop, serve(*other, beside),
                   [this, &other = *other](const std::exception_ptr& error, Worker::End end) {
                     asio::post(first_, [this, &other, error, end] { note_end(other, error, end); });
                   });
    other->thread = std::thread([this, &loop = other->loop] {
      try {
        loop.run();
      } catch (...) {  // ends the process, as on the first loop
        asio::post(first_, [error = std::current_exception()] { std::rethrow_exception(error); });
      }
    });
    other->runs = true;
  }
}

/// `a || b` waits for b if a throws, so the worker's exception is caught and rethrown when both have ended.
asio::awaitable<Worker::End> OtherLoops::serve(Other& other,
                                               std::function<asio::awaitable<void>(IngestParts&)> beside) {
  Worker::End end = Worker::End::store_away;
  std::exception_ptr error;
  const auto work = [&]() -> asio::awaitable<void> {
    try {
      end = co_await other.parts.worker.run();
    } catch (...) {
      error = std::current_exception();
    }
  };
  co_await (work() || (beside(other.parts) && check(other)));
  if (error) std::rethrow_exception(error);
  co_return end;
}

asio::awaitable<void> OtherLoops::check(Other& other) {
  asio::steady_timer timer(other.loop);
  for (;;) {
    std::vector<Check> checks = other.parts.liveness.checks();
    {
      const std::lock_guard lock(other.mutex);
      other.checks = std::move(checks);
      other.checked = SteadyClock::now();
    }
    timer.expires_after(check_every);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void OtherLoops::note_end(Other& other, const std::exception_ptr& error, Worker::End end) {
  if (error) {
    error_ = error;
    failed_();
  }
  end_ = std::max(end_, end);
  other.runs = false;
  ended_.cancel();
}

asio::awaitable<Worker::End> OtherLoops::ended() {
  while (std::ranges::any_of(loops_, [](const auto& other) { return other->runs; }))
    co_await ended_.async_wait(asio::as_tuple(asio::use_awaitable));
  if (error_) std::rethrow_exception(error_);
  co_return end_;
}

std::vector<std::chrono::nanoseconds> OtherLoops::cpu_times() const {
  std::vector<std::chrono::nanoseconds> times;
  for (const auto& other : loops_) {
    clockid_t clock{};
    timespec took{};
    // A thread's clock is valid until the thread is joined, even after it has ended.
    if (other->thread.joinable() && pthread_getcpuclockid(other->thread.native_handle(), &clock) == 0)
      ::clock_gettime(clock, &took);
    times.push_back(std::chrono::seconds(took.tv_sec) + std::chrono::nanoseconds(took.tv_nsec));
  }
  return times;
}

void OtherLoops::add_to(std::vector<Check>& checks) const {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    if (!loops_[i]->runs) continue;
    const std::lock_guard lock(loops_[i]->mutex);
    for (Check& first : checks) {
      if (!first.passed) continue;
      const auto same = std::ranges::find(loops_[i]->checks, first.name, &Check::name);
      if (same != loops_[i]->checks.end() && !same->passed) first = *same;
      if (first.name == "loop" && SteadyClock::now() - loops_[i]->checked > longest_silence)
        first = {"loop", false, fmt::format("event loop {} has been blocked for 10 s", i + 2)};
    }
  }
}

}  // namespace feedmill
