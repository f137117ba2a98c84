#include "worker/websub/push_intake.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>

#include "storage/ingest/ingest.hpp"
#include "worker/base/cancellation.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/content_coding.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

/// What stands for an answer: the address that the feed was last read at resolves its links. Its Link headers say
/// nothing of whose it is (WEBSUB M8), so none are passed on.
FetchResponse response_of(const FeedState& state, const Pushed& pushed) {
  FetchResponse response;
  response.status = 200;
  response.url = !state.validators_url.empty() ? state.validators_url
                 : !state.fetch_url.empty()    ? state.fetch_url
                                               : pushed.feed_url;
  if (!pushed.content_type.empty()) response.headers.emplace_back("content-type", pushed.content_type);
  return response;
}

}  // namespace

PushIntake::PushIntake(asio::any_io_executor executor, ReadingThreads& threads, StorePool& store, PushStore& pushes,
                       Metrics& metrics, Log& log, Options options)
    : threads_(threads),
      store_(store),
      pushes_(pushes),
      metrics_(metrics),
      log_(log),
      options_(std::move(options)),
      changed_(std::move(executor), asio::steady_timer::time_point::max()) {}

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

/// The oldest whose feed is not being written.
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

/// One that cannot be written is a hint all the same.
asio::awaitable<void> PushIntake::handle(Pushed& pushed) {
  const std::string id = options_.worker + ":push" + std::to_string(++claims_);
  const auto ask = [&](Store& store) { return Pushes(store).claim(pushed.feed_url, id, options_.lease); };
  const StoreResult<std::optional<Claim>> claim = co_await pushes_.call(ask);
  if (!claim) {
    metrics_.store_error(claim.error());  // it is due anyhow
    co_return;
  }
  if (!*claim) {
    co_await fetch_instead(pushed.hash);
    co_return;
  }
  std::exception_ptr bug;
  bool written = false;
  try {
    written = co_await write(**claim, pushed);
  } catch (...) {
    bug = std::current_exception();
  }
  if (!written) {
    co_await give_back(**claim);
    co_await fetch_instead(pushed.hash);
  }
  if (bug) std::rethrow_exception(bug);
}

/// False when it could not be read, or be written.
asio::awaitable<bool> PushIntake::write(const Claim& claim, Pushed& pushed) {
  if (claim.state.imported.count() == 0) co_return false;
  ReadingOptions how = options_.reading;
  how.html = read_settings(claim.state.settings).html_policy.value_or(how.html);
  const std::uint64_t needed =
      std::max<std::uint64_t>(pushed.body.size(), stated_size(pushed.body, pushed.content_encoding));
  const FetchResponse response = response_of(claim.state, pushed);
  const std::string gate = options_.hosts.of(host_of(response.url)).gate;
  std::optional<Document> document;
  const auto work = [&] {
    DecodeLimits limits{.max_bytes = how.max_body_bytes};
    limits.granted_bytes = pushed.memory->readable_bytes();
    const auto body = decode_content(std::move(pushed.body), pushed.content_encoding, limits);
    if (!body) return;
    auto read = read_document(*body, response, claim.state, how);
    if (read) document = std::move(*read);
  };
  const std::uint64_t bytes = std::min(needed, how.max_body_bytes);
  const bool done_reading = co_await threads_.read(gate, *pushed.memory, bytes, options_.memory_wait, work);
  if (!done_reading || !document || document->cut_short) co_return false;  // a hint: the fetch sees it whole
  pushed.memory->hold(cost_of_storing(*document));
  const LookUp wanted{claim.feed_url, document->entries, document->deleted, document->markup};
  StoreResult<StoredSnapshot> known = co_await store_.look_up(wanted);
  if (!known) {
    metrics_.store_error(known.error());
    co_return false;
  }
  const bool alike = co_await is_told_apart(claim, *document, *known);
  if (!alike) co_return false;
  const PushDecision decided = decide_push(claim, *document, *known, options_.policy);
  const bool done = co_await commit(claim, decided);
  if (done && decided.doubtful > 0) co_await fetch_instead(pushed.hash);
  co_return done;
}

/// Whether the posts are told apart as they always were; else the document must be seen as a whole, which a push may
/// not be (DESIGN §5).
asio::awaitable<bool> PushIntake::is_told_apart(const Claim& claim, Document& document, StoredSnapshot& known) {
  if (document.identified_by != claim.state.identified_by) co_return false;
  settle_repeated(document, known);
  if (!must_compare(claim.state, document, known)) co_return true;
  const auto ask = [&](Store& store) { return Ingest(store).stored_posts(claim.feed_url); };
  const StoreResult<std::vector<StoredPost>> stored = co_await pushes_.call(ask);
  if (!stored) {
    metrics_.store_error(stored.error());
    co_return false;
  }
  const Recognised recognised = recognise(claim.state, document, known, *stored);
  co_return recognised.look_up.empty() && known.rekeys.empty() && known.naming == claim.state.naming;
}

asio::awaitable<bool> PushIntake::commit(const Claim& claim, const PushDecision& pushed) {
  const Commit& commit = pushed.decision.commit;
  const StoreResult<Committed> done = co_await store_.commit(commit);
  metrics_.committed(done);
  if (!done) co_return false;
  if (done->result == Committed::Result::stale) co_return true;  // somebody else fetches it
  metrics_.pushed(*done, pushed.decision.pushed_first);
  if (!done->push_turned) co_return true;
  const PushStanding& before = commit.before.push;
  PushNews news{claim.feed_url, before.state, commit.push_to, "", before.hub, done->hub_in_trouble};
  news.fell = before.fell.count() != 0;
  note_turn(log_, metrics_, news);
  const std::vector<Notice> notices = turn_notices(news, claim.now);
  if (notices.empty()) co_return true;
  const auto tell = [&](Store& store) { return Notifications(store).add(notices); };
  const StoreResult<void> told = co_await pushes_.call(tell);
  if (!told) metrics_.store_error(told.error());
  co_return true;
}

asio::awaitable<void> PushIntake::give_back(const Claim& claim) {
  const auto release = [&](Store& store) { return Ingest(store).release(std::span(&claim, 1)); };
  const StoreResult<std::size_t> released = co_await pushes_.call(release);
  if (!released) metrics_.store_error(released.error());  // then it is due when its lease ends
}

asio::awaitable<void> PushIntake::fetch_instead(const std::string& hash) {
  PushNote hint{hash, PushNote::Kind::thin};
  const StoreResult<PushNoted> noted = co_await pushes_.note(std::move(hint));
  if (!noted) metrics_.store_error(noted.error());
}

}  // namespace feedmill
