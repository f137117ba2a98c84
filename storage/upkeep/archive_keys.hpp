// Imports the `key` lines of an archive: read marks, the order of channels, notices, rules and host settings.
#pragma once

#include <string>
#include <vector>

#include <boost/json.hpp>

#include "storage/redis/values.hpp"
#include "storage/store/deployment.hpp"

namespace feedmill {

class ArchiveKeys {
 public:
  /// `stores` must outlive this object and be open.
  explicit ArchiveKeys(const Deployment& stores) : stores_(stores) {}

  /// Imports a `key` line; only checks it unless `is_written`. Safe to repeat. Throws BadLine.
  StoreResult<void> take(const boost::json::object& line, bool is_written);

 private:
  Store& home_of(const std::string& user) const;
  StoreResult<void> marks(const boost::json::object& line, const std::string& uid,
                          const std::vector<std::string>& words, bool is_written);
  std::string with_entry_here(const std::string& notice) const;
  StoreResult<void> order(const std::string& user, const std::vector<std::string>& ids);
  StoreResult<void> rules(const std::string& user, const std::vector<std::string>& words, bool is_written);

  const Deployment& stores_;
};

}  // namespace feedmill
