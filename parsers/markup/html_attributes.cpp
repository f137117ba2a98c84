#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/markup/html_policy.hpp"
#include "parsers/markup/sanitise.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

constexpr std::string_view strict_urls[] = {"cite", "href", "poster", "src"};
constexpr std::string_view classic_urls[] = {"action",     "background", "cite",   "data",     "dynsrc",
                                             "formaction", "href",       "icon",   "longdesc", "lowsrc",
                                             "poster",     "src",        "usemap", "vrml",     "ping"};
constexpr std::string_view free_texts[] = {"alt", "title", "value"};
// Form elements that a form exposes by name as its members.
constexpr std::string_view form_members[] = {"button", "fieldset", "form",   "img",    "input",
                                             "keygen", "object",   "output", "select", "textarea"};

// Percent-encodes everything after the non-ASCII host of `url`. The host stays, because browsers encode it themselves.
std::string with_uri_path(const std::string& url) {
  const std::string_view authority = split_url(url).authority;
  const auto end = static_cast<std::size_t>(authority.data() - url.data()) + authority.size();
  constexpr std::string_view stand_in = "http://h";
  return url.substr(0, end) + uri_of(std::string(stand_in) + url.substr(end)).substr(stand_in.size());
}

// Whether every browser accepts a host and port: no code point that the URL standard forbids in hosts, no escapes, IP
// addresses written in full. Letters beyond ASCII are allowed, because browsers encode them.
bool is_plain_authority(std::string_view authority) {
  const std::size_t colon = authority.ends_with(']') ? npos : authority.rfind(':');
  const std::string_view port = colon == npos ? std::string_view{} : authority.substr(colon + 1);
  const std::string_view host = authority.substr(0, colon);
  std::uint16_t number = 0;
  if (!port.empty() && !read_number(port, number)) return false;
  if (has_format_control(host)) return false;
  if (host.starts_with('[')) return host.ends_with(']') && is_ipv6(host.substr(1, host.size() - 2));
  constexpr std::string_view forbidden = "#%/:<>?@[\\]^|\x7f";
  for (const char c : host) {
    if (static_cast<unsigned char>(c) <= 0x20 || forbidden.find(c) != npos) return false;
  }
  const std::string_view name = host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (last.empty()) return false;
  const bool numeric = std::all_of(last.begin(), last.end(), is_digit) || istarts_with(last, "0x");
  return !numeric || is_ipv4(name);
}

constexpr std::size_t max_srcset = std::size_t{8} << 10;  // SECURITY §3: bytes of an attribute value

// Cleans a `srcset` of candidates "URL descriptor": checks each URL, drops bad candidates.
std::string clean_srcset(std::string_view value, const UrlBase& base) {
  std::string out;
  while (!value.empty()) {
    while (!value.empty() && (is_space(value.front()) || value.front() == ',')) value.remove_prefix(1);
    std::string_view url = take_word(value);
    bool ended = false;
    while (!url.empty() && url.back() == ',') {
      url.remove_suffix(1);
      ended = true;
    }
    const std::string_view descriptor = ended ? std::string_view{} : trim(take_until(value, ','));
    const std::string clean = url.empty() ? std::string{} : clean_html_url(HtmlPolicy::strict, url, base, false);
    if (clean.empty() || clean.find(',') != std::string::npos) continue;
    if (!std::all_of(descriptor.begin(), descriptor.end(), [](char c) { return is_alnum(c) || c == '.'; })) continue;
    // With a long base, each candidate becomes far longer than its source.
    if (out.size() + clean.size() + descriptor.size() > max_srcset) break;
    if (!out.empty()) out += ", ";
    out += clean;
    if (!descriptor.empty()) out.append(" ").append(descriptor);
  }
  return out;
}

// Whether a value begins like a URL with a scheme, which numbers, keywords, languages and media queries never do. Such
// values are dropped, so that nothing we write can be read as a URL.
bool begins_with_scheme(std::string_view value) {
  bool letters = false;
  for (const char c : value) {
    if (c == ':') return letters;
    if (static_cast<unsigned char>(c) <= 0x20 || !is_ascii(c)) continue;
    if (!is_alpha(c) && c != '+' && c != '-' && c != '.') return false;
    letters = true;
  }
  return false;
}

}  // namespace

std::string clean_html_url(HtmlPolicy policy, std::string_view raw, const UrlBase& base, bool link) {
  while (!raw.empty() && static_cast<unsigned char>(raw.front()) <= 0x20) raw.remove_prefix(1);
  while (!raw.empty() && static_cast<unsigned char>(raw.back()) <= 0x20) raw.remove_suffix(1);
  std::string url = base.resolve(raw);  // drops tabs and line ends inside
  if (policy == HtmlPolicy::classic) {
    if (!is_safe_url(url)) url.clear();
    return url;
  }
  const std::string scheme = lower(url_scheme(url));
  if (link && (scheme == "mailto" || scheme == "tel")) return uri_of(std::move(url));
  if ((scheme != "http" && scheme != "https") || !is_http_url(url)) return {};
  // Browsers treat a backslash as a slash and would see another host than we do.
  if (split_url(url).authority.find('\\') != npos) return {};
  url = without_credentials(std::move(url));
  const std::string_view authority = split_url(url).authority;
  if (!is_plain_authority(authority)) return {};
  if (!std::ranges::all_of(authority, [](char c) { return is_ascii(c); })) return with_uri_path(url);
  return uri_of(std::move(url));
}

