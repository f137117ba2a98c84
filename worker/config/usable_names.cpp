#include "worker/config/usable_names.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"

namespace feedmill {
namespace {

template <class Row>
std::string not_configured(std::string_view key, const std::string& name, std::string_view table,
                           const Named<Row>& rows) {
  std::string known;
  for (const auto& [row, value] : rows) known.append(known.empty() ? "" : " ").append(row);
  return fmt::format("{}: the configuration has no [{}.\"{}\"]; {}", key, table, visible(name),
                     known.empty() ? "defined: none" : "defined: " + known);
}

/// An interval below the minimum would be ignored; "" unless that is certain.
std::string too_short(const Config& config, const FeedSettings& before, const FeedSettings& settings) {
  const auto policy = config.egress_policies.find(settings.policy);
  if (!config.egress.allow.empty() || (policy != config.egress_policies.end() && !policy->second.allow.empty()))
    return {};
  constexpr auto least = static_cast<std::uint64_t>(std::chrono::seconds(least_interval).count());
  for (const auto& [name, member] :
       {std::pair("interval_min", &FeedSettings::interval_min), {"interval_max", &FeedSettings::interval_max}}) {
    const auto& interval = settings.*member;
    if (interval && interval != before.*member && *interval < least)
      return fmt::format("{}: at least {}, the minimum unless egress.allow opens the server", name,
                         format_duration(least_interval));
  }
  return {};
}

}  // namespace

std::string unusable_names(const Config& config, const FeedSettings& before, const FeedSettings& settings) {
  if (!settings.auth.empty() && settings.auth != before.auth && !names_login(settings.auth) &&
      !config.feed_auth.contains(settings.auth)) {
    return not_configured("auth", settings.auth, "feed_auth", config.feed_auth);
  }
  if (!settings.policy.empty() && settings.policy != before.policy &&
      !config.egress_policies.contains(settings.policy)) {
    return not_configured("policy", settings.policy, "egress.policy", config.egress_policies);
  }
  const bool proxied = !settings.proxy.empty() && settings.proxy != "none" && settings.proxy != before.proxy;
  if (proxied && !config.fetch.proxy_enforces_egress) {  // SECURITY E9
    return "proxy: feedmill cannot check addresses when using a proxy, so the proxy must reject private ones; if it "
           "does, set fetch.proxy_enforces_egress=true in the configuration";
  }
  return too_short(config, before, settings);
}

}  // namespace feedmill
