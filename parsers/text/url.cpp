#include "parsers/text/url.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

// The schemes that links may have (closed list): pages and files, addresses to write to or call, targets of download
// and podcast feeds. Other schemes start programs with a stranger's input, or name nothing that can be opened. SECURITY
// S5 is stricter for markup (html_attributes.cpp).
constexpr std::array<std::string_view, 9> link_schemes = {"http",   "https", "ftp",    "gemini", "gopher",
                                                          "mailto", "tel",   "magnet", "bitcoin"};
// The schemes that reader programs may load automatically; torrent feeds name files by magnet links.
constexpr std::array<std::string_view, 3> file_schemes = {"http", "https", "magnet"};

constexpr std::array<std::string_view, 14> tracking_parameters = {
    "fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid",      "mc_cid",
    "mc_eid", "cmpid", "ncid",  "_hsenc",  "_hsmi", "oly_anon_id", "oly_enc_id"};

bool is_tracking(std::string_view parameter) {
  const std::string_view name = parameter.substr(0, parameter.find('='));
  if (istarts_with(name, "utm_")) return true;
  return is_any_case_of(name, tracking_parameters);
}

// Parameters that change between fetches: cache busters and temporary signatures.
constexpr std::array<std::string_view, 31> passing_parameters = {
    "_",         "bust", "cache",     "cachebust",   "cachebuster", "cb",       "expires", "hdnea",
    "hdnts",     "hmac", "itok",      "key-pair-id", "lastmod",     "modified", "mtime",   "nocache",
    "nonce",     "oe",   "oh",        "policy",      "rand",        "random",   "rnd",     "session",
    "sessionid", "sig",  "signature", "timestamp",   "token",       "ts",       "updated"};
// The subset of these that neither signs the URL nor names a version.
constexpr std::array<std::string_view, 9> random_parameters = {"_",  "bust",    "cache", "cachebust", "cachebuster",
                                                               "cb", "nocache", "rand",  "random"};
// May name a version or a thing ("watch?v=dQw4w9WgXcQ"): transient only if the value is a dotted or hexadecimal number.
constexpr std::array<std::string_view, 3> version_parameters = {"v", "ver", "version"};

bool is_transient(std::string_view parameter) {
  const std::size_t equals = parameter.find('=');
  const std::string_view name = parameter.substr(0, equals);
  if (equals == std::string_view::npos) {  // "?1690000000": a timestamp or a build number
    return name.size() >= 4 && std::all_of(name.begin(), name.end(), is_digit);
  }
  if (istarts_with(name, "x-amz-") || istarts_with(name, "x-goog-")) return true;
  if (is_any_case_of(name, passing_parameters) || ifind(name, "token") != npos || ifind(name, "signature") != npos)
    return true;
  const std::string_view value = parameter.substr(equals + 1);
  return is_any_case_of(name, version_parameters) &&
         std::all_of(value.begin(), value.end(), [](char c) { return c == '.' || hex_value(c) >= 0; });
}

// Appends `url` without the query parameters for which `is_left_out` is true.
template <class IsLeftOut>
void append_url_without(std::string& out, std::string_view url, IsLeftOut is_left_out) {
  const std::size_t query = url.find('?');
  const std::size_t fragment = std::min(url.find('#'), url.size());
  if (query >= fragment) {
    out += url;
    return;
  }
  out += url.substr(0, query);
  char separator = '?';
  for (std::string_view rest = url.substr(query + 1, fragment - query - 1); !rest.empty();) {
    std::string_view parameter = take_until(rest, '&');
    if (istarts_with(parameter, "amp;")) parameter.remove_prefix(4);  // escaped in markup
    if (parameter.empty() || is_left_out(parameter)) continue;
    out += separator;
    out += parameter;
    separator = '&';
  }
  out += url.substr(fragment);
}

// Appends a path without its dot segments (RFC 3986 §5.2.4), in one pass. `out` before `begin` is not part of the path.
// `whole`: a trailing dot segment leaves its "/".
void append_path(std::string& out, std::size_t begin, std::string_view path, bool whole) {
  bool dots = false;
  for (std::size_t i = 1; i < path.size() && !dots; ++i) dots = path[i] == '.' && path[i - 1] == '/';
  if (!dots) {  // nearly all paths
    out += path;
    return;
  }
  std::size_t at = 0;
  while (at < path.size()) {
    const std::size_t next = path.find('/', at + 1);
    const std::string_view segment = path.substr(at, next == std::string_view::npos ? next : next - at);
    const bool last = next == std::string_view::npos;
    if (segment == "/." || segment == "/..") {
      if (segment == "/..") {
        const std::size_t slash = std::string_view(out).substr(begin).rfind('/');
        out.erase(slash == std::string_view::npos ? begin : begin + slash);
      }
      if (last && whole) out += '/';
    } else {
      out += segment;
    }
    at = last ? path.size() : next;
  }
}

