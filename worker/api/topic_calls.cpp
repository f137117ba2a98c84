// What others may subscribe to, over HTTP. Calls change the store themselves: an address that nobody can guess does not
// stand in a stream of requests (OPERATIONS A2, WEBSUB §10).
#include <string>
#include <utility>

#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/push_out/subscribers.hpp"
#include "storage/push_out/topics.hpp"
#include "storage/requests/requests.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/api/api.hpp"
#include "worker/base/terminal.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/endpoints/topics.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::size_t denied_at_once = 200;

/// Names one, or says what is wrong.
struct NamedTopic {
  Topic topic;
  std::optional<ApiReply> wrong;
};

NamedTopic name_topic(const std::string& url, const std::string& channel, std::string_view missing_reason) {
  if (url.empty() == channel.empty()) return {{}, problem(missing_reason, "give either url or channel")};
  if (!channel.empty()) {
    const std::string_view wrong = unfit_name(channel);
    if (!wrong.empty()) return {{}, problem("bad_value", fmt::format("channel: {}", wrong))};
    return {{TopicKind::channel, channel}, {}};
  }
  const auto canonical = canonical_feed_url(url);
  if (!canonical) return {{}, problem("bad_value", fmt::format("url: {}", visible(canonical.error())))};
  return {{TopicKind::feed, *canonical}, {}};
}

ApiReply no_such_topic() {
  return problem("no_such_topic", "it is not shared");
}

}  // namespace

StoreResult<ApiReply> read_topics(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  if (limit == 0) return bad_limit();
  const auto page = Topics(reading.store).list(reading.call.get("after"), limit);
  if (!page) return page.error();
  json::array topics;
  for (const TopicAddress& address : page->topics) topics.emplace_back(topic_json(address, reading.public_url));
  const json::value next = page->next.empty() ? json::value() : json::value(json::string(page->next));
  return resource({{"topics", std::move(topics)}, {"next", next}});
}

StoreResult<ApiReply> read_topic_subscribers(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  if (limit == 0) return bad_limit();
  const auto page = Subscribers(reading.store).list(Subscriber::Kind::hub, reading.call.get("after"), limit);
  if (!page) return page.error();
  json::array subscribers;
  for (const Subscriber& one : *page) subscribers.emplace_back(hub_subscriber_json(one));
  const json::value next = page->size() == limit ? json::value(json::string(page->back().id)) : json::value();
  return resource({{"subscribers", std::move(subscribers)}, {"next", next}});
}

StoreResult<ApiReply> add_topic(const ApiChange& change) {
  std::string url, channel;
  for (const auto& [key, value] : change.body) {
    const std::string_view name = key;
    if (name != "url" && name != "channel") {
      return problem("unknown_field", visible(fmt::format("{} is not a member of a topic", name.substr(0, 100))));
    }
    if (!value.is_string()) return problem("bad_value", fmt::format("{}: expected a string", name));
    (name == "url" ? url : channel) = std::string(value.get_string());
  }
  const NamedTopic named = name_topic(url, channel, "missing_field");
  if (named.wrong) return *named.wrong;
  const auto objection = objection_to(change.store, named.topic);
  if (!objection) return objection.error();
  if (*objection) return problem((*objection)->reason, visible((*objection)->detail));
  Topics topics(change.store);
  const auto known = topics.find(named.topic);
  if (!known) return known.error();
  const auto address = topics.share(named.topic);
  if (!address) return address.error();
  json::object object{{"result", *known ? "present" : "added"}};
  for (const auto& [name, value] : topic_json(*address, change.public_url)) object[name] = value;
  return resource(object, *known ? 200 : 201);
}

asio::awaitable<ApiReply> Api::remove_topic(const ApiCall& call, Visit& visit) {
  if (auto refused = co_await read_body(visit, longest_request)) co_return *refused;
  if (visit.gone()) co_return ApiReply();
  const NamedTopic named = name_topic(call.get("url"), call.get("channel"), "missing_parameter");
  if (named.wrong) co_return *named.wrong;
  const Topic& topic = named.topic;
  const auto look_up = [&](Store& store) { return Topics(store).find(topic); };
  const auto known = co_await with_store(call.app, look_up);
  if (!known) co_return store_is_away(known.error());
  if (!*known) co_return no_such_topic();
  std::string after;
  do {  // others are answered between two parts
    const auto deny = [&](Store& store) { return deny_subscribers(store, topic, after, denied_at_once); };
    auto denied = co_await with_store(call.app, deny);
    if (!denied) co_return store_is_away(denied.error());
    after = std::move(*denied);
  } while (!after.empty());
  const auto end = [&](Store& store) { return Topics(store).unshare(topic); };
  const auto ended = co_await with_store(call.app, end);
  if (!ended) co_return store_is_away(ended.error());
  if (!*ended) co_return no_such_topic();
  co_return resource({{"result", "removed"}});
}

}  // namespace feedmill
