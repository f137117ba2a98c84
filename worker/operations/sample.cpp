#include "worker/operations/sample.hpp"

#include <memory>
#include <utility>
#include <variant>

#include <boost/json.hpp>

#include "worker/base/redact.hpp"
#include "worker/base/terminal.hpp"
#include "worker/webhooks/message.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {

boost::asio::awaitable<OperationOutcome> send_sample(Fetcher& fetcher, Subscriber webhook, Milliseconds now,
                                                     std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  const WebhookMessage message = sample_message(std::chrono::floor<std::chrono::seconds>(now).count());
  const auto secrets = secrets_in_use(webhook, now);
  Fetcher::Outbound outbound;
  outbound.url = webhook.url;
  outbound.header_lines = webhook_headers(message, secrets);
  outbound.body = std::make_shared<const std::string>(message.body);
  outbound.deadline = begun + patience;
  const HttpResult result = co_await fetcher.send(std::move(outbound));
  const auto took = std::chrono::floor<std::chrono::milliseconds>(Clock::now() - begun);
  const auto* const response = std::get_if<HttpResponse>(&result);
  const auto* const failure = std::get_if<HttpFailure>(&result);
  const int status = response != nullptr ? response->status : failure->status;
  std::string trouble;
  if (failure != nullptr) trouble = visible(redact(std::string(to_string(failure->reason)) + ": " + failure->detail));
  const bool is_taken = status >= 200 && status < 300;
  boost::json::object row{{"id", webhook.id}, {"webhook_id", message.id}};
  row["status"] = status == 0 ? boost::json::value() : boost::json::value(status);
  row["trouble"] = text_or_null(trouble);
  row["took_ms"] = took.count();
  co_return OperationOutcome{.result = is_taken ? "taken" : "not_taken",
                             .rows = {std::move(row)},
                             .shown = {"status", "trouble", "took_ms"},
                             .is_no = !is_taken};
}

}  // namespace feedmill
