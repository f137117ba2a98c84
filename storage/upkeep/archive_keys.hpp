// What an archive has besides feeds and the feeds of channels, on its way into stores: read marks, the order of
// channels, notices, rules and settings of hosts.
#pragma once

#include <string>
#include <vector>

#include <boost/json.hpp>

#include "storage/redis/values.hpp"
#include "storage/upkeep/archive_stores.hpp"

namespace feedmill {

class ArchiveKeys {
 public:
  /// `stores`, which outlive this, have answered already.
  explicit ArchiveKeys(const ArchiveStores& stores) : stores_(stores) {}

  /// A line of the kind `key`; `is_written`: else it is only looked at. Again is harmless. Throws BadLine.
  StoreResult<void> take(const boost::json::object& line, bool is_written);

 private:
  Store& home_of(const std::string& user) const;
  StoreResult<void> marks(const boost::json::object& line, const std::string& uid,
                          const std::vector<std::string>& words, bool is_written);
  std::string with_entry_here(const std::string& notice) const;
  StoreResult<void> order(const std::string& user, const std::vector<std::string>& ids);
  StoreResult<void> rules(const std::string& user, const std::vector<std::string>& words, bool is_written);

  const ArchiveStores& stores_;
};

}  // namespace feedmill
