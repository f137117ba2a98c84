#include <algorithm>
#include <chrono>
#include <map>
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
#include "storage/requests/requests.hpp"
#include "worker/base/interrupt.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/wall_clock.hpp"
#include "worker/command_line/operation_verbs.hpp"
#include "worker/config/config.hpp"
#include "worker/diagnosis/doctor.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/process/run_options.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/plan_verb.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

/// Tells findings as they come and remembers the worst.
class Reporter {
 public:
  explicit Reporter(Terminal& terminal) : terminal_(terminal) {}

  void tell(const Finding& finding) {
    failed_ = failed_ || finding.verdict == Verdict::fail;
    const std::string verdict = fmt::format("{:<5}", to_string(finding.verdict));
    const std::string remedy = visible(finding.remedy);
    terminal_.tell({{"check", finding.check},
                    {"verdict", to_string(finding.verdict)},
                    {"text", visible(finding.text)},
                    {"remedy", text_or_null(remedy)}},
                   fmt::format("{}{:<16}{}{}{}", finding.verdict == Verdict::ok ? verdict : terminal_.red(verdict),
                               finding.check, visible(finding.text), remedy.empty() ? "" : ": ", remedy));
    terminal_.flush();
  }
  void tell(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) tell(finding);
  }
  int exit() const { return failed_ ? exits::no : exits::done; }

 private:
  Terminal& terminal_;
  bool failed_ = false;
};

/// The hosts whose feeds cannot fit. Of hosts with so few feeds that they fit however often those are polled no record
/// is read.
std::vector<HostLoad> unfit_hosts(Store& store, const std::vector<std::string>& urls, const PlanOptions& options,
                                  std::size_t& hosts) {
  std::unordered_map<std::string, std::vector<std::string>> by_host;
  std::unordered_map<std::string, HostRule> rules;  // by gate
  for (const std::string& url : urls) {
    HostRule rule = options.hosts.of(host_of(url));
    by_host[rule.gate].push_back(url);
    HostRule& slowest = rules.try_emplace(rule.gate, rule).first->second;
    if (rule.limits.spacing > slowest.limits.spacing) slowest = std::move(rule);
  }
  hosts = by_host.size();
  std::vector<HostLoad> unfit;
  const auto shortest = static_cast<double>(std::max(options.schedule.min_floor, Milliseconds(1)).count());
  for (const auto& [host, feeds] : by_host) {
    const double possible = requests_a_day(rules.at(host).limits);
    const double most = static_cast<double>(feeds.size()) * 86'400'000.0 / shortest;
    if (possible == 0 || most <= possible) continue;
    HostLoad load{host, feeds.size(), 0, 0, possible};
    for (const std::optional<FeedRecord>& record : all_records(store, feeds)) {
      if (auto feed = record ? planned_feed(*record) : std::nullopt) {
        respect(*feed, options.hosts.of(feed->host));
        load.wanted_a_day += polls_a_day(*feed, options.schedule, options.start);
      }
    }
    if (!load.fits()) unfit.push_back(std::move(load));
  }
  std::sort(unfit.begin(), unfit.end(), [](const HostLoad& a, const HostLoad& b) {
    return std::tie(b.wanted_a_day, a.host) < std::tie(a.wanted_a_day, b.host);
  });
  return unfit;
}

/// What is wrong, and behind the last semicolon what to do about it, as failures of the store are worded.
Finding store_finding(const VerbFailure& failure) {
  constexpr std::string_view rest = "what hangs on the store was not checked";
  const std::size_t at = failure.text.rfind("; ");
  if (at == std::string::npos) return {"redis", Verdict::fail, failure.text, fmt::format("mend that first; {}", rest)};
  return {"redis", Verdict::fail, failure.text.substr(0, at),
          fmt::format("{} ({})", failure.text.substr(at + 2), rest)};
}

/// The servers of feeds, as far as the policy tells them apart.
class FeedServers {
 public:
  explicit FeedServers(const Config& config) : viewer_(look_options(config)) {}

  const EgressViewer& viewer() const { return viewer_; }

  void add(const std::string& url, FeedSettings settings) {
    const Origin origin = origin_of(url);
    const bool usual = origin.port == (origin.scheme == "https" ? 443U : 80U);
    std::string host = usual ? origin.host : fmt::format("{}:{}", origin.host, origin.port);
    Asked& asked =
        servers_[fmt::format("{}\n{}\n{}\n{}\n{}", host, origin.port, settings.policy, settings.auth, settings.proxy)];
    if (asked.feeds == 0) {
      asked.host = std::move(host);
      asked.question.url = url;
      asked.question.settings.policy = std::move(settings.policy);
      asked.question.settings.auth = std::move(settings.auth);
      asked.question.settings.proxy = std::move(settings.proxy);
    }
    ++asked.feeds;
  }

  std::size_t size() const { return servers_.size(); }

  struct Asked {
    std::string host;
    EgressQuestion question;
    std::size_t feeds = 0;
    EgressView view;
  };

