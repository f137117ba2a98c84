// Why a feed is due when it is (HTTP E2): what `explain` and a feed's page say.
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

/// A feed's host at one moment.
struct HostView {
  std::string name;
  HostState state;
  HostLimits limits;      ///< of the operator
  bool by_hand = false;   ///< whose spacing holds whatever was learned of a quota
  std::size_t feeds = 0;  ///< that share its quota; counted where one is known
};

/// Reads what the gate of the feed's host says.
StoreResult<HostView> read_host(Store& store, const HostRules& rules, const FeedRecord& record);

/// "60 feeds share 1 request a minute: each at best every 60 min"; "" where no quota is known, or none matters.
std::string quota_text(const HostView& host, Milliseconds now);

/// "example.org: 1 of 2 slots free, next start in 15 min, no back-off".
std::string host_text(const HostView& host, Milliseconds now);

/// A feed and its host at one moment, which is Redis' time.
struct Explained {
  FeedRecord record;
  HostView host;
  Milliseconds now{};
  std::optional<PushRecord> subscription{};   ///< the one that its pushes come by
  std::vector<std::string> volatile_parts{};  ///< what was learned to be no news (Feeds::volatile_parts)
};

/// What `explain` says to people: names and values in the order to show, not cleaned. `numbers`: and what the due time
/// was made of, as the scheduler reckons it.
std::vector<std::pair<std::string, std::string>> explain_lines(const Explained& explained, bool numbers = false);

/// Reads it; nothing when there is no such feed.
StoreResult<std::optional<Explained>> read_explained(Store& store, const HostRules& rules, const std::string& feed_url);

/// All of it for programs: what `explain --json` and /explain say.
boost::json::object explain_json(const Explained& explained);

}  // namespace feedmill
