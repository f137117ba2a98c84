#include "worker/push_out/outside.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>

#include "parsers/text/strings.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/resolver.hpp"
#include "worker/listener/by_partition.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/push_out/outside_requests.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

/// A plain-text reply with the reason for rejecting a request (WEBSUB U3).
HttpReply refused(http::status status, std::string why) {
  return http_reply(status, "text/plain; charset=utf-8", std::move(why) + "\n");
}

/// The reply to a request that was not stored (WEBSUB U3, U18).
HttpReply not_taken(AskedOfHub::Is why) {
  if (why == AskedOfHub::Is::nothing) return refused(http::status::not_found, "no such subscription");
  const bool soon = why == AskedOfHub::Is::not_verified;
  HttpReply answer =
      why == AskedOfHub::Is::too_many
          ? refused(http::status::service_unavailable, "too many subscribers")
          : refused(http::status::too_many_requests, soon ? "too many subscriptions are waiting for verification"
                                                          : "too many subscriptions from that domain or network");
  answer.set(http::field::retry_after, soon ? "60" : "3600");
  return answer;
}

}  // namespace

Outside::Outside(const asio::any_io_executor& executor, const StoreOptions& store, Options options, FetchOptions fetch,
                 LiveStreams& streams, TopicCache& documents, VerificationLimit& sites, Metrics& metrics)
    : options_(std::move(options)),
      streams_(streams),
      sites_(sites),
      metrics_(metrics),
      egress_(std::move(fetch)),
      store_(store),
      pages_(executor, store, options_.public_url, documents) {}

asio::awaitable<HttpReply> Outside::answer(Visit& visit, std::string_view path, std::string_view query) {
  if (options_.public_url.empty()) co_return http_reply(http::status::not_found);
  const auto place = way_.enter();
  if (!place) co_return try_later("30");
  const http::verb method = visit.head().method();
  if (path == "/hub") {
    if (method != http::verb::post) co_return not_allowed("POST");
    co_return co_await ask_hub(visit);
  }
  const auto topic = read_topic_target(path, query);
  if (!topic) co_return http_reply(http::status::not_found);
  if (method != http::verb::get && method != http::verb::head) co_return not_allowed("GET, HEAD");
  if (topic->unreadable_place)
    co_return refused(http::status::bad_request,
                      "before is not a position in the topic: use the links in its documents");
  HttpReply page = co_await pages_.answer(visit, *topic);
  way_.note(page.result() != http::status::service_unavailable);
  co_return page;
}

/// Why the hub would never send to this callback (WEBSUB U13); "" if it would. Does not resolve host names, which is
/// only done when sending.
std::string Outside::objection_to_callback(const std::string& callback) const {
  const EgressView view = egress_.of_text({callback, {}});
  if (view.verdict == EgressView::Verdict::refused) return view.reason + ": " + view.detail;
  if (origin_of(callback) != origin_of(options_.of_listener)) return {};
  const std::string base = path_of(options_.of_listener), there = path_of(callback);
  if (!there.starts_with(base)) return {};
  std::string_view path = std::string_view(there).substr(base.size());
  if (const auto named = named_partition(path)) path = named->second;
  path = path.substr(0, path.find('?'));
  const bool ours = path == "/hub" || path == "/events" || path.starts_with("/t/");
  return ours ? "it is a URL of this hub" : "";
}

/// The site that a callback counts for, regardless of host and port: its registrable domain or, for an address, its
/// network.
std::string Outside::site_of(const std::string& callback) const {
  const std::string host = host_of(callback);
  if (!is_address(host)) return registrable_domain(host);
  return egress_.standard().network_of(host.starts_with('[') ? host.substr(1, host.size() - 2) : host);
}

/// WEBSUB U19: rejects a site after ten unconfirmed callbacks in a row.
asio::awaitable<std::optional<HttpReply>> Outside::objection_to_site(std::string site) {
  if (sites_.closed_for(site) == Milliseconds(0)) co_return std::nullopt;
  const auto look = [&](Store& store) { return Subscribers(store).has_active(site); };
  const StoreResult<bool> confirmed = co_await store_.call(look);  // another worker may have verified it
  way_.note(confirmed.has_value());
  if (!confirmed) co_return try_later("30");
  if (*confirmed) sites_.add(site, true);
  const auto wait = std::chrono::ceil<std::chrono::seconds>(sites_.closed_for(site));
  if (wait.count() <= 0) co_return std::nullopt;
  HttpReply answer = refused(http::status::too_many_requests,
                             "the last ten callbacks of that domain or network did not confirm their subscription");
  answer.set(http::field::retry_after, std::to_string(wait.count()));
  co_return answer;
}

