#include "worker/admin/status.hpp"

#include <algorithm>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/feeds/hosts.hpp"
#include "storage/feeds/memory_use.hpp"
#include "storage/records/event_record.hpp"
#include "storage/store/deployment.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/system.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;
using Weight = Concern::Weight;

/// With fewer refreshes, a share means little.
constexpr std::uint64_t few = 20;
/// The consumer group of delivery in the event stream.
constexpr std::string_view own_group = "delivery";

/// What to do if most refreshes fail for `reason`: they have a common cause, most likely on our side.
std::string_view remedy_for(Reason reason) {
  const std::string_view name = to_string(reason);
  if (name.starts_with("dns."))
    return "Check the name servers in /etc/resolv.conf or dns.servers; feedmill doctor tests them.";
  if (name.starts_with("egress."))
    return "These addresses or ports are closed to feeds: use egress.allow or egress.ports to allow them.";
  if (name.starts_with("tls.")) return "Check the clock, and whether the package ca-certificates is installed.";
  if (name.starts_with("connect.") || name.starts_with("http."))
    return "Check the network and its firewall; feedmill check URL shows one fetch in full.";
  if (name.starts_with("store.")) return "Check Redis: feedmill doctor finds the fault.";
  return "feedmill check URL shows one fetch in full.";
}

/// The page that shows the failures: feeds that fail repeatedly, or else the host with the most failures.
std::string failed_feeds_page(const Status& status) {
  if (status.store && feeds_in(status.store->fleet.states, "degraded") > 0) return "/status/feeds?state=degraded";
  const auto most = std::ranges::max_element(status.process.busiest, {}, &HostFigures::failed);
  if (most == status.process.busiest.end() || most->failed == 0) return "/status/feeds";
  return "/status/feeds?host=" + percent_encoded(most->host);
}

void judge_process(const Status& status, std::vector<Concern>& found) {
  const ProcessStatus& process = status.process;
  if (process.stopping) {
    found.push_back(
        {Weight::note, "This worker is stopping: it claims no new feeds and finishes the ones it has.",
         "Nothing, if this was intended. Its feeds are fetched by other workers, or after its next start."});
  }
  if (!process.others_trouble.empty()) {
    found.push_back({Weight::bad, "Other partitions are not served: " + process.others_trouble + ".",
                     "Their work waits, and no stored data is lost. Their own pages have details."});
  }
  if (!process.reload_refused.empty()) {
    found.push_back(
        {Weight::warning, "The configuration was reloaded and rejected: " + process.reload_refused + ".",
         "Until it is fixed, this worker keeps its previous configuration; feedmill config check reports the errors."});
  }
  if (!process.restart_awaited.empty()) {
    found.push_back({Weight::note, "Changed since the start, but not in effect yet: " + process.restart_awaited + ".",
                     "Restart this worker when convenient; the other changes are in effect."});
  }
  if (abs(process.clock_offset) > clock_warning) {
    found.push_back({abs(process.clock_offset) > clock_fault ? Weight::bad : Weight::warning,
                     fmt::format("This machine's clock is {} {} Redis' clock.", span_text(abs(process.clock_offset)),
                                 process.clock_offset.count() > 0 ? "ahead of" : "behind"),
                     "Synchronise both by NTP: due times use Redis' clock, certificates and post dates use this one."});
  }
  if (process.memory_budget > 0 && process.memory_used > process.memory_budget / 10 * 9) {
    found.push_back({Weight::warning,
                     fmt::format("Documents use {:.0f} % of their memory budget; new fetches wait.",
                                 percent(process.memory_used, process.memory_budget)),
                     "Raise memory.budget, or lower worker.lanes."});
  }
  const RefreshFigures& recent = process.ten_minutes;
  const std::optional<FailureCount>& most = process.main_failure;
  if (recent.refreshes() >= few && recent.failed * 2 > recent.refreshes()) {
    found.push_back(
        {Weight::bad,
         fmt::format("{} of {} refreshes of the last 10 minutes failed{}.", recent.failed, recent.refreshes(),
                     most ? fmt::format(", {} of them with {}", most->count, to_string(most->reason)) : ""),
         std::string(remedy_for(most ? most->reason : Reason::none)), failed_feeds_page(status)});
  } else if (process.three_hours.refreshes() >= few &&
             process.three_hours.failed * 5 > process.three_hours.refreshes()) {
    found.push_back({Weight::warning,
                     fmt::format("{:.0f} % of the refreshes of the last 3 hours failed.",
                                 percent(process.three_hours.failed, process.three_hours.refreshes())),
                     "See which hosts fail below; feedmill doctor tests name servers and the network from here.",
                     failed_feeds_page(status)});
  }
  const Seconds late = recent.lateness_of(0.99);
  if (recent.refreshes() >= few && late > 300s) {
    found.push_back({Weight::bad, fmt::format("Feeds are fetched late: 1 in 100 by more than {}.", span_text(late)),
                     "After an outage this resolves itself. Otherwise raise worker.lanes or start another worker, "
                     "unless one slow host is the cause (see below)."});
  }
  if (process.hour.bugs > 0) {
    found.push_back({Weight::warning, fmt::format("{} refreshes of the last hour hit a bug.", process.hour.bugs),
                     "Please report it: the log has an event=bug line for each."});
  }
  if (process.log_suppressed > 1000) {
    found.push_back({Weight::note, fmt::format("{} log lines were suppressed since the start.", process.log_suppressed),
                     "Look for repeated lines in the log: each shows how many similar lines were suppressed."});
  }
}

