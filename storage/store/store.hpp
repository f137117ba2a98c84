// The store: one connection to Redis, with keys and scripts of ours. What it is asked is in the rooms beside this:
// ingest, feeds, entries, events, timelines, websub (DESIGN §3–§5).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/records/event_detail.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/partition.hpp"

namespace feedmill {

/// When a commit counts as stored (RELIABILITY L18).
enum class Durability {
  ack,     ///< the server has answered
  fsync,   ///< it is in the server's append-only file, on disk
  replica  ///< a replica has it
};

struct StoreOptions {
  /// redis://[user[:password]@]host[:port][/db], redis+sentinel://[user[:password]@]host[:port][,…]/service[/db], the
  /// same with rediss for TLS, unix://[user[:password]@]/path[?db=N] or unix:/path
  std::string url{};
  std::string password{};                            ///< wins over the one in the URL
  std::string sentinel_user{}, sentinel_password{};  ///< who we are to sentinels, "" = we need not say
  std::string key_prefix{};
  Partition partition{};  ///< which one this is (RELIABILITY L27)
  /// None of them, but what is of all: the one stream of their events, and the webhooks that are told of it
  /// (RELIABILITY L28). For EventStream and Subscribers alone.
  bool of_all = false;
  Milliseconds timeout{5000};  ///< of one command, of connecting
  bool allow_eviction = false;
  std::uint64_t signals_max_len = 100'000;
  std::uint64_t signals_max_bytes = 0;  ///< of the records of the stream; 0 = not counted
  EventDetail events{};
  bool signals_deleted = false;  ///< publish post_deleted for trims (OPERATIONS §2)
  Durability durability = Durability::ack;
  /// With TLS, PEM (SECURITY §10): the authorities trusted, "" for the system's; what we show of ourselves.
  std::string ca_file{}, cert_file{}, key_file{};
  /// For who looks and changes nothing: no script is called and only rights to read are needed, as those of
  /// feedmill_viewer. Calls that run a script fail.
  bool reads_only = false;

  /// How long the stream may grow, as scripts that write events take it: "<records>", or "<records> <bytes>".
  std::string stream_cap() const;
};

/// How `feed_url` ends when that is how our own keys end (":sort" …): such a feed cannot be stored. "" when it can.
std::string_view forbidden_ending(std::string_view feed_url);

/// One blocking connection to the store, for one call at a time, from whichever thread.
/// A call lasts at most `timeout`; it connects, authenticates and loads a script when needed, and never retries:
/// after an error the caller decides (RELIABILITY E3). Texts in errors never hold the password.
class Store {
 public:
  explicit Store(StoreOptions options);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  /// Connects now and checks what must hold: server version, the user's rights (SECURITY A1), maxmemory-policy,
  /// durability, schema version; creates meta:store in an empty store unless told not to `create`. Returns what serves
  /// it, as in "redis 7.0.15"; `unsupported` says what the operator must change.
  StoreResult<std::string> open(bool create = true);

  /// Whether the server keeps what it is given: `unsupported` when its maxmemory-policy evicts and that is not allowed.
  StoreResult<void> check_eviction();

  /// Drops the connection; the next call connects anew.
  void disconnect();
  /// Drops it where the server has closed it while nobody used it, so that the next call does not fail of that. Not
  /// between calls of which one goes on where another ended.
  void leave_closed();
  /// From any thread: a call that waits for something to happen ends with an error, else the next one that would wait.
  void break_wait();
  /// Connections made after the first one, for redis_reconnects_total.
  std::uint64_t reconnects() const;
  StoreResult<Milliseconds> now();
  /// What tells this store from every other: 32 small hex digits, made at random by whoever first opened it to write,
  /// and never changed (WEBSUB U16). "" of a store that nobody has opened so yet.
  StoreResult<std::string> id();

  /// Which partition has the feed with this canonical URL, when that is another one (RELIABILITY L27): this store does
  /// not take it.
  std::optional<unsigned> elsewhere(std::string_view feed_url) const;

  const Partition& partition() const;
  /// How to reach a partition of the deployment that this is of; of a store in one piece, itself.
  StoreOptions options_at(unsigned partition) const;
  /// Whether it is none of the partitions (StoreOptions::of_all).
  bool is_of_all() const;

  /// What stands before every key.
  const std::string& prefix() const;
  /// The server that holds it now, as "127.0.0.1:6379" or a path.
  StoreResult<std::string> node();

  /// StoreOptions::signals_max_len and signals_max_bytes from the next call on.
  void set_signals_caps(std::uint64_t records, std::uint64_t bytes);

  /// The inside, for the other rooms of storage/ (store_impl.hpp).
  class Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace feedmill
