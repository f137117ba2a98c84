#include "worker/egress/web_url.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>

#include <curl/curl.h>
#include <locale.h>

#include "parsers/text/strings.hpp"
#include "storage/store/store.hpp"

namespace feedmill {
namespace {

using Result = boost::system::result<std::string, std::string>;

Result refuse(std::string why) {
  return {boost::system::in_place_error, std::move(why)};
}
Result accept(std::string url) {
  return {boost::system::in_place_value, std::move(url)};
}

struct Free {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(char* text) const { curl_free(text); }
};
using Url = std::unique_ptr<CURLU, Free>;

Url new_url() {
  Url url(curl_url());
  if (url == nullptr) throw std::bad_alloc();
  return url;
}

/// Empty if the URL lacks that part.
std::optional<std::string> part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  const CURLUcode code = curl_url_get(url, part, &text, flags);
  if (code != CURLUE_OK) {
    // On a failed punycode conversion, libcurl 7.88 leaks the host name.
    if (curl_version_info(CURLVERSION_NOW)->version_num < 0x080000) curl_free(text);
    return std::nullopt;
  }
  const std::unique_ptr<char, Free> owned(text);
  return std::string(text);
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// libcurl's libidn2 expects names in the locale's character set: sets a UTF-8 locale, in this thread and for this call
/// only.
std::optional<std::string> punycode_host(CURLU* url) {
  const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return std::nullopt;
  const locale_t before = uselocale(utf8);
  auto host = part_of(url, CURLUPART_HOST, CURLU_PUNYCODE);
  uselocale(before);
  freelocale(utf8);
  return host;
}

bool is_scheme_char(char c) {
  return is_alnum(c) || c == '+' || c == '-' || c == '.';
}

/// Where the path of an absolute or relative reference begins: after the host, if any.
std::size_t path_begin(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_scheme_char(text[at])) ++at;
  const bool has_scheme = at > 0 && at < text.size() && text[at] == ':';
  if (!has_scheme && !text.starts_with("//")) return 0;
  at = std::min(text.find_first_not_of('/', has_scheme ? at + 1 : 0), text.size());
  return std::min(text.find_first_of("/?#", at), text.size());
}

/// Percent-encodes bytes that are not allowed in a path or query. libcurl's own encoding differs between versions, but
/// a feed's URL must stay the same for years. Braces stay, except "}:", which ends the partition in a key: in a URL it
/// would match the patterns of Redis users for other keys (SECURITY A1).
std::string path_encoded(std::string_view text) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  const std::size_t begin = path_begin(text);
  std::string encoded(text.substr(0, begin));
  encoded.reserve(text.size());
  for (std::size_t at = begin; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte > 0x20 && byte < 0x7f && !text.substr(at).starts_with("}:")) {
      encoded += text[at];
    } else {
      encoded += '%';
      encoded += hex[byte >> 4];
      encoded += hex[byte & 15];
    }
  }
  return encoded;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

