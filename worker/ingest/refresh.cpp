#include "worker/ingest/refresh.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <span>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "storage/ingest/ingest.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/ingest/poison.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds longest_host_wait{10'000};  // HTTP H6

FetchRequest request_of(const Claim& claim) {
  const FeedState& state = claim.state;
  FetchRequest request;
  request.feed_url = claim.feed_url;
  request.url = state.fetch_url.empty() ? claim.feed_url : state.fetch_url;
  if (!wants_probe(state, claim.now)) {
    request.validators = {state.etag, state.last_modified,
                          state.validators_url.empty() ? request.url : state.validators_url};
  }
  request.settings = read_settings(state.settings);
  request.identity = claim.host_identity;
  request.http1 = claim.host_http1;
  return request;
}

/// HTTP P4.
Unconditional unconditional(const Claim& claim, const FetchResponse& response) {
  const FeedState& state = claim.state;
  if (response.conditional) return Unconditional::no;
  if (state.imported.count() == 0) return Unconditional::first;
  if (state.etag.empty() && state.last_modified.empty()) return Unconditional::no_validators;
  return wants_probe(state, claim.now) ? Unconditional::probe : Unconditional::target_changed;
}

// How long a feed is put off for our own sake, half as much again at random: after a request the least floor holds
// (HTTP P6), and it is not more than 15 minutes (SECURITY M3).
constexpr Milliseconds asked_wait = std::chrono::minutes(10), unasked_wait = std::chrono::seconds(10);

/// Why a fetch ended, when that says nothing about the feed; null when it does. A chain that was not followed further
/// counts as a poll of the feed all the same: that is decide()'s (HTTP H6).
const FetchError* our_trouble(const Reading& reading) {
  const auto* const error = std::get_if<FetchError>(&reading);
  if (error == nullptr) return nullptr;
  const bool ours =
      error->reason == Reason::worker_memory || (error->reason == Reason::worker_host_wait && !error->sent);
  return ours ? error : nullptr;
}

/// How long a feed waits whose result the store will not take however often it is offered (RELIABILITY §6): not until
/// the lease ends, which would poll it every 90 s for ever.
std::optional<Milliseconds> put_off_for(const StoreError& error) {
  if (error.code == StoreError::Code::refused) return std::chrono::hours(24);
  if (error.code == StoreError::Code::bug || error.code == StoreError::Code::unsupported) return std::chrono::hours(1);
  if (error.code == StoreError::Code::auth || error.code == StoreError::Code::tls) {
    return asked_wait;  // it was tried for as long as the lease held
  }
  return std::nullopt;
}

/// Adds to a total while it lives.
class Counted {
 public:
  Counted(std::uint64_t& total, std::uint64_t amount) : total_(total), amount_(amount) { total_ += amount_; }
  ~Counted() { total_ -= amount_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::uint64_t& total_;
  std::uint64_t amount_;
};

/// About what a commit takes on its way.
std::uint64_t bytes_of(const Commit& commit) {
  std::uint64_t bytes = 4096;  // state, signals and what else is small
  for (const EntryWrite& write : commit.entries) {
    bytes += 256 + write.guid.size();
    for (const Fields* fields : {&write.set, &write.old}) {
      for (const auto& [name, value] : *fields) bytes += name.size() + value.size();
    }
  }
  return bytes;
}

/// read(); a document that meets a bug is kept in `poison` first.
Reading read_or_keep(FetchResult& fetched, const Claim& claim, const ReadingOptions& options,
                     const std::filesystem::path& poison) {
  if (poison.empty()) return read(fetched, claim.state, options);
  const auto* response = std::get_if<FetchResponse>(&fetched);
  const std::string beginning = response == nullptr ? "" : response->body.substr(0, most_kept_of_poison);
  try {
    return read(fetched, claim.state, options);
  } catch (const std::exception&) {
    keep_poison(poison, claim.feed_url, beginning);  // what went wrong is told by who counts it
    throw;
  }
}

}  // namespace

Exchange exchange_of(const Claim& claim, const FetchRequest& request, const FetchResult& fetched) {
  Exchange exchange;
  exchange.requested_url = request.url;
  exchange.early = claim.now < claim.due;
  exchange.identity = request.identity && !claim.host_identity;
  std::visit([&](const auto& answer) { exchange.hops = answer.hops; }, fetched);
  if (const auto* response = std::get_if<FetchResponse>(&fetched)) {
    exchange.validators = response->validators();
    exchange.headers = response->headers;
    exchange.wire_bytes = response->wire_bytes;
    exchange.unconditional = unconditional(claim, *response);
    exchange.opened_by_allow = response->opened_by_allow;
    exchange.fell_back = response->fell_back;
  } else {
    const auto& error = std::get<FetchError>(fetched);
    exchange.headers = error.headers;
    exchange.wire_bytes = error.wire_bytes;
  }
  return exchange;
}

