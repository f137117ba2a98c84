#include "worker/websub/websub.hpp"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

WebSub::WebSub(const asio::any_io_executor& executor, const StoreOptions& store, Options options, const Parts& parts)
    : answers_hubs_(options.answers_hubs),
      drain_(options.drain),
      store_(executor, store),
      intake_(executor, parts.refresher, parts.threads, store_, parts.metrics, parts.log, std::move(options.intake)),
      subscriber_(executor, parts.fetcher, store_, parts.partitions, parts.metrics, parts.log,
                  std::move(options.subscriber)),
      callbacks_({store_, intake_, parts.memory, parts.metrics, parts.log}),
      end_(executor, asio::steady_timer::time_point::max()) {}

asio::awaitable<void> WebSub::run() {
  co_await (subscriber_.run() && intake_.run() && take());
}

/// Accepts requests from hubs until the drain is over; accepted pushes are still written after that.
asio::awaitable<void> WebSub::take() {
  co_await wait_for_end();
  callbacks_.close();
  intake_.finish();
}

asio::awaitable<void> WebSub::wait_for_end() {
  for (;;) {
    co_await end_.async_wait(asio::as_tuple(asio::use_awaitable));
    const auto cancelled = (co_await asio::this_coro::cancellation_state).cancelled();
    if (cancelled != asio::cancellation_type::none) co_return;
    if (stopped_ && asio::steady_timer::clock_type::now() >= end_.expiry()) co_return;
  }
}

void WebSub::stop() {
  if (std::exchange(stopped_, true)) return;
  subscriber_.stop(drain_);
  end_.expires_after(answers_hubs_ ? drain_ : Milliseconds(0));
}

void WebSub::hurry() {
  stop();
  subscriber_.stop(Milliseconds(0));
  end_.expires_after(Milliseconds(0));
}

}  // namespace feedmill