void judge_store(const Status& status, const StoreStatus& store, std::vector<Concern>& found) {
  const ProcessStatus& process = status.process;
  if (process.ingest && process.uptime > 10min && store.fleet.due > 0 &&
      (process.last_commit_ago < 0s || process.last_commit_ago > 10min)) {
    found.push_back({Weight::bad, fmt::format("Nothing was stored for 10 minutes, with {} feeds due.", store.fleet.due),
                     "Check the log for redis_down; if there is none, restart this worker and report it."});
  }
  if (store.fleet.workers == 0) {
    found.push_back(
        {Weight::warning, "No worker fetches feeds.", "Start feedmill run, or set worker.ingest=true where it runs."});
  }
  if (!store.fleet.differing.empty()) {
    found.push_back(
        {Weight::warning,
         fmt::format("Workers have different configurations: {}.", fmt::join(store.fleet.differing, ", ")),
         "Give all workers of this store the same values; feedmill config show prints those of a machine."});
  }
  for (const StreamFigures::Group& group : store.stream.groups) {
    if (!store.stream.lags(group)) continue;
    found.push_back(
        {Weight::warning,
         fmt::format("Consumer “{}” lags by {}.", group.name, span_text(store.stream.now - *group.oldest)),
         group.name == own_group
             ? "Check that a worker runs with worker.deliver=true."
             : fmt::format("Check that it runs. If it is unused: XGROUP DESTROY stream:signals {}", group.name)});
  }
  if (store.memory.is_worth_packing(store.fleet.feeds)) {
    found.push_back(
        {Weight::note,
         fmt::format("Redis could store posts in {:.0f} % less memory.", 100 * store.memory.saved_by_packing()),
         "Set hash-max-listpack-value, as feedmill doctor says."});
  }
  if (store.stream.hard_limit > 0 && store.stream.records * 2 > store.stream.hard_limit) {
    found.push_back(
        {Weight::warning,
         fmt::format("The signal stream is {:.0f} % full: beyond its limit, the oldest signals are dropped unread.",
                     percent(store.stream.records, store.stream.hard_limit)),
         "Start the lagging consumers, remove unused groups, or raise signals.max_len."});
  }
  if (const auto never_read = feeds_in(store.fleet.states, "never_read"); never_read > 0) {
    const bool many = never_read * 20 >= store.fleet.feeds;
    found.push_back(
        {many ? Weight::warning : Weight::note,
         never_read == 1 ? "A feed was tried and has never been read."
                         : fmt::format("{} feeds were tried and have never been read.", never_read),
         "Their URLs may be wrong, or their servers refuse us: feedmill explain URL shows why, and what to do.",
         "/status/feeds?state=never_read"});
  }
  if (const auto suspended = store.told.webhooks_suspended; suspended > 0) {
    found.push_back(
        {Weight::warning,
         suspended == 1
             ? "A webhook is suspended: its receiver has failed for too long."
             : fmt::format("{} webhooks are suspended: their receivers have failed for too long.", suspended),
         "feedmill webhook list shows them; feedmill webhook resume ID resumes one where it stopped."});
  }
  if (const auto quarantined = feeds_in(store.fleet.states, "quarantined"); quarantined > 0) {
    found.push_back(
        {Weight::warning,
         quarantined == 1
             ? "A feed is quarantined: workers crashed on it, or it takes too long to read."
             : fmt::format("{} feeds are quarantined: workers crashed on them, or they take too long to read.",
                           quarantined),
         "Nothing for now: each is retried later, alone. Please report it with the document.",
         "/status/feeds?state=quarantined"});
  }
  if (process.uptime > 6h && process.six_hours.created == 0 && feeds_in(store.fleet.states, "healthy") > 100) {
    found.push_back({Weight::bad, "No new entry for 6 hours, with more than 100 healthy feeds.",
                     "Open one of the feeds below and compare it with its publisher's site.",
                     "/status/feeds?state=healthy"});
  }
}

}  // namespace

