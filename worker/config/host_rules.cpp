#include "worker/config/host_rules.hpp"

#include <algorithm>
#include <cstdint>

namespace feedmill {

HostRules::HostRules(const Config& config) : usual_{config.host.concurrency, config.host.spacing} {
  const auto host_of_name = [this](const std::string& name) -> HostSettings& {
    HostSettings& host = differing_[name];
    host.host = name;
    return host;
  };
  for (const auto& [name, differing] : config.hosts) {
    HostSettings& host = host_of_name(name);
    host.concurrency = differing.concurrency;
    host.spacing = differing.spacing;
    host.min_interval = differing.min_interval;
  }
  for (const auto& [group, members] : config.host_groups) {
    for (const std::string& name : members.hosts) host_of_name(name).group = group;
  }
}

HostRule HostRules::of(std::string_view server) const {
  HostRule rule{std::string(server), usual_, Milliseconds(0), false};
  if (const auto found = differing_.find(host_of_gate(server)); found != differing_.end()) {
    const HostSettings& differing = found->second;
    if (!differing.group.empty()) rule.gate = "group:" + differing.group;
    rule.limits.concurrency = differing.concurrency.value_or(rule.limits.concurrency);
    rule.limits.spacing = differing.spacing.value_or(rule.limits.spacing);
    rule.by_hand = differing.spacing.has_value();
    rule.min_interval = differing.min_interval.value_or(rule.min_interval);
  }
  const auto learned = learned_.find(rule.gate);
  if (learned != learned_.end() && !rule.by_hand) {
    rule.limits.spacing = std::max(rule.limits.spacing, learned->second);
  }
  return rule;
}

std::vector<HostSettings> HostRules::settings() const {
  std::vector<HostSettings> settings;
  settings.reserve(differing_.size());
  for (const auto& [name, host] : differing_) settings.push_back(host);
  return settings;
}

Milliseconds learned_pace(const HostState& host) {
  double a_millisecond = 0;
  for (const HostQuota& quota : host.quotas) {
    if (quota.pace.count() > 0) a_millisecond += 1 / static_cast<double>(quota.pace.count());
  }
  return Milliseconds(a_millisecond > 0 ? static_cast<std::int64_t>(1 / a_millisecond) : 0);
}

}  // namespace feedmill
