#include "worker/hub/outside_listener.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>

#include "worker/listener/request_head.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;

OutsideListener::OutsideListener(std::unique_ptr<Listener> listener, Options options, ByPartition<Outside> outside,
                                 std::function<void(const char* what)> bug)
    : options_(std::move(options)),
      outside_(std::move(outside)),
      bug_(std::move(bug)),
      listener_(std::move(listener)),
      requests_(options_.per_second, options_.burst),
      streams_(options_.per_second, options_.streams_burst),
      networks_(options_.network_per_second, options_.network_burst) {}

boost::system::result<std::unique_ptr<OutsideListener>, ListenError> OutsideListener::open(
    const asio::any_io_executor& executor, Options options, ByPartition<Outside> outside,
    std::function<void(const char* what)> bug) {
  auto listener = Listener::open(executor, options.listen, "push_out.listen");
  if (!listener) return listener.error();
  return std::unique_ptr<OutsideListener>(
      new OutsideListener(std::move(*listener), std::move(options), std::move(outside), std::move(bug)));
}

namespace {

HttpReply too_often() {
  HttpReply reply = http_reply(http::status::too_many_requests, "text/plain; charset=utf-8",
                               "too many requests from your network; send at most 50 a second\n");
  reply.set(http::field::retry_after, "5");
  // Lets scripts of other origins read the error, too.
  reply.set(http::field::access_control_allow_origin, "*");
  reply.set(http::field::access_control_expose_headers, "Retry-After");
  return reply;
}

}  // namespace

asio::awaitable<void> OutsideListener::serve() {
  Listener::Places places = options_.places;
  // Behind a proxy on this machine all clients share its address.
  if (endpoint().address().is_loopback()) places.per_network = places.connections;
  Listener::Host host;
  host.answer = [this](Visit& visit) { return answer(visit); };
  host.bug = bug_;
  co_await listener_->serve(places, options_.limits, std::move(host));
}

asio::awaitable<HttpReply> OutsideListener::answer(Visit& visit) {
  // The network's limit first: a flood must not use up the common bucket.
  const auto client = options_.proxies.client_of(visit.client(), visit.head());
  if (client && !networks_.take(*client)) co_return too_often();
  const std::string_view target = visit.head().target();
  const auto question = std::min(target.find('?'), target.size());
  const auto decoded = percent_decoded(target.substr(0, question));
  if (!decoded) co_return http_reply(http::status::not_found);
  std::string_view path = *decoded;
  if (path.starts_with(options_.base)) path.remove_prefix(options_.base.size());
  std::optional<std::size_t> partition;
  if (const auto named = named_partition(path)) std::tie(partition, path) = *named;
  Outside* const outside = outside_.find(partition);
  const std::string query(target.substr(std::min(question + 1, target.size())));
  if (path == "/events") {
    HttpReply reply;
    if (!streams_.take()) {
      reply = try_later("30");
    } else if (visit.head().method() != http::verb::get) {
      reply = not_allowed("GET");
    } else if (outside == nullptr) {
      constexpr const char* where =
          "events are served under the /p0, /p1 … of their partitions; here only with signals.merged\n";
      reply = partition ? http_reply(http::status::not_found)
                        : http_reply(http::status::not_found, "text/plain; charset=utf-8", where);
    } else {
      reply = co_await outside->follow(visit, query, client);
    }
    // Lets scripts of other origins read the error, too.
    reply.set(http::field::access_control_allow_origin, "*");
    reply.set(http::field::access_control_expose_headers, "Retry-After");
    co_return reply;
  }
  if (!requests_.take()) co_return try_later("30");
  if (outside == nullptr) co_return http_reply(http::status::not_found);
  co_return co_await outside->answer(visit, path, query);
}

}  // namespace feedmill
