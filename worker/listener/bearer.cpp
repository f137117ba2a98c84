#include "worker/listener/bearer.hpp"

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
