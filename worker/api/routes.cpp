#include "worker/api/routes.hpp"

#include <algorithm>
#include <string>

#include "parsers/text/strings.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/store/partition.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

using boost::beast::http::verb;

std::vector<ApiRoute> own_routes() {
  return {
      {verb::get, "/feeds", "channel user state text after limit", list_feeds, {}, nullptr, false, true},
      {verb::get, "/feed", "url!", read_feed},
      {verb::get, "/feed/explain", "url!", read_explanation},
      {verb::get, "/feed/entries", "url! before limit", read_feed_entries},
      {verb::get, "/feed/entry", "url! guid!", read_entry_by_guid},
      {verb::get, "/entries/{id}", "", read_entry},
      {verb::get, "/channels", "user after limit", list_channels, {}, nullptr, false, true},
      {verb::get, "/channel/feeds", "channel! after limit", list_channel_feeds, {}, nullptr, false, true},
      {verb::get, "/channel/entries", "channel! url before limit once all", list_timeline, {}, nullptr, false, true},
      {verb::get, "/unread", "user after", count_unread, {}, nullptr, false, true},
      {verb::get, "/notices", "user!", list_notices, {}, nullptr, false, true},
      {verb::get, "/rules", "user!", list_rules, {}, nullptr, false, true},
      {verb::get, "/events", "after limit", read_events, {}, nullptr, true},
      {verb::get, "/snapshot", "after limit", read_snapshot},
      {verb::get, "/requests/{ref}", "id", read_answer},
      {verb::post, "/import", "user", nullptr, "import"},
      {verb::get, "/export", "user", nullptr, "export"},
      {verb::post, "/discover", "url!", nullptr, "discover"},
      {verb::get, "/openapi.json", "", nullptr, ""},
  };
}

std::string parameters_of(const Operation& operation) {
  std::string names;
  for (const OperationField& field : operation.fields) {
    if (is_in_path(operation, field) || is_in_body(operation, field)) continue;
    names.append(names.empty() ? "" : " ").append(field.name).append(field.required && !field.either ? "!" : "");
  }
  if (!operation.is_list()) return names;
  for (const OperationField& field : page_fields()) names.append(names.empty() ? "" : " ").append(field.name);
  return names;
}

}  // namespace

std::span<const ApiRoute> api_routes() {
  static const std::vector<ApiRoute> all = [] {
    std::vector<ApiRoute> routes = own_routes();
    for (const OperationFamily& family : operation_families()) {
      for (const Operation& one : family.operations) {
        routes.push_back({.method = boost::beast::http::string_to_verb(one.method),
                          .path = std::string(one.path),
                          .parameters = parameters_of(one),
                          .operation = &one,
                          .of_all = family.of_all,
                          .of_deployment = family.of_deployment});
      }
    }
    return routes;
  }();
  return all;
}

bool is_in_path(const Operation& operation, const OperationField& field) {
  return operation.path.find('{' + std::string(field.name) + '}') != std::string_view::npos;
}

bool is_in_body(const Operation& operation, const OperationField& field) {
  const bool has_body = operation.method != "GET" && operation.method != "DELETE";
  return has_body && !field.is_key && !is_in_path(operation, field);
}

bool is_at(const ApiRoute& route, std::string_view path, std::string& item) {
  const std::size_t brace = route.path.find('{');
  if (brace == std::string::npos) return path == route.path;  // if present, {…} is the last segment
  const std::string_view rest = path.substr(std::min(brace, path.size()));
  if (!path.starts_with(std::string_view(route.path).substr(0, brace)) || rest.empty() ||
      rest.find('/') != std::string_view::npos) {
    return false;
  }
  item = rest;
  return true;
}

bool names_entry_by_number(const ApiRoute& route, const ApiCall& call, unsigned count) {
  return route.path == "/entries/{id}" && is_entry_id(call.item) && !call.parameters.contains("partition") &&
         !partition_of_key(call.item, count);
}

std::optional<unsigned> partition_of_call(const ApiRoute& route, const ApiCall& call, const OperationValues& given,
                                          unsigned count) {
  if (const std::string& named = call.get("partition"); call.parameters.contains("partition")) {
    unsigned partition = 0;
    return read_number(std::string_view(named), partition) ? std::min(partition, count) : count;
  }
  if (route.is_of_none() || route.of_deployment) return 0;
  if (route.path == "/entries/{id}") return partition_of_entry(call.item, count);  // 0 if the id is invalid
  if (route.operation != nullptr) {
    const std::string feed = feed_of(*route.operation, given);
    return feed.empty() ? std::nullopt : std::optional(partition_of(feed, count));
  }
  if (!call.parameters.contains("url")) return std::nullopt;
  const auto feed = canonical_feed_url(call.get("url"));
  return feed ? partition_of(*feed, count) : 0;  // any partition can report an invalid URL
}

}  // namespace feedmill