/// The canonical form of the parsed URL.
Result canonical(CURLU* url) {
  const auto scheme = part_of(url, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return refuse("only http and https are fetched");
  auto host = part_of(url, CURLUPART_HOST);
  if (!host) return refuse("it names no host");
  if (!is_ascii(*host)) host = punycode_host(url);
  if (!host || !is_ascii(*host) || has_control(*host))
    return refuse("its host name has characters that are not allowed in one");
  curl_url_set(url, CURLUPART_FRAGMENT, nullptr, 0);
  if (part_of(url, CURLUPART_ZONEID)) return refuse("addresses with a zone are not supported");
  if (host->ends_with('.')) host->pop_back();  // the same host (RFC 1034 §3.1): lookups use no search domains
  if (host->empty() || host->ends_with('.') || curl_url_set(url, CURLUPART_HOST, lower(*host).c_str(), 0) != CURLUE_OK)
    return refuse("its host name is not valid");
  auto whole = part_of(url, CURLUPART_URL, CURLU_NO_DEFAULT_PORT);
  if (whole) {  // escaped digits, digits of other scripts and numbers before a dot become an address only now
    if (curl_url_set(url, CURLUPART_URL, whole->c_str(), 0) != CURLUE_OK) return refuse("its host name is not valid");
    whole = part_of(url, CURLUPART_URL, CURLU_NO_DEFAULT_PORT);
  }
  if (!whole) return refuse("it cannot be normalised");
  if (whole->size() > max_url_bytes) return refuse("it is longer than " + std::to_string(max_url_bytes) + " bytes");
  return accept(std::move(*whole));
}

/// Four numbers, the form libcurl gives every spelling of an IPv4 address.
bool is_plain_v4(std::string_view host) {
  std::array<char, INET_ADDRSTRLEN> text{};
  in_addr address{};
  if (host.size() >= text.size()) return false;
  host.copy(text.data(), host.size());
  return inet_pton(AF_INET, text.data(), &address) == 1 &&
         inet_ntop(AF_INET, &address, text.data(), text.size()) == host;
}

/// The origin of a simple URL (almost all are): a lower-case name or four numbers, and nothing to decode. Twenty times
/// faster than libcurl, with the same result. Empty: ask libcurl.
std::optional<Origin> plain_origin(std::string_view url) {
  const bool secure = url.starts_with("https://");
  if (!secure && !url.starts_with("http://")) return std::nullopt;
  if (std::ranges::any_of(url, [](char c) { return c <= ' ' || c >= 0x7f; })) return std::nullopt;
  const std::string_view behind = url.substr(secure ? 8 : 7);
  const std::string_view authority = behind.substr(0, behind.find_first_of("/?#"));
  const std::string_view host = authority.substr(0, authority.find(':'));
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t last_label = host.rfind('.') + 1;  // 0 without a dot
  const bool is_name =
      last_label < host.size() && is_letter(host[last_label]) &&
      std::ranges::all_of(host, [&](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.'; });
  if (!is_name && !is_plain_v4(host)) return std::nullopt;
  Origin origin{secure ? "https" : "http", std::string(host), secure ? 443U : 80U};
  if (host.size() == authority.size()) return origin;
  const std::string_view port = authority.substr(host.size() + 1);
  if (port.empty() || port.size() > 5 || port[0] == '0' || !std::ranges::all_of(port, is_digit)) return std::nullopt;
  origin.port = leading_number<unsigned>(port);
  if (origin.port > 65535) return std::nullopt;
  return origin;
}

}  // namespace

Result canonical_feed_url(std::string_view text) {
  const std::string given(trim(text));
  if (given.empty()) return refuse("it is empty");
  if (given.size() > max_url_bytes) return refuse("it is longer than " + std::to_string(max_url_bytes) + " bytes");
  if (has_control(given)) return refuse("it has control characters");
  const std::string encoded = path_encoded(given);
  const Url url = new_url();
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, encoded.c_str(), CURLU_DISALLOW_USER);
  if (code == CURLUE_USER_NOT_ALLOWED) return refuse("it contains credentials; they belong in the configuration");
  if (code == CURLUE_BAD_SCHEME) return refuse("it must begin with http:// or https://");
  if (code == CURLUE_UNSUPPORTED_SCHEME) return refuse("only http and https are fetched");
  if (code == CURLUE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLUE_OK) return refuse(lower(curl_url_strerror(code)));
  Result result = canonical(url.get());
  if (!result) return result;
  const std::string_view ending = forbidden_ending(*result);
  if (!ending.empty()) return refuse("it ends in " + std::string(ending) + ", which is how our own keys end");
  return result;
}

Result resolve_location(const std::string& base, std::string_view location) {
  const std::string target(trim(location));
  if (target.empty()) return refuse("it is empty");
  if (target.size() > max_url_bytes) return refuse("it is longer than " + std::to_string(max_url_bytes) + " bytes");
  if (has_control(target)) return refuse("it has control characters");
  if (target.find('\\') != target.npos) return refuse("it has a backslash");
  const std::string encoded = path_encoded(target);
  const Url url = new_url();
  if (curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK) return refuse("its base is not a URL");
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, encoded.c_str(), CURLU_DISALLOW_USER);
  if (code == CURLUE_USER_NOT_ALLOWED) return refuse("it holds credentials");
  if (code == CURLUE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLUE_OK) return refuse(lower(curl_url_strerror(code)));
  return canonical(url.get());
}

std::string host_of(const std::string& url) {
  return origin_of(url).host;
}

std::string server_of(const std::string& url) {
  Origin origin = origin_of(url);
  if (origin.port == 80 || origin.port == 443 || origin.port == 0) return std::move(origin.host);
  return std::move(origin.host) + ':' + std::to_string(origin.port);
}

Origin origin_of(const std::string& text) {
  if (std::optional<Origin> plain = plain_origin(text)) return *std::move(plain);
  const Url url = new_url();
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return {};
  const auto port = part_of(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  return Origin{part_of(url.get(), CURLUPART_SCHEME).value_or(""),
                lower(part_of(url.get(), CURLUPART_HOST).value_or("")),
                static_cast<unsigned>(std::strtoul(port.value_or("0").c_str(), nullptr, 10))};
}

std::string path_of(const std::string& url) {
  return url.substr(std::min(url.find('/', url.find("//") + 2), url.size()));
}

boost::system::result<Proxy, std::string> read_proxy(std::string_view text) {
  const auto refused = [] {
    return boost::system::result<Proxy, std::string>(boost::system::in_place_error,
                                                     "write a proxy as http://host:port");
  };
  constexpr std::string_view scheme = "http://";
  if (!text.starts_with(scheme)) return refused();
  std::string_view rest = text.substr(scheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const auto at = rest.rfind('@');
  const std::string_view credentials = at == std::string_view::npos ? std::string_view() : rest.substr(0, at + 1);
  const std::string_view authority = rest.substr(credentials.size());
  const auto plain = [](char c) { return c > ' ' && c < 0x7f && c != '/' && c != '?' && c != '#'; };
  const auto colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && colon + 1 < authority.size() &&
                        authority.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (!has_port || !std::ranges::all_of(rest, plain)) return refused();
  const auto address = canonical_feed_url(std::string(scheme) + std::string(authority) + "/");
  if (!address) return refused();
  const Origin origin = origin_of(*address);
  if (origin.port == 0) return refused();
  Proxy proxy;
  proxy.host = origin.host;
  proxy.port = origin.port;
  proxy.url = std::string(scheme).append(credentials).append(origin.host).append(":") + std::to_string(origin.port);
  return proxy;
}

}  // namespace feedmill
