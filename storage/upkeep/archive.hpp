// A store, all partitions of a deployment, or some feeds, as JSON lines, and back, into as many partitions as there
// are.
//
// The first line says what it is, of which store (`store`, Store::id(), which an empty store takes over: the posts keep
// their numbers, so it is the same store again; any other keeps its own), and by `seq` behind which event all is told
// that is not in the file yet; of several partitions `stores` and `seqs`, in their order, say so. The last line says
// what was written: a file without it is cut. Between them stand feeds (`feed`, its `entry` lines, `end`; `again` takes
// back what a feed had so far, because it changed while it was written), then `channel` and `key` lines: read marks,
// notices, rules, hosts' settings. Entries are named by their numbers alone, wherever they are. Bytes that are no UTF-8
// stand as {"hex": …}. Not written: events (consumers begin with the new store's stream), claims, workers, hosts'
// back-off, subscriptions to hubs with their secrets, timelines (they are built from the feeds).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/store/store.hpp"
#include "storage/upkeep/archive_stores.hpp"

namespace feedmill {

/// What is written, or read.
struct ArchiveFigures {
  std::uint64_t feeds = 0, entries = 0, channels = 0;
  std::uint64_t present = 0;    ///< import: feeds that are there already and were left alone
  std::uint64_t replaced = 0;   ///< import: feeds that were there
  std::uint64_t elsewhere = 0;  ///< import: feeds of other partitions
  bool kept_numbers = false;    ///< import: the store was empty: entries have the numbers they had
};

/// Where an import ends early: `line` counts from 1, 0 when it is no line's fault.
struct ArchiveError {
  std::uint64_t line = 0;
  bool bad_input = false;  ///< the file is at fault, not the store
  StoreError error;
};

struct ExportOptions {
  std::vector<std::string> feed_urls{};                          ///< only these; none = the whole store
  std::function<void(std::uint64_t, std::uint64_t)> progress{};  ///< feeds done, feeds there are; may throw
};

struct ImportOptions {
  bool dry_run = false;  ///< reads and checks all, writes nothing
  bool replace = false;  ///< feeds that are there are emptied first; else they are left as they are
  std::function<bool(const std::string&)> is_feed_url{};  ///< whether a URL is one that may be added; required
  std::function<void(std::uint64_t)> progress{};          ///< lines read; may throw
};

class Archive {
 public:
  static constexpr std::size_t max_line = 64U << 20U;  ///< bytes; longer lines are refused

  /// `store` outlives this. Where it is one of several partitions, it gives and takes what is its own.
  explicit Archive(Store& store) : stores_{{&store}} {}
  /// The same of all partitions, in their order.
  explicit Archive(std::vector<Store*> partitions) : stores_{std::move(partitions)} {}

  /// Hands out whole lines. Feeds are consistent each by itself; memory: a page of feeds' URLs and a few entries.
  StoreResult<ArchiveFigures> write(const ExportOptions& options, const std::function<void(std::string_view)>& line);

  /// What is wrong with the first line of a file, as in "is no …"; "" when it may be an export.
  static std::string objection_to(std::string_view first_line);

  /// Takes lines from `next` until it says false. A feed appears as a whole or not at all; again is harmless, and goes
  /// on where it was interrupted. One that is replaced stays in its channels and keeps its topic; where the import
  /// broke off meanwhile, another has ten minutes to go on, then the feed is removed. Memory: the longest line.
  boost::system::result<ArchiveFigures, ArchiveError> read(const ImportOptions& options,
                                                           const std::function<bool(std::string&)>& next);

 private:
  class Writer;
  class Reader;

  ArchiveStores stores_;
};

}  // namespace feedmill

namespace boost::system {
[[noreturn]] void throw_exception_from_error(const feedmill::ArchiveError& error, const boost::source_location& where);
}  // namespace boost::system
