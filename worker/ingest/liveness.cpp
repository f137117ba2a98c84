#include "worker/ingest/liveness.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

namespace feedmill {

namespace asio = boost::asio;

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
