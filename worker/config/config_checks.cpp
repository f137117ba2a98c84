#include "worker/config/config_checks.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include "parsers/text/strings.hpp"
#include "worker/config/config_values.hpp"

namespace feedmill {
namespace {

namespace ip = boost::asio::ip;

/// port or port-port, both ≥ 1 and in order.
bool is_port_range(std::string_view text) {
  const auto dash = text.find('-');
  std::uint16_t first = 0, last = 0;
  if (!read_number(text.substr(0, dash), first) || first == 0) return false;
  return dash == std::string_view::npos || (read_number(text.substr(dash + 1), last) && last >= first);
}

/// CIDR[:port[-port]]; IPv6 in brackets if ports follow (SECURITY E6).
bool is_egress_rule(std::string_view text) {
  boost::system::error_code error;
  std::string_view network = text, ports;
  const bool bracketed = text.starts_with('[');
  const auto colon = bracketed ? text.find(':', std::min(text.find(']'), text.size())) : text.find(':');
  if (bracketed || std::ranges::count(text, ':') == 1) {
    network = text.substr(0, colon);
    if (colon != std::string_view::npos && !is_port_range(text.substr(colon + 1))) return false;
  }
  std::string plain(network);
  std::erase_if(plain, [](char c) { return c == '[' || c == ']'; });
  if (plain.find('/') == std::string::npos) {
    ip::make_address(plain, error);
  } else if (plain.find(':') == std::string::npos) {
    ip::make_network_v4(plain, error);
  } else {
    ip::make_network_v6(plain, error);
  }
  return !error;
}

bool is_name_server(std::string_view text) {
  boost::system::error_code error;
  const bool bracketed = text.starts_with('[');
  const bool with_port = bracketed || std::ranges::count(text, ':') == 1;
  std::string_view host = text;
  if (with_port) {
    const auto colon = text.rfind(':');
    host = text.substr(0, colon);
    std::uint16_t port = 0;
    if (colon == std::string_view::npos || !read_number(text.substr(colon + 1), port) || port == 0) return false;
    if (bracketed && (host.size() < 2 || !host.ends_with(']'))) return false;
    if (bracketed) host = host.substr(1, host.size() - 2);
  }
  const auto address = ip::make_address(std::string(host), error);
  return !error && (!with_port || address.is_v6() == bracketed);
}

bool is_nat64_prefix(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  boost::system::error_code error;
  const auto address = ip::make_address_v6(std::string(text.substr(0, slash)), error);
  if (error || address.is_unspecified() || address.is_multicast() || address.is_v4_mapped()) return false;
  const std::string_view bits = text.substr(slash + 1);
  return bits == "32" || bits == "40" || bits == "48" || bits == "56" || bits == "64" || bits == "96";
}

}  // namespace

std::string check_egress_rules(const std::vector<std::string>& rules) {
  for (const auto& rule : rules) {
    if (!is_egress_rule(rule))
      return "\"" + rule +
             "\" is not CIDR[:port[-port]], such as 10.20.0.0/16:443, 192.168.1.10 or [fd00:1::]/64:8000-8999";
  }
  return {};
}

std::string check_egress_ports(const std::vector<std::string>& ports) {
  for (const auto& range : ports)
    if (!is_port_range(range)) return "\"" + range + "\" is not a port or a range of ports, such as 80 or 8000-8999";
  return {};
}

std::string check_nat64_prefixes(const std::vector<std::string>& prefixes) {
  for (const auto& prefix : prefixes)
    if (!is_nat64_prefix(prefix))
      return "\"" + prefix + "\" is not a NAT64 prefix of 32, 40, 48, 56, 64 or 96 bits, such as 2001:db8:64::/96";
  return {};
}

std::string check_networks(const std::vector<std::string>& networks) {
  for (const auto& network : networks)
    if (network.find(']') != std::string::npos || !is_egress_rule(network) ||
        (network.find('.') != std::string::npos && network.find(':') != std::string::npos))
      return "\"" + network + "\" is not an address or a network, such as 10.0.0.5, 10.0.0.0/8 or fd00::/64";
  return {};
}

std::string check_name_servers(const std::vector<std::string>& servers) {
  for (const auto& server : servers)
    if (!is_name_server(server))
      return "\"" + server + "\" is not ADDRESS[:port], such as 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53";
  return {};
}

std::string check_host_names(const std::vector<std::string>& names) {
  constexpr std::string_view legal = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
  for (const auto& name : names)
    if (name.empty() || name.size() > 253 || name.find_first_not_of(legal) != std::string::npos)
      return "\"" + name + "\" is not a host name such as feedmill.example (no scheme, no port)";
  return {};
}

std::string check_parameter_names(const std::vector<std::string>& names) {
  constexpr std::string_view legal = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  for (const auto& name : names)
    if (name.empty() || name.find_first_not_of(legal) != std::string::npos)
      return "\"" + name + "\" is not a parameter name: only letters, digits and _ . -";
  return {};
}

}  // namespace feedmill