  /// Views of at most `most` servers with names, spread over all of them, and of every one without.
  std::vector<Asked> look(std::size_t most) {
    std::size_t names = 0;
    for (auto& [key, asked] : servers_) {
      asked.view = viewer_.of_text(asked.question);
      if (asked.view.verdict == EgressView::Verdict::unknown) ++names;
    }
    const std::size_t stride = std::max<std::size_t>((names + most - 1) / most, 1);
    std::vector<Asked> looked_at;
    std::size_t name = 0;
    for (auto& [key, asked] : servers_) {
      const bool left_out = asked.view.verdict == EgressView::Verdict::unknown && name++ % stride != 0;
      if (!left_out) looked_at.push_back(std::move(asked));
    }
    std::vector<EgressQuestion> questions;
    for (const Asked& asked : looked_at) questions.push_back(asked.question);
    const std::vector<EgressView> views = viewer_.of(questions, std::chrono::seconds(5));
    for (std::size_t i = 0; i < views.size(); ++i) looked_at[i].view = views[i];
    return looked_at;
  }

 private:
  EgressViewer viewer_;
  std::map<std::string, Asked> servers_;
};

constexpr std::size_t most_names = 300;

/// What the policy says of the feeds' servers.
std::vector<Finding> feed_server_findings(const Config& config, Store& store, const std::vector<std::string>& urls) {
  FeedServers servers(config);
  in_parts(urls, [&](const auto& part) {  // records of many more are not held at once
    for (const std::optional<FeedRecord>& record : or_fail(Feeds(store).records(part))) {
      if (record) servers.add(record->feed_url, read_settings(record->state.settings));
    }
  });
  const std::size_t all = servers.size();
  std::vector<FeedServer> looked_at;
  for (FeedServers::Asked& asked : servers.look(most_names)) {
    looked_at.push_back({std::move(asked.host), asked.feeds, std::move(asked.view)});
  }
  return check_feed_servers(looked_at, all);
}

/// A name that this deployment looks up; one that always exists when it has none.
std::string name_to_look_up(const std::vector<std::string>& urls) {
  for (const std::string& url : urls) {
    std::string host = host_of(url);
    if (!is_address(host) && host != "localhost") return host;
  }
  return "example.com";
}

/// Has `work` done; that the store fails is a finding.
template <class Work>
void attempt(Reporter& reporter, Work work) {
  try {
    work();
  } catch (const VerbFailure& failure) {
    reporter.tell(store_finding(failure));
  }
}

/// All that hangs on Redis; the registered feeds.
std::vector<std::string> check_store(const Config& config, Reporter& reporter) {
  std::vector<std::string> urls;
  attempt(reporter, [&] {
    StoreSession session = StoreSession::prepare(config);
    Store& store = session.store();
    const ServerFacts facts = or_fail(Fleet(store).server());
    if (const auto opened = store.open(false); opened.has_error()) {
      reporter.tell(Finding{"redis", Verdict::fail, facts.server, failure_of(opened.error()).text});
    } else {
      reporter.tell(Finding{"redis", Verdict::ok,
                            fmt::format("{}, {}, {}, {}", facts.server, facts.role, facts.policy, facts.link), ""});
    }
    reporter.tell(check_server(facts, wall_clock()));
    urls = or_fail(Feeds(store).urls());
    attempt(reporter, [&] {
      reporter.tell(check_requests(or_fail(Requests(store, {}).figures())));
      reporter.tell(check_fleet(or_fail(Fleet(store).figures()), or_fail(EventStream(store).figures())));
    });
    reporter.tell(check_contact(urls.size(), config.fetch.contact));
    attempt(reporter, [&] {
      std::size_t hosts = 0;
      const auto unfit = unfit_hosts(store, urls, plan_options(config, facts.now, 1), hosts);
      reporter.tell(check_hosts(unfit, hosts));
    });
    attempt(reporter, [&] { reporter.tell(feed_server_findings(config, store, urls)); });
  });
  return urls;
}

}  // namespace

int run_verb(const DoctorVerb&, const Config& config, Terminal& terminal) {
  note_interrupts();
  Reporter reporter(terminal);
  for (const std::string& warning : config.warnings)
    reporter.tell(Finding{"configuration", Verdict::warn, warning, ""});
  if (config.warnings.empty()) reporter.tell(Finding{"configuration", Verdict::ok, "read and legal", ""});
  reporter.tell(check_data_directory(config));
  reporter.tell(check_poison_directory(config));
  const std::vector<std::string> urls = check_store(config, reporter);
  stop_if_interrupted();
  reporter.tell(check_descriptors(descriptor_limit(), config.worker.lanes));
  const FetchOptions fetching = fetch_options(config, *egress_policies(config), 1, RunMode::selected);
  const EgressViewer viewer(look_options(config));
  reporter.tell(check_egress_policy(config, viewer.standard()));
  reporter.tell(check_named_policies(viewer.named()));
  if (!fetching.proxy.empty()) reporter.tell(check_proxy(config, fetching.resolver));
  reporter.tell(check_websub(config));
  reporter.tell(check_tls_roots(fetching.ca_bundle));
  reporter.tell(check_dns(fetching.resolver, name_to_look_up(urls)));
  return reporter.exit();
}

}  // namespace feedmill
