// What Prometheus sees (OPERATIONS §3). Every series exists from the start, at 0, and is looked up once; label values
// come from enums and fixed lists, never from feeds, hosts or messages (SECURITY O3).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/push_out/subscribers.hpp"
#include "storage/records/claim.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/fleet_figures.hpp"
#include "storage/records/request_figures.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/store/store.hpp"
#include "worker/base/report.hpp"
#include "worker/http/resolver.hpp"

namespace feedmill {

/// Counting is thread-safe and takes no lock but the histograms' own; text() may run beside it.
class Metrics {
 public:
  /// Labels of build_info; `store` is not known before the store answered, see set_store.
  struct Build {
    std::string version, libcurl, store;
  };

  explicit Metrics(Build build);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // --- counted as it happens ----------------------------------------------------------------------------------------

  /// All that a refresh did; once per refresh.
  void record(const Report& report);
  /// A claim call that the store answered, after `took`.
  void claimed(const ClaimBatch& batch, std::chrono::duration<double> took);
  /// What became of one commit; a failed one is not a store_error besides.
  void committed(const StoreResult<Committed>& result);
  /// Any other store call that failed.
  void store_error(const StoreError& error);
  void reconnected(std::uint64_t times);
  /// Records that went through delivery, by what became of them.
  void delivered(std::uint64_t applied, std::uint64_t repeated, std::uint64_t failed);
  /// Events post_same_as that delivery wrote.
  void told_same_as(std::uint64_t events);
  /// Requests of programs that were answered.
  void answered_requests(std::uint64_t requests);
  /// A look-up of a name, and how long it took.
  void looked_up(Lookup became, std::chrono::duration<double> took);
  /// An exception that reached a lane.
  void bug();
  /// What came to a callback, or was turned away: over a limit.
  enum class Delivery { fat, thin, bad_signature, unknown, limited };
  void push_delivery(Delivery delivery);
  void push_verification(bool accepted);
  /// A feed's subscription is in `state` now (PushStanding::state), "" = it has none any more.
  void push_turned(std::string_view state);
  /// From the header's end to the answer.
  void callback_answered(std::chrono::duration<double> took);
  /// The content of a push was written; `first`: it brought what no poll had.
  void pushed(const Report& report);

  /// A request to a webhook, or to a subscriber of the hub: what became of it.
  enum class PushOut { taken, failed, gone, given_up };
  void push_out_sent(bool webhook, PushOut result);
  /// A subscriber of the hub was asked whether it meant what it asked for.
  void push_out_verified(bool accepted);
  /// Events of the live stream, to each client.
  void push_out_streamed(std::uint64_t events);

  // --- set when it is known -----------------------------------------------------------------------------------------

  void set_fleet(const FleetFigures& figures);
  /// Length of the stream and how far each of its groups is behind.
  void set_stream(const StreamFigures& figures);
  void set_requests(const RequestFigures& figures);
  void set_subscribers(const SubscriberCounts& counts);
  /// Clients that follow the live stream of this process.
  void set_streams(std::size_t open);
  void set_clock_offset(std::chrono::duration<double> offset);
  void set_lanes(std::size_t busy, std::size_t free);
  /// CPU time of each loop that fetches, the first one first; as many as ever before.
  void set_loops(const std::vector<std::chrono::nanoseconds>& cpu);
  /// Of look-ups and commits: how many there are, and how long they were busy, all of them together.
  void set_store_connections(std::size_t count, std::chrono::nanoseconds busy);
  void set_inflight_bytes(std::uint64_t bytes);
  /// Of commits that Redis has not answered.
  void set_unacknowledged_bytes(std::uint64_t bytes);
  void set_memory_budget(std::uint64_t bytes);
  void set_ready(bool ready);
  void set_draining(bool draining);
  void set_redis_up(bool up);
  /// What keeps Redis from serving; absent: nothing does.
  void set_redis_trouble(const std::optional<StoreError>& error);
  void set_log_suppressed(std::uint64_t total);
  /// "redis 7.0.15"
  void set_store(const std::string& server);

  /// Everything as Prometheus text 0.0.4; figures of the process are read now. Never talks to Redis.
  std::string text() const;
  /// The same of several at once, the first of them with the label partition="0" and so on; as text() of one.
  /// `together`: of who pushes out for all of them, with "all" there; of these what is about that alone.
  static std::string text_of(std::span<const Metrics* const> all, const Metrics* together = nullptr);

 private:
  struct Series;
  Build build_;
  std::unique_ptr<Series> series_;
};

}  // namespace feedmill
