#include "worker/requests/request_loop.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "worker/base/server_wait.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds look_again{1'000};  // for what another process is to take first, or has the right to; what rests
constexpr Milliseconds look_for_pages{50};  // whether one has answered

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
      if (once) break;  // the work itself will tell that the store is away
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

/// Begins to look where nobody does yet, and gives up what nobody wants any more. True: something was found.
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

/// Whatever goes wrong the next step meets.
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

/// An outage is told by the half that fetches.
void RequestLoop::note(const StoreError& error) {
  metrics_.store_error(error);
  if (!is_transient(error)) refused_.tell(error);
}

}  // namespace feedmill
