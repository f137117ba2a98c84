#include "storage/records/event_record.hpp"

#include <string_view>

#include <boost/json.hpp>

#include "storage/records/json_member.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

std::optional<std::int64_t> number_of(const json::object& object, std::string_view name) {
  const json::value* const found = object.if_contains(name);
  if (found == nullptr || !found->is_int64()) return {};
  return found->as_int64();
}

}  // namespace

std::optional<Event> read_event(const EventRecord& record) {
  boost::system::error_code error;
  const json::value value = json::parse(record.json, error);
  const json::object* const object = error ? nullptr : value.if_object();
  if (object == nullptr) return {};
  Event event;
  event.id = record.id;
  event.prev = string_member(*object, "prev");
  event.type = string_member(*object, "type");
  event.entity_id = string_member(*object, "entity_id");
  event.feed_url = string_member(*object, "feed_url");
  event.guid = string_member(*object, "guid");
  event.timestamp = number_of(*object, "timestamp").value_or(0);
  if (const json::value* const initial = object->if_contains("initial")) event.initial = *initial == true;
  if (const json::value* const data = object->if_contains("data"); data != nullptr && data->is_object()) {
    event.score = number_of(data->as_object(), "timestamp");
    for (const auto& [name, member] : data->as_object()) {
      if (member.is_string()) event.data.emplace_back(std::string(name), std::string(member.as_string()));
    }
  }
  if (event.type.empty() || event.entity_id.empty() || event.feed_url.empty()) return {};
  return event;
}

}  // namespace feedmill
