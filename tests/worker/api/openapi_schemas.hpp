// The schemas of docs/openapi.json that follow from tables: entries from entry_fields, feeds from show_json() and the
// table of docs/DATA.md, events from its examples, which ctest `docs` compares with real ones.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/records/entry_record.hpp"
#include "storage/records/event_record.hpp"
#include "storage/records/fleet_records.hpp"
#include "tests/worker/api/openapi_file.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill::test {

inline json::object schema_of_type(std::string_view name) {
  return {{"type", name}};
}

inline json::object reference_to(const std::string& schema) {
  return {{"$ref", "#/components/schemas/" + schema}};
}

/// The schema of a field that holds JSON, in the shapes that `feedmill parse` prints.
inline json::object schema_of_json(std::string_view field) {
  const auto list = [](const char* of) { return json::object{{"type", "array"}, {"items", reference_to(of)}}; };
  if (field == "authors" || field == "contributors") return list("Person");
  if (field == "categories") return list("Category");
  if (field == "enclosures") return list("Enclosure");
  if (field == "links") return list("Link");
  if (field == "publisher") return reference_to("Person");
  return schema_of_type("object");
}

/// The schema of a field of a post, as entry_json() shows it.
inline json::object schema_of_field(const EntryField& field) {
  using Holds = EntryField::Holds;
  if (field.holds == Holds::json) return schema_of_json(field.name);
  if (field.holds == Holds::number) return schema_of_type("integer");
  json::object schema = schema_of_type("string");
  if (field.holds == Holds::time || field.name.starts_with("date_")) schema["format"] = "date-time";
  return schema;
}

/// Names in the first column of the table below the heading `heading` of docs/DATA.md.
inline std::vector<std::string> names_in_table(const std::string& heading) {
  const std::string text = document_text("DATA.md");
  std::vector<std::string> names;
  std::size_t at = text.find("\n## " + heading + "\n");
  const std::size_t end = text.find("\n## ", at + 1);
  while (at = text.find("\n| `", at + 1), at < end) {
    const std::size_t column = text.find(" | ", at + 3);
    for (std::size_t begin = at; begin = text.find('`', begin + 1), begin < column;) {
      const std::size_t close = text.find('`', begin + 1);
      names.push_back(text.substr(begin + 1, close - begin - 1));
      begin = close;
    }
  }
  std::ranges::sort(names);
  return names;
}

inline std::string kind_of(const json::value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "boolean";
  if (value.is_double()) return "number";
  if (value.is_number()) return "integer";
  if (value.is_array()) return "array";
  return value.is_object() ? "object" : "null";
}

/// The schema of values like this one; of lists, of lists with elements like the first.
inline json::object schema_of_value(const json::value& value) {
  json::object schema = schema_of_type(kind_of(value));
  const json::array* const list = value.if_array();
  if (list == nullptr || list->empty()) return schema;
  json::object items = schema_of_value(list->front());
  if (const json::object* const object = list->front().if_object()) {
    json::object& properties = items["properties"].emplace_object();
    for (const auto& [name, one] : *object) properties[name] = schema_of_value(one);
  }
  schema["items"] = std::move(items);
  return schema;
}

/// Adds `schema` to that of a member: the member may have either type.
inline void admit(json::object& properties, json::string_view name, json::object schema) {
  json::value* const known = properties.if_contains(name);
  if (known == nullptr) {
    properties[name] = std::move(schema);
    return;
  }
  json::value& type = known->as_object()["type"];
  json::array types = type.is_array() ? type.as_array() : json::array{type};
  if (std::ranges::find(types, schema.at("type")) == types.end()) types.push_back(schema.at("type"));
  type = types.size() == 1 ? types.front() : json::value(types);
}

