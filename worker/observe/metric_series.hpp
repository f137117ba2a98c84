// Prometheus series: their names, helps, labels and buckets (OPERATIONS §3). Only metrics.cpp includes this, and
// updates them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "storage/records/feed_state.hpp"
#include "worker/observe/metrics.hpp"

namespace feedmill {

namespace metric_series {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

template <class Metric>
using SeriesByLabel = std::vector<std::pair<std::string_view, Metric*>>;

/// One series per label value; few, so a linear search suffices.
template <class Metric>
Metric* find(const SeriesByLabel<Metric>& series, std::string_view value) {
  const auto found = std::ranges::find(series, value, [](const auto& one) { return one.first; });
  return found == series.end() ? nullptr : found->second;
}

/// Creates series in a registry; names without the leading "feedmill_".
class Maker {
 public:
  explicit Maker(prometheus::Registry& registry) : registry_(registry) {}

  prometheus::Family<Counter>& counter_family(const std::string& name, const std::string& help) {
    return prometheus::BuildCounter().Name("feedmill_" + name).Help(help).Register(registry_);
  }
  prometheus::Family<Gauge>& family(const std::string& name, const std::string& help) {
    return prometheus::BuildGauge().Name("feedmill_" + name).Help(help).Register(registry_);
  }
  Counter& counter(const std::string& name, const std::string& help) { return counter_family(name, help).Add({}); }
  Gauge& gauge(const std::string& name, const std::string& help) { return family(name, help).Add({}); }
  SeriesByLabel<Counter> counters(const std::string& name, const std::string& help, const std::string& label,
                                  std::initializer_list<std::string_view> values) {
    return by_label(counter_family(name, help), label, values);
  }
  /// Indexed by the enum's values, starting at `first`.
  template <class Enum>
  std::vector<Counter*> counters(const std::string& name, const std::string& help, const std::string& label,
                                 std::size_t first, Enum last) {
    auto& all = counter_family(name, help);
    std::vector<Counter*> series(first, nullptr);
    for (std::size_t i = first; i <= static_cast<std::size_t>(last); ++i)
      series.push_back(&all.Add({{label, std::string(to_string(static_cast<Enum>(i)))}}));
    return series;
  }
  template <class Values = std::initializer_list<std::string_view>>
  SeriesByLabel<Gauge> gauges(const std::string& name, const std::string& help, const std::string& label,
                              const Values& values) {
    return by_label(family(name, help), label, values);
  }
  Histogram& histogram(const std::string& name, const std::string& help, const Histogram::BucketBoundaries& buckets) {
    return prometheus::BuildHistogram().Name("feedmill_" + name).Help(help).Register(registry_).Add({}, buckets);
  }

 private:
  template <class Metric>
  static SeriesByLabel<Metric> by_label(prometheus::Family<Metric>& family, const std::string& label,
                                        const auto& values) {
    SeriesByLabel<Metric> series;
    for (const auto value : values) series.emplace_back(value, &family.Add({{label, std::string(value)}}));
    return series;
  }

  prometheus::Registry& registry_;
};

/// Gauges labelled with external names, such as those of consumer groups; set() removes series with other names.
class GaugesByName {
 public:
  explicit GaugesByName(prometheus::Family<Gauge>& family) : family_(family) {}

  void set(const std::string& label, const std::vector<std::pair<std::string, double>>& values) {
    std::map<std::string, Gauge*> now;
    for (const auto& [name, value] : values) {
      const auto [place, is_new] = now.try_emplace(name, nullptr);
      if (is_new) place->second = &family_.Add({{label, name}});  // returns the existing series, if any
      place->second->Set(value);
    }
    for (const auto& [name, gauge] : gauges_) {
      if (!now.contains(name)) family_.Remove(gauge);
    }
    gauges_ = std::move(now);
  }

