#include "worker/api/home.hpp"

#include <algorithm>
#include <string>

#include <boost/json/parse.hpp>

#include "parsers/text/numbers.hpp"
#include "storage/records/json_member.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/store/partition.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

/// The feed that a body names, as it stands there; "" where it names none.
std::string feed_in(std::string_view body) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(body, error);
  if (error || !value.is_object()) return "";
  const std::string_view feed = string_member(value.get_object(), "feed");
  return std::string(feed.empty() ? string_member(value.get_object(), "url") : feed);
}

}  // namespace

bool names_feed_in_body(const ApiRoute& route) {
  if (route.operation == nullptr) return route.op == "add" || route.op == "entry_put";
  return std::ranges::any_of(route.operation->fields, [&](const OperationField& field) {
    return field.kind == OperationField::Kind::feed && !field.repeats && !is_in_query(*route.operation, field);
  });
}

bool names_entry_by_number(const ApiRoute& route, const ApiCall& call, unsigned count) {
  return route.path == "/entries/{id}" && is_entry_id(call.item) && !call.parameters.contains("partition") &&
         !partition_of_key(call.item, count);
}

std::optional<unsigned> partition_of_call(const ApiRoute& route, const ApiCall& call, std::string_view body,
                                          unsigned count) {
  if (const std::string& named = call.get("partition"); call.parameters.contains("partition")) {
    unsigned partition = 0;
    return read_number(std::string_view(named), partition) ? std::min(partition, count) : count;
  }
  if (route.is_of_none()) return 0;
  if (route.path == "/entries/{id}") return partition_of_entry(call.item, count);  // 0 where that is none
  const std::string& url = call.get("url");
  const auto feed = canonical_feed_url(url.empty() ? feed_in(body) : url);
  if (feed) return partition_of(*feed, count);
  const bool says_what_is_wrong = !url.empty() || (names_feed_in_body(route) && route.operation == nullptr);
  return says_what_is_wrong ? std::optional(0U) : std::nullopt;
}

}  // namespace feedmill