/// The events in the pages, in their order.
inline std::vector<json::object> documented_events() {
  std::vector<json::object> events;
  for (const char* const page : {"DATA.md", "REQUESTS.md"}) {
    const std::string text = document_text(page), fence = "```json\n";
    for (std::size_t at = 0; (at = text.find("<!-- event: ", at)) != text.npos; ++at) {
      const std::size_t begin = text.find(fence, at) + fence.size();
      events.push_back(json::parse(text.substr(begin, text.find("```", begin) - begin)).as_object());
    }
  }
  return events;
}

inline void describe_entries(json::object& schemas) {
  json::object& entry = schemas.at("Entry").at("properties").as_object();
  json::object& stored = schemas["PostFields"].emplace_object();
  stored = {{"type", "object"},
            {"description", "the fields of a post as they are stored: each is a string, also where it holds JSON"}};
  json::object& texts = stored["properties"].emplace_object();
  for (const EntryField& field : entry_fields) {
    entry[field.name] = schema_of_field(field);
    texts[field.name] = schema_of_type("string");
  }
  texts["content_text"] = {{"type", "string"}, {"description", "with signals.content_text: the text without markup"}};
}

inline void describe_feeds(json::object& schemas) {
  json::object fields, texts;
  for (const std::string& name : names_in_table("Fields of a feed")) {
    fields[name] = holds_json(name) ? schema_of_json(name) : schema_of_type("string");
    texts[name] = schema_of_type("string");
  }
  EXPECT_TRUE(fields.contains("title") && fields.contains("extensions")) << "the table was not found";
  schemas["FeedFields"] = {{"type", "object"},
                           {"description", "the fields of a feed (docs/DATA.md); those that hold JSON are JSON"},
                           {"properties", std::move(fields)}};
  schemas["StoredFeedFields"] = {{"type", "object"},
                                 {"description", "the fields of a feed as they are stored: each is a string"},
                                 {"properties", std::move(texts)}};
  // Members that show_json() adds; those of list_json() are described by hand. Null is a text, with these exceptions:
  const auto kind_instead_of_null = [](std::string_view name) {
    if (name == "why") return "array";
    return name == "hints" || name == "settings" ? "object" : "string";
  };
  const json::object listed = list_json(FeedRecord());
  json::object& feed = schemas.at("Feed").at("properties").as_object();
  for (const auto& [name, value] : show_json(FeedRecord())) {
    if (listed.contains(name)) continue;
    feed[name] = value.is_null() ? json::object{{"type", json::array{kind_instead_of_null(name), "null"}}}
                                 : schema_of_value(value);
  }
  feed["feed"] = reference_to("FeedFields");
}

inline void describe_events(json::object& schemas) {
  json::object& event = schemas.at("Event").as_object();
  json::object data;
  json::array types, examples;
  for (const json::object& one : documented_events()) {
    if (std::ranges::find(types, one.at("type")) == types.end()) types.push_back(one.at("type"));
    if (one.at("type") == "post_created" || one.at("type") == "post_modified") examples.push_back(one);
    for (const auto& [name, value] : one) EXPECT_TRUE(event.at("properties").as_object().contains(name)) << name;
    for (const auto& [name, value] : one.at("data").as_object()) admit(data, name, schema_of_value(value));
  }
  for (const std::string_view type : outside_event_types)
    EXPECT_NE(std::ranges::find(types, json::value(type)), types.end()) << type;
  std::string text = "one of";
  for (const json::value& type : types) text += " " + std::string(type.as_string());
  event.at("properties").as_object()["type"] = {{"type", "string"}, {"description", text + "; pass over others"}};
  event["examples"] = std::move(examples);
  schemas["EventData"] = {{"type", "object"},
                          {"description", "which members an event has, its type says (docs/DATA.md)"},
                          {"properties", std::move(data)}};
}

/// Makes the schemas that follow from tables.
inline void describe_schemas(json::object& schemas) {
  describe_entries(schemas);
  describe_feeds(schemas);
  describe_events(schemas);
}

}  // namespace feedmill::test
