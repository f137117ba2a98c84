#include "storage/records/event_filter.hpp"

#include <algorithm>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t most_names = 1'000, longest_name = 4'096;

bool holds(std::span<const std::string> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

json::array array_of(const std::vector<std::string>& names) {
  json::array all;
  for (const std::string& name : names) all.emplace_back(json::string(name));
  return all;
}

std::vector<std::string> names_in(const json::object& object, std::string_view member) {
  std::vector<std::string> names;
  const json::value* const value = object.if_contains(member);
  if (value == nullptr || !value->is_array()) return names;
  for (const json::value& name : value->get_array()) {
    if (name.is_string()) names.emplace_back(name.get_string());
  }
  return names;
}

}  // namespace

bool is_outside_type(std::string_view type) {
  return std::ranges::find(outside_event_types, type) != outside_event_types.end();
}

bool EventFilter::wants_kind(const Event& event) const {
  if (!is_outside_type(event.type) || (event.initial && !initial)) return false;
  return types.empty() || holds(types, event.type);
}

bool EventFilter::wants(const Event& event, std::span<const std::string> holding) const {
  if (!wants_kind(event)) return false;
  if (of_all_feeds() || holds(feeds, event.feed_url)) return true;
  return std::ranges::any_of(channels, [&](const std::string& channel) { return holds(holding, channel); });
}

std::string to_json(const EventFilter& filter) {
  json::object object;
  if (!filter.feeds.empty()) object["feeds"] = array_of(filter.feeds);
  if (!filter.channels.empty()) object["channels"] = array_of(filter.channels);
  if (!filter.types.empty()) object["types"] = array_of(filter.types);
  if (filter.initial) object["initial"] = true;
  return json::serialize(object);
}

EventFilter read_filter(std::string_view text) {
  EventFilter filter;
  boost::system::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) return filter;
  const json::object& object = value.get_object();
  filter.feeds = names_in(object, "feeds");
  filter.channels = names_in(object, "channels");
  filter.types = names_in(object, "types");
  const json::value* const initial = object.if_contains("initial");
  filter.initial = initial != nullptr && initial->is_bool() && initial->get_bool();
  return filter;
}

std::string objection_to(const EventFilter& filter) {
  for (const std::string& type : filter.types) {
    if (is_outside_type(type)) continue;
    std::string text = "unknown event type \"" + type + "\"; one of:";
    for (const std::string_view known : outside_event_types) text.append(" ").append(known);
    return text;
  }
  if (filter.feeds.size() + filter.channels.size() > most_names)
    return "more than " + std::to_string(most_names) + " feeds and channels";
  for (const auto* names : {&filter.feeds, &filter.channels}) {
    for (const std::string& name : *names) {
      if (name.empty() || name.size() > longest_name)
        return "the name of a feed or channel is empty, or longer than 4096 bytes";
    }
  }
  return {};
}

}  // namespace feedmill