void append_clean(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == ' ') {
      out += "%20";
    } else if (c != '\n' && c != '\t' && c != '\r') {
      out += c;
    }
  }
}

/// RFC 3986 §2: unreserved and reserved characters, except "[", "]", "#" and "%", which depend on their position.
constexpr ByteSet uri_characters("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?@!$&'()*+,;=");

}  // namespace

bool is_ipv4(std::string_view text) {
  int parts = 0;
  for (bool more = true; more; ++parts) {
    more = text.find('.') != npos;
    std::uint8_t part = 0;
    if (!read_number(take_until(text, '.'), part)) return false;
  }
  return parts == 4;
}

namespace {

/// Counts the 16-bit groups in part of an IPv6 address; an IPv4 address at its end counts as two. 9 if invalid.
int ipv6_groups(std::string_view text, bool at_end) {
  int groups = 0;
  for (bool more = !text.empty(); more && groups <= 8;) {
    more = text.find(':') != npos;
    const std::string_view group = take_until(text, ':');
    const bool hex = !group.empty() && group.size() <= 4 &&
                     std::all_of(group.begin(), group.end(), [](char c) { return hex_value(c) >= 0; });
    if (!hex && (more || !at_end || !is_ipv4(group))) return 9;
    groups += hex ? 1 : 2;
  }
  return groups;
}

}  // namespace

bool is_ipv6(std::string_view text) {
  const std::size_t gap = text.find("::");
  if (gap == npos) return ipv6_groups(text, true) == 8;
  return ipv6_groups(text.substr(0, gap), false) + ipv6_groups(text.substr(gap + 2), true) < 8;
}

namespace {

/// RFC 3986 §3.2, before percent-encoding: [user@]host[:port], the host a name or an IPv6 address in brackets.
bool is_authority(std::string_view authority, bool needs_host) {
  const std::size_t at = authority.rfind('@');
  std::string_view user, host = authority;
  if (at != npos) {
    user = authority.substr(0, at);
    host = authority.substr(at + 1);
  }
  const std::size_t port = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  if (port != npos) {
    if (!std::ranges::all_of(host.substr(port + 1), is_digit)) return false;
    host = host.substr(0, port);
  }
  const auto fits = [](char c) { return (uri_characters.has(c) && c != '@') || c == '%' || !is_ascii(c); };
  if (!std::ranges::all_of(user, fits) || (needs_host && host.empty())) return false;
  if (!host.starts_with('[')) return std::ranges::all_of(host, fits);
  return host.ends_with(']') && host.size() < 64 && is_ipv6(host.substr(1, host.size() - 2));
}

/// Whether "//" and the first character of a host follow a scheme of `scheme` bytes, as in nearly all URLs.
bool has_plain_host(std::string_view url, std::size_t scheme) {
  return url.substr(scheme + 1).starts_with("//") && url.size() > scheme + 3 && is_alnum(url[scheme + 3]);
}

}  // namespace

std::string uri_of(std::string url) {
  const bool is_plain = uri_characters.find_outside(url) == npos;
  const bool has_port = url.find(':', url.find(':') + 1) != npos;
  const std::string_view scheme = url_scheme(url);
  const bool needs_host = iequals(scheme, "http") || iequals(scheme, "https");  // RFC 9110 §4.2.1
  const bool has_host = !needs_host || has_plain_host(url, scheme.size());
  if (is_plain && has_host && !has_port && url.find('@') == npos) return url;  // nearly all URLs
  const UrlParts parts = split_url(url);
  if ((needs_host && !parts.has_authority) || !is_authority(parts.authority, needs_host)) return {};
  if (is_plain) return url;
  const auto place = [&](std::string_view part) { return static_cast<std::size_t>(part.data() - url.data()); };
  const std::size_t host = parts.has_authority ? place(parts.authority) : 0, host_end = host + parts.authority.size();
  bool fragment = false;
  std::string uri;
  for (std::size_t i = 0; i < url.size(); ++i) {
    const char c = url[i];
    const bool escapes = c == '%' && i + 2 < url.size() && hex_value(url[i + 1]) >= 0 && hex_value(url[i + 2]) >= 0;
    const bool bracket = (c == '[' || c == ']') && i >= host && i < host_end;
    const bool first_hash = c == '#' && !std::exchange(fragment, fragment || c == '#');
    if (uri_characters.has(c) || escapes || bracket || first_hash) {
      uri += c;
      continue;
    }
    constexpr char digits[] = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    uri.append({'%', digits[byte >> 4U], digits[byte & 15U]});
  }
  return uri;
}

