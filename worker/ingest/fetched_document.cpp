#include "worker/ingest/fetched_document.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <random>
#include <utility>
#include <variant>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "storage/feeds/logins.hpp"
#include "storage/ingest/ingest.hpp"
#include "worker/base/log.hpp"
#include "worker/base/system.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/policy/answers.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds longest_host_wait{10'000};     // HTTP H6
constexpr Milliseconds longest_of_stranger{5'000};    // for a slot at another site's server (HTTP H6)
constexpr Milliseconds longest_put_off{900'000};      // RELIABILITY L27
constexpr std::uint64_t most_read_here = 64U << 10U;  // bytes decoded on the loop: 0.3 ms
constexpr std::uint64_t most_steps_here = 300'000;    // about 3 ms, whatever the document

/// `again`: without validators.
FetchRequest request_of(const Claim& claim, bool again) {
  const FeedState& state = claim.state;
  FetchRequest request;
  request.feed_url = claim.feed_url;
  request.url = claim.address();
  if (!again && !wants_probe(state, claim.now)) {
    request.validators = {state.validators.etag, state.validators.last_modified,
                          state.validators.url.empty() ? request.url : state.validators.url};
  }
  request.settings = read_settings(state.settings);
  request.identity = claim.host_identity;
  request.http1 = claim.host_http1;
  return request;
}

/// Why the request had no validators, if it had none (HTTP P4).
Unconditional unconditional(const Claim& claim, const FetchResponse& response) {
  const FeedState& state = claim.state;
  if (response.conditional) return Unconditional::no;
  if (state.rhythm.imported.count() == 0) return Unconditional::first;
  if (state.validators.etag.empty() && state.validators.last_modified.empty()) return Unconditional::no_validators;
  return wants_probe(state, claim.now) ? Unconditional::probe : Unconditional::target_changed;
}

/// Delay of a feed after a problem of our own, plus up to half of it at random. At most 15 minutes (SECURITY M3); if a
/// request was sent, the minimum floor applies (HTTP P6).
Milliseconds wait_after(const FetchError& error) {
  static thread_local std::minstd_rand random{std::random_device()()};
  const Milliseconds least = error.sent ? std::chrono::minutes(10) : std::chrono::seconds(10);
  return least + Milliseconds(std::uniform_int_distribution<std::int64_t>(0, least.count() / 2)(random));
}

/// Returns the fetch error if it gives no information about the feed; else null. A redirect chain stopped at a later
/// host still counts as a poll, which decide() handles (HTTP H6).
const FetchError* our_trouble(const Reading& reading) {
  const auto* const error = std::get_if<FetchError>(&reading);
  if (error == nullptr) return nullptr;
  const bool ours =
      error->reason == Reason::worker_memory || (error->reason == Reason::worker_host_wait && !error->sent);
  return ours ? error : nullptr;
}

Reading no_memory() {
  FetchError error;
  error.reason = Reason::worker_memory;
  error.detail = "no memory to read it in";
  error.sent = true;
  return error;
}

/// Calls read(); the document is saved in `poison` if it triggers a bug.
Reading read_or_keep(FetchResult& fetched, const Claim& claim, const ReadingOptions& options,
                     const std::filesystem::path& poison) {
  if (poison.empty()) return read(fetched, claim.state, options);
  const auto* response = std::get_if<FetchResponse>(&fetched);
  const std::string beginning = response == nullptr ? "" : response->body.substr(0, most_kept_of_poison);
  try {
    return read(fetched, claim.state, options);
  } catch (const std::exception&) {
    keep_poison(poison, claim.feed_url, beginning);  // the caller reports the error
    throw;
  }
}

Exposure exposure_of(const FetchResponse& response) {
  return response.opened_by_allow ? Exposure::opened_by_allow : Exposure::open_to_all;
}

std::optional<Claim> claim_of_page(const Claim& of_feed) {
  if (!is_for_page(of_feed)) return std::nullopt;
  Claim claim = of_feed;
  FeedState& state = claim.state;
  state.address.fetch_url = state.older.walk.next;
  state.validators = KnownValidators();
  state.document = NewestDocument();
  state.refused = RefusedDocument();
  state.identity.unfit_documents = 0;  // a page must not change the posts' identity
  return claim;
}

}  // namespace

FetchedDocument::FetchedDocument(Fetcher& fetcher, ReadingThreads& threads, StorePool& store, MemoryBudget& memory,
                                 const RefreshOptions& options, const Claim& claim)
    : page_(claim_of_page(claim)),
      claim_(page_ ? *page_ : claim),
      fetcher_(fetcher),
      threads_(threads),
      store_(store),
      memory_(memory, claim_.state.document.wire_bytes),
      options_(options),
      texts_(texts_to_read(claim_.state, options.policy.retention)),
      again_(texts_.again || takes_held_back(claim_.state, claim_.now)) {}

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
    exchange.exposure = exposure_of(*response);
    exchange.fell_back = response->fell_back;
  } else {
    const auto& error = std::get<FetchError>(fetched);
    if (error.cut_off) exchange.exposure = exposure_of(*error.cut_off);
    exchange.headers = error.headers;
    exchange.wire_bytes = error.wire_bytes;
  }
  return exchange;
}

