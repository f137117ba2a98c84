#include "worker/websub/callbacks.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>

#include "parsers/text/strings.hpp"
#include "storage/redis/test_point.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/http/content_coding.hpp"
#include "worker/websub/push_policy.hpp"
#include "worker/websub/signature.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

/// Answers every path that is not a callback, or not currently one, so that clients cannot tell which (SECURITY W2).
HttpReply not_found() {
  return http_reply(http::status::not_found);
}

/// The values of all fields named `name`, joined with commas (RFC 9110 §5.3).
std::string joined(const Visit::Header& head, http::field name) {
  std::string all;
  for (auto [field, end] = head.equal_range(name); field != end; ++field)
    all.append(all.empty() ? "" : ", ").append(std::string_view(field->value()));
  return all;
}

}  // namespace

asio::awaitable<HttpReply> Callbacks::answer(Visit& visit, CallbackTarget target) {
  const auto place = way_.enter();
  if (closed_ || !place) co_return try_later("10");
  const auto from = std::chrono::steady_clock::now();
  HttpReply reply;
  if (visit.head().method() == http::verb::get)
    reply = co_await verify(std::move(target));
  else
    reply = co_await deliver(visit, target);
  parts_.metrics.callback_answered(std::chrono::steady_clock::now() - from);
  co_return reply;
}

/// WEBSUB S7: stores the verification, then answers.
asio::awaitable<HttpReply> Callbacks::verify(CallbackTarget target) {
  const auto asked = read_verification(target.query);
  if (!asked) {
    parts_.metrics.push_verification(false);
    co_return not_found();
  }
  PushQuestion question;
  question.hash = hash_of_token(target.token);
  question.mode = asked->mode;
  question.topic = asked->topic;
  const PushLease lease = push_lease(asked->lease_seconds, asked->topic);
  question.lease = lease.lease;
  question.renew = lease.renew;
  if (asked->mode == "denied") {
    const auto known = co_await parts_.store.find(question.hash);
    if (!has_come(known)) co_return try_later("30");
    question.note = reason_of_hub(asked->reason, known->value_or(PushRecord()));
  }
  const auto ask = [&](Store& store) { return Pushes(store).answer(question); };
  const StoreResult<PushAnswer> answered = co_await parts_.store.call(ask);
  if (!has_come(answered)) co_return try_later("30");
  parts_.metrics.push_verification(answered->has_value());
  if (!*answered) co_return not_found();
  test_point("S14");
  const PushTurn& turn = **answered;
  PushNews news{turn.feed_url, turn.from, turn.to, question.note, "", false};
  co_await tell(std::move(news));
  co_return http_reply(http::status::ok, "text/plain", asked->challenge);
}

/// WEBSUB P2: checks limits, looks up the subscription, checks the signature, records the delivery, answers. The
/// content is processed later.
asio::awaitable<HttpReply> Callbacks::deliver(Visit& visit, const CallbackTarget& target) {
  using Delivery = Metrics::Delivery;
  if (target.has_query) {
    parts_.metrics.push_delivery(Delivery::unknown);
    co_return not_found();
  }
  std::string hash = hash_of_token(target.token);
  const StoreResult<std::optional<PushRecord>> record = co_await parts_.store.find(std::move(hash));
  if (!has_come(record)) co_return try_later("30");
  const bool ours = *record && equal_secrets((*record)->token, target.token) && (*record)->state != "pending";
  if (!ours || (*record)->state == "retired") {
    parts_.metrics.push_delivery(Delivery::unknown);
    co_return ours ? http_reply(http::status::gone) : not_found();
  }
  if (!can_decode(joined(visit.head(), http::field::content_encoding))) {
    parts_.metrics.push_delivery(Delivery::limited);
    co_return http_reply(http::status::unsupported_media_type);
  }
  // Size limits and the memory budget apply; incomplete bodies may use a quarter of the budget (SECURITY W1, M4).
  auto memory = std::make_unique<MemoryBudget::Share>(parts_.memory, 0);
  MemoryBudget::Share& share = *memory;
  std::uint64_t mine = 0;
  const AtExit leave([&] { receiving_ -= mine; });
  const std::function<bool(std::uint64_t)> may_hold = [&](std::uint64_t bytes) {
    const bool is_reserved = 2 * bytes <= share.held();
    if (!is_reserved && receiving_ - mine + 2 * bytes > parts_.memory.total() / 4) return false;
    const bool is_covered = share.cover(bytes);
    receiving_ += share.held() - mine;
    mine = share.held();
    return is_covered;
  };
  auto refusal = co_await visit.read_body(may_hold);
  if (refusal || visit.gone()) {
    parts_.metrics.push_delivery(Delivery::limited);
    co_return refusal.value_or(HttpReply());
  }
  co_return co_await accept(visit, **record, std::move(memory));
}

