#include "worker/refresh.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <span>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace feedmill {

namespace asio = boost::asio;
using Seconds = std::chrono::duration<double>;

namespace {

FetchRequest conditional_get(const Claim& claim) {
  const FeedState& state = claim.state;
  FetchRequest request;
  request.feed_url = claim.feed_url;
  request.url = state.fetch_url.empty() ? claim.feed_url : state.fetch_url;
  request.validators = {state.etag, state.last_modified,
                        state.validators_url.empty() ? request.url : state.validators_url};
  return request;
}

Exchange exchange_of(const FetchRequest& request, const FetchResult& fetched) {
  Exchange exchange;
  exchange.requested_url = request.url;
  if (const auto* response = std::get_if<FetchResponse>(&fetched)) {
    exchange.validators = response->validators();
    exchange.headers = response->headers;
    exchange.wire_bytes = response->wire_bytes;
    exchange.sent_validators = response->conditional;
    exchange.opened_by_allow = response->opened_by_allow;
  } else {
    const auto& error = std::get<FetchError>(fetched);
    exchange.headers = error.headers;
    exchange.wire_bytes = error.wire_bytes;
    exchange.sent_validators = true;  // nothing to count against us
  }
  return exchange;
}

// How long a feed is put off for our own sake, half as much again at random: after a request the least floor holds
// (HTTP P6), and it is not more than 15 minutes (SECURITY M3).
constexpr Milliseconds asked_wait = std::chrono::minutes(10), unasked_wait = std::chrono::seconds(10);

/// Ways for a fetch to end that say nothing about the feed.
bool is_ours(Reason reason) {
  return reason == Reason::worker_memory || reason == Reason::worker_host_wait;
}

template <class Answer>
void note_exchange(Report& report, const Answer& answer) {
  for (const Hop& hop : answer.hops) {
    report.statuses.push_back(hop.status);
    if (hop.status == 301 || hop.status == 308)
      ++report.permanent_redirects;
    else if (hop.status >= 300 && hop.status < 400 && hop.status != 304)
      ++report.temporary_redirects;
  }
  report.wire_bytes = answer.wire_bytes;
  report.connect = answer.timings.connect;
  report.first_byte = answer.timings.first_byte;
  report.connections_new = answer.connections_new;
  report.connections_reused = answer.connections_reused;
}

void note_conditional(Report& report, const Claim& claim, const FetchResult& fetched) {
  const auto* response = std::get_if<FetchResponse>(&fetched);
  if (response == nullptr || response->conditional) return;
  const FeedState& state = claim.state;
  if (state.imported.count() == 0)
    report.unconditional = Unconditional::first;
  else if (state.etag.empty() && state.last_modified.empty())
    report.unconditional = Unconditional::no_validators;
  else
    report.unconditional = Unconditional::target_changed;
}

void note_reading(Report& report, const Claim& claim, const Reading& reading) {
  if (const auto* document = std::get_if<Document>(&reading)) {
    report.body_bytes = document->print.body_bytes;
    report.saved_compression =
        std::max(document->print.body_bytes, document->print.wire_bytes) - document->print.wire_bytes;
    report.flaws = document->flaws;
  } else if (const auto* same = std::get_if<SameBody>(&reading)) {
    report.body_bytes = same->print.body_bytes;
    report.saved_hash = same->print.body_bytes;
  } else if (std::holds_alternative<NotModified>(reading)) {
    report.saved_not_modified = claim.state.wire_bytes;
  }
}

void note_decision(Report& report, const Claim& claim, const Decision& decision) {
  report.outcome = decision.outcome;
  report.reason = decision.reason;
  report.detail = decision.detail;
  report.unchanged = decision.unchanged;
  report.next_in = std::chrono::seconds(decision.retry_in_s);
  report.won = decision.commit.state.won;
  report.state_from = claim.state.state;
  report.state_to = decision.commit.state.state;
}

void note_committed(Report& report, const Decision& decision, const Committed& done) {
  report.created = done.created;
  report.modified = done.modified;
  report.trimmed = done.trimmed;
  const auto count = [&report](const char* type, std::uint32_t times) {
    if (times > 0) report.signals.emplace_back(type, times);
  };
  count("post_created", done.created);
  count("post_modified", done.modified);
  count("post_trimmed", done.trimmed);
  if (done.result != Committed::Result::ok) return;
  for (const FeedSignal& signal : decision.commit.signals) count(signal.type.c_str(), 1);
  if (decision.commit.initial) return;
  const std::int64_t stored = decision.commit.state.last_at.count() / 1000;
  for (const EntryWrite& write : decision.commit.entries) {
    const bool dated = std::any_of(write.set.begin(), write.set.end(), [](const auto& field) {
      return field.first == "date_published" || field.first == "date_updated";
    });
    if (write.id.empty() && dated) report.publish_delays.push_back(static_cast<double>(stored - write.timestamp));
  }
}

/// How long a feed waits whose result the store will not take however often it is offered (RELIABILITY §6): not until
/// the lease ends, which would poll it every 90 s for ever.
std::optional<Milliseconds> put_off_for(const StoreError& error) {
  if (error.code == StoreError::Code::refused) return std::chrono::hours(24);
  if (error.code == StoreError::Code::bug) return std::chrono::hours(1);
  return std::nullopt;
}

/// Nothing was written: what was decided has not come to pass.
void note_nothing_written(Report& report) {
  report.outcome = Outcome::failed;
  report.state_to = report.state_from;
  report.unchanged = 0;
}

void note_store_error(Report& report, const StoreError& error) {
  note_nothing_written(report);
  report.reason = error.code == StoreError::Code::refused ? Reason::store_refused : Reason::store_unavailable;
  report.detail = error.detail;
}

}  // namespace

