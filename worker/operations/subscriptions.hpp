// Parses subscription lists (OPML or one URL a line) into feeds to add, and writes OPML (OPERATIONS §9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/lists/opml.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {

// A compact set of a large number of URLs; for membership tests, not iterable.

/// Stores 8 bytes per text, for at most `most` texts. False positives: 1 in 2,000,000 when full; choosing texts cannot
/// raise that rate. Memory: 16 bytes per text initially, up to 32 while it grows.
class AddressSet {
 public:
  static constexpr std::size_t most = std::size_t{1} << 22U;

  AddressSet();

  /// True if `text` was not in the set. When full(), new texts are not stored, so each counts as new every time.
  bool insert(std::string_view text);
  bool contains(std::string_view text) const;
  std::size_t size() const { return size_; }
  /// Whether the set is full: more texts may have been inserted than stored.
  bool full() const { return size_ >= most; }

 private:
  std::uint64_t mark_of(std::string_view text) const;
  /// Index of a mark, or of the free slot for it.
  std::size_t place_of(std::uint64_t mark) const;
  void grow();

  std::uint64_t seed_;
  std::vector<std::uint64_t> marks_;  // 0: free; the size is a power of two
  std::size_t size_ = 0;
};

/// The channel names of folders: each path joined by "/", after USER/ if a user is given. The top has no channel.
/// Replaces characters that channel names must not contain by spaces, and cuts long names.
std::vector<std::string> channels_of(std::span<const std::vector<std::string>> folders, std::string_view user);

/// The folders in which to export a feed in `channels`: as in the imported list if `remembered` has a folder of that
/// channel, else the name split at "/". With a user, only that user's channels, without USER/.
std::vector<std::vector<std::string>> folders_of(std::span<const std::string> channels,
                                                 std::span<const std::vector<std::string>> remembered,
                                                 std::string_view user);

/// A feed of a list. Up to 200 000 are in memory at once, so derived data is computed on use.
struct Subscription {
  std::string feed_url;                           ///< canonical
  std::size_t line = 0;                           ///< first line with this URL
  std::string written;                            ///< the original URL if it was repaired, "" otherwise
  std::vector<std::vector<std::string>> folders;  ///< without duplicates; at most 64
  std::vector<std::string> titles{};              ///< by folder, where they come from a row with the same URL; else ""
  OpmlAttributes attributes;                      ///< of the outline, without the URL
};

/// An invalid row, or a place where the file is damaged.
struct RefusedRow {
  std::size_t line = 0;
  std::string text;  ///< the URL as written; "" = none
  std::string reason;
};

/// A parsed subscription list.
struct SubscriptionList {
  std::deque<Subscription> feeds;                              ///< in document order, each URL once
  std::deque<RefusedRow> refused;                              ///< invalid rows, in document order
  std::vector<RefusedRow> broken;                              ///< places where the file is damaged
  std::size_t merged = 0;                                      ///< number of rows that repeat a URL
  std::map<std::string, std::string, std::less<>> namespaces;  ///< from prefix to URI, for attribute names
};

/// The first of an outline's attributes `names` that is not blank, with white space folded and cut to longest_title; ""
/// if there is none. `title` is the feed's title, `text` what the user of the list calls it (OPML 2.0).
std::string title_of(const OpmlAttributes& attributes, std::initializer_list<std::string_view> names);
/// What the user of the list calls the feed.
inline std::string own_title_of(const OpmlAttributes& attributes) {
  return title_of(attributes, {"text", "title"});
}

/// Parses OPML, if `bytes` begins with "<", or a plain list. Repairs URLs without a scheme or with feed:, and rejects
/// rows with other schemes or nonsense (OPERATIONS §9). Pure; limits of SECURITY T32. Uses at most limits::reading_cost
/// of memory for `bytes`, including them (SECURITY M2); any excess is not read and is noted in `broken`.
SubscriptionList read_subscriptions(std::string_view bytes);

/// Whether a text with this beginning is OPML; empty if more of it is needed.
std::optional<bool> begins_opml(std::string_view beginning);

/// Parses a plain list of any length, one URL a line, part by part (SECURITY T32). Memory: one part and `named`.
class PlainList {
 public:
  /// `more`: returns the next bytes, "" at the end. `named`: the URLs seen so far; must outlive this.
  PlainList(std::function<std::string_view()> more, AddressSet& named) : more_(std::move(more)), named_(named) {}

  /// The next part, with new feeds and invalid rows; empty optional at the end.
  std::optional<SubscriptionList> next();

 private:
  /// Reads the next line without its end; false at the end of the text. Truncates overlong lines.
  bool next_line(std::string& line);

  std::function<std::string_view()> more_;
  AddressSet& named_;
  std::string_view rest_;  // the unread part of the last `more_()`
  std::size_t number_ = 0;
};

/// The settings that `list` has for the feed; declares at most the first eight namespaces.
FeedSettings settings_of(const Subscription& subscription, const SubscriptionList& list);

/// A feed to export: its title and link, and the operator's settings.
struct ExportedFeed {
  std::string feed_url, title, link;
  FeedSettings settings;
  std::string custom_title{};  ///< the channel's title for it; "" = none
};

/// The namespaces of a list being written. Each has one prefix; a prefix that is used for two namespaces gets a number.
class WrittenNamespaces {
 public:
  /// The prefix for `uri`: `written` if that is free; "" if there are too many.
  std::string prefix(const std::string& written, const std::string& uri);
  /// The prefix of our own attributes.
  std::string own();
  /// The URI of a prefix; "" if it is not declared.
  std::string_view uri(std::string_view prefix) const;

 private:
  static constexpr std::size_t most = 1000;
  std::map<std::string, std::string, std::less<>> prefix_of_;
  std::vector<std::pair<std::string, std::string>> all_;
};

/// Writes OPML 2.0 part by part, without holding all feeds in memory. Each row declares its namespaces. If the feeds of
/// a folder are not consecutive, the folder is written several times.
class SubscriptionsWriter {
 public:
  /// `created`: unix seconds.
  explicit SubscriptionsWriter(std::int64_t created);
  /// Writes a feed into one folder, given from the outermost in; empty: at the top.
  void row(std::span<const std::string> folders, const ExportedFeed& feed);
  void end() { writer_.end(); }
  /// The output since the last call.
  std::string take() { return writer_.take(); }

 private:
  OpmlWriter writer_;
  WrittenNamespaces namespaces_;
};

}  // namespace feedmill
