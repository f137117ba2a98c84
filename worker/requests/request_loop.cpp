#include "worker/requests/request_loop.hpp"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "worker/base/run_on.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds look_for_requests{200};  // one XLEN: nobody measures it
constexpr Milliseconds look_again{1'000};       // for the right to take, which another worker has

}  // namespace

RequestLoop::RequestLoop(asio::any_io_executor executor, const StoreOptions& store, Requests::Options options,
                         RequestRules rules, Metrics& metrics, Log& log)
    : metrics_(metrics),
      log_(log),
      work_(store, std::move(options)),
      rules_(std::make_shared<const RequestRules>(std::move(rules))),
      timer_(std::move(executor)) {
  work_.cancelled = [this] { return stopping_.load(); };
}

RequestLoop::~RequestLoop() {
  thread_.join();
}

void RequestLoop::stop() {
  stopping_ = true;
  timer_.cancel();
}

void RequestLoop::set_rules(RequestRules rules) {
  rules_ = std::make_shared<const RequestRules>(std::move(rules));
}

asio::awaitable<void> RequestLoop::run(bool once) {
  while (!stopping_) {
    const std::shared_ptr<const RequestRules> rules = rules_;
    const StoreResult<RequestStep> step = co_await run_on(thread_, [&] {
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
    told_ = false;
    metrics_.answered_requests(step->answered);
    if (step->poison > 0) {
      log_.write(LogLevel::error, "notice", "requests that three workers died of were set aside",
                 {{"requests", step->poison}});
    }
    if (step->no_memory) metrics_.store_error(*step->no_memory);
    if (!step->idle && !step->waiting && !step->resting) continue;
    if (once) break;
    co_await pause(step->waiting ? look_again : look_for_requests);
  }
  const StoreResult<void> gone = co_await run_on(thread_, [&] { return work_.let_go(); });
  if (!gone) metrics_.store_error(gone.error());
}

asio::awaitable<void> RequestLoop::pause(Milliseconds time) {
  if (stopping_) co_return;
  timer_.expires_after(time);
  co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
}

/// An outage is told by the half that fetches.
void RequestLoop::note(const StoreError& error) {
  metrics_.store_error(error);
  if (is_transient(error) || std::exchange(told_, true)) return;
  log_.write(LogLevel::error, "bug", "requests cannot be taken; it is tried again", {{"detail", error.detail}});
}

}  // namespace feedmill