void take_recent_history(ProcessStatus& status, const StatusHistory& history, StatusHistory::Clock::time_point now) {
  using std::chrono::duration_cast;
  status.uptime = duration_cast<std::chrono::seconds>(history.age(now));
  if (const auto last = history.last_commit()) {
    status.last_commit_ago = duration_cast<std::chrono::seconds>(now - *last);
  }
  status.ten_minutes = history.figures(10, now);
  status.main_failure = history.main_failure(now);
  status.hour = history.figures(60, now);
  status.three_hours = history.figures(180, now);
}

void take_history(ProcessStatus& status, const StatusHistory& history, StatusHistory::Clock::time_point now) {
  take_recent_history(status, history, now);
  status.total = history.total();
  status.total_for = history.age(now);
  status.six_hours = history.figures(360, now);
  status.day = history.figures(StatusHistory::minutes_kept, now);
  status.stretches = history.stretches(stretch_count, stretch_minutes, now);
  StatusHistory::HostLists hosts = history.hosts(most_hosts);
  status.busiest = std::move(hosts.busiest);
  status.slowest = std::move(hosts.slowest);
  status.hosts_age = std::chrono::duration_cast<std::chrono::seconds>(history.hosts_age(now));
}

namespace {

/// The new posts among the newest 100 events.
std::vector<NewestPost> read_newest_posts(Store& store) {
  const auto records = answered(EventStream(store).newest(100));
  std::vector<NewestPost> posts;
  std::vector<std::string> feed_urls;
  for (const EventRecord& record : records) {
    if (record.type != "post_created" || posts.size() == newest_posts) continue;
    const auto event = read_event(record);
    if (!event) continue;
    NewestPost& post = posts.emplace_back();
    post.title = field_of(event->data, "title");
    post.link = field_of(event->data, "link");
    post.feed_url = event->feed_url;
    post.at = std::chrono::seconds(event->timestamp);
    feed_urls.push_back(post.feed_url);
  }
  if (posts.empty()) return posts;
  const auto feeds = answered(Feeds(store).records(feed_urls));
  for (std::size_t i = 0; i < posts.size(); ++i) {
    if (!feeds[i]) continue;
    posts[i].feed_title = field_of(feeds[i]->feed, "title");
    posts[i].feed_title_type = field_of(feeds[i]->feed, "title_type");
  }
  return posts;
}

}  // namespace

StoreStatus read_store_status(Store& store) {
  StoreStatus status;
  status.fleet = answered(Fleet(store).figures());
  status.stream = answered(EventStream(store).figures());
  status.told = answered(Subscribers(store).counts());
  status.workers = answered(Fleet(store).workers());
  status.notices = answered(Notifications(store).list(std::string(operator_user)));
  if (status.notices.size() > most_notices) status.notices.resize(most_notices);
  status.posts = read_newest_posts(store);
  FeedSample sample(3);
  for (const NewestPost& post : status.posts) sample.add(post.feed_url);
  status.memory = answered(memory_use(store, sample.urls()));
  const auto closed = answered(Hosts(store).backing_off(most_hosts));
  auto states = answered(Hosts(store).states(closed));
  for (std::size_t i = 0; i < closed.size(); ++i) {
    const Fields& fields = states[i].other;
    const bool still = std::ranges::any_of(fields, [](const auto& field) { return field.first == "closed"; });
    if (still) status.closed.push_back({closed[i], std::move(states[i])});
  }
  return status;
}

