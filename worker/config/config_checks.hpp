// Checks lists of addresses, ports and names in the configuration. Pure.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "worker/config/config.hpp"

namespace feedmill {

// Each function returns the problem with the first invalid item and the expected form; "" if all items are valid.

/// CIDR[:port[-port]]; IPv6 in brackets if ports follow (SECURITY E6).
std::string check_egress_rules(const std::vector<std::string>& rules);
/// port[-port].
std::string check_egress_ports(const std::vector<std::string>& ports);
/// ADDRESS/BITS of IPv6, as in RFC 6052.
std::string check_nat64_prefixes(const std::vector<std::string>& prefixes);
/// An address, or ADDRESS/BITS.
std::string check_networks(const std::vector<std::string>& networks);
/// ADDRESS[:port]; IPv6 in brackets if a port follows.
std::string check_name_servers(const std::vector<std::string>& servers);
/// Host names without scheme and port; no addresses.
std::string check_host_names(const std::vector<std::string>& names);
/// Names as they appear before the "=" in a URL's query.
std::string check_parameter_names(const std::vector<std::string>& names);

// Checks consistency between options.

/// Callbacks of check_together(), by option key.
struct Verdicts {
  std::function<bool(std::initializer_list<std::string_view> keys)> sound;  ///< whether all these options are valid
  std::function<void(std::string_view key, std::string remedy)> add;        ///< adds a problem
};

/// Compares only options that are valid by themselves. May check files that options name.
void check_together(const Config& config, bool in_kubernetes, const Verdicts& verdicts);

}  // namespace feedmill
