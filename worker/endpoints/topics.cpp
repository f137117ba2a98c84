#include "worker/endpoints/topics.hpp"

#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/redact.hpp"
#include "worker/republish/republishing.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

void add_name(json::object& row, const Topic& topic) {
  row["kind"] = topic.kind == TopicKind::feed ? "feed" : "channel";
  row[topic.kind == TopicKind::feed ? "url" : "channel"] = topic.name;
}

}  // namespace

TopicUrls topic_urls(const std::string& public_url, const std::string& token) {
  const std::string document = public_url + "/t/" + token;
  return {document + ".atom", document + ".json", public_url + "/hub", public_url + "/events?topic=" + token};
}

StoreResult<std::optional<TopicObjection>> objection_to(Store& store, const Topic& topic) {
  const bool is_feed = topic.kind == TopicKind::feed;
  const auto known = is_feed ? Feeds(store).is_registered(topic.name) : Channels(store).is_known(topic.name);
  if (!known) return known.error();
  if (*known && is_feed) {  // of a channel such feeds are left out
    const auto republishing = read_republishing(store, std::span(&topic.name, 1));
    if (!republishing) return republishing.error();
    if (!republishing->front().allowed) {
      return std::optional(TopicObjection{"not_republished", republishing->front().why_not});
    }
  }
  if (*known) return std::optional<TopicObjection>();
  if (const auto its = is_feed ? store.elsewhere(topic.name) : std::nullopt) {
    return std::optional(TopicObjection{"no_such_feed", fmt::format("it is in partition {}; ask there", *its)});
  }
  return std::optional(is_feed ? TopicObjection{"no_such_feed", "no such feed"}
                               : TopicObjection{"no_such_channel", "no such channel"});
}

StoreResult<std::string> deny_subscribers(Store& store, const Topic& topic, const std::string& after,
                                          std::size_t most) {
  return Subscribers(store).deny(topic, after, most);
}

json::object topic_json(const TopicAddress& address, const std::string& public_url) {
  json::object row;
  add_name(row, address.topic);
  const TopicUrls urls = topic_urls(public_url, address.token);
  row["atom"] = urls.atom;
  row["json"] = urls.json;
  row["hub"] = urls.hub;
  row["events"] = urls.events;
  return row;
}

json::object hub_subscriber_json(const Subscriber& subscriber) {
  json::object row;
  row["id"] = subscriber.id;
  row["state"] = to_string(subscriber.state);
  row["callback"] = redact(subscriber.url);
  add_name(row, subscriber.topic);
  row["signed"] = !subscriber.secret.empty();
  row["lease_end"] = time_json(subscriber.lease_end);
  row["created"] = time_json(subscriber.created);
  row["cursor"] = text_or_null(subscriber.cursor);
  row["delivered"] = subscriber.delivered;
  row["last_success"] = time_json(subscriber.last_success);
  row["failures"] = subscriber.failures;
  row["last_error"] = text_or_null(redact(subscriber.last_error));
  return row;
}

}  // namespace feedmill
