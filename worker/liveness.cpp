#include "worker/liveness.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds tick_every{1}, longest_silence{10};

}  // namespace

asio::awaitable<void> Liveness::tick() {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    looped_ = Clock::now();
    if (answered_.exchange(false)) {
      asked_ = looped_;
      asio::post(cpu_, [this] { answered_ = true; });
    }
    timer.expires_after(tick_every);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

std::vector<Check> Liveness::checks() const {
  const auto now = Clock::now();
  const bool loop = now - looped_ <= longest_silence;
  const bool threads = answered_ || now - asked_ <= longest_silence;
  return {{"loop", loop, loop ? "" : "the event loop has not turned for 10 s"},
          {"threads", threads, threads ? "" : "no thread that parses was free for 10 s"}};
}

bool Liveness::alive() const {
  return std::ranges::all_of(checks(), &Check::passed);
}

}  // namespace feedmill
