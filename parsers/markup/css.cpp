// Policy classic's `style` attributes: feedparser's lists, without its regular expressions.
#include <string>
#include <string_view>

#include "parsers/markup/html_policy.hpp"
#include "parsers/markup/sanitise.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

bool is_word(char c) {
  return is_alnum(c) || c == '_' || !is_ascii(c);
}

// `url(...)` becomes a space.
std::string without_urls(std::string_view style) {
  std::string out;
  std::size_t at = 0;
  const std::size_t closed = style.rfind(')') + 1;  // after the last ")": avoids repeated failing searches; 0: there is
                                                    // none
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

// The end of a group that opens at `at` and holds only `allowed` characters; npos if it is not such a group.
template <class Allowed>
std::size_t group_end(std::string_view style, std::size_t at, char close, Allowed allowed) {
  std::size_t end = at + 1;
  while (end < style.size() && style[end] != close && allowed(style[end])) ++end;
  return end < style.size() && style[end] == close && end > at + 1 ? end : std::string_view::npos;
}

// Whether it has only plain characters, hyphenated words, quoted words and numbers in parentheses.
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

// Whether it is #hex, rgb(…), or a number of at most two digits before and after the point, with a unit.
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
  return std::find(std::begin(units), std::end(units), unit) != std::end(units);
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
