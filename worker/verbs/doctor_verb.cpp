#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/queues/requests.hpp"
#include "storage/queues/subscribers.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/system.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/config.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/operations/subscriptions.hpp"
#include "worker/process/run_options.hpp"
#include "worker/verbs/doctor.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

/// "partition 3 of 16", "partitions 0 to 4, 7 of 16" or "all 16 partitions". `some`: ascending, without duplicates.
std::string partitions_text(const std::vector<unsigned>& some, std::size_t count) {
  if (some.size() == count) return fmt::format("all {} partitions", count);
  std::string text;
  for (std::size_t i = 0; i < some.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < some.size() && some[i + 1] == some[i] + 1) ++i;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", some[first]);
    if (i > first) text += fmt::format(" to {}", some[i]);
  }
  return fmt::format("partition{} {} of {}", some.size() == 1 ? "" : "s", text, count);
}

/// Prints findings as they arrive and remembers the worst. Text output merges equal findings of several partitions.
class DoctorReport {
 public:
  /// `terminal` must outlive this. `partitions`: number of partitions of the store.
  DoctorReport(Terminal& terminal, std::size_t partitions) : terminal_(terminal), partitions_(partitions) {}

  /// Findings belong to this partition until of_all(); until then, only JSON rows are printed at once.
  void of(unsigned partition) { partition_ = partition; }
  void of_all() {
    partition_.reset();
    for (auto first = kept_.begin(); first != kept_.end();) {
      const auto is_another = [&](const Kept& one) { return one.finding.check != first->finding.check; };
      const auto end = std::find_if(first, kept_.end(), is_another);
      tell_check({first, end});
      first = end;
    }
    kept_.clear();
  }

  void tell(const Finding& finding) {
    failed_ = failed_ || finding.verdict == Verdict::fail;
    if (partition_ && !terminal_.json()) {
      keep(finding);
      return;
    }
    const std::string verdict = fmt::format("{:<5}", to_string(finding.verdict));
    const std::string remedy = visible(finding.remedy);
    boost::json::object row{{"check", finding.check},
                            {"verdict", to_string(finding.verdict)},
                            {"text", visible(finding.text)},
                            {"remedy", text_or_null(remedy)}};
    if (partition_) row["partition"] = *partition_;
    terminal_.tell(std::move(row),
                   fmt::format("{}{:<16}{}{}{}", finding.verdict == Verdict::ok ? verdict : terminal_.red(verdict),
                               finding.check, visible(finding.text), remedy.empty() ? "" : ": ", remedy));
    terminal_.flush();
  }
  void tell(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) tell(finding);
  }
  /// Exit code: `no` if a check failed.
  int exit() const { return failed_ ? exits::no : exits::done; }

 private:
  /// A finding and the partitions that have it, ascending.
  struct Kept {
    Finding finding;
    std::vector<unsigned> partitions;
  };

  void keep(const Finding& finding) {
    auto behind = kept_.end();
    for (auto one = kept_.begin(); one != kept_.end(); ++one) {
      if (one->finding.check != finding.check) continue;
      behind = one + 1;
      const auto what = [](const Finding& of) { return std::tie(of.verdict, of.text, of.remedy); };
      if (what(one->finding) != what(finding)) continue;
      if (one->partitions.back() != *partition_) one->partitions.push_back(*partition_);
      return;
    }
    kept_.insert(behind, Kept{finding, {*partition_}});
  }
  /// If a check passed with many different details, prints only that it passed.
  void tell_check(std::span<const Kept> kept) {
    constexpr std::ptrdiff_t most_ways = 4;
    const auto is_well = [](const Kept& one) { return one.finding.verdict == Verdict::ok; };
    const bool in_few_ways = std::ranges::count_if(kept, is_well) <= most_ways;
    std::set<unsigned> well;
    for (const Kept& one : kept) {
      if (in_few_ways || !is_well(one))
        tell_of(one.finding, one.partitions);
      else
        well.insert(one.partitions.begin(), one.partitions.end());
    }
    if (!well.empty()) tell_of({kept.front().finding.check, Verdict::ok, "well", ""}, {well.begin(), well.end()});
  }
  void tell_of(const Finding& finding, const std::vector<unsigned>& partitions) {
    Finding told = finding;
    told.text += fmt::format(" ({})", partitions_text(partitions, partitions_));
    tell(told);
  }

  Terminal& terminal_;
  const std::size_t partitions_;
  std::optional<unsigned> partition_;
  std::vector<Kept> kept_;  // adjacent for each check
  bool failed_ = false;
};

