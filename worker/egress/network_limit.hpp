// Limits the connections to one network (HTTP H8): a thousand slow servers in one place must not take all lanes.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace feedmill {

/// Counts connections by network (EgressPolicy::network_of()). Lives on one loop thread and must outlive all running
/// wait() calls.
class NetworkLimit {
 public:
  explicit NetworkLimit(std::size_t most) : most_(most) {}
  NetworkLimit(const NetworkLimit&) = delete;
  NetworkLimit& operator=(const NetworkLimit&) = delete;

  /// Takes a slot; false if all are taken.
  bool enter(const std::string& network);
  /// Frees a slot and wakes the longest waiter.
  void leave(const std::string& network);

  /// Waits until a slot may be free; false if none became free before `until`. Cancellation unwinds with
  /// operation_aborted.
  boost::asio::awaitable<bool> wait(std::string network, std::chrono::steady_clock::time_point until);

 private:
  struct Network {
    std::size_t held = 0;
    std::vector<boost::asio::steady_timer*> waiting;  ///< longest first
  };

  std::size_t most_;
  std::unordered_map<std::string, Network> networks_;  ///< only those with slots taken
};

}  // namespace feedmill