asio::awaitable<Report> Refresher::refresh(Claim claim) {
  const auto started = std::chrono::steady_clock::now();
  const StoreClock clock(claim.now);
  const Deadline deadline = started + options_.lease;
  Report report;
  report.feed_url = claim.feed_url;
  report.lateness = std::max(Seconds(0), Seconds(claim.now - claim.due));

  MemoryBudget::Share share(memory_, claim.state.body_bytes);  // until the commit is through (SECURITY M2)
  FetchRequest request = conditional_get(claim);
  request.memory = &share;
  FetchResult fetched = co_await fetcher_.fetch(request);
  std::visit([&report](const auto& answer) { note_exchange(report, answer); }, fetched);
  note_conditional(report, claim, fetched);
  const Exchange exchange = exchange_of(request, fetched);

  Reading reading;
  if (has_document(fetched)) {
    const auto read_from = std::chrono::steady_clock::now();
    reading = co_await read_granted(fetched, claim, share);
    report.parse = std::chrono::steady_clock::now() - read_from;
  } else {
    reading = read(fetched, claim.state, options_.reading);
  }
  if (const auto* error = std::get_if<FetchError>(&reading); error != nullptr && is_ours(error->reason)) {
    report = co_await defer(claim, *error, clock.now(), std::move(report));
    report.took = std::chrono::steady_clock::now() - started;
    co_return report;
  }
  note_reading(report, claim, reading);

  StoreResult<void> looked_up;
  const Known known = co_await look_up(claim, reading, deadline, looked_up);
  if (looked_up) {
    const Decision decision = decide(claim, reading, exchange, known, options_.policy, clock.now());
    note_decision(report, claim, decision);
    const auto commit_from = std::chrono::steady_clock::now();
    const StoreResult<Committed> done = co_await commit(decision.commit, deadline);
    report.commit = std::chrono::steady_clock::now() - commit_from;
    if (!done) {
      co_await not_stored(claim, done.error(), clock.now(), report);
    } else if (done->result == Committed::Result::stale) {
      note_nothing_written(report);
      report.reason = Reason::store_stale;
      report.detail = "another worker has claimed the feed since; nothing was written";
    } else {
      note_committed(report, decision, *done);
    }
  } else {
    co_await not_stored(claim, looked_up.error(), clock.now(), report);
  }
  report.took = std::chrono::steady_clock::now() - started;
  co_return report;
}

