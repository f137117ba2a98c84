// This machine's own addresses (SECURITY E7): a public address of ours is still a way in.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace feedmill {

/// Addresses of all interfaces as text, IPv6 without scope; nothing when the kernel will not say, as without
/// descriptors: what it said before still holds then.
std::optional<std::vector<std::string>> interface_addresses();

/// How long what interface_addresses() said is believed.
inline constexpr std::chrono::seconds own_addresses_age{60};

}  // namespace feedmill
