// Parses a name server's answer (RFC 1035 §4).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

enum class AddressFamily { v4, v6 };

struct HostAddresses {
  std::vector<std::string> addresses{};  ///< in the answer's order
  std::chrono::seconds ttl{};            ///< minimum along the alias chain
};

/// Addresses of `host` in `message`: follows aliases (CNAME), at most 16, and takes only addresses of the resulting
/// name, whoever sent others (SECURITY T4). c-ares checks that `message` answers a question for `host`, but newer
/// versions accept addresses of any name. A result without addresses if there are none; empty if the message is
/// malformed. Reads the first 256 records.
std::optional<HostAddresses> read_dns_answer(std::string_view message, std::string_view host, AddressFamily family);

}  // namespace feedmill