 private:
  prometheus::Family<Gauge>& family_;
  std::map<std::string, Gauge*> gauges_;
};

}  // namespace metric_series

/// All series of one registry.
struct Metrics::Series {
  using Counter = prometheus::Counter;
  using Gauge = prometheus::Gauge;
  using Histogram = prometheus::Histogram;
  using GaugesByName = metric_series::GaugesByName;
  template <class Metric>
  using SeriesByLabel = metric_series::SeriesByLabel<Metric>;

  using Buckets = Histogram::BucketBoundaries;
  static inline const Buckets network_buckets{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  static inline const Buckets computing_buckets{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                0.01,   0.025,   0.05,   0.1,   0.25,   1};
  static inline const Buckets lateness_buckets{1, 2, 5, 10, 30, 60, 120, 300, 900, 3600, 21600};
  static inline const Buckets freshness_buckets{60, 300, 900, 1800, 3600, 7200, 21600, 43200, 86400, 259200};
  static inline const Buckets body_buckets{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};

  prometheus::Registry registry;
  metric_series::Maker make{registry};

  prometheus::Family<Gauge>& build_info = make.family("build_info", "Versions; always 1.");
  Gauge* build = nullptr;

  std::vector<Counter*> refreshes =
      make.counters("refreshes_total", "Refreshes completed, by outcome.", "outcome", 0, Outcome::aborted);
  std::vector<Counter*> failures = make.counters("failures_total", "Failed refreshes, by reason.", "reason",
                                                 static_cast<std::size_t>(Reason::none) + 1, Reason::worker_bug);
  SeriesByLabel<Counter> responses =
      make.counters("responses_total", "Answers of origins at each hop, by status class.", "class",
                    {"2xx", "304", "3xx", "4xx", "429", "5xx"});
  SeriesByLabel<Counter> unconditional =
      make.counters("unconditional_requests_total", "Requests without validators, by cause.", "cause",
                    {"first", "no_validators", "target_changed", "probe"});
  Counter& early_polls = make.counter("early_polls_total", "Polls before the floor; must stay 0.");
  SeriesByLabel<Counter> received =
      make.counters("received_bytes_total", "Body bytes received, as sent and decoded.", "kind", {"wire", "decoded"});
  SeriesByLabel<Counter> saved = make.counters("saved_bytes_total", "Body bytes saved against the last full body.",
                                               "by", {"not_modified", "hash", "compression"});
  SeriesByLabel<Counter> entries = make.counters("entries_total", "Entries seen, by result.", "action",
                                                 {"created", "modified", "unchanged", "trimmed", "deleted"});
  std::vector<Counter*> flaws = make.counters(
      "parse_flaws_total", "Flaws in documents; all except loop are repaired, not dropped.", "kind", 0, Flaw::other);
  SeriesByLabel<Counter> events = make.counters(
      "signals_total", "Signals written to the stream, by type.", "type",
      {"feed_created", "feed_modified", "post_created", "post_modified", "post_deleted", "feed_moved", "feed_failing",
       "feed_recovered", "feed_gone", "feed_rekeyed", "feed_gap", "feed_mended", "post_same_as"});
  SeriesByLabel<Counter> redirects = make.counters("redirects_total", "Redirects followed, and permanent feed moves.",
                                                   "kind", {"permanent", "temporary", "moved"});
  SeriesByLabel<Counter> blocked = make.counters("egress_blocked_total", "Connections refused by the egress policy.",
                                                 "kind", {"address", "port", "scheme", "proxy"});
  SeriesByLabel<Counter> claims = make.counters("claims_total", "Due feeds examined, by result.", "result",
                                                {"taken", "host_spacing", "host_backoff", "quarantined"});
  SeriesByLabel<Counter> commits =
      make.counters("commits_total", "Commits, by result.", "result", {"ok", "dup", "stale", "refused", "error"});
  SeriesByLabel<Counter> connections =
      make.counters("connections_total", "Connections used for requests.", "kind", {"new", "reused", "resumed"});
  SeriesByLabel<Counter> redis_errors = make.counters("redis_errors_total", "Failed Redis calls, by kind.", "kind",
                                                      {"connection", "timeout", "loading", "oom", "misconf", "readonly",
                                                       "moved", "auth", "tls", "script", "unsupported", "other"});
  SeriesByLabel<Counter> host_backoffs = make.counters("host_backoffs_total", "Back-offs extended to a host, by cause.",
                                                       "cause", {"rate_limited", "unavailable", "forbidden"});
  SeriesByLabel<Counter> lookups = make.counters("dns_lookups_total", "DNS look-ups, by result.", "result",
                                                 {"cached", "ok", "not_found", "timeout", "failed"});
  SeriesByLabel<Counter> webhook_requests = make.counters("webhook_requests_total", "Requests to webhooks, by result.",
                                                          "result", {"taken", "failed", "gone", "given_up"});
  SeriesByLabel<Counter> hub_requests =
      make.counters("hub_deliveries_total", "Deliveries to hub subscribers, by result.", "result",
                    {"taken", "failed", "gone", "given_up"});
  SeriesByLabel<Counter> hub_verifications = make.counters(
      "hub_verifications_total", "Verification requests to hub subscribers.", "result", {"accepted", "refused"});
  Counter& streamed = make.counter("stream_events_total", "Events of the live stream, counted for each client.");
  SeriesByLabel<Gauge> subscribers =
      make.gauges("subscribers", "Webhooks and hub subscribers in the store, by state.", "state",
                  {"webhook_active", "webhook_suspended", "hub_pending", "hub_active"});
  Gauge& subscribers_due = make.gauge("subscribers_due", "Webhooks and hub subscribers with pending deliveries.");
  Gauge& streams = make.gauge("streams", "Clients of the live stream.");
  Counter& quarantines = make.counter(
      "quarantines_total", "Feeds quarantined: workers crashed on them, or they cannot be read in bounded time.");
  Counter& reconnects = make.counter("redis_reconnects_total", "Reconnections to Redis.");
  SeriesByLabel<Counter> delivery_records =
      make.counters("delivery_records_total", "Signals processed by delivery, by result.", "result",
                    {"applied", "repeated", "failed"});
  SeriesByLabel<Counter> push_deliveries = make.counters("websub_deliveries_total", "Pushes, by result.", "result",
                                                         {"fat", "thin", "bad_signature", "unknown", "limited"});
  SeriesByLabel<Counter> push_verifications = make.counters(
      "websub_verifications_total", "Verification requests from hubs.", "result", {"accepted", "refused"});
  SeriesByLabel<Counter> push_turns =
      make.counters("websub_turns_total", "Subscriptions that entered a state; none: ended.", "state",
                    {"pending", "unproven", "healthy", "doubtful", "failed", "denied", "none"});
  SeriesByLabel<Counter> push_first =
      make.counters("websub_first_total", "New entries of feeds with pushes, by first source.", "by", {"push", "poll"});
  Counter& requests_answered = make.counter("requests_answered_total", "Answered requests of programs.");
  Counter& bugs = make.counter("bugs_total", "Exceptions that reached a lane.");
  Counter& log_suppressed = make.counter("log_suppressed_total", "Suppressed log lines.");

  Histogram& refresh =
      make.histogram("refresh_duration_seconds", "Duration of a refresh from claim to commit.", network_buckets);
  Histogram& lookup =
      make.histogram("dns_duration_seconds", "Duration of DNS look-ups missing from the cache.", network_buckets);
  Histogram& connect =
      make.histogram("connect_duration_seconds", "Time to connect to an origin, including TLS.", network_buckets);
  Histogram& first_byte =
      make.histogram("first_byte_duration_seconds", "Time from the request to the first byte.", network_buckets);
  Histogram& callback =
      make.histogram("callback_duration_seconds", "Time from a callback's header to our answer.", network_buckets);
  Histogram& parse = make.histogram("parse_duration_seconds", "Time to read a document.", computing_buckets);
  Histogram& claim = make.histogram("claim_duration_seconds", "Duration of a claim call.", computing_buckets);
  Histogram& commit = make.histogram("commit_duration_seconds", "Duration of a commit.", computing_buckets);
  Histogram& lateness = make.histogram("schedule_lateness_seconds", "Claim time minus due time.", lateness_buckets);
  Histogram& publish_delay = make.histogram(
      "publish_delay_seconds", "Stored minus published; dated entries, first import excluded.", freshness_buckets);
  Histogram& body = make.histogram("body_bytes", "Decoded size of documents.", body_buckets);

  SeriesByLabel<Gauge> feeds = make.gauges("feeds", "Feeds, by state.", "state", feed_state_names);
  Gauge& due = make.gauge("due_feeds", "Feeds that are due.");
  Gauge& oldest_due = make.gauge("oldest_due_seconds", "How long the oldest due feed has been due.");
  Gauge& waiting = make.gauge("waiting_feeds", "Feeds that are due and in line for their hosts.");
  Gauge& claimed = make.gauge("claimed_feeds", "Feeds being refreshed by any worker.");
  Gauge& backing_off = make.gauge("hosts_backing_off", "Hosts backing off after rejections.");
  Gauge& workers = make.gauge("workers_alive", "Workers with a heartbeat that fetch.");
  Gauge& differing_options = make.gauge("differing_options", "Options with different values in workers of the store.");
  SeriesByLabel<Gauge> lanes = make.gauges("lanes", "Lanes of this process.", "state", {"busy", "free"});
  prometheus::Family<Counter>& loop_cpu =
      make.counter_family("loop_cpu_seconds_total", "CPU time of each event loop that fetches.");
  Gauge& store_connections = make.gauge("store_connections", "Connections to Redis for look-ups and commits.");
  Counter& store_busy = make.counter("store_busy_seconds_total", "Total busy time of these connections.");
  Gauge& inflight = make.gauge("inflight_bytes", "Bytes reserved for documents in memory.");
  Gauge& unacknowledged = make.gauge("unacknowledged_bytes", "Bytes in commits that Redis has not answered.");
  Gauge& memory_budget = make.gauge("memory_budget_bytes", "Memory budget for documents.");
  Gauge& stream_records = make.gauge("stream_records", "Records in the signal stream.");
  Gauge& stream_limit =
      make.gauge("stream_limit_records", "Length at which the stream is trimmed even if consumers lag.");
  Gauge& requests_waiting = make.gauge("requests_waiting", "Pending requests of programs.");
  Gauge& requests_set_aside =
      make.gauge("requests_set_aside", "Requests in state:requests:poison, 100 at most; delete that key to reset it.");
  Gauge& requests_bytes = make.gauge("requests_bytes", "Redis memory of pending requests.");
  GaugesByName lag_records{make.family(
      "delivery_lag_records", "Events a consumer group has not acknowledged; the 20 groups with the largest lag.")};
  GaugesByName lag_seconds{make.family("delivery_lag_seconds", "Age of the oldest unacknowledged event.")};
  Gauge& clock_offset =
      make.gauge("clock_offset_seconds", "This machine's clock minus Redis' clock, which determines due times.");
  SeriesByLabel<Gauge> subscriptions =
      make.gauges("websub_subscriptions", "Feeds subscribed to at hubs, by state.", "state",
                  {"pending", "unproven", "healthy", "doubtful", "failed", "denied"});
  Gauge& ready = make.gauge("ready", "1 while /readyz reports ready.");
  Gauge& draining = make.gauge("draining", "1 while stopping.");
  Gauge& redis_up = make.gauge("redis_up", "1 while Redis answers.");
  SeriesByLabel<Gauge> redis_trouble =
      make.gauges("redis_trouble", "1 for each condition that keeps Redis from serving, by kind.", "kind",
                  {"connection", "timeout", "loading", "oom", "misconf", "readonly", "moved", "auth", "tls", "script",
                   "unsupported", "other"});
  Gauge& oldest_success = make.gauge("oldest_success_age_seconds",
                                     "Time since the last success of the healthy feed with the oldest success.");
  Gauge& last_commit = make.gauge("last_commit_timestamp_seconds", "Last commit of this worker, unix time.");
};

}  // namespace feedmill