asio::awaitable<Report> Refresher::refresh(Claim claim, RefreshTrace* trace) {
  RefreshObserver seen(claim, trace);
  const Deadline deadline = seen.began() + options_.lease;
  MemoryBudget::Share memory(memory_, claim.state.wire_bytes);  // until the commit is through (SECURITY M2)
  auto [exchange, reading] = co_await attempt(claim, memory, seen);
  if (const FetchError* const ours = our_trouble(reading)) co_return co_await defer(claim, *ours, seen);
  const StoreResult<StoredSnapshot> known = co_await look_up(claim, reading, deadline);
  if (!known) co_return co_await not_stored(claim, known.error(), seen);
  Decision decision = decide(claim, reading, exchange, *known, options_.policy, seen.now());
  seen.decided(*known, decision);
  const StoreResult<Committed> done = co_await commit(decision.commit, deadline, seen);
  if (!done) co_return co_await not_stored(claim, done.error(), seen);
  co_return seen.committed(decision, *done);
}

/// Asks and reads; a second time without content coding when that was broken (HTTP §4).
asio::awaitable<Refresher::Attempt> Refresher::attempt(const Claim& claim, MemoryBudget::Share& memory,
                                                       RefreshObserver& seen) {
  FetchRequest request = request_of(claim);
  request.memory = &memory;
  request.enter_host = [&](std::string host) { return enter_host(claim, std::move(host)); };
  Attempt result;
  bool again = false;
  for (std::uint64_t wire_bytes = 0;;) {
    FetchResult fetched = co_await fetcher_.fetch(request);
    const auto* failed = std::get_if<FetchError>(&fetched);
    if (again && failed != nullptr && !failed->sent) break;  // nobody was asked: the first answer stands
    result.exchange = exchange_of(claim, request, fetched);
    seen.fetched(request, fetched);
    result.exchange.wire_bytes = wire_bytes += result.exchange.wire_bytes;
    const auto from = std::chrono::steady_clock::now();
    const bool on_thread = has_document(fetched);
    result.reading = co_await read_in(claim, request, fetched);
    seen.read(result.reading, on_thread ? std::chrono::steady_clock::now() - from : Deadline::duration::zero());
    const Unreadable* const refused = refusal_of(result.reading);
    if (refused == nullptr || !refused->bad_coding || request.identity) break;
    request.identity = again = true;
  }
  seen.attempted(result.exchange, result.reading);
  co_return result;
}

/// A document is read on a CPU thread. After quarantine half of the limits must do (SECURITY Q3).
asio::awaitable<Reading> Refresher::read_in(const Claim& claim, const FetchRequest& request, FetchResult& fetched) {
  ReadingOptions how = options_.reading;
  how.html = request.settings.html_policy.value_or(how.html);
  if (claim.state.state == "quarantined") how.max_body_bytes /= 2;
  if (!has_document(fetched)) co_return read(fetched, claim.state, how);
  co_return co_await read_granted(fetched, claim, *request.memory, how);
}

