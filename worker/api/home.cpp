#include "worker/api/home.hpp"

#include <algorithm>
#include <string>

#include "parsers/text/numbers.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/store/partition.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {

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
  if (route.is_of_none()) return 0;
  if (route.path == "/entries/{id}") return partition_of_entry(call.item, count);  // 0 where that is none
  if (route.operation != nullptr) {
    const std::string feed = feed_of(*route.operation, given);
    return feed.empty() ? std::nullopt : std::optional(partition_of(feed, count));
  }
  if (!call.parameters.contains("url")) return std::nullopt;
  const auto feed = canonical_feed_url(call.get("url"));
  return feed ? partition_of(*feed, count) : 0;  // any says what is wrong with it
}

}  // namespace feedmill
