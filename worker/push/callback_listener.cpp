#include "worker/push/callback_listener.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "storage/test_point.hpp"
#include "worker/push/push_policy.hpp"
#include "worker/push/signature.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

namespace {

constexpr std::uint32_t longest_header = 64U << 10U;
constexpr std::size_t most_fields = 100;
constexpr auto quietly = asio::as_tuple(asio::use_awaitable);

/// What every path answers that is not, or not now, one of ours: nobody learns which it was (SECURITY W2).
HttpReply not_found() {
  return http_reply(http::status::not_found);
}

HttpReply try_later(std::string_view seconds) {
  HttpReply answer = http_reply(http::status::service_unavailable);
  answer.set(http::field::retry_after, seconds);
  return answer;
}

HttpReply accepted() {
  HttpReply answer(http::status::accepted, 11);
  return answer;
}

}  // namespace

/// One request on its way in.
struct CallbackListener::Visit {
  beast::tcp_stream& stream;
  beast::flat_buffer& buffer;
  Parser& parser;
  bool gone = false;  ///< the client is not there any more
};

boost::system::result<std::unique_ptr<CallbackListener>, ListenError> CallbackListener::open(
    const asio::any_io_executor& executor, const Options& options, const Parts& parts) {
  auto listener = Listener::open(executor, options.listen, "websub.listen");
  if (!listener) return listener.error();
  return std::unique_ptr<CallbackListener>(new CallbackListener(std::move(*listener), options, parts));
}

asio::awaitable<void> CallbackListener::serve() {
  const bool behind_proxy = endpoint().address().is_loopback();
  const Listener::Conversation talk = [this](tcp::socket socket) { return converse(std::move(socket)); };
  const std::size_t per_address = behind_proxy ? options_.connections : options_.per_address;
  co_await listener_->serve(options_.connections, per_address, talk);
}

asio::awaitable<void> CallbackListener::converse(tcp::socket socket) {
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  const auto& http_errors = boost::system::error_code(http::error::bad_method).category();
  for (bool keep = true; keep;) {
    Parser parser;
    parser.header_limit(longest_header);
    parser.body_limit(options_.max_body_bytes);
    stream.expires_after(options_.header_time);
    const auto [unread, read] = co_await http::async_read_header(stream, buffer, parser, quietly);
    const auto from = std::chrono::steady_clock::now();
    const bool refused = unread.category() == http_errors && unread != http::error::end_of_stream &&
                         unread != http::error::partial_message;
    if (unread && !refused) break;
    HttpReply response;
    if (unread) {
      response = http_reply(unread == http::error::header_limit ? http::status::request_header_fields_too_large
                            : unread == http::error::body_limit ? http::status::payload_too_large
                                                                : http::status::bad_request);
      parts_.metrics.push_delivery(Metrics::Delivery::limited);
      keep = false;
    } else {
      Visit visit{stream, buffer, parser};
      response = co_await answer(visit);
      if (visit.gone) break;
      response.version(parser.get().version());
      // Of answers that refuse none goes on: what is left of a body is never read.
      keep = parser.get().keep_alive() && parser.is_done() && response.result_int() < 300;
    }
    parts_.metrics.callback_answered(std::chrono::steady_clock::now() - from);
    response.keep_alive(keep);
    response.prepare_payload();
    if (!unread && parser.get().method() == http::verb::head) response.body().clear();
    stream.expires_after(options_.header_time);
    const auto [unwritten, written] = co_await http::async_write(stream, response, quietly);
    if (unwritten) break;
  }
  co_await part(stream);
}

/// Closed with something of it unread, the connection would be reset, and our answer lost with it.
asio::awaitable<void> CallbackListener::part(beast::tcp_stream& stream) const {
  boost::system::error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  std::array<char, 16U << 10U> nothing{};
  stream.expires_after(options_.part_time);
  for (std::uint64_t left = 2 * options_.max_body_bytes; left > 0;) {
    const auto [gone, read] = co_await stream.async_read_some(asio::buffer(nothing), quietly);
    if (gone) break;
    left -= std::min<std::uint64_t>(left, read);
  }
}

asio::awaitable<HttpReply> CallbackListener::answer(Visit& visit) {
  const auto& request = visit.parser.get();
  if (std::distance(request.begin(), request.end()) > static_cast<std::ptrdiff_t>(most_fields)) {
    parts_.metrics.push_delivery(Metrics::Delivery::limited);
    co_return http_reply(http::status::request_header_fields_too_large);
  }
  if (request.method() != http::verb::get && request.method() != http::verb::post) {  // P9
    HttpReply no = http_reply(http::status::method_not_allowed);
    no.set(http::field::allow, "GET, POST");
    co_return no;
  }
  CallbackTarget target = read_callback_target(request.target(), options_.base);
  if (!target.token.empty() && !is_within_rate()) {
    parts_.metrics.push_delivery(Metrics::Delivery::limited);
    co_return try_later("10");
  }
  if (request.method() == http::verb::get) co_return co_await verify(std::move(target));
  co_return co_await deliver(visit, target);
}

/// A token bucket: what hubs say after a pause of theirs is taken at once, a flood is not the loop's only work.
bool CallbackListener::is_within_rate() {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> passed = now - std::exchange(counted_, now);
  tokens_ = std::min(tokens_ + passed.count() * static_cast<double>(options_.per_second),
                     static_cast<double>(options_.burst));
  if (tokens_ < 1) return false;
  --tokens_;
  return true;
}

