// Any egress.allow, egress.deny, egress.ports and egress.nat64, one entry per line → rejected, or a policy that never
// allows an address that is not a host's, and gives every caller the same verdict on an address (SECURITY E2, E6).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string>
#include <vector>

#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"
#include "worker/egress/address_guard.hpp"

namespace {

feedmill::Egress by_socket(const feedmill::EgressPolicy& policy, const std::string& address, std::uint16_t port) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    return policy.check(reinterpret_cast<const sockaddr*>(&v4), port);
  }
  if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
    return policy.check(reinterpret_cast<const sockaddr*>(&v6), port);
  }
  return feedmill::Egress::blocked_address;
}

}  // namespace

FEEDMILL_FUZZ_TARGET(egress_fuzz, data, size) {
  using namespace feedmill;
  // The first character of a line gives its kind: '-' denied, '=' a port, '~' a NAT64 prefix, '?' an address to check;
  // all other lines are allowed addresses.
  std::vector<std::string> allow, deny, ports, nat64, asked;
  std::string_view rest = fuzz::view(data, size);
  while (!rest.empty() && allow.size() + deny.size() + ports.size() + nat64.size() + asked.size() < 64) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with('-')) {
      deny.emplace_back(line.substr(1));
    } else if (line.starts_with('=')) {
      ports.emplace_back(line.substr(1));
    } else if (line.starts_with('~')) {
      nat64.emplace_back(line.substr(1));
    } else if (line.starts_with('?')) {
      asked.emplace_back(line.substr(1));
    } else {
      allow.emplace_back(line);
    }
  }
  auto policy = EgressPolicy::parse(allow, deny, ports, nat64);
  if (!policy) {
    fuzz::require(policy.error().starts_with("egress."));
    return 0;
  }
  for (const std::string& address : asked) policy->network_of(address);
  policy->close_own(asked);
  policy->close_nat64(asked);
  for (const char* never : {"0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "255.255.255.255", "::", "ff02::1",
                            "::ffff:8.8.8.8", "64:ff9b::224.0.0.1"}) {
    fuzz::require(policy->check(std::string_view(never), 80) != Egress::allowed);
  }
  for (const std::uint16_t bad : {std::uint16_t{22}, std::uint16_t{25}, std::uint16_t{6000}}) {
    fuzz::require(policy->check(std::string_view("8.8.8.8"), bad) != Egress::allowed);
  }
  asked.insert(asked.end(), {"127.0.0.1", "10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111", "64:ff9b::8.8.8.8"});
  for (const std::string& address : asked) {
    for (const std::uint16_t port : {std::uint16_t{80}, std::uint16_t{8080}, std::uint16_t{50000}}) {
      const Egress verdict = policy->check(std::string_view(address), port);
      fuzz::require(verdict == by_socket(*policy, address, port) || address.find('\0') != address.npos);
      fuzz::require(!policy->opened_by_allow(address, port) || (verdict == Egress::allowed && !allow.empty()));
    }
  }
  return 0;
}
