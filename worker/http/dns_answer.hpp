// What a name server's answer says of a name (RFC 1035 §4).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

enum class AddressFamily { v4, v6 };

struct HostAddresses {
  std::vector<std::string> addresses{};  ///< in the order of the answer
  std::chrono::seconds ttl{};            ///< the least along the way to them
};

/// What `message` says of `host`: its aliases (CNAME) are followed, 16 at most, and addresses of the name they lead to
/// are taken. Those of other names are not, whoever sends them (SECURITY T4): that `message` answers a question for
/// `host` is c-ares' to see to, whose addresses are in it is not, since newer versions take any. No addresses when
/// there are none; none at all when it cannot be read. Of records, the first 256 are looked at.
std::optional<HostAddresses> read_dns_answer(std::string_view message, std::string_view host, AddressFamily family);

}  // namespace feedmill