/// Finds hosts that cannot serve all their feeds. A first pass over all feeds selects hosts that could not poll each
/// feed at the shortest interval; a second pass sums the demand of their feeds. Memory: 8 MiB and a mark per host.
class CrowdedHosts {
 public:
  explicit CrowdedHosts(PlanOptions options) : options_(std::move(options)), rows_(std::size_t{1} << 20U) {}

  void count(const std::string& url) {
    const HostRule rule = options_.hosts.of(server_of(url));
    hosts_.insert(rule.gate);
    Row& row = row_of(rule.gate);
    ++row.feeds;
    const auto possible = static_cast<float>(requests_a_day(rule.limits));
    if (possible > 0 && (row.possible_a_day == 0 || possible < row.possible_a_day)) row.possible_a_day = possible;
  }
  std::size_t hosts() const { return hosts_.size(); }
  /// Call after count() of all feeds.
  bool any_may_be() const {
    return std::ranges::any_of(rows_, [&](const Row& row) { return may_be(row); });
  }
  bool may_be(const std::string& url) { return may_be(row_of(options_.hosts.of(server_of(url)).gate)); }
  /// Adds a feed of a selected host.
  void add(const FeedRecord& record) {
    const HostRule own = options_.hosts.of(server_of(record.feed_url));
    HostLoad& load = loads_.try_emplace(own.gate, HostLoad{own.gate, 0, 0, 0, 0}).first->second;
    ++load.feeds;
    const double possible = requests_a_day(own.limits);
    if (possible > 0 && (load.possible_a_day == 0 || possible < load.possible_a_day)) load.possible_a_day = possible;
    std::optional<PlannedFeed> feed = planned_feed(record);
    if (!feed) return;
    respect(*feed, options_.hosts.of(feed->host));
    load.wanted_a_day += polls_a_day(*feed, options_.schedule, options_.start);
  }
  /// Hosts that cannot serve their feeds, highest demand first.
  std::vector<HostLoad> unfit() const {
    std::vector<HostLoad> unfit;
    for (const auto& [gate, load] : loads_) {
      if (!load.fits()) unfit.push_back(load);
    }
    std::sort(unfit.begin(), unfit.end(), [](const HostLoad& a, const HostLoad& b) {
      return std::tie(b.wanted_a_day, a.host) < std::tie(a.wanted_a_day, b.host);
    });
    return unfit;
  }

 private:
  /// Counts one host, or several with equal hashes: such hosts may be selected needlessly.
  struct Row {
    std::uint32_t feeds = 0;
    float possible_a_day = 0;  ///< of the slowest; 0 = unlimited
  };
  Row& row_of(const std::string& gate) { return rows_[std::hash<std::string>()(gate) & (rows_.size() - 1)]; }
  bool may_be(const Row& row) const {
    const auto shortest = static_cast<double>(std::max(options_.schedule.min_floor, Milliseconds(1)).count());
    return row.possible_a_day > 0 && row.feeds * 86'400'000.0 / shortest > row.possible_a_day;
  }

  PlanOptions options_;
  std::vector<Row> rows_;
  AddressSet hosts_;
  std::unordered_map<std::string, HostLoad> loads_;  // by gate
};

/// Splits a store failure into the problem and, after the last semicolon, its remedy.
Finding store_finding(const VerbFailure& failure) {
  constexpr std::string_view rest = "checks that need the store were skipped";
  const std::size_t at = failure.text.rfind("; ");
  if (at == std::string::npos) return {"redis", Verdict::fail, failure.text, fmt::format("fix that first; {}", rest)};
  return {"redis", Verdict::fail, failure.text.substr(0, at),
          fmt::format("{} ({})", failure.text.substr(at + 2), rest)};
}

/// Feed servers, distinguished where the policy distinguishes them. Keeps one sample of servers that need a name lookup
/// and one of the others.
class FeedServers {
 public:
  explicit FeedServers(const Config& config) : viewer_(look_options(config)) {}