/// WEBSUB U2, U3: accepts a request for verification, or rejects it with the reason.
asio::awaitable<HttpReply> Outside::ask_hub(Visit& visit) {
  auto refusal = co_await visit.read_body();
  if (refusal || visit.gone()) co_return refusal.value_or(HttpReply());
  const std::string_view type = visit.head()[http::field::content_type];
  if (!iequals(type.substr(0, type.find_first_of("; ")), "application/x-www-form-urlencoded"))
    co_return refused(http::status::unsupported_media_type, "send a form: application/x-www-form-urlencoded");
  auto request = read_hub_request(visit.body());
  if (!request) co_return refused(http::status::bad_request, request.error());
  const std::string objection = objection_to_callback(request->callback);
  if (!objection.empty()) co_return refused(http::status::bad_request, "hub.callback: " + objection);
  std::optional<TopicTarget> target;
  if (request->topic.starts_with(options_.public_url))
    target = read_topic_target(std::string_view(request->topic).substr(options_.public_url.size()), {});
  if (!target) co_return refused(http::status::not_found, "hub.topic is not a topic of this hub");
  const StoreResult<std::optional<Topic>> topic = co_await pages_.topic_of(target->token);
  way_.note(topic.has_value());
  if (!topic) co_return try_later("30");
  if (!*topic) co_return refused(http::status::not_found, "hub.topic is not a topic of this hub");
  Subscriber subscriber;
  subscriber.site = site_of(request->callback);
  if (!subscriber.site.empty() && request->mode == "subscribe") {
    auto closed = co_await objection_to_site(subscriber.site);
    if (closed) co_return std::move(*closed);
  }
  subscriber.url = std::move(request->callback);
  subscriber.topic = **topic;
  subscriber.topic_url = std::move(request->topic);
  subscriber.intent = {std::move(request->mode), std::move(request->secret), request->lease, "", 0};
  const auto write = [&](Store& store) { return Subscribers(store).ask(subscriber, options_.bounds); };
  const StoreResult<AskedOfHub> taken = co_await store_.call(write);
  way_.note(taken.has_value());
  if (!taken) {
    metrics_.store_error(taken.error());
    co_return try_later("30");
  }
  if (!*taken) co_return not_taken(taken->is);
  co_return http_reply(http::status::accepted);
}

/// The token of a topic grants that topic; the operator's token grants all events.
asio::awaitable<HttpReply> Outside::follow(Visit& visit, std::string_view query,
                                           const std::optional<asio::ip::address>& client) {
  LiveQuery access;
  access.client = client;
  if (const auto token = parameter(query, "topic")) {
    const auto place = way_.enter();
    if (!place) co_return try_later("30");
    StoreResult<std::optional<Topic>> topic = co_await pages_.topic_of(*token);
    way_.note(topic.has_value());
    if (!topic) co_return try_later("30");
    if (!*topic) {
      co_return refused(http::status::not_found, options_.public_url.empty() && !options_.of_listener.empty()
                                                     ? "topics are served under the /p0, /p1 … of their partitions"
                                                     : "no such topic");
    }
    access.only = std::move(**topic);
    access.token = *token;
  } else {
    const std::string shown = parameter(query, "token").value_or("");
    const std::string_view authorization = visit.head()[http::field::authorization];
    const bool may = !options_.token.empty() &&
                     (shows_token(authorization, options_.token) || shows_token("Bearer " + shown, options_.token));
    if (!may) {
      HttpReply no = refused(http::status::unauthorized, "give a topic (topic=…) or the token of push_out.token_file");
      no.set(http::field::www_authenticate, "Bearer");
      co_return no;
    }
  }
  co_return co_await streams_.answer(visit, std::move(access));
}

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

/// Lets scripts of other origins read the error.
void open_to_scripts(HttpReply& reply) {
  reply.set(http::field::access_control_allow_origin, "*");
  reply.set(http::field::access_control_expose_headers, "Retry-After");
}

HttpReply too_often() {
  HttpReply reply =
      refused(http::status::too_many_requests, "too many requests from your network; send at most 50 a second");
  reply.set(http::field::retry_after, "5");
  open_to_scripts(reply);
  return reply;
}

}  // namespace

asio::awaitable<void> OutsideListener::serve() {
  Listener::Places places = options_.places;
  // Behind a proxy on this machine, all clients share its address.
  if (endpoint().address().is_loopback()) places.per_network = places.connections;
  Listener::Host host;
  host.answer = [this](Visit& visit) { return answer(visit); };
  host.bug = bug_;
  co_await listener_->serve(places, options_.limits, std::move(host));
}

asio::awaitable<HttpReply> OutsideListener::answer(Visit& visit) {
  // Apply the network's limit first: a flood must not use up the shared bucket.
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
          "events are served under the /p0, /p1 … of their partitions; here only with signals.merged";
      reply = partition ? http_reply(http::status::not_found) : refused(http::status::not_found, where);
    } else {
      reply = co_await outside->follow(visit, query, client);
    }
    open_to_scripts(reply);
    co_return reply;
  }
  if (!requests_.take()) co_return try_later("30");
  if (outside == nullptr) co_return http_reply(http::status::not_found);
  co_return co_await outside->answer(visit, path, query);
}

}  // namespace feedmill