namespace {

/// The subtags of a language tag, in order.
class LanguageSubtags {
 public:
  explicit LanguageSubtags(std::string_view language) : rest_(language) { next(); }

  bool at_end() const { return !subtag_; }
  /// Takes up to `most` subtags of `least` to `longest` characters that all satisfy `is`; returns the number taken.
  std::size_t take(std::size_t most, std::size_t least, std::size_t longest, bool (*is)(char)) {
    std::size_t taken = 0;
    while (taken < most && subtag_ && subtag_->size() >= least && subtag_->size() <= longest &&
           std::ranges::all_of(*subtag_, is)) {
      next();
      ++taken;
    }
    return taken;
  }
  /// Takes a subtag of one character, which begins an extension or private use; '\0' if the next subtag is longer.
  char take_singleton() {
    if (!subtag_ || subtag_->size() != 1 || !is_alnum(subtag_->front())) return '\0';
    const char singleton = to_lower(subtag_->front());
    next();
    return singleton;
  }
  /// Takes all variants: subtags of five to eight letters and digits, or of four that begin with a digit.
  void take_variants() {
    while (subtag_ && (subtag_->size() > 4 || (subtag_->size() == 4 && is_digit(subtag_->front()))) &&
           take(1, 4, 8, is_alnum) == 1) {
    }
  }

 private:
  void next() {
    subtag_.reset();
    if (ended_) return;
    const std::size_t end = rest_.find('-');
    subtag_ = rest_.substr(0, end);
    ended_ = end == npos;
    if (!ended_) rest_.remove_prefix(end + 1);
  }

  std::string_view rest_;
  std::optional<std::string_view> subtag_;
  bool ended_ = false;
};

}  // namespace

std::string language_tag(std::string language) {
  constexpr std::size_t any = 256;
  std::ranges::replace(language, '_', '-');
  LanguageSubtags subtags(language);
  if (subtags.take(1, 2, 3, is_alpha) == 1) {
    subtags.take(3, 3, 3, is_alpha);  // extlang
  } else if (subtags.take(1, 4, 8, is_alpha) == 0) {
    const char first = subtags.take_singleton();
    const bool is_private = first == 'x' && subtags.take(any, 1, 8, is_alnum) > 0;
    const bool is_registered = first == 'i' && subtags.take(1, 3, 8, is_alpha) == 1;
    return (is_private || is_registered) && subtags.at_end() ? language : std::string();
  }
  subtags.take(1, 4, 4, is_alpha);  // script
  if (subtags.take(1, 2, 2, is_alpha) == 0) subtags.take(1, 3, 3, is_digit);
  subtags.take_variants();
  std::string singletons;
  while (const char singleton = subtags.take_singleton()) {
    const bool is_private = singleton == 'x';
    if (singletons.find(singleton) != npos || subtags.take(any, is_private ? 1 : 2, 8, is_alnum) == 0) return {};
    singletons += singleton;
    if (is_private) break;
  }
  return subtags.at_end() ? language : std::string();
}

std::string media_type(std::string_view declared) {
  const auto is_name = [](std::string_view name) {
    const auto fits = [](char c) { return is_alnum(c) || std::string_view("!#$&-^_.+").find(c) != npos; };
    return !name.empty() && is_alnum(name.front()) && std::ranges::all_of(name, fits);
  };
  const std::string_view type = trim(declared.substr(0, declared.find_first_of(";,")));
  const std::size_t slash = type.find('/');
  if (slash == npos || type.size() > limits::word || !is_name(type.substr(0, slash)) ||
      !is_name(type.substr(slash + 1)))
    return {};
  return lower(type);
}

std::string_view url_scheme(std::string_view url) {
  if (url.empty() || !is_alpha(url.front())) return {};
  for (std::size_t i = 1; i < url.size(); ++i) {
    const char c = url[i];
    if (c == ':') return url.substr(0, i);
    if (!is_alnum(c) && c != '+' && c != '-' && c != '.') return {};
  }
  return {};
}

