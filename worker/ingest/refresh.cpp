#include "worker/ingest/refresh.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "storage/ingest/ingest.hpp"
#include "worker/ingest/fetched_document.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

/// How long to postpone a feed with a result that the store never accepts (RELIABILITY §6). Waiting only for the end of
/// the lease would poll the feed every 90 s forever.
std::optional<Milliseconds> put_off_for(const StoreError& error) {
  if (error.code == StoreError::Code::refused) return std::chrono::hours(24);
  if (error.code == StoreError::Code::bug || error.code == StoreError::Code::unsupported) return std::chrono::hours(1);
  if (error.code == StoreError::Code::auth || error.code == StoreError::Code::tls) {
    return std::chrono::minutes(10);  // it was retried for the whole lease
  }
  return std::nullopt;
}

/// Adds to a total during its lifetime.
class Counted {
 public:
  Counted(std::atomic<std::uint64_t>& total, std::uint64_t amount) : total_(total), amount_(amount) {
    total_ += amount_;
  }
  ~Counted() { total_ -= amount_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<std::uint64_t>& total_;
  std::uint64_t amount_;
};

/// The look-up of all posts of a document, including all stored fields if a full comparison is due.
LookUp whole_look_up(const Claim& claim, const Document& document, const StoredFeed* stored,
                     const RefreshOptions& options) {
  return {claim.feed_url,
          document.entries,
          document.deleted,
          document.markup,
          stored,
          claim.failovers,
          compares_all(claim.state, claim.now),
          texts_to_read(claim.state, options.policy.retention).newest};
}

/// Approximate size of a commit in transit.
std::uint64_t bytes_of(const Commit& commit) {
  std::uint64_t bytes = 4096;  // state, events and other small parts
  for (const EntryWrite& write : commit.entries) {
    bytes += 256 + write.guid.size();
    for (const Fields* fields : {&write.set, &write.old}) {
      for (const auto& [name, value] : *fields) bytes += name.size() + value.size();
    }
  }
  return bytes;
}

}  // namespace

asio::awaitable<Report> Refresher::refresh(const Claim& claim, TraceText* trace) {
  FetchedDocument document(fetcher_, threads_, store_, memory_, options_, claim);
  co_return co_await process(claim, document, options_.lease, trace);
}

asio::awaitable<Report> Refresher::process(const Claim& claim, DocumentSource& source, Milliseconds patience,
                                           TraceText* trace) {
  RefreshObserver seen(claim, trace);
  const Deadline deadline = seen.began() + patience;
  Attempt attempt = co_await source.attempt(claim, seen);
  const StoreResult<StoredSnapshot> known = co_await look_up(claim, source, attempt, deadline);
  if (!known) {
    if (source.holds_slots()) co_await source.leave_hosts(claim, nullptr);
    co_return co_await not_stored(claim, known.error(), seen);
  }
  // The store answers many look-ups at once.
  if (std::holds_alternative<Document>(attempt.reading)) co_await threads_.turn_of_loop();
  DecisionResult decision = source.decide(claim, attempt, *known, seen.now());
  if (source.holds_slots()) co_await source.leave_hosts(claim, decision ? &decision->commit.host : nullptr);
  if (decision.has_error()) co_return co_await put_off(claim, decision.error(), seen);
  seen.decided(*known, *decision);
  const StoreResult<Committed> done = co_await commit(decision->commit, deadline, seen);
  if (!done) co_return co_await not_stored(claim, done.error(), seen);
  co_await threads_.turn_of_loop();
  co_return seen.committed(*decision, *done);
}

/// Releases the claim with the state unchanged; not a failure of the feed.
asio::awaitable<Report> Refresher::put_off(const Claim& claim, const Deferral& why, RefreshObserver& seen) {
  std::optional<Milliseconds> due;
  if (why.wait) due = seen.now() + *why.wait;
  const bool is_back = co_await give_back(claim, due);
  co_return seen.deferred(why.reason, why.detail, is_back ? why.wait.value_or(Milliseconds(0)) : options_.lease,
                          is_back);
}

/// Handles a failed look-up or commit: nothing was written. If retrying is useless, postpones the feed; else the claim
/// ends with its lease, or is released when the store is back.
asio::awaitable<Report> Refresher::not_stored(const Claim& claim, const StoreError& error, RefreshObserver& seen) {
  const std::optional<Milliseconds> wait = put_off_for(error);
  bool is_back = false;
  if (wait) is_back = co_await give_back(claim, seen.now() + *wait);
  co_return seen.not_stored(error, wait.value_or(options_.lease), is_back);
}

asio::awaitable<bool> Refresher::give_back(const Claim& claim, std::optional<Milliseconds> due) {
  const auto release = [&](Store& store) { return Ingest(store).release(std::span(&claim, 1), due); };
  const StoreResult<std::size_t> released = co_await store_.call(release);
  co_return released.has_value();
}

