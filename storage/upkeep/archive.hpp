// Exports a store, all partitions of a deployment, or some feeds as JSON lines; imports them into any number of
// partitions.
//
// The first line describes the file: its store (`store`, Store::id(); an empty store adopts it, because the posts keep
// their numbers; any other store keeps its own) and `seq`, the event after which changes are not in the file; for
// several partitions `stores` and `seqs`, in order. The last line has the totals: a file without it is truncated.
// Between them are feeds (`feed`, its `entry` lines, `end`; `again` discards a feed that changed while it was written),
// then `channel` and `key` lines: read marks, notices, rules, host settings. Entries are named by their numbers alone.
// Bytes that are not UTF-8 are written as {"hex": …}. Not exported: events (consumers start with the new store's
// stream), claims, workers, hosts' back-off, subscriptions to hubs with their secrets, timelines (rebuilt from the
// feeds).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/store/deployment.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// Totals of an export or import.
struct ArchiveFigures {
  std::uint64_t feeds = 0, entries = 0, channels = 0;
  std::uint64_t present = 0;    ///< import: existing feeds that were skipped
  std::uint64_t replaced = 0;   ///< import: existing feeds that were replaced
  std::uint64_t elsewhere = 0;  ///< import: feeds of other partitions
  bool kept_numbers = false;    ///< import: the store was empty, so entries keep their numbers
};

/// Why an import stopped. `line` counts from 1; 0 = not caused by a line.
struct ArchiveError {
  std::uint64_t line = 0;
  bool bad_input = false;  ///< the file is at fault, not the store
  StoreError error;
};

struct ExportOptions {
  std::vector<std::string> feed_urls{};                          ///< only these; none = the whole store
  std::function<void(std::uint64_t, std::uint64_t)> progress{};  ///< feeds done, total feeds; may throw
};

struct ImportOptions {
  bool dry_run = false;                                   ///< checks the whole file, writes nothing
  bool replace = false;                                   ///< empties existing feeds first; else they are skipped
  std::function<bool(const std::string&)> is_feed_url{};  ///< whether a URL may be added as a feed; required
  std::function<void(std::uint64_t)> progress{};          ///< lines read; may throw
};

/// Exports and imports the data of stores.
class Archive {
 public:
  static constexpr std::size_t max_line = 64U << 20U;  ///< bytes; longer lines are rejected

  /// `store` must outlive this object. As one of several partitions, it exports and imports only its own data.
  explicit Archive(Store& store) : stores_(store) {}
  explicit Archive(Deployment stores) : stores_(std::move(stores)) {}

  /// Outputs complete lines. Each feed is consistent in itself. Memory: one page of feed URLs and a few entries.
  StoreResult<ArchiveFigures> write(const ExportOptions& options, const std::function<void(std::string_view)>& line);

  /// Why the first line of a file is not that of an export; "" if it may be.
  static std::string objection_to(std::string_view first_line);

  /// Reads lines from `next` until it returns false. Imports each feed completely or not at all; a repeated import is
  /// safe and continues where it was interrupted. A replaced feed stays in its channels and keeps its topic; if the
  /// import fails within it, another import may continue for ten minutes, then the feed is removed. Memory: the longest
  /// line.
  boost::system::result<ArchiveFigures, ArchiveError> read(const ImportOptions& options,
                                                           const std::function<bool(std::string&)>& next);

 private:
  class Writer;
  class Reader;

  Deployment stores_;
};

}  // namespace feedmill

namespace boost::system {
[[noreturn]] void throw_exception_from_error(const feedmill::ArchiveError& error, const boost::source_location& where);
}  // namespace boost::system
