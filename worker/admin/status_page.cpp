#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "parsers/markup/text.hpp"
#include "parsers/text/strings.hpp"
#include "storage/records/json_members.hpp"
#include "worker/admin/page_parts.hpp"
#include "worker/admin/status.hpp"
#include "worker/base/units.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// A readiness check in words; "" if it is not worth mentioning.
std::string check_words(const Check& check) {
  if (check.name == "redis") return check.passed ? "Redis answers" : "Redis does not serve";
  if (check.name == "not_draining") return check.passed ? "" : "stopping on request";
  return fmt::format("{}: {}", check.name, check.passed ? "yes" : "no");
}

Html verdict_section(const Status& status, const std::vector<Concern>& found) {
  const std::string_view look = found.empty() ? std::string_view("well") : weight_name(found.front().weight);
  Html html("<section class=\"verdict {}\" aria-labelledby=\"verdict\">\n<h1 id=\"verdict\">{}</h1>\n", look,
            verdict(found));
  std::string checks;
  for (const Check& check : status.process.ready) {
    const std::string said = check_words(check);
    if (said.empty()) continue;
    checks +=
        fmt::format("{}{}{}", checks.empty() ? "" : "; ", said, check.detail.empty() ? "" : " (" + check.detail + ")");
  }
  const bool ready = std::ranges::all_of(status.process.ready, &Check::passed);
  html.add("<p class=\"soft\">This worker is {} for {}, {}. {}.</p>\n", status.process.stopping ? "stopping, up" : "up",
           span_text(status.process.uptime), ready ? "ready" : "not ready", checks);
  if (!found.empty()) {
    html.add("<ol class=\"concerns\">\n");
    for (const Concern& concern : found) {
      add_concern(html, concern, concern.where.empty() ? Html() : Html("<a href=\"{}\">Show them</a>", concern.where));
    }
    html.add("</ol>\n");
  }
  return std::move(html.add("</section>\n"));
}

std::string rate_text(double a_minute) {
  return a_minute >= 9.95 ? grouped(std::llround(a_minute)) : fmt::format("{:.1f}", a_minute);
}

/// The period that figures cover: `minutes`, or the uptime if that is shorter.
double minutes_covered(const ProcessStatus& process, double minutes) {
  return std::clamp(static_cast<double>(process.uptime.count()) / 60, 1.0, minutes);
}

/// As "all healthy", "98 healthy, 2 not tried yet" or "3 never read, 5 need a look".
std::string feeds_in_words(const FleetFigures& fleet) {
  if (fleet.feeds == 0) return "add some: feedmill add URL";
  const std::uint64_t healthy = feeds_in(fleet.states, "healthy"), untried = feeds_in(fleet.states, "new"),
                      paused = feeds_in(fleet.states, "paused"), never_read = feeds_in(fleet.states, "never_read");
  if (healthy == fleet.feeds) return "all healthy";
  const std::uint64_t told = healthy + untried + paused + never_read;
  const std::uint64_t others = fleet.feeds - std::min(told, fleet.feeds);
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(static_cast<std::int64_t>(count)), what);
  };
  add(never_read, "never read");
  add(others, others == 1 ? "needs attention" : "need attention");
  if (text.empty()) add(healthy, "healthy");
  add(untried, "not tried yet");
  if (never_read + others == 0) add(paused, "paused");
  return text;
}

Html tiles_section(const Status& status) {
  const ProcessStatus& process = status.process;
  Html html("<section aria-label=\"At a glance\"><dl class=\"tiles\">\n");
  if (status.store) {
    const FleetFigures& fleet = status.store->fleet;
    add_tile(html, "Feeds", fleet.feeds, feeds_in_words(fleet));
    add_tile(html, "Due now", fleet.due,
             fleet.oldest_due && *fleet.oldest_due < fleet.now
                 ? "the oldest for " + span_text(fleet.now - *fleet.oldest_due)
             : fleet.waiting > 0 ? fmt::format("{} in line for their hosts", fleet.waiting)
                                 : "none waiting");
  }
  const double refreshed = static_cast<double>(process.ten_minutes.refreshes()) / minutes_covered(process, 10);
  add_tile(html, "Refreshes a minute", rate_text(refreshed),
           process.ten_minutes.refreshes() == 0
               ? "none in the last 10 minutes"
               : fmt::format("over {}", process.uptime < std::chrono::minutes(10) ? span_text(process.uptime)
                                                                                  : "the last 10 minutes"));
  std::string created =
      "by this worker in " + (process.uptime < std::chrono::hours(1) ? span_text(process.uptime) : "the last hour");
  if (process.hour.pushes > 0)
    created += fmt::format("; {} pushes", grouped(static_cast<std::int64_t>(process.hour.pushes)));
  add_tile(html, "New posts", process.hour.created, created);
  add_tile(html, "Lateness",
           process.ten_minutes.refreshes() == 0 ? "–" : span_text(process.ten_minutes.lateness_of(0.99)),
           process.ten_minutes.refreshes() == 0 ? "nothing was due" : "99th percentile");
  if (status.store) {
    std::uint64_t lag = 0;
    for (const StreamFigures::Group& group : status.store->stream.groups) lag = std::max(lag, group.lag);
    add_tile(html, "Event backlog", lag, lag == 0 ? "all consumers up to date" : "of the slowest consumer");
  }
  return std::move(html.add("</dl></section>\n"));
}

