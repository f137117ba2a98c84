#include "worker/push_out/engine.hpp"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

PushOutEngine::PushOutEngine(const asio::any_io_executor& executor, const StoreOptions& store, const FeedHomes& homes,
                             EventTail& tail, Fetcher& fetcher, OutgoingMemory& memory, VerificationLimit& sites,
                             Metrics& metrics, Log& log, Options options)
    : store_(store),
      due_(executor),
      fan_out_(executor, store_, tail, due_, metrics, {options.token, options.look, options.lead}),
      dispatcher_(executor, store, {store_, homes, tail, due_, fetcher, memory, sites, metrics, log},
                  std::move(options)),
      end_(executor, asio::steady_timer::time_point::max()) {}

void PushOutEngine::stop(Milliseconds grace) {
  stopping_ = true;
  fan_out_.stop();
  dispatcher_.stop();
  end_.expires_after(grace);
}

asio::awaitable<void> PushOutEngine::run() {
  co_await ((fan_out_.run() && dispatcher_.run()) || wait_for_end());
  co_await dispatcher_.lay_down();
  co_await fan_out_.let_go();
}

asio::awaitable<void> PushOutEngine::wait_for_end() {
  for (;;) {
    co_await end_.async_wait(asio::as_tuple(asio::use_awaitable));
    const auto cancelled = (co_await asio::this_coro::cancellation_state).cancelled();
    if (cancelled != asio::cancellation_type::none) co_return;
    if (stopping_ && asio::steady_timer::clock_type::now() >= end_.expiry()) co_return;
  }
}

}  // namespace feedmill
