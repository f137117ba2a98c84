#include "worker/websub/callback_listener.hpp"

#include <utility>

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;

boost::system::result<std::unique_ptr<CallbackListener>, ListenError> CallbackListener::open(
    const asio::any_io_executor& executor, const Options& options, Parts parts) {
  auto listener = Listener::open(executor, options.listen, "websub.listen");
  if (!listener) return listener.error();
  return std::unique_ptr<CallbackListener>(new CallbackListener(std::move(*listener), options, std::move(parts)));
}

asio::awaitable<void> CallbackListener::serve() {
  Listener::Places places = options_.places;
  if (endpoint().address().is_loopback()) places.per_network = places.connections;
  Listener::Host host;
  host.answer = [this](Visit& visit) { return answer(visit); };
  host.refused = [this] { parts_.metrics.push_delivery(Metrics::Delivery::limited); };
  host.bug = [this](const char* what) {
    parts_.metrics.bug();
    parts_.log.write(LogLevel::error, "bug", "an unexpected error; please report it",
                     {{"part", "callbacks"}, {"detail", what}});
  };
  co_await listener_->serve(places, options_.limits, std::move(host));
}

asio::awaitable<HttpReply> CallbackListener::answer(Visit& visit) {
  const Visit::Header& request = visit.head();
  if (request.method() != http::verb::get && request.method() != http::verb::post)
    co_return not_allowed("GET, POST");  // WEBSUB P9
  CallbackTarget target = read_callback_target(request.target(), options_.base);
  Callbacks* const callbacks = target.token.empty() ? nullptr : parts_.callbacks.find(target.partition);
  if (callbacks == nullptr) co_return answer_for_none(visit);
  if (!requests_.take()) {
    parts_.metrics.push_delivery(Metrics::Delivery::limited);
    co_return try_later("10");
  }
  co_return co_await callbacks->answer(visit, std::move(target));
}

/// Answers as for an unknown token (SECURITY W2).
HttpReply CallbackListener::answer_for_none(const Visit& visit) {
  if (visit.head().method() == http::verb::get)
    parts_.metrics.push_verification(false);
  else
    parts_.metrics.push_delivery(Metrics::Delivery::unknown);
  return http_reply(http::status::not_found);
}

}  // namespace feedmill
