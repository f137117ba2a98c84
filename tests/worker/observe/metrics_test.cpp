#include "worker/observe/metrics.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace feedmill::metrics_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// "name{labels}" → value
std::map<std::string, double> samples(const Metrics& metrics) {
  std::map<std::string, double> found;
  std::istringstream lines(metrics.text());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#") && !line.empty())
      found[line.substr(0, line.rfind(' '))] = std::stod(line.substr(line.rfind(' ')));
  }
  return found;
}

const Metrics::Build build{"0.1.0", "8.1.0", ""};

TEST(Metrics, HasTheNamesOfTheManualAndNoOthers) {
  const std::set<std::string> expected{"feedmill_build_info",
                                       "feedmill_refreshes_total",
                                       "feedmill_failures_total",
                                       "feedmill_responses_total",
                                       "feedmill_unconditional_requests_total",
                                       "feedmill_early_polls_total",
                                       "feedmill_received_bytes_total",
                                       "feedmill_saved_bytes_total",
                                       "feedmill_entries_total",
                                       "feedmill_parse_flaws_total",
                                       "feedmill_signals_total",
                                       "feedmill_redirects_total",
                                       "feedmill_egress_blocked_total",
                                       "feedmill_claims_total",
                                       "feedmill_commits_total",
                                       "feedmill_connections_total",
                                       "feedmill_redis_errors_total",
                                       "feedmill_host_backoffs_total",
                                       "feedmill_dns_lookups_total",
                                       "feedmill_dns_duration_seconds",
                                       "feedmill_hosts_backing_off",
                                       "feedmill_unacknowledged_bytes",
                                       "feedmill_oldest_success_age_seconds",
                                       "feedmill_quarantines_total",
                                       "feedmill_redis_reconnects_total",
                                       "feedmill_delivery_records_total",
                                       "feedmill_stream_limit_records",
                                       "feedmill_delivery_lag_records",
                                       "feedmill_delivery_lag_seconds",
                                       "feedmill_clock_offset_seconds",
                                       "feedmill_bugs_total",
                                       "feedmill_log_suppressed_total",
                                       "feedmill_refresh_duration_seconds",
                                       "feedmill_connect_duration_seconds",
                                       "feedmill_first_byte_duration_seconds",
                                       "feedmill_parse_duration_seconds",
                                       "feedmill_claim_duration_seconds",
                                       "feedmill_commit_duration_seconds",
                                       "feedmill_schedule_lateness_seconds",
                                       "feedmill_publish_delay_seconds",
                                       "feedmill_body_bytes",
                                       "feedmill_feeds",
                                       "feedmill_due_feeds",
                                       "feedmill_oldest_due_seconds",
                                       "feedmill_waiting_feeds",
                                       "feedmill_claimed_feeds",
                                       "feedmill_workers_alive",
                                       "feedmill_differing_options",
                                       "feedmill_lanes",
                                       "feedmill_loop_cpu_seconds_total",
                                       "feedmill_store_busy_seconds_total",
                                       "feedmill_store_connections",
                                       "feedmill_inflight_bytes",
                                       "feedmill_memory_budget_bytes",
                                       "feedmill_stream_records",
                                       "feedmill_requests_answered_total",
                                       "feedmill_requests_bytes",
                                       "feedmill_requests_set_aside",
                                       "feedmill_requests_waiting",
                                       "feedmill_callback_duration_seconds",
                                       "feedmill_websub_deliveries_total",
                                       "feedmill_websub_first_total",
                                       "feedmill_websub_subscriptions",
                                       "feedmill_websub_turns_total",
                                       "feedmill_websub_verifications_total",
                                       "feedmill_webhook_requests_total",
                                       "feedmill_hub_deliveries_total",
                                       "feedmill_hub_verifications_total",
                                       "feedmill_subscribers",
                                       "feedmill_subscribers_due",
                                       "feedmill_streams",
                                       "feedmill_stream_events_total",
                                       "feedmill_ready",
                                       "feedmill_draining",
                                       "feedmill_redis_trouble",
                                       "feedmill_redis_up",
                                       "feedmill_last_commit_timestamp_seconds",
                                       "process_cpu_seconds_total",
                                       "process_resident_memory_bytes",
                                       "process_virtual_memory_bytes",
                                       "process_open_fds",
                                       "process_max_fds",
                                       "process_start_time_seconds"};
  std::set<std::string> names;
  Metrics metrics(build);
  StreamFigures figures;
  figures.groups = {{"delivery", 0, {}}};
  metrics.set_stream(figures);
  std::istringstream lines(metrics.text());
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("# TYPE ")) names.insert(line.substr(7, line.find(' ', 7) - 7));
  EXPECT_EQ(names, expected);
}

