#include "worker/push_out/sender.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "storage/records/tokens.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/redact.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/republish/webhook_message.hpp"
#include "worker/websub/callback.hpp"
#include "worker/websub/signature.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::size_t most_reason = 300;
constexpr std::size_t most_slow = 100'000;
constexpr std::chrono::seconds prompt_answer{1}, longest_turn{10};

std::chrono::sys_seconds now_in_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

Told judge(const HttpResult& result) {
  Told told;
  if (const auto* failure = std::get_if<HttpFailure>(&result)) {
    told.status = failure->status;
    told.sent = failure->trace.sent;
    const bool long_answer = failure->reason == Reason::limit_body && failure->status != 0;
    if (long_answer && failure->status / 100 == 2) return told;
    if (failure->reason == Reason::worker_host_wait) {
      told.is = Told::Is::not_asked;
      return told;
    }
    told.is = long_answer && failure->status == 410 ? Told::Is::gone : Told::Is::failed;
    told.why = one_line(redact(std::string(to_string(failure->reason)) + ": " + failure->detail), most_reason);
    return told;
  }
  const HttpResponse& answer = std::get<HttpResponse>(result);
  told.status = answer.status;
  if (answer.status >= 200 && answer.status < 300) {
    told.answer = answer.body;
    return told;
  }
  told.is = answer.status == 410 ? Told::Is::gone : Told::Is::failed;
  told.why = one_line(redact("answered " + std::to_string(answer.status) + ": " + answer.body), most_reason);
  if (const auto wait = retry_after(answer.headers, now_in_seconds())) told.retry_after = wait->wait;
  return told;
}

}  // namespace

std::string verification_url(const Subscriber& subscriber, std::string_view challenge) {
  const Subscriber::Intent& intent = subscriber.intent;
  std::string url = subscriber.url;
  url += url.find('?') == std::string::npos ? '?' : '&';
  url.append("hub.mode=").append(intent.mode).append("&hub.topic=").append(percent_encoded(subscriber.topic_url));
  if (intent.mode == "denied") {
    if (!intent.reason.empty()) url.append("&hub.reason=").append(percent_encoded(intent.reason));
    return url;
  }
  url.append("&hub.challenge=").append(challenge);
  const auto lease = std::chrono::duration_cast<std::chrono::seconds>(intent.lease);
  if (intent.mode == "subscribe") url.append("&hub.lease_seconds=").append(std::to_string(lease.count()));
  return url;
}

bool Sender::is_prompt(const Subscriber& subscriber) const {
  return subscriber.failures == 0 && subscriber.delivered > 0 && !is_slow(subscriber);
}

std::size_t Sender::refused_at_host_of(const Subscriber& subscriber) const {
  const auto at = under_way_.find(host_of(subscriber.url));
  return at == under_way_.end() ? 0 : at->second.refused;
}

std::size_t Sender::places_for(const Subscriber& subscriber) const {
  return is_prompt(subscriber) ? per_host_ : std::max<std::size_t>(1, per_host_ / 2);
}

/// A receiver that finds no slot gets a turn after the earlier ones, about when they will be done, so that few retries
/// fail however many receivers wait.
Milliseconds Sender::wait_for_place(const Subscriber& subscriber) {
  const auto at = under_way_.find(host_of(subscriber.url));
  if (at == under_way_.end()) return Milliseconds(0);
  Host& host = at->second;
  const std::size_t places = places_for(subscriber);
  if (host.all < per_host_ && (is_prompt(subscriber) || host.waited_for < places)) return Milliseconds(0);
  const auto now = Clock::now();
  ++host.refused;
  const auto each = host.took / static_cast<Clock::rep>(places);
  host.turn = std::min<Clock::time_point>(std::max(host.turn, now) + each, now + longest_turn);
  return std::chrono::ceil<Milliseconds>(host.turn - now) + Milliseconds(1);
}

/// Slow receivers do not get all slots of a host that others use as well (WEBSUB U14).
asio::awaitable<Told> Sender::send(const Subscriber& receiver, Fetcher::Outbound outbound) {
  if (const Milliseconds wait = wait_for_place(receiver); wait > Milliseconds(0)) {
    Told told;
    told.is = Told::Is::not_asked;
    told.retry_after = wait;
    co_return told;
  }
  const auto at = under_way_.try_emplace(host_of(receiver.url)).first;
  Host& host = at->second;
  const std::size_t waited_for = is_prompt(receiver) ? 0 : 1;
  ++host.all;
  host.waited_for += waited_for;
  const AtExit leave([&] {
    host.waited_for -= waited_for;
    if (--host.all == 0) under_way_.erase(at);
  });
  const auto from = Clock::now();
  outbound.deadline = from + timeout_;
  const HttpResult result = co_await fetcher_.send(std::move(outbound));
  host.took = Clock::now() - from;
  if (host.took <= prompt_answer) {
    slow_.erase(receiver.id);
  } else {
    if (slow_.size() >= most_slow) slow_.clear();  // they will be found slow again
    slow_.insert(receiver.id);
  }
  co_return judge(result);
}

asio::awaitable<Fetcher::Peer> Sender::peer_of(const Subscriber& subscriber) {
  return fetcher_.peer_of(subscriber.url, Clock::now() + timeout_);
}

asio::awaitable<Told> Sender::tell(const Subscriber& webhook, std::string id, std::string body, Milliseconds now) {
  const std::vector<std::string> secrets = secrets_in_use(webhook, now);
  WebhookMessage message;
  message.id = std::move(id);
  message.timestamp = now_in_seconds().time_since_epoch().count();
  message.body = std::move(body);
  MemoryBudget::Share held(memory_, 0);
  held.hold(message.body.size());
  Fetcher::Outbound outbound;
  outbound.url = webhook.url;
  outbound.header_lines = webhook_headers(message, secrets);
  outbound.body = std::make_shared<const std::string>(std::move(message.body));
  co_return co_await send(webhook, std::move(outbound));
}

asio::awaitable<Told> Sender::deliver(const Subscriber& subscriber, const Content& content) {
  Fetcher::Outbound outbound;
  outbound.url = subscriber.url;
  outbound.header_lines = {"Content-Type: " + content.type,
                           "Link: <" + content.hub + ">; rel=\"hub\", <" + content.self + ">; rel=\"self\""};
  if (!subscriber.secret.empty())
    outbound.header_lines.push_back("X-Hub-Signature: " + hub_signature(subscriber.secret, *content.body));
  outbound.body = content.body;
  co_return co_await send(subscriber, std::move(outbound));
}

asio::awaitable<Told> Sender::verify(const Subscriber& subscriber, const std::string& address) {
  const std::string challenge = random_token();
  Fetcher::Outbound outbound;
  outbound.url = verification_url(subscriber, challenge);
  outbound.header_lines = {"Accept: */*"};
  outbound.address = address;
  Told told = co_await send(subscriber, std::move(outbound));
  if (told.is == Told::Is::taken && subscriber.intent.mode != "denied" && told.answer != challenge) {
    told.is = Told::Is::failed;
    told.why = "did not answer with the challenge";
  }
  co_return told;
}

}  // namespace feedmill
