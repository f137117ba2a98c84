// Sentinels: who the primary of a service is. See "Guidelines for Redis clients with support for Redis Sentinel" of the
// Redis manual.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "storage/redis/redis.hpp"

namespace feedmill {

/// Those of one address. Not thread-safe.
class Sentinels {
 public:
  /// Asks `address.sentinels` in turn until one names the primary of `address.service`, writes it into `host` and
  /// `port`, and has that sentinel stand first. Lasts `timeout` at most, however many do not answer. Otherwise why none
  /// did, each of them with its reason: `unavailable` where one may know soon, else what is wrong with all:
  /// `unsupported` (no sentinels, or they know no such service), `auth`, `tls`.
  std::optional<StoreError> find_primary(RedisAddress& address, Milliseconds timeout);

  /// Whether the one that stands first names another primary by now. Asks it once a second at most and waits for 200 ms
  /// at most; no answer is no reason to leave, and the next one stands first then.
  bool name_another(RedisAddress& address);

 private:
  std::unique_ptr<Redis> answering_;  // the connection to who is asked again and again, null before
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace feedmill
