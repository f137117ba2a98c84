#include "worker/egress/network_limit.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace feedmill {

namespace asio = boost::asio;

bool NetworkLimit::enter(const std::string& network) {
  Network& entry = networks_[network];
  if (entry.held >= most_) return false;
  ++entry.held;
  return true;
}

void NetworkLimit::leave(const std::string& network) {
  const auto found = networks_.find(network);
  Network& entry = found->second;
  --entry.held;
  if (!entry.waiting.empty()) {
    asio::steady_timer* first = entry.waiting.front();
    entry.waiting.erase(entry.waiting.begin());
    first->cancel();
  }
  if (entry.held == 0 && entry.waiting.empty()) networks_.erase(found);
}

asio::awaitable<bool> NetworkLimit::wait(std::string network, std::chrono::steady_clock::time_point until) {
  const auto found = networks_.find(network);
  if (found == networks_.end() || found->second.held < most_) co_return true;
  asio::steady_timer timer(co_await asio::this_coro::executor, until);
  found->second.waiting.push_back(&timer);
  const auto [interrupted] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  const auto entry = networks_.find(network);
  const bool called = entry == networks_.end() || std::erase(entry->second.waiting, &timer) == 0;  // leave() removed it
  if (called) co_return true;
  if (interrupted) throw boost::system::system_error(interrupted);  // cancelled: unwind
  co_return false;
}

}  // namespace feedmill
