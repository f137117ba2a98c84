#include "worker/process/process_answers.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include "parsers/text/strings.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/queues/pushes.hpp"
#include "storage/store/partition.hpp"
#include "worker/admin/page_parts.hpp"
#include "worker/admin/status.hpp"
#include "worker/admin/status_pages.hpp"
#include "worker/base/system.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/process/parts.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds ping_spacing = std::chrono::minutes(5);

/// The readiness checks of RELIABILITY H2, both failed and passed.
std::vector<Check> ready_checks(const ServedParts& parts) {
  const std::string trouble = parts.opened ? parts.outages.trouble() : parts.opening_trouble.detail;
  std::vector<Check> checks{{"redis", parts.opened && parts.outages.is_up(), trouble},
                            {"not_draining", !parts.ingest.worker.stopping(), ""}};
  if (parts.requests_set_aside > 0) {  // caused by a client; must not take this worker out of service
    checks.push_back({"requests", true,
                      fmt::format("{} moved to state:requests:poison; see feedmill doctor", parts.requests_set_aside)});
  }
  return checks;
}

/// Schedules a fetch of the registered feeds among these URLs, at most once in five minutes each (OPERATIONS §6).
/// Ignores invalid URLs.
asio::awaitable<Pinged> ping(ServedParts& parts, std::vector<std::string> texts) {
  std::vector<std::string> urls;
  for (const std::string& text : texts) {
    if (auto url = canonical_feed_url(text)) urls.push_back(std::move(*url));
  }
  const bool is_away = !parts.opened || !parts.outages.is_up();
  Pinged pinged{.store_away = is_away};
  if (urls.empty() || is_away) co_return pinged;
  const auto ask = [&](Store& store) { return Pushes(store).ping(urls, ping_spacing); };
  const StoreResult<std::vector<std::optional<Milliseconds>>> at = co_await parts.ingest.store.call(ask);
  pinged.store_away = !at;
  if (!at) {
    parts.metrics.store_error(at.error());
    co_return pinged;
  }
  pinged.feeds = static_cast<std::size_t>(std::ranges::count_if(*at, [](const auto& one) { return one.has_value(); }));
  pinged.unknown = urls.size() - pinged.feeds;
  co_return pinged;
}

/// Updates the utilisation gauges, for autoscalers.
void note_use(ServedParts& parts) {
  const std::size_t busy = parts.in_flight();
  parts.metrics.set_lanes(busy, parts.all_lanes() - busy);
  parts.metrics.set_store_connections(
      parts.of_all_loops([](const IngestParts& loop) { return loop.store.connections(); }),
      parts.of_all_loops([](const IngestParts& loop) { return loop.store.busy(); }));
  timespec first{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &first);  // all callers run on the first loop
  std::vector<std::chrono::nanoseconds> loops = parts.other_loops.cpu_times();
  loops.insert(loops.begin(), std::chrono::seconds(first.tv_sec) + std::chrono::nanoseconds(first.tv_nsec));
  parts.metrics.set_loops(loops);
}

/// Updates the sampled gauges.
void note_figures(ServedParts& parts) {
  parts.metrics.set_ready(parts.is_ready());
  parts.metrics.set_inflight_bytes(parts.memory.used());
  parts.metrics.set_unacknowledged_bytes(parts.unanswered_bytes());
  note_use(parts);
}

/// process_status() without the trouble of other stores.
ProcessStatus status_of(ServedParts& parts) {
  ProcessStatus status;
  status.worker = parts.id;
  status.host = host_name();
  status.version = FEEDMILL_VERSION;
  status.pid = getpid();
  if (parts.push_out) status.streams = parts.push_out->open_streams();
  status.configuration = parts.configuration;
  status.clock = wall_clock();
  status.clock_offset = parts.clock_offset;
  status.ready = ready_checks(parts);
  status.stopping = parts.ingest.worker.stopping();
  status.reload_refused = parts.reload_refused;
  status.restart_awaited = parts.restart_awaited;
  if (!parts.opened)
    status.store_trouble = parts.opening_trouble;
  else if (!parts.outages.is_up())
    status.store_trouble = parts.outages.error();
  status.ingest = parts.config.worker.ingest;
  status.deliver = parts.config.worker.deliver;
  status.push_out = parts.push_out != nullptr;
  status.lanes_busy = parts.in_flight();
  status.lanes = parts.all_lanes();
  status.memory_used = parts.memory.used();
  status.memory_budget = parts.memory.total();
  status.memory_resident = resident_memory();
  status.log_suppressed = parts.log.suppressed();
  return status;
}

