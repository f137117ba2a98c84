#include "worker/push_out/outside_event.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "storage/records/event_filter.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/redact.hpp"
#include "worker/republish/republishing.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// What of `data` is the address of a feed.
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

StoreResult<OutsideEvents> read_outside(Store& store, const std::vector<EventRecord>& records) {
  OutsideEvents events;
  std::vector<std::shared_ptr<OutsideEvent>> told;
  std::map<std::string, std::size_t, std::less<>> places;  // of feeds, in `urls`
  std::vector<std::string> urls;
  for (const EventRecord& record : records) {
    auto one = std::make_shared<OutsideEvent>();
    one->id = one->prev = record.id;
    if (auto event = read_event(record)) {
      one->prev = event->prev;
      one->told = is_outside_type(event->type) && !event->continued;
      if (one->told) {
        one->json = without_secrets(*event, record.json);
        if (places.emplace(event->feed_url, urls.size()).second) urls.push_back(event->feed_url);
        told.push_back(one);
      }
      one->event = std::move(*event);
    }
    events.push_back(std::move(one));
  }
  if (urls.empty()) return events;
  const auto holding = Channels(store).holding(urls);
  if (!holding) return holding.error();
  const auto republishing = read_republishing(store, urls);
  if (!republishing) return republishing.error();
  for (const auto& one : told) {
    const std::size_t place = places.find(one->event.feed_url)->second;
    one->channels = (*holding)[place];
    one->is_private = !may_be_told(one->event, (*republishing)[place]);
  }
  return events;
}

}  // namespace feedmill