TEST(Metrics, EachGroupHasItsLagOfDelivery) {
  Metrics metrics(build);
  StreamFigures figures;
  figures.records = 12;
  figures.hard_limit = 200;
  figures.now = Milliseconds(100'000);
  figures.groups = {{"delivery", 0, {}}, {"slow", 7, Milliseconds(97'500)}, {"other", 9, Milliseconds(99'000)}};
  metrics.set_stream(figures);
  metrics.delivered(5, 2, 1);
  const std::string text = metrics.text();
  for (const char* line :
       {"feedmill_stream_records 12\n", "feedmill_stream_limit_records 200\n",
        "feedmill_delivery_lag_records{group=\"other\"} 9\n", "feedmill_delivery_lag_records{group=\"delivery\"} 0\n",
        "feedmill_delivery_lag_seconds{group=\"slow\"} 2.5\n",
        "feedmill_delivery_records_total{result=\"applied\"} 5\n",
        "feedmill_delivery_records_total{result=\"repeated\"} 2\n",
        "feedmill_delivery_records_total{result=\"failed\"} 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  // Consumers choose the names and the number of groups.
  figures.groups.assign(100, {"", 1, {}});
  for (std::size_t i = 0; i < figures.groups.size(); ++i) figures.groups[i] = {"g\n\"" + std::to_string(i), i, {}};
  metrics.set_stream(figures);
  const auto times = [](const std::string& in, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(times(metrics.text(), "feedmill_delivery_lag_records{"), 20U);
  EXPECT_EQ(times(metrics.text(), "group=\"slow\""), 0U);
}

/// Each family appears once, and its samples name their partition; figures of the process appear once.
TEST(Metrics, OfSeveralSayWhichPartitionTheyAreOf) {
  Metrics first(build), second(build);
  second.bug();
  const std::array<const Metrics*, 2> both{&first, &second};
  std::istringstream lines(Metrics::text_of(both));
  std::map<std::string, int> families;
  std::vector<std::string> bugs;
  std::size_t samples_of_process = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) ++families[line];
    if (line.starts_with("feedmill_bugs_total")) bugs.push_back(line);
    if (line.starts_with("process_resident_memory_bytes ")) ++samples_of_process;
  }
  EXPECT_TRUE(std::ranges::all_of(families, [](const auto& family) { return family.second == 1; }));
  EXPECT_EQ(bugs, (std::vector<std::string>{"feedmill_bugs_total{partition=\"0\"} 0",
                                            "feedmill_bugs_total{partition=\"1\"} 1"}));
  EXPECT_EQ(samples_of_process, 1U);
  EXPECT_EQ(first.text().find("partition="), std::string::npos) << "there is one";
}

TEST(Metrics, StartsWithEverySeriesAtZero) {
  const Metrics metrics(build);
  const auto found = samples(metrics);
  EXPECT_LE(found.size(), 500u);
  for (const auto& [name, value] : found)
    EXPECT_TRUE(value == 0 || name.starts_with("process_") || name.starts_with("feedmill_build_info")) << name;
  EXPECT_EQ(found.at(R"(feedmill_build_info{libcurl="8.1.0",store="",version="0.1.0"})"), 1);
  for (const char* name : {R"(feedmill_refreshes_total{outcome="not_modified"})",
                           R"(feedmill_failures_total{reason="dns.not_found"})",
                           R"(feedmill_failures_total{reason="worker.bug"})",
                           R"(feedmill_responses_total{class="429"})",
                           R"(feedmill_unconditional_requests_total{cause="probe"})",
                           R"(feedmill_received_bytes_total{kind="wire"})",
                           R"(feedmill_saved_bytes_total{by="hash"})",
                           R"(feedmill_entries_total{action="deleted"})",
                           R"(feedmill_parse_flaws_total{kind="namespace"})",
                           R"(feedmill_parse_flaws_total{kind="other"})",
                           R"(feedmill_signals_total{type="feed_gap"})",
                           R"(feedmill_signals_total{type="feed_mended"})",
                           R"(feedmill_signals_total{type="post_same_as"})",
                           R"(feedmill_redirects_total{kind="moved"})",
                           R"(feedmill_egress_blocked_total{kind="proxy"})",
                           R"(feedmill_claims_total{result="quarantined"})",
                           R"(feedmill_commits_total{result="refused"})",
                           R"(feedmill_connections_total{kind="resumed"})",
                           R"(feedmill_redis_errors_total{kind="moved"})",
                           R"(feedmill_feeds{state="paused"})",
                           R"(feedmill_lanes{state="free"})",
                           R"(feedmill_refresh_duration_seconds_bucket{le="0.005"})",
                           R"(feedmill_parse_duration_seconds_bucket{le="0.00025"})",
                           R"(feedmill_schedule_lateness_seconds_bucket{le="21600"})",
                           R"(feedmill_publish_delay_seconds_bucket{le="259200"})",
                           R"(feedmill_body_bytes_bucket{le="16777216"})"})
    EXPECT_TRUE(found.contains(name)) << name;
  EXPECT_GT(found.at("process_open_fds"), 2);
  EXPECT_GT(found.at("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(found.at("process_start_time_seconds"), 1.6e9);
}

TEST(Metrics, HasNoReasonWithoutAName) {
  const Metrics metrics(build);
  const auto found = samples(metrics);
  std::size_t reasons = 0;
  for (const auto& [name, value] : found) reasons += name.starts_with("feedmill_failures_total{");
  EXPECT_EQ(reasons, reason_count - 1);
  EXPECT_FALSE(found.contains(R"(feedmill_failures_total{reason=""})"));
}

TEST(Metrics, CountsWhatARefreshDid) {
  Metrics metrics(build);
  Report report;
  report.outcome = Outcome::updated;
  report.statuses = {301, 302, 200};
  report.permanent_redirects = 1;
  report.temporary_redirects = 1;
  report.moved = true;
  report.unconditional = Unconditional::target_changed;
  report.wire_bytes = 1000;
  report.body_bytes = 5000;
  report.saved_compression = 4000;
  report.connections_new = 2;
  report.connections_reused = 1;
  report.took = 300ms;
  report.connect = 20ms;
  report.first_byte = 30ms;
  report.parse = 2ms;
  report.commit = 400us;
  report.lateness = 3s;
  report.created = 2;
  report.modified = 1;
  report.unchanged = 7;
  report.trimmed = 3;
  report.events = {{"post_created", 2}, {"post_modified", 1}, {"no such type", 9}};
  report.flaws = {{Flaw::date, 4}};
  report.publish_delays = {100, 1000};
  metrics.record(report);
  const auto found = samples(metrics);
  EXPECT_EQ(found.at(R"(feedmill_refreshes_total{outcome="updated"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_responses_total{class="3xx"})"), 2);
  EXPECT_EQ(found.at(R"(feedmill_responses_total{class="2xx"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_unconditional_requests_total{cause="target_changed"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_received_bytes_total{kind="wire"})"), 1000);
  EXPECT_EQ(found.at(R"(feedmill_received_bytes_total{kind="decoded"})"), 5000);
  EXPECT_EQ(found.at(R"(feedmill_saved_bytes_total{by="compression"})"), 4000);
  EXPECT_EQ(found.at(R"(feedmill_entries_total{action="created"})"), 2);
  EXPECT_EQ(found.at(R"(feedmill_entries_total{action="unchanged"})"), 7);
  EXPECT_EQ(found.at(R"(feedmill_entries_total{action="trimmed"})"), 3);
  EXPECT_EQ(found.at(R"(feedmill_parse_flaws_total{kind="date"})"), 4);
  EXPECT_EQ(found.at(R"(feedmill_signals_total{type="post_created"})"), 2);
  EXPECT_EQ(found.at(R"(feedmill_redirects_total{kind="moved"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_connections_total{kind="new"})"), 2);
  EXPECT_EQ(found.at(R"(feedmill_refresh_duration_seconds_bucket{le="0.25"})"), 0);
  EXPECT_EQ(found.at(R"(feedmill_refresh_duration_seconds_bucket{le="0.5"})"), 1);
  EXPECT_EQ(found.at("feedmill_connect_duration_seconds_count"), 1);
  EXPECT_EQ(found.at("feedmill_first_byte_duration_seconds_count"), 1);
  EXPECT_EQ(found.at("feedmill_parse_duration_seconds_count"), 1);
  EXPECT_EQ(found.at("feedmill_commit_duration_seconds_count"), 1);
  EXPECT_EQ(found.at(R"(feedmill_schedule_lateness_seconds_bucket{le="5"})"), 1);
  EXPECT_EQ(found.at("feedmill_publish_delay_seconds_sum"), 1100);
  EXPECT_EQ(found.at(R"(feedmill_body_bytes_bucket{le="4096"})"), 0);
  EXPECT_EQ(found.at(R"(feedmill_body_bytes_bucket{le="16384"})"), 1);
}

TEST(Metrics, CountsFailuresByReason) {
  Metrics metrics(build);
  Report report;
  report.outcome = Outcome::failed;
  for (const Reason reason : {Reason::egress_blocked, Reason::egress_port, Reason::worker_bug, Reason::worker_bug}) {
    report.reason = reason;
    metrics.record(report);
  }
  const auto found = samples(metrics);
  EXPECT_EQ(found.at(R"(feedmill_refreshes_total{outcome="failed"})"), 4);
  EXPECT_EQ(found.at(R"(feedmill_failures_total{reason="worker.bug"})"), 2);
  EXPECT_EQ(found.at(R"(feedmill_egress_blocked_total{kind="address"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_egress_blocked_total{kind="port"})"), 1);
  EXPECT_EQ(found.at("feedmill_connect_duration_seconds_count"), 0);
}

TEST(Metrics, CountsWhatTheStoreAnswers) {
  Metrics metrics(build);
  ClaimBatch batch;
  batch.claims.resize(3);
  batch.deferred = {
      {"a", {}, "host_spacing"}, {"b", {}, "host_spacing"}, {"c", {}, "host_backoff"}, {"d", {}, "quarantine"}};
  batch.quarantined = {{"e", {}, "quarantine"}};
  metrics.claimed(batch, 1ms);
  Report closed;
  closed.circuit_opened = true;
  closed.host_cause = "rate_limited";
  metrics.record(closed);
  metrics.committed(Committed{.result = Committed::Result::ok});
  metrics.committed(Committed{.result = Committed::Result::stale});
  metrics.committed(StoreError{StoreError::Code::refused, ""});
  metrics.committed(StoreError{StoreError::Code::timeout, ""});
  metrics.store_error({StoreError::Code::out_of_memory, ""});
  metrics.reconnected(2);
  metrics.bug();
  Report early;
  early.early = true;
  metrics.record(early);
  metrics.set_log_suppressed(5);
  metrics.set_log_suppressed(7);
  const auto found = samples(metrics);
  EXPECT_EQ(found.at(R"(feedmill_claims_total{result="taken"})"), 3);
  EXPECT_EQ(found.at(R"(feedmill_claims_total{result="host_spacing"})"), 2);
  EXPECT_EQ(found.at(R"(feedmill_claims_total{result="host_backoff"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_claims_total{result="quarantined"})"), 2);
  EXPECT_EQ(found.at("feedmill_quarantines_total"), 1);
  EXPECT_EQ(found.at(R"(feedmill_host_backoffs_total{cause="rate_limited"})"), 1);
  EXPECT_EQ(found.at("feedmill_claim_duration_seconds_count"), 1);
  EXPECT_EQ(found.at(R"(feedmill_commits_total{result="ok"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_commits_total{result="stale"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_commits_total{result="refused"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_commits_total{result="error"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_redis_errors_total{kind="script"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_redis_errors_total{kind="timeout"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_redis_errors_total{kind="oom"})"), 1);
  EXPECT_EQ(found.at("feedmill_redis_reconnects_total"), 2);
  EXPECT_EQ(found.at("feedmill_bugs_total"), 1);
  EXPECT_EQ(found.at("feedmill_early_polls_total"), 1);
  EXPECT_EQ(found.at("feedmill_log_suppressed_total"), 7);
  EXPECT_GT(found.at("feedmill_last_commit_timestamp_seconds"), 1.6e9);
}

TEST(Metrics, ShowsTheFleet) {
  Metrics metrics(build);
  FleetFigures figures;
  figures.states = {{"healthy", 10}, {"gone", 1}};
  figures.due = 4;
  figures.claimed = 3;
  figures.workers = 2;
  figures.stream_records = 99;
  figures.now = Milliseconds(100'000);
  figures.oldest_due = Milliseconds(97'500);
  figures.differing = {"egress.allow"};
  metrics.set_fleet(figures);
  metrics.set_lanes(5, 251);
  metrics.set_loops({std::chrono::seconds(3), std::chrono::milliseconds(1500)});
  metrics.set_loops({std::chrono::seconds(4), std::chrono::milliseconds(1500)});
  metrics.set_store_connections(8, std::chrono::milliseconds(2500));
  metrics.set_ready(true);
  metrics.set_redis_up(true);
  metrics.set_draining(true);
  metrics.set_inflight_bytes(1 << 20);
  metrics.set_memory_budget(1 << 29);
  auto found = samples(metrics);
  EXPECT_EQ(found.at(R"(feedmill_feeds{state="healthy"})"), 10);
  EXPECT_EQ(found.at("feedmill_oldest_due_seconds"), 2.5);
  EXPECT_EQ(found.at("feedmill_due_feeds"), 4);
  EXPECT_EQ(found.at("feedmill_claimed_feeds"), 3);
  EXPECT_EQ(found.at("feedmill_workers_alive"), 2);
  EXPECT_EQ(found.at("feedmill_differing_options"), 1);
  EXPECT_EQ(found.at("feedmill_stream_records"), 99);
  EXPECT_EQ(found.at(R"(feedmill_lanes{state="free"})"), 251);
  EXPECT_EQ(found.at("feedmill_ready") + found.at("feedmill_redis_up") + found.at("feedmill_draining"), 3);
  EXPECT_EQ(found.at(R"(feedmill_loop_cpu_seconds_total{loop="1"})"), 4);
  EXPECT_EQ(found.at(R"(feedmill_loop_cpu_seconds_total{loop="2"})"), 1.5);
  EXPECT_EQ(found.at("feedmill_store_connections"), 8);
  EXPECT_EQ(found.at("feedmill_store_busy_seconds_total"), 2.5);
  EXPECT_EQ(found.at("feedmill_inflight_bytes"), 1 << 20);
  EXPECT_EQ(found.at("feedmill_memory_budget_bytes"), 1 << 29);
  metrics.set_fleet({});
  found = samples(metrics);
  EXPECT_EQ(found.at(R"(feedmill_feeds{state="healthy"})"), 0);
  EXPECT_EQ(found.at("feedmill_oldest_due_seconds"), 0);
}

TEST(Metrics, CountsLookUps) {
  Metrics metrics(build);
  metrics.looked_up(Lookup::cached, 1ms);
  metrics.looked_up(Lookup::not_found, 30ms);
  const auto found = samples(metrics);
  EXPECT_EQ(found.at(R"(feedmill_dns_lookups_total{result="cached"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_dns_lookups_total{result="not_found"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_dns_lookups_total{result="ok"})"), 0);
  EXPECT_EQ(found.at("feedmill_dns_duration_seconds_count"), 1);  // cache hits have no duration
}

TEST(Metrics, ShowsTheOldestSuccessAndHostsThatBackOff) {
  Metrics metrics(build);
  FleetFigures fleet;
  fleet.now = std::chrono::hours(50);
  fleet.oldest_success = std::chrono::hours(48);
  fleet.open_circuits = 3;
  metrics.set_fleet(fleet);
  EXPECT_EQ(samples(metrics).at("feedmill_hosts_backing_off"), 3);
  EXPECT_EQ(samples(metrics).at("feedmill_oldest_success_age_seconds"), 7200);
}

TEST(Metrics, CountsDeliveriesAndVerifications) {
  Metrics metrics(build);
  metrics.push_out_sent(true, Metrics::PushOut::taken);
  metrics.push_out_sent(true, Metrics::PushOut::given_up);
  metrics.push_out_sent(false, Metrics::PushOut::gone);
  metrics.push_out_verified(true);
  metrics.push_out_verified(false);
  metrics.push_out_verified(false);
  metrics.push_out_streamed(7);
  metrics.set_streams(3);
  SubscriberCounts counts;
  counts.webhooks_active = 5;
  counts.webhooks_suspended = 1;
  counts.hub_pending = 2;
  counts.hub_active = 4;
  counts.due = 6;
  metrics.set_subscribers(counts);
  const auto found = samples(metrics);
  EXPECT_EQ(found.at(R"(feedmill_webhook_requests_total{result="taken"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_webhook_requests_total{result="given_up"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_webhook_requests_total{result="gone"})"), 0);
  EXPECT_EQ(found.at(R"(feedmill_hub_deliveries_total{result="gone"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_hub_verifications_total{result="accepted"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_hub_verifications_total{result="refused"})"), 2);
  EXPECT_EQ(found.at("feedmill_stream_events_total"), 7);
  EXPECT_EQ(found.at("feedmill_streams"), 3);
  EXPECT_EQ(found.at(R"(feedmill_subscribers{state="webhook_active"})"), 5);
  EXPECT_EQ(found.at(R"(feedmill_subscribers{state="webhook_suspended"})"), 1);
  EXPECT_EQ(found.at(R"(feedmill_subscribers{state="hub_pending"})"), 2);
  EXPECT_EQ(found.at(R"(feedmill_subscribers{state="hub_active"})"), 4);
  EXPECT_EQ(found.at("feedmill_subscribers_due"), 6);
}

TEST(Metrics, NamesTheStoreOnceItIsKnown) {
  Metrics metrics(build);
  metrics.set_store("valkey 8.1.1");
  const auto found = samples(metrics);
  EXPECT_EQ(found.at(R"(feedmill_build_info{libcurl="8.1.0",store="valkey 8.1.1",version="0.1.0"})"), 1);
  std::size_t builds = 0;
  for (const auto& [name, value] : found) builds += name.starts_with("feedmill_build_info");
  EXPECT_EQ(builds, 1u);
}

TEST(Metrics, PassesThePrometheusLinter) {
  if (std::system("command -v promtool >/dev/null") != 0) GTEST_SKIP() << "promtool is not installed";
  const Metrics metrics(build);
  FILE* promtool = popen("promtool check metrics", "w");
  ASSERT_NE(promtool, nullptr);
  const std::string text = metrics.text();
  fwrite(text.data(), 1, text.size(), promtool);
  EXPECT_EQ(pclose(promtool), 0);
}

}  // namespace
}  // namespace feedmill::metrics_test
