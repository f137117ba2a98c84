// The schemas of docs/openapi.json that follow from tables: entries from entry_fields, feeds from explain_json() and
// the table of docs/DATA.md, events from its examples, which ctest `docs` compares with real ones, answers to requests
// from the rows of operations.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/event_record.hpp"
#include "storage/records/fleet_records.hpp"
#include "tests/worker/api/openapi_file.hpp"
#include "worker/base/report.hpp"
#include "worker/operations/operation.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill::test {

inline json::object schema_of_type(std::string_view name) {
  return {{"type", name}};
}

inline json::object reference_to(const std::string& schema) {
  return {{"$ref", "#/components/schemas/" + schema}};
}

/// The schema of an object with members of any name.
inline json::object schema_of_any_object() {
  return {{"type", "object"}, {"additionalProperties", true}};
}

/// The schema of a field that holds JSON, in the shapes that `feedmill parse` prints.
inline json::object schema_of_json(std::string_view field) {
  const auto list = [](const char* of) { return json::object{{"type", "array"}, {"items", reference_to(of)}}; };
  if (field == "authors" || field == "contributors") return list("Person");
  if (field == "categories") return list("Category");
  if (field == "enclosures") return list("Enclosure");
  if (field == "links") return list("Link");
  if (field == "publisher") return reference_to("Person");
  return schema_of_any_object();
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

/// The schema of values like this one: of lists, with elements like the first; of null, of a text that may be absent.
inline json::object schema_of_value(const json::value& value) {
  if (value.is_null()) return {{"type", {"string", "null"}}};
  json::object schema = schema_of_type(kind_of(value));
  if (const json::object* const object = value.if_object()) {
    if (object->empty()) return schema_of_any_object();
    json::object& properties = schema["properties"].emplace_object();
    for (const auto& [name, one] : *object) properties[name] = schema_of_value(one);
  }
  const json::array* const list = value.if_array();
  if (list != nullptr && !list->empty()) schema["items"] = schema_of_value(list->front());
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

/// A feed with an element in each list of explain_json(), and with a subscription.
inline Explained full_feed() {
  Explained full;
  full.record.state.address.moves.emplace_back();
  full.record.state.due.why = encode_due_inputs(std::array{DueInput{"floor", 600, "schedule.floor"}});
  full.record.state.push.advert = {"https://example.org/feed.xml", {"https://example.org/hub"}, 0};
  full.host.state.quotas.emplace_back();
  full.volatile_parts = {"title"};
  return full;
}

/// The schema of null or one of `words`.
inline json::object schema_of_words(json::array words) {
  words.emplace_back(nullptr);
  return {{"enum", std::move(words)}};
}

/// Members that explain_json() adds to those of list_json(), which are described by hand, and the codes of both.
inline void describe_feed(json::object& feed) {
  const json::object listed = list_json(FeedRecord());
  for (const auto& [name, value] : explain_json(full_feed())) {
    if (!listed.contains(name)) feed[name] = schema_of_value(value);
  }
  feed["feed"] = reference_to("FeedFields");
  for (const char* const name : {"hints", "settings"}) {
    feed[name] = schema_of_any_object();
    feed[name].as_object()["type"] = {"object", "null"};
  }
  feed["why"].as_object()["type"] = {"array", "null"};
  feed["websub"].as_object()["type"] = {"object", "null"};
  feed["text"] = {{"type", "object"}, {"additionalProperties", schema_of_type("string")}};
  json::array outcomes;
  for (const Outcome one : all_outcomes) outcomes.emplace_back(to_string(one));
  feed["last_outcome"] = schema_of_words(std::move(outcomes));
  feed["won"] = schema_of_words(json::array(due_codes().begin(), due_codes().end()));
  feed["state"] = {{"enum", json::array(feed_state_names.begin(), feed_state_names.end())}};
  for (const auto& [name, text] : {
           std::pair("state",
                     "new: not fetched yet; never_read: fetched, but never read; healthy: also after one or two "
                     "failures; degraded: after three; failing: for longer; blocked: refused by its server; gone: "
                     "given up; quarantined: its document crashed a worker"),
           std::pair("last_outcome",
                     "of the last fetch. updated: with new or changed posts; unchanged: without; "
                     "not_modified: 304; failed: `last_error` and `last_detail` say why; deferred: "
                     "it waits for its host; aborted: the worker stopped"),
           std::pair("last_error", "reason code of the last fetch, such as dns.not_found; null: it succeeded"),
           std::pair("last_detail", "what happened, in words; not markup, may quote the server"),
           std::pair("won", "code of the input that determined `due`"),
           std::pair("why", "inputs from which `due` was computed: code, seconds, and where the number is from"),
           std::pair("now", "of /feed/explain, as the next four: time of the answer"),
           std::pair("text",
                     "the sentences of `feedmill explain`, by their names: state, detail, do, next, why, host …"),
           std::pair("host", "the feed's host: limits, queue, and quotas of requests"),
           std::pair("websub", "the feed's hub and subscription; null: it has none"),
           std::pair("volatile", "parts whose changes are not news"),
       })
    feed[name].as_object()["description"] = text;
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
  describe_feed(schemas.at("Feed").at("properties").as_object());
}

/// Members of answers to requests: values of the request, and results of some operations.
inline json::object request_members() {
  json::object members;
  for (const OperationFamily& family : operation_families()) {
    for (const Operation& one : family.operations) {
      if (!one.is_request()) continue;
      for (const OperationField& field : one.fields) {
        if (field.told) members[field.name] = schema_of_type("string");
      }
    }
  }
  members["id"] = {{"type", {"string", "integer"}}, {"description", "of an entry; of a rule, a number"}};
  members["feed"] = {{"type", "string"}, {"description", "of add: the feed, if `url` is a web page"}};
  members["due"] = {{"type", "integer"}, {"description", "unix time"}};
  members["changed"] = {{"type", "integer"}, {"description", "how many were marked"}};
  return members;
}

/// Adds what answers to requests have in all their forms.
inline void describe_requests(json::object& schemas) {
  const json::object members = request_members();
  const json::object feeds = schemas.at("Problem").at("properties").at("feeds").as_object();
  for (const char* const name : {"Answer", "Request", "Problem", "EventData"}) {
    json::object& properties = schemas.at(name).at("properties").as_object();
    for (const auto& [member, schema] : members) properties.emplace(member, schema);
    if (std::string_view(name) == "Answer") continue;
    properties.emplace("feeds", feeds);
    properties.emplace("detail", schema_of_type("string"));
  }
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
  describe_requests(schemas);
}

}  // namespace feedmill::test
