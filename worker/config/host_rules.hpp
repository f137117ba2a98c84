// What the operator set for hosts and groups of hosts (HTTP H1, H7), as the claim script reads it too.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/host_records.hpp"
#include "storage/redis/values.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

/// What holds for requests to one host.
struct HostRule {
  std::string gate;  ///< whose gate they pass: the server itself, or "group:<name>"
  HostLimits limits;
  Milliseconds min_interval{};  ///< between refreshes of one feed, 0 = the feed's own is enough
  bool by_hand = false;         ///< its spacing is set for this very host: what was learned of a quota does not count
};

class HostRules {
 public:
  /// All hosts alike.
  explicit HostRules(const HostLimits& usual = {}) : usual_(usual) {}
  /// The general limits, [host."NAME"] and [host_group.NAME].
  explicit HostRules(const Config& config);

  /// `server`: as server_of() has it; what is set counts for all ports of a host.
  HostRule of(std::string_view server) const;
  /// What was learned of a gate's quota (HTTP H10): its hosts are asked no more often, but for those whose spacing is
  /// set.
  void learn(const std::string& gate, Milliseconds pace) { learned_[gate] = pace; }
  /// Of every host that has some or belongs to a group: for Store::set_hosts().
  std::vector<HostSettings> settings() const;

 private:
  HostLimits usual_;
  std::map<std::string, HostSettings, std::less<>> differing_;
  std::map<std::string, Milliseconds, std::less<>> learned_;
};

/// Between two requests to a host under all names together, by what was learned of its quotas (HTTP H10); 0 = nothing
/// was.
Milliseconds learned_pace(const HostState& host);

}  // namespace feedmill
