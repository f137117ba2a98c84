// What a list of subscriptions asks for: OPML or one URL a line → feeds to add, and back (OPERATIONS §9).
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
#include "worker/lists/address_set.hpp"

namespace feedmill {

/// The channels that folders stand for: their names joined by "/", behind USER/ when a user is given. Feeds at the top
/// are in none. Characters that no channel's name may hold become spaces, and what is too long is cut.
std::vector<std::string> channels_of(std::span<const std::vector<std::string>> folders, std::string_view user);

/// The folders to write for a feed that is in `channels`: as a list had named them where one of `remembered` is such a
/// channel, else the name's parts between "/". With a user only that one's channels, without their USER/.
std::vector<std::vector<std::string>> folders_of(std::span<const std::string> channels,
                                                 std::span<const std::vector<std::string>> remembered,
                                                 std::string_view user);

/// A feed that a list names. Two hundred thousand of them are held at once: what becomes of it is made when it is used.
struct Subscription {
  std::string feed_url;                           ///< canonical
  std::size_t line = 0;                           ///< where it stands first
  std::string written;                            ///< the address as written when it had to be repaired, else ""
  std::vector<std::vector<std::string>> folders;  ///< where it stands, each place once; at most 64
  OpmlAttributes attributes;                      ///< of its outline, the URL apart
};

/// A row that is no feed, or a place where the file is broken.
struct RefusedRow {
  std::size_t line = 0;
  std::string text;  ///< the address as written, "" when there is none
  std::string reason;
};

struct SubscriptionList {
  std::deque<Subscription> feeds;                              ///< in document order, each URL once
  std::deque<RefusedRow> refused;                              ///< nonsense rows, in document order
  std::vector<RefusedRow> broken;                              ///< places where the file is damaged
  std::size_t merged = 0;                                      ///< rows whose URL had stood before
  std::map<std::string, std::string, std::less<>> namespaces;  ///< prefix → URI, of the attributes' names
};

/// Reads either kind of list; a text that begins with "<" is OPML. Addresses without a scheme or with feed: are
/// repaired; other schemes and nonsense are refused row by row (OPERATIONS O2). Pure; limits of SECURITY T32. Takes at
/// most limits::reading_cost of `bytes`, themselves included (SECURITY M2): where there is more in them, the rest is
/// not read, which `broken` says.
SubscriptionList read_subscriptions(std::string_view bytes);

/// Whether a text that begins so is read as OPML, else as a plain list. Nothing: that shows only with more of it.
std::optional<bool> begins_opml(std::string_view beginning);

/// A plain list of any length, one address a line, part by part (SECURITY T32). Memory: a part, and what `named` takes.
class PlainList {
 public:
  /// `more`: the next bytes of the text, "" at its end. `named`: the addresses that have stood in it; outlives this.
  PlainList(std::function<std::string_view()> more, AddressSet& named) : more_(std::move(more)), named_(named) {}

  /// The next part: feeds that were not named before, and rows that are none. Nothing at the end.
  std::optional<SubscriptionList> next();

 private:
  /// The next line, without its end; false at the end of the text. Of a very long one no more than tells so.
  bool next_line(std::string& line);

  std::function<std::string_view()> more_;
  AddressSet& named_;
  std::string_view rest_;  // of what `more_` gave last
  std::size_t number_ = 0;
};

/// What `list` sets for a feed of it; of namespaces the first eight.
FeedSettings settings_of(const Subscription& subscription, const SubscriptionList& list);

/// A feed to export: what a reader knows of it and what the operator set.
struct ExportedFeed {
  std::string feed_url, title, link;
  FeedSettings settings;
};

/// The namespaces of a list on its way out: one prefix for each; one that two lists used for two things gets a number.
class WrittenNamespaces {
 public:
  /// What stands for `uri`, as `written` where that is free; "" when there are too many.
  std::string prefix(const std::string& written, const std::string& uri);
  /// That of our own attributes.
  std::string own();
  /// "" when it stands for nothing.
  std::string_view uri(std::string_view prefix) const;

 private:
  static constexpr std::size_t most = 1000;
  std::map<std::string, std::string, std::less<>> prefix_of_;
  std::vector<std::pair<std::string, std::string>> all_;
};

/// OPML 2.0 of feeds that nobody holds all of, part by part. Each row declares its namespaces; a folder is there again
/// when its feeds do not come one after the other.
class SubscriptionsWriter {
 public:
  /// `created` in unix seconds.
  explicit SubscriptionsWriter(std::int64_t created);
  /// A feed in one folder, outermost first; none: at the top.
  void row(std::span<const std::string> folders, const ExportedFeed& feed);
  void end() { writer_.end(); }
  /// What was written since the last call.
  std::string take() { return writer_.take(); }

 private:
  OpmlWriter writer_;
  WrittenNamespaces namespaces_;
};

}  // namespace feedmill
