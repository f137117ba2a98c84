// Parses subscription lists (OPML or one URL a line) into feeds to add, and writes OPML (OPERATIONS §9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
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

// A compact set of very many URLs: membership only, no iteration.

/// Stores 8 bytes per text, at most `most` texts. False positives: 1 in 2,000,000 when full, and their rate cannot be
/// raised by choosing texts. Memory: 16 bytes a text at first, up to 32 while it grows.
class AddressSet {
 public:
  static constexpr std::size_t most = std::size_t{1} << 22U;

  AddressSet();

  /// True if `text` was not there. When full(), new texts are not stored, so each counts as new.
  bool insert(std::string_view text);
  bool contains(std::string_view text) const;
  std::size_t size() const { return size_; }
  /// More texts may have been inserted than are stored.
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

/// Channel names of folders: their path joined by "/", after USER/ if a user is given; feeds at the top have none.
/// Replaces characters that channel names must not contain by spaces, and cuts long names.
std::vector<std::string> channels_of(std::span<const std::vector<std::string>> folders, std::string_view user);

/// Folders to export for a feed in `channels`: as an imported list wrote them if `remembered` has such a channel, else
/// the name split at "/". With a user only that user's channels, without USER/.
std::vector<std::vector<std::string>> folders_of(std::span<const std::string> channels,
                                                 std::span<const std::vector<std::string>> remembered,
                                                 std::string_view user);

/// A feed of a list. Up to 200 000 are held at once, so derived data is made on use.
struct Subscription {
  std::string feed_url;                           ///< canonical
  std::size_t line = 0;                           ///< of its first occurrence
  std::string written;                            ///< the original URL if it was repaired, else ""
  std::vector<std::vector<std::string>> folders;  ///< its folders without duplicates; at most 64
  OpmlAttributes attributes;                      ///< of its outline, without the URL
};

/// An invalid row, or a place where the file is damaged.
struct RefusedRow {
  std::size_t line = 0;
  std::string text;  ///< the URL as written, "" = none
  std::string reason;
};

struct SubscriptionList {
  std::deque<Subscription> feeds;                              ///< in document order, each URL once
  std::deque<RefusedRow> refused;                              ///< invalid rows, in document order
  std::vector<RefusedRow> broken;                              ///< places where the file is damaged
  std::size_t merged = 0;                                      ///< rows that repeat a URL
  std::map<std::string, std::string, std::less<>> namespaces;  ///< prefix → URI, for attribute names
};

/// Parses either kind of list; text that begins with "<" is OPML. Repairs URLs without a scheme or with feed:, rejects
/// other schemes and nonsense row by row (OPERATIONS §9). Pure; limits of SECURITY T32. Uses at most
/// limits::reading_cost of `bytes`, including them (SECURITY M2): any excess is not read and is noted in `broken`.
SubscriptionList read_subscriptions(std::string_view bytes);

/// Whether text with this beginning is OPML. Empty: more text is needed.
std::optional<bool> begins_opml(std::string_view beginning);

/// Parses a plain list of any length, one URL a line, part by part (SECURITY T32). Memory: one part and `named`.
class PlainList {
 public:
  /// `more`: the next bytes, "" at the end. `named`: the URLs seen so far; outlives this.
  PlainList(std::function<std::string_view()> more, AddressSet& named) : more_(std::move(more)), named_(named) {}

  /// The next part: new feeds and invalid rows. Empty at the end.
  std::optional<SubscriptionList> next();

 private:
  /// Reads the next line without its end; false at the end of the text. Truncates overlong lines.
  bool next_line(std::string& line);

  std::function<std::string_view()> more_;
  AddressSet& named_;
  std::string_view rest_;  // rest of the last `more_()`
  std::size_t number_ = 0;
};

/// Settings that `list` has for its feed; at most the first eight namespaces.
FeedSettings settings_of(const Subscription& subscription, const SubscriptionList& list);

/// A feed to export: what readers show of it and the operator's settings.
struct ExportedFeed {
  std::string feed_url, title, link;
  FeedSettings settings;
};

/// Namespaces of a list being written: one prefix each; a prefix with two meanings gets a number.
class WrittenNamespaces {
 public:
  /// The prefix for `uri`: `written` if free; "" if there are too many.
  std::string prefix(const std::string& written, const std::string& uri);
  /// The prefix of our own attributes.
  std::string own();
  /// "" if undeclared.
  std::string_view uri(std::string_view prefix) const;

 private:
  static constexpr std::size_t most = 1000;
  std::map<std::string, std::string, std::less<>> prefix_of_;
  std::vector<std::pair<std::string, std::string>> all_;
};

/// Writes OPML 2.0 part by part, without holding all feeds. Each row declares its namespaces; a folder is repeated if
/// its feeds are not consecutive.
class SubscriptionsWriter {
 public:
  /// `created` in unix seconds.
  explicit SubscriptionsWriter(std::int64_t created);
  /// A feed in one folder, outermost first; empty: at the top.
  void row(std::span<const std::string> folders, const ExportedFeed& feed);
  void end() { writer_.end(); }
  /// The output since the last call.
  std::string take() { return writer_.take(); }

 private:
  OpmlWriter writer_;
  WrittenNamespaces namespaces_;
};

}  // namespace feedmill
