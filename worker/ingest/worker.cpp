#include "worker/ingest/worker.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "storage/events/traces.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/redis/test_point.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/units.hpp"
#include "worker/ingest/trace_text.hpp"
#include "worker/observe/notices.hpp"

namespace feedmill {

namespace asio = boost::asio;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr std::size_t max_claims_per_call = 100;           // RELIABILITY L1
constexpr Milliseconds after_bug = std::chrono::hours(1);  // SECURITY Q4
constexpr Milliseconds patience{30'000};                   // how long a worker with a scope waits for the store
constexpr std::size_t max_released = 500;                  // claims released in one call
constexpr std::chrono::milliseconds slow_commit{250};      // RELIABILITY B2
constexpr Milliseconds worth_a_notice{5'000};              // shorter outages are not reported
constexpr const char* suspected = "workers crashed while this feed was the only suspect";
constexpr Milliseconds between_wishes{20};
constexpr Milliseconds listens_again{500};
constexpr Milliseconds gather{10};  // time to collect free lanes for one claim

std::string what(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "unknown exception";
  }
}

}  // namespace

Worker::Worker(asio::any_io_executor executor, Refresher& refresher, StorePool& store, Metrics& metrics, Log& log,
               Outages& outages, WorkerOptions options, const WorkerScope& scope,
               std::function<void(const Report&)> tell)
    : executor_(std::move(executor)),
      refresher_(refresher),
      store_(store),
      metrics_(metrics),
      log_(log),
      options_(std::move(options)),
      trace_(scope.trace),
      scope_(scope, options_.lease),
      tell_(std::move(tell)),
      lanes_(options_.lanes),
      changed_(executor_),
      yielding_(options_.poll),
      catch_up_(options_.catch_up_rate),
      health_(outages),
      pace_(max_claims_per_call) {
  for (Lane& lane : lanes_) free_.push_back(&lane);
}

asio::awaitable<Worker::End> Worker::run() {
  co_await claim_until_stopped();
  co_await drain();
  while (listens_) co_await pause(options_.listen);
  co_return co_await give_back();
}

void Worker::set_limits(const HostLimits& host, std::uint32_t catch_up_rate, Milliseconds drain) {
  options_.host = host;
  catch_up_.set_rate(catch_up_rate);
  options_.drain = drain;
}

void Worker::stop() {
  ++stops_;
  store_.break_wait();
  if (stops_ == 1) {
    stop_at_ = SteadyClock::now() + options_.drain;
  } else {
    for (Lane& lane : lanes_) lane.cancel.emit(asio::cancellation_type::terminal);
  }
  tell_changed();
}

asio::awaitable<void> Worker::claim_until_stopped() {
  while (!stopping() && !scope_.is_done()) {
    if (free_.empty()) {
      co_await wait_for_lanes();
      continue;
    }
    const std::size_t max = must_wait() ? 0 : allowed_now();
    if (max == 0) {
      if (health_.is_up() && refresher_.waiting_for_store() > 0) {  // a look-up failed; commits report it themselves
        metrics_.store_error(refresher_.store_trouble());
        health_.mark_down(refresher_.store_trouble());
      }
      if (scope_.is_limited() && health_.has_been_away(patience)) {
        gave_up_ = true;
        co_return;
      }
      co_await pause(Milliseconds(100));
      continue;
    }
    StoreResult<ClaimBatch> batch = ClaimBatch();
    const StoreResult<void> told = co_await give_back_left();
    if (told)
      batch = co_await claim(max);
    else
      batch = told.error();
    if (!batch) {
      const bool goes_on = co_await back_off_after(batch.error());
      if (!goes_on) co_return;
      continue;
    }
    co_await store_came(batch->now);
    note_batch(*batch);
    Milliseconds due_for{};
    for (Claim& claim : batch->claims) {
      due_for = std::max(due_for, batch->now - claim.due);
      start(std::move(claim));
    }
    std::vector<Notice> notices;
    for (const auto& feed : batch->quarantined)
      notices.push_back(quarantine_notice(feed.feed_url, suspected, batch->now));
    co_await tell_operators(std::move(notices));
    yielding_.looked(due_for, batch->exhausted, SteadyClock::now());
    if (!batch->exhausted || stopping() || scope_.is_done()) continue;
    if (wished_) {  // limits claims to one per pause, however many wishes arrive
      co_await pause(between_wishes);
      wished_ = false;
      continue;
    }
    if (rests())
      co_await rest(until_next_look(*batch));
    else
      co_await pause_for_wish(until_next_look(*batch));
  }
}

/// Rests for the whole time, even if feeds become due or refreshes end.
asio::awaitable<void> Worker::rest(Milliseconds until_due) {
  const auto until = SteadyClock::now() + yielding_.rest(until_due);
  while (rests() && health_.is_up() && !stopping() && SteadyClock::now() < until)
    co_await pause(std::chrono::ceil<Milliseconds>(until - SteadyClock::now()));
}

/// Time until the next claim. A client that makes a feed due sooner wakes daemons (RELIABILITY L10), but the
/// notification can be lost.
Milliseconds Worker::until_next_look(const ClaimBatch& batch) {
  const Milliseconds longest = scope_.is_limited() ? options_.poll : options_.look;
  const auto next = scope_.next_wanted(batch);
  return next ? std::clamp(*next - batch.now, Milliseconds(1), longest) : longest;
}

asio::awaitable<StoreResult<ClaimBatch>> Worker::claim(std::size_t max) {
  ClaimRequest request;
  request.worker = options_.id;
  if (!repeat_request_) ++request_;
  request.request = request_;
  request.max = max;
  request.lease = options_.lease;
  request.host = options_.host;
  request.overdue_rate = catch_up_.now();
  if (scope_.needs_start()) {
    const StoreResult<Milliseconds> now = co_await store_.call([](Store& store) { return Ingest(store).unspread(); });
    if (!now) co_return now.error();
    scope_.start_at(*now);
  }
  scope_.narrow(request, repeat_request_, store_now_);
  const auto from = SteadyClock::now();
  test_point("S0");
  StoreResult<ClaimBatch> batch = co_await store_.call([&](Store& store) { return Ingest(store).claim(request); });
  repeat_request_ = !batch;  // RELIABILITY L3: a repeated number returns the same batch
  if (batch) {
    metrics_.claimed(*batch, SteadyClock::now() - from);
    store_now_ = batch->now;
  }
  co_return batch;
}

/// Waits until enough lanes are free for one claim to take many feeds; once one is free, waits only briefly.
asio::awaitable<void> Worker::wait_for_lanes() {
  while (free_.empty() && !stopping()) {
    co_await pause(options_.poll);
  }
  const auto until = SteadyClock::now() + gather;
  while (free_.size() < worth_a_claim() && !stopping() && SteadyClock::now() < until) {
    co_await pause(gather);
  }
}

/// Waits until something changes, or for `longest`.
asio::awaitable<void> Worker::pause(Milliseconds longest) {
  changed_.expires_after(longest);
  co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
}

/// Like pause(), but ends early if a client makes a feed due (RELIABILITY L10).
asio::awaitable<void> Worker::pause_for_wish(Milliseconds longest) {
  idle_ = true;
  if (!scope_.is_limited() && !std::exchange(listens_, true)) {
    asio::co_spawn(executor_, wait_for_wish(), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);  // out of memory: ends the loop, main() reports it
    });
  }
  co_await pause(longest);
  idle_ = false;
}

