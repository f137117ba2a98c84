#include "worker/push_out/outside_event.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "storage/records/event_record.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/redact.hpp"
#include "worker/republish/topic_document.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// Whether this member of `data` is a feed URL.
bool is_feed_address(std::string_view member) {
  return member == "from" || member == "to" || member == "url";
}

void clean(json::object& object, std::string_view member) {
  json::value* const value = object.if_contains(member);
  if (value != nullptr && value->is_string()) *value = redact(value->get_string());
}

}  // namespace

std::string without_secrets(const Event& event, const std::string& text) {
  const bool any = has_secret(event.feed_url) || has_secret(event.entity_id) ||
                   std::ranges::any_of(event.data, [](const auto& member) {
                     return is_feed_address(member.first) && has_secret(member.second);
                   });
  if (!any) return text;
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error || !value.is_object()) return text;
  json::object& object = value.get_object();
  for (const std::string_view member : {"feed_url", "entity_id"}) clean(object, member);
  if (json::value* const data = object.if_contains("data"); data != nullptr && data->is_object()) {
    for (const std::string_view member : {"from", "to", "url"}) clean(data->get_object(), member);
  }
  return json::serialize(value);
}

StoreResult<std::vector<FeedFacts>> read_facts(Store& store, std::span<const std::string> feed_urls) {
  std::vector<FeedFacts> facts(feed_urls.size());
  if (feed_urls.empty()) return facts;
  auto holding = Channels(store).holding(feed_urls);
  if (!holding) return holding.error();
  auto republishing = read_republishing(store, feed_urls);
  if (!republishing) return republishing.error();
  for (std::size_t i = 0; i < facts.size(); ++i) facts[i] = {std::move((*holding)[i]), std::move((*republishing)[i])};
  return facts;
}

UnknownEvents::UnknownEvents(const std::vector<EventRecord>& records) {
  std::map<std::string, std::size_t, std::less<>> places;  // index into `urls_` by feed
  for (const EventRecord& record : records) {
    auto one = std::make_shared<OutsideEvent>();
    one->id = one->prev = record.id;
    if (auto event = read_event(record)) {
      one->prev = event->prev;
      one->told = is_outside_type(event->type) && !event->continued;
      if (one->told) {
        one->json = without_secrets(*event, record.json);
        const auto [place, is_new] = places.emplace(event->feed_url, urls_.size());
        if (is_new) urls_.push_back(event->feed_url);
        of_told_.push_back(place->second);
      }
      one->event = std::move(*event);
    }
    events_.push_back(std::move(one));
  }
}

OutsideEvents UnknownEvents::with(std::span<const FeedFacts> facts) && {
  auto place = of_told_.begin();
  for (const auto& one : events_) {
    if (!one->told) continue;
    const FeedFacts& feed = facts[*place++];
    one->channels = feed.channels;
    one->is_private = !may_be_told(one->event, feed.republishing);
  }
  return {std::make_move_iterator(events_.begin()), std::make_move_iterator(events_.end())};
}

namespace asio = boost::asio;

namespace {

constexpr std::size_t most_content_kept = std::size_t{8} << 20U, most_content = std::size_t{1} << 20U;

}  // namespace

asio::awaitable<StoreResult<NewContent::Made>> NewContent::of(const Subscriber& subscriber,
                                                              std::vector<std::string> entry_ids, std::string version,
                                                              double of_memory) {
  std::string key = subscriber.topic_url + " " + std::move(version);
  for (const std::string& id : entry_ids) key.append(" ").append(id);
  if (const auto found = made_.find(key); found != made_.end()) co_return found->second;
  const OneAtATime::Inside inside = co_await making_.enter();
  if (const auto found = made_.find(key); found != made_.end()) co_return found->second;
  Made made;
  if (!memory_.has_room(most_content, of_memory)) {
    made_.clear();  // drop documents that no delivery is sending
    bytes_ = 0;
    made.no_memory = !memory_.has_room(most_content, of_memory);
    if (made.no_memory) co_return made;
  }
  MemoryBudget::Share making(memory_.budget(), 0);
  making.hold(topic_making_cost);
  const Topic topic = subscriber.topic;
  const TopicFormat format = subscriber.topic_url.ends_with(".json") ? TopicFormat::json : TopicFormat::atom;
  TopicLinks links;
  links.self = subscriber.topic_url;
  links.hub = hub_;
  const auto make = [&](Store& store) -> StoreResult<std::optional<TopicDocument>> {
    auto page = read_topic_entries(store, topic, entry_ids, DocumentBound{format, most_content}, &made.posts);
    if (!page) return page.error();
    if (!*page) made.posts = entry_ids.size();
    if (!*page || (*page)->entries.empty()) return std::optional<TopicDocument>();
    std::ranges::reverse((*page)->entries);
    return std::optional(render_topic(**page, format, links));
  };
  StoreResult<std::optional<TopicDocument>> document = co_await store_.call(make);
  if (!document) co_return document.error();
  if (!*document) co_return made;
  auto content = std::make_shared<Sender::Content>();
  (*document)->body.shrink_to_fit();
  content->body = memory_.share(std::move((*document)->body));
  content->type = std::move((*document)->content_type);
  content->hub = hub_;
  content->self = subscriber.topic_url;
  if (bytes_ + content->body->size() > most_content_kept) {
    made_.clear();
    bytes_ = 0;
  }
  bytes_ += content->body->size();
  made.content = std::move(content);
  made_.insert_or_assign(std::move(key), made);
  co_return made;
}

}  // namespace feedmill