template <class Ask>
auto Refresher::answer_of(const Ask& ask, Deadline deadline) -> std::invoke_result_t<const Ask&> {
  std::optional<Counted> waiting;
  for (int attempt = 0;; ++attempt) {
    auto answer = co_await ask();
    if (answer) co_return answer;
    store_trouble_ = answer.error();
    if (is_transient(answer.error()) && !waiting) waiting.emplace(waiting_for_store_, 1);
    const bool again = co_await worth_waiting(answer.error(), attempt, deadline);
    if (!again) co_return answer;
  }
}

asio::awaitable<StoreResult<StoredSnapshot>> Refresher::ask(const LookUp& wanted, Deadline deadline) {
  const auto look = [&] { return store_.look_up(wanted); };
  co_return co_await answer_of(look, deadline);
}

asio::awaitable<StoreResult<StoredSnapshot>> Refresher::look_up(const Claim& claim, DocumentSource& source,
                                                                Attempt& attempt, Deadline deadline) {
  auto* document = std::get_if<Document>(&attempt.reading);
  if (document == nullptr) co_return StoredSnapshot();
  const StoredFeed* const before = attempt.stored ? &*attempt.stored : nullptr;
  const LookUp wanted = whole_look_up(claim, *document, before, options_);
  StoreResult<StoredSnapshot> known = co_await ask(wanted, deadline);
  if (!known) co_return known;
  settle_repeated(*document, *known);
  if (must_compare(claim.state.identity, *document, *known)) {
    known = co_await compare(claim, source, attempt, std::move(*known), deadline);
    document = std::get_if<Document>(&attempt.reading);
    if (!known || document == nullptr) co_return known;
  }

  // Handles single posts under new guids: reads candidates only if a post is suspicious.
  const Suspects suspected = suspects(claim.state.identity, *document, *known, claim.now);
  StoredSnapshot found;
  if (!suspected.empty()) {
    LookUp again{claim.feed_url, suspected.look_up, {}, document->markup, before, claim.failovers};
    again.seconds = suspected.seconds;
    StoreResult<StoredSnapshot> answer = co_await ask(again, deadline);
    if (!answer) co_return answer;
    found = std::move(*answer);
  }
  recognise_items(claim.state.identity, *document, *known, std::move(found));
  co_return known;
}

asio::awaitable<StoreResult<StoredSnapshot>> Refresher::compare(const Claim& claim, DocumentSource& source,
                                                                Attempt& attempt, StoredSnapshot looked_up,
                                                                Deadline deadline) {
  StoreResult<StoredSnapshot> known = std::move(looked_up);
  auto* document = std::get_if<Document>(&attempt.reading);
  const StoredFeed* const before = attempt.stored ? &*attempt.stored : nullptr;
  if (!document->whole_body.empty()) {  // rare: all posts are compared
    co_await source.read_all(claim, attempt);
    document = std::get_if<Document>(&attempt.reading);
    if (document == nullptr) co_return StoredSnapshot();
    const LookUp wanted = whole_look_up(claim, *document, before, options_);
    known = co_await ask(wanted, deadline);
    if (!known) co_return known;
    settle_repeated(*document, *known);
  }

  // Rare (RELIABILITY L5): two more reads, so that known posts under new guids are not reported as new.
  const auto read_posts = [&](Store& store) { return Ingest(store).stored_posts(claim.feed_url); };
  const auto read_all = [&] { return store_.call(read_posts); };
  const StoreResult<std::vector<StoredPost>> stored = co_await answer_of(read_all, deadline);
  if (!stored) co_return stored.error();
  const Recognised recognised = recognise(claim.state.identity, *document, *known, *stored);
  if (recognised.look_up.empty()) co_return known;
  const LookUp once_more{claim.feed_url, recognised.look_up, {}, document->markup, before, claim.failovers};
  StoreResult<StoredSnapshot> found = co_await ask(once_more, deadline);
  if (!found) co_return found;
  add_recognised(*known, recognised, std::move(*found));
  co_return known;
}

asio::awaitable<StoreResult<Committed>> Refresher::commit(Commit& commit, Deadline deadline, RefreshObserver& seen) {
  const Counted unanswered(unanswered_bytes_, bytes_of(commit));
  commit.highest_entry = highest_entry_;
  commit.last_event = last_event_;
  const auto send = [&]() -> asio::awaitable<StoreResult<Committed>> {
    const auto from = std::chrono::steady_clock::now();
    StoreResult<Committed> done = co_await store_.commit(commit);
    observer_(done, std::chrono::steady_clock::now() - from);
    seen.sent(done);
    co_return done;
  };
  StoreResult<Committed> done = co_await answer_of(send, deadline);
  if (done) {
    highest_entry_ = std::max(highest_entry_, done->highest_entry);
    last_event_ = std::max(last_event_, done->last_event);
  }
  co_return done;
}

/// Waits before the next try, at the latest until the end of the lease. False if retrying is useless (RELIABILITY §6,
/// §6, E3).
asio::awaitable<bool> Refresher::worth_waiting(const StoreError& error, int attempt, Deadline deadline) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_transient(error) || now >= deadline) co_return false;
  const auto until = std::min<Deadline>(now + wait_before_retry(error, attempt), deadline);
  asio::steady_timer timer(co_await asio::this_coro::executor, until);
  const auto [cancelled] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return !cancelled;
}

}  // namespace feedmill