  void add(const std::string& url, FeedSettings settings) {
    const Origin origin = origin_of(url);
    const bool usual = origin.port == (origin.scheme == "https" ? 443U : 80U);
    std::string host = usual ? origin.host : fmt::format("{}:{}", origin.host, origin.port);
    const std::string name =
        fmt::format("{}\n{}\n{}\n{}\n{}", host, origin.port, settings.policy, settings.auth, settings.proxy);
    const std::size_t mark = std::hash<std::string>()(name);
    if (Asked* const known = find(mark)) {
      ++known->feeds;
      return;
    }
    if (!all_.insert(name)) return;  // not in the sample
    Asked asked{std::move(host), {}, 1};
    asked.question.url = url;
    asked.question.settings.policy = std::move(settings.policy);
    asked.question.settings.auth = std::move(settings.auth);
    asked.question.settings.proxy = std::move(settings.proxy);
    const bool by_name = viewer_.of_text(asked.question).verdict == EgressView::Verdict::unknown;
    auto& sample = by_name ? names_ : others_;
    sample.emplace(mark, std::move(asked));
    if (sample.size() > (by_name ? most_names : most_others)) sample.erase(std::prev(sample.end()));
  }

  std::size_t size() const { return all_.size(); }

  /// The policy's verdicts on the sample, sorted by host.
  std::vector<FeedServer> look() {
    std::vector<Asked> asked;
    for (auto* const sample : {&names_, &others_}) {
      for (auto& one : *sample) asked.push_back(std::move(one.second));
    }
    std::ranges::sort(asked, {}, &Asked::host);
    std::vector<EgressQuestion> questions;
    questions.reserve(asked.size());
    for (const Asked& one : asked) questions.push_back(one.question);
    std::vector<EgressView> views = viewer_.of(questions, std::chrono::seconds(5));
    std::vector<FeedServer> looked_at;
    for (std::size_t i = 0; i < views.size(); ++i) {
      looked_at.push_back({std::move(asked[i].host), asked[i].feeds, std::move(views[i])});
    }
    return looked_at;
  }

 private:
  static constexpr std::size_t most_names = 300, most_others = 1000;

  struct Asked {
    std::string host;
    EgressQuestion question;
    std::size_t feeds = 0;
  };
  /// By hash; a sample keeps the lowest.
  using Sample = std::map<std::size_t, Asked>;

  Asked* find(std::size_t mark) {
    for (Sample* const sample : {&names_, &others_}) {
      if (const auto found = sample->find(mark); found != sample->end()) return &found->second;
    }
    return nullptr;
  }

  EgressViewer viewer_;
  AddressSet all_;
  Sample names_, others_;
};

constexpr std::string_view usual_name = "example.com";  // always exists

/// Runs `work`; a store failure becomes a finding.
template <class Work>
void attempt(DoctorReport& report, Work work) {
  try {
    work();
  } catch (const VerbFailure& failure) {
    report.tell(store_finding(failure));
  }
}

/// Checks that depend on feeds, in pages. Returns a host name that this deployment resolves.
std::string check_feeds(const Config& config, Store& store, const ServerFacts& facts, DoctorReport& report) {
  std::string name(usual_name);
  CrowdedHosts crowded(plan_options(config, facts.now, 1));
  FeedSample sample;
  std::uint64_t stored = 0;
  FeedServers servers(config);
  over_all_feeds(store, [&](const auto& page) {
    for (const std::optional<FeedRecord>& record : or_fail(Feeds(store).records(page))) {
      if (!record) continue;
      ++stored;
      crowded.count(record->feed_url);
      sample.add(record->feed_url);
      std::string host = host_of(record->feed_url);
      if (name == usual_name && !is_address(host) && host != "localhost") name = std::move(host);
      servers.add(record->feed_url, read_settings(record->state.settings));
    }
  });
  if (crowded.any_may_be()) {
    over_all_feeds(store, [&](const auto& page) {
      std::vector<std::string> some;
      std::ranges::copy_if(page, std::back_inserter(some), [&](const auto& url) { return crowded.may_be(url); });
      for (const std::optional<FeedRecord>& record : or_fail(Feeds(store).records(some))) {
        if (record) crowded.add(*record);
      }
    });
  }
  report.tell(check_packing(or_fail(memory_use(store, sample.urls())), stored));
  report.tell(check_hosts(crowded.unfit(), crowded.hosts()));
  report.tell(check_feed_servers(servers.look(), servers.size()));
  return name;
}