UrlParts split_url(std::string_view url) {
  UrlParts parts;
  parts.scheme = url_scheme(url);
  if (!parts.scheme.empty()) url.remove_prefix(parts.scheme.size() + 1);
  if (const std::size_t hash = url.find('#'); hash != std::string_view::npos) {
    parts.has_fragment = true;
    parts.fragment = url.substr(hash + 1);
    url = url.substr(0, hash);
  }
  if (const std::size_t mark = url.find('?'); mark != std::string_view::npos) {
    parts.has_query = true;
    parts.query = url.substr(mark + 1);
    url = url.substr(0, mark);
  }
  if (url.starts_with("//")) {
    parts.has_authority = true;
    const std::size_t slash = url.find('/', 2);
    parts.authority = url.substr(2, slash == std::string_view::npos ? slash : slash - 2);
    url = slash == std::string_view::npos ? std::string_view{} : url.substr(slash);
  }
  parts.path = url;
  return parts;
}

UrlBase::UrlBase(std::string url) : url_(std::move(url)) {
  const UrlParts parts = split_url(*url_);
  usable_ = !parts.scheme.empty() && (parts.has_authority || parts.path.starts_with('/'));
  if (!usable_) return;
  const std::string_view whole = *url_;
  scheme_ = parts.scheme.size() + 1;
  authority_ = scheme_ + (parts.has_authority ? 2 + parts.authority.size() : 0);
  path_ = authority_ + parts.path.size();
  query_ = parts.has_query ? path_ + 1 + parts.query.size() : path_;
  folder_ = whole.substr(0, authority_);
  const std::size_t slash = parts.path.rfind('/');
  if (slash == std::string_view::npos) return;
  append_path(folder_, authority_, parts.path.substr(0, slash), false);
}

std::string UrlBase::resolve(std::string_view reference) const {
  reference = trim(reference);
  std::string cleaned;
  constexpr ByteSet blanks(" \n\t\r");
  if (blanks.find_in(reference) != std::string_view::npos) {
    append_clean(cleaned, reference);
    reference = cleaned;
  }
  if (!usable_ || !url_scheme(reference).empty()) return std::string(reference);
  const UrlParts ref = split_url(reference);
  const std::string_view whole = *url_;
  std::string out;
  if (ref.has_authority) {
    out.reserve(scheme_ + reference.size());
    out.append(whole.substr(0, scheme_)).append("//").append(ref.authority);
    append_path(out, out.size(), ref.path, true);
  } else if (ref.path.empty()) {
    out.reserve(query_ + reference.size());
    out.append(whole.substr(0, ref.has_query ? path_ : query_));
  } else if (ref.path.starts_with('/')) {
    out.reserve(authority_ + reference.size());
    out.append(whole.substr(0, authority_));
    append_path(out, authority_, ref.path, true);
  } else {
    out.reserve(folder_.size() + 1 + reference.size());
    std::string path = "/";
    path += ref.path;
    out += folder_;
    append_path(out, authority_, path, true);
  }
  if (ref.has_query) out.append("?").append(ref.query);
  if (ref.has_fragment) out.append("#").append(ref.fragment);
  return out;
}

std::string UrlBase::resolve_safe(std::string_view reference) const {
  reference = trim(reference);
  if (reference.empty()) return {};
  const bool feed = istarts_with(reference, "feed:");
  std::string url = feed ? without_feed_scheme(reference) : resolve(reference);
  if (feed ? !is_http_url(url) : !is_safe_url(url)) url.clear();
  return url;
}

std::string resolve_url(std::string_view base, std::string_view reference) {
  return UrlBase(std::string(base)).resolve(reference);
}

namespace {

/// The scheme that browsers see in a URL, "" if it is relative. Browsers first drop control characters and spaces. A
/// colon in the first path segment makes everything before it a scheme: RFC 3986 §4.2.
std::string seen_scheme(std::string_view url) {
  std::string scheme;
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= 0x20) continue;
    if (c == ':') return scheme.empty() ? ":" : scheme;
    if (c == '/' || c == '?' || c == '#' || c == '\\') return {};
    scheme += to_lower(c);
  }
  return {};
}

bool has_scheme_of(std::string_view url, std::span<const std::string_view> schemes) {
  if (url.starts_with("http://") || url.starts_with("https://")) return true;  // nearly all URLs
  const std::string scheme = seen_scheme(url);
  return scheme.empty() || is_one_of(scheme, schemes);
}

}  // namespace

