// Sentinels: find the primary of a service. See "Guidelines for Redis clients with support for Redis Sentinel" in the
// Redis manual.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "storage/redis/redis.hpp"

namespace feedmill {

/// The sentinels of one address. Not thread-safe.
class Sentinels {
 public:
  /// Asks `address.sentinels` in turn until one names the primary of `address.service`, stores it in `host` and `port`,
  /// and moves that sentinel to the front. Takes at most `timeout`. On failure returns an error with each sentinel's
  /// reason: `unavailable` if one may know soon, else `unsupported` (not sentinels, or an unknown service), `auth` or
  /// `tls`.
  std::optional<StoreError> find_primary(RedisAddress& address, Milliseconds timeout);

  /// Whether the first sentinel now names another primary. Asks it at most once a second and waits at most 200 ms;
  /// without an answer returns false and moves the next sentinel to the front.
  bool name_another(RedisAddress& address);

 private:
  std::unique_ptr<Redis> answering_;  // connection to the first sentinel, null at first
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace feedmill