template <class Value>
Html spark(const ProcessStatus& process, std::string_view name, std::string_view most_of, Value value,
           std::string (*text)(double)) {
  // For a young worker, show only its uptime, but at least an hour, so that the bars do not become too wide.
  const std::chrono::minutes up = std::chrono::ceil<std::chrono::hours>(process.uptime);
  const std::size_t shown = std::clamp<std::size_t>(static_cast<std::size_t>(up.count()) / stretch_minutes,
                                                    60 / stretch_minutes, stretch_count);
  const std::string reach = fmt::format("{} h", shown * stretch_minutes / 60);
  std::vector<double> values;
  for (const RefreshFigures& stretch : process.stretches) values.push_back(value(stretch));
  if (values.size() > shown) values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(shown));
  const double most = values.empty() ? 0 : *std::ranges::max_element(values);
  if (most <= 0) return {};  // the table below shows the zeros
  const std::string peak = fmt::format("{} {}", most_of, text(most));
  return Html(
      "<figure><figcaption>{} <span class=\"soft\">{}</span></figcaption>{}<p class=\"axis\"><span>{} ago</span>"
      "<span>now</span></p></figure>\n",
      name, peak, bars(values, fmt::format("{} over the last {}, {}", name, reach, peak)), reach);
}

/// The rate per minute in the newest stretch, or over the uptime if that is shorter.
double a_minute(const ProcessStatus& process, std::uint64_t count) {
  return static_cast<double>(count) / minutes_covered(process, stretch_minutes);
}

Html sparks_section(const ProcessStatus& process) {
  const auto rate = [&process](std::uint64_t RefreshFigures::*count) {
    return [&process, count](const RefreshFigures& one) { return a_minute(process, one.*count); };
  };
  Html html("<div class=\"sparks\">\n{}{}{}",
            spark(process, "Updated feeds", "a minute, at most", rate(&RefreshFigures::updated), rate_text),
            spark(process, "Failures", "a minute, at most", rate(&RefreshFigures::failed), rate_text),
            spark(process, "Pushes", "a minute, at most", rate(&RefreshFigures::pushes), rate_text));
  html.add("{}{}{}</div>",
           spark(
               process, "Refreshes", "a minute, at most",
               [&](const RefreshFigures& one) { return a_minute(process, one.refreshes()); }, rate_text),
           spark(process, "New posts", "a minute, at most", rate(&RefreshFigures::created), rate_text),
           spark(
               process, "Lateness", "at worst", [](const RefreshFigures& one) { return one.worst_lateness.count(); },
               [](double seconds) { return span_text(std::chrono::duration<double>(seconds)); }));
  return section("day", "This worker, minute by minute", html);
}

/// How late the refreshes of the last hour were.
Html lateness_section(const RefreshFigures& hour) {
  const std::uint64_t all = std::accumulate(hour.lateness.begin(), hour.lateness.end(), std::uint64_t{0});
  if (all == 0) return {};
  Table table({{"Late by", "narrow"}, {"Share"}, {"Percent", "number"}}, "Refreshes of the last hour.");
  const auto bound = [](std::size_t at) { return span_text(std::chrono::duration<double>(lateness_bounds[at])); };
  for (std::size_t i = 0; i < hour.lateness.size(); ++i) {
    if (hour.lateness[i] == 0) continue;
    table.row(i < lateness_bounds.size() ? "at most " + bound(i) : "more than " + bound(i - 1),
              bar(static_cast<double>(hour.lateness[i]) / static_cast<double>(all)),
              percent_text(hour.lateness[i], all));
  }
  return section("late", "Start delay of feeds", table.html());
}

