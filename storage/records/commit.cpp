#include "storage/records/commit.hpp"

#include <algorithm>

#include <boost/json.hpp>

namespace feedmill {

std::uint64_t Retention::count() const {
  if (strict) return entries;
  return std::min(std::max(entries, listed), hard_cap);
}

FeedEvent moved_event(const Move& move) {
  const boost::json::object data{{"from", move.from}, {"to", move.to}};
  return {"feed_moved", "updated", boost::json::serialize(data), ""};
}

}  // namespace feedmill