asio::awaitable<void> Worker::wait_for_wish() {
  bool failed = false;
  for (bool goes_on = true; goes_on && !wished_; goes_on = idle_ && !rests() && !stopping()) {
    const StoreResult<bool> told = co_await store_.wait_for_wish(options_.listen);
    wished_ = wished_ || (told && *told);
    if (!told && !stopping()) {
      if (!std::exchange(failed, true)) {
        tell_changed();  // a claim detects whether the store is down; if not, claims keep their own pace
        metrics_.store_error(told.error());
      }
      asio::steady_timer rest(executor_, listens_again);
      co_await rest.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }
  listens_ = false;
  if (wished_ || stopping()) tell_changed();
}

void Worker::tell_changed() {
  changed_.cancel();
}

/// The maximum number of feeds for the next claim.
std::size_t Worker::allowed_now() {
  return refresher_.is_short_of_memory() ? 0 : std::min(free_.size(), pace_.allowed(SteadyClock::now()));
}

void Worker::set_fleet(const FleetFigures& figures) {
  catch_up_.set_feeds(figures.feeds);
  const bool yielded = yields();
  yielding_.set(options_.yields && !figures.first.empty() && figures.first != process_of(options_.id));
  if (yielded && !yields()) tell_changed();
}

void Worker::note_batch(const ClaimBatch& batch) {
  for (const std::string& url : batch.refused) {
    Report report;
    report.feed_url = url;
    report.outcome = Outcome::failed;
    report.reason = Reason::store_refused;
    report.detail = "state key has the wrong type (want hash); feed postponed for one day";
    report.next_in = std::chrono::hours(24);
    metrics_.record(report);
    log_.write(LogLevel::error, "refresh", "the store refuses a feed: its state key has the wrong type (want hash)",
               {{"feed", feed_id(url)}, {"url", url}, {"reason", to_string(report.reason)}});
    if (tell_) tell_(report);
  }
  note_quarantined(batch);
  for (const ClaimBatch::Deferred& deferred : scope_.note(batch)) tell_put_off(deferred, batch.now);
}

void Worker::tell_put_off(const ClaimBatch::Deferred& deferred, Milliseconds now) {
  if (!tell_) return;
  Report report;
  report.feed_url = deferred.feed_url;
  report.outcome = Outcome::deferred;
  report.reason = Reason::worker_host_wait;
  report.detail =
      "its host refuses requests; it waits until " + format_time(std::chrono::system_clock::time_point(deferred.due));
  report.next_in = deferred.due - now;
  report.due_reason = deferred.code;
  tell_(report);
}

/// RELIABILITY G5: sends notices that are not events.
asio::awaitable<void> Worker::tell_operators(std::vector<Notice> notices) {
  if (notices.empty()) co_return;
  const auto work = [&](Store& store) { return Notifications(store).add(notices); };
  const StoreResult<void> done = co_await store_.call(work);
  if (!done) metrics_.store_error(done.error());
}

/// SECURITY Q2: logs one line for each feed; there is no event.
void Worker::note_quarantined(const ClaimBatch& batch) {
  for (const ClaimBatch::Deferred& feed : batch.quarantined) {
    const std::chrono::duration<double> wait = feed.due - batch.now;
    log_.write(LogLevel::error, "quarantine",
               std::string(suspected) + "; it is retried later, alone. Please report it with the document at the URL",
               {{"feed", feed_id(feed.feed_url)},
                {"url", feed.feed_url},
                {"why", feed.code},
                {"state_to", "quarantined"},
                {"next_due_s", wait.count()}});
  }
}

void Worker::start(Claim claim) {
  Lane& lane = *free_.back();
  free_.pop_back();
  lane.claim = std::move(claim);
  if (stopping()) return;  // too late: release it at the end
  ++in_flight_;
  ++claimed_;
  asio::co_spawn(executor_, refresh_in(lane),
                 asio::bind_cancellation_slot(
                     lane.cancel.slot(), [this, &lane](const std::exception_ptr& error) { finished(lane, error); }));
}

/// A feed that triggers a bug is postponed: returning at the end of each lease, it would poll its host forever.
asio::awaitable<void> Worker::refresh_in(Lane& lane) {
  std::exception_ptr error;
  std::optional<FollowedRefresh> followed;
  TraceText* trace = trace_;
  if (trace == nullptr && lane.claim->state.trace_until > lane.claim->now) {
    trace = &followed.emplace(*lane.claim, refresher_.options().reading.max_body_bytes).trace();
  }
  try {
    lane.report = co_await refresher_.refresh(*lane.claim, trace);
    const Report& report = lane.report;
    std::vector<Notice> notices;
    if (auto notice = state_notice(report, lane.claim->now)) notices.push_back(std::move(*notice));
    if (report.storm && report.circuit_opened) {
      notices.push_back(storm_notice(report.host, report.host_cause, lane.claim->now));
    }
    if (report.move_taken) notices.push_back(collision_notice(report.feed_url, report.moved_to, lane.claim->now));
    if (report.state_to == "quarantined" && report.state_from != report.state_to) {
      const std::string why = "its document could not be read three times in a row: " + report.detail;
      notices.push_back(quarantine_notice(report.feed_url, why, lane.claim->now));
    }
    const PushNews news = push_news(report);
    note_turn(log_, metrics_, news);
    for (Notice& notice : turn_notices(news, lane.claim->now)) notices.push_back(std::move(notice));
    co_await tell_operators(std::move(notices));
    if (followed) {
      followed->ended(report);
      co_await write_down(*followed);
    }
    co_return;
  } catch (...) {
    error = std::current_exception();
  }
  if (!is_cancellation(error)) {
    co_await postpone(*lane.claim, after_bug);
    if (followed) {
      followed->failed(what(error));
      co_await write_down(*followed);
    }
  }
  std::rethrow_exception(error);
}

/// A failed trace write must not fail the refresh.
asio::awaitable<void> Worker::write_down(const FollowedRefresh& followed) {
  const auto work = [&](Store& store) { return Traces(store).append(followed.feed_url(), followed.lines()); };
  const StoreResult<void> done = co_await store_.call(work);
  if (!done) metrics_.store_error(done.error());
}

asio::awaitable<void> Worker::postpone(const Claim& claim, Milliseconds wait) {
  const auto work = [&](Store& store) { return Ingest(store).release(std::span(&claim, 1), claim.now + wait); };
  const StoreResult<std::size_t> done = co_await store_.call(work);
  if (!done) {
    metrics_.store_error(done.error());
    left_.push_back(claim);
  }
}

void Worker::finished(Lane& lane, const std::exception_ptr& error) {
  const bool cancelled = error && is_cancellation(error);
  Report& report = lane.report;
  if (error) {
    report = Report();
    report.feed_url = lane.claim->feed_url;
    report.state_from = report.state_to = lane.claim->state.state;
    report.outcome = cancelled ? Outcome::aborted : Outcome::failed;
    report.reason = cancelled ? Reason::worker_cancelled : Reason::worker_bug;
    report.detail = cancelled ? "the worker was stopped" : what(error);
    if (!cancelled) metrics_.bug();
  }
  if (report.next_in.count() > 0) catch_up_.observe(report.next_in);
  metrics_.record(report);
  log_refresh(log_, report);
  if (tell_) tell_(report);
  if (report.claim_release_pending && lane.claim) left_.push_back(*lane.claim);
  --in_flight_;
  if (!cancelled) lane.claim.reset();  // a cancelled one is released at the end
  free_.push_back(&lane);
  // One more free lane does not justify an earlier claim.
  const bool others_wait = scope_.finished(report.feed_url);
  if (others_wait || free_.size() == 1 || free_.size() == worth_a_claim() || in_flight_ == 0 || stopping())
    tell_changed();
}

/// RELIABILITY D1: lets running refreshes finish, and cancels those that do not finish in time.
asio::awaitable<void> Worker::drain() {
  bool hurried = false;
  while (in_flight_ > 0) {
    Milliseconds left(1000);
    if (stopping() && !hurried) {
      left = std::chrono::duration_cast<Milliseconds>(stop_at_ - SteadyClock::now());
      if (left.count() <= 0) {
        hurried = true;
        for (Lane& lane : lanes_) lane.cancel.emit(asio::cancellation_type::terminal);
        continue;
      }
    }
    co_await pause(left);
  }
}

/// RELIABILITY L9, D2: releases all claims and removes the worker from the fleet.
asio::awaitable<Worker::End> Worker::give_back() {
  std::vector<Claim> left = std::move(left_);
  for (Lane& lane : lanes_) {
    if (lane.claim) left.push_back(std::move(*lane.claim));
  }
  if (left.empty() && !health_.is_up())
    co_return gave_up_ ? End::store_away : End::clean;  // the heartbeat expires by itself
  const StoreResult<void> gone = co_await store_.call([&](Store& store) -> StoreResult<void> {
    if (!left.empty()) {
      if (auto released = Ingest(store).release(left); !released) return released.error();
    }
    return Fleet(store).retire(options_.id);
  });
  if (gave_up_) co_return End::store_away;
  co_return gone || left.empty() ? End::clean : End::claims_left;
}

bool Worker::holds_claims() const {
  return !left_.empty() || std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.claim.has_value(); });
}