asio::awaitable<HttpReply> Callbacks::accept(Visit& visit, const PushRecord& record,
                                             std::unique_ptr<MemoryBudget::Share> memory) {
  using Delivery = Metrics::Delivery;
  const Visit::Header& request = visit.head();
  Delivery kind = Delivery::thin;
  if (!record.secret.empty()) {
    std::vector<std::string_view> signatures;
    for (const auto& header : request) {
      if (iequals(std::string_view(header.name_string()), "X-Hub-Signature")) signatures.push_back(header.value());
    }
    const Signed is = check_signature(signatures, record.secret, visit.body());
    if (is == Signed::bad) kind = Delivery::bad_signature;
    if (is == Signed::good && !visit.body().empty()) kind = Delivery::fat;
  }
  if (kind == Delivery::fat && !parts_.intake.has_room(record.feed_url)) kind = Delivery::thin;
  PushNote note{record.hash, kind == Delivery::fat             ? PushNote::Kind::fat
                             : kind == Delivery::bad_signature ? PushNote::Kind::bad
                                                               : PushNote::Kind::thin};
  test_point("S13");
  const StoreResult<PushNoted> noted = co_await parts_.store.note(std::move(note));
  if (!has_come(noted)) co_return try_later("30");
  if (noted->result != PushNoted::Result::noted) {
    parts_.metrics.push_delivery(Delivery::unknown);
    co_return noted->result == PushNoted::Result::retired ? http_reply(http::status::gone) : not_found();
  }
  parts_.metrics.push_delivery(kind);
  if (kind == Delivery::fat) {
    Pushed pushed;
    pushed.hash = record.hash;
    pushed.feed_url = record.feed_url;
    pushed.content_type = request[http::field::content_type];
    pushed.content_encoding = joined(request, http::field::content_encoding);
    pushed.body = std::move(visit.body());
    pushed.memory = std::move(memory);
    parts_.intake.take(std::move(pushed));
  }
  co_return HttpReply(http::status::accepted, 11);
}

asio::awaitable<void> Callbacks::tell(PushNews news) {
  note_turn(parts_.log, parts_.metrics, news);
  const auto clock = [](Store& store) { return store.now(); };
  if (turn_notices(news, Milliseconds(0)).empty()) co_return;
  const StoreResult<Milliseconds> now = co_await parts_.store.call(clock);
  if (!now) co_return;
  const std::vector<Notice> notices = turn_notices(news, *now);
  const auto add = [&](Store& store) { return Notifications(store).add(notices); };
  const StoreResult<void> told = co_await parts_.store.call(add);
  if (!told) parts_.metrics.store_error(told.error());
}

boost::system::result<std::unique_ptr<CallbackListener>, ListenError> CallbackListener::open(
    const asio::any_io_executor& executor, const Options& options, Parts parts) {
  auto listener = Listener::open(executor, options.listen, "websub.listen");
  if (!listener) return listener.error();
  return std::unique_ptr<CallbackListener>(new CallbackListener(std::move(*listener), options, std::move(parts)));
}

asio::awaitable<void> CallbackListener::serve() {
  Listener::Places places = options_.places;
  if (endpoint().address().is_loopback()) places.per_network = places.connections;
  Listener::Host host;
  host.answer = [this](Visit& visit) { return answer(visit); };
  host.refused = [this] { parts_.metrics.push_delivery(Metrics::Delivery::limited); };
  host.bug = [this](const char* what) {
    parts_.metrics.bug();
    parts_.log.write(LogLevel::error, "bug", "an unexpected error; please report it",
                     {{"part", "callbacks"}, {"detail", what}});
  };
  co_await listener_->serve(places, options_.limits, std::move(host));
}

asio::awaitable<HttpReply> CallbackListener::answer(Visit& visit) {
  const Visit::Header& request = visit.head();
  if (request.method() != http::verb::get && request.method() != http::verb::post)
    co_return not_allowed("GET, POST");  // WEBSUB P2
  CallbackTarget target = read_callback_target(request.target(), options_.base);
  Callbacks* const callbacks = target.token.empty() ? nullptr : parts_.callbacks.find(target.partition);
  if (callbacks == nullptr) co_return answer_for_none(visit);
  if (!requests_.take()) {
    parts_.metrics.push_delivery(Metrics::Delivery::limited);
    co_return try_later("10");
  }
  co_return co_await callbacks->answer(visit, std::move(target));
}

/// Answers as for an unknown token (SECURITY W2).
HttpReply CallbackListener::answer_for_none(const Visit& visit) {
  if (visit.head().method() == http::verb::get)
    parts_.metrics.push_verification(false);
  else
    parts_.metrics.push_delivery(Metrics::Delivery::unknown);
  return http_reply(http::status::not_found);
}

}  // namespace feedmill