Html posts_section(const StoreStatus& store) {
  std::vector<Html> items;
  for (const NewestPost& post : store.posts) {
    const std::string_view name = post.title.empty() ? std::string_view(post.link) : std::string_view(post.title);
    const std::string feed = readable_text(post.feed_title, post.feed_title_type);
    items.emplace_back().add("<p>{}</p><p class=\"sub\">{}, {}</p>",
                             outside_link(post.link, short_text(name.empty() ? "without a title" : name, 120)),
                             feed_link(post.feed_url, short_text(feed.empty() ? post.feed_url : feed, 80)),
                             time_ago(post.at, store.fleet.now));
  }
  return section("posts", "Newest posts",
                 items.empty() ? nothing("None among the newest events.") : items_list(items, items.size()));
}

Html states_section(const FleetFigures& fleet) {
  if (fleet.feeds == 0) {
    return section("states", "Feeds by state",
                   Html("<p class=\"empty\">No feeds yet: <code>feedmill add URL</code> or <code>feedmill import "
                        "FILE</code>.</p>"));
  }
  Table table({{"State"}, {"Feeds", "number"}});
  std::string none;
  for (const auto& [state, meaning] : all_states()) {
    const std::uint64_t count = feeds_in(fleet.states, state);
    const Html link("<a href=\"/status/feeds?state={}\">{}</a>", state, state_word(state));
    if (count > 0)
      table.row(with_remark(link, meaning), count);
    else
      none += fmt::format("{}{}", none.empty() ? "" : ", ", state);
  }
  Html html = table.html();
  if (!none.empty()) html.add("<p class=\"sub\">None is {}.</p>", none);
  html.add("<p><a href=\"/status/feeds\">Search feeds</a></p>");
  return section("states", "Feeds by state", html);
}

/// Empty without a subscription.
Html pushes_section(const FleetFigures& fleet) {
  Table table({{"State"}, {"Feeds", "number"}});
  for (const PushStateText& state : push_state_texts()) {
    const std::uint64_t count = feeds_in(fleet.push_states, state.name);
    if (count > 0) table.row(with_remark(state.name, state.meaning), count);
  }
  return table.rows() == 0 ? Html() : section("pushes", "Subscriptions at hubs", table.html());
}

/// Empty without receivers.
Html push_out_section(const StoreStatus& store, const ProcessStatus& process) {
  const SubscriberCounts& told = store.told;
  if (!told.any() && !process.streams) return {};
  Table table({{"Receivers"}, {"Count", "number"}});
  table.row("Webhooks", told.webhooks_active);
  if (told.webhooks_suspended > 0)
    table.row(with_remark("Suspended webhooks", "an operator must resume them"), told.webhooks_suspended);
  table.row("Subscribers of the hub", told.hub_active);
  if (told.hub_pending > 0) table.row(with_remark("Not verified yet", "of the hub"), told.hub_pending);
  if (told.due) table.row(with_remark("Due", "deliveries in progress or backing off"), *told.due);
  if (process.streams) table.row(with_remark("Live streams", "of this worker"), *process.streams);
  return section("told", "Event receivers", table.html());
}

Html refreshes_section(const ProcessStatus& process) {
  Table table({{"In the last"}, {"1 hour", "number"}, {"24 hours", "number"}},
              process.uptime < std::chrono::hours(24) ? "It has been up for " + span_text(process.uptime) + "." : "");
  for (const RefreshFigure& figure : refresh_figures()) {
    const auto text = [&](const RefreshFigures& span) {
      const std::uint64_t count = figure.of(span);
      if (figure.unit == RefreshFigure::Unit::share) return percent_text(count, span.refreshes());
      return figure.unit == RefreshFigure::Unit::bytes ? bytes_text(count) : grouped(static_cast<std::int64_t>(count));
    };
    if (!figure.label.empty()) table.row(figure.label, text(process.hour), text(process.day));
  }
  return section("work", "Work of this worker", table.html());
}

Html hosts_section(std::string_view id, std::string_view name, const std::vector<HostFigures>& hosts,
                   std::chrono::seconds age) {
  if (hosts.empty())
    return section(id, name, nothing("This worker has contacted no host in the last " + span_text(age) + "."));
  Table table({{"Host"}, {"Refreshes", "number"}, {"Failed", "number"}, {"Time each", "number"}});
  for (const HostFigures& host : hosts)
    table.row(host_link(host.host), host.refreshes, host.failed, span_text(host.mean()));
  return section(
      id, name,
      Html("{}<p class=\"sub\">As measured by this worker in the last {}.</p>", table.folded(), span_text(age)));
}

