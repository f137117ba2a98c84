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
  Event signal;
  signal.id = record.id;
  signal.prev = string_member(*object, "prev");
  signal.type = string_member(*object, "type");
  signal.entity_id = string_member(*object, "entity_id");
  signal.feed_url = string_member(*object, "feed_url");
  signal.guid = string_member(*object, "guid");
  signal.timestamp = number_of(*object, "timestamp").value_or(0);
  if (const json::value* const initial = object->if_contains("initial")) signal.initial = *initial == true;
  if (const json::value* const data = object->if_contains("data"); data != nullptr && data->is_object()) {
    signal.score = number_of(data->as_object(), "timestamp");
    for (const auto& [name, member] : data->as_object()) {
      if (member.is_string()) signal.data.emplace_back(std::string(name), std::string(member.as_string()));
    }
  }
  if (signal.type.empty() || signal.entity_id.empty() || signal.feed_url.empty()) return {};
  return signal;
}

}  // namespace feedmill
