#include "tests/support/hostile_server.hpp"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "tests/support/await.hpp"

namespace feedmill::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using End = Response::End;

const std::string ok = "HTTP/1.1 200 OK\r\n";
const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";

std::string zeros(std::size_t count) {
  return std::string(count, '\0');
}

}  // namespace

std::vector<Behaviour> malformed_answers() {
  const auto is = [](std::string name, std::string raw, std::string expected = "http.malformed") {
    return Behaviour{"malformed", std::move(name), Response{.raw = std::move(raw)}, std::move(expected)};
  };
  const std::string five = "Content-Length: 5\r\n";
  return {
      // status lines
      is("http_0_9", "<rss>just a body</rss>"),
      is("no_status_line", "Content-Type: text/xml\r\n\r\n<rss/>"),
      is("empty_line_first", "\r\n" + ok + five + "\r\nhello"),
      is("other_protocol", "SSH-2.0-OpenSSH_9.2\r\n"),
      is("smtp_greeting", "220 mail.example ESMTP\r\n"),
      is("icy", "ICY 200 OK\r\n\r\nhello"),
      is("rtsp", "RTSP/1.0 200 OK\r\n\r\n"),
      is("http_3_in_plain_text", "HTTP/3 200\r\n" + five + "\r\nhello"),
      is("http_9_9", "HTTP/9.9 200 OK\r\n\r\n"),
      is("http_1_2", "HTTP/1.2 200 OK\r\n" + five + "\r\nhello"),
      is("http_1", "HTTP/1 200 OK\r\n\r\n"),
      is("status_of_two_digits", "HTTP/1.1 20 OK\r\n\r\n"),
      is("status_of_four_digits", "HTTP/1.1 2000 OK\r\n\r\n"),
      is("status_zero", "HTTP/1.1 000 None\r\n\r\n"),
      is("status_is_a_word", "HTTP/1.1 OK\r\n\r\n"),
      is("status_negative", "HTTP/1.1 -200 OK\r\n\r\n"),
      is("status_hexadecimal", "HTTP/1.1 0xC8 OK\r\n\r\n"),
      is("no_space_before_status", "HTTP/1.1200 OK\r\n\r\n"),
      is("nul_in_status_line", std::string("HTTP/1.1 200 O\0K\r\n\r\n", 20)),
      is("binary", "\x16\x03\x01\x02" + zeros(200)),
      is("only_nul", zeros(4000)),
      is("http2_preface", std::string("\0\0\x12\x04\0\0\0\0\0", 9) + zeros(18)),
      // header lines
      is("nul_in_header_value", ok + std::string("A: b\0c\r\n", 8) + five + "\r\nhello"),
      is("nul_in_header_name", ok + std::string("A\0b: c\r\n", 8) + five + "\r\nhello"),
      is("header_without_colon", ok + "no colon here\r\n" + five + "\r\nhello"),
      is("header_folded_at_once", ok + " folded: first\r\n" + five + "\r\nhello"),
      // lengths
      is("length_negative", ok + "Content-Length: -5\r\n\r\nhello"),
      is("length_plus", ok + "Content-Length: +5\r\n\r\nhello"),
      is("length_a_word", ok + "Content-Length: five\r\n\r\nhello"),
      is("length_hexadecimal", ok + "Content-Length: 0x5\r\n\r\nhello"),
      is("length_fraction", ok + "Content-Length: 5.0\r\n\r\nhello"),
      is("length_exponent", ok + "Content-Length: 1e1\r\n\r\nhellohello"),
      is("length_with_unit", ok + "Content-Length: 5 bytes\r\n\r\nhello"),
      is("length_empty", ok + "Content-Length:\r\n\r\nhello"),
      is("two_lengths_in_a_line", ok + "Content-Length: 5, 3\r\n\r\nhello"),
      is("two_lengths", ok + five + "Content-Length: 3\r\n\r\nhello"),
      is("two_lengths_shorter_first", ok + "Content-Length: 3\r\n" + five + "\r\nhello"),
      is("three_lengths", ok + five + five + "Content-Length: 6\r\n\r\nhello"),
      is("length_and_chunks", ok + five + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
      is("chunks_and_length", ok + "Transfer-Encoding: chunked\r\n" + five + "\r\n5\r\nhello\r\n0\r\n\r\n"),
      is("length_over_64_bits", ok + "Content-Length: 99999999999999999999\r\n\r\nhello", "limit.body"),
      is("length_over_limit", ok + "Content-Length: 17179869184\r\n\r\nhello", "limit.body"),
      is("length_too_long_for_body", ok + "Content-Length: 10\r\n\r\nhello", "http.truncated"),
      is("length_long_and_nothing", ok + "Content-Length: 10\r\n\r\n", "http.truncated"),
      // chunks
      is("chunk_size_no_number", chunked + "zz\r\nhello\r\n0\r\n\r\n"),
      is("chunk_size_negative", chunked + "-5\r\nhello\r\n0\r\n\r\n"),
      is("chunk_size_over_64_bits", chunked + "fffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
      is("chunk_size_empty", chunked + "\r\nhello\r\n0\r\n\r\n"),
      is("chunk_size_after_space", chunked + " 5\r\nhello\r\n0\r\n\r\n"),
      is("chunk_shorter_than_its_data", chunked + "3\r\nhello\r\n0\r\n\r\n"),
      is("chunk_without_end_of_line", chunked + "5\r\nhello0\r\n\r\n"),
      is("chunk_longer_than_its_data", chunked + "ff\r\nhello\r\n0\r\n\r\n", "http.truncated"),
      is("chunk_huge_and_cut", chunked + "7fffffffffffffff\r\nhello", "http.truncated"),
      is("chunks_without_last", chunked + "5\r\nhello\r\n", "http.truncated"),
      is("chunks_without_last_crlf", chunked + "5\r\nhello\r\n0\r\n", "http.truncated"),
      is("chunks_not_even_begun", chunked, "http.truncated"),
      is("transfer_coding_unknown", ok + "Transfer-Encoding: mystery\r\n\r\nhello"),
      is("chunked_by_another_name", ok + "Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
      is("interim_without_end", "HTTP/1.1 100 Continue\r\n\r\n", "http.truncated"),
      is("switches_protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", "http.truncated"),
      // deviations of old servers that every client accepts
      is("bare_lf", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", ""),
      is("bare_lf_in_chunks", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n", ""),
      is("http_2_in_plain_text", "HTTP/2 200\r\n" + five + "\r\nhello", ""),
      is("lower_case_http", "http/1.1 200 OK\r\n" + five + "\r\nhello", ""),
      is("header_without_name", ok + ": value\r\n" + five + "\r\nhello", ""),
      is("cr_in_header_value", ok + "A: b\rc\r\n" + five + "\r\nhello", ""),
      is("no_reason_phrase", "HTTP/1.1 200\r\n" + five + "\r\nhello", ""),
      is("reason_phrase_not_ascii", "HTTP/1.1 200 \xe4\xbd\xa0\r\n" + five + "\r\nhello", ""),
      is("header_with_space_before_colon", ok + "A : b\r\n" + five + "\r\nhello", ""),
      is("header_name_odd", ok + "A(b)@c: d\r\n" + five + "\r\nhello", ""),
      is("length_said_twice", ok + five + five + "\r\nhello", ""),
      is("length_shorter_than_body", ok + "Content-Length: 3\r\n\r\nhello", ""),
      is("chunk_extension", chunked + "5;a=b;c=\"d\"\r\nhello\r\n0\r\n\r\n", ""),
      is("chunk_size_with_zeros", chunked + "0000000000000005\r\nhello\r\n0\r\n\r\n", ""),
      is("no_length_at_all", ok + "\r\nhello", ""),
      is("http_1_0", "HTTP/1.0 200 OK\r\n\r\nhello", ""),
      is("body_with_204", "HTTP/1.1 204 No Content\r\n" + five + "\r\nhello", ""),
      is("body_with_304", "HTTP/1.1 304 Not Modified\r\n" + five + "\r\nhello", ""),
      is("status_999", "HTTP/1.1 999 Go Away\r\nContent-Length: 0\r\n\r\n", ""),
      is("status_600", "HTTP/1.1 600 What\r\nContent-Length: 0\r\n\r\n", ""),
      is("two_answers", ok + five + "\r\nhello" + ok + five + "\r\nthere", ""),
      is("identity_transfer_coding", ok + "Transfer-Encoding: identity\r\n" + five + "\r\nhello", ""),
  };
}

std::vector<Behaviour> broken_answers() {
  const auto is = [](std::string name, std::string raw, End end, std::string expected = "http.truncated") {
    Response response{.raw = std::move(raw), .end = end};
    response.silent = response.raw.empty();
    return Behaviour{"reset", std::move(name), std::move(response), std::move(expected)};
  };
  std::vector<Behaviour> all;
  for (const auto& [how, end] : {std::pair("close", End::close), std::pair("reset", End::reset)}) {
    const std::string by = std::string(how) + "_";
    all.push_back(is(by + "before_anything", "", end));
    all.push_back(is(by + "in_status_line", "HTTP/1.1 2", end));
    all.push_back(is(by + "after_status_line", ok, end));
    all.push_back(is(by + "in_header", ok + "Content-Type: te", end));
    all.push_back(is(by + "after_headers", ok + "Content-Length: 10\r\n\r\n", end));
    all.push_back(is(by + "in_body", ok + "Content-Length: 10\r\n\r\nhello", end));
    all.push_back(is(by + "in_chunk_size", chunked + "5\r\nhello\r\n1", end));
    all.push_back(is(by + "in_chunk", chunked + "ff\r\nhello", end));
    all.push_back(is(by + "between_chunks", chunked + "5\r\nhello\r\n", end));
    all.push_back(is(by + "in_trailers", chunked + "5\r\nhello\r\n0\r\nA: b\r\n", end));
    all.push_back(is(by + "after_interim", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", end));
  }
  all.push_back(is("reset_in_body_without_length", ok + "\r\nhello", End::reset));
  all.push_back(is("reset_after_redirect_headers", "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 9\r\n\r\n",
                   End::reset));
  return all;
}

std::vector<Behaviour> endless_answers() {
  const auto is = [](std::string name, std::string raw, std::string forever, std::string expected) {
    return Behaviour{"endless", std::move(name), Response{.raw = std::move(raw), .then_forever = std::move(forever)},
                     std::move(expected)};
  };
  const std::string much(64 << 10, 'x');
  std::string chunk = "10000\r\n" + much + "\r\n";
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "A: b\r\n";
  std::string tiny;
  for (int i = 0; i < 5000; ++i) tiny += "1\r\nx\r\n";
  return {
      is("body", ok + "\r\n", much, "limit.body"),
      is("body_in_small_pieces", ok + "\r\n", std::string(500, 'x'), "limit.body"),
      is("body_longer_than_said", ok + "Content-Length: 99999999999\r\n\r\n", much, "limit.body"),
      is("body_of_an_error", "HTTP/1.1 404 Not Found\r\n\r\n", much, "limit.body"),
      is("body_of_a_redirect", "HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", much, "limit.body"),
      is("chunks", chunked, chunk, "limit.body"),
      is("chunks_of_a_byte", chunked, tiny, "limit.body"),
      is("chunk", chunked + "7fffffffffffffff\r\n", much, "limit.body"),
      is("chunk_extension", chunked + "5;", much, "limit.body"),
      is("chunk_extension_in_the_last", chunked + "5\r\nhello\r\n0;", much, "limit.body"),
      is("status_line", "HTTP/1.1 200 ", much, "limit.header"),
      is("headers", ok, lines, "limit.header"),
      is("header_line", ok + "A: ", much, "limit.header"),
      is("header_name", ok, much, "limit.header"),
      is("folded_header", ok + "A: b\r\n", " folded\r\n", "limit.header"),
      is("large_header_lines", ok, "A: " + std::string(8000, 'b') + "\r\n", "limit.header"),
      is("interim_answers", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "limit.header"),
      is("early_hints", "HTTP/1.1 103 Early Hints\r\n\r\n",
         "HTTP/1.1 103 Early Hints\r\nLink: <" + std::string(900, 'l') + ">\r\n\r\n", "limit.header"),
      is("trailers", chunked + "5\r\nhello\r\n0\r\n", "T: r\r\n", "limit.header"),
      is("trailer_line", chunked + "5\r\nhello\r\n0\r\nT: ", much, "limit.header"),
      is("cookies", ok, "Set-Cookie: a=" + std::string(900, 'c') + "\r\n", "limit.header"),
      is("empty_lines_before_the_status", "\r\n", "\r\n", "http.malformed"),
      is("body_with_204", "HTTP/1.1 204 No Content\r\n\r\n", much, ""),
      is("more_than_said", ok + "Content-Length: 5\r\n\r\nhello", much, ""),
  };
}

std::vector<Behaviour> slow_answers() {
  const auto is = [](std::string name, Response response, std::string expected) {
    return Behaviour{"slow", std::move(name), std::move(response), std::move(expected)};
  };
  const milliseconds slow(50);  // 20 bytes per second, or 2000 in pieces of a hundred
  const std::string body = ok + "Content-Length: 1000000\r\n\r\n";
  return {
      is("stall_before_anything", Response{.silent = true, .end = End::hang}, "http.timeout"),
      is("stall_in_status_line", Response{.raw = "HTTP/1.1", .end = End::hang}, "http.timeout"),
      is("stall_in_headers", Response{.raw = ok + "A: b\r\n", .end = End::hang}, "http.stalled"),
      is("stall_after_headers", Response{.raw = body, .end = End::hang}, "http.stalled"),
      is("stall_in_body", Response{.raw = body + "hello", .end = End::hang}, "http.stalled"),
      is("stall_in_chunk", Response{.raw = chunked + "ff\r\nhello", .end = End::hang}, "http.stalled"),
      is("stall_in_trailers", Response{.raw = chunked + "0\r\nA: b\r\n", .end = End::hang}, "http.stalled"),
      is("stall_after_interim", Response{.raw = "HTTP/1.1 100 Continue\r\n\r\n", .end = End::hang}, "http.stalled"),
      is("drip_status_line", Response{.raw = "HTTP/1.1 200 " + std::string(1000, 'x'), .drip = slow}, "http.timeout"),
      is("drip_headers", Response{.raw = ok, .then_forever = "A: b\r\n", .drip = slow}, "http.stalled"),
      is("drip_body", Response{.raw = body, .then_forever = "x", .drip = slow}, "http.stalled"),
      is("drip_chunks", Response{.raw = chunked, .then_forever = "1\r\nx\r\n", .drip = slow}, "http.stalled"),
      is("drip_body_faster_than_a_stall",
         Response{.raw = body, .then_forever = std::string(100, 'x'), .drip = slow, .drip_bytes = 100}, "http.timeout"),
  };
}

std::vector<Behaviour> redirects(const std::string& own_url, const std::string& elsewhere) {
  std::vector<Behaviour> all;
  const auto add = [&all](std::string name, int status, std::string location, std::string expected) {
    Response response{.status = status, .headers = {{"Location", std::move(location)}}};
    all.push_back(Behaviour{"redirect", std::move(name), std::move(response), std::move(expected)});
  };
  for (int i = 1; i <= 6; ++i) {
    add("chain_" + std::to_string(i), 302, i == 1 ? elsewhere + "/end" : "/chain_" + std::to_string(i - 1),
        i <= 5 ? "" : "redirect.limit");
  }
  add("to_itself", 301, "/to_itself", "redirect.loop");
  add("to_itself_with_fragment", 308, "/to_itself_with_fragment#x", "redirect.loop");
  add("loop_of_two", 302, "/loop_of_two_back", "redirect.loop");
  add("loop_of_two_back", 307, "/loop_of_two", "redirect.loop");
  add("endless_and_always_new", 302, "/endless_and_always_new?", "redirect.loop");
  const std::pair<const char*, const char*> blocked[] = {{"loopback", "http://127.0.0.2/"},
                                                         {"loopback_6", "http://[::1]/"},
                                                         {"private_a", "http://10.0.0.1/"},
                                                         {"private_b", "http://172.16.0.1/"},
                                                         {"private_c", "http://192.168.1.1/"},
                                                         {"metadata", "http://169.254.169.254/latest/meta-data/"},
                                                         {"metadata_6", "http://[fd00:ec2::254]/"},
                                                         {"mapped", "http://[::ffff:10.0.0.1]/"},
                                                         {"nat64", "http://[64:ff9b::10.0.0.1]/"},
                                                         {"hexadecimal", "http://0xa000001/"},
                                                         {"octal", "http://012.0.0.01/"},
                                                         {"decimal", "http://167772161/"},
                                                         {"short", "http://10.1/"},
                                                         {"unspecified", "http://0/"},
                                                         {"scheme_relative", "//10.0.0.1/x"},
                                                         {"carrier", "http://100.64.0.1/"},
                                                         {"broadcast", "http://255.255.255.255/"},
                                                         {"multicast", "http://224.0.0.1/"}};
  for (const auto& [name, location] : blocked) {
    for (const int status : {301, 302, 303, 307, 308}) {
      add(std::string("to_") + name + "_by_" + std::to_string(status), status, location, "egress.blocked");
    }
  }
  const std::pair<const char*, std::string> invalid[] = {{"file", "file:///etc/passwd"},
                                                         {"file_host", "file://localhost/etc/passwd"},
                                                         {"gopher", "gopher://10.0.0.1:6379/_INFO"},
                                                         {"ftp", "ftp://10.0.0.1/"},
                                                         {"dict", "dict://10.0.0.1:6379/info"},
                                                         {"ldap", "ldap://10.0.0.1/"},
                                                         {"smb", "smb://10.0.0.1/share"},
                                                         {"telnet", "telnet://10.0.0.1/"},
                                                         {"data", "data:text/xml,<rss/>"},
                                                         {"script", "javascript:alert(1)"},
                                                         {"backslashes", "\\\\10.0.0.1\\x"},
                                                         {"scheme_backslashes", "http:\\\\10.0.0.1\\"},
                                                         {"slash_backslash", "/\\10.0.0.1/"},
                                                         {"credentials", "http://user:secret@10.0.0.1/"},
                                                         {"user", "http://user@10.0.0.1/"},
                                                         {"empty_host", "http://"},
                                                         {"broken_bracket", "http://[::1"},
                                                         {"scoped", "http://[fe80::1%25eth0]/"},
                                                         {"port_too_large", "http://10.0.0.1:99999/"},
                                                         {"port_negative", "http://10.0.0.1:-1/"},
                                                         {"control_character", "/a\x01b"},
                                                         {"too_long", "/" + std::string(2048, 'x')},
                                                         {"nothing", ""}};
  for (const auto& [name, location] : invalid) add(std::string("to_") + name, 302, location, "redirect.invalid");
  for (const char* port : {"22", "25", "993", "6000", "6667", "10080"}) {
    add(std::string("to_port_") + port, 302, own_url + ":" + port + "/", "egress.port");
  }
  all.push_back(Behaviour{"redirect", "multiple_choices", Response{.status = 300}, "redirect.invalid"});
  add("use_proxy", 305, elsewhere + "/end", "redirect.invalid");
  all.push_back(Behaviour{"redirect", "without_location", Response{.status = 302}, "redirect.invalid"});
  return all;
}

void serve(HttpServer& server, const std::vector<Behaviour>& behaviours) {
  for (const Behaviour& behaviour : behaviours) server.serve("/" + behaviour.name, behaviour.response);
}

// --- HTTP/2 ----------------------------------------------------------------------------------------------------------

namespace {

/// A frame of RFC 9113 §4.1.
std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, const std::string& payload) {
  std::string bytes;
  for (const unsigned shift : {16u, 8u, 0u}) bytes += static_cast<char>(payload.size() >> shift & 0xff);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const unsigned shift : {24u, 16u, 8u, 0u}) bytes += static_cast<char>(stream >> shift & 0xff);
  return bytes + payload;
}

constexpr std::uint8_t data_frame = 0, headers_frame = 1, reset_frame = 3, settings_frame = 4, go_away_frame = 7;
constexpr std::uint8_t end_headers = 4;

std::string answer_of(HostileHttp2Server::Habit habit) {
  using Habit = HostileHttp2Server::Habit;
  const std::string internal_error("\0\0\0\x02", 4), first_stream("\0\0\0\x01", 4);
  const std::string status_200 = frame(headers_frame, end_headers, 1, "\x88");
  switch (habit) {
    case Habit::reset_stream:
      return frame(reset_frame, 0, 1, internal_error);
    case Habit::go_away:
      return frame(go_away_frame, 0, 0, std::string(4, '\0') + internal_error);
    case Habit::half_a_body:
      return status_200 + frame(data_frame, 0, 1, "half") + frame(reset_frame, 0, 1, internal_error);
    case Habit::no_frames:
      return std::string(200, 'x');
    case Habit::oversized_frame:
      return status_200 + frame(data_frame, 0, 1, std::string(1 << 20, 'x'));
    case Habit::close:
      return status_200;
  }
  return "";
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size,
                    void*) {
  static constexpr unsigned char wanted[] = "\x02h2\x08http/1.1";
  unsigned char* chosen = nullptr;
  const int result = SSL_select_next_proto(&chosen, out_size, wanted, sizeof wanted - 1, in, in_size);
  *out = chosen;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

HostileHttp2Server::HostileHttp2Server(const Identity& identity, Habit habit)
    : habit_(habit),
      tls_(asio::ssl::context::tls_server),
      acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      port_(acceptor_.local_endpoint().port()) {
  tls_.use_certificate_chain(asio::buffer(identity.certificate));
  tls_.use_private_key(asio::buffer(identity.key), asio::ssl::context::pem);
  SSL_CTX_set_alpn_select_cb(tls_.native_handle(), &choose_protocol, nullptr);
  asio::co_spawn(context_, accept(), asio::detached);
  thread_ = std::thread([this] { context_.run(); });
}

HostileHttp2Server::~HostileHttp2Server() {
  context_.stop();
  thread_.join();
}

std::size_t HostileHttp2Server::http2_connections() const {
  const std::lock_guard lock(mutex_);
  return http2_connections_;
}

asio::awaitable<void> HostileHttp2Server::accept() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(as_result);
    if (!error) asio::co_spawn(context_, session(std::move(socket)), asio::detached);
  }
}

asio::awaitable<void> HostileHttp2Server::session(tcp::socket socket) {
  asio::ssl::stream<tcp::socket> stream(std::move(socket), tls_);
  const auto [failed] = co_await stream.async_handshake(asio::ssl::stream_base::server, as_result);
  if (failed) co_return;
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(stream.native_handle(), &protocol, &size);
  std::string buffer;
  if (size != 2) {
    auto [cut, read] = co_await asio::async_read_until(stream, asio::dynamic_buffer(buffer), "\r\n\r\n", as_result);
    if (cut) co_return;
    const std::string answer = ok + "Content-Length: 4\r\n\r\nwell";
    co_await asio::async_write(stream, asio::buffer(answer), as_result);
    co_return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++http2_connections_;
  }
  const std::string settings = frame(settings_frame, 0, 0, "");
  co_await asio::async_write(stream, asio::buffer(settings), as_result);
  // Skip the preface and the frames before the request's headers.
  constexpr std::size_t preface = 24, frame_header = 9;
  for (std::size_t at = preface;;) {
    while (buffer.size() < at + frame_header) {
      auto [cut, more] =
          co_await asio::async_read(stream, asio::dynamic_buffer(buffer), asio::transfer_at_least(1), as_result);
      if (cut) co_return;
    }
    std::size_t length = 0;
    for (std::size_t i = 0; i < 3; ++i) length = length << 8 | static_cast<unsigned char>(buffer[at + i]);
    if (buffer[at + 3] == static_cast<char>(headers_frame)) break;
    at += frame_header + length;
  }
  const std::string answer = answer_of(habit_);
  co_await asio::async_write(stream, asio::buffer(answer), as_result);
  if (habit_ == Habit::close) co_return;
  while (true) {  // until the client closes
    auto [gone, more] =
        co_await asio::async_read(stream, asio::dynamic_buffer(buffer), asio::transfer_at_least(1), as_result);
    if (gone) co_return;
  }
}

}  // namespace feedmill::test
