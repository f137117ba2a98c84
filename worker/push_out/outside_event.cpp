#include "worker/push_out/outside_event.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "storage/records/event_record.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/redact.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// Members of `data` that are feed URLs.
bool is_feed_address(std::string_view member) {
  return member == "from" || member == "to" || member == "url";
}

bool has_secret(std::string_view text) {
  return redact(text) != text;
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

}  // namespace feedmill