/// Waits for a slot at a host that a redirect leads to; false when there is none in time (HTTP H6).
asio::awaitable<bool> Refresher::enter_host(const Claim& claim, std::string host) {
  const auto until = std::chrono::steady_clock::now() + longest_host_wait;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    const auto ask = [&, limits = options_.host](Store& store) { return Ingest(store).take_slot(claim, host, limits); };
    const StoreResult<std::optional<Milliseconds>> wait = co_await store_.call(ask);
    if (!wait || !*wait) co_return false;  // the store is away, or the claim is over
    if ((*wait)->count() == 0) co_return true;
    if (std::chrono::steady_clock::now() + **wait > until) co_return false;
    timer.expires_after(**wait);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

/// In its host's turn, in as much memory as is granted; a FetchError with worker.memory when there is none.
asio::awaitable<Reading> Refresher::read_granted(FetchResult& fetched, const Claim& claim, MemoryBudget::Share& share,
                                                 ReadingOptions options) {
  const std::filesystem::path poison = options_.keep_poison;  // the options may change meanwhile
  const std::string host = host_of(claim.state.fetch_url.empty() ? claim.feed_url : claim.state.fetch_url);
  const std::string gate = options_.hosts.of(host).gate;
  std::uint64_t needed = std::min(expected_bytes(fetched, claim.state.body_bytes), options.max_body_bytes);
  for (;;) {
    Reading reading;
    const auto work = [&] {
      options.granted_bytes = share.readable_bytes();
      reading = read_or_keep(fetched, claim, options, poison);
    };
    const bool done = co_await threads_.read(gate, share, needed, options_.memory_wait, work);
    if (!done) break;
    const auto* unreadable = std::get_if<Unreadable>(&reading);
    if (unreadable == nullptr || unreadable->reason != Reason::worker_memory) {
      share.hold(cost_of_storing(reading));
      co_return reading;
    }
    needed = std::min(2 * options.granted_bytes, options.max_body_bytes);
  }
  FetchError error;
  error.reason = Reason::worker_memory;
  error.detail = "no memory to read it in";
  error.sent = true;
  co_return Reading(std::move(error));
}

/// Puts the feed off for our own sake: nothing of the state changes, and it is no failure of the feed (SECURITY M3).
asio::awaitable<Report> Refresher::defer(const Claim& claim, const FetchError& error, RefreshObserver& seen) {
  static thread_local std::minstd_rand random{std::random_device()()};
  const Milliseconds least = error.sent ? asked_wait : unasked_wait;
  const Milliseconds wait =
      least + Milliseconds(std::uniform_int_distribution<std::int64_t>(0, least.count() / 2)(random));
  const bool is_back = co_await give_back(claim, seen.now() + wait);
  co_return seen.deferred(error, is_back ? wait : options_.lease, is_back);
}

/// Nothing was written; the feed is put off when trying again is no use, else its claim ends with its lease, or is
/// given back when the store serves again.
asio::awaitable<Report> Refresher::not_stored(const Claim& claim, const StoreError& error, RefreshObserver& seen) {
  const std::optional<Milliseconds> wait = put_off_for(error);
  bool is_back = false;
  if (wait) is_back = co_await give_back(claim, seen.now() + *wait);
  co_return seen.not_stored(error, wait.value_or(options_.lease), is_back);
}

asio::awaitable<bool> Refresher::give_back(const Claim& claim, Milliseconds due) {
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

asio::awaitable<StoreResult<StoredSnapshot>> Refresher::look_up(const Claim& claim, Reading& reading,
                                                                Deadline deadline) {
  auto* document = std::get_if<Document>(&reading);
  if (document == nullptr) co_return StoredSnapshot();
  const LookUp wanted{claim.feed_url, document->entries, document->deleted, document->markup};
  const auto look = [&] { return store_.look_up(wanted); };
  StoreResult<StoredSnapshot> known = co_await answer_of(look, deadline);
  if (!known) co_return known;
  settle_repeated(*document, *known);
  if (!must_compare(claim.state, *document, *known)) co_return known;

  // Rare (RELIABILITY L5): two more reads, so that posts under new guids do not come as news.
  const auto read_posts = [&](Store& store) { return Ingest(store).stored_posts(claim.feed_url); };
  const auto read_all = [&] { return store_.call(read_posts); };
  const StoreResult<std::vector<StoredPost>> stored = co_await answer_of(read_all, deadline);
  if (!stored) co_return stored.error();
  const Recognised recognised = recognise(claim.state, *document, *known, *stored);
  if (recognised.look_up.empty()) co_return known;
  const LookUp once_more{claim.feed_url, recognised.look_up, {}, document->markup};
  const auto look_again = [&] { return store_.look_up(once_more); };
  StoreResult<StoredSnapshot> found = co_await answer_of(look_again, deadline);
  if (!found) co_return found;
  add_recognised(*known, recognised, std::move(*found));
  co_return known;
}

asio::awaitable<StoreResult<Committed>> Refresher::commit(Commit& commit, Deadline deadline, RefreshObserver& seen) {
  const Counted unanswered(unanswered_bytes_, bytes_of(commit));
  std::optional<Counted> waiting;
  commit.highest_entry = highest_entry_;
  for (int attempt = 0;; ++attempt) {
    const auto from = std::chrono::steady_clock::now();
    StoreResult<Committed> done = co_await store_.commit(commit);
    observer_(done, std::chrono::steady_clock::now() - from);
    seen.sent(done);
    if (done) {
      highest_entry_ = std::max(highest_entry_, done->highest_entry);
      co_return done;
    }
    store_trouble_ = done.error();
    if (is_transient(done.error()) && !waiting) waiting.emplace(waiting_for_store_, 1);
    const bool again = co_await worth_waiting(done.error(), attempt, deadline);
    if (!again) co_return done;
  }
}

/// Waits before the next try, the last of which is at the end of the lease; false when trying again is no use
/// (RELIABILITY §6, E1, E3).
asio::awaitable<bool> Refresher::worth_waiting(const StoreError& error, int attempt, Deadline deadline) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_transient(error) || now >= deadline) co_return false;
  const auto until = std::min<Deadline>(now + wait_before_retry(error, attempt), deadline);
  asio::steady_timer timer(co_await asio::this_coro::executor, until);
  const auto [cancelled] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return !cancelled;
}

}  // namespace feedmill