void Worker::note_commit(const StoreResult<Committed>& result, std::chrono::duration<double> took) {
  if (took > slow_commit || refresher_.unanswered_bytes() > options_.buffer / 2) pace_.slow(SteadyClock::now());
  if (!result) note_failure(result.error());
}

void Worker::note_failure(const StoreError& error) {
  if (!is_transient(error)) return;
  const bool was_up = health_.is_up();
  health_.mark_down(error);
  if (was_up) tell_changed();  // a claim detects the end of the outage
}

asio::awaitable<void> Worker::on_eviction_check(StoreResult<void> fit) {
  const bool evicts = fit.has_error() && fit.error().code == StoreError::Code::unsupported;
  if (fit.has_error() && !evicts) co_return;  // claims will detect the failure
  const bool news = evicts && !evicts_keys_;
  evicts_keys_ = evicts;
  if (evicts) health_.mark_down(fit.error());
  if (!news || !options_.tells_of_eviction) co_return;
  std::vector<Notice> notices{unfit_notice(fit.error(), store_now_)};
  co_await tell_operators(std::move(notices));
}

/// Whether to claim nothing: the store rejects results, or too many are waiting for it.
bool Worker::must_wait() const {
  return evicts_keys_ || refresher_.waiting_for_store() > 0 || refresher_.unanswered_bytes() >= options_.buffer;
}

