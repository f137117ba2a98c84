// What the operator set for one feed: FeedState::settings as a value, read by policy, fetching and reading alike, and
// changed by the verb `set` (OPERATIONS §1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/feed/read_feed.hpp"
#include "parsers/lists/opml.hpp"

namespace feedmill {

/// "" and nullopt mean: as the configuration says.
struct FeedSettings {
  std::optional<std::uint64_t> keep;          ///< entries to keep
  std::optional<std::uint64_t> keep_age;      ///< seconds: older entries go; 0 = no limit, whatever is configured
  std::optional<std::uint64_t> keep_bytes;    ///< of the entries together; 0 = no limit, whatever is configured
  std::optional<std::uint64_t> backfill;      ///< entries to read of older pages at its first import, and to keep
  std::optional<std::uint64_t> interval_min;  ///< seconds between fetches at least (HTTP F8), at most 30 days
  std::optional<std::uint64_t> interval_max;  ///< seconds between fetches at most (HTTP F8), at most 30 days
  std::optional<HtmlPolicy> html_policy;      ///< SECURITY S14
  std::optional<std::uint64_t> subscribers;   ///< how many read it (HTTP P19)
  std::string auth;                           ///< name of a [feed_auth] (SECURITY K2)
  std::string policy;                         ///< name of an [egress.policy] (SECURITY E8)
  std::string proxy;                          ///< "http://host:port", "none" = not even the configured one
  std::string user_agent;                     ///< products named before ours (HTTP P19)
  std::string http_version;                   ///< "1.1"
  std::string republish;                      ///< "yes" or "no": whether others may be shown its posts (WEBSUB U15)
  std::string websub;                         ///< "off": its hub is not subscribed to
  std::string hub;                            ///< subscribed to instead of what its document names (WEBSUB §2)
  std::string topic;                          ///< that `hub` is asked for, "" = as its document calls itself
  std::string ca_file;                        ///< PEM file trusted instead of the system's authorities
  std::string pin;  ///< "sha256//…[;sha256//…]": keys of the server (CURLOPT_PINNEDPUBLICKEY)
  std::vector<std::pair<std::string, std::string>> headers;  ///< for the feed's own origin alone (HTTP R4)

  std::string ignored;  ///< stored by an earlier build and no legal value today, for people; never written

  std::vector<std::vector<std::string>> folders;                ///< where it stands in the operator's lists
  OpmlAttributes opml;                                          ///< of its outline, the URL apart
  std::vector<std::pair<std::string, std::string>> namespaces;  ///< of prefixes in `opml`
};

/// As a JSON object: {"keep":…,"interval_min":…,…,"headers":{…},"folders":[[…]],"opml":{…},"xmlns":{…}}; "" when
/// nothing is set.
std::string settings_json(const FeedSettings& settings);
/// Reads it back; what has the wrong shape is left out.
FeedSettings read_settings(std::string_view json);

/// A key of `set URL key=value`.
struct FeedSetting {
  std::string_view key;
  std::string_view unit;     ///< what may be written: "duration"
  std::string_view meaning;  ///< for people
  /// Reads `text`, "" takes the setting away; says what should have been written, "" when it was right.
  std::string (*change)(std::string_view text, FeedSettings& settings);
  /// As it would be written, "" when it is not set.
  std::string (*show)(const FeedSettings& settings);
};

/// All but header.NAME. Constant for the life of the program.
std::span<const FeedSetting> feed_setting_table();

/// Carries out one "key=value"; what is wrong with it, for people, "" when nothing is. Keys that do not exist are
/// refused with the legal ones. Pure.
std::string change_setting(FeedSettings& settings, std::string_view assignment);

/// What must hold between settings; "" when it does.
std::string check_settings(const FeedSettings& settings);

/// "key=value" of everything that is set, in the order of the table.
std::vector<std::string> setting_texts(const FeedSettings& settings);

}  // namespace feedmill
