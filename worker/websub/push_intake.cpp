#include "worker/websub/push_intake.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>

#include "storage/ingest/ingest.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/content_coding.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill {

namespace asio = boost::asio;

PushIntake::PushIntake(const asio::any_io_executor& executor, Refresher& refresher, ReadingThreads& threads,
                       PushStore& pushes, Metrics& metrics, Log& log, Options options)
    : refresher_(refresher),
      threads_(threads),
      pushes_(pushes),
      metrics_(metrics),
      log_(log),
      options_(std::move(options)),
      changed_(executor, asio::steady_timer::time_point::max()) {}

bool PushIntake::has_room(const std::string& feed_url) const {
  const auto held = held_.find(feed_url);
  return !finishing_ && queue_.size() < options_.most && (held == held_.end() || held->second < options_.per_feed);
}

void PushIntake::take(Pushed pushed) {
  ++held_[pushed.feed_url];
  queue_.push_back(std::move(pushed));
  changed_.cancel();
}

void PushIntake::finish() {
  finishing_ = true;
  changed_.cancel();
}

asio::awaitable<void> PushIntake::run() {
  const auto executor = co_await asio::this_coro::executor;
  using Operation = decltype(asio::co_spawn(executor, lane(), asio::deferred));
  std::vector<Operation> lanes;
  for (std::size_t i = 0; i < options_.lanes; ++i) lanes.push_back(asio::co_spawn(executor, lane(), asio::deferred));
  auto group = asio::experimental::make_parallel_group(std::move(lanes));
  co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
}

/// The oldest push for a feed that is not currently being written.
std::deque<Pushed>::iterator PushIntake::next() {
  return std::ranges::find_if(queue_, [this](const Pushed& pushed) { return !busy_.contains(pushed.feed_url); });
}

asio::awaitable<void> PushIntake::lane() {
  for (;;) {
    const auto found = next();
    if (found == queue_.end()) {
      if (finishing_ && queue_.empty()) co_return;
      co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
      const auto cancelled = (co_await asio::this_coro::cancellation_state).cancelled();
      if (cancelled != asio::cancellation_type::none) co_return;
      continue;
    }
    Pushed pushed = std::move(*found);
    queue_.erase(found);
    busy_.insert(pushed.feed_url);
    try {
      co_await handle(pushed);
    } catch (const std::exception& error) {
      if (is_cancellation(std::current_exception())) throw;
      metrics_.bug();
      log_.write(LogLevel::error, "bug", "an unexpected error; please report it",
                 {{"part", "push"}, {"url", pushed.feed_url}, {"detail", error.what()}});
    }
    busy_.erase(pushed.feed_url);
    if (--held_[pushed.feed_url] == 0) held_.erase(pushed.feed_url);
    changed_.cancel();
  }
}

/// If a push cannot be written, the feed is fetched instead.
asio::awaitable<void> PushIntake::handle(Pushed& pushed) {
  const std::string id = options_.worker + ":push" + std::to_string(++claims_);
  const Milliseconds lease = refresher_.options().lease;
  const auto ask = [&](Store& store) { return Pushes(store).claim(pushed.feed_url, id, lease); };
  const StoreResult<std::optional<Claim>> claim = co_await pushes_.call(ask);
  if (!claim) {
    metrics_.store_error(claim.error());  // the feed is due anyway
    co_return;
  }
  if (!*claim) {
    co_await fetch_instead(pushed.hash);
    co_return;
  }
  std::exception_ptr bug;
  try {
    co_await write(**claim, pushed);
  } catch (...) {
    bug = std::current_exception();
  }
  if (!bug) co_return;
  co_await give_back(**claim);
  co_await fetch_instead(pushed.hash);
  std::rethrow_exception(bug);
}

