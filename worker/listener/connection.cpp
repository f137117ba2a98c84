#include "worker/listener/connection.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/write.hpp>

#include "parsers/text/strings.hpp"
#include "worker/listener/client_share.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

namespace {

constexpr auto quietly = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t largest_read = 64U << 10U;

/// Upper bound of chunk sizes, extensions and trailers for a body of `body_bytes`: a chunk of one byte takes six on the
/// wire.
constexpr std::uint64_t most_framing(std::uint64_t body_bytes) {
  return (8U << 10U) + 8 * body_bytes;
}

}  // namespace

HttpReply http_reply(http::status status, std::string_view type, std::string body) {
  HttpReply answer(status, 11);
  answer.set(http::field::content_type, type);
  answer.set(http::field::cache_control, "no-store");
  answer.set("X-Content-Type-Options", "nosniff");
  answer.body() = std::move(body);
  return answer;
}

HttpReply http_reply(http::status status) {
  return http_reply(status, "text/plain; charset=utf-8", std::string(http::obsolete_reason(status)) + "\n");
}

HttpReply try_later(std::string_view after) {
  HttpReply reply = http_reply(http::status::service_unavailable);
  reply.set(http::field::retry_after, after);
  return reply;
}

HttpReply not_allowed(std::string_view methods) {
  HttpReply reply = http_reply(http::status::method_not_allowed);
  reply.set(http::field::allow, methods);
  return reply;
}

// --- Connection ------------------------------------------------------------------------------------------------------

Connection::Connection(tcp::socket socket, const asio::ip::address& client, const RequestLimits& limits)
    : stream_(std::move(socket)),
      buffer_(limits.head.bytes),
      client_(unmapped(client)),
      network_(client_network(client)),
      limits_(limits) {
  if (limits.memory != nullptr) memory_.emplace(*limits.memory, 0);
}

void Connection::hold(std::size_t more) {
  if (memory_) memory_->hold(buffer_.capacity() + more);
}

void Connection::begin_to_send() {
  waiting_since_ = Clock::now();
  stream_.expires_after(limits_.answer_time);
}

void Connection::drop() {
  dropped_ = true;
  stream_.close();
}

/// Receives more into the buffer, which has room; false if nothing arrives in time.
asio::awaitable<bool> Connection::receive(Clock::time_point until) {
  stream_.expires_at(std::min(until, Clock::now() + limits_.pause));
  const auto room = buffer_.prepare(beast::read_size(buffer_, largest_read));
  const auto [failed, count] = co_await stream_.async_read_some(room, quietly);
  buffer_.commit(count);
  co_return !failed;
}

asio::awaitable<void> Connection::part() {
  waiting_since_ = Clock::now();
  boost::system::error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  std::array<char, 16U << 10U> nothing{};
  stream_.expires_after(limits_.part_time);
  for (std::uint64_t left = (1U << 20U) + 2 * limits_.body_bytes; left > 0;) {
    const auto [gone, read] = co_await stream_.async_read_some(asio::buffer(nothing), quietly);
    if (gone) break;
    left -= std::min<std::uint64_t>(left, read);
  }
}

// --- Visit -----------------------------------------------------------------------------------------------------------

Visit::Visit(Connection& connection) : connection_(connection) {
  parser_.header_limit(static_cast<std::uint32_t>(connection.limits_.head.bytes));
  parser_.body_limit(boost::none);  // checked in read_body(): an unauthorised client must not learn the limit
}

asio::awaitable<std::optional<http::status>> Visit::read_head() {
  Connection& from = connection_;
  HeadScan scan(from.limits_.head);
  from.waiting_since_ = Connection::Clock::now();
  const auto until = *from.waiting_since_ + from.limits_.head_time;
  for (;;) {
    count();
    const auto bytes = from.buffer_.data();
    const auto found = scan.look({static_cast<const char*>(bytes.data()), bytes.size()});
    if (found) {
      from.waiting_since_.reset();
      co_return *found == http::status::ok ? parse_head(scan.size()) : found;
    }
    const bool more = co_await from.receive(until);
    if (more) continue;
    gone_ = true;
    co_return std::nullopt;
  }
}

std::optional<http::status> Visit::parse_head(std::size_t size) {
  boost::system::error_code error;
  const std::size_t used = parser_.put(asio::buffer(connection_.buffer_.data(), size), error);
  if (error || used != size || !parser_.is_header_done()) return http::status::bad_request;
  connection_.buffer_.consume(size);
  head_bytes_ = size;
  count();
  head_ = std::move(parser_.get().base());  // trailers do not join it
  return objection_to(head_);
}

