#include "worker/listener/request_head.hpp"

#include <algorithm>
#include <array>

#include <boost/beast/http/field.hpp>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "parsers/text/strings.hpp"

namespace feedmill {

namespace http = boost::beast::http;

namespace {

/// RFC 9110 §5.6.2: characters of a method.
bool is_token_character(char c) {
  return is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

/// For codings other than "chunked" alone. If chunked is last and occurs once, the body's end is known but a coding is
/// unsupported (RFC 9112 §6.1); else the end is unknown (§6.3).
http::status objection_to_codings(std::string_view list) {
  std::string_view coding;
  std::size_t chunked = 0;
  while (!list.empty()) {
    coding = trim(take_until(list, ','));
    if (iequals(coding, "chunked")) ++chunked;
  }
  return chunked == 1 && iequals(coding, "chunked") ? http::status::not_implemented : http::status::bad_request;
}

}  // namespace

std::optional<http::status> HeadScan::look(std::string_view bytes) {
  for (; at_ < std::min(bytes.size(), limits_.bytes); ++at_) {
    const char c = bytes[at_];
    const bool after_return = at_ > 0 && bytes[at_ - 1] == '\r';
    if (c == '\n') {
      if (!after_return) return http::status::bad_request;
      const bool empty = at_ - line_ == 1;
      line_ = at_ + 1;
      if (empty) {
        ++at_;
        return lines_ == 0 ? http::status::bad_request : http::status::ok;
      }
      if (++lines_ > 1 + limits_.fields) return http::status::request_header_fields_too_large;
      continue;
    }
    const bool folded = at_ == line_ && lines_ > 0 && (c == ' ' || c == '\t');
    if (after_return || folded || (c != '\r' && is_control(c))) return http::status::bad_request;
    if (at_ == 0 && !is_token_character(c)) return http::status::bad_request;
    if (lines_ == 0 && at_ >= limits_.line) return http::status::uri_too_long;
  }
  if (bytes.size() >= limits_.bytes) return http::status::request_header_fields_too_large;
  return std::nullopt;
}

std::optional<http::status> objection_to(const http::request_header<>& head) {
  const auto hosts = head.count(http::field::host), lengths = head.count(http::field::content_length),
             codings = head.count(http::field::transfer_encoding);
  if (hosts > 1 || (hosts == 0 && head.version() >= 11)) return http::status::bad_request;
  for (const std::string_view single :
       {"Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Origin"}) {
    if (head.count(single) > 1) return http::status::bad_request;
  }
  if (lengths > 1 || codings > 1 || lengths + codings > 1) return http::status::bad_request;
  const std::string_view length = head[http::field::content_length], coding = head[http::field::transfer_encoding];
  if (lengths == 1 && (length.empty() || !std::ranges::all_of(length, is_digit))) return http::status::bad_request;
  if (codings == 0 || (head.version() >= 11 && iequals(coding, "chunked"))) return std::nullopt;
  return head.version() < 11 ? http::status::bad_request : objection_to_codings(coding);
}

namespace {

/// Characters that need no escape in a URL (RFC 3986 §2.3).
bool is_unreserved(char c) {
  return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, Plus plus) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += plus == Plus::space && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size() || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0) return std::nullopt;
    decoded += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
    i += 2;
  }
  return decoded;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += digits[byte >> 4];
    encoded += digits[byte & 15];
  }
  return encoded;
}

FormPair take_pair(std::string_view& form) {
  std::string_view value = take_until(form, '&');
  const std::string_view name = take_until(value, '=');
  return {percent_decoded(name, Plus::space), percent_decoded(value, Plus::space)};
}

std::optional<std::string> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    std::string_view value = take_until(query, '&');
    if (take_until(value, '=') == name) return percent_decoded(value, Plus::space);
  }
  return std::nullopt;
}

namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest digest(std::string_view text) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

/// The part after the first colon of base64 text; "" if there is none.
std::string password_of(std::string_view base64) {
  constexpr std::size_t longest = 4096;
  if (base64.empty() || base64.size() > longest || base64.size() % 4 != 0) return {};
  std::size_t padding = 0;  // EVP_DecodeBlock counts padding as bytes
  while (padding < base64.size() && base64[base64.size() - 1 - padding] == '=') ++padding;
  if (padding > 2) return {};
  std::vector<unsigned char> bytes(base64.size() / 4 * 3 + 1);
  const int size = EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(base64.data()),
                                   static_cast<int>(base64.size()));
  if (size < static_cast<int>(padding)) return {};
  const std::string text(bytes.begin(), bytes.begin() + size - static_cast<int>(padding));
  const auto colon = text.find(':');
  return colon == std::string::npos ? std::string() : text.substr(colon + 1);
}

/// "[::1]:9810" → "::1", "localhost:9810" → "localhost"; "" if malformed.
std::string_view without_port(std::string_view host) {
  const bool bracketed = host.starts_with('[');
  const auto end = bracketed ? host.find(']') : std::min(host.find(':'), host.size());
  if (end == std::string_view::npos) return {};
  const std::string_view port = host.substr(std::min(end + (bracketed ? 1 : 0), host.size()));
  if (!port.empty() && (port.front() != ':' || !std::ranges::all_of(port.substr(1), is_digit))) return {};
  return bracketed ? host.substr(1, end - 1) : host.substr(0, end);
}

}  // namespace

bool shows_token(std::string_view authorization, std::string_view token) {
  const auto space = authorization.find(' ');
  if (space == std::string_view::npos) return false;
  const std::string_view scheme = authorization.substr(0, space);
  std::string_view rest = authorization.substr(space);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  const std::string shown = iequals(scheme, "Bearer")  ? std::string(rest)
                            : iequals(scheme, "Basic") ? password_of(rest)
                                                       : std::string();
  if (shown.empty()) return false;
  const Digest mine = digest(token), theirs = digest(shown);
  return CRYPTO_memcmp(mine.data(), theirs.data(), mine.size()) == 0;
}

bool is_called_by(std::string_view host, const std::vector<std::string>& names) {
  const std::string_view name = without_port(host);
  if (iequals(name, "localhost")) return true;
  boost::system::error_code no_address;
  boost::asio::ip::make_address(std::string(name), no_address);
  return !no_address || std::ranges::any_of(names, [name](const auto& one) { return iequals(name, one); });
}

bool is_of_another_site(const http::request_header<>& head) {
  const std::string_view host = head[http::field::host];
  return std::any_of(head.begin(), head.end(), [host](const auto& field) {
    const std::string_view value = field.value();
    if (iequals(std::string_view(field.name_string()), "Sec-Fetch-Site"))
      return !iequals(value, "same-origin") && !iequals(value, "none");
    if (field.name() != http::field::origin) return false;
    const auto authority = value.find("://");
    return authority == std::string_view::npos || !iequals(value.substr(authority + 3), host);
  });
}

bool is_near(const boost::asio::ip::address& client, const http::request_header<>& head) {
  const auto is_handed_on = [](const auto& field) {
    const std::string_view name = field.name_string();
    return iequals(name, "Forwarded") || istarts_with(name, "X-Forwarded-") || iequals(name, "X-Real-IP") ||
           iequals(name, "Via");
  };
  return client.is_loopback() && std::none_of(head.begin(), head.end(), is_handed_on);
}

}  // namespace feedmill
