#include "worker/operations/request_work.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "storage/redis/test_point.hpp"
#include "worker/base/terminal.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds look_for_memory{1'000};
constexpr std::size_t most_sought = 2;  // pages sought at once; each is in hand, in case it crashes a worker

}  // namespace

RequestWork::RequestWork(const StoreOptions& store, Requests::Options options)
    : store_(store), requests_(store_, std::move(options)) {}

StoreResult<RequestStep> RequestWork::step(const RequestRules& rules) {
  RequestStep step;
  const auto waiting = requests_.waiting();
  if (!waiting) return waiting.error();
  step.idle = *waiting == 0;
  if (step.idle) {  // nothing to hold the lease for
    if (const auto gone = let_go(); !gone) return gone.error();
    return step;
  }
  // If no taken request is left, take from the start of the stream, so that no position needs to be remembered.
  const auto taken = order_.full() ? requests_.hold() : requests_.take(order_.empty() ? "" : last_);
  if (!taken) return taken.error();
  step.waiting = taken->waiting;
  holding_ = !taken->waiting;
  if (step.waiting) {
    forget();
    return step;
  }
  step.resting = taken->records.empty();
  for (const RequestRecord& record : taken->records) {
    if (cancelled()) return step;
    if (const auto done = take_on(record, rules, step); !done) return done.error();
    last_ = record.id;
  }
  if (const auto done = go_on(rules, step); !done) return done.error();
  for (const auto& [id, page] : pages_) {
    if (!page.found) step.pages.push_back({id, page.url});
  }
  return step;
}

StoreResult<void> RequestWork::let_go() {
  const auto sought = std::exchange(pages_, {});
  forget();
  if (!std::exchange(holding_, false)) return {};
  for (const auto& [id, page] : sought) {  // not counted as a crash
    if (const auto laid_down = requests_.release(id); !laid_down) return laid_down.error();
  }
  return requests_.let_go();
}

void RequestWork::forget() {
  order_.clear();
  under_way_.clear();
  pages_.clear();
}

void RequestWork::found(const std::string& request, FoundPage page) {
  const auto sought = pages_.find(request);
  if (sought != pages_.end()) sought->second.found = std::move(page);
}

std::size_t RequestWork::sought() const {
  return static_cast<std::size_t>(std::ranges::count_if(pages_, [](const auto& one) { return !one.second.found; }));
}

/// Null until the page is found; step() returns it to be probed.
const FoundPage* RequestWork::page_of(const Request& request) {
  const auto [page, is_new] = pages_.try_emplace(request.asked.id, Page{request.given.text("url"), std::nullopt});
  return page->second.found ? &*page->second.found : nullptr;
}

RequestWork::Came RequestWork::ended(const std::string& id) {
  under_way_.erase(id);
  pages_.erase(id);
  return Came::to_its_end;
}

/// Accepts a request just taken: executes it, unless it must wait for an earlier one.
StoreResult<void> RequestWork::take_on(const RequestRecord& record, const RequestRules& rules, RequestStep& step) {
  const Request request = read_request(record);
  const auto named = names(request);
  if (!named) return named.error();
  const bool needs_memory = !request.problem && Requests::needs_memory(request.op);
  // A page that is refused anyway can be answered without waiting for a probe.
  const bool has_page = !request.problem && is_page(request) && !is_refused_page(request, rules);
  if (!order_.comes_before(*named) && !(needs_memory && is_short_of_memory()) &&
      !(has_page && sought() >= most_sought)) {
    const auto came = work_on(request, rules, step);
    if (!came) return came.error();
    if (*came == Came::to_its_end) return {};
  }
  order_.put({record.id, *named, needs_memory, has_page});
  return {};
}

const RequestOrder::Waiting* RequestWork::next() {
  return order_.next([this, is_short = is_short_of_memory()](const RequestOrder::Waiting& one) {
    if (is_short && one.needs_memory) return false;
    if (!one.is_page) return true;
    const auto page = pages_.find(one.id);
    return page == pages_.end() ? sought() < most_sought : page->second.found.has_value();
  });
}

/// Continues the postponed requests in turn until the time slice is over.
StoreResult<void> RequestWork::go_on(const RequestRules& rules, RequestStep& step) {
  const auto until = Clock::now() + part;
  bool worked = false;
  while (!cancelled()) {
    const RequestOrder::Waiting* one = next();
    if (one == nullptr && !worked) one = next();  // the rest of the last round had nothing to do
    if (one == nullptr) return {};
    worked = true;
    step.resting = false;
    const auto taken = requests_.take_again(one->id);
    if (!taken) return taken.error();
    if (taken->waiting) {  // the next step will find the same
      forget();
      return {};
    }
    Came came = Came::to_its_end;
    if (!taken->records.empty()) {
      const auto result = work_on(read_request(taken->records.front()), rules, step);
      if (!result) return result.error();
      came = *result;
    }
    if (came == Came::to_its_end) {
      order_.ended();
    } else {
      order_.stays();
    }
    if (Clock::now() >= until) return {};
  }
  return {};
}