/// Merges the checks of all stores: of two with the same name, a failed one replaces a passed one.
template <class ChecksOf>
std::vector<Check> checks_of(ServedStores stores, const ChecksOf& checks_of_one) {
  std::vector<Check> all = checks_of_one(stores.front()->parts());
  if (stores.size() == 1) return all;
  const auto put = [](std::vector<Check>& known, Check found, std::size_t partition) {
    if (!found.passed || !found.detail.empty()) found.detail = fmt::format("partition {}: {}", partition, found.detail);
    const auto same = std::ranges::find(known, found.name, &Check::name);
    if (same == known.end())
      known.push_back(std::move(found));
    else if (same->passed && (!found.passed || same->detail.empty()))
      *same = std::move(found);
  };
  std::vector<Check> checks;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    for (Check& check : i == 0 ? all : all = checks_of_one(stores[i]->parts())) put(checks, std::move(check), i);
  }
  return checks;
}

/// Passes if any store is ready, because the outage of one must not take the others out of service. The details name
/// the failed stores.
std::vector<Check> ready_checks_of(ServedStores stores) {
  std::vector<Check> checks = checks_of(stores, [](const ServedParts& parts) { return ready_checks(parts); });
  const auto is_ready = [](const auto& store) { return store->parts().is_ready(); };
  if (std::ranges::any_of(stores, is_ready)) {
    for (Check& check : checks) check.passed = true;
  }
  return checks;
}

/// The partition of a feed; 0 if `url` is invalid.
std::size_t partition_of_feed(ServedStores stores, const std::string& url) {
  const auto feed = canonical_feed_url(url);
  return feed ? partition_of(*feed, static_cast<unsigned>(stores.size())) : 0;
}

asio::awaitable<Pinged> ping_all(ServedStores stores, std::vector<std::string> urls) {
  std::map<std::size_t, std::vector<std::string>> shares;
  for (std::string& url : urls) shares[partition_of_feed(stores, url)].push_back(std::move(url));
  Pinged all;
  for (auto& [partition, share] : shares) {
    const Pinged one = co_await ping(stores[partition]->parts(), std::move(share));
    all.feeds += one.feeds;
    all.unknown += one.unknown;
    all.store_away = all.store_away || one.store_away;
  }
  co_return all;
}

/// Collects one endpoint of each store; `find` returns null if a store has none.
template <class Who, class Find>
ByPartition<Who> those_of(ServedStores stores, const Find& find) {
  ByPartition<Who> all;
  for (const auto& store : stores) {
    const Partition mine = store->parts().config.partition();
    if (Who* const who = find(store->parts()))
      all.add(mine.is_whole() ? std::nullopt : std::optional<std::size_t>(mine.index), *who);
  }
  return all;
}

/// What the process knows about a partition without a query.
PartitionStatus known_status(ServedParts& parts) {
  PartitionStatus one{parts.config.partition().index, {}};
  Status& status = one.status;
  status.process = status_of(parts);
  take_recent_history(status.process, parts.history, std::chrono::steady_clock::now());
  if (status.process.store_trouble)
    status.store_error = failure_of(*status.process.store_trouble).text;
  else if (parts.fleet)
    status.store.emplace().fleet = *parts.fleet;
  return one;
}

AdminPage page_of_all(ServedStores stores, bool refreshes) {
  std::vector<PartitionStatus> all;
  all.reserve(stores.size());
  for (const auto& store : stores) all.push_back(known_status(store->parts()));
  const ProcessStatus& process = all.front().status.process;
  PageFrame frame;
  frame.title = verdict_of_all(all);
  frame.path = "/status";
  frame.partitions = static_cast<std::uint32_t>(stores.size());
  frame.of_all = true;
  frame.host = process.host;
  frame.version = process.version;
  frame.configuration = process.configuration;
  frame.at = process.clock;
  frame.refresh = refreshes ? PageFrame::Refresh::on : PageFrame::Refresh::offered;
  return page_of(frame, partitions_page(all));
}

/// Makes the overview at most once in 5 s, because it may be of hundreds of partitions.
class OverviewOfAll {
 public:
  explicit OverviewOfAll(ServedStores stores) : stores_(stores) {}

  AdminPage page(bool refreshes) {
    const auto now = std::chrono::steady_clock::now();
    Kept& kept = refreshes ? refreshing_ : plain_;
    if (now >= kept.until) kept = {page_of_all(stores_, refreshes), now + std::chrono::seconds(5)};
    return kept.page;
  }

