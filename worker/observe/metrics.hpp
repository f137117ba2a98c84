// Prometheus metrics (OPERATIONS §3). Every series exists from the start, at 0, and is looked up once; label values
// come from enums and fixed lists, never from feeds, hosts or messages (SECURITY O3).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

#include "storage/queues/subscribers.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/store/store.hpp"
#include "worker/base/report.hpp"
#include "worker/http/resolver.hpp"

namespace feedmill {

/// Counting is thread-safe and takes only the histograms' locks; text() may run concurrently.
class Metrics {
 public:
  /// Labels of build_info; `store` is unknown until the store answers, see set_store().
  struct Build {
    std::string version, libcurl, store;
  };

  explicit Metrics(Build build);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // --- counted as it happens ----------------------------------------------------------------------------------------

  /// Records a refresh; once per refresh.
  void record(const Report& report);
  /// A claim call that the store answered after `took`.
  void claimed(const ClaimBatch& batch, std::chrono::duration<double> took);
  /// The result of a commit; a failed one does not also count as store_error().
  void committed(const StoreResult<Committed>& result);
  /// Any other failed store call.
  void store_error(const StoreError& error);
  /// Reconnections to Redis since the last call.
  void reconnected(std::uint64_t times);
  /// Records delivered, by result.
  void delivered(std::uint64_t applied, std::uint64_t repeated, std::uint64_t failed);
  /// post_same_as events written by delivery.
  void told_same_as(std::uint64_t events);
  /// Requests of applications that were answered.
  void answered_requests(std::uint64_t requests);
  /// A name lookup and its duration.
  void looked_up(Lookup became, std::chrono::duration<double> took);
  /// An exception that reached a lane.
  void bug();
  /// Deliveries to callbacks; limited: rejected over a limit.
  enum class Delivery { fat, thin, bad_signature, unknown, limited };
  void push_delivery(Delivery delivery);
  void push_verification(bool accepted);
  /// A feed's subscription changed to `state` (PushStanding::state); "": it has ended.
  void push_turned(std::string_view state);
  /// Time from the end of the header to the response.
  void callback_answered(std::chrono::duration<double> took);
  /// The content of a push was stored (Report::pushed_first: before any poll had it).
  void pushed(const Report& report);

  /// Result of a request to a webhook or a hub subscriber.
  enum class PushOut { taken, failed, gone, given_up };
  void push_out_sent(bool webhook, PushOut result);
  /// A hub subscriber answered, or failed to answer, a verification request.
  void push_out_verified(bool accepted);
  /// Events sent on live streams, counted per client.
  void push_out_streamed(std::uint64_t events);

  // --- set when it is known -----------------------------------------------------------------------------------------

  void set_fleet(const FleetFigures& figures);
  /// Length of the stream and the lag of each of its groups.
  void set_stream(const StreamFigures& figures);
  void set_requests(const RequestFigures& figures);
  void set_subscribers(const SubscriberCounts& counts);
  /// Clients of this process's live stream.
  void set_streams(std::size_t open);
  void set_clock_offset(std::chrono::duration<double> offset);
  void set_lanes(std::size_t busy, std::size_t free);
  /// CPU time of each fetching loop, first loop first; never fewer than before.
  void set_loops(const std::vector<std::chrono::nanoseconds>& cpu);
  /// Connections for look-ups and commits: their number and total busy time.
  void set_store_connections(std::size_t count, std::chrono::nanoseconds busy);
  void set_inflight_bytes(std::uint64_t bytes);
  /// Bytes of commits not yet answered by Redis.
  void set_unacknowledged_bytes(std::uint64_t bytes);
  void set_memory_budget(std::uint64_t bytes);
  void set_ready(bool ready);
  void set_draining(bool draining);
  void set_redis_up(bool up);
  /// The error that keeps Redis from serving; empty: none.
  void set_redis_trouble(const std::optional<StoreError>& error);
  void set_log_suppressed(std::uint64_t total);
  /// "redis 7.0.15"
  void set_store(const std::string& server);

  /// All metrics as Prometheus text 0.0.4; process figures are read now. Never talks to Redis.
  std::string text() const;
  /// text() of several partitions merged: the first has the label partition="0" and so on; a single one has no label.
  /// `together`: metrics of the process that pushes out for all partitions, labelled "all"; only those about pushing
  /// out.
  static std::string text_of(std::span<const Metrics* const> all, const Metrics* together = nullptr);

 private:
  struct Series;
  Build build_;
  std::unique_ptr<Series> series_;
};

// Process metrics of the standard collectors, read from /proc (OPERATIONS §3).

/// Current process_cpu_seconds_total, memory, descriptors and start time; 0 if /proc lacks a value.
std::vector<prometheus::MetricFamily> process_families();

}  // namespace feedmill