/// Does not retry a failed commit: a fetch will bring the same content.
asio::awaitable<void> PushIntake::write(const Claim& claim, Pushed& pushed) {
  PushedDocument document(threads_, refresher_.options(), pushed);
  const Report report = co_await refresher_.process(claim, document, Milliseconds(0));
  if (report.reason == Reason::store_stale) co_return;  // another worker is fetching it
  if (report.outcome == Outcome::failed) co_await give_back(claim);
  const bool written = report.outcome == Outcome::updated || report.outcome == Outcome::unchanged;
  if (!written || document.leaves_doubt()) co_await fetch_instead(pushed.hash);
  if (!written) co_return;
  metrics_.pushed(report);
  if (options_.tell) options_.tell(report);
  PushNews news = push_news(report);
  co_await pushes_.tell(log_, metrics_, std::move(news), claim.now);
}

asio::awaitable<void> PushIntake::give_back(const Claim& claim) {
  const auto release = [&](Store& store) { return Ingest(store).release(std::span(&claim, 1)); };
  const StoreResult<std::size_t> released = co_await pushes_.call(release);
  if (!released) metrics_.store_error(released.error());  // the feed is due when its lease expires
}

asio::awaitable<void> PushIntake::fetch_instead(const std::string& hash) {
  PushNote hint{hash, PushNote::Kind::thin};
  const StoreResult<PushNoted> noted = co_await pushes_.note(std::move(hint));
  if (!noted) metrics_.store_error(noted.error());
}

namespace {

/// The response as which to parse the push: links resolve against the URL the feed was last read from. Omits Link
/// headers, which do not identify the feed (WEBSUB §6).
FetchResponse response_of(const FeedState& state, const Pushed& pushed) {
  FetchResponse response;
  response.status = 200;
  response.url = !state.validators.url.empty()      ? state.validators.url
                 : !state.address.fetch_url.empty() ? state.address.fetch_url
                                                    : pushed.feed_url;
  if (!pushed.content_type.empty()) response.headers.emplace_back("content-type", pushed.content_type);
  return response;
}

}  // namespace

asio::awaitable<Attempt> PushedDocument::attempt(const Claim& claim, RefreshObserver& seen) {
  ReadingOptions how = options_.reading;
  how.html = read_settings(claim.state.settings).html_policy.value_or(how.html);
  const FetchResponse response = response_of(claim.state, pushed_);
  const std::string gate = options_.hosts.of(server_of(response.url)).gate;
  const std::uint64_t needed =
      std::max<std::uint64_t>(pushed_.body.size(), stated_size(pushed_.body, pushed_.content_encoding));
  FetchError unread;
  unread.reason = Reason::worker_memory;
  unread.detail = "no memory to read it in";
  Attempt result{{}, std::move(unread)};
  const auto work = [&] {
    DecodeLimits limits{.max_bytes = how.max_body_bytes};
    limits.granted_bytes = pushed_.memory->readable_bytes();
    const auto body = decode_content(std::move(pushed_.body), pushed_.content_encoding, limits);
    if (!body) return;
    auto read = read_document(*body, response, claim.state, how);
    if (read) result.reading = std::move(*read);
  };
  const auto from = std::chrono::steady_clock::now();
  co_await threads_.read(gate, *pushed_.memory, std::min(needed, how.max_body_bytes), options_.memory_wait, work);
  seen.read(result.reading, std::chrono::steady_clock::now() - from);
  if (const auto* document = std::get_if<Document>(&result.reading)) {
    other_identity_ = document->identified_by != claim.state.identity.by;
  }
  pushed_.memory->hold(cost_of_storing(result.reading));
  co_return result;
}

DecisionResult PushedDocument::decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known, Milliseconds) {
  auto* const document = std::get_if<Document>(&attempt.reading);
  const bool whole = document != nullptr && !document->cut_short;
  if (!whole || claim.state.rhythm.imported.count() == 0 || other_identity_ ||
      !is_told_apart_as_ever(claim.state.identity, known)) {
    return Deferral();
  }
  PushDecision pushed = decide_push(claim, std::move(*document), known, options_.policy);
  leaves_doubt_ = pushed.doubtful > 0;
  return std::move(pushed.decision);
}

}  // namespace feedmill
