#include "worker/observe/metrics.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "worker/base/log.hpp"
#include "worker/observe/process_metrics.hpp"

namespace feedmill {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

const Buckets network_buckets{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
const Buckets computing_buckets{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1};
const Buckets lateness_buckets{1, 2, 5, 10, 30, 60, 120, 300, 900, 3600, 21600};
const Buckets freshness_buckets{60, 300, 900, 1800, 3600, 7200, 21600, 43200, 86400, 259200};
const Buckets body_buckets{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};

/// What is told of who pushes out for all partitions together. Its stream is trimmed whoever lags, so that it is full
/// is nothing to tell.
constexpr std::array<std::string_view, 7> of_pushing_out = {"feedmill_webhook_requests_total",
                                                            "feedmill_stream_events_total",
                                                            "feedmill_subscribers",
                                                            "feedmill_subscribers_due",
                                                            "feedmill_streams",
                                                            "feedmill_delivery_lag_records",
                                                            "feedmill_delivery_lag_seconds"};

template <class Metric>
using SeriesByLabel = std::vector<std::pair<std::string_view, Metric*>>;

/// One per value of a label; few, so looking one up is a walk.
template <class Metric>
Metric* find(const SeriesByLabel<Metric>& series, std::string_view value) {
  const auto found = std::ranges::find(series, value, [](const auto& one) { return one.first; });
  return found == series.end() ? nullptr : found->second;
}

/// Makes series of one registry; names without the leading "feedmill_".
class Maker {
 public:
  explicit Maker(prometheus::Registry& registry) : registry_(registry) {}

  Counter& counter(const std::string& name, const std::string& help) {
    return prometheus::BuildCounter().Name("feedmill_" + name).Help(help).Register(registry_).Add({});
  }
  SeriesByLabel<Counter> counters(const std::string& name, const std::string& help, const std::string& label,
                                  std::initializer_list<std::string_view> values) {
    auto& family = prometheus::BuildCounter().Name("feedmill_" + name).Help(help).Register(registry_);
    SeriesByLabel<Counter> series;
    for (const auto value : values) series.emplace_back(value, &family.Add({{label, std::string(value)}}));
    return series;
  }
  /// Indexed by the enum's values, from `first` on.
  template <class Enum>
  std::vector<Counter*> counters(const std::string& name, const std::string& help, const std::string& label,
                                 std::size_t first, Enum last) {
    auto& family = prometheus::BuildCounter().Name("feedmill_" + name).Help(help).Register(registry_);
    std::vector<Counter*> series(first, nullptr);
    for (std::size_t i = first; i <= static_cast<std::size_t>(last); ++i)
      series.push_back(&family.Add({{label, std::string(to_string(static_cast<Enum>(i)))}}));
    return series;
  }
  Gauge& gauge(const std::string& name, const std::string& help) {
    return prometheus::BuildGauge().Name("feedmill_" + name).Help(help).Register(registry_).Add({});
  }
  SeriesByLabel<Gauge> gauges(const std::string& name, const std::string& help, const std::string& label,
                              std::initializer_list<std::string_view> values) {
    auto& family = prometheus::BuildGauge().Name("feedmill_" + name).Help(help).Register(registry_);
    SeriesByLabel<Gauge> series;
    for (const auto value : values) series.emplace_back(value, &family.Add({{label, std::string(value)}}));
    return series;
  }
  Histogram& histogram(const std::string& name, const std::string& help, const Buckets& buckets) {
    return prometheus::BuildHistogram().Name("feedmill_" + name).Help(help).Register(registry_).Add({}, buckets);
  }
  prometheus::Family<Counter>& counter_family(const std::string& name, const std::string& help) {
    return prometheus::BuildCounter().Name("feedmill_" + name).Help(help).Register(registry_);
  }
  prometheus::Family<Gauge>& family(const std::string& name, const std::string& help) {
    return prometheus::BuildGauge().Name("feedmill_" + name).Help(help).Register(registry_);
  }

 private:
  prometheus::Registry& registry_;
};

/// Series whose names others choose, as consumer groups': those that there are now, and no more.
class GaugesByName {
 public:
  explicit GaugesByName(prometheus::Family<Gauge>& family) : family_(family) {}

  void set(const std::string& label, const std::vector<std::pair<std::string, double>>& values) {
    std::map<std::string, Gauge*> now;
    for (const auto& [name, value] : values) {
      const auto [place, is_new] = now.try_emplace(name, nullptr);
      if (is_new) place->second = &family_.Add({{label, name}});  // the same again when it is there
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

constexpr std::size_t most_groups = 20, longest_group = 100;

std::string_view response_class(int status) {
  if (status == 304 || status == 429) return status == 304 ? "304" : "429";
  constexpr std::string_view classes[] = {"2xx", "3xx", "4xx", "5xx"};
  return status >= 200 && status < 600 ? classes[static_cast<std::size_t>(status / 100 - 2)] : "";
}

std::string_view error_kind(StoreError::Code code) {
  switch (code) {
    case StoreError::Code::unavailable:
      return "connection";
    case StoreError::Code::timeout:
      return "timeout";
    case StoreError::Code::loading:
      return "loading";
    case StoreError::Code::out_of_memory:
      return "oom";
    case StoreError::Code::misconfigured:
      return "misconf";
    case StoreError::Code::read_only:
      return "readonly";
    case StoreError::Code::auth:
      return "auth";
    case StoreError::Code::tls:
      return "tls";
    case StoreError::Code::refused:
      return "script";
    case StoreError::Code::unsupported:
      return "unsupported";
    case StoreError::Code::bug:
      break;
  }
  return "other";
}

}  // namespace

struct Metrics::Series {
  prometheus::Registry registry;
  Maker make{registry};

  prometheus::Family<Gauge>& build_info = make.family("build_info", "Versions; always 1.");
  Gauge* build = nullptr;

  std::vector<Counter*> refreshes =
      make.counters("refreshes_total", "Refreshes ended, by outcome.", "outcome", 0, Outcome::aborted);
  std::vector<Counter*> failures = make.counters("failures_total", "Failed refreshes, by reason.", "reason",
                                                 static_cast<std::size_t>(Reason::none) + 1, Reason::worker_bug);
  SeriesByLabel<Counter> responses = make.counters("responses_total", "Answers of origins, each hop, by status class.",
                                                   "class", {"2xx", "304", "3xx", "4xx", "429", "5xx"});
  SeriesByLabel<Counter> unconditional =
      make.counters("unconditional_requests_total", "Requests without validators, by cause.", "cause",
                    {"first", "no_validators", "target_changed", "probe"});
  Counter& early_polls = make.counter("early_polls_total", "Polls before the floor; must stay 0.");
  SeriesByLabel<Counter> received =
      make.counters("received_bytes_total", "Body bytes received, as sent and decoded.", "kind", {"wire", "decoded"});
  SeriesByLabel<Counter> saved = make.counters("saved_bytes_total", "Body bytes saved against the last full body.",
                                               "by", {"not_modified", "hash", "compression"});
  SeriesByLabel<Counter> entries = make.counters("entries_total", "Entries seen, by what became of them.", "action",
                                                 {"created", "modified", "unchanged", "trimmed", "deleted"});
  std::vector<Counter*> flaws = make.counters(
      "parse_flaws_total", "Flaws of documents; all but loop are repaired and not dropped.", "kind", 0, Flaw::other);
  SeriesByLabel<Counter> events = make.counters(
      "signals_total", "Signals written to the stream, by type.", "type",
      {"feed_created", "feed_modified", "post_created", "post_modified", "post_deleted", "feed_moved", "feed_failing",
       "feed_recovered", "feed_gone", "feed_rekeyed", "feed_gap", "feed_mended", "post_same_as"});
  SeriesByLabel<Counter> redirects = make.counters("redirects_total", "Redirects followed, and feeds moved for good.",
                                                   "kind", {"permanent", "temporary", "moved"});
  SeriesByLabel<Counter> blocked = make.counters("egress_blocked_total", "Connections refused by the egress policy.",
                                                 "kind", {"address", "port", "scheme", "proxy"});
  SeriesByLabel<Counter> claims = make.counters("claims_total", "Due feeds looked at, by what became of them.",
                                                "result", {"taken", "host_spacing", "host_backoff", "quarantined"});
  SeriesByLabel<Counter> commits =
      make.counters("commits_total", "Commits, by result.", "result", {"ok", "dup", "stale", "refused", "error"});
  SeriesByLabel<Counter> connections =
      make.counters("connections_total", "Connections used for requests.", "kind", {"new", "reused", "resumed"});
  SeriesByLabel<Counter> redis_errors = make.counters("redis_errors_total", "Redis calls that failed, by kind.", "kind",
                                                      {"connection", "timeout", "loading", "oom", "misconf", "readonly",
                                                       "moved", "auth", "tls", "script", "unsupported", "other"});
  SeriesByLabel<Counter> host_backoffs = make.counters("host_backoffs_total", "Back-offs widened to a host, by cause.",
                                                       "cause", {"rate_limited", "unavailable", "forbidden"});
  SeriesByLabel<Counter> lookups = make.counters("dns_lookups_total", "Look-ups of names, by what became of them.",
                                                 "result", {"cached", "ok", "not_found", "timeout", "failed"});
  SeriesByLabel<Counter> webhook_requests =
      make.counters("webhook_requests_total", "Requests to webhooks, by what became of them.", "result",
                    {"taken", "failed", "gone", "given_up"});
  SeriesByLabel<Counter> hub_requests =
      make.counters("hub_deliveries_total", "Deliveries to subscribers of the hub, by what became of them.", "result",
                    {"taken", "failed", "gone", "given_up"});
  SeriesByLabel<Counter> hub_verifications =
      make.counters("hub_verifications_total", "Subscribers of the hub that were asked whether they meant it.",
                    "result", {"accepted", "refused"});
  Counter& streamed = make.counter("stream_events_total", "Events of the live stream, to each client.");
  SeriesByLabel<Gauge> subscribers =
      make.gauges("subscribers", "Webhooks and subscribers of the hub in the store, by state.", "state",
                  {"webhook_active", "webhook_suspended", "hub_pending", "hub_active"});
  Gauge& subscribers_due = make.gauge("subscribers_due", "Of these, those for whom something waits.");
  Gauge& streams = make.gauge("streams", "Clients that follow the live stream.");
  Counter& quarantines = make.counter(
      "quarantines_total", "Feeds quarantined: workers died of them, or they cannot be read in bounded time.");
  Counter& reconnects = make.counter("redis_reconnects_total", "Connections to Redis made anew.");
  SeriesByLabel<Counter> delivery_records =
      make.counters("delivery_records_total", "Signals that went through delivery, by what became of them.", "result",
                    {"applied", "repeated", "failed"});
  SeriesByLabel<Counter> push_deliveries =
      make.counters("websub_deliveries_total", "Pushes, by what became of them.", "result",
                    {"fat", "thin", "bad_signature", "unknown", "limited"});
  SeriesByLabel<Counter> push_verifications =
      make.counters("websub_verifications_total", "Questions of hubs whether something was meant.", "result",
                    {"accepted", "refused"});
  SeriesByLabel<Counter> push_turns =
      make.counters("websub_turns_total", "Subscriptions that came into a state; none: they ended.", "state",
                    {"pending", "unproven", "healthy", "doubtful", "failed", "denied", "none"});
  SeriesByLabel<Counter> push_first =
      make.counters("websub_first_total", "Who found new entries where pushes are to be had.", "by", {"push", "poll"});
  Counter& requests_answered = make.counter("requests_answered_total", "Requests of programs that were answered.");
  Counter& bugs = make.counter("bugs_total", "Exceptions that reached a lane.");
  Counter& log_suppressed = make.counter("log_suppressed_total", "Log lines left out.");

  Histogram& refresh = make.histogram("refresh_duration_seconds", "A refresh from claim to commit.", network_buckets);
  Histogram& lookup =
      make.histogram("dns_duration_seconds", "A look-up that the cache did not answer.", network_buckets);
  Histogram& connect =
      make.histogram("connect_duration_seconds", "Connecting to an origin, TLS included.", network_buckets);
  Histogram& first_byte =
      make.histogram("first_byte_duration_seconds", "From the request to the first byte.", network_buckets);
  Histogram& callback =
      make.histogram("callback_duration_seconds", "From a callback's header to our answer.", network_buckets);
  Histogram& parse = make.histogram("parse_duration_seconds", "Reading a document.", computing_buckets);
  Histogram& claim = make.histogram("claim_duration_seconds", "A claim call.", computing_buckets);
  Histogram& commit = make.histogram("commit_duration_seconds", "A commit.", computing_buckets);
  Histogram& lateness = make.histogram("schedule_lateness_seconds", "Claim time minus due time.", lateness_buckets);
  Histogram& publish_delay = make.histogram(
      "publish_delay_seconds", "Stored minus published; dated entries, first import excluded.", freshness_buckets);
  Histogram& body = make.histogram("body_bytes", "Decoded size of documents.", body_buckets);

  SeriesByLabel<Gauge> feeds =
      make.gauges("feeds", "Feeds, by state.", "state",
                  {"new", "never_read", "healthy", "degraded", "failing", "blocked", "gone", "quarantined", "paused"});
  Gauge& due = make.gauge("due_feeds", "Feeds that are due.");
  Gauge& oldest_due = make.gauge("oldest_due_seconds", "How long the feed that waits longest has been due.");
  Gauge& waiting = make.gauge("waiting_feeds", "Feeds that are due and in line for their hosts.");
  Gauge& claimed = make.gauge("claimed_feeds", "Feeds being refreshed by any worker.");
  Gauge& backing_off = make.gauge("hosts_backing_off", "Hosts that are left alone after they refused.");
  Gauge& workers = make.gauge("workers_alive", "Workers with a heartbeat.");
  SeriesByLabel<Gauge> lanes = make.gauges("lanes", "Lanes of this process.", "state", {"busy", "free"});
  prometheus::Family<Counter>& loop_cpu =
      make.counter_family("loop_cpu_seconds_total", "CPU time of each event loop that fetches.");
  Gauge& store_connections = make.gauge("store_connections", "Connections to Redis for look-ups and commits.");
  Counter& store_busy = make.counter("store_busy_seconds_total", "How long these were busy, all of them together.");
  Gauge& inflight = make.gauge("inflight_bytes", "Bytes reserved for documents in memory.");
  Gauge& unacknowledged = make.gauge("unacknowledged_bytes", "Sent in commits that Redis has not answered.");
  Gauge& memory_budget = make.gauge("memory_budget_bytes", "What documents in memory may take.");
  Gauge& stream_records = make.gauge("stream_records", "Records in the signal stream.");
  Gauge& stream_limit = make.gauge("stream_limit_records", "Where the stream is trimmed whoever lags.");
  Gauge& requests_waiting = make.gauge("requests_waiting", "Requests of programs that are not answered yet.");
  Gauge& requests_bytes = make.gauge("requests_bytes", "What they take in Redis.");
  GaugesByName lag_records{make.family("delivery_lag_records",
                                       "Events that a consumer group has not acknowledged; the 20 furthest behind.")};
  GaugesByName lag_seconds{make.family("delivery_lag_seconds", "Age of the oldest of them.")};
  Gauge& clock_offset =
      make.gauge("clock_offset_seconds", "This machine's clock minus the one of Redis, which due times go by.");
  SeriesByLabel<Gauge> subscriptions =
      make.gauges("websub_subscriptions", "Feeds subscribed to at hubs, by state.", "state",
                  {"pending", "unproven", "healthy", "doubtful", "failed", "denied"});
  Gauge& ready = make.gauge("ready", "1 while /readyz says so.");
  Gauge& draining = make.gauge("draining", "1 while stopping.");
  Gauge& redis_up = make.gauge("redis_up", "1 while Redis answers.");
  SeriesByLabel<Gauge> redis_trouble =
      make.gauges("redis_trouble", "1 for what keeps Redis from serving, by kind.", "kind",
                  {"connection", "timeout", "loading", "oom", "misconf", "readonly", "moved", "auth", "tls", "script",
                   "unsupported", "other"});
  Gauge& oldest_success =
      make.gauge("oldest_success_age_seconds", "Since the last success of the healthy feed that had none for longest.");
  Gauge& last_commit = make.gauge("last_commit_timestamp_seconds", "Last commit of this worker, unix time.");
};

Metrics::Metrics(Build build) : build_(std::move(build)), series_(std::make_unique<Series>()) {
  set_store(build_.store);
  StreamFigures unread;  // every series is there from the start: of groups the deliverers' own
  unread.groups = {{"delivery", 0, {}}};
  set_stream(unread);
  set_loops({std::chrono::nanoseconds(0)});
}

Metrics::~Metrics() = default;

void Metrics::record(const Report& report) {
  Series& s = *series_;
  s.refreshes[static_cast<std::size_t>(report.outcome)]->Increment();
  if (report.outcome == Outcome::failed && report.reason != Reason::none)
    s.failures[static_cast<std::size_t>(report.reason)]->Increment();
  if (report.state_to == "quarantined" && report.state_from != report.state_to) s.quarantines.Increment();
  if (report.reason == Reason::egress_blocked) find(s.blocked, "address")->Increment();
  if (report.reason == Reason::egress_port) find(s.blocked, "port")->Increment();
  for (const int status : report.statuses)
    if (auto* responses = find(s.responses, response_class(status))) responses->Increment();
  if (report.unconditional != Unconditional::no)
    s.unconditional[static_cast<std::size_t>(report.unconditional) - 1].second->Increment();
  const auto add = [](const SeriesByLabel<Counter>& series, std::string_view value, std::uint64_t amount) {
    if (auto* counter = find(series, value); counter != nullptr && amount > 0)
      counter->Increment(static_cast<double>(amount));
  };
  add(s.received, "wire", report.wire_bytes);
  add(s.received, "decoded", report.body_bytes);
  add(s.saved, "not_modified", report.saved_not_modified);
  add(s.saved, "hash", report.saved_hash);
  add(s.saved, "compression", report.saved_compression);
  add(s.entries, "created", report.created);
  add(s.entries, "modified", report.modified);
  add(s.entries, "unchanged", report.unchanged);
  add(s.entries, "trimmed", report.trimmed);
  for (const auto& [flaw, count] : report.flaws) s.flaws[static_cast<std::size_t>(flaw)]->Increment(count);
  for (const auto& [type, count] : report.events) add(s.events, type, count);
  add(s.redirects, "permanent", report.permanent_redirects);
  add(s.redirects, "temporary", report.temporary_redirects);
  add(s.redirects, "moved", report.moved ? 1 : 0);
  if (report.pushed_first) find(s.push_first, "push")->Increment();
  if (report.poll_first) find(s.push_first, "poll")->Increment();
  if (report.early) s.early_polls.Increment();
  if (report.circuit_opened && !report.storm) add(s.host_backoffs, report.host_cause, 1);
  add(s.connections, "new", report.connections_new);
  add(s.connections, "reused", report.connections_reused);
  add(s.connections, "resumed", report.connections_resumed);
  // A step that was not taken has no duration.
  const auto observe = [](Histogram& histogram, std::chrono::duration<double> span) {
    if (span.count() > 0) histogram.Observe(span.count());
  };
  observe(s.refresh, report.took);
  observe(s.connect, report.connect);
  observe(s.first_byte, report.first_byte);
  observe(s.parse, report.parse);
  observe(s.commit, report.commit);
  s.lateness.Observe(std::max(0.0, report.lateness.count()));
  for (const double delay : report.publish_delays) s.publish_delay.Observe(delay);
  if (report.body_bytes > 0) s.body.Observe(static_cast<double>(report.body_bytes));
}

void Metrics::claimed(const ClaimBatch& batch, std::chrono::duration<double> took) {
  find(series_->claims, "taken")->Increment(static_cast<double>(batch.claims.size()));
  for (const ClaimBatch::Deferred& deferred : batch.deferred) {
    if (auto* put_off = find(series_->claims, deferred.code == "quarantine" ? "quarantined" : deferred.code))
      put_off->Increment();
  }
  find(series_->claims, "quarantined")->Increment(static_cast<double>(batch.quarantined.size()));
  series_->quarantines.Increment(static_cast<double>(batch.quarantined.size()));
  series_->claim.Observe(took.count());
}

void Metrics::committed(const StoreResult<Committed>& result) {
  if (!result) {
    find(series_->commits, result.error().code == StoreError::Code::refused ? "refused" : "error")->Increment();
    store_error(result.error());
    return;
  }
  constexpr std::string_view names[] = {"ok", "dup", "stale"};
  find(series_->commits, names[static_cast<std::size_t>(result->result)])->Increment();
  if (result->result == Committed::Result::ok) series_->last_commit.SetToCurrentTime();
}

void Metrics::store_error(const StoreError& error) {
  find(series_->redis_errors, error_kind(error.code))->Increment();
}
void Metrics::reconnected(std::uint64_t times) {
  series_->reconnects.Increment(static_cast<double>(times));
}
void Metrics::delivered(std::uint64_t applied, std::uint64_t repeated, std::uint64_t failed) {
  const auto add = [this](std::string_view result, std::uint64_t records) {
    find(series_->delivery_records, result)->Increment(static_cast<double>(records));
  };
  add("applied", applied);
  add("repeated", repeated);
  add("failed", failed);
}
void Metrics::push_out_sent(bool webhook, PushOut result) {
  constexpr std::string_view words[] = {"taken", "failed", "gone", "given_up"};
  find(webhook ? series_->webhook_requests : series_->hub_requests, words[static_cast<std::size_t>(result)])
      ->Increment();
}

void Metrics::push_out_verified(bool accepted) {
  find(series_->hub_verifications, accepted ? "accepted" : "refused")->Increment();
}

void Metrics::push_out_streamed(std::uint64_t events) {
  series_->streamed.Increment(static_cast<double>(events));
}

void Metrics::set_subscribers(const SubscriberCounts& counts) {
  find(series_->subscribers, "webhook_active")->Set(static_cast<double>(counts.webhooks_active));
  find(series_->subscribers, "webhook_suspended")->Set(static_cast<double>(counts.webhooks_suspended));
  find(series_->subscribers, "hub_pending")->Set(static_cast<double>(counts.hub_pending));
  find(series_->subscribers, "hub_active")->Set(static_cast<double>(counts.hub_active));
  series_->subscribers_due.Set(static_cast<double>(counts.due.value_or(0)));
}

void Metrics::set_streams(std::size_t open) {
  series_->streams.Set(static_cast<double>(open));
}

void Metrics::told_same_as(std::uint64_t events) {
  find(series_->events, "post_same_as")->Increment(static_cast<double>(events));
}
void Metrics::answered_requests(std::uint64_t requests) {
  series_->requests_answered.Increment(static_cast<double>(requests));
}
void Metrics::looked_up(Lookup became, std::chrono::duration<double> took) {
  constexpr std::string_view names[] = {"cached", "ok", "not_found", "timeout", "failed"};
  find(series_->lookups, names[static_cast<std::size_t>(became)])->Increment();
  if (became != Lookup::cached) series_->lookup.Observe(took.count());
}
void Metrics::push_delivery(Delivery delivery) {
  series_->push_deliveries[static_cast<std::size_t>(delivery)].second->Increment();
}
void Metrics::push_verification(bool accepted) {
  series_->push_verifications[accepted ? 0 : 1].second->Increment();
}
void Metrics::push_turned(std::string_view state) {
  if (auto* turns = find(series_->push_turns, state.empty() ? "none" : state)) turns->Increment();
}
void Metrics::callback_answered(std::chrono::duration<double> took) {
  series_->callback.Observe(took.count());
}
void Metrics::pushed(const Report& report) {
  const auto add = [](const SeriesByLabel<Counter>& series, std::string_view value, std::uint32_t amount) {
    if (amount > 0) find(series, value)->Increment(amount);
  };
  add(series_->entries, "created", report.created);
  add(series_->entries, "modified", report.modified);
  add(series_->entries, "trimmed", report.trimmed);
  add(series_->events, "post_created", report.created);
  add(series_->events, "post_modified", report.modified);
  for (const double delay : report.publish_delays) series_->publish_delay.Observe(delay);
  if (report.pushed_first) find(series_->push_first, "push")->Increment();
}
void Metrics::bug() {
  series_->bugs.Increment();
}

void Metrics::set_fleet(const FleetFigures& figures) {
  for (const auto& [state, gauge] : series_->feeds) {
    const auto found =
        std::ranges::find(figures.states, state, [](const auto& one) { return std::string_view(one.first); });
    gauge->Set(found == figures.states.end() ? 0 : static_cast<double>(found->second));
  }
  for (const auto& [state, gauge] : series_->subscriptions) {
    const auto found =
        std::ranges::find(figures.push_states, state, [](const auto& one) { return std::string_view(one.first); });
    gauge->Set(found == figures.push_states.end() ? 0 : static_cast<double>(found->second));
  }
  series_->due.Set(static_cast<double>(figures.due));
  series_->waiting.Set(static_cast<double>(figures.waiting));
  const std::chrono::duration<double> waiting = figures.now - figures.oldest_due.value_or(figures.now);
  series_->oldest_due.Set(std::max(0.0, waiting.count()));
  series_->claimed.Set(static_cast<double>(figures.claimed));
  const std::chrono::duration<double> unread = figures.now - figures.oldest_success;
  series_->oldest_success.Set(figures.oldest_success.count() == 0 ? 0 : std::max(0.0, unread.count()));
  series_->workers.Set(static_cast<double>(figures.workers));
  series_->backing_off.Set(static_cast<double>(figures.open_circuits));
  series_->stream_records.Set(static_cast<double>(figures.stream_records));
}

void Metrics::set_stream(const StreamFigures& figures) {
  series_->stream_records.Set(static_cast<double>(figures.records));
  series_->stream_limit.Set(static_cast<double>(figures.hard_limit));
  std::vector<std::pair<std::string, double>> records, seconds;
  std::vector<StreamFigures::Group> groups = figures.groups;
  std::ranges::stable_sort(groups, std::greater(), &StreamFigures::Group::lag);
  if (groups.size() > most_groups) groups.resize(most_groups);
  for (const StreamFigures::Group& group : groups) {
    const std::string name = clean(group.name.substr(0, longest_group));
    const std::chrono::duration<double> behind = group.oldest ? figures.now - *group.oldest : Milliseconds(0);
    records.emplace_back(name, static_cast<double>(group.lag));
    seconds.emplace_back(name, behind.count());
  }
  series_->lag_records.set("group", records);
  series_->lag_seconds.set("group", seconds);
}

void Metrics::set_requests(const RequestFigures& figures) {
  series_->requests_waiting.Set(static_cast<double>(figures.waiting));
  series_->requests_bytes.Set(static_cast<double>(figures.bytes));
}

void Metrics::set_clock_offset(std::chrono::duration<double> offset) {
  series_->clock_offset.Set(offset.count());
}

void Metrics::set_lanes(std::size_t busy, std::size_t free) {
  find(series_->lanes, "busy")->Set(static_cast<double>(busy));
  find(series_->lanes, "free")->Set(static_cast<double>(free));
}

namespace {

void raise(Counter& counter, double total) {
  if (const double more = total - counter.Value(); more > 0) counter.Increment(more);
}

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void Metrics::set_loops(const std::vector<std::chrono::nanoseconds>& cpu) {
  for (std::size_t i = 0; i < cpu.size(); ++i)
    raise(series_->loop_cpu.Add({{"loop", std::to_string(i + 1)}}), seconds_of(cpu[i]));
}

void Metrics::set_store_connections(std::size_t count, std::chrono::nanoseconds busy) {
  series_->store_connections.Set(static_cast<double>(count));
  raise(series_->store_busy, seconds_of(busy));
}

void Metrics::set_inflight_bytes(std::uint64_t bytes) {
  series_->inflight.Set(static_cast<double>(bytes));
}
void Metrics::set_unacknowledged_bytes(std::uint64_t bytes) {
  series_->unacknowledged.Set(static_cast<double>(bytes));
}
void Metrics::set_memory_budget(std::uint64_t bytes) {
  series_->memory_budget.Set(static_cast<double>(bytes));
}
void Metrics::set_ready(bool ready) {
  series_->ready.Set(ready ? 1 : 0);
}
void Metrics::set_draining(bool draining) {
  series_->draining.Set(draining ? 1 : 0);
}
void Metrics::set_redis_up(bool up) {
  series_->redis_up.Set(up ? 1 : 0);
}

void Metrics::set_redis_trouble(const std::optional<StoreError>& error) {
  const std::string_view now = error ? error_kind(error->code) : std::string_view();
  for (const auto& [kind, gauge] : series_->redis_trouble) gauge->Set(kind == now ? 1 : 0);
}

void Metrics::set_log_suppressed(std::uint64_t total) {
  raise(series_->log_suppressed, static_cast<double>(total));
}

void Metrics::set_store(const std::string& server) {
  if (series_->build != nullptr) series_->build_info.Remove(series_->build);
  build_.store = server;
  series_->build = &series_->build_info.Add(
      {{"version", build_.version}, {"libcurl", build_.libcurl}, {"store", build_.store}}, 1.0);
}

std::string Metrics::text() const {
  const Metrics* const only = this;
  return text_of(std::span(&only, 1));
}

std::string Metrics::text_of(std::span<const Metrics* const> all, const Metrics* together) {
  std::vector<prometheus::MetricFamily> families;
  std::map<std::string, std::size_t> places;
  const auto add = [&](const Metrics& one, const std::string& partition) {
    for (prometheus::MetricFamily& family : one.series_->registry.Collect()) {
      if (&one == together && std::ranges::find(of_pushing_out, family.name) == of_pushing_out.end()) continue;
      if (!partition.empty()) {
        for (prometheus::ClientMetric& metric : family.metric) metric.label.push_back({"partition", partition});
      }
      const auto [place, is_new] = places.try_emplace(family.name, families.size());
      if (is_new) {
        families.push_back(std::move(family));
        continue;
      }
      auto& known = families[place->second].metric;
      known.insert(known.end(), std::make_move_iterator(family.metric.begin()),
                   std::make_move_iterator(family.metric.end()));
    }
  };
  for (std::size_t i = 0; i < all.size(); ++i) add(*all[i], all.size() > 1 ? std::to_string(i) : "");
  if (together != nullptr) add(*together, "all");
  for (prometheus::MetricFamily& family : process_families()) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace feedmill