asio::awaitable<Attempt> FetchedDocument::attempt(const Claim&, RefreshObserver& seen) {
  FetchRequest request = request_of(claim_, again_);
  request.memory = &memory_;
  request.enter_server = [&](std::string url) { return enter_host(std::move(url)); };
  Attempt result;
  FetchError busy;
  if (!options_.partition.is_whole() && !co_await enter_first())
    busy.detail = host_of(request.url) + " may not be asked now";
  else if (names_login(request.settings.auth))
    busy.detail = co_await take_login(request);
  if (!busy.detail.empty()) {
    busy.reason = Reason::worker_host_wait;
    result.reading = std::move(busy);
    seen.attempted(result.exchange, result.reading);
    co_return result;
  }
  bool again = false;
  for (std::uint64_t wire_bytes = 0;;) {
    FetchResult fetched = co_await fetcher_.fetch(request);
    const auto* failed = std::get_if<FetchError>(&fetched);
    if (again && failed != nullptr && !failed->sent) break;  // nothing was sent: keep the first response
    result.exchange = exchange_of(claim_, request, fetched);
    seen.fetched(request, fetched);
    result.exchange.wire_bytes = wire_bytes += result.exchange.wire_bytes;
    const bool was_cut = failed != nullptr;
    const auto from = std::chrono::steady_clock::now();
    const bool on_thread = has_document(fetched);
    result.reading = co_await read_in(fetched, result.stored, seen.is_followed());
    seen.read(result.reading,
              on_thread ? std::chrono::steady_clock::now() - from : RefreshObserver::Clock::duration::zero());
    const auto* const document = std::get_if<Document>(&result.reading);
    if (const auto* const answer = std::get_if<FetchResponse>(&fetched)) {
      if (was_cut) {
        result.exchange = exchange_of(claim_, request, fetched);
        result.exchange.wire_bytes = wire_bytes;
      }
      if (document != nullptr || was_cut) result.exchange.fault = answer->fault;
    }
    if (document != nullptr && !document->whole_body.empty()) read_ = std::move(std::get<FetchResponse>(fetched));
    const Unreadable* const refused = refusal_of(result.reading);
    if (refused == nullptr || !refused->bad_coding || request.identity) break;
    request.identity = again = true;
  }
  seen.attempted(result.exchange, result.reading);
  co_return result;
}

/// The options for reading; after quarantine, half of the size limit applies (SECURITY Q3).
ReadingOptions FetchedDocument::reading_options() const {
  ReadingOptions how = options_.reading;
  how.html = read_settings(claim_.state.settings).html_policy.value_or(how.html);
  how.hash_items = true;
  how.again = again_;
  if (claim_.state.state == "quarantined") how.max_body_bytes /= 2;
  return how;
}