/// The names in a request. Reads the feed of a post only if the request might have to wait for another one.
StoreResult<RequestNames> RequestWork::names(const Request& request) {
  std::string feed_url;
  if (request.op == RequestOp::entry_remove && !request.problem && !order_.empty()) {
    const auto entry = entries_.get(entries_.id_of(request.given.text("id")));
    if (!entry) return entry.error();
    if (*entry) feed_url = (*entry)->get("feed_url");
  }
  return names_of(request, feed_url);
}

StoreResult<RequestWork::Came> RequestWork::work_on(const Request& request, const RequestRules& rules,
                                                    RequestStep& step) {
  const auto begun = requests_.begin(request.asked);
  if (!begun) return begun.error();
  if (begun->state == Begun::State::gone) return ended(request.asked.id);
  if (begun->state != Begun::State::go) {
    ++step.answered;
    if (begun->state == Begun::State::poison) ++step.poison;
    return ended(request.asked.id);
  }
  test_point("S17");
  InParts& parts = under_way_[request.asked.id];
  parts.ended_early = false;
  parts.go_on = [this, first = true, until = Clock::now() + part]() mutable {
    return !cancelled() && (std::exchange(first, false) || Clock::now() < until);
  };
  const PageOf page_of_it = [this](const Request& one) { return page_of(one); };
  auto done = carry_out({store_, requests_, request, begun->note, parts, rules, page_of_it});
  const bool part_way = done && parts.ended_early;
  if (!done && Requests::is_in_other_hands(done.error())) return ended(request.asked.id);
  const auto page = pages_.find(request.asked.id);
  if (done && page != pages_.end() && !page->second.found) return Came::to_a_page;  // it stays in hand
  // An error such as a key of the wrong type would recur forever and block the requests that wait for this one.
  if (!done && !is_transient(done.error())) {
    done = requests_.fail(request.asked, "store_refused", visible(done.error().detail));
  }
  if (!done || part_way) {  // not counted as a crash
    const auto laid_down = requests_.release(request.asked.id);
    if (!done && done.error().code != StoreError::Code::out_of_memory) return done.error();
    if (!laid_down) return laid_down.error();
    if (part_way) return Came::part_way;
    step.no_memory = done.error();
    memory_again_ = Clock::now() + look_for_memory;
    return Came::short_of_memory;
  }
  ++step.answered;
  test_point("S18");
  return ended(request.asked.id);
}

namespace {

std::uint64_t hash_of(char kind, const std::string& name) {
  if (name.empty()) return 0;
  return std::max<std::uint64_t>(1, std::hash<std::string>()(kind + name));
}

}  // namespace

RequestNames names_of(const Request& request, const std::string& entry_feed) {
  const std::string ref = request.asked.ref.empty() ? std::string() : request.asked.app + ":" + request.asked.ref;
  RequestNames names{hash_of('r', ref), hash_of('f', entry_feed)};
  if (request.problem) return names;
  std::size_t count = entry_feed.empty() ? 1 : 2;
  for (const OperationField& field : request.operation->fields) {
    using Kind = OperationField::Kind;
    const bool is_channel = field.kind == Kind::channel || field.kind == Kind::new_channel;
    const bool is_feed = field.kind == Kind::feed || field.kind == Kind::url;
    if ((!is_channel && !is_feed) || field.repeats || !request.given.has(field.name)) continue;
    names.at(count++) = hash_of(is_channel ? 'c' : 'f', request.given.text(field.name));
  }
  return names;
}

bool RequestOrder::comes_before(const RequestNames& names) const {
  return std::ranges::any_of(names, [&](std::uint64_t name) { return name != 0 && names_.contains(name); });
}

void RequestOrder::put(Waiting request) {
  for (const std::uint64_t name : request.names) {
    if (name != 0) ++names_[name];
  }
  waiting_.push_back(std::move(request));
}

void RequestOrder::clear() {
  waiting_.clear();
  at_ = waiting_.end();
  in_round_ = false;
  names_.clear();
}

const RequestOrder::Waiting* RequestOrder::next(const std::function<bool(const Waiting&)>& can_go) {
  if (!std::exchange(in_round_, true)) {
    at_ = waiting_.begin();
    passed_.clear();
  }
  for (; at_ != waiting_.end(); stays()) {
    const bool waits = std::ranges::any_of(at_->names, [&](std::uint64_t name) { return passed_.contains(name); });
    if (!waits && can_go(*at_)) return &*at_;
  }
  in_round_ = false;
  return nullptr;
}

