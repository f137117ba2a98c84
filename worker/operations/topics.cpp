// Topics: shared feeds and channels (WEBSUB §10).
#include "storage/queues/topics.hpp"

#include <array>
#include <optional>
#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/redact.hpp"
#include "worker/operations/families.hpp"
#include "worker/republish/topic_page.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace topic_operations {
namespace {

namespace json = boost::json;
using Access = Operation::Access;
using Kind = OperationField::Kind;

constexpr std::size_t denied_at_once = 200;

constexpr std::array of_any{
    OperationField{
        .name = "url", .kind = Kind::feed, .unit = "URL", .about = "Feed URL", .either = true, .is_key = true},
    OperationField{.name = "channel",
                   .kind = Kind::channel,
                   .flag = "--channel",
                   .unit = "CHANNEL",
                   .about = "This channel instead",
                   .either = true,
                   .is_key = true}};
constexpr std::array of_known = [] {
  std::array fields = of_any;
  for (OperationField& field : fields) field.required = true;
  return fields;
}();
constexpr std::array of_new = [] {
  std::array fields{of_known[0], of_known[1],
                    OperationField{.name = "title",
                                   .flag = "--title",
                                   .unit = "TEXT",
                                   .about = "Title of the documents of a channel, instead of its name; empty: its name",
                                   .clears = true,
                                   .most = longest_title}};
  for (OperationField& field : fields) field.is_key = false;
  return fields;
}();
constexpr std::array topic_columns{OperationColumn{"url", 32, "channel"}, OperationColumn{"atom", 0}};
constexpr std::array subscriber_columns{OperationColumn{"state", 9}, OperationColumn{"lease_end", 20},
                                        OperationColumn{"failures", 8, {}, true}, OperationColumn{"url", 32, "channel"},
                                        OperationColumn{"callback", 0}};

/// The topic in the arguments, if any.
std::optional<Topic> given_topic(const OperationValues& given) {
  if (given.has("channel")) return Topic{TopicKind::channel, given.text("channel")};
  if (given.has("url")) return Topic{TopicKind::feed, given.text("url")};
  return std::nullopt;
}

json::object named(const Topic& topic) {
  const bool is_feed = topic.kind == TopicKind::feed;
  return {{is_feed ? "url" : "channel", topic.name}, {"kind", is_feed ? "feed" : "channel"}};
}

/// The URLs of a topic: its documents, its hub, its live stream. They are secrets, but callers of operations may see
/// everything that they give access to.
json::object row_of(const TopicAddress& address, const std::string& public_url) {
  json::object row = named(address.topic);
  const std::string document = public_url + "/t/" + address.token;
  row["atom"] = document + ".atom";
  row["json"] = document + ".json";
  row["hub"] = public_url + "/hub";
  row["events"] = public_url + "/events?topic=" + address.token;
  if (address.topic.kind == TopicKind::channel) row["title"] = text_or_null(address.title);
  return row;
}

/// A row without the secret and without the secrets in the callback (SECURITY K1).
json::object row_of(const Subscriber& subscriber) {
  json::object row{{"id", subscriber.id}, {"state", to_string(subscriber.state)}, {"callback", redact(subscriber.url)}};
  for (const auto& [name, value] : named(subscriber.topic)) row[name] = value;
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

/// Refuses an unknown topic, and a feed that must not be re-published.
void check(Store& store, const Topic& topic) {
  if (topic.kind == TopicKind::channel) {  // its document omits posts of private feeds
    if (!answered(Channels(store).is_known(topic.name)))
      throw OperationRefused{"no_such_channel", "no such channel: " + topic.name};
    return;
  }
  if (!answered(Feeds(store).is_registered(topic.name))) {
    const auto its = store.elsewhere(topic.name);
    throw OperationRefused{"no_such_feed",
                           its ? fmt::format("{} is in partition {}; ask there", redact(topic.name), *its)
                               : "no such feed: " + redact(topic.name)};
  }
  const auto republishing = answered(read_republishing(store, std::span(&topic.name, 1)));
  if (!republishing.front().allowed) {
    throw OperationRefused{"not_republished",
                           fmt::format("{} is not shared: {}", redact(topic.name), republishing.front().why_not)};
  }
}

OperationOutcome add(const OperationContext& context, const OperationValues& given) {
  const Topic topic = *given_topic(given);
  if (given.has("title") && topic.kind == TopicKind::feed)
    throw OperationRefused{"bad_value", "title: only channels take one, a feed has its own"};
  check(context.store, topic);
  Topics topics(context.store);
  const bool is_present = answered(topics.find(topic)).has_value();
  TopicAddress address =
      answered(topics.share(topic, given.has("title") ? std::optional(given.text("title")) : std::nullopt));
  if (!given.has("title")) address.title = answered(topics.title(topic));
  OperationOutcome outcome{.result = is_present ? "present" : "added",
                           .rows = {row_of(address, context.public_url)},
                           .shown = {"atom", "json", "hub", "events"}};
  outcome.made = is_present ? "" : "/topics";
  if (context.public_url.empty())
    outcome.notes.emplace_back("not reachable from outside: set push_out.public_url and push_out.listen");
  else
    outcome.notes.emplace_back("anyone with these URLs can read it");
  note_without_push_out(context.store, outcome.notes);
  return outcome;
}

OperationOutcome list(const OperationContext& context, const OperationValues& given) {
  OperationOutcome outcome;
  const auto most = static_cast<std::size_t>(given.number("limit", usual_page));
  const Topics::Page page = answered(Topics(context.store).list(given.text("after"), most));
  for (const TopicAddress& address : page.topics) outcome.rows.push_back(row_of(address, context.public_url));
  outcome.next = page.next;
  return outcome;
}

/// Denies the topic's subscribers first, some in each call.
OperationOutcome remove(const OperationContext& context, const OperationValues& given) {
  const Topic topic = *given_topic(given);
  const OperationRefused unshared{"no_such_topic", redact(topic.name) + " is not shared (see feedmill topic list)"};
  Topics topics(context.store);
  if (!answered(topics.find(topic))) throw unshared;
  std::string progress(context.progress);
  progress = answered(Subscribers(context.store).deny(topic, progress, denied_at_once));
  if (!progress.empty()) return {.progress = progress};
  if (!answered(topics.unshare(topic))) throw unshared;
  return {.result = "removed", .rows = {named(topic)}};
}

OperationOutcome subscribers(const OperationContext& context, const OperationValues& given) {
  OperationOutcome outcome;
  const std::optional<Topic> only = given_topic(given);
  const auto most = static_cast<std::size_t>(given.number("limit", usual_page));
  const auto page = answered(Subscribers(context.store).list(Subscriber::Kind::hub, given.text("after"), most));
  for (const Subscriber& one : page) {
    if (!only || one.topic == *only) outcome.rows.push_back(row_of(one));
  }
  if (page.size() == most) outcome.next = page.back().id;
  return outcome;
}

constexpr Operation operations[] = {
    {.verb = "topic add",
     .method = "POST",
     .path = "/topics",
     .about = "Share a feed's or a channel's posts; prints their URLs",
     .example = "feedmill topic add https://example.org/feed.xml",
     .access = Access::change,
     .fields = of_new,
     .run = add},
    {.verb = "topic list",
     .method = "GET",
     .path = "/topics",
     .about = "List all shared topics with their URLs",
     .example = "feedmill topic list --json",
     .access = Access::read,
     .run = list,
     .rows = "topics",
     .columns = topic_columns,
     .none = "nothing is shared yet: feedmill topic add URL, or --channel CHANNEL"},
    {.verb = "topic remove",
     .method = "DELETE",
     .path = "/topic",
     .about = "Stop sharing: the URL stops working, subscriptions are denied",
     .example = "feedmill topic remove --channel anna/news --yes",
     .access = Access::change,
     .fields = of_known,
     .run = remove,
     .question = "Deny all subscribers of {}?",
     .unasked = "the URL stops working, and subscriptions are denied"},
    {.verb = "topic subscribers",
     .method = "GET",
     .path = "/topics/subscribers",
     .about = "List hub subscribers of all topics or of one",
     .example = "feedmill topic subscribers --channel anna/news",
     .access = Access::read,
     .fields = of_any,
     .run = subscribers,
     .rows = "subscribers",
     .columns = subscriber_columns,
     .none = "no subscribers"},
};

}  // namespace
}  // namespace topic_operations

OperationFamily topic_family() {
  return {.verb = "topic",
          .about = "Share feeds and channels at unguessable URLs",
          .group = "Pushing out",
          .operations = topic_operations::operations};
}

}  // namespace feedmill
