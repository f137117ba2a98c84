#include "storage/redis/sentinel.hpp"

#include <algorithm>

namespace feedmill {
namespace {

constexpr Milliseconds ask_again = std::chrono::seconds(1), longest_to_ask_again{200};

RedisAddress address_of(const SentinelAddress& one, const RedisAddress& address) {
  RedisAddress its = address;  // with the same TLS
  its.host = one.host;
  its.port = one.port;
  its.user = address.sentinel_user;
  its.password = address.sentinel_password;
  its.database = 0;
  its.sentinels.clear();
  its.service.clear();
  return its;
}

/// The name or address and the port of the primary, or why this one does not tell.
StoreResult<SentinelAddress> ask(Redis& sentinel, const RedisAddress& address) {
  const auto answer = sentinel.command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", address.service});
  if (!answer) {
    const bool is_none = answer.error().detail.starts_with("ERR unknown command");
    if (is_none) return StoreError{StoreError::Code::unsupported, "it is no sentinel; for one server write redis://"};
    const bool wants_login = answer.error().detail.starts_with("NOAUTH");
    if (wants_login) return StoreError{StoreError::Code::auth, "it wants redis.sentinel_password_file"};
    return answer.error();
  }
  if (answer->is_nil()) {
    return StoreError{StoreError::Code::unsupported, "it knows no \"" + address.service + "\""};
  }
  SentinelAddress primary{std::string((*answer)[0].text()), 0};
  primary.port = static_cast<std::uint16_t>((*answer)[1].integer());
  if (answer->size() != 2 || primary.host.empty() || primary.port == 0) {
    return StoreError{StoreError::Code::bug, "its answer names no address"};
  }
  return primary;
}

bool may_pass(const StoreError& error) {
  using Code = StoreError::Code;
  return error.code == Code::unavailable || error.code == Code::timeout || error.code == Code::loading;
}

}  // namespace

std::optional<StoreError> Sentinels::find_primary(RedisAddress& address, Milliseconds timeout) {
  std::vector<SentinelAddress>& all = address.sentinels;
  const Milliseconds each = std::max(timeout / static_cast<int>(all.size()), Milliseconds(1));
  StoreError failed{StoreError::Code::unsupported, "no sentinel tells where \"" + address.service + "\" is"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    Redis sentinel(address_of(all[i], address), each);
    auto primary = ask(sentinel, address);
    if (primary) {
      answering_.reset();  // it may be another one
      asked_ = std::chrono::steady_clock::now();
      address.host = std::move(primary->host);
      address.port = primary->port;
      std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
                  all.begin() + static_cast<std::ptrdiff_t>(i + 1));
      return {};
    }
    const bool before_may_pass = i > 0 && may_pass(failed);
    if (!before_may_pass) failed.code = primary.error().code;
    failed.detail +=
        (i == 0 ? ": " : "; ") + all[i].host + ":" + std::to_string(all[i].port) + ": " + primary.error().detail;
  }
  return failed;
}

bool Sentinels::name_another(RedisAddress& address) {
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < ask_again) return false;
  asked_ = now;
  std::vector<SentinelAddress>& all = address.sentinels;
  if (!answering_) answering_ = std::make_unique<Redis>(address_of(all.front(), address), longest_to_ask_again);
  const auto primary = ask(*answering_, address);
  if (primary) return primary->host != address.host || primary->port != address.port;
  answering_.reset();
  std::rotate(all.begin(), all.begin() + 1, all.end());
  return false;
}

}  // namespace feedmill
