// Asks several servers in turn for the location of another.
#pragma once

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "storage/redis/redis.hpp"
#include "storage/redis/redis_address.hpp"

namespace feedmill {

/// Calls `ask(node, time)` for each node until one succeeds; returns its index and result. All calls together get
/// `timeout`. Otherwise returns `nobody_tells` with each node's reason; the code is the first transient one
/// (unavailable, timeout, loading), else the last, and `unsupported` without nodes.
template <class Told, class Ask>
StoreResult<std::pair<std::size_t, Told>> ask_in_turn(std::span<const NodeAddress> nodes, Milliseconds timeout,
                                                      std::string nobody_tells, const Ask& ask) {
  using Code = StoreError::Code;
  const auto may_pass = [](Code code) {
    return code == Code::unavailable || code == Code::timeout || code == Code::loading;
  };
  const Milliseconds each = std::max(timeout / static_cast<int>(nodes.size()), Milliseconds(1));
  StoreError failed{Code::unsupported, std::move(nobody_tells)};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    StoreResult<Told> told = ask(nodes[i], each);
    if (told) return std::pair(i, std::move(*told));
    if (i == 0 || !may_pass(failed.code)) failed.code = told.error().code;
    failed.detail += (i == 0 ? ": " : "; ") + shown(nodes[i]) + ": " + told.error().detail;
  }
  return failed;
}

}  // namespace feedmill