void check_webhooks(const Config& config, Store& store, DoctorReport& report) {
  Subscribers subscribers(store);
  const SubscriberCounts counts = or_fail(subscribers.counts());
  report.tell(check_push_out(config, counts, or_fail(subscribers.is_led())));
}

/// Checks of the merged stream of all partitions (RELIABILITY L28).
void check_of_all(const Config& config, DoctorReport& report) {
  attempt(report, [&] {
    StoreSession session = StoreSession::prepare(config, StoreUse::change, true);
    or_fail(session.store().open(false));
    Config its = config;
    its.push_out.listen.reset();  // documents and the hub belong to one partition each
    check_webhooks(its, session.store(), report);
  });
}

/// Checks that depend on Redis. Returns a host name that this deployment resolves, or one that always exists. Adds the
/// partition to `placed` if its store answers.
std::string check_store(const Config& config, DoctorReport& report, std::vector<PlacedPartition>& placed) {
  std::string name(usual_name);
  attempt(report, [&] {
    StoreSession session = StoreSession::prepare(config);
    Store& store = session.store();
    const ServerFacts facts = or_fail(Fleet(store).server());
    if (const auto opened = store.open(false); opened.has_error()) {
      report.tell(Finding{"redis", Verdict::fail, facts.server, failure_of(opened.error()).text});
    } else {
      report.tell(Finding{"redis", Verdict::ok,
                          fmt::format("{}, {}, {}, {}", facts.server, facts.role, facts.policy, facts.link), ""});
    }
    report.tell(check_server(facts, wall_clock()));
    const std::uint64_t feeds = or_fail(Feeds(store).count());
    placed.push_back({config.partition().index, or_fail(store.node()), feeds});
    attempt(report, [&] {
      report.tell(check_requests(or_fail(Requests(store, {}).figures())));
      report.tell(check_fleet(or_fail(Fleet(store).figures()), or_fail(EventStream(store).figures())));
    });
    attempt(report, [&] { check_webhooks(config, store, report); });
    report.tell(check_contact(feeds, config.fetch.contact));
    attempt(report, [&] { name = check_feeds(config, store, facts, report); });
  });
  return name;
}

int examine(const OperationValues&, const Config& config, Terminal& terminal) {
  note_interrupts();
  const std::vector<Config> configs = config.of_each_partition();
  DoctorReport report(terminal, config.redis.partitions);
  for (const std::string& warning : config.warnings) report.tell(Finding{"configuration", Verdict::warn, warning, ""});
  if (config.warnings.empty()) report.tell(Finding{"configuration", Verdict::ok, "readable and valid", ""});
  report.tell(check_data_directory(config));
  report.tell(check_poison_directory(config));
  std::string name;
  std::vector<PlacedPartition> placed;
  for (const Config& its : configs) {
    if (!its.partition().is_whole()) report.of(its.partition().index);
    name = check_store(its, report, placed);
    stop_if_interrupted();
  }
  report.of_all();
  if (configs.size() > 1 && config.signals.merged) {
    if (!terminal.json()) terminal.note("of all partitions:");
    check_of_all(config, report);
  }
  report.tell(check_partitions(placed));
  report.tell(check_descriptors(descriptor_limit(), config));
  const FetchOptions fetching = fetch_options(config, *egress_policies(config), 1, RunMode::selected);
  const EgressViewer viewer(look_options(config));
  report.tell(check_egress_policy(config, viewer.standard()));
  report.tell(check_named_policies(viewer.named()));
  if (!fetching.proxy.empty()) report.tell(check_proxy(config, fetching.resolver));
  report.tell(check_websub(config));
  report.tell(check_tls_roots(fetching.ca_bundle));
  report.tell(check_dns(fetching.resolver, name));
  return report.exit();
}

}  // namespace

VerbRow doctor_verb() {
  return {.name = "doctor",
          .about = "Check Redis, network, limits and configuration, and suggest fixes",
          .example = "feedmill doctor",
          .exits = "1 when a check fails",
          .run = examine};
}

}  // namespace feedmill
