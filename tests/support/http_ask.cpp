#include "tests/support/http_ask.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <stdexcept>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>

namespace feedmill::test {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

/// Size of the complete response in bytes; 0 while it is unknown.
std::size_t length_of(const std::string& text) {
  const std::size_t head = text.find("\r\n\r\n");
  if (head == std::string::npos) return 0;
  const HttpAnswer answer{0, text.substr(0, head + 4), {}};
  const std::string length = answer.header("Content-Length");
  std::size_t bytes = 0;
  if (length.empty()) return 0;
  std::from_chars(length.data(), length.data() + length.size(), bytes);
  return head + 4 + bytes;
}

void put_together(HttpAnswer& answer) {
  const std::string chunks = std::move(answer.body);
  answer.body.clear();
  answer.is_cut = true;
  for (std::size_t at = 0; answer.is_cut && at < chunks.size();) {
    const std::size_t line = chunks.find("\r\n", at);
    std::size_t bytes = 0;
    if (line == std::string::npos) return;
    std::from_chars(chunks.data() + at, chunks.data() + line, bytes, 16);
    answer.is_cut = bytes > 0;
    answer.body.append(chunks, line + 2, bytes);
    at = line + 2 + bytes + 2;
  }
}

HttpAnswer answer_of(const std::string& text) {
  HttpAnswer answer;
  const std::size_t space = std::min(text.find(' '), text.size());
  std::from_chars(text.data() + std::min(space + 1, text.size()), text.data() + text.size(), answer.status);
  const std::size_t head = text.find("\r\n\r\n");
  answer.head = text.substr(0, head == std::string::npos ? head : head + 4);
  if (head != std::string::npos) answer.body = text.substr(head + 4);
  if (answer.header("Transfer-Encoding") == "chunked") put_together(answer);
  return answer;
}

HttpAnswer exchange(const std::string& host, std::uint16_t port, std::string_view bytes, bool head_only,
                    std::chrono::milliseconds patience) {
  asio::io_context loop(1);
  tcp::socket socket(loop);
  std::string text;
  std::array<char, 16384> block;
  std::function<void()> read = [&] {
    socket.async_read_some(asio::buffer(block), [&](const boost::system::error_code& error, std::size_t got) {
      text.append(block.data(), got);
      const std::size_t whole = head_only && text.find("\r\n\r\n") != std::string::npos ? text.size() : length_of(text);
      if (!error && (whole == 0 || text.size() < whole)) read();
    });
  };
  const tcp::endpoint server(asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host), port);
  socket.async_connect(server, [&](const boost::system::error_code& failed) {
    if (failed) return;
    read();  // before sending: a server may answer before it has received the whole request
    asio::async_write(socket, asio::buffer(bytes), [](const boost::system::error_code&, std::size_t) {});
  });
  loop.run_for(patience);
  return answer_of(text);
}

}  // namespace

std::string HttpAnswer::header(std::string_view name) const {
  for (std::size_t begin = head.find("\r\n"); begin != std::string::npos; begin = head.find("\r\n", begin + 2)) {
    const std::size_t colon = head.find(':', begin);
    const std::size_t end = head.find("\r\n", begin + 2);
    if (colon == std::string::npos || end == std::string::npos || colon > end) continue;
    if (!boost::beast::iequals(std::string_view(head).substr(begin + 2, colon - begin - 2), name)) continue;
    const std::size_t value = head.find_first_not_of(' ', colon + 1);
    return head.substr(value, end - value);
  }
  return {};
}

HttpAnswer ask(const HttpAsk& request, std::chrono::milliseconds patience) {
  constexpr std::string_view scheme = "http://";
  if (!request.url.starts_with(scheme)) throw std::invalid_argument("not an http URL: " + request.url);
  const std::size_t slash = std::min(request.url.find_first_of("/?", scheme.size()), request.url.size());
  const std::string authority = request.url.substr(scheme.size(), slash - scheme.size());
  std::string target = request.url.substr(slash);
  if (!target.starts_with('/')) target.insert(0, "/");
  const std::size_t colon = authority.rfind(':');
  std::uint16_t port = 80;
  if (colon != std::string::npos) {
    std::from_chars(authority.data() + colon + 1, authority.data() + authority.size(), port);
  }
  const auto has = [&](std::string_view name) {
    return std::any_of(request.headers.begin(), request.headers.end(),
                       [&](const auto& header) { return boost::beast::iequals(header.first, name); });
  };
  std::string bytes = request.method + " " + target + " HTTP/1.1\r\n";
  if (!has("Host")) bytes += "Host: " + authority + "\r\n";
  for (const auto& [name, value] : request.headers) bytes.append(name).append(": ").append(value).append("\r\n");
  if (!has("Content-Length") && (!request.body.empty() || request.method == "POST")) {
    bytes += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  bytes += "Connection: close\r\n\r\n" + request.body;
  return exchange(authority.substr(0, colon), port, bytes, request.method == "HEAD", patience);
}

HttpAnswer ask_raw(std::uint16_t port, std::string_view bytes, std::chrono::milliseconds patience) {
  return exchange("127.0.0.1", port, bytes, false, patience);
}

std::string say_and_hear_out(std::uint16_t port, std::string_view bytes, const std::string& from,
                             std::chrono::milliseconds patience) {
  asio::io_context loop(1);
  tcp::socket socket(loop, tcp::v4());
  if (!from.empty()) socket.bind({asio::ip::make_address(from), 0});
  std::string text;
  std::array<char, 16384> block;
  std::function<void()> read = [&] {
    socket.async_read_some(asio::buffer(block), [&](const boost::system::error_code& error, std::size_t got) {
      text.append(block.data(), got);
      if (!error) read();
    });
  };
  socket.async_connect({asio::ip::address_v4::loopback(), port}, [&](const boost::system::error_code& failed) {
    if (failed) return;
    read();
    asio::async_write(socket, asio::buffer(bytes), [&](const boost::system::error_code&, std::size_t) {
      boost::system::error_code ignored;
      socket.shutdown(tcp::socket::shutdown_send, ignored);
    });
  });
  loop.run_for(patience);
  return text;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~").find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded.append("%").append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
    }
  }
  return encoded;
}

std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text) {
  const auto decoded = [](std::string_view part) {
    std::string plain;
    for (std::size_t i = 0; i < part.size(); ++i) {
      unsigned byte = 0;
      const bool escape =
          part[i] == '%' && i + 2 < part.size() &&
          std::from_chars(part.data() + i + 1, part.data() + i + 3, byte, 16).ptr == part.data() + i + 3;
      plain += escape ? static_cast<char>(byte) : part[i] == '+' ? ' ' : part[i];
      if (escape) i += 2;
    }
    return plain;
  };
  std::vector<std::pair<std::string, std::string>> fields;
  while (!text.empty()) {
    const std::string_view field = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(field.size() + 1, text.size()));
    if (field.empty()) continue;
    const std::size_t equals = std::min(field.find('='), field.size());
    fields.emplace_back(decoded(field.substr(0, equals)), decoded(field.substr(std::min(equals + 1, field.size()))));
  }
  return fields;
}

}  // namespace feedmill::test
