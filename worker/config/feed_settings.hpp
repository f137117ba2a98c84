// The operator's settings for one feed: FeedState::settings as a value, used by policy, fetching and reading, and
// changed by the verb `set` (OPERATIONS §1).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/feed/read_feed.hpp"
#include "parsers/lists/opml.hpp"
#include "storage/records/feed_state.hpp"

namespace feedmill {

struct Config;

/// Settings of one feed; "" and nullopt: the configuration applies.
struct FeedSettings {
  std::optional<std::uint64_t> keep;      ///< entries to keep
  std::optional<std::uint64_t> keep_age;  ///< seconds: older entries are removed; 0 = no limit, whatever is configured
  std::optional<std::uint64_t> keep_bytes;  ///< of all entries together; 0 = no limit, despite the configuration
  static constexpr std::uint64_t all_texts = 1'000'000;
  std::optional<std::uint64_t> texts;         ///< newest entries that keep content and summary; all_texts = all
  std::optional<std::uint64_t> backfill;      ///< entries to read from older pages at its first import, and to keep
  std::optional<std::uint64_t> interval_min;  ///< minimum seconds between fetches (HTTP F8), at most 30 days
  std::optional<std::uint64_t> interval_max;  ///< maximum seconds between fetches (HTTP F8), at most 30 days
  std::optional<HtmlPolicy> html_policy;      ///< SECURITY S14
  std::optional<std::uint64_t> subscribers;   ///< number of its readers (HTTP P19)
  std::string auth;                           ///< name of a [feed_auth] (SECURITY K2) or a login (K7)
  std::string policy;                         ///< name of an [egress.policy] (SECURITY E8)
  std::string proxy;                          ///< "http://host:port"; "none" = not even the configured one
  std::string user_agent;                     ///< products prepended to ours (HTTP P19)
  std::string http_version;                   ///< "1.1"
  std::string republish;                      ///< "yes" or "no": whether others may see its posts (WEBSUB U15)
  std::string websub;                         ///< "off": do not subscribe to its hub
  std::string hub;                            ///< replaces the hub its document names (WEBSUB §2)
  std::string topic;                          ///< topic to subscribe to at `hub`, "" = the document's self link
  std::string ca_file;                        ///< PEM file trusted instead of the system's CAs
  std::string pin;  ///< "sha256//…[;sha256//…]": keys of the server (CURLOPT_PINNEDPUBLICKEY)
  std::vector<std::pair<std::string, std::string>> headers;  ///< only for the feed's own origin (HTTP R4)

  std::string ignored;  ///< settings stored by an earlier build and no longer valid, for people; never written

  std::vector<std::vector<std::string>> folders;                ///< its positions in the operator's lists
  OpmlAttributes opml;                                          ///< attributes of its outline, except the URL
  std::vector<std::pair<std::string, std::string>> namespaces;  ///< for prefixes in `opml`
};

/// The minimum of all intervals of a feed, unless egress.allow opens its server (HTTP P6).
inline constexpr std::chrono::minutes least_interval{10};

/// As a JSON object: {"keep":…,"interval_min":…,…,"headers":{…},"folders":[[…]],"opml":{…},"xmlns":{…}}; "" if nothing
/// is set.
std::string settings_json(const FeedSettings& settings);
/// Reads the result of settings_json(); ignores malformed members.
FeedSettings read_settings(std::string_view json);

/// A key of `set URL key=value`.
struct FeedSetting {
  std::string_view key;
  std::string_view unit;     ///< accepted format: "duration"
  std::string_view meaning;  ///< for people
  /// Reads `text`; "" removes the setting. Returns the expected form, "" on success.
  std::string (*change)(std::string_view text, FeedSettings& settings);
  /// The value as a user would write it, "" if unset.
  std::string (*show)(const FeedSettings& settings);
};

/// All settings except header.NAME. Constant for the program's lifetime.
std::span<const FeedSetting> feed_setting_table();

/// Applies one "key=value"; returns the problem, for people, or "". Rejects unknown keys and lists the valid ones.
/// Pure.
std::string change_setting(FeedSettings& settings, std::string_view assignment);

/// Checks consistency between settings; returns the problem or "".
std::string check_settings(const FeedSettings& settings);

/// Checks the settings that differ from `before` against the configuration: names of [feed_auth] (not of logins, which
/// are in the store) and [egress.policy], permission to use a proxy, and intervals below least_interval if nothing is
/// opened by `allow`. Returns the problem and the existing names, or "". Pure.
std::string unusable_names(const Config& config, const FeedSettings& before, const FeedSettings& settings);

/// Whether `auth` names a stored login, OWNER/NAME (SECURITY K7). Names of [feed_auth] have no slash.
inline bool names_login(std::string_view auth) {
  return auth.find('/') != std::string_view::npos;
}

/// "key=value" for every setting that is set, in the order of the table.
std::vector<std::string> setting_texts(const FeedSettings& settings);

// Request headers that an operator may add, and their valid values (SECURITY K5, HTTP P1). Pure.

/// Why an operator's header `name` is rejected: not a token, part of the framing, added by proxies, or ours. "" if it
/// is allowed.
std::string refused_header(std::string_view name);

/// Why a header named `name` must be set by a [feed_auth], with its value in a file: it looks like a secret. "" if it
/// does not.
std::string secret_header(std::string_view name);

/// Whether `value` may be sent in a header: visible ASCII, bytes from 0x80, and inner spaces; not empty, at most 4 KiB
/// (HTTP P1).
bool is_sendable_value(std::string_view value);

// The hub a feed is subscribed to: its operator's, else the one in its newest document (WEBSUB §2). Pure.

/// The advertised hubs, with the operator's settings applied. A `hub` without a `topic` gets the document's self link,
/// else the feed's URL.
HubAdvert chosen_hubs(const FeedSettings& settings, const FeedState& state, std::string_view feed_url);

/// Whether to subscribe to a hub. `hubs`: chosen_hubs() of the feed.
bool wants_hub(const FeedSettings& settings, const HubAdvert& hubs);

/// Whether the changed settings require an update of the subscription.
bool changes_hub(const FeedSettings& before, const FeedSettings& after);

}  // namespace feedmill
