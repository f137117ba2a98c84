// Any request to a callback, with any head, target and hub reason → the result stays within its limits (SECURITY W1,
// W2, W1; WEBSUB S7).
#include <algorithm>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/websub/callback.hpp"

namespace {

/// An accepted head delimits its body in exactly one way, and is read alike whatever pieces it arrives in.
void take_head(std::string_view bytes) {
  using namespace feedmill;
  namespace http = boost::beast::http;
  const HeadLimits limits{.bytes = 4096, .line = 1024, .fields = 20};
  HeadScan whole(limits), pieces(limits);
  const auto found = whole.look(bytes);
  std::optional<http::status> by_pieces;
  for (std::size_t size = 1; size <= bytes.size() && !by_pieces; ++size) by_pieces = pieces.look(bytes.substr(0, size));
  fuzz::require(found == by_pieces);
  if (found != http::status::ok) return;
  const std::string_view head = bytes.substr(0, whole.size());
  fuzz::require(head.size() <= limits.bytes && head.ends_with("\r\n\r\n"));
  fuzz::require(head.find("\r\n ") == std::string_view::npos && head.find("\r\n\t") == std::string_view::npos);
  fuzz::require(head.find('\0') == std::string_view::npos);
  http::request_parser<http::string_body> parser;
  boost::system::error_code error;
  const std::size_t used = parser.put(boost::asio::buffer(head), error);
  if (error || !parser.is_header_done() || objection_to(parser.get().base())) return;
  fuzz::require(used == head.size());
  fuzz::require(parser.chunked() == (parser.get().count(http::field::transfer_encoding) == 1));
  fuzz::require(parser.content_length().has_value() == (parser.get().count(http::field::content_length) == 1));
  fuzz::require(parser.is_done() == (!parser.chunked() && parser.content_length().value_or(0) == 0));
}

}  // namespace

FEEDMILL_FUZZ_TARGET(callback_fuzz, data, size) {
  using namespace feedmill;
  const std::string_view target = fuzz::view(data, size);
  take_head(target);
  for (const std::string_view base : {"", "/hooks"}) {
    const CallbackTarget read = read_callback_target(target, base);
    fuzz::require(read.token.empty() || read.token.size() == 26);
    fuzz::require(read.token.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") == std::string::npos);
    fuzz::require(read.has_query == (target.find('?') != std::string_view::npos));
    const auto verification = read_verification(read.query);
    if (!verification) continue;
    fuzz::require(verification->mode == "subscribe" || verification->mode == "unsubscribe" ||
                  verification->mode == "denied");
    fuzz::require(!verification->topic.empty());
    if (verification->mode != "denied") {
      fuzz::require(!verification->challenge.empty() && verification->challenge.size() <= 1024);
      for (const char c : verification->challenge) fuzz::require(c >= '!' && c <= '~');
    }
    // A subscription request that we send reads back unchanged.
    PushRecord record;
    record.topic = verification->topic;
    const std::string form = subscription_form(record, "subscribe", "https://me.example/w/x");
    const auto again = read_verification(form + "&hub.challenge=c");
    fuzz::require(!again || again->topic == record.topic);
  }
  const std::string line = one_line(target, 500);
  fuzz::require(line.size() <= 500);
  fuzz::require_clean(line);
  fuzz::require(line.find('\n') == std::string::npos);
  // Neither the secret nor the token leaks into the shown reason, however the hub disguises it.
  PushRecord record;
  record.token = read_callback_target(target, "").token;  // made of letters and digits, like ours
  record.secret = "s3cr3t";
  const std::string reason = reason_of_hub(std::string(target), record);
  fuzz::require(reason.size() <= 500);
  fuzz::require_clean(reason);
  fuzz::require(reason.find(record.secret) == std::string::npos);
  fuzz::require(record.token.empty() || reason.find(record.token) == std::string::npos);
  return 0;
}