std::vector<Concern> concerns(const Status& status) {
  std::vector<Concern> found;
  if (!status.store) {
    // `store_error` includes the remedy; the text below describes the effect.
    const bool serves_worker = std::ranges::any_of(
        status.process.ready, [](const Check& check) { return check.name == "redis" && check.passed; });
    found.push_back({Weight::bad, status.store_error,
                     serves_worker ? "Existing connections continue and feeds are fetched; new connections fail."
                                   : "Nothing is fetched or stored until it recovers; no stored data is lost."});
  }
  judge_process(status, found);
  if (status.store) judge_store(status, *status.store, found);
  std::ranges::stable_sort(found, {}, &Concern::weight);
  return found;
}

namespace {

namespace json = boost::json;

json::value share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? json::value() : json::value(static_cast<double>(part) / static_cast<double>(whole));
}

json::object figures_json(const RefreshFigures& figures) {
  json::object object;
  for (const RefreshFigure& figure : refresh_figures()) {
    const std::uint64_t count = figure.of(figures);
    if (!figure.name.empty())
      object[figure.name] =
          figure.unit == RefreshFigure::Unit::share ? share(count, figures.refreshes()) : json::value(count);
  }
  object["lateness_p50_seconds"] = in_seconds(figures.lateness_of(0.5));
  object["lateness_p99_seconds"] = in_seconds(figures.lateness_of(0.99));
  object["lateness_worst_seconds"] = in_seconds(figures.worst_lateness);
  return object;
}

json::array hosts_json(const std::vector<HostFigures>& hosts) {
  json::array rows;
  for (const HostFigures& host : hosts) {
    rows.push_back(json::object{{"host", host.host},
                                {"refreshes", host.refreshes},
                                {"failed", host.failed},
                                {"mean_seconds", in_seconds(host.mean())}});
  }
  return rows;
}

json::object store_json(const StoreStatus& store) {
  const FleetFigures& fleet = store.fleet;
  json::object object;
  json::object& feeds = object["feeds"].emplace_object();
  feeds["total"] = fleet.feeds;
  json::object& states = feeds["states"].emplace_object();
  for (const auto& [state, count] : fleet.states) states[state] = count;
  feeds["due"] = fleet.due;
  feeds["oldest_due_seconds"] =
      fleet.oldest_due && *fleet.oldest_due < fleet.now ? in_seconds(fleet.now - *fleet.oldest_due) : 0.0;
  feeds["waiting"] = fleet.waiting;
  feeds["claimed"] = fleet.claimed;
  json::object& subscriptions = object["websub"].emplace_object();
  for (const auto& [state, count] : fleet.push_states) subscriptions[state] = count;
  json::array& workers = object["workers"].emplace_array();
  for (const WorkerRecord& worker : store.workers) {
    json::object row{{"id", worker.id}, {"heartbeat_age_seconds", in_seconds(fleet.now - worker.alive_at)}};
    if (!fleet.first.empty()) row["stands_first"] = process_of(worker.id) == fleet.first;
    for (const auto& [name, value] : worker.fields) row[name] = value;
    workers.push_back(std::move(row));
  }
  json::array& differing = object["differing_options"].emplace_array();
  for (const std::string& option : fleet.differing) differing.emplace_back(option);
  object["stream"] = {{"records", store.stream.records}, {"limit", store.stream.hard_limit}};
  json::array& groups = object["groups"].emplace_array();
  for (const StreamFigures::Group& group : store.stream.groups) {
    groups.push_back(json::object{{"name", group.name},
                                  {"lag_records", group.lag},
                                  {"lag_seconds", group.oldest ? in_seconds(store.stream.now - *group.oldest) : 0.0}});
  }
  object["push_out"] = subscriber_counts_json(store.told);
  json::array& closed = object["hosts_backing_off"].emplace_array();
  for (const OpenCircuit& host : store.closed) {
    closed.push_back(json::object{{"host", host.host},
                                  {"cause", field_of(host.state.other, "cause")},
                                  {"until", time_json(host.state.not_before)}});
  }
  json::array& posts = object["newest_posts"].emplace_array();
  for (const NewestPost& post : store.posts) {
    posts.push_back(json::object{{"at", time_json(post.at)},
                                 {"title", post.title},
                                 {"link", text_or_null(post.link)},
                                 {"feed_url", post.feed_url},
                                 {"feed_title", text_or_null(post.feed_title)},
                                 {"feed_title_type", text_or_null(post.feed_title_type)}});
  }
  json::array& notices = object["notices"].emplace_array();
  for (const StoredNotice& notice : store.notices) notices.push_back(embedded_json(notice.json));
  return object;
}

}  // namespace

