// How many connections one network of destinations may hold (HTTP H8): a thousand slow servers in one place must not
// take all lanes.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace feedmill {

/// Counts by network (EgressPolicy::network_of()). Lives on one loop thread and must outlive every wait()
/// under way.
class NetworkLimit {
 public:
  explicit NetworkLimit(std::size_t most) : most_(most) {}
  NetworkLimit(const NetworkLimit&) = delete;
  NetworkLimit& operator=(const NetworkLimit&) = delete;

  /// Takes a place; false when all are taken.
  bool enter(const std::string& network);
  /// Gives one back, and wakes who has waited longest for it.
  void leave(const std::string& network);

  /// Until a place may be free: true; false when none was before `until`. Cancellation unwinds with operation_aborted.
  boost::asio::awaitable<bool> wait(std::string network, std::chrono::steady_clock::time_point until);

 private:
  struct Network {
    std::size_t held = 0;
    std::vector<boost::asio::steady_timer*> waiting;  ///< longest first
  };

  std::size_t most_;
  std::unordered_map<std::string, Network> networks_;  ///< only those with somebody in
};

}  // namespace feedmill
