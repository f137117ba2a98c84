// HTML pages, built so that no value can become markup (SECURITY O4).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace feedmill {

/// Untrusted text for an element or a quoted attribute: without secrets (SECURITY K1), `& < > " '` and backtick as
/// references, control characters and invalid UTF-8 as U+FFFD, without bidirectional and invisible characters. Keeps
/// white space.
std::string html_text(std::string_view text);

/// Trusted markup with a "{}" for each value. Accepts string literals only; everything else must be a value.
template <class... Values>
class Markup {
 public:
  consteval Markup(const char* text) : text_(text) {  // NOLINT: a literal is one
    std::size_t places = 0;
    for (std::size_t at = text_.find("{}"); at != std::string_view::npos; at = text_.find("{}", at + 2)) ++places;
    if (places != sizeof...(Values)) throw "as many {} as values";
  }
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

/// A piece of a page.
class Html {
 public:
  Html() = default;
  /// Appends markup with each "{}" replaced: text is escaped, integers are grouped by thousands, Html is inserted as
  /// is.
  template <class... Values>
  Html& add(Markup<std::type_identity_t<Values>...> markup, const Values&... values) {
    std::string_view rest = markup.text();
    (put_next(rest, values), ...);
    out_ += rest;
    return *this;
  }
  bool empty() const { return out_.empty(); }
  /// The markup, for the response body.
  const std::string& text() const { return out_; }

 private:
  template <class Value>
  void put_next(std::string_view& rest, const Value& value) {
    const auto place = rest.find("{}");
    out_ += rest.substr(0, place);
    rest.remove_prefix(place + 2);
    if constexpr (std::same_as<Value, Html>)
      out_ += value.out_;
    else if constexpr (std::integral<Value>)
      put_number(static_cast<std::int64_t>(value));
    else
      out_ += html_text(value);
  }
  void put_number(std::int64_t number);

  std::string out_;
};

/// A value alone.
template <class Value>
Html html_of(const Value& value) {
  Html html;
  return std::move(html.add("{}", value));
}

}  // namespace feedmill
