// The store: one connection to Redis with our keys and scripts. Its operations are in the neighbouring rooms: ingest,
// feeds, entries, events, timelines, queues, upkeep (DESIGN §3–§5).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/records/event_record.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/partition.hpp"

namespace feedmill {

/// When a commit counts as stored (RELIABILITY L18).
enum class Durability {
  ack,     ///< the server has replied
  fsync,   ///< it is in the server's append-only file on disk
  replica  ///< a replica has it
};

struct StoreOptions {
  /// redis://[user[:password]@]host[:port][/db], redis+sentinel://[user[:password]@]host[:port][,…]/service[/db],
  /// rediss forms of these for TLS, unix://[user[:password]@]/path[?db=N] or unix:/path
  std::string url{};
  std::string password{};                            ///< overrides the URL's
  std::string sentinel_user{}, sentinel_password{};  ///< login at the sentinels, "": none needed
  std::string key_prefix{};
  Partition partition{};  ///< this store's partition (RELIABILITY L27)
  /// Deployment-wide keys instead of one partition's: the merged event stream and its webhooks (RELIABILITY L28). Only
  /// for EventStream and Subscribers.
  bool of_all = false;
  Milliseconds timeout{5000};  ///< per command and for connecting
  bool allow_eviction = false;
  std::uint64_t signals_max_len = 100'000;
  std::uint64_t signals_max_bytes = 0;  ///< size limit of the stream's records; 0: none
  EventDetail events{};
  bool signals_deleted = false;  ///< publish post_deleted for trims (OPERATIONS §2)
  Durability durability = Durability::ack;
  /// With TLS, PEM (SECURITY §10): the trusted authorities, "" for the system's; our own certificate and key.
  std::string ca_file{}, cert_file{}, key_file{};
  /// Read-only: no scripts are called and read permissions suffice, such as those of feedmill_viewer. Calls that run a
  /// script fail.
  bool reads_only = false;

  /// The stream's size limit as scripts that write events take it: "<records>", or "<records> <bytes>".
  std::string stream_cap() const;
};

/// The ending of `feed_url` that one of our own keys uses (":sort" …): such a feed cannot be stored. "" if none.
std::string_view forbidden_ending(std::string_view feed_url);

/// One blocking connection to the store: one call at a time, from any thread. A call takes at most `timeout`; it
/// connects, authenticates and loads scripts as needed, and never retries: after an error the caller decides
/// (RELIABILITY E3). Error texts never hold the password.
class Store {
 public:
  explicit Store(StoreOptions options);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  /// Connects and checks the requirements: server version, the user's rights (SECURITY A1), maxmemory-policy,
  /// durability, schema version; creates meta:store in an empty store if `create`. Returns the server's name, such as
  /// "redis 7.0.15"; `unsupported` names the required change.
  StoreResult<std::string> open(bool create = true);

  /// Whether the server keeps its data: `unsupported` if its maxmemory-policy evicts and that is not allowed.
  StoreResult<void> check_eviction();

  /// Drops the connection; the next call reconnects.
  void disconnect();
  /// Closes a connection that the server dropped while idle, so that the next call does not fail. Do not call it
  /// between calls that depend on each other.
  void leave_closed();
  /// Thread-safe: ends the current waiting call with an error, else the next one.
  void break_wait();
  /// Connections made after the first one, for redis_reconnects_total.
  std::uint64_t reconnects() const;
  /// Redis' clock (TIME).
  StoreResult<Milliseconds> now();
  /// The store's unique id: 32 lower-case hex digits, random, written at the first open for writing and never changed
  /// (WEBSUB U16). "" for a store not yet opened for writing.
  StoreResult<std::string> id();

  /// If another partition owns the feed with this canonical URL (RELIABILITY L27): that partition's index. This store
  /// then rejects the feed.
  std::optional<unsigned> elsewhere(std::string_view feed_url) const;

  const Partition& partition() const;
  /// Options for another partition of this deployment; for an unpartitioned store, its own.
  StoreOptions options_at(unsigned partition) const;
  /// Whether it holds deployment-wide keys (StoreOptions::of_all).
  bool is_of_all() const;

  /// Common prefix of the keys.
  const std::string& prefix() const;
  /// The current server, "127.0.0.1:6379" or a path.
  StoreResult<std::string> node();

  /// Sets StoreOptions::signals_max_len and signals_max_bytes for later calls.
  void set_signals_caps(std::uint64_t records, std::uint64_t bytes);

  /// Internals, for the other rooms of storage/ (store_impl.hpp).
  class Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace feedmill
