// The store as verbs reach it: the configured Redis, or the private server, kept up while the verb lasts.
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

/// A connected store. The private server is started or adopted first when the configuration asks for it, and lives at
/// least as long as this.
class StoreSession {
 public:
  /// Blocks until the store answers. Throws VerbFailure when the attempt failed.
  /// `of_all`: the store of the merged stream, if the configuration names no partition and has one (RELIABILITY L28).
  static StoreSession open(const Config& config, StoreUse use = StoreUse::change, bool of_all = false);

  /// The same, without a word to the server yet: whether it is one that we can use shows later.
  static StoreSession prepare(const Config& config, StoreUse use = StoreUse::change, bool of_all = false);

  Store& store() { return *store_; }

 private:
  std::unique_ptr<EmbeddedRedis> server_;  // stopped, unless others use it, after the store has let go
  std::unique_ptr<Store> store_;
};

/// What a verb works with; all of it outlives the verb.
struct VerbContext {
  const Config& config;
  Store& store;
  Terminal& terminal;
};

Deployment deployment_of(std::span<const VerbContext> stores);

/// What the store answered. Throws VerbFailure when it did not.
template <class T>
T or_fail(StoreResult<T> answer) {
  if (answer.has_error()) throw failure_of(answer.error());
  if constexpr (!std::is_void_v<T>) return std::move(*answer);
}

/// Runs `work` under the name of a verb. Returns its exit code, or prints a VerbFailure and returns that of it.
int carry_out(const VerbRow& verb, Terminal& terminal, const std::function<int()>& work);

/// Opens the store for the use of the verb and runs `work` likewise.
int with_store(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
               const std::function<int(const VerbContext& context)>& work);

/// Opens the stores of all partitions, in order, or the named or only store, and runs `work` likewise.
int with_stores(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
                const std::function<int(std::span<const VerbContext> stores)>& work);

// What follows throws VerbFailure, too.

/// Canonical URLs of arguments, without duplicates. Prints an error with `consequence` for each invalid one; the exit
/// code is then 65.
std::vector<std::string> feed_urls(Terminal& terminal, const std::vector<std::string>& arguments,
                                   std::string_view consequence);
/// Likewise for one argument.
std::string feed_url(Terminal& terminal, const std::string& argument,
                     std::string_view consequence = "give an absolute http or https URL");

/// Calls `work` with one part of `all` after the other, each fit for one call of the store. Stops between them when
/// interrupted.
template <class Item, class Work>
void in_parts(const std::vector<Item>& all, Work work) {
  constexpr std::size_t most = 500;
  for (std::span<const Item> rest(all); !rest.empty(); rest = rest.subspan(std::min(most, rest.size()))) {
    stop_if_interrupted();
    work(rest.first(std::min(most, rest.size())));
  }
}

/// Calls `work` with one page of all registered URLs after the other, in their order, each fit for one call of the
/// store (OPERATIONS U10). Stops between them when interrupted. Returns how many there were.
template <class Work>
std::size_t over_all_feeds(Store& store, Work work) {
  std::size_t feeds = 0;
  for (FeedWalk walk(store);;) {
    stop_if_interrupted();
    const std::vector<std::string> page = or_fail(walk.next());
    if (page.empty()) return feeds;
    work(std::span<const std::string>(page));
    feeds += page.size();
  }
}

/// The records of these feeds, none where one is not registered. Where another partition has one (RELIABILITY L27) the
/// exit code is 1.
std::vector<std::optional<FeedRecord>> all_records(Store& store, const std::vector<std::string>& feed_urls);

/// Fails with exit code 1 and `consequence` if another partition has one of these feeds.
void refuse_elsewhere(const Store& store, const std::vector<std::string>& feed_urls, std::string_view consequence);

/// The records of these feeds. Prints an error with `consequence` for each unknown one; the exit code is then 1.
std::vector<FeedRecord> known_records(const VerbContext& context, const std::vector<std::string>& feed_urls,
                                      std::string_view consequence);

/// Whether a partition has all of these feeds, given as canonical_feed_url() takes them.
bool has_all(const Config& config, unsigned partition, const std::vector<std::string>& feed_urls);

/// Which partition has the entry with this id or number, absent where it is in none. What an id does not say is asked:
/// a number may have been given out before there were as many partitions.
std::optional<unsigned> partition_with_entry(const Config& config, const std::string& entry);

/// The end of an import's summary: how many feeds of other partitions it skipped; "" for none.
std::string in_other_partitions(std::uint64_t feeds);

/// A feed that is not registered, or in another partition: exit code 1.
VerbFailure no_such_feed(const Store& store, const std::string& url);

/// Asks `question` at the terminal. Any answer but yes prints the note `declined` and fails with exit code 1; without a
/// terminal prints `unasked` and fails with 64 (OPERATIONS U4).
void confirm(Terminal& terminal, const std::string& question, std::string_view unasked, std::string_view declined);

/// The same before so many feeds and their posts are removed.
void confirm_removal(Terminal& terminal, std::size_t feeds, std::uint64_t entries);

/// Adds a note if no worker runs on this store.
void note_without_worker(const VerbContext& context);

}  // namespace feedmill
