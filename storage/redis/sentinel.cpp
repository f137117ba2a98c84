#include "storage/redis/sentinel.hpp"

#include <algorithm>

#include "storage/redis/in_turn.hpp"
#include "storage/redis/redis_address.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds ask_again = std::chrono::seconds(1), longest_to_ask_again{200};

RedisAddress address_of(const NodeAddress& one, const RedisAddress& address) {
  RedisAddress its = address;  // keeps TLS
  its.host = one.host;
  its.port = one.port;
  its.user = address.sentinel_user;
  its.password = address.sentinel_password;
  its.database = 0;
  its.sentinels.clear();
  its.service.clear();
  return its;
}

/// The primary's name or address and port, or why this sentinel does not give it.
StoreResult<NodeAddress> ask(Redis& sentinel, const NodeAddress& one, const RedisAddress& address) {
  const auto answer = sentinel.command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", address.service});
  if (!answer) {
    const bool is_none = answer.error().detail.starts_with("ERR unknown command");
    if (is_none) {
      RedisAddress server = address;  // with the servers' login instead of the sentinels'
      server.host = one.host;
      server.port = one.port;
      return StoreError{StoreError::Code::unsupported, "it is not a sentinel; for one server write " +
                                                           url_as("", server) + ", for a cluster node " +
                                                           url_as("+cluster", server)};
    }
    StoreError error = answer.error();
    if (error.detail.starts_with("NOAUTH")) {
      error = {StoreError::Code::auth, "it requires redis.sentinel_password_file"};
    } else if (error.code == StoreError::Code::auth) {
      error.detail += "; check redis.sentinel_user and redis.sentinel_password_file";
    }
    return error;
  }
  if (answer->is_nil()) {
    return StoreError{StoreError::Code::unsupported, "it does not know \"" + address.service + "\""};
  }
  NodeAddress primary{std::string((*answer)[0].text()), static_cast<std::uint16_t>((*answer)[1].integer())};
  if (answer->size() != 2 || primary.host.empty() || primary.port == 0) {
    return StoreError{StoreError::Code::bug, "its answer has no address"};
  }
  return primary;
}

}  // namespace

std::optional<StoreError> Sentinels::find_primary(RedisAddress& address, Milliseconds timeout) {
  std::vector<NodeAddress>& all = address.sentinels;
  auto told = ask_in_turn<NodeAddress>(all, timeout, "no sentinel reports where \"" + address.service + "\" is",
                                       [&](const NodeAddress& one, Milliseconds time) {
                                         Redis sentinel(address_of(one, address), time);
                                         return ask(sentinel, one, address);
                                       });
  if (!told) return told.error();
  const auto& [at, primary] = *told;
  answering_.reset();  // the connection may be to another sentinel
  asked_ = std::chrono::steady_clock::now();
  address.host = primary.host;
  address.port = primary.port;
  const auto answered = all.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(all.begin(), answered, answered + 1);
  return {};
}

bool Sentinels::name_another(RedisAddress& address) {
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < ask_again) return false;
  asked_ = now;
  std::vector<NodeAddress>& all = address.sentinels;
  if (!answering_) answering_ = std::make_unique<Redis>(address_of(all.front(), address), longest_to_ask_again);
  const auto primary = ask(*answering_, all.front(), address);
  if (primary) return primary->host != address.host || primary->port != address.port;
  answering_.reset();
  std::rotate(all.begin(), all.begin() + 1, all.end());
  return false;
}

}  // namespace feedmill