asio::awaitable<std::optional<HttpReply>> Visit::read_body(std::function<bool(std::uint64_t)> may_hold,
                                                           std::optional<std::uint64_t> most) {
  Connection& from = connection_;
  if (parser_.is_done()) co_return std::nullopt;
  const auto length = parser_.content_length();
  const std::uint64_t longest = most.value_or(from.limits_.body_bytes);
  if (length && *length > longest) co_return http_reply(http::status::payload_too_large);
  if (may_hold && !may_hold(length ? *length : 1)) co_return try_later("60");
  body_is_counted_ = may_hold != nullptr;
  parser_.body_limit(longest);
  parser_.eager(true);
  from.waiting_since_ = Connection::Clock::now();
  const auto until = *from.waiting_since_ + from.limits_.body_time;
  if (iequals(std::string_view(head_[http::field::expect]), "100-continue")) {
    http::response<http::empty_body> go_on(http::status::continue_, 11);
    from.stream_.expires_at(until);
    const auto [unsaid, said] = co_await http::async_write(from.stream_, go_on, quietly);
    gone_ = unsaid.failed();
    if (gone_) co_return std::nullopt;
  }
  for (std::uint64_t consumed = 0;;) {
    const auto refused = parse_body(consumed);
    if (refused) co_return http_reply(*refused);
    if (may_hold && !may_hold(body().size())) co_return try_later("60");
    count();
    if (parser_.is_done()) break;
    const bool more = co_await from.receive(until);
    gone_ = !more;
    if (gone_) co_return std::nullopt;
  }
  from.waiting_since_.reset();
  co_return std::nullopt;
}

/// Parses the received part of the body; `consumed`: its bytes on the wire.
std::optional<http::status> Visit::parse_body(std::uint64_t& consumed) {
  constexpr std::size_t last_chunk = 5;  // "0" and two line ends: always still to come; Beast asserts it
  beast::flat_buffer& buffer = connection_.buffer_;
  boost::system::error_code error;
  if (buffer.size() >= (parser_.chunked() ? last_chunk : 1)) {
    const std::size_t used = parser_.put(buffer.data(), error);
    buffer.consume(used);
    consumed += used;
  }
  if (error == http::error::body_limit) return http::status::payload_too_large;
  if (error && error != http::error::need_more) return http::status::bad_request;
  // Until the body is done, the rest of the buffer belongs to it.
  const std::uint64_t wire = consumed + (parser_.is_done() ? 0 : buffer.size());
  const bool full = !parser_.is_done() && buffer.size() == buffer.max_size();
  if (full || wire - body().size() > most_framing(body().size())) return http::status::payload_too_large;
  return std::nullopt;
}

void Visit::count(std::size_t answer) {
  const std::size_t body_bytes = body_is_counted_ ? 0 : parser_.get().body().capacity();
  connection_.hold(head_bytes_ + body_bytes + answer);
}

tcp::socket Visit::take_over() {
  gone_ = true;
  return connection_.stream_.release_socket();
}

asio::awaitable<bool> Visit::send(HttpReply reply, bool stay) {
  reply.version(head_.version());
  reply.keep_alive(stay);
  if (reply.shared_body && head_.method() != http::verb::head) co_return co_await send_shared(std::move(reply));
  reply.prepare_payload();
  if (reply.shared_body) reply.content_length(reply.shared_body->size());
  if (reply.result() == http::status::not_modified) reply.erase(http::field::content_length);  // RFC 9110 §8.6
  if (head_.method() == http::verb::head) {
    const auto length = reply.shared_body ? reply.shared_body->size() : reply.body().size();
    reply.body().clear();
    reply.content_length(length);
  }
  count(reply.body().capacity());
  connection_.begin_to_send();
  const auto [unwritten, written] = co_await http::async_write(connection_.stream_, reply, quietly);
  co_return !unwritten;
}

asio::awaitable<bool> Visit::send_shared(HttpReply reply) {
  const std::shared_ptr<const std::string> bytes = std::move(reply.shared_body);
  http::response<http::span_body<const char>> sent{std::move(reply.base())};
  sent.body() = {bytes->data(), bytes->size()};
  sent.prepare_payload();
  connection_.begin_to_send();
  const auto [unwritten, written] = co_await http::async_write(connection_.stream_, sent, quietly);
  co_return !unwritten;
}

asio::awaitable<bool> Visit::begin(HttpReply head) {
  answered_ = true;
  chunked_ = head_.version() >= 11 && head_.method() != http::verb::head;
  http::response<http::empty_body> sent{std::move(head.base())};
  sent.version(head_.version());
  sent.keep_alive(false);
  sent.chunked(chunked_);
  connection_.begin_to_send();
  http::response_serializer<http::empty_body> serializer{sent};
  const auto [unwritten, written] = co_await http::async_write_header(connection_.stream_, serializer, quietly);
  connection_.waiting_since_.reset();
  gone_ = unwritten.failed();
  co_return !gone_;
}

/// Writes a part of a response begun by begin().
template <class Buffers>
asio::awaitable<bool> Visit::put(const Buffers& bytes) {
  connection_.begin_to_send();
  const auto [unwritten, written] = co_await asio::async_write(connection_.stream_, bytes, quietly);
  connection_.waiting_since_.reset();
  gone_ = unwritten.failed();
  co_return !gone_;
}

asio::awaitable<bool> Visit::write(std::string_view part) {
  count(part.size());
  const asio::const_buffer bytes(part.data(), part.size());
  if (!chunked_) co_return co_await put(bytes);
  const auto chunk = http::make_chunk(bytes);
  co_return co_await put(chunk);
}

asio::awaitable<bool> Visit::end() {
  if (!chunked_) co_return true;
  const auto chunk = http::make_chunk_last();
  co_return co_await put(chunk);
}

}  // namespace feedmill
