// Explains why a feed is due when it is, and what to do about a failure (HTTP E1, §11), for `explain` and a feed's
// page.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "storage/queues/pushes.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/store.hpp"
#include "worker/config/host_rules.hpp"

namespace feedmill {

/// A feed's host at one moment.
struct HostView {
  std::string name;
  HostState state;
  HostLimits limits;      ///< the operator's
  bool by_hand = false;   ///< the operator set its spacing, which overrides a learned quota
  std::size_t feeds = 0;  ///< number of feeds that share its quota, if it has one
};

/// Reads the state of the feed's host gate.
StoreResult<HostView> read_host(Store& store, const HostRules& rules, const FeedRecord& record);

/// "60 feeds share 1 request a minute: each at best every 60 min"; "" if no quota is known or applies.
std::string quota_text(const HostView& host, Milliseconds now);

/// "example.org: 1 of 2 slots free, next start in 15 min, no back-off".
std::string host_text(const HostView& host, Milliseconds now);

/// A feed and its host at one moment of Redis' clock.
struct Explained {
  FeedRecord record;
  HostView host;
  Milliseconds now{};
  std::optional<PushRecord> subscription{};   ///< the one that delivers its pushes
  std::vector<std::string> volatile_parts{};  ///< learned parts with changes that are not news (Feeds::volatile_parts)
};

/// The output of `explain` for people: names and values in display order, not cleaned. `numbers`: also the inputs from
/// which the scheduler computed the due time.
std::vector<std::pair<std::string, std::string>> explain_lines(const Explained& explained, bool numbers = false);

/// Reads the data for an explanation; empty if there is no such feed.
StoreResult<std::optional<Explained>> read_explained(Store& store, const HostRules& rules, const std::string& feed_url);

/// The output for programs, of `explain --json` and /explain.
boost::json::object explain_json(const Explained& explained);

// Explains in sentences why a feed is due when it is, and the remedy for a failure (HTTP E1).

/// All codes of DueTime::reason (HTTP §11), each with its own sentence.
std::span<const std::string_view> due_codes();

/// Explains DueTime::why and its reason: "By its pace about every 4 h: 12 posts a week. Never more often than every 10
/// min." Never empty. Not cleaned: part of it may be a server's text.
std::string schedule_words(std::string_view why, std::string_view due_reason);

/// `text` as one shell word, quoted if needed. Required for untrusted text in commands to copy.
std::string shell_word(std::string_view text);

/// The remedy for a feed that fails for `reason` (HTTP §11), as a sentence; "" if waiting is the only one. Its commands
/// contain the feed's URL.
std::string remedy_words(std::string_view reason, std::string_view feed_url);

/// The remedy for a feed's last failure, which also depends on its settings and the failure's detail.
std::string remedy_words(const FeedRecord& record);

// Formats a due time and its inputs for people (HTTP §11).

/// "3 200": digits in groups of three.
std::string grouped(std::int64_t number);

/// "54.5" from "S=54.50", the scheduler's record of a feed's posts a week; "" from anything else.
std::string posts_a_week(std::string_view from);

/// Formats DueTime::why: "adaptive 3 200 s (S = 54.5)  floor 3 600 s  phase +131 s"; "" if it cannot be read. Not
/// cleaned: part of it is a server's text.
std::string due_inputs_text(std::string_view why);
/// DueTime::why as a JSON array [{"code":…,"s":…,"from":…}]; null if empty.
boost::json::value due_inputs_json(std::string_view why);

/// "2026-03-01T13:07:12Z, in 26 min, because of max_age".
std::string due_text(Milliseconds due, Milliseconds now, std::string_view due_reason);

// The inputs of a due time, as stored in DueTime::why (HTTP E1).

/// An input of a due time, as listed in DueTime::why (HTTP E1). `code` is one of HTTP §11.
struct DueInput {
  std::string_view code;
  std::int64_t seconds = 0;
  std::string from;  ///< raw input, at most 120 bytes
};

/// The text for DueTime::why, one input per line: "<code> <seconds> <from>".
std::string encode_due_inputs(std::span<const DueInput> inputs);
/// The inputs in such a text; their codes point into it. Ignores unreadable lines.
std::vector<DueInput> decode_due_inputs(std::string_view why);

}  // namespace feedmill
