// The Redis side: schedule, feeds, entries, signals (DESIGN §3–§5). The header is the manual; the keys are keys.hpp's.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/claim.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/feed_record.hpp"
#include "storage/records/fleet_figures.hpp"
#include "storage/records/given_entry.hpp"
#include "storage/records/host_records.hpp"
#include "storage/records/known.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// When a commit counts as stored (RELIABILITY L18).
enum class Durability {
  ack,     ///< the server has answered
  fsync,   ///< it is in the server's append-only file, on disk
  replica  ///< a replica has it
};

struct StoreOptions {
  /// redis://[user[:password]@]host[:port][/db], the same with rediss:// for TLS,
  /// unix://[user[:password]@]/path[?db=N] or unix:/path
  std::string url{};
  std::string password{};  ///< wins over the one in the URL
  std::string key_prefix{};
  Milliseconds timeout{5000};  ///< of one command, of connecting
  bool allow_eviction = false;
  std::uint64_t signals_max_len = 100'000;
  bool signals_deleted = false;  ///< publish post_deleted for trims (OPERATIONS §2)
  Durability durability = Durability::ack;
  /// With rediss://, PEM (SECURITY §10): the authorities trusted, "" for the system's; what we show of ourselves.
  std::string ca_file{}, cert_file{}, key_file{};
  /// For who looks and changes nothing: no script is loaded and only rights to read are needed, as those of
  /// feedmill_viewer. Calls that run a script fail.
  bool reads_only = false;
};

/// What is wrong with such a URL and how to write it, "" when nothing. rediss:// is wrong where hiredis has no TLS
/// (before 1.0). Never holds the password.
std::string objection_to_redis_url(std::string_view url);

/// How `feed_url` ends when that is how our own keys end (":sort" …): such a feed cannot be stored. "" when it can.
std::string_view forbidden_ending(std::string_view feed_url);