void RequestOrder::ended() {
  for (const std::uint64_t name : at_->names) {
    const auto found = names_.find(name);
    if (found != names_.end() && --found->second == 0) names_.erase(found);
  }
  at_ = waiting_.erase(at_);
}

void RequestOrder::stays() {
  for (const std::uint64_t name : at_->names) {
    if (name != 0) passed_.insert(name);
  }
  ++at_;
}

namespace asio = boost::asio;

namespace {

constexpr Milliseconds look_again{1'000};   // while another process has the lease or goes first, or requests rest
constexpr Milliseconds look_for_pages{50};  // while pages are probed

}  // namespace

RequestLoop::RequestLoop(const asio::any_io_executor& executor, const StoreOptions& store, Requests::Options options,
                         RequestRules rules, Milliseconds wait, Looks& looks, Metrics& metrics, Log& log)
    : looks_(looks),
      metrics_(metrics),
      log_(log),
      work_(store, std::move(options)),
      rules_(std::make_shared<const RequestRules>(std::move(rules))),
      wait_(wait),
      timer_(executor),
      refused_(metrics, log, "taking requests") {
  work_.cancelled = [this] { return stopping_.load(); };
}

void RequestLoop::stop() {
  stopping_ = true;
  work_.break_wait();
  timer_.cancel();
}

void RequestLoop::set_rules(RequestRules rules) {
  rules_ = std::make_shared<const RequestRules>(std::move(rules));
}

asio::awaitable<void> RequestLoop::run(bool once) {
  while (!stopping_) {
    const std::shared_ptr<const RequestRules> rules = rules_;
    const StoreResult<RequestStep> step = co_await run_on(calls_, [&] {
      work_.set_signals_caps(rules->config.signals.max_len, rules->config.signals.max_bytes);
      return work_.step(*rules);
    });
    metrics_.reconnected(work_.reconnects() - reconnects_);
    reconnects_ = work_.reconnects();
    if (!step) {
      note(step.error());
      if (once) break;  // the work itself will report that the store is down
      co_await pause(wait_before_retry(step.error(), attempts_++));
      continue;
    }
    attempts_ = 0;
    refused_.goes_on();
    metrics_.answered_requests(step->answered);
    if (step->poison > 0) {
      log_.write(
          LogLevel::error, "notice",
          "requests that crashed three workers, or with ids from the future, were moved to state:requests:poison",
          {{"requests", step->poison}});
    }
    if (step->no_memory) metrics_.store_error(*step->no_memory);
    if (look_behind(step->pages)) continue;
    if (!step->idle && !step->waiting && !step->resting) continue;
    if (once && under_way_.empty()) break;
    if (step->idle)
      co_await wait_for_request();
    else
      co_await pause(under_way_.empty() ? look_again : look_for_pages);
  }
  under_way_.clear();
  const StoreResult<void> gone = co_await run_on(calls_, [&] { return work_.let_go(); });
  if (!gone) metrics_.store_error(gone.error());
}

/// Starts missing probes and drops those that no request needs. Returns whether a probe has found something.
bool RequestLoop::look_behind(const std::vector<SoughtPage>& pages) {
  std::erase_if(under_way_, [&](const auto& one) {
    return std::ranges::find(pages, one.first, &SoughtPage::request) == pages.end();
  });
  bool found = false;
  for (const SoughtPage& page : pages) {
    auto& look = under_way_[page.request];
    if (!look) look = looks_.begin(page.url);
    if (!look || !look->done()) continue;
    if (!look->bug().empty()) {
      metrics_.bug();
      log_.write(LogLevel::error, "bug", "feed discovery for a page failed", {{"detail", look->bug()}});
    }
    work_.found(page.request, found_page(look->discovery(), look->is_complete()));
    found = true;
  }
  return found;
}

/// Ends early on an error, which the next step will report.
asio::awaitable<void> RequestLoop::wait_for_request() {
  for (bool waits = true; waits && !stopping_;) {
    const auto begin = [&] { return work_.begin_to_wait(wait_); };
    const auto end = [&] { return work_.has_come(); };
    const StoreResult<bool> come = co_await wait_at_server(calls_, begin, end);
    waits = come && !*come;
    if (come && *come && yields_) co_await pause(look_again);
  }
}

asio::awaitable<void> RequestLoop::pause(Milliseconds time) {
  if (stopping_) co_return;
  timer_.expires_after(time);
  co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
}

/// Counts the error; the fetching half of the process reports the outage.
void RequestLoop::note(const StoreError& error) {
  metrics_.store_error(error);
  if (!is_transient(error)) refused_.tell(error);
}

}  // namespace feedmill