std::string cause_text(std::string_view cause) {
  if (cause == "rate_limited") return "it reports too many requests (429)";
  if (cause == "unavailable") return "it is overloaded (503)";
  if (cause == "forbidden") return "it refuses us (403)";
  if (cause == "storm") return "its feeds fail alike";
  return short_text(cause, 60);
}

/// A number written by another process; a dash if it is not a number.
std::string number_text(std::string_view text) {
  std::int64_t number = 0;
  return read_number(text, number) ? grouped(number) : "–";
}

Html closed_section(const StoreStatus& store) {
  Table table({{"Host"}, {"Reason"}, {"Next try"}});
  for (const OpenCircuit& closed : store.closed) {
    const bool is_later = closed.state.not_before > store.fleet.now;
    const std::string refusals = number_text(field_of(closed.state.other, "refusals"));
    table.row(host_link(closed.host),
              with_remark(cause_text(field_of(closed.state.other, "cause")),
                          fmt::format("refused {} time{} in a row", refusals, refusals == "1" ? "" : "s")),
              is_later ? time_ago(closed.state.not_before, store.fleet.now) : Html("with the next due feed"));
  }
  return section("closed", "Hosts backing off", table.rows() == 0 ? nothing("No hosts backing off.") : table.folded());
}

Html notice_item(const StoredNotice& notice, Milliseconds now) {
  boost::system::error_code bad;
  const json::value value = json::parse(notice.json, bad);
  if (bad || !value.is_object()) return {};
  const json::object& object = value.get_object();
  const std::string_view url = string_member(object, "feed_url"), from = string_member(object, "from"),
                         to = string_member(object, "to");
  Html html("<p><b>{}</b> <span class=\"soft\">{}</span></p>", short_text(string_member(object, "text"), 200),
            time_ago(timestamp_of(object), now));
  if (!url.empty()) html.add("<p>{}</p>", feed_link(url, short_text(url, 200)));
  if (!to.empty())
    html.add("<p class=\"sub\">{}{}to {}</p>", from.empty() ? "" : "from " + short_text(from, 200),
             from.empty() ? "" : " ", short_text(to, 200));
  if (const auto detail = string_member(object, "detail"); !detail.empty())
    html.add("<p class=\"sub\">{}</p>", short_text(detail, 300));
  return std::move(html.add("<p class=\"sub\">{}</p>", short_text(string_member(object, "remedy"), 300)));
}

Html notices_section(const StoreStatus& store) {
  std::vector<Html> items;
  for (const StoredNotice& notice : store.notices) {
    if (Html item = notice_item(notice, store.fleet.now); !item.empty()) items.push_back(std::move(item));
  }
  const Html none(
      "<p class=\"empty\">None. Failing, moved, gone and recovered feeds are listed here and by <code>feedmill "
      "notices</code>.</p>");
  return section("notices", "Notices to operators", items.empty() ? none : items_list(items));
}

/// As "fetch, deliver"; heartbeats of older builds lack the roles, but only workers that fetch sent them.
std::string roles_of(const WorkerRecord& worker) {
  const std::string_view does = field_of(worker.fields, "does");
  std::string text;
  for (const auto& [role, word] :
       {std::pair("fetch", "fetch"), std::pair("deliver", "deliver"), std::pair("push_out", "push out")}) {
    if (does.find(role) != std::string_view::npos) text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
  }
  return does.empty() && worker.fetches ? "fetch" : text;
}

Html workers_section(const StoreStatus& store, const std::string& own) {
  Table table({{"Worker"}, {"Does"}, {"Heartbeat"}, {"In flight", "number"}});
  for (const WorkerRecord& worker : store.workers) {
    const Html name("<bdi>{}</bdi>{}{}", short_text(field_of(worker.fields, "host"), 100),
                    worker.id == own ? " (this one)" : "",
                    process_of(worker.id) == store.fleet.first ? ", primary" : "");
    table.row(with_remark(name, fmt::format("process {}, version {}", short_text(field_of(worker.fields, "pid"), 20),
                                            short_text(field_of(worker.fields, "version"), 40))),
              roles_of(worker), time_ago(worker.alive_at, store.fleet.now),
              number_text(field_of(worker.fields, "in_flight")));
  }
  return section("workers", "Workers",
                 table.rows() == 0 ? nothing("No worker sends a heartbeat: nothing is fetched.") : table.html());
}