/// One blocking connection to the store. Not thread-safe: the worker gives each its own thread.
/// A call lasts at most `timeout`; it connects, loads the scripts and authenticates when needed, and never retries:
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
  /// Connections made after the first one, for redis_reconnects_total.
  std::uint64_t reconnects() const;
  StoreResult<Milliseconds> now();

  // --- the refresh cycle ------------------------------------------------------------------------------------------

  /// Takes up to `max` due feeds, longest overdue first, and hides them from others for `lease` (RELIABILITY L1).
  /// `request` counts up per worker: a repeated number returns the stored batch again (RELIABILITY L3).
  struct ClaimRequest {
    std::string worker;  ///< 32 hex digits
    std::uint64_t request = 0;
    std::size_t max = 1;
    Milliseconds lease{90'000};
    HostLimits host;
    /// Only feeds that were due at that time (run --once). Those that were put off since must be named in `only`.
    std::optional<Milliseconds> due_by;
    std::vector<std::string> only;  ///< without due_by: just these feeds, due or not; empty = by schedule
  };
  StoreResult<ClaimBatch> claim(const ClaimRequest& request);

  /// Makes feeds due whose first fetches an import has spread (run --once, HTTP P12). Returns the time that
  /// all of them are due at.
  StoreResult<Milliseconds> unspread();

  /// Read-only: what is known of a document's guids, with the old values of what differs (RELIABILITY L5).
  struct LookUp {
    std::string feed_url;
    std::span<const EntryRecord> entries;
    std::span<const Deletion> deleted{};
    /// How the document's markup was treated: what is stored by older rules is told as today's make it (SECURITY S13).
    std::optional<GivenMarkup> markup{};
  };
  /// Several at once travel in one round trip. The answers stand in the order of `wanted`.
  std::vector<StoreResult<Known>> look_up(std::span<const LookUp> wanted);

  /// Read-only: the posts of a feed, newest first, as far as they can be recognised under other guids.
  StoreResult<std::vector<StoredPost>> stored_posts(const std::string& feed_url);

  /// Stores, reschedules and signals what each refresh found, all or nothing for each. `stale`, nothing written:
  /// another worker has claimed the feed since. `dup`: this very commit had gone through before. Several at once travel
  /// in one round trip (PERFORMANCE §3). When the outcome is not as durable as asked for within the timeout that is
  /// an error; sent again the commit is a `dup` and waited for anew (RELIABILITY L18).
  std::vector<StoreResult<Committed>> commit(std::span<const Commit* const> commits);

  /// Gives claims back: old due time, or `due`, slot freed. Foreign claims are left alone. Returns how many were ours
  /// (RELIABILITY L9).
  StoreResult<std::size_t> release(std::span<const Claim> claims, std::optional<Milliseconds> due = {});

  /// A slot at `host`, which a redirect of a claimed feed leads to (HTTP H6); it ends with the claim. 0 = taken, else
  /// how long to wait before asking again; nothing when the claim is not held any more.
  StoreResult<std::optional<Milliseconds>> take_slot(const Claim& claim, const std::string& host,
                                                     const HostLimits& limits);

  /// Tells that this worker lives, for `ttl`; `fields`: host, pid, version, in flight.
  StoreResult<void> heartbeat(const std::string& worker, const Fields& fields, Milliseconds ttl);
  StoreResult<void> retire(const std::string& worker);

  // --- feeds ------------------------------------------------------------------------------------------------------

  /// Registers feeds; true where it was new. URLs must be canonical (worker/web_url).
  StoreResult<std::vector<bool>> add_feeds(std::span<const NewFeed> feeds);
  /// Removes a feed and its whole key family, in bounded steps; false when it was unknown (RELIABILITY L17). Resumable:
  /// one that was interrupted is known until it is finished.
  StoreResult<bool> remove_feed(const std::string& feed_url) { return take_away(feed_url, "begin"); }
  /// Finishes removals that were interrupted; returns how many.
  StoreResult<std::size_t> finish_removals();
  /// All registered feed URLs, sorted.
  StoreResult<std::vector<std::string>> feeds();
  StoreResult<bool> is_registered(const std::string& feed_url);
  /// What is known of each; absent where it is not registered.
  StoreResult<std::vector<std::optional<FeedRecord>>> feed_records(std::span<const std::string> feed_urls);
  /// Makes feeds due now. `floor`: not sooner than this after the last refresh; nothing is held back when `force`.
  StoreResult<std::vector<Wake>> wake(std::span<const std::string> feed_urls, Milliseconds floor, bool force);

  /// Takes feeds out of the schedule until resume(); a refresh under way is still committed.
  StoreResult<std::vector<Paused>> pause(std::span<const std::string> feed_urls);
  /// Puts paused feeds back, in the state they had. `floor`: not sooner than this after the last refresh, unless they
  /// had been due sooner (HTTP P6).
  StoreResult<std::vector<Resumed>> resume(std::span<const ResumedFeed> feeds, Milliseconds floor);
  /// Replaces what the operator set for a feed; `outdated`, nothing written, when that is no longer `before`.
  StoreResult<SettingsChange> change_settings(const std::string& feed_url, const std::string& before,
                                              const std::string& settings);
  /// Replaces the settings of all hosts, which the gates of claim() obey from then on.
  StoreResult<void> set_hosts(std::span<const HostSettings> hosts);
  /// What is requested for a feed from now on (HTTP R8); its keys stay, a refresh under way comes to nothing.
  StoreResult<MoveResult> move_feed(const std::string& feed_url, const std::string& to);
  /// Back to what was requested before its last move, for 90 days; it does not go there again by itself.
  StoreResult<MoveResult> undo_move(const std::string& feed_url);

  // --- entries (DESIGN §3.2) ----------------------------------------------------------------------------------------

  StoreResult<std::optional<StoredEntry>> get(const std::string& id);
  /// Several in one round trip, in the order of `ids`; those that do not exist are left out.
  StoreResult<std::vector<StoredEntry>> get_all(std::span<const std::string> ids);
  StoreResult<std::optional<StoredEntry>> get_by_guid(const std::string& feed_url, const std::string& guid);
  /// Newest first, at most `limit`, after `before` when given.
  StoreResult<std::vector<StoredEntry>> all_by_order(const std::string& feed_url, std::size_t limit = 20,
                                                     const std::optional<EntryCursor>& before = {});

  // What an operator or a program does to posts beside the feed's document. Each is one script, atomic, with its
  // signal.

  /// Stores a post whole: creates it, or replaces what is stored under its guid (fields not given go). Values pass the
  /// caps and the hygiene of documents (SECURITY §3–§5). Brings back what was trimmed or removed.
  ///
  /// A post that no document lists stays as it is until retention takes it, as one that has left the document. Of one
  /// that a document lists the digest stays the publisher's: what was saved holds until the publisher changes the post.
  StoreResult<Saved> save(const GivenEntry& entry, const GivenMarkup& markup = {});
  /// The same, but fields that are not given stay as they are. Only what differs is written.
  StoreResult<Saved> update_or_create(const GivenEntry& entry, const GivenMarkup& markup = {});
  /// Deletes a post with its place, guid link and digest; false when there is none. It does not come back while the
  /// feed lists it, nor for 7 days after. Sends post_deleted with why=operator.
  StoreResult<bool> remove(const std::string& id);
  /// Trims a feed now, in steps of 100 posts; how many went, nothing when there is no such feed. Trimmed posts do not
  /// come back (RELIABILITY L7).
  StoreResult<std::optional<std::uint64_t>> expire(const std::string& feed_url, const Expiry& expiry);
  StoreResult<std::optional<std::uint64_t>> expire(const std::string& feed_url, std::uint64_t limit = 50);

  // --- signals ------------------------------------------------------------------------------------------------------

  /// Up to `count` records after stream id `after` ("$" = those to come, "0" = from the first), waiting up to `block`
  /// when there are none. `block` must stay below the command timeout.
  StoreResult<std::vector<SignalRecord>> read_signals(const std::string& after, std::size_t count, Milliseconds block);
  /// Id of the newest record, "0-0" when there is none.
  StoreResult<std::string> last_signal();

  StoreResult<FleetFigures> figures();
  /// StoreOptions::signals_max_len from the next call on.
  void set_signals_max_len(std::uint64_t records);
  /// How far each consumer group of the signals has come.
  StoreResult<StreamFigures> stream_figures();
  /// The same, and takes away what is over the cap or 7 days old and that every group has acknowledged (RELIABILITY
  /// L13); commits alone keep to the hard limit, twice the cap.
  StoreResult<StreamFigures> trim_stream();
  /// What is known of a host (lower case, no port): reads only.
  StoreResult<HostState> host(const std::string& host);
  /// The same of several in one round trip, in their order.
  StoreResult<std::vector<HostState>> hosts(std::span<const std::string> hosts);
  /// What the server is like, whether or not open() would take it. Writes one key, for a second, to see whether it may.
  StoreResult<ServerFacts> server_facts();

  // --- what operators look at: each bounded whatever the store holds, and reads only
  // -----------------------------------

  /// A part of a list of feeds.
  struct FeedQuery {
    std::string state;  ///< "" or "healthy": in the order of the schedule, without the paused; else newest in it first
    std::string part;   ///< stands in the URL, "" = any
    std::string host;   ///< "" = any
    std::optional<FeedPlace> after;
    std::size_t limit = 50;
    std::size_t look = 5'000;  ///< feeds looked at for those that are wanted, at most
  };
  StoreResult<FeedPage> feed_page(const FeedQuery& query);
  /// The newest signals of a feed among the newest `look` of all, newest first, at most `limit`.
  StoreResult<std::vector<SignalRecord>> feed_signals(const std::string& feed_url, std::size_t look, std::size_t limit);
  /// Workers with a heartbeat, the most 100.
  StoreResult<std::vector<WorkerRecord>> workers();
  /// Hosts that back off, those first that do so longest, at most `limit`; some may serve again by now.
  StoreResult<std::vector<std::string>> closed_hosts(std::size_t limit);

 private:
  /// `first`: "begin", or "resume" for one whose removal has begun and which may be a feed again by now.
  StoreResult<bool> take_away(const std::string& feed_url, std::string_view first);

  friend class Archive;
  friend class Channels;
  friend class Deliveries;
  friend class Notifications;
  friend class Pushes;
  friend class Traces;
  friend class Verifier;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace feedmill

namespace boost::system {
[[noreturn]] void throw_exception_from_error(const feedmill::StoreError& error, const boost::source_location& where);
}  // namespace boost::system
