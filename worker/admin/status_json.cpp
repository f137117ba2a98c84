#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "worker/admin/status.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/terminal.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

double seconds(std::chrono::duration<double> span) {
  return span.count();
}

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
  object["lateness_p50_seconds"] = seconds(figures.lateness_of(0.5));
  object["lateness_p99_seconds"] = seconds(figures.lateness_of(0.99));
  object["lateness_worst_seconds"] = seconds(figures.worst_lateness);
  return object;
}

json::array hosts_json(const std::vector<HostFigures>& hosts) {
  json::array rows;
  for (const HostFigures& host : hosts) {
    rows.push_back(json::object{{"host", host.host},
                                {"refreshes", host.refreshes},
                                {"failed", host.failed},
                                {"mean_seconds", seconds(host.mean())}});
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
      fleet.oldest_due && *fleet.oldest_due < fleet.now ? seconds(fleet.now - *fleet.oldest_due) : 0.0;
  feeds["waiting"] = fleet.waiting;
  feeds["claimed"] = fleet.claimed;
  json::object& subscriptions = object["websub"].emplace_object();
  for (const auto& [state, count] : fleet.push_states) subscriptions[state] = count;
  json::array& workers = object["workers"].emplace_array();
  for (const WorkerRecord& worker : store.workers) {
    json::object row{{"id", worker.id}, {"heartbeat_age_seconds", seconds(fleet.now - worker.alive_at)}};
    if (!fleet.first.empty()) row["stands_first"] = process_of(worker.id) == fleet.first;
    for (const auto& [name, value] : worker.fields) row[name] = value;
    workers.push_back(std::move(row));
  }
  object["stream"] = {{"records", store.stream.records}, {"limit", store.stream.hard_limit}};
  json::array& groups = object["groups"].emplace_array();
  for (const StreamFigures::Group& group : store.stream.groups) {
    groups.push_back(json::object{{"name", group.name},
                                  {"lag_records", group.lag},
                                  {"lag_seconds", group.oldest ? seconds(store.stream.now - *group.oldest) : 0.0}});
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
  constexpr std::string_view weights[] = {"bad", "warning", "note"};
  json::array& found = object["concerns"].emplace_array();
  for (const Concern& concern : concerns(status)) {
    found.push_back(json::object{{"weight", weights[static_cast<std::size_t>(concern.weight)]},
                                 {"text", concern.text},
                                 {"remedy", concern.remedy}});
  }
  json::object& worker = object["worker"].emplace_object();
  worker["id"] = process.worker;
  worker["host"] = process.host;
  worker["pid"] = process.pid;
  worker["ingest"] = process.ingest;
  worker["deliver"] = process.deliver;
  worker["streams"] = process.streams ? json::value(*process.streams) : json::value();
  worker["stopping"] = process.stopping;
  worker["lanes"] = {{"busy", process.lanes_busy}, {"total", process.lanes}};
  worker["memory"] = {{"documents_bytes", process.memory_used},
                      {"budget_bytes", process.memory_budget},
                      {"resident_bytes", process.memory_resident}};
  worker["last_commit_age_seconds"] =
      process.last_commit_ago.count() < 0 ? json::value() : json::value(process.last_commit_ago.count());
  worker["clock_offset_seconds"] = seconds(process.clock_offset);
  worker["log_suppressed"] = process.log_suppressed;
  json::object& total = worker["since_start"].emplace_object();
  total["seconds"] = seconds(process.total_for);
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
                                     {"lateness_worst_seconds", seconds(one.worst_lateness)}});
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
