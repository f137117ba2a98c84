#include "worker/websub/websub.hpp"

#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "worker/base/coroutines.hpp"

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
  co_await wait_until_expired(end_);
  callbacks_.close();
  intake_.finish();
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
