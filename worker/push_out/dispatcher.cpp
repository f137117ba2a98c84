#include "worker/push_out/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "storage/redis/test_point.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/observe/notices.hpp"
#include "worker/republish/topic_page.hpp"
#include "worker/republish/webhook_message.hpp"

namespace feedmill {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using Then = SubscriberSettlement::Then;

namespace {

constexpr std::size_t page_events = 200;       // events read for one subscriber at a time
constexpr std::size_t most_settled = 500;      // subscribers per script call
constexpr std::size_t posts_at_once = 20;      // posts per delivery to a hub subscriber
constexpr Milliseconds progress_every{1'000};  // interval at which progress is stored
constexpr Milliseconds settle_within{50};      // finished subscribers are stored sooner
constexpr Milliseconds turn{10'000};           // after this time a subscriber yields its lane
constexpr Milliseconds least_back_off{60'000}, most_back_off{std::chrono::hours(24)};
constexpr Milliseconds after_bug = std::chrono::hours(1);  // until the subscriber is served again
constexpr std::uint32_t most_rest = 30'000;                // ms, of a verification without a lane
constexpr std::size_t told_at_once = 5;                    // events per webhook between two checks of re-publishing

bool is_webhook(const Subscriber& subscriber) {
  return subscriber.kind == Subscriber::Kind::webhook;
}

/// Whether the subscriber receives the event.
bool wants(const Subscriber& subscriber, const OutsideEvent& event) {
  if (!event.told || (event.is_private && !subscriber.with_private)) return false;
  if (is_webhook(subscriber)) return subscriber.filter.wants(event.event, event.channels);
  if (event.event.initial || (event.event.type != "post_created" && event.event.type != "post_modified")) return false;
  const Topic& topic = subscriber.topic;
  if (topic.kind == TopicKind::feed) return event.event.feed_url == topic.name;
  return std::ranges::find(event.channels, topic.name) != event.channels.end();
}

}  // namespace

Milliseconds receiver_back_off(std::uint32_t failures, Milliseconds retry_after) {
  const std::uint32_t doublings = std::min(failures == 0 ? 0 : failures - 1, 11U);
  const Milliseconds usual = std::min(least_back_off * (1 << doublings), most_back_off);
  return std::clamp(retry_after, usual, most_back_off);
}

Dispatcher::Dispatcher(asio::any_io_executor executor, const StoreOptions& content, const Parts& parts, Options options)
    : executor_(std::move(executor)),
      store_(parts.store),
      homes_(parts.homes),
      tail_(parts.tail),
      due_(parts.due),
      metrics_(parts.metrics),
      log_(parts.log),
      options_(std::move(options)),
      sender_(parts.fetcher, parts.memory.budget(), options_.per_host, options_.timeout),
      content_(executor_, content, options_.hub, parts.memory),
      sites_(parts.sites),
      lanes_(executor_, options_.at_once, due_),
      random_(std::random_device()()),
      write_due_(executor_) {}

void Dispatcher::stop() {
  stopping_ = true;
  lanes_.stop();
}

asio::awaitable<void> Dispatcher::run() {
  const auto serve_all = [&]() -> asio::awaitable<void> {
    const auto find_due = [this](std::size_t room) { return take(room); };
    const auto serve_one = [this](Served& served) { return serve_and_settle(served); };
    co_await lanes_.run(find_due, serve_one);
    ended_ = true;
    write_due_.notify();
  };
  co_await (serve_all() && write_down());
}

asio::awaitable<void> Dispatcher::lay_down() {
  for (auto& [id, progress] : progress_) {
    if (!progress.lost) settled_.push_back({id, progress.claim, progress.cursor, Then::later, Milliseconds(0), {}});
  }
  progress_.clear();
  for (const Served& served : lanes_.left())
    settled_.push_back({served.subscriber.id, served.claim, "", Then::later, Milliseconds(0), {}});
  co_await settle(std::exchange(settled_, {}));
}

asio::awaitable<DueLanes<Dispatcher::Served>::Taken> Dispatcher::take(std::size_t room) {
  const auto ask = [&](Store& store) { return Subscribers(store).take(room, options_.lease, options_.token); };
  const auto held_until = Clock::now() + options_.lease;
  StoreResult<TakenSubscribers> found = co_await store_.call(ask);
  DueLanes<Served>::Taken taken;
  if (!found) {
    metrics_.store_error(found.error());
    taken.rest = 5 * options_.poll;
    co_return taken;
  }
  redis_time_ = found->now;
  redis_read_ = Clock::now();
  for (Subscriber& subscriber : found->subscribers) {
    Served served{std::move(subscriber), found->claim, held_until};
    if (has_lane_for(served)) taken.items.push_back(std::move(served));
  }
  if (!found->subscribers.empty()) co_return taken;
  const bool known = found->next.count() > 0;
  taken.rest = known ? std::clamp(found->next - found->now, Milliseconds(1), options_.look) : options_.look;
  co_return taken;
}

/// Receivers that failed or were slow last time get at most half of the lanes, verifications a quarter: neither delays
/// the deliveries of others (WEBSUB U14). If there is no lane, the subscriber is due again soon.
bool Dispatcher::has_lane_for(Served& served) {
  const Subscriber& subscriber = served.subscriber;
  served.verifies = subscriber.state == Subscriber::State::pending;
  served.failed = !served.verifies && (subscriber.failures > 0 || sender_.is_slow(subscriber));
  const std::size_t lanes = std::max<std::size_t>(1, options_.at_once / (served.verifies ? 4 : 2));
  if ((served.verifies && verifying_ >= lanes) || (served.failed && failing_ >= lanes)) {
    const Milliseconds rest = served.verifies ? Milliseconds(random_() % most_rest) : Milliseconds(0);
    settled_.push_back({subscriber.id, served.claim, "", Then::later, with_jitter(2 * options_.poll) + rest, {}});
    write_due_.notify();
    return false;
  }
  if (served.verifies) ++verifying_;
  if (served.failed) ++failing_;
  return true;
}

/// Null if our lease has ended and another lane serves the subscriber.
Dispatcher::Progress* Dispatcher::progress_of(const Served& served) {
  const auto found = progress_.find(served.subscriber.id);
  return found != progress_.end() && found->second.claim == served.claim ? &found->second : nullptr;
}

/// Called before each request: stop once our lease has expired, even if no other worker is known to have taken over.
bool Dispatcher::let_go(const Served& served, SubscriberSettlement& end) {
  const Progress* const progress = progress_of(served);
  if (progress != nullptr && !progress->lost && Clock::now() < progress->held_until) return false;
  put_off(end);
  return true;
}

asio::awaitable<void> Dispatcher::serve_and_settle(Served& served) {
  const std::string id = served.subscriber.id;
  progress_[id] = {served.claim, served.subscriber.cursor, served.held_until};
  SubscriberSettlement end;
  try {
    end = co_await serve(served);
  } catch (const std::exception& error) {
    if (is_cancellation(std::current_exception())) throw;
    metrics_.bug();
    log_.write(LogLevel::error, "bug", "an unexpected error; please report it",
               {{"part", "push_out"}, {"id", id}, {"url", served.subscriber.url}, {"detail", error.what()}});
    end = {id, served.claim, served.subscriber.cursor, Then::later, after_bug, {}};
  }
  end.fields = std::move(served.changes);
  if (const Progress* const progress = progress_of(served)) {
    if (!progress->lost) settled_.push_back(std::move(end));
    progress_.erase(id);
  }
  if (served.verifies) --verifying_;
  if (served.failed) --failing_;
  write_due_.notify();
}

asio::awaitable<SubscriberSettlement> Dispatcher::serve(Served& served) {
  Subscriber& subscriber = served.subscriber;
  SubscriberSettlement end;
  end.id = subscriber.id;
  end.claim = served.claim;
  if (let_go(served, end)) co_return end;
  if (const Milliseconds wait = sender_.wait_for_place(subscriber); wait > Milliseconds(0)) {
    put_off(end, with_jitter(wait));
    co_return end;
  }
  end.then = Then::idle;
  if (!subscriber.intent.mode.empty()) {
    const Next next = co_await confirm(served, end);
    if (next == Next::settled) co_return end;
  }
  const bool ended = !is_webhook(subscriber) && subscriber.lease_end <= redis_now();
  if (ended && subscriber.state == Subscriber::State::active) {
    end.then = Then::remove;
    co_return end;
  }
  if (subscriber.state != Subscriber::State::active) co_return end;
  // A new subscription request does not shorten the back-off.
  if (subscriber.failures > 0 && subscriber.retry_at > redis_now()) {
    const Milliseconds rest = subscriber.retry_at - redis_now();
    put_off(end, end.then == Then::later ? std::min(end.delay, rest) : rest);
    co_return end;
  }
  const auto until = Clock::now() + turn;
  const std::size_t refused = sender_.refused_at_host_of(subscriber);
  for (;;) {
    end.cursor = subscriber.cursor;
    const bool others_wait = sender_.refused_at_host_of(subscriber) != refused;
    if (stopping_ || others_wait || Clock::now() > until) {
      put_off(end);
      co_return end;
    }
    const StoreResult<EventTail::Since> page = co_await tail_.next(subscriber.cursor, page_events);
    if (!page) {
      put_off(end, page.error());
      co_return end;
    }
    if (let_go(served, end)) co_return end;
    if (!page->missed && page->events.empty()) co_return end;
    const Next next = co_await tell_page(served, end, *page);
    if (next == Next::settled) co_return end;
  }
}

void Dispatcher::set(Fields& fields, std::string_view name, std::string value) {
  for (auto& [known, kept] : fields) {
    if (known != name) continue;
    kept = std::move(value);
    return;
  }
  fields.emplace_back(name, std::move(value));
}

asio::awaitable<Dispatcher::Next> Dispatcher::tell_page(Served& served, SubscriberSettlement& end,
                                                        const EventTail::Since& page) {
  Subscriber& subscriber = served.subscriber;
  if (page.missed) {
    if (is_webhook(subscriber)) {
      std::string body = missed_body(redis_now().count() / 1000, subscriber.cursor, page.oldest);
      const Told told = co_await sender_.tell(subscriber, "missed-" + subscriber.cursor, std::move(body), redis_now());
      const Next next = judge(served, end, told);
      if (next == Next::settled) co_return next;
    }
    came(served, page.before_oldest);
    co_return Next::more;
  }
  OutsideEvents wanted;
  std::string up_to = page.events.back()->id;
  for (const auto& event : page.events) {
    if (wants(subscriber, *event)) wanted.push_back(event);
  }
  // Send long pages in parts: re-publishing is checked again before each part, and other subscribers get a turn.
  if (is_webhook(subscriber) && wanted.size() > told_at_once) {
    wanted.resize(told_at_once);
    up_to = wanted.back()->id;
  }
  const StoreResult<void> left = co_await leave_private(subscriber, wanted);
  if (!left) co_return put_off(end, left.error());
  if (!wanted.empty()) {
    if (let_go(served, end)) co_return Next::settled;
    Next next = Next::more;
    if (is_webhook(subscriber))
      next = co_await tell_webhook(served, end, wanted);
    else
      next = co_await deliver(served, end, wanted, up_to);
    if (next == Next::settled) co_return next;
  }
  came(served, up_to);
  co_return Next::more;
}

/// Drops events of feeds that have become private since the events were read (WEBSUB U15).
asio::awaitable<StoreResult<void>> Dispatcher::leave_private(const Subscriber& subscriber, OutsideEvents& events) {
  if (subscriber.with_private) co_return StoreResult<void>();
  std::vector<std::string> urls;
  for (const auto& event : events) {
    if (std::ranges::find(urls, event->event.feed_url) == urls.end()) urls.push_back(event->event.feed_url);
  }
  const auto republishing = co_await homes_.of_feeds(urls, read_republishing);
  if (!republishing) co_return republishing.error();
  std::erase_if(events, [&](const auto& event) {
    const auto found = std::ranges::find(urls, event->event.feed_url);
    return !may_be_told(event->event, (*republishing)[static_cast<std::size_t>(found - urls.begin())]);
  });
  co_return StoreResult<void>();
}

/// Sends events one at a time, or up to `at_once` in parallel; the cursor moves to the last event before the first
/// failure.
asio::awaitable<Dispatcher::Next> Dispatcher::tell_webhook(Served& served, SubscriberSettlement& end,
                                                           const OutsideEvents& wanted) {
  const Subscriber& subscriber = served.subscriber;
  for (std::size_t from = 0; from < wanted.size();) {
    const std::size_t count =
        std::min({std::size_t{subscriber.at_once}, sender_.places_for(subscriber), wanted.size() - from});
    std::vector<Told> told(count);
    const auto tell_one = [&](std::size_t i) -> asio::awaitable<void> {
      const OutsideEvent& event = *wanted[from + i];
      std::string body = webhook_body(event.event.type, event.event.timestamp, event.json);
      told[i] = co_await sender_.tell(subscriber, event.id, std::move(body), redis_now());
    };
    co_await at_once(executor_, count, tell_one);
    test_point("S22");
    for (std::size_t i = 0; i < count; ++i) {
      const Next next = judge(served, end, told[i]);
      if (next == Next::settled) co_return next;
      came(served, wanted[from + i]->id);
      end.cursor = subscriber.cursor;
    }
    from += count;
    if (from == wanted.size()) break;
    if (let_go(served, end)) co_return Next::settled;
    if (stopping_) co_return put_off(end);
  }
  co_return Next::more;
}

/// Sends the new posts in one document; moves `up_to` back if not all of them fit.
asio::awaitable<Dispatcher::Next> Dispatcher::deliver(Served& served, SubscriberSettlement& end,
                                                      const OutsideEvents& wanted, std::string& up_to) {
  std::vector<std::string> ids;
  std::string last;
  for (const auto& event : wanted) {
    const bool known = std::ranges::find(ids, event->event.entity_id) != ids.end();
    if (!known && ids.size() == posts_at_once) break;
    if (!known) ids.push_back(event->event.entity_id);
    last = event->id;
  }
  // Receivers that failed or were slow may use half of the memory.
  const double of_memory = served.failed ? 0.5 : 1;
  const StoreResult<NewContent::Made> made = co_await content_.of(served.subscriber, ids, last, of_memory);
  if (!made) co_return put_off(end, made.error());
  if (made->no_memory) co_return put_off(end, with_jitter(2 * options_.poll));
  ids.resize(made->posts);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::ranges::find(ids, wanted[i]->event.entity_id) != ids.end()) continue;
    up_to = wanted[i == 0 ? 0 : i - 1]->id;
    break;
  }
  if (made->content == nullptr) co_return Next::more;
  if (let_go(served, end)) co_return Next::settled;
  const Told told = co_await sender_.deliver(served.subscriber, *made->content);
  test_point("S22");
  if (told.is == Told::Is::failed && served.subscriber.failures + 1 >= most_hub_tries) {
    metrics_.push_out_sent(false, Metrics::PushOut::given_up);
    note_success(served);
    co_return Next::more;
  }
  co_return judge(served, end, told);
}

Dispatcher::Next Dispatcher::judge(Served& served, SubscriberSettlement& end, const Told& told) {
  Subscriber& subscriber = served.subscriber;
  const bool webhook = is_webhook(subscriber);
  switch (told.is) {
    case Told::Is::taken:
      metrics_.push_out_sent(webhook, Metrics::PushOut::taken);
      ++subscriber.delivered;
      set(served.changes, "delivered", std::to_string(subscriber.delivered));
      set(served.changes, "last_success", std::to_string(redis_now().count()));
      if (subscriber.failures > 0) {
        log_.write(webhook ? LogLevel::info : LogLevel::debug, "push_out", "a receiver accepts events again",
                   {{"id", subscriber.id}, {"url", subscriber.url}, {"failures", subscriber.failures}});
      }
      note_success(served);
      return Next::more;
    case Told::Is::gone:
      metrics_.push_out_sent(webhook, Metrics::PushOut::gone);
      if (webhook) tell_operators(subscriber, "webhook_ended", "the receiver no longer accepts events");
      end.then = Then::remove;
      return Next::settled;
    case Told::Is::not_asked:
      return put_off(end, place_again(told));
    case Told::Is::failed:
      break;
  }
  metrics_.push_out_sent(webhook, Metrics::PushOut::failed);
  ++subscriber.failures;
  if (subscriber.failures == 1) {
    subscriber.failing_since = redis_now();
    log_.write(webhook ? LogLevel::info : LogLevel::debug, "push_out", "a receiver fails; feedmill retries",
               {{"id", subscriber.id}, {"url", subscriber.url}, {"detail", told.why}});
  }
  subscriber.last_error = told.why;
  set(served.changes, "failures", std::to_string(subscriber.failures));
  set(served.changes, "failing_since", std::to_string(subscriber.failing_since.count()));
  set(served.changes, "last_error", told.why);
  if (webhook && redis_now() - subscriber.failing_since >= options_.give_up) {
    metrics_.push_out_sent(webhook, Metrics::PushOut::given_up);
    tell_operators(subscriber, "webhook_suspended", told.why);
    end.then = Then::suspend;
    return Next::settled;
  }
  return put_off(end, with_jitter(receiver_back_off(subscriber.failures, told.retry_after)));
}

void Dispatcher::came(Served& served, const std::string& cursor) {
  served.subscriber.cursor = cursor;
  if (Progress* const progress = progress_of(served)) progress->cursor = cursor;
}

void Dispatcher::note_success(Served& served) {
  if (std::exchange(served.subscriber.failures, 0) == 0) return;
  served.subscriber.failing_since = {};
  for (const char* field : {"failures", "failing_since", "last_error"}) set(served.changes, field, "");
}

void Dispatcher::tell_operators(const Subscriber& subscriber, std::string_view what, const std::string& why) {
  log_.write(LogLevel::warn, "push_out",
             what == "webhook_ended" ? "a webhook has ended" : "a webhook is suspended: it has failed for too long",
             {{"id", subscriber.id}, {"url", subscriber.url}, {"detail", why}});
  notices_.push_back(webhook_notice(subscriber.id, subscriber.url, what, why, redis_now()));
}

Dispatcher::Next Dispatcher::put_off(SubscriberSettlement& end, Milliseconds delay) {
  end.then = Then::later;
  end.delay = delay;
  return Next::settled;
}

Dispatcher::Next Dispatcher::put_off(SubscriberSettlement& end, const StoreError& error) {
  metrics_.store_error(error);
  return put_off(end, 5 * options_.poll);
}

Milliseconds Dispatcher::redis_now() const {
  return redis_time_ + std::chrono::duration_cast<Milliseconds>(Clock::now() - redis_read_);
}

Milliseconds Dispatcher::with_jitter(Milliseconds delay) {
  std::uniform_int_distribution<std::int64_t> some(0, std::max<std::int64_t>(1, delay.count() / 5));
  return delay * 9 / 10 + Milliseconds(some(random_));
}

/// When to retry a request that found no free slot at the host.
Milliseconds Dispatcher::place_again(const Told& told) {
  return with_jitter(told.retry_after > Milliseconds(0) ? told.retry_after : options_.poll);
}

/// Stores finished subscribers soon and the progress of the others once a second. After a crash, the events of that
/// second are sent again with the same ids.
asio::awaitable<void> Dispatcher::write_down() {
  progress_due_ = Clock::now() + progress_every;
  bool failed = false;
  while (!ended_) {
    co_await write_due_.wait(settled_.empty() || failed ? with_jitter(progress_every) : settle_within);
    if (!settled_.empty()) {
      asio::steady_timer soon(executor_, settle_within);
      co_await soon.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    std::vector<SubscriberSettlement> all = std::exchange(settled_, {});
    if (Clock::now() >= progress_due_) {
      progress_due_ = Clock::now() + progress_every;
      for (const auto& [id, progress] : progress_) {
        if (!progress.lost) all.push_back({id, progress.claim, progress.cursor, Then::hold, Milliseconds(0), {}});
      }
    }
    const bool written = co_await settle(std::move(all));
    failed = !written;
  }
}

/// Returns false if Redis did not answer. Finished subscribers are then settled later; if their lease ends before that,
/// the next worker resumes at the last cursor stored.
asio::awaitable<bool> Dispatcher::settle(std::vector<SubscriberSettlement> all) {
  for (std::size_t from = 0; from < all.size(); from += most_settled) {
    const auto some = std::span(all).subspan(from, std::min(most_settled, all.size() - from));
    const auto write = [&](Store& store) { return Subscribers(store).settle(some, options_.lease); };
    const auto held_until = Clock::now() + options_.lease;
    const StoreResult<std::vector<bool>> held = co_await store_.call(write);
    test_point("S23");
    if (!held) {
      metrics_.store_error(held.error());
      for (SubscriberSettlement& one : std::span(all).subspan(from)) {
        if (one.then != Then::hold) settled_.push_back(std::move(one));
      }
      co_return false;
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto found = progress_.find(some[i].id);
      if (found == progress_.end() || found->second.claim != some[i].claim) continue;
      if (!(*held)[i]) found->second.lost = true;
      if (some[i].then == Then::hold) found->second.held_until = held_until;
    }
  }
  if (!all.empty()) due_.notify();
  if (notices_.empty()) co_return true;
  const std::vector<Notice> notices = std::exchange(notices_, {});
  StoreResult<void> told;
  const auto add = [&](Store& store) { told = Notifications(store).add(notices); };
  co_await homes_.at(0, add);
  if (!told) metrics_.store_error(told.error());
  co_return true;
}

}  // namespace feedmill