/// On a CPU thread, in as much memory as is granted; a FetchError with worker.memory when that is not enough.
asio::awaitable<Reading> Refresher::read_granted(FetchResult& fetched, const Claim& claim, MemoryBudget::Share& share) {
  ReadingOptions options = options_.reading;
  std::uint64_t needed = std::min(expected_bytes(fetched), options.max_body_bytes);
  for (;;) {
    const bool covered = co_await share.cover_within(needed, options_.memory_wait);
    if (!covered) break;
    options.granted_bytes = share.document_bytes();
    Reading reading;
    co_await run_on(cpu_, [&] { reading = read(fetched, claim.state, options); });
    const auto* unreadable = std::get_if<Unreadable>(&reading);
    if (unreadable == nullptr || unreadable->reason != Reason::worker_memory) co_return reading;
    needed = std::min(2 * options.granted_bytes, options.max_body_bytes);
  }
  FetchError error;
  error.reason = Reason::worker_memory;
  error.detail = "no memory to decode it in";
  error.sent = true;
  co_return Reading(std::move(error));
}

/// Puts the feed off for our own sake: nothing of the state changes, and it is no failure of the feed (SECURITY M3).
asio::awaitable<Report> Refresher::defer(const Claim& claim, const FetchError& error, Milliseconds now, Report report) {
  static thread_local std::minstd_rand random{std::random_device()()};
  const Milliseconds least = error.sent ? asked_wait : unasked_wait;
  const Milliseconds wait =
      least + Milliseconds(std::uniform_int_distribution<std::int64_t>(0, least.count() / 2)(random));
  report.outcome = Outcome::deferred;
  report.reason = error.reason;
  report.detail = error.detail;
  report.state_from = report.state_to = claim.state.state;
  report.next_in = wait;
  const auto give_back = [&](Store& store) { return store.release(std::span(&claim, 1), now + wait); };
  const auto released = co_await store_.call(give_back);
  if (!released) report.next_in = options_.lease;  // the claim ends with its lease
  co_return report;
}

asio::awaitable<void> Refresher::not_stored(const Claim& claim, const StoreError& error, Milliseconds now,
                                            Report& report) {
  note_store_error(report, error);
  const std::optional<Milliseconds> wait = put_off_for(error);
  report.next_in = wait.value_or(options_.lease);
  if (!wait) co_return;  // the claim ends with its lease
  const auto give_back = [&](Store& store) { return store.release(std::span(&claim, 1), now + *wait); };
  co_await store_.call(give_back);
}

asio::awaitable<Known> Refresher::look_up(const Claim& claim, const Reading& reading, Deadline deadline,
                                          StoreResult<void>& failed) {
  const auto* document = std::get_if<Document>(&reading);
  if (document == nullptr) co_return Known();
  const Store::LookUp wanted{claim.feed_url, document->entries};
  for (int attempt = 0;; ++attempt) {
    StoreResult<Known> known = co_await store_.look_up(wanted);
    if (known) co_return std::move(*known);
    const bool again = co_await worth_waiting(known.error(), attempt, deadline);
    if (!again) {
      failed = known.error();
      co_return Known();
    }
  }
}

asio::awaitable<StoreResult<Committed>> Refresher::commit(const Commit& commit, Deadline deadline) {
  for (int attempt = 0;; ++attempt) {
    StoreResult<Committed> done = co_await store_.commit(commit);
    observer_(done);
    if (done) co_return done;
    const bool again = co_await worth_waiting(done.error(), attempt, deadline);
    if (!again) co_return done;
  }
}

/// Waits before the next try: 50 ms · 2^k, at most 5 s, with jitter; false when trying again is no use or the lease
/// would end meanwhile (RELIABILITY §6, E1, E3).
asio::awaitable<bool> Refresher::worth_waiting(const StoreError& error, int attempt, Deadline deadline) {
  using Code = StoreError::Code;
  if (error.code == Code::refused || error.code == Code::bug || error.code == Code::unsupported) co_return false;
  static thread_local std::minstd_rand random{std::random_device()()};
  Milliseconds longest = std::min(Milliseconds(50) * (1 << std::min(attempt, 7)), Milliseconds(5000));
  if (error.code == Code::out_of_memory || error.code == Code::misconfigured) longest = Milliseconds(5000);
  const Milliseconds wait(std::uniform_int_distribution<std::int64_t>(longest.count() / 2, longest.count())(random));
  if (std::chrono::steady_clock::now() + wait >= deadline) co_return false;
  asio::steady_timer timer(co_await asio::this_coro::executor, wait);
  const auto [cancelled] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return !cancelled;
}

}  // namespace feedmill