json::object status_json(const Status& status) {
  const ProcessStatus& process = status.process;
  json::object object = json_row();
  object["at"] = rfc3339(status.now());
  object["version"] = process.version;
  object["uptime_seconds"] = process.uptime.count();
  object["configuration"] = process.configuration;
  json::array& checks = object["ready"].emplace_array();
  for (const Check& check : process.ready) {
    checks.push_back(json::object{{"name", check.name}, {"ok", check.passed}, {"detail", check.detail}});
  }
  json::array& found = object["concerns"].emplace_array();
  for (const Concern& concern : concerns(status)) {
    found.push_back(
        json::object{{"weight", weight_name(concern.weight)}, {"text", concern.text}, {"remedy", concern.remedy}});
  }
  json::object& worker = object["worker"].emplace_object();
  worker["id"] = process.worker;
  worker["host"] = process.host;
  worker["pid"] = process.pid;
  worker["ingest"] = process.ingest;
  worker["deliver"] = process.deliver;
  worker["push_out"] = process.push_out;
  worker["streams"] = process.streams ? json::value(*process.streams) : json::value();
  worker["stopping"] = process.stopping;
  worker["lanes"] = {{"busy", process.lanes_busy}, {"total", process.lanes}};
  worker["memory"] = {{"documents_bytes", process.memory_used},
                      {"budget_bytes", process.memory_budget},
                      {"resident_bytes", process.memory_resident}};
  worker["last_commit_age_seconds"] =
      process.last_commit_ago.count() < 0 ? json::value() : json::value(process.last_commit_ago.count());
  worker["clock_offset_seconds"] = in_seconds(process.clock_offset);
  worker["log_suppressed"] = process.log_suppressed;
  json::object& total = worker["since_start"].emplace_object();
  total["seconds"] = in_seconds(process.total_for);
  for (const auto& [name, value] : figures_json(process.total)) total[name] = value;
  worker["last_10min"] = figures_json(process.ten_minutes);
  worker["last_1h"] = figures_json(process.hour);
  worker["last_24h"] = figures_json(process.day);
  json::array& stretches = worker["stretches"].emplace_array();
  for (const RefreshFigures& one : process.stretches) {
    stretches.push_back(json::object{{"refreshes", one.refreshes()},
                                     {"failed", one.failed},
                                     {"pushes", one.pushes},
                                     {"entries_created", one.created},
                                     {"lateness_worst_seconds", in_seconds(one.worst_lateness)}});
  }
  worker["stretch_seconds"] = stretch_minutes * 60;
  worker["hosts_seconds"] = process.hosts_age.count();
  worker["busiest_hosts"] = hosts_json(process.busiest);
  worker["slowest_hosts"] = hosts_json(process.slowest);
  object["store"] = status.store ? json::value(store_json(*status.store)) : json::value();
  object["store_error"] = status.store ? json::value() : json::value(status.store_error);
  return object;
}

json::value without_secrets(json::value value) {
  if (json::string* text = value.if_string()) {
    return json::value(redact({text->data(), text->size()}));
  }
  if (json::array* array = value.if_array()) {
    for (json::value& one : *array) one = without_secrets(std::move(one));
  } else if (json::object* object = value.if_object()) {
    for (auto& [name, one] : *object) one = without_secrets(std::move(one));
  }
  return value;
}

}  // namespace feedmill
