#include "worker/republish/republishing.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "storage/feeds/feeds.hpp"
#include "worker/base/redact.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {
namespace {

bool has_secret(const std::string& url) {
  return redact(url) != url;
}

/// Why the feed is not public; "" if anyone could have fetched it.
std::string_view why_private(const std::string& feed_url, const FeedState& state, const FeedSettings& settings) {
  if (!settings.auth.empty()) return "it is fetched with credentials (auth)";
  if (!settings.headers.empty()) return "it is fetched with custom headers";
  if (!settings.policy.empty()) return "it is fetched under a custom policy";
  if (has_secret(feed_url) || has_secret(state.address.fetch_url)) return "its URL contains a secret";
  if (state.exposure == Exposure::opened_by_allow) return "its server is allowed by egress.allow";
  if (state.exposure == Exposure::unknown) return "it has not been fetched since feedmill records its source";
  return {};
}

}  // namespace

Republishing republishing_of(const std::string& feed_url, const FeedState& state) {
  const FeedSettings settings = read_settings(state.settings);
  if (settings.republish == "yes") return {true, true, ""};
  if (settings.republish == "no") return {false, true, "its record says republish=no"};
  const std::string_view why = why_private(feed_url, state, settings);
  if (why.empty()) return {true, true, ""};
  return {false, true, std::string(why) + "; set republish=yes to share it anyway"};
}

Republishing republishing_of(const FeedRecord& feed) {
  return republishing_of(feed.feed_url, feed.state);
}

bool may_be_told(const Event& event, const Republishing& feed) {
  if (feed.registered || event.type != "feed_removed") return feed.allowed;
  const auto said = std::ranges::find(event.data, "republish", &Fields::value_type::first);
  if (said == event.data.end()) return false;
  return said->second == "yes" || (said->second == "public" && !has_secret(event.feed_url));
}

StoreResult<std::vector<Republishing>> read_republishing(Store& store, std::span<const std::string> feed_urls) {
  const auto records = Feeds(store).records(feed_urls);
  if (!records) return records.error();
  std::vector<Republishing> all;
  all.reserve(records->size());
  for (const std::optional<FeedRecord>& record : *records) {
    all.push_back(record ? republishing_of(*record) : Republishing{false, false, "no such feed"});
  }
  return all;
}

}  // namespace feedmill
