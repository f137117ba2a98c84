#include "worker/websub/subscriber.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "storage/records/tokens.hpp"
#include "storage/store/partition.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/resolver.hpp"
#include "worker/policy/push_health.hpp"
#include "worker/websub/callback.hpp"
#include "worker/websub/signature.hpp"

namespace feedmill {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using How = PushSettlement::How;

namespace {

constexpr std::size_t most_redirects = 5;
constexpr Milliseconds longest_hub_wait{10'000};  // for a slot where a redirect leads
constexpr std::chrono::hours http_remembered{24};
constexpr std::size_t most_hubs_remembered = 10'000;

bool is_https(std::string_view url) {
  return url.starts_with("https:");
}

/// The https form of an http URL (WEBSUB §3).
std::string with_https(const std::string& url) {
  return url.starts_with("http:") ? "https:" + url.substr(5) : url;
}

/// Whether no HTTP server answered, so that another URL may be tried.
bool nobody_there(Reason reason) {
  switch (reason) {
    case Reason::connect_refused:
    case Reason::connect_timeout:
    case Reason::connect_failed:
    case Reason::tls_verify:
    case Reason::tls_handshake:
    case Reason::egress_port:
      return true;
    default:
      return false;
  }
}

std::chrono::sys_seconds now_in_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace

HubClient::HubClient(const asio::any_io_executor& executor, Fetcher& fetcher, PushStore& store, StorePool& partitions,
                     Metrics& metrics, Log& log, Options options)
    : fetcher_(fetcher),
      store_(store),
      partitions_(partitions),
      metrics_(metrics),
      log_(log),
      options_(std::move(options)),
      due_(executor),
      lanes_(executor, options_.at_once, due_),
      end_(executor, Clock::time_point::max()) {}

void HubClient::stop(Milliseconds grace) {
  lanes_.stop();
  end_.expires_after(grace);
}

asio::awaitable<void> HubClient::run() {
  co_await (look_after_all() || wait_until_expired(end_));
}

/// Tasks that were taken and not begun are taken by any worker after their lease.
asio::awaitable<void> HubClient::look_after_all() {
  const auto take = [this](std::size_t room) { return take_tasks(room); };
  const auto look = [this](const Given& given) { return look_after(given); };
  co_await lanes_.run(take, look);
}

asio::awaitable<DueLanes<HubClient::Given>::Taken> HubClient::take_tasks(std::size_t room) {
  const auto ask = [&](Store& store) { return Pushes(store).take(room, options_.lease); };
  StoreResult<PushTasks> found = co_await store_.call(ask);
  DueLanes<Given>::Taken taken;
  if (!found) {
    metrics_.store_error(found.error());
    taken.rest = 5 * options_.poll;
    co_return taken;
  }
  for (PushTask& task : found->tasks) taken.items.push_back({std::move(task), found->now});
  if (!taken.items.empty()) co_return taken;
  const bool known = found->next.count() > 0;
  taken.rest = known ? std::clamp(found->next - found->now, Milliseconds(1), options_.poll) : options_.poll;
  co_return taken;
}

asio::awaitable<void> HubClient::look_after(const Given& given) {
  const auto& [task, now] = given;
  try {
    const PushStep step = plan_push(task, now);
    co_await take_step(task, step, now);
  } catch (const std::exception& error) {
    if (is_cancellation(std::current_exception())) throw;
    metrics_.bug();  // the task is retried after the lease
    log_.write(LogLevel::error, "bug", "an unexpected error; please report it",
               {{"part", "subscriber"}, {"url", task.feed_url}, {"detail", error.what()}});
  }
}

asio::awaitable<void> HubClient::take_step(const PushTask& task, const PushStep& step, Milliseconds now) {
  PushSettlement settlement;
  settlement.member = task.member();
  settlement.delay = step.delay;
  settlement.note = step.note;
  switch (step.what) {
    case PushStep::Do::wait:
      settlement.how = How::wait;
      break;
    case PushStep::Do::forget:
      settlement.how = How::forget;
      break;
    case PushStep::Do::leave:
      settlement.how = How::left;
      break;
    case PushStep::Do::lost:
      settlement.how = How::lost;
      break;
    case PushStep::Do::retry:
      settlement.how = How::again;
      break;
    case PushStep::Do::subscribe:
    case PushStep::Do::unsubscribe: {
      const std::string host = host_of(first_url(task, step));
      Place at{host, registrable_domain(host)};
      const StoreResult<Milliseconds> wait = co_await wait_for_hub(task, host, task.came);
      if (!wait) metrics_.store_error(wait.error());
      if (!wait) co_return;
      if (wait->count() > 0) {
        if (!other_home_of(host)) co_return;
        settlement.how = How::turn;
        settlement.delay = *wait;
        break;
      }
      settlement.delay = wait_for_domain(at.own_domain);
      if (settlement.delay.count() > 0) {
        settlement.how = How::wait;
        settlement.turn = host;
        break;
      }
      ++domains_[at.own_domain].under_way;
      const AtExit leave([&] {
        leave_domain(at.own_domain);
        if (!at.domain.empty()) leave_domain(at.domain);
      });
      if (step.what == PushStep::Do::subscribe)
        co_await subscribe(task, step, at, now);
      else
        co_await end(task, at);
      co_return;
    }
  }
  co_await settle(task, std::move(settlement), now);
}

/// Returns zero if a slot is free; otherwise how long to wait for one, after all earlier waiters.
Milliseconds HubClient::wait_for_domain(const std::string& name) {
  const auto found = domains_.find(name);
  if (found == domains_.end() || found->second.under_way < options_.per_domain) return Milliseconds(0);
  Domain& domain = found->second;
  const Clock::time_point now = Clock::now();
  domain.tail = std::max(domain.tail, now) + std::max(options_.spacing, Milliseconds(10));
  return std::chrono::ceil<Milliseconds>(domain.tail - now);
}

void HubClient::leave_domain(const std::string& name) {
  const auto found = domains_.find(name);
  if (found != domains_.end() && --found->second.under_way == 0) domains_.erase(found);
}

/// WEBSUB S5: leaves the hub that was asked, and waits for a slot at another host. False if there is none in time.
asio::awaitable<bool> HubClient::move_to(const PushTask& task, std::string host, Place& at,
                                         Clock::time_point deadline) {
  if (!at.domain.empty()) leave_domain(std::exchange(at.domain, ""));
  co_await end_turn(std::exchange(at.hub, host), task.member());
  const std::string domain = registrable_domain(host);
  const bool another = domain != at.own_domain;
  const Clock::time_point until = std::min(deadline, Clock::now() + longest_hub_wait);
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (std::string came = "here";; came = "turn") {
    Milliseconds wait = another ? wait_for_domain(domain) : Milliseconds(0);
    if (wait.count() == 0) {
      if (another) ++domains_[at.domain = domain].under_way;
      const StoreResult<Milliseconds> hub_wait = co_await wait_for_hub(task, host, came);
      if (!hub_wait) metrics_.store_error(hub_wait.error());
      if (!hub_wait) co_return false;
      if (hub_wait->count() == 0) co_return true;
      if (another) leave_domain(std::exchange(at.domain, ""));
      wait = *hub_wait;
    }
    if (Clock::now() + wait > until) co_return false;
    timer.expires_after(wait);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

/// WEBSUB S5, H3: returns zero if the hub may be contacted now; otherwise the time until this task's slot.
asio::awaitable<StoreResult<Milliseconds>> HubClient::wait_for_hub(const PushTask& task, std::string host,
                                                                   std::string came) {
  HubTurn turn;
  turn.host = std::move(host);
  turn.member = task.member();
  turn.came = std::move(came);
  turn.at_once = task.hub_in_trouble ? std::max<std::size_t>(options_.per_hub / 2, 1) : options_.per_hub;
  turn.spacing = task.hub_in_trouble ? 2 * options_.spacing : options_.spacing;
  turn.lease = options_.wall + Milliseconds(10'000);
  const auto take = [&](Store& store) { return Pushes(store).take_turn(turn); };
  if (const auto home = other_home_of(turn.host)) co_return co_await partitions_.call_at(*home, take);
  co_return co_await store_.call(take);
}

/// RELIABILITY L27: the partition with the hub's gate; empty if that is this partition.
std::optional<unsigned> HubClient::other_home_of(std::string_view hub_host) const {
  const unsigned home = partition_of_name(hub_host, options_.partition.count);
  return home == options_.partition.index ? std::nullopt : std::optional(home);
}

/// Frees a slot; if that fails, it ends with its lease.
asio::awaitable<void> HubClient::end_turn(std::string host, std::string member) {
  const auto end = [&](Store& store) { return Pushes(store).end_turn(host, member); };
  StoreResult<void> ended;
  if (const auto home = other_home_of(host))
    ended = co_await partitions_.call_at(*home, end);
  else
    ended = co_await store_.call(end);
  if (!ended) metrics_.store_error(ended.error());
}

PushRecord HubClient::new_record(const PushTask& task, const PushStep& step, std::string hub_url) const {
  PushRecord record;
  record.feed_url = task.feed_url;
  record.token = random_token();
  record.hash = hash_of_token(record.token);
  record.topic = step.topic;
  record.hub = step.hub;
  record.hub_url = std::move(hub_url);
  if (is_https(record.hub_url)) record.secret = random_secret();  // SECURITY W4
  return record;
}

/// The URL to ask first: the one at which the hub answered before.
std::string HubClient::first_url(const PushTask& task, const PushStep& step) const {
  if (step.what == PushStep::Do::unsubscribe) return task.subscription->hub_url;
  const bool known = task.subscription && task.subscription->hub == step.hub && !task.subscription->hub_url.empty();
  const auto plain = only_http_.find(step.hub);
  const bool only_http = plain != only_http_.end() && Clock::now() < plain->second;
  return only_http ? step.hub : with_https(known ? task.subscription->hub_url : step.hub);
}

asio::awaitable<void> HubClient::subscribe(const PushTask& task, const PushStep& step, Place& at, Milliseconds now) {
  std::string hub_url = first_url(task, step);
  const Clock::time_point deadline = Clock::now() + options_.wall;
  for (;;) {
    const PushRecord record = new_record(task, step, hub_url);
    const auto remember = [&](Store& store) { return Pushes(store).begin(record); };
    const StoreResult<std::optional<PushTurn>> begun = co_await store_.call(remember);
    if (!begun) {
      metrics_.store_error(begun.error());
      co_return;
    }
    if (!*begun) co_return;
    PushNews news{task.feed_url, (*begun)->from, (*begun)->to, "asks " + host_of(record.hub), record.hub, false};
    co_await store_.tell(log_, metrics_, std::move(news), now);
    const Reply reply = co_await ask(task, record, "subscribe", at, deadline);
    if (reply.no_server && is_https(record.hub_url) && !is_https(step.hub)) {
      if (only_http_.size() >= most_hubs_remembered) only_http_.clear();
      only_http_[step.hub] = Clock::now() + http_remembered;
      hub_url = step.hub;
      continue;
    }
    PushSettlement settlement;
    settlement.member = task.member();
    settlement.hash = record.hash;
    settlement.note = reply.why;
    settlement.hub_url = reply.hub_url;
    settlement.turn = at.hub;
    if (reply.is == Reply::Is::taken) {
      settlement.how = How::sent;
    } else if (reply.is == Reply::Is::refused) {
      settlement.how = How::refused;
      settlement.delay = wait_for_next_hub(task, {}, true);
    } else if (reply.is == Reply::Is::not_asked) {
      settlement.how = How::put_off;
      settlement.delay = options_.wall;
    } else {
      settlement.how = How::again;
      settlement.delay = wait_for_next_hub(task, reply.retry_after, false);
    }
    co_await settle(task, std::move(settlement), now);
    co_return;
  }
}

asio::awaitable<void> HubClient::end(const PushTask& task, Place& at) {
  const PushRecord& record = *task.subscription;
  const auto remember = [&](Store& store) { return Pushes(store).begin_end(record.hash); };
  const StoreResult<bool> begun = co_await store_.call(remember);
  if (!begun) metrics_.store_error(begun.error());
  if (!begun || !*begun) co_return;
  const Reply reply = co_await ask(task, record, "unsubscribe", at, Clock::now() + options_.wall);
  PushSettlement settlement;
  settlement.member = task.member();
  settlement.hash = record.hash;
  settlement.turn = at.hub;
  switch (reply.is) {
    case Reply::Is::taken:
      settlement.how = How::wait;
      settlement.delay = push_pending_for;
      break;
    case Reply::Is::refused:
      settlement.how = How::forget;
      break;
    case Reply::Is::unheard:
      settlement.how = How::again;
      settlement.delay = hub_retry_after(record.ends, reply.retry_after);
      break;
    case Reply::Is::not_asked:
      settlement.how = How::put_off;
      settlement.delay = options_.wall;
      break;
  }
  co_await settle(task, std::move(settlement), Milliseconds(0));
}

/// WEBSUB S4, S5: POSTs, and repeats the POST to targets of 307 and 308, each within the limits of its host. If all
/// redirects are 308, the target is the hub's new URL.
asio::awaitable<HubClient::Reply> HubClient::ask(const PushTask& task, const PushRecord& record, std::string mode,
                                                 Place& at, Clock::time_point deadline) {
  const std::string form = subscription_form(record, mode, options_.public_url + "/w/" + record.token);
  const FeedSettings settings = read_settings(task.feed_url.empty() ? record.settings : task.state.settings);
  Reply reply;
  reply.hub_url = record.hub_url;
  std::string url = record.hub_url;
  bool for_good = true;
  for (std::size_t followed = 0;; ++followed) {
    const std::string host = host_of(url);
    bool may_ask = followed == 0 && host == at.hub;
    if (!may_ask) may_ask = co_await move_to(task, host, at, deadline);
    if (!may_ask) {
      reply.is = Reply::Is::unheard;
      reply.why = reason_of_hub("leads to " + host + ", which may not be asked now", record);
      co_return reply;
    }
    const HttpResult result = co_await fetcher_.post_form(record.feed_url, settings, url, form, deadline);
    if (const auto* failure = std::get_if<HttpFailure>(&result)) {
      if (failure->reason == Reason::limit_body && failure->status / 100 == 2) {
        reply.is = Reply::Is::taken;
        co_return reply;
      }
      // A 4xx is a refusal even if its page is too long.
      const bool no = failure->reason == Reason::limit_body && failure->status / 100 == 4 && failure->status != 429;
      const bool refused = no || failure->reason == Reason::egress_blocked || failure->reason == Reason::url_invalid;
      const bool crowded = followed == 0 && failure->reason == Reason::worker_host_wait;  // too many to that network
      reply.is = refused ? Reply::Is::refused : crowded ? Reply::Is::not_asked : Reply::Is::unheard;
      const std::string status = failure->status == 0 ? "" : "answered " + std::to_string(failure->status) + ": ";
      reply.why = reason_of_hub(status + std::string(to_string(failure->reason)) + ": " + failure->detail, record);
      reply.no_server = nobody_there(failure->reason) && !failure->trace.sent;
      co_return reply;
    }
    const HttpResponse& answer = std::get<HttpResponse>(result);
    if (answer.status >= 200 && answer.status < 300) {
      reply.is = Reply::Is::taken;
      co_return reply;
    }
    if (answer.status == 307 || answer.status == 308) {
      auto target = resolve_location(url, field(answer.headers, "location"));
      const bool downgrade = target && is_https(url) && !is_https(*target);
      if (target && !downgrade && followed < most_redirects) {
        url = std::move(*target);
        for_good = for_good && answer.status == 308;
        if (for_good) reply.hub_url = url;
        continue;
      }
      reply.is = Reply::Is::refused;
      reply.why = downgrade ? "redirects from https to http" : "redirects without a usable Location";
      co_return reply;
    }
    reply.why = reason_of_hub("answered " + std::to_string(answer.status) + ": " + answer.body, record);
    reply.is = answer.status >= 500 || answer.status == 429 ? Reply::Is::unheard : Reply::Is::refused;
    if (const auto wait = retry_after(answer.headers, now_in_seconds())) reply.retry_after = wait->wait;
    co_return reply;
  }
}

asio::awaitable<void> HubClient::settle(const PushTask& task, PushSettlement settlement, Milliseconds now) {
  if (!settlement.turn.empty() && other_home_of(settlement.turn))
    co_await end_turn(std::exchange(settlement.turn, ""), settlement.member);
  const auto write = [&](Store& store) { return Pushes(store).settle(settlement); };
  const StoreResult<PushTurn> done = co_await store_.call(write);
  if (!done) {
    metrics_.store_error(done.error());
    co_return;
  }
  if (task.feed_url.empty()) co_return;
  PushNews news{task.feed_url,       done->from, done->to, settlement.note, task.state.push.standing.hub,
                done->hub_in_trouble};
  co_await store_.tell(log_, metrics_, std::move(news), now);
}

}  // namespace feedmill
