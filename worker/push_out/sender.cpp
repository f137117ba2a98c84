#include "worker/push_out/sender.hpp"

#include <utility>
#include <variant>
#include <vector>

#include "storage/records/tokens.hpp"
#include "worker/base/redact.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/listener/query.hpp"
#include "worker/webhooks/message.hpp"
#include "worker/websub/callback.hpp"
#include "worker/websub/signature.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::size_t most_reason = 300;

std::chrono::sys_seconds now_in_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

Told judge(const HttpResult& result) {
  Told told;
  if (const auto* failure = std::get_if<HttpFailure>(&result)) {
    told.status = failure->status;
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

asio::awaitable<Told> Sender::send(Fetcher::Outbound outbound) {
  struct Place {
    std::map<std::string, std::size_t, std::less<>>& all;
    std::map<std::string, std::size_t, std::less<>>::iterator at;
    ~Place() {
      if (--at->second == 0) all.erase(at);
    }
  };
  auto found = under_way_.try_emplace(host_of(outbound.url), 0).first;
  ++found->second;
  const Place place{under_way_, found};
  Told told;
  told.is = Told::Is::not_asked;
  if (found->second > per_host_) co_return told;
  outbound.deadline = std::chrono::steady_clock::now() + timeout_;
  const HttpResult result = co_await fetcher_.send(std::move(outbound));
  co_return judge(result);
}

asio::awaitable<Told> Sender::tell(const Subscriber& webhook, std::string id, std::string body, Milliseconds now) {
  const std::vector<std::string> secrets = secrets_in_use(webhook, now);
  WebhookMessage message;
  message.id = std::move(id);
  message.timestamp = now_in_seconds().time_since_epoch().count();
  message.body = std::move(body);
  Fetcher::Outbound outbound;
  outbound.url = webhook.url;
  outbound.header_lines = webhook_headers(message, secrets);
  outbound.body = std::move(message.body);
  co_return co_await send(std::move(outbound));
}

asio::awaitable<Told> Sender::deliver(const Subscriber& subscriber, const Content& content) {
  Fetcher::Outbound outbound;
  outbound.url = subscriber.url;
  outbound.header_lines = {"Content-Type: " + content.type,
                           "Link: <" + content.hub + ">; rel=\"hub\", <" + content.self + ">; rel=\"self\""};
  if (!subscriber.secret.empty())
    outbound.header_lines.push_back("X-Hub-Signature: " + hub_signature(subscriber.secret, content.body));
  outbound.body = content.body;
  co_return co_await send(std::move(outbound));
}

asio::awaitable<Told> Sender::verify(const Subscriber& subscriber) {
  const std::string challenge = random_token();
  Fetcher::Outbound outbound;
  outbound.url = verification_url(subscriber, challenge);
  outbound.header_lines = {"Accept: */*"};
  Told told = co_await send(std::move(outbound));
  if (told.is == Told::Is::taken && subscriber.intent.mode != "denied" && told.answer != challenge) {
    told.is = Told::Is::failed;
    told.why = "did not answer with the challenge";
  }
  co_return told;
}

}  // namespace feedmill
