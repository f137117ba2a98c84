// Logins that programs store for their feeds (SECURITY K7). They belong to the deployment: its first partition has
// them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/store/store.hpp"

namespace feedmill {

/// A secret that feeds naming it send to one origin.
struct FeedLogin {
  std::string name{};         ///< OWNER/NAME; the owner is an API token's name
  std::string origin{};       ///< canonical, without a path
  std::string user{};         ///< of HTTP Basic; "" if the secret is a header's value
  std::string header{};       ///< name of that header; "" for HTTP Basic
  std::string by{};           ///< the token that stored it, or "operator"
  Milliseconds at{};          ///< when
  std::string header_line{};  ///< the header line to send: a secret
};

/// The parts of a login's name, split at its first slash.
std::string_view owner_of_login(std::string_view name);
std::string_view own_name_of_login(std::string_view name);

/// The deployment's logins, over a Store's connection, or over one of its own if that serves another partition.
class Logins {
 public:
  static constexpr std::size_t most_of_owner = 1000;

  /// `store` must outlive this object.
  explicit Logins(Store& store);

  /// Stores a login, in place of one with its name. `by`, `at` and all others come from `login`, which must hold no
  /// control characters. False if its owner has most_of_owner others.
  StoreResult<bool> put(const FeedLogin& login);
  /// False if there was none.
  StoreResult<bool> remove(const std::string& name);
  StoreResult<std::optional<FeedLogin>> find(const std::string& name);
  /// Those of `owner` ("" = of all owners) after the login named `after` ("" = from the first), by owner and then name;
  /// at most `limit`, without their secrets.
  StoreResult<std::vector<FeedLogin>> list(const std::string& owner, const std::string& after, std::size_t limit);

 private:
  std::optional<Store> first_;  // if the given store is another partition
  Store::Impl& impl_;
};

}  // namespace feedmill
