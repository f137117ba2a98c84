#include "worker/commands/doctor.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/commands/plan.hpp"
#include "worker/commands/store.hpp"
#include "worker/config/run_options.hpp"
#include "worker/doctor.hpp"
#include "worker/http/web_url.hpp"
#include "worker/interrupt.hpp"

namespace feedmill {
namespace {

Milliseconds wall_clock() {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

/// Tells findings as they come and remembers the worst.
class Reporter {
 public:
  explicit Reporter(Terminal& terminal) : terminal_(terminal) {}

  void tell(const Finding& finding) {
    failed_ = failed_ || finding.verdict == Verdict::fail;
    if (terminal_.json()) {
      boost::json::object row = json_row();
      row["check"] = finding.check;
      row["verdict"] = to_string(finding.verdict);
      row["text"] = visible(finding.text);
      row["remedy"] = finding.remedy.empty() ? boost::json::value() : boost::json::value(visible(finding.remedy));
      terminal_.line(row);
    } else {
      const std::string verdict = fmt::format("{:<5}", to_string(finding.verdict));
      terminal_.line(fmt::format("{}{:<16}{}{}", finding.verdict == Verdict::ok ? verdict : terminal_.red(verdict),
                                 finding.check, visible(finding.text),
                                 finding.remedy.empty() ? "" : ": " + visible(finding.remedy)));
    }
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
StoreResult<std::vector<HostLoad>> unfit_hosts(Store& store, const std::vector<std::string>& urls,
                                               const PlanOptions& options, std::size_t& hosts) {
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
    const auto records = all_records(store, feeds);
    if (records.has_error()) return records.error();
    HostLoad load{host, feeds.size(), 0, 0, possible};
    for (const std::optional<FeedRecord>& record : *records) {
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

Finding store_finding(const VerbFailure& failure) {
  return {"redis", Verdict::fail, failure.text, "until then nothing of the store can be checked"};
}

/// A name that this deployment looks up; one that always exists when it has none.
std::string name_to_look_up(const std::vector<std::string>& urls) {
  for (const std::string& url : urls) {
    std::string host = host_of(url);
    if (!is_address(host) && host != "localhost") return host;
  }
  return "example.com";
}

/// All that hangs on Redis; the registered feeds.
std::vector<std::string> check_store(const Config& config, Reporter& reporter) {
  auto session = StoreSession::connect(config);
  if (session.has_error()) {
    reporter.tell(store_finding(session.error()));
    return {};
  }
  Store& store = session->store();
  const auto facts = store.server_facts();
  if (facts.has_error()) {
    reporter.tell(store_finding(failure_of(facts.error())));
    return {};
  }
  const auto opened = store.open(false);
  if (opened.has_error()) {
    reporter.tell(Finding{"redis", Verdict::fail, facts->server, failure_of(opened.error()).text});
  } else {
    reporter.tell(Finding{"redis", Verdict::ok,
                          fmt::format("{}, {}, {}, {}", facts->server, facts->role, facts->policy, facts->link), ""});
  }
  reporter.tell(check_server(*facts, wall_clock()));
  const auto urls = store.feeds();
  if (urls.has_error()) {
    reporter.tell(store_finding(failure_of(urls.error())));
    return {};
  }
  reporter.tell(check_contact(urls->size(), config.fetch.contact));
  std::size_t hosts = 0;
  const auto unfit = unfit_hosts(store, *urls, plan_options(config, facts->now, 1), hosts);
  if (unfit.has_error()) {
    reporter.tell(store_finding(failure_of(unfit.error())));
  } else {
    reporter.tell(check_hosts(*unfit, hosts));
  }
  return *urls;
}

}  // namespace

int carry_out(const DoctorVerb&, const Config& config, Terminal& terminal) {
  note_interrupts();
  Reporter reporter(terminal);
  for (const std::string& warning : config.warnings)
    reporter.tell(Finding{"configuration", Verdict::warn, warning, ""});
  if (config.warnings.empty()) reporter.tell(Finding{"configuration", Verdict::ok, "read and legal", ""});
  reporter.tell(check_data_directory(config));
  const std::vector<std::string> urls = check_store(config, reporter);
  stop_if_interrupted();
  reporter.tell(check_descriptors(descriptor_limit(), config.worker.lanes));
  const FetchOptions fetching = fetch_options(config, *egress_policies(config), 1, RunMode::selected);
  reporter.tell(check_websub(config));
  reporter.tell(check_tls_roots(fetching.ca_bundle));
  reporter.tell(check_dns(fetching.resolver, name_to_look_up(urls)));
  return reporter.exit();
}

}  // namespace feedmill