 private:
  struct Kept {
    AdminPage page;
    std::chrono::steady_clock::time_point until;
  };
  ServedStores stores_;
  Kept plain_, refreshing_;
};

/// Redirects to the page of the feed's partition. The URL is relative, so that it also works behind a proxy's prefix.
AdminPage lead_on(ServedStores stores, const std::string& path, const std::string& query) {
  const std::size_t partition = partition_of_feed(stores, parameter(query, "url").value_or(""));
  std::string there;
  for (auto depth = std::ranges::count(path, '/'); depth > 1; --depth) there += "../";
  there += path_of_partition(partition).substr(1) + path + (query.empty() ? "" : "?") + query;
  return {.status = 302, .type = "text/plain; charset=utf-8", .body = "", .location = std::move(there)};
}

}  // namespace

std::vector<Check> live_checks_of(ServedStores stores) {
  return checks_of(stores, [](const ServedParts& parts) { return parts.live_checks(); });
}

Health health_of(ServedStores stores, const Metrics* together) {
  Health health;
  health.live = [stores] { return live_checks_of(stores); };
  health.ready = [stores] { return ready_checks_of(stores); };
  health.metrics = [stores, together] {
    std::vector<const Metrics*> all;
    for (const auto& store : stores) {
      note_figures(store->parts());
      all.push_back(&store->parts().metrics);
    }
    return Metrics::text_of(all, together);
  };
  health.ping = [stores](std::vector<std::string> urls) { return ping_all(stores, std::move(urls)); };
  health.bug = [stores](const char* what) { stores.front()->parts().report_bug("listener", what); };
  return health;
}

AdminPages pages_of(ServedStores stores) {
  AdminPages pages = stores.front()->parts().pages.pages();
  if (stores.size() == 1) return pages;
  const std::vector<std::string> paths = pages.paths;
  std::vector<decltype(pages.answer)> answers;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    answers.push_back(stores[i]->parts().pages.pages().answer);
    for (const std::string& path : paths) pages.paths.push_back(path_of_partition(i) + path);
  }
  const auto of_all = std::make_shared<OverviewOfAll>(stores);
  pages.answer = [stores, answers, of_all](std::string path, std::string query) -> asio::awaitable<AdminPage> {
    const auto named = named_partition(path);
    if (path == "/status") co_return of_all->page(parameter(query, refresh_parameter).has_value());
    if (path == style_path) co_return co_await answers.front()(std::move(path), std::move(query));
    if (!named) co_return lead_on(stores, path, query);
    co_return co_await answers[named->first](std::string(named->second), std::move(query));
  };
  return pages;
}

ByPartition<Callbacks> callbacks_of(ServedStores stores) {
  return those_of<Callbacks>(stores,
                             [](ServedParts& parts) { return parts.websub ? parts.websub->callbacks() : nullptr; });
}

ByPartition<Outside> outside_of(ServedStores stores) {
  return those_of<Outside>(stores,
                           [](ServedParts& parts) { return parts.push_out ? parts.push_out->outside() : nullptr; });
}

void connect_programs(ServedStores stores, Api* of_all) {
  if (stores.size() == 1) return;
  std::vector<Api*> apis;
  for (const auto& store : stores) apis.push_back(&store->parts().api);
  for (Api* const api : apis) api->set_partitions(apis, of_all);
  if (of_all != nullptr) of_all->set_partitions(apis, of_all);
}

ProcessStatus process_status(ServedParts& parts) {
  ProcessStatus status = status_of(parts);
  status.others_trouble = parts.shared.trouble_beside(parts);
  return status;
}

asio::awaitable<void> tell_status(ServedParts& parts) {
  const std::string state = parts.shared.state();
  std::vector<LogField> fields{{"in_flight", parts.in_flight()},
                               {"lanes", parts.all_lanes()},
                               {"inflight_bytes", parts.memory.used()},
                               {"memory_budget_bytes", parts.memory.total()},
                               {"unacknowledged_bytes", parts.unanswered_bytes()},
                               {"suppressed", parts.log.suppressed()}};
  if (parts.is_ready()) {
    const StoreResult<FleetFigures> fleet =
        co_await parts.ingest.store.call([](Store& store) { return Fleet(store).figures(); });
    if (fleet) {
      fields.insert(fields.end(), {{"feeds", fleet->feeds}, {"due", fleet->due}, {"workers", fleet->workers}});
    } else {
      parts.metrics.store_error(fleet.error());
    }
  }
  parts.log.write(LogLevel::info, "notice", state, fields);
}

}  // namespace feedmill