/// Reads a document. Unless its body or all its posts are known, queries the store first, so that known items can be
/// skipped. A feed without posts needs no query.
asio::awaitable<Reading> FetchedDocument::read_in(FetchResult& fetched, std::optional<StoredFeed>& stored,
                                                  bool is_followed) {
  ReadingOptions how = reading_options();
  if (!has_document(fetched)) co_return read(fetched, claim_.state, how);
  if (auto same = known_body(fetched, claim_.state); same && !how.again) co_return std::move(*same);
  const std::uint64_t expected = expected_bytes(fetched, claim_.state.document.body_bytes);
  if (expected <= most_read_here && !place_) {
    StorePool::Place place = co_await store_.place();
    place_.emplace(std::move(place));
  }
  if (!claim_.has_posts) {
    stored.emplace();
  } else if (!stored) {
    auto asked = co_await store_.stored_feed(claim_, texts_.newest);
    if (asked) stored = std::move(*asked);  // else the look-up queries it again and waits for the store
  }
  if (stored) how.items = &stored->items;
  how.pass_over = !is_followed && !compares_all(claim_.state, claim_.now);
  if (expected <= most_read_here) co_await threads_.turn_of_loop();
  if (auto reading = read_here(fetched, how, expected)) co_return std::move(*reading);
  place_.reset();  // free the read slot while waiting for a thread
  co_return co_await read_granted(fetched, how);
}

/// Reads a small document on the loop, which is cheaper than on a thread. Returns nullopt, with `fetched` unchanged, if
/// it turns out to be larger or takes too many steps.
std::optional<Reading> FetchedDocument::read_here(FetchResult& fetched, ReadingOptions options,
                                                  std::uint64_t expected) {
  auto* const response = std::get_if<FetchResponse>(&fetched);
  if (response == nullptr || expected > most_read_here || !memory_.cover_reading(expected)) return std::nullopt;
  options.granted_bytes = std::min(memory_.readable_bytes(), most_read_here);
  options.most_steps = most_steps_here;
  std::string body = response->body;
  Reading reading = read_or_keep(fetched, claim_, options, options_.keep_poison);
  const auto* const unreadable = std::get_if<Unreadable>(&reading);
  if (unreadable != nullptr &&
      (unreadable->reason == Reason::worker_memory || unreadable->reason == Reason::parse_limit)) {
    response->body = std::move(body);
    return std::nullopt;
  }
  memory_.hold(cost_of_storing(reading));
  return reading;
}

asio::awaitable<void> FetchedDocument::read_all(const Claim&, Attempt& attempt) {
  const Document& passed = std::get<Document>(attempt.reading);
  Reading all;
  const auto work = [&, how = reading_options()] { all = read_whole(passed, read_, claim_.state, how); };
  const bool done = co_await threads_.read(own_gate(), memory_, passed.whole_body.size(), options_.memory_wait, work);
  attempt.reading = done ? std::move(all) : no_memory();
  memory_.hold(cost_of_storing(attempt.reading));
}