/// Waits before the next call to the store. False if the worker should give up.
asio::awaitable<bool> Worker::back_off_after(StoreError error) {
  metrics_.store_error(error);
  health_.mark_down(error);
  gave_up_ = scope_.is_limited() && health_.has_been_away(patience);
  if (!gave_up_) co_await pause(health_.next_wait());
  co_return !gave_up_;
}

/// Releases claims of refreshes that ended while the store was down; otherwise they would look like those of a dead
/// worker (SECURITY Q1).
asio::awaitable<StoreResult<void>> Worker::give_back_left() {
  while (!left_.empty()) {
    // More claims may be added during the call.
    const auto first = left_.end() - static_cast<std::ptrdiff_t>(std::min(left_.size(), max_released));
    const std::vector<Claim> some(std::make_move_iterator(first), std::make_move_iterator(left_.end()));
    left_.erase(first, left_.end());
    const auto work = [&](Store& store) { return Ingest(store).release(some); };
    const StoreResult<std::size_t> done = co_await store_.call(work);
    if (done) continue;
    left_.insert(left_.end(), some.begin(), some.end());
    co_return done.error();
  }
  co_return StoreResult<void>();
}

asio::awaitable<void> Worker::store_came(Milliseconds now) {
  if (must_wait()) co_return;  // the store accepts claims, but no commits
  const std::optional<Outage> outage = health_.mark_up();
  if (!outage || (outage->length < worth_a_notice && !needs_operator(outage->last))) co_return;
  std::vector<Notice> notices{outage_notice(*outage, now)};
  co_await tell_operators(std::move(notices));
}

}  // namespace feedmill