Html delivery_section(const StoreStatus& store) {
  const StreamFigures& stream = store.stream;
  Table table({{"Consumer"}, {"Pending", "number"}, {"Oldest"}});
  for (const StreamFigures::Group& group : stream.groups) {
    table.row(Html("<bdi>{}</bdi>", short_text(group.name, 100)), group.lag,
              group.oldest ? time_ago(*group.oldest, stream.now) : Html("none"));
  }
  return section("delivery", "Events and their consumers",
                 Html("<p>The stream holds {} events, of {} at most.</p>\n{}", stream.records, stream.hard_limit,
                      table.rows() == 0 ? nothing("No consumer groups.") : table.html()));
}

Html process_section(const ProcessStatus& process) {
  Html html;
  std::string does;
  const auto add_role = [&](bool is_its, std::string_view role) {
    if (is_its) does.append(does.empty() ? "" : ", ").append(role);
  };
  add_role(process.ingest, "fetches feeds");
  add_role(process.deliver, "maintains timelines and notices");
  add_role(process.push_out, "pushes events out");
  add_fact(html, "Does", does.empty() ? "nothing: worker.ingest, worker.deliver and worker.push_out are off" : does);
  add_fact(html, "Lanes", fmt::format("{} of {} busy", process.lanes_busy, process.lanes));
  add_fact(html, "Documents in memory",
           fmt::format("{} of {}", bytes_text(process.memory_used), bytes_text(process.memory_budget)));
  add_fact(html, "Memory of the process", bytes_text(process.memory_resident));
  add_fact(html, "Last commit",
           process.last_commit_ago < std::chrono::seconds(0) ? "none since its start"
                                                             : span_text(process.last_commit_ago) + " ago");
  add_fact(html, "Suppressed log lines", grouped(static_cast<std::int64_t>(process.log_suppressed)));
  add_fact(html, "Name", fmt::format("{}, process {}, worker {}", process.host, process.pid, process.worker));
  return section("process", "This worker", facts_list(html));
}

}  // namespace

std::string_view weight_name(Concern::Weight weight) {
  constexpr std::string_view names[] = {"bad", "warning", "note"};
  return names[static_cast<std::size_t>(weight)];
}

void add_concern(Html& html, const Concern& concern, const Html& where) {
  constexpr std::string_view words[] = {"Wrong:", "Watch:", "Note:"};
  html.add("<li class=\"{}\"><p><span class=\"weight\">{}</span>{}</p><p class=\"soft\">{}{}{}</p></li>\n",
           weight_name(concern.weight), words[static_cast<std::size_t>(concern.weight)], concern.text, concern.remedy,
           where.empty() ? "" : " ", where);
}

std::string verdict(const std::vector<Concern>& concerns) {
  const auto wrong =
      std::ranges::count_if(concerns, [](const Concern& one) { return one.weight != Concern::Weight::note; });
  if (wrong == 0) return "All is well";
  return wrong == 1 ? "One thing needs attention" : fmt::format("{} things need attention", wrong);
}

Html status_page(const Status& status) {
  const std::vector<Concern> found = concerns(status);
  const ProcessStatus& process = status.process;
  Html html("{}{}<div class=\"columns\">\n", verdict_section(status, found), tiles_section(status));
  if (status.store) {
    const StoreStatus& store = *status.store;
    html.add("{}{}{}{}", posts_section(store), states_section(store.fleet), closed_section(store),
             notices_section(store));
  }
  html.add("</div>\n{}<div class=\"columns\">\n", sparks_section(process));
  html.add("{}{}", refreshes_section(process), lateness_section(process.hour));
  if (status.store) html.add("{}{}", pushes_section(status.store->fleet), push_out_section(*status.store, process));
  html.add("{}", hosts_section("busy", "Busiest hosts", process.busiest, process.hosts_age));
  if (process.slowest.size() > rows_at_once)  // a short list would show the same hosts twice
    html.add("{}", hosts_section("slow", "Slowest hosts", process.slowest, process.hosts_age));
  if (status.store) html.add("{}{}", workers_section(*status.store, process.worker), delivery_section(*status.store));
  return std::move(html.add("{}</div>\n", process_section(process)));
}

}  // namespace feedmill
