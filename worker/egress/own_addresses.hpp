// This machine's own addresses (SECURITY E7): even a public one could be a way in.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace feedmill {

/// Addresses of all interfaces as text, IPv6 without scope; empty if the kernel does not report them (for example
/// without descriptors): keep the previous ones then.
std::optional<std::vector<std::string>> interface_addresses();

/// How long a result of interface_addresses() is used.
inline constexpr std::chrono::seconds own_addresses_age{60};

}  // namespace feedmill