/// S7: stored first, then answered.
asio::awaitable<HttpReply> CallbackListener::verify(CallbackTarget target) {
  const auto asked = target.token.empty() ? std::nullopt : read_verification(target.query);
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
    if (!known) {
      parts_.metrics.store_error(known.error());
      co_return try_later("30");
    }
    question.note = reason_of_hub(asked->reason, known->value_or(PushRecord()));
  }
  const auto ask = [&](Store& store) { return Pushes(store).answer(question); };
  const StoreResult<PushAnswer> answered = co_await parts_.store.call(ask);
  if (!answered) {
    parts_.metrics.store_error(answered.error());
    co_return try_later("30");
  }
  parts_.metrics.push_verification(answered->has_value());
  if (!*answered) co_return not_found();
  test_point("S14");
  const PushTurn& turn = **answered;
  PushNews news{turn.feed_url, turn.from, turn.to, question.note, "", false};
  co_await tell(std::move(news));
  co_return http_reply(http::status::ok, "text/plain", asked->challenge);
}

/// P2: limits, look-up, signature, noted, answered; work comes after.
asio::awaitable<HttpReply> CallbackListener::deliver(Visit& visit, const CallbackTarget& target) {
  using Delivery = Metrics::Delivery;
  if (target.token.empty() || target.has_query) {
    parts_.metrics.push_delivery(Delivery::unknown);
    co_return not_found();
  }
  std::string hash = hash_of_token(target.token);
  const StoreResult<std::optional<PushRecord>> record = co_await parts_.store.find(std::move(hash));
  if (!record) {
    parts_.metrics.store_error(record.error());
    co_return try_later("30");
  }
  const bool ours = *record && equal_secrets((*record)->token, target.token) && (*record)->state != "pending";
  if (!ours || (*record)->state == "retired") {
    parts_.metrics.push_delivery(Delivery::unknown);
    co_return ours ? http_reply(http::status::gone) : not_found();
  }
  auto memory = std::make_unique<MemoryBudget::Share>(parts_.memory, 0);
  HttpReply refusal;
  const bool whole = co_await read_body(visit, *memory, refusal);
  if (!whole) {
    parts_.metrics.push_delivery(Delivery::limited);
    co_return refusal;
  }
  co_return co_await accept(visit, **record, std::move(memory));
}

/// As much as the limits and the memory budget allow (SECURITY W1, M4).
asio::awaitable<bool> CallbackListener::read_body(Visit& visit, MemoryBudget::Share& memory, HttpReply& refusal) {
  const auto length = visit.parser.content_length();
  visit.stream.expires_after(options_.body_time);
  refusal = try_later("60");
  if (!memory.cover(length ? static_cast<std::uint64_t>(*length) : 1)) co_return false;
  if (beast::iequals(visit.parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on(http::status::continue_, 11);
    const auto [unsaid, said] = co_await http::async_write(visit.stream, go_on, quietly);
    visit.gone = unsaid.failed();
    if (visit.gone) co_return false;
  }
  visit.parser.eager(true);
  while (!visit.parser.is_done()) {
    const auto [failed, more] = co_await http::async_read_some(visit.stream, visit.buffer, visit.parser, quietly);
    if (failed == http::error::body_limit) {
      refusal = http_reply(http::status::payload_too_large);
      co_return false;
    }
    visit.gone = failed.failed();
    if (visit.gone || !memory.cover(visit.parser.get().body().size())) co_return false;
  }
  co_return true;
}

asio::awaitable<HttpReply> CallbackListener::accept(Visit& visit, const PushRecord& record,
                                                    std::unique_ptr<MemoryBudget::Share> memory) {
  using Delivery = Metrics::Delivery;
  auto& request = visit.parser.get();
  Delivery kind = Delivery::thin;
  if (!record.secret.empty()) {
    std::vector<std::string_view> signatures;
    for (const auto& header : request) {
      if (beast::iequals(header.name_string(), "X-Hub-Signature")) signatures.push_back(header.value());
    }
    const Signed is = check_signature(signatures, record.secret, request.body());
    if (is == Signed::bad) kind = Delivery::bad_signature;
    if (is == Signed::good && !request.body().empty()) kind = Delivery::fat;
  }
  if (kind == Delivery::fat && !parts_.intake.has_room(record.feed_url)) kind = Delivery::thin;
  PushNote note{record.hash, kind == Delivery::fat             ? PushNote::Kind::fat
                             : kind == Delivery::bad_signature ? PushNote::Kind::bad
                                                               : PushNote::Kind::thin};
  test_point("S13");
  const StoreResult<PushNoted> noted = co_await parts_.store.note(std::move(note));
  if (!noted) {
    parts_.metrics.store_error(noted.error());
    co_return try_later("30");
  }
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
    pushed.content_encoding = request[http::field::content_encoding];
    pushed.body = std::move(request.body());
    pushed.memory = std::move(memory);
    parts_.intake.take(std::move(pushed));
  }
  co_return accepted();
}

asio::awaitable<void> CallbackListener::tell(PushNews news) {
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

}  // namespace feedmill
