// Explains why a feed is due when it is (HTTP E2), for `explain` and a feed's page.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "storage/records/feed_record.hpp"
#include "storage/store/store.hpp"
#include "storage/websub/pushes.hpp"
#include "worker/config/host_rules.hpp"

namespace feedmill {

/// A feed's host at a moment.
struct HostView {
  std::string name;
  HostState state;
  HostLimits limits;      ///< the operator's
  bool by_hand = false;   ///< the operator set its spacing, which overrides a learned quota
  std::size_t feeds = 0;  ///< number of feeds that share its quota, if it has one
};

/// Reads the state of the feed's host gate.
StoreResult<HostView> read_host(Store& store, const HostRules& rules, const FeedRecord& record);

/// "60 feeds share 1 request a minute: each at best every 60 min"; "" if no quota is known, or none matters.
std::string quota_text(const HostView& host, Milliseconds now);

/// "example.org: 1 of 2 slots free, next start in 15 min, no back-off".
std::string host_text(const HostView& host, Milliseconds now);

/// A feed and its host at a moment in Redis' time.
struct Explained {
  FeedRecord record;
  HostView host;
  Milliseconds now{};
  std::optional<PushRecord> subscription{};   ///< the one that delivers its pushes
  std::vector<std::string> volatile_parts{};  ///< learned parts whose changes are not news (Feeds::volatile_parts)
};

/// The output of `explain` for people: names and values in display order, not cleaned. `numbers`: add the inputs of the
/// due time, as the scheduler computes it.
std::vector<std::pair<std::string, std::string>> explain_lines(const Explained& explained, bool numbers = false);

/// Reads the data for an explanation; empty if there is no such feed.
StoreResult<std::optional<Explained>> read_explained(Store& store, const HostRules& rules, const std::string& feed_url);

/// The output for programs, of `explain --json` and /explain.
boost::json::object explain_json(const Explained& explained);

}  // namespace feedmill