bool clean_html_attribute(HtmlPolicy policy, const HtmlElement& element, std::string_view name, std::string& value,
                          bool has_value, const UrlBase& base) {
  const bool classic = policy == HtmlPolicy::classic;
  if (classic && name == "style") {
    value = sanitise_style(value);
    return !value.empty();
  }
  if (classic ? is_one_of(name, classic_urls) : is_one_of(name, strict_urls)) {
    if (trim(value).empty() && classic) return true;
    value = clean_html_url(policy, value, base, name == "href");
    return !value.empty() || (classic && name == "href");
  }
  if (name == "srcset") {
    value = clean_srcset(value, base);
    return !value.empty();
  }
  if (!has_value) value = classic ? name : "";
  if (!classic && name == "lang") {
    value = language_tag(std::move(value));
    return !value.empty();
  }
  if (!classic && name == "type" && element.name == "source") {
    value = media_type(value);
    return !value.empty();
  }
  if (!classic) return is_one_of(name, free_texts) || !begins_with_scheme(value);
  // Otherwise a script that walks the page would get the control instead of the form's own member.
  return (name != "id" && name != "name") || !is_one_of(element.name, form_members) || !is_dom_member(value);
}

// The `style` attributes of policy classic: feedparser's lists, without its regular expressions.

namespace {

bool is_word(char c) {
  return is_alnum(c) || c == '_' || !is_ascii(c);
}

// Replaces `url(...)` by a space.
std::string without_urls(std::string_view style) {
  std::string out;
  std::size_t at = 0;
  const std::size_t closed = style.rfind(')') + 1;  // after the last ")", or 0: avoids repeated failing searches
  while (at < style.size()) {
    if (istarts_with(style.substr(at), "url")) {
      std::size_t open = at + 3;
      while (open < style.size() && is_space(style[open])) ++open;
      const std::size_t close = open < closed && style[open] == '(' ? style.find(')', open) : std::string_view::npos;
      if (close != std::string_view::npos) {
        out += ' ';
        at = close + 1;
        while (at < style.size() && is_space(style[at])) ++at;
        continue;
      }
    }
    out += style[at++];
  }
  return out;
}

// The end of a non-empty group that begins at `at`, ends with `close` and holds only `allowed` characters; npos if
// there is no such group.
template <class Allowed>
std::size_t group_end(std::string_view style, std::size_t at, char close, Allowed allowed) {
  std::size_t end = at + 1;
  while (end < style.size() && style[end] != close && allowed(style[end])) ++end;
  return end < style.size() && style[end] == close && end > at + 1 ? end : std::string_view::npos;
}

// Whether a style has only plain characters, hyphenated words, quoted words and numbers in parentheses.
bool is_harmless(std::string_view style) {
  for (std::size_t at = 0; at < style.size(); ++at) {
    const char c = style[at];
    if (is_alnum(c) || is_space(c) || std::string_view(":,;#%.!").find(c) != std::string_view::npos) continue;
    if (c == '-' && at > 0 && is_word(style[at - 1]) && at + 1 < style.size() && is_word(style[at + 1])) continue;
    if (is_word(c) && at + 1 < style.size() && style[at + 1] == '-') continue;
    if (c == '\'' || c == '"') {
      at = group_end(style, at, c, [](char x) { return is_word(x) || is_space(x); });
    } else if (c == '(') {
      at = group_end(style, at, ')', [](char x) { return is_digit(x) || x == ',' || is_space(x); });
    } else {
      return false;
    }
    if (at == std::string_view::npos) return false;
  }
  return true;
}

// Whether a value is #hex, rgb(…), or a number of at most two digits before and after the point, with or without a
// unit.
bool is_size_or_colour(std::string_view value) {
  if (value.starts_with('#')) {
    return value.size() > 1 &&
           std::all_of(value.begin() + 1, value.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
  }
  if (value.starts_with("rgb(")) {
    return value.size() > 4 && std::all_of(value.begin() + 4, value.end(),
                                           [](char c) { return is_digit(c) || c == '%' || c == ',' || c == ')'; });
  }
  std::size_t at = 0;
  while (at < value.size() && at < 2 && is_digit(value[at])) ++at;
  if (at < value.size() && value[at] == '.') ++at;
  for (int digits = 0; at < value.size() && digits < 2 && is_digit(value[at]); ++digits) ++at;
  const std::string_view unit = value.substr(at);
  constexpr std::string_view units[] = {"", "cm", "em", "ex", "in", "mm", "pc", "pt", "px", "%", ",", ")"};
  return is_one_of(unit, units);
}

bool is_known_shorthand(std::string_view property, std::string_view value) {
  const std::string family = lower(property.substr(0, property.find('-')));
  if (family != "background" && family != "border" && family != "margin" && family != "padding") return false;
  for (std::string_view word = take_word(value); !word.empty(); word = take_word(value)) {
    if (!is_classic_css_keyword(word) && !is_size_or_colour(word)) return false;
  }
  return true;
}

}  // namespace

std::string sanitise_style(std::string_view raw) {
  const std::string style = without_urls(raw);
  if (!is_harmless(style)) return {};
  std::string out;
  std::string_view rest = style;
  while (!trim(rest).empty()) {
    std::string_view declaration = take_until(rest, ';');
    if (trim(declaration).empty()) return {};
    const std::size_t colon = declaration.find(':');
    if (colon == std::string_view::npos) return {};
    const std::string_view property = trim(declaration.substr(0, colon));
    std::string_view value = declaration.substr(colon + 1);
    while (!value.empty() && is_space(value.front())) value.remove_prefix(1);
    if (property.empty() || value.find(':') != std::string_view::npos) return {};
    if (!std::all_of(property.begin(), property.end(), [](char c) { return is_word(c) || c == '-'; })) return {};
    if (value.empty()) continue;
    if (!is_classic_css_property(lower(property)) && !is_known_shorthand(property, value)) continue;
    if (!out.empty()) out += ' ';
    out.append(property).append(": ").append(value).append(";");
  }
  return out;
}

}  // namespace feedmill
