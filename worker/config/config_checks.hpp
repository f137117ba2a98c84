// What lists of addresses, ports and names must look like, wherever in the configuration they stand. Pure.
#pragma once

#include <string>
#include <vector>

namespace feedmill {

// Each says what is wrong with the first bad item and how to write it, "" when all are good.

/// CIDR[:port[-port]]; IPv6 in brackets when ports follow (SECURITY E6).
std::string check_egress_rules(const std::vector<std::string>& rules);
/// port[-port].
std::string check_egress_ports(const std::vector<std::string>& ports);
/// ADDRESS/BITS of IPv6, as RFC 6052 has them.
std::string check_nat64_prefixes(const std::vector<std::string>& prefixes);
std::string check_networks(const std::vector<std::string>& networks);
/// ADDRESS[:port]; IPv6 in brackets when a port follows.
std::string check_name_servers(const std::vector<std::string>& servers);
/// Of hosts, without scheme and port; no addresses.
std::string check_host_names(const std::vector<std::string>& names);
/// As they stand before the "=" in a URL's query.
std::string check_parameter_names(const std::vector<std::string>& names);

}  // namespace feedmill
