#include "worker/endpoints/sample.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>

#include "worker/base/interrupt.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/terminal.hpp"
#include "worker/endpoints/webhooks.hpp"
#include "worker/webhooks/message.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {

namespace asio = boost::asio;

std::string SampleAnswer::trouble() const {
  return reason.empty() ? std::string() : visible(redact(reason + ": " + detail));
}

boost::json::object sample_json(const std::string& id, const SampleAnswer& answer) {
  boost::json::object row{{"id", id}, {"webhook_id", answer.id}};
  row["status"] = answer.status == 0 ? boost::json::value() : boost::json::value(answer.status);
  row["trouble"] = text_or_null(answer.trouble());
  row["took_ms"] = answer.took.count();
  return row;
}

asio::awaitable<SampleAnswer> send_sample(Fetcher& fetcher, Subscriber webhook, Milliseconds now,
                                          std::chrono::milliseconds patience) {
  const auto begun = std::chrono::steady_clock::now();
  const WebhookMessage message = sample_message(std::chrono::floor<std::chrono::seconds>(now).count());
  const auto secrets = secrets_in_use(webhook, now);
  SampleAnswer answer;
  answer.id = message.id;
  Fetcher::Outbound outbound;
  outbound.url = webhook.url;
  outbound.header_lines = webhook_headers(message, secrets);
  outbound.body = std::make_shared<const std::string>(message.body);
  outbound.deadline = begun + patience;
  const HttpResult result = co_await fetcher.send(std::move(outbound));
  answer.took = std::chrono::floor<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
  if (const auto* const response = std::get_if<HttpResponse>(&result)) {
    answer.status = response->status;
  } else {
    const auto& failure = std::get<HttpFailure>(result);
    answer.status = failure.status;
    answer.reason = to_string(failure.reason);
    answer.detail = failure.detail;
  }
  co_return answer;
}

SampleAnswer send_sample_now(const FetchOptions& options, const Subscriber& webhook, Milliseconds now,
                             std::chrono::milliseconds patience) {
  asio::io_context loop(1);
  Fetcher fetcher(loop.get_executor(), options);
  std::optional<SampleAnswer> answer;
  std::exception_ptr failed;
  bool ended = false;
  asio::cancellation_signal cancel;
  asio::co_spawn(loop, send_sample(fetcher, webhook, now, patience),
                 asio::bind_cancellation_slot(cancel.slot(), [&](const std::exception_ptr& error, SampleAnswer sent) {
                   ended = true;
                   failed = error;
                   answer = std::move(sent);
                 }));
  while (!ended) {
    loop.run_one_for(interrupt_interval);
    if (interrupted()) cancel.emit(asio::cancellation_type::terminal);  // libcurl lets go of the transfer first
  }
  stop_if_interrupted();
  if (failed) std::rethrow_exception(failed);
  return std::move(*answer);
}

}  // namespace feedmill