/// Waits for a slot at a redirect's server, and for the store if it is down. False if there is no slot in time (HTTP
/// H6).
asio::awaitable<bool> FetchedDocument::enter_host(std::string url) {
  const auto until = std::chrono::steady_clock::now() + longest_host_wait;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int failed = 0;;) {
    const StoreResult<std::optional<Milliseconds>> answer = co_await take_slot(url);
    if (!answer && !is_transient(answer.error())) co_return false;
    if (answer && !*answer) co_return false;  // the claim has expired
    const Milliseconds wait = answer ? **answer : wait_before_retry(answer.error(), failed++);
    if (answer && wait.count() == 0) co_return true;
    if (answer) host_wait_ = wait;
    if (std::chrono::steady_clock::now() + wait > until) co_return false;
    timer.expires_after(wait);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<StoreResult<std::optional<Milliseconds>>> FetchedDocument::take_slot(const std::string& url) {
  const HostLimits limits = options_.host;
  const std::string server = server_of(url);
  const unsigned home = home_of(server);
  const bool is_own = is_one_site(claim_.address(), url);
  const Milliseconds longest = is_own ? options_.lease : std::min(options_.lease, longest_of_stranger);
  if (home == options_.partition.index) {
    const auto ask = [&](Store& store) { return Ingest(store).take_slot(claim_, server, limits, longest); };
    co_return co_await store_.call(ask);
  }
  const auto ask = [&](Store& store) { return Ingest(store).take_slot_for(claim_, server, limits, longest); };
  const StoreResult<Milliseconds> wait = co_await store_.call_at(home, ask);
  if (!wait) co_return wait.error();
  const bool is_known = std::ranges::find(entered_, server, &Entered::server) != entered_.end();
  if (wait->count() == 0 && !is_known) entered_.push_back({server, is_own});
  co_return std::optional(*wait);
}

unsigned FetchedDocument::home_of(const std::string& server) const {
  if (options_.partition.is_whole()) return 0;
  return partition_of_name(host_of_gate(options_.hosts.of(server).gate), options_.partition.count);
}

/// Adds the login that the feed names, if it is stored. Read before each fetch, so that a new secret is used at once.
/// Returns why it cannot be read now, or "".
asio::awaitable<std::string> FetchedDocument::take_login(FetchRequest& request) {
  const auto find = [&](Store& store) { return Logins(store).find(request.settings.auth); };
  StoreResult<std::optional<FeedLogin>> login = std::optional<FeedLogin>();
  if (options_.partition.index == 0) {
    login = co_await store_.call(find);
  } else {
    login = co_await store_.call_at(0, find);
  }
  if (!login) co_return "its login cannot be read: " + login.error().detail;
  if (*login) request.login = Credential{origin_of((*login)->origin), (*login)->header_line};
  co_return std::string();
}

/// Waits for a slot at the feed's host if its gate is in another partition; the claim only passed gates of this one.
asio::awaitable<bool> FetchedDocument::enter_first() {
  const std::string& url = claim_.address();
  const bool is_passed = home_of(server_of(url)) == options_.partition.index;
  if (is_passed) co_return true;
  co_return co_await enter_host(url);
}

asio::awaitable<void> FetchedDocument::leave_hosts(const Claim&, const HostAnswer* answer) {
  const std::string last = answer == nullptr || answer->server.empty() ? server_of(claim_.address()) : answer->server;
  HostAnswer led_on;  // answer of the hosts that redirected
  led_on.is = HostAnswer::Is::served;
  led_on.egress = claim_.egress;
  for (const Entered& at : entered_) {
    const HostAnswer* its = answer == nullptr || at.server == last ? answer : &led_on;
    if (!at.is_own) its = nullptr;  // the request was caused by another site (HTTP H3)
    const auto leave = [&](Store& store) { return Ingest(store).leave_slot(claim_, at.server, its); };
    co_await store_.call_at(home_of(at.server), leave);  // if this fails, the slot ends with the lease
  }
  entered_.clear();
}

/// Waits for the host's turn and for memory, then reads. Returns a FetchError with worker.memory if there is no memory.
asio::awaitable<Reading> FetchedDocument::read_granted(FetchResult& fetched, ReadingOptions options) {
  const std::filesystem::path poison = options_.keep_poison;  // a copy: the options may change during the wait
  const std::string gate = own_gate();
  std::uint64_t needed = std::min(expected_bytes(fetched, claim_.state.document.body_bytes), options.max_body_bytes);
  for (;;) {
    Reading reading;
    const auto work = [&] {
      options.granted_bytes = memory_.readable_bytes();
      reading = read_or_keep(fetched, claim_, options, poison);
    };
    const bool done = co_await threads_.read(gate, memory_, needed, options_.memory_wait, work);
    if (!done) break;
    const auto* unreadable = std::get_if<Unreadable>(&reading);
    if (unreadable == nullptr || unreadable->reason != Reason::worker_memory) {
      memory_.hold(cost_of_storing(reading));
      co_return reading;
    }
    needed = std::min(2 * options.granted_bytes, options.max_body_bytes);
  }
  co_return no_memory();
}

std::string FetchedDocument::own_gate() const {
  return options_.hosts.of(server_of(claim_.address())).gate;
}

DecisionResult FetchedDocument::decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known,
                                       Milliseconds now) {
  if (page_) return decide_page(claim, std::move(attempt.reading), attempt.exchange, known, options_.policy, now);
  if (const FetchError* const ours = our_trouble(attempt.reading)) {
    return Deferral{ours->reason, ours->detail, std::max(wait_after(*ours), std::min(host_wait_, longest_put_off))};
  }
  return feedmill::decide(claim, std::move(attempt.reading), attempt.exchange, known, options_.policy, now);
}

bool keep_poison(const std::filesystem::path& directory, std::string_view feed_url, std::string_view body) {
  const std::filesystem::path file = directory / (feed_id(feed_url) + ".poison");
  const UniqueFd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) return false;
  const std::string_view kept = body.substr(0, most_kept_of_poison);
  return ::write(out.get(), kept.data(), kept.size()) == static_cast<ssize_t>(kept.size());
}

}  // namespace feedmill