bool is_safe_url(std::string_view url) {
  return has_scheme_of(url, link_schemes);
}

bool is_safe_file_url(std::string_view url) {
  return has_scheme_of(url, file_schemes);
}

std::string without_feed_scheme(std::string_view reference) {
  if (!istarts_with(reference, "feed:")) return std::string(reference);
  reference.remove_prefix(5);
  return (reference.starts_with("//") ? "http:" : "") + std::string(reference);
}

std::string resolve_safe_url(std::string_view base, std::string_view reference) {
  return UrlBase(std::string(base)).resolve_safe(reference);
}

bool is_http_url(std::string_view url) {
  if (istarts_with(url, "http://")) return url.size() > 7 && url[7] != '/';
  if (istarts_with(url, "https://")) return url.size() > 8 && url[8] != '/';
  return false;
}

std::string without_credentials(std::string url) {
  const UrlParts parts = split_url(url);
  const std::size_t at = parts.authority.rfind('@');
  if (!parts.has_authority || at == std::string_view::npos) return url;
  url.erase(static_cast<std::size_t>(parts.authority.data() - url.data()), at + 1);
  return url;
}

std::string canonical_url(std::string_view url) {
  std::string out;
  out.reserve(url.size());
  append_canonical_url(out, url);
  return out;
}

void append_canonical_url(std::string& out, std::string_view url) {
  const UrlParts parts = split_url(url);
  out += url.substr(0, url.find_first_of("?#"));
  char separator = '?';
  std::string_view rest = parts.query;
  while (!rest.empty()) {
    const std::string_view parameter = take_until(rest, '&');
    if (parameter.empty() || is_tracking(parameter)) continue;
    out += separator;
    out += parameter;
    separator = '&';
  }
}

namespace {

/// The host of an authority without `www.`, with its port unless that is a default port.
std::string_view host_without_www(std::string_view authority) {
  std::string_view host = authority.substr(authority.rfind('@') + 1);  // npos + 1 = 0
  if (host.size() > 4 && istarts_with(host, "www.")) host.remove_prefix(4);
  for (const std::string_view port : {":80", ":443"}) {
    if (host.ends_with(port)) host.remove_suffix(port.size());
  }
  return host;
}

std::string_view without_slashes(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

void append_with_upper_escapes(std::string& out, std::string_view text) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] != '%' || i + 2 >= text.size() || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0) continue;
    out += upper(text[i + 1]);
    out += upper(text[i + 2]);
    i += 2;
  }
}

}  // namespace

std::string link_key(std::string_view written) {
  if (!is_http_url(written)) return {};
  const std::string url = uri_of(std::string(written));
  const UrlParts whole = split_url(url);
  const std::string canonical = canonical_url(url);
  const UrlParts parts = split_url(canonical);
  std::string key = lower(host_without_www(parts.authority));
  key += without_slashes(parts.path);
  if (parts.has_query) key.append("?").append(parts.query);
  const bool parameters = whole.fragment.find('=') != std::string_view::npos;
  if (!whole.fragment.empty() && !parameters) key.append("#").append(whole.fragment);
  return key;
}

void append_url_alias(std::string& out, std::string_view url) {
  if (!is_http_url(url)) return;
  const UrlParts parts = split_url(url);
  for (const char c : host_without_www(parts.authority)) out += to_lower(c);
  append_with_upper_escapes(out, without_slashes(parts.path));
  for (auto [rest, separator] : {std::pair(parts.query, '?'), std::pair(parts.fragment, '#')}) {
    while (!rest.empty()) {
      const std::string_view parameter = take_until(rest, '&');
      if (parameter.empty() || is_tracking(parameter)) continue;
      out += separator;
      append_with_upper_escapes(out, parameter);
      separator = '&';
    }
  }
}

bool is_transient_parameter(std::string_view parameter) {
  return is_tracking(parameter) || is_transient(parameter);
}

bool is_idle_parameter(std::string_view parameter) {
  return is_tracking(parameter) || is_any_case_of(parameter.substr(0, parameter.find('=')), random_parameters);
}

void append_steady_url(std::string& out, std::string_view url) {
  append_url_without(out, url, is_transient_parameter);
}

void append_lasting_url(std::string& out, std::string_view url) {
  append_url_without(out, url, is_idle_parameter);
}

}  // namespace feedmill
