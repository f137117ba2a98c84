#include "worker/observe/metrics.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include <prometheus/text_serializer.h>
#include <time.h>
#include <unistd.h>

#include "parsers/text/strings.hpp"
#include "worker/base/log.hpp"
#include "worker/observe/metric_series.hpp"

namespace feedmill {
namespace {

using metric_series::find;
using metric_series::SeriesByLabel;
using prometheus::Counter;
using prometheus::Histogram;

/// Metrics of a process that pushes out for all partitions. They exclude stream fullness: the merged stream is trimmed
/// even if a consumer lags, so being full is normal.
constexpr std::array<std::string_view, 7> of_pushing_out = {"feedmill_webhook_requests_total",
                                                            "feedmill_stream_events_total",
                                                            "feedmill_subscribers",
                                                            "feedmill_subscribers_due",
                                                            "feedmill_streams",
                                                            "feedmill_delivery_lag_records",
                                                            "feedmill_delivery_lag_seconds"};

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

/// Does nothing if `value` has no series.
void add(const SeriesByLabel<Counter>& series, std::string_view value, std::uint64_t amount = 1) {
  if (auto* counter = find(series, value); counter != nullptr && amount > 0)
    counter->Increment(static_cast<double>(amount));
}

}  // namespace

Metrics::Metrics(Build build) : build_(std::move(build)), series_(std::make_unique<Series>()) {
  set_store(build_.store);
  StreamFigures unread;  // all series exist from the start; among groups, the delivery group
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
  for (const int status : report.statuses) add(s.responses, response_class(status));
  if (report.unconditional != Unconditional::no)
    s.unconditional[static_cast<std::size_t>(report.unconditional) - 1].second->Increment();
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
  if (report.circuit_opened && !report.storm) add(s.host_backoffs, report.host_cause);
  add(s.connections, "new", report.connections_new);
  add(s.connections, "reused", report.connections_reused);
  add(s.connections, "resumed", report.connections_resumed);
  // A skipped step has no duration.
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
  add(series_->claims, "taken", batch.claims.size());
  for (const ClaimBatch::Deferred& deferred : batch.deferred)
    add(series_->claims, deferred.code == "quarantine" ? "quarantined" : deferred.code);
  add(series_->claims, "quarantined", batch.quarantined.size());
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
  add(series_->delivery_records, "applied", applied);
  add(series_->delivery_records, "repeated", repeated);
  add(series_->delivery_records, "failed", failed);
}
void Metrics::push_out_sent(bool webhook, PushOut result) {
  constexpr std::string_view words[] = {"taken", "failed", "gone", "given_up"};
  add(webhook ? series_->webhook_requests : series_->hub_requests, words[static_cast<std::size_t>(result)]);
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
  add(series_->events, "post_same_as", events);
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
  add(series_->push_turns, state.empty() ? "none" : state);
}
void Metrics::callback_answered(std::chrono::duration<double> took) {
  series_->callback.Observe(took.count());
}
void Metrics::pushed(const Report& report) {
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
  for (const auto& [state, gauge] : series_->feeds) gauge->Set(static_cast<double>(feeds_in(figures.states, state)));
  for (const auto& [state, gauge] : series_->subscriptions)
    gauge->Set(static_cast<double>(feeds_in(figures.push_states, state)));
  series_->due.Set(static_cast<double>(figures.due));
  series_->waiting.Set(static_cast<double>(figures.waiting));
  const std::chrono::duration<double> waiting = figures.now - figures.oldest_due.value_or(figures.now);
  series_->oldest_due.Set(std::max(0.0, waiting.count()));
  series_->claimed.Set(static_cast<double>(figures.claimed));
  const std::chrono::duration<double> unread = figures.now - figures.oldest_success;
  series_->oldest_success.Set(figures.oldest_success.count() == 0 ? 0 : std::max(0.0, unread.count()));
  series_->workers.Set(static_cast<double>(figures.workers));
  series_->differing_options.Set(static_cast<double>(figures.differing.size()));
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
  series_->requests_set_aside.Set(static_cast<double>(figures.set_aside));
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

namespace {

/// A gauge or counter of this process, named as by the standard collectors.
prometheus::MetricFamily process_metric(const std::string& name, const std::string& help, double value, bool counter) {
  prometheus::MetricFamily family;
  family.name = "process_" + name;
  family.help = help;
  family.type = counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  (counter ? metric.counter.value : metric.gauge.value) = value;
  return family;
}

/// Fields of /proc/self/stat after the name, starting with the third (proc(5)).
std::vector<std::string> process_status() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  return {std::istream_iterator<std::string>(rest), {}};
}

/// The machine's boot time in Unix seconds. From the clocks: /proc/stat does not exist under ProcSubset=pid.
double boot_time() {
  const auto seconds = [](clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
  };
  return seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME);
}

}  // namespace

std::vector<prometheus::MetricFamily> process_families() {
  const auto fields = process_status();
  const auto field = [&](std::size_t i) { return i - 3 < fields.size() ? leading_number<double>(fields[i - 3]) : 0; };
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::error_code ignored;
  const auto open = std::distance(std::filesystem::directory_iterator("/proc/self/fd", ignored), {});
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  static const double booted = boot_time();
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {
      process_metric("cpu_seconds_total", "CPU time used, user and system.", (field(14) + field(15)) / ticks, true),
      process_metric("resident_memory_bytes", "Resident memory.", field(24) * page, false),
      process_metric("virtual_memory_bytes", "Virtual memory.", field(23), false),
      process_metric("open_fds", "Open file descriptors.", static_cast<double>(open), false),
      process_metric("max_fds", "Maximum number of open file descriptors.", static_cast<double>(limit.rlim_cur), false),
      process_metric("start_time_seconds", "Start of the process, unix time.", booted + field(22) / ticks, false)};
}

}  // namespace feedmill
