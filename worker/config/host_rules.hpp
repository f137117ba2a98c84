// The operator's settings for hosts and groups of hosts (HTTP H1, H7); the claim script reads them too.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/fleet_records.hpp"
#include "storage/redis/values.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

/// The rules for requests to one host.
struct HostRule {
  std::string gate;  ///< the gate of these requests: the server itself, or "group:<name>"
  HostLimits limits;
  Milliseconds min_interval{};  ///< between refreshes of one feed, 0 = only the feed's own interval applies
  bool by_hand = false;         ///< the operator set this host's spacing, which overrides a learned quota
};

/// The rules for all hosts: configured limits and learned quotas.
class HostRules {
 public:
  /// The same limits for all hosts.
  explicit HostRules(const HostLimits& usual = {}) : usual_(usual) {}
  /// The general limits, [host."NAME"] and [host_group.NAME].
  explicit HostRules(const Config& config);

  /// `server`: from server_of(); settings apply to all ports of a host.
  HostRule of(std::string_view server) const;
  /// Applies a gate's learned quota (HTTP H10): requests to its hosts are spaced at least by `pace`, except where the
  /// operator set a spacing.
  void learn(const std::string& gate, Milliseconds pace) { learned_[gate] = pace; }
  /// Every host with settings or a group, for Store::set_hosts().
  std::vector<HostSettings> settings() const;

 private:
  HostLimits usual_;
  std::map<std::string, HostSettings, std::less<>> differing_;
  std::map<std::string, Milliseconds, std::less<>> learned_;
};

/// Interval of requests to a host under all egress names together, from its learned quotas (HTTP H10); 0 = none
/// learned.
Milliseconds learned_pace(const HostState& host);

}  // namespace feedmill
