// A healthy feed, possible results of fetching it, and decisions on them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "parsers/feed/read_feed.hpp"
#include "parsers/markup/sanitise.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill::decide_test {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Headers = std::vector<Header>;

inline constexpr Milliseconds now = seconds(1'772'366'400);  // Sun, 01 Mar 2026 12:00:00 GMT
inline constexpr std::int64_t now_s = now / seconds(1);
inline constexpr std::int64_t minute = 60, hour = 3600, day = 24 * hour;
inline const std::string feed_url = "https://example.org/feed.xml";
/// How fingerprints of this build's rules begin.
inline const std::string rules_mark = fmt::format("v{:02x}{:02x}", reader_version, sanitiser_version);
inline const std::string stored_wire_hash = rules_mark + std::string(27, 'a');
inline const std::string stored_body_hash = rules_mark + std::string(27, 'b');

/// A feed that has been read before, last an hour ago.
inline FeedState healthy() {
  FeedState state;
  state.state = "healthy";
  state.state_since = now - days(100);
  state.validators.etag = "\"old\"";
  state.validators.last_modified = "Sun, 01 Mar 2026 10:00:00 GMT";
  state.document.wire_hash = stored_wire_hash;
  state.document.body_hash = stored_body_hash;
  state.document.wire_bytes = 10;
  state.document.body_bytes = 20;
  state.last.status = 200;
  state.last.outcome = "updated";
  state.last.at = now - hours(1);
  state.last.success = now - hours(1);
  state.rhythm.new_per_week = 10;
  state.rhythm.last_new = now - days(1);
  state.rhythm.imported = now - days(100);
  return state;
}

/// healthy() after `failures` answers of one kind, the first of them `since` ago.
inline FeedState failed(const std::string& group, int failures, Milliseconds since,
                        const std::string& name = "healthy") {
  FeedState state = healthy();
  state.state = name;
  state.failures.count = failures;
  state.failures.group = group;
  state.failures.since = now - since;
  state.last.success = state.failures.since - hours(1);
  return state;
}

/// A feed that was never read and has failed for `since`.
inline FeedState never_read(Milliseconds since = hours(9), const std::string& name = "never_read",
                            const std::string& group = "status.server") {
  FeedState state;
  state.state = name;
  state.state_since = now - since;
  state.last.at = now - hours(1);
  state.last.outcome = "failed";
  state.failures.count = 5;
  state.failures.group = group;
  state.failures.since = now - since;
  return state;
}

inline Claim claim_of(FeedState state) {
  return Claim{"worker:1-1", feed_url, now - seconds(5), now - seconds(1), std::move(state)};
}

inline Exchange exchange_with(Headers headers = {}, Validators validators = {}) {
  Exchange exchange;
  exchange.requested_url = feed_url;
  exchange.headers = std::move(headers);
  exchange.validators = std::move(validators);
  if (exchange.validators.url.empty()) exchange.validators.url = feed_url;
  exchange.wire_bytes = 500;
  return exchange;
}

inline EntryRecord post(const std::string& guid, std::optional<std::int64_t> timestamp) {
  return {guid, "digest", timestamp, {{"title", "About " + guid}}};
}

inline Document document_of(std::vector<EntryRecord> entries,
                            Fields feed = {{"link", "https://example.org/"}, {"title", "T"}}) {
  Document document;
  document.print = {std::string(32, 'c'), std::string(32, 'd'), 400, 900};
  document.entries = std::move(entries);
  document.feed = std::move(feed);
  return document;
}

inline StoredSnapshot unknown_guids(std::size_t count, Fields feed = {}) {
  StoredSnapshot known;
  known.guids.resize(count);
  known.feed = std::move(feed);
  return known;
}

inline Decision decide_on(const FeedState& state, const Reading& reading, const Exchange& exchange = exchange_with(),
                          const StoredSnapshot& known = {}, const PolicyOptions& options = {}) {
  return decide(claim_of(state), Reading(reading), exchange, known, options, now);
}

inline FetchError error_of(Reason reason, bool sent = false, int status = 0) {
  FetchError error;
  error.reason = reason;
  error.detail = "what happened";
  error.sent = sent;
  error.status = status;
  return error;
}

inline void expect_due_after(const Decision& decision, std::int64_t interval_s, const std::string& name) {
  const Milliseconds due = decision.commit.next_due;
  EXPECT_GE(due, std::min<Milliseconds>(now + seconds(interval_s), now + days(30))) << name;
  EXPECT_LE(due, now + seconds(interval_s) +
                     std::clamp<Milliseconds>(Milliseconds(seconds(interval_s)) / 10, seconds(6), minutes(30)))
      << name;
  EXPECT_EQ(decision.retry_in_s, (due - now) / seconds(1)) << name;
}

inline std::vector<std::string> event_types(const Decision& decision) {
  std::vector<std::string> types;
  for (const FeedEvent& signal : decision.commit.events) types.push_back(signal.type);
  return types;
}

using Types = std::vector<std::string>;

}  // namespace feedmill::decide_test
