// Access to the store for verbs: the configured Redis, or the private server, which runs at least until the verb ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "storage/feeds/feeds.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/store/deployment.hpp"
#include "storage/store/store.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/terminal.hpp"
#include "worker/cli/verb.hpp"
#include "worker/config/config.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/redis_server/private_server.hpp"

namespace feedmill {

/// A connected store. Starts or adopts the private server first if configured, and keeps it running for its own
/// lifetime.
class StoreSession {
 public:
  /// Connects, and blocks until the store answers. Throws VerbFailure on failure. `use`: how the verb uses the store.
  /// `of_all`: opens the store of the merged stream if there is one and the configuration selects no partition
  /// (RELIABILITY L28).
  static StoreSession open(const Config& config, StoreUse use = StoreUse::change, bool of_all = false);

  /// Like open(), but sends nothing to the server yet: an unreachable or unusable server fails the first call instead.
  static StoreSession prepare(const Config& config, StoreUse use = StoreUse::change, bool of_all = false);

  Store& store() { return *store_; }

 private:
  std::unique_ptr<EmbeddedRedis> server_;  // destroyed after store_; stopped then unless others use it
  std::unique_ptr<Store> store_;
};

/// The arguments of a verb's function; all outlive the verb.
struct VerbContext {
  const Config& config;
  Store& store;
  Terminal& terminal;
};

/// All these stores as one deployment.
Deployment deployment_of(std::span<const VerbContext> stores);

/// The value of a store call. Throws VerbFailure if the call failed.
template <class T>
T or_fail(StoreResult<T> answer) {
  if (answer.has_error()) throw failure_of(answer.error());
  if constexpr (!std::is_void_v<T>) return std::move(*answer);
}

/// Runs `work` with errors named after the verb. Returns its exit code; prints a VerbFailure and returns its exit code.
int carry_out(const VerbRow& verb, Terminal& terminal, const std::function<int()>& work);

/// Opens the store for `verb.use` and runs `work` with carry_out().
int with_store(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
               const std::function<int(const VerbContext& context)>& work);

/// Opens the stores of all partitions in order, or the selected or only store, and runs `work` with carry_out().
int with_stores(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
                const std::function<int(std::span<const VerbContext> stores)>& work);

/// Calls `work` for each partition of the named feeds and entries with its share of the values, or for every partition
/// if the verb is_of_each(). Otherwise calls it once with `config` unchanged, so that the store rejects an unnamed
/// partition. Returns the highest exit code. Throws VerbFailure.
int in_partitions(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
                  const std::function<int(const OperationValues& share, const Config& config)>& work);

// The functions below throw VerbFailure if the store fails.

/// Canonical URLs of `arguments`, without duplicates. Prints an error with `consequence` for each invalid one and then
/// fails with exit code 65.
std::vector<std::string> feed_urls(Terminal& terminal, const std::vector<std::string>& arguments,
                                   std::string_view consequence);
/// feed_urls() for one argument.
std::string feed_url(Terminal& terminal, const std::string& argument,
                     std::string_view consequence = "give an absolute http or https URL");

/// Calls `work` for consecutive parts of `all`, each small enough for one store call. Throws Interrupted between parts.
template <class Item, class Work>
void in_parts(const std::vector<Item>& all, Work work) {
  constexpr std::size_t most = 500;
  for (std::span<const Item> rest(all); !rest.empty(); rest = rest.subspan(std::min(most, rest.size()))) {
    stop_if_interrupted();
    work(rest.first(std::min(most, rest.size())));
  }
}

/// Calls `work` for consecutive pages of all registered URLs in order, each small enough for one store call
/// (OPERATIONS U10), until it returns false, if it returns a bool. Throws Interrupted between pages. Returns the number
/// of URLs.
template <class Work>
std::size_t over_all_feeds(Store& store, Work work) {
  std::size_t feeds = 0;
  for (FeedWalk walk(store);;) {
    stop_if_interrupted();
    const std::vector<std::string> page = or_fail(walk.next());
    if (page.empty()) return feeds;
    feeds += page.size();
    if constexpr (std::is_void_v<std::invoke_result_t<Work, std::span<const std::string>>>) {
      work(std::span<const std::string>(page));
    } else if (!work(std::span<const std::string>(page))) {
      return feeds;
    }
  }
}

/// The record of each feed, empty if it is not registered. Fails with exit code 1 if another partition has one of the
/// feeds (RELIABILITY L27).
std::vector<std::optional<FeedRecord>> all_records(Store& store, const std::vector<std::string>& feed_urls);

/// Fails with exit code 1 and `consequence` if another partition has one of the feeds.
void refuse_elsewhere(const Store& store, const std::vector<std::string>& feed_urls, std::string_view consequence);

/// The records of the feeds. Prints an error with `consequence` for each unknown feed and then fails with exit code 1.
std::vector<FeedRecord> known_records(const VerbContext& context, const std::vector<std::string>& feed_urls,
                                      std::string_view consequence);

/// Whether a partition has all these feeds. The URLs must be valid for canonical_feed_url(). Opens that partition.
bool has_all(const Config& config, unsigned partition, const std::vector<std::string>& feed_urls);

/// The partition that has the entry with this id or number; empty if none has it. Opens partitions to look the entry
/// up; an id that does not name its partition is looked up in all, because it may be older than the current number of
/// partitions.
std::optional<unsigned> partition_with_entry(const Config& config, const std::string& entry);

/// The end of an import's summary: the number of feeds skipped because they belong to other partitions; "" if 0.
std::string in_other_partitions(std::uint64_t feeds);

/// The failure for a feed that is not registered (exit code 1). Throws instead if another partition has it.
VerbFailure no_such_feed(const Store& store, const std::string& url);

/// Asks `question` at the terminal. Any answer but yes prints the note `declined` and fails with exit code 1; without a
/// terminal prints `unasked` and fails with 64 (OPERATIONS U4).
void confirm(Terminal& terminal, const std::string& question, std::string_view unasked, std::string_view declined);

/// confirm() before removing `feeds` feeds with `entries` stored posts.
void confirm_removal(Terminal& terminal, std::size_t feeds, std::uint64_t entries);

/// Prints a note if no worker runs on this store.
void note_without_worker(const VerbContext& context);

}  // namespace feedmill
