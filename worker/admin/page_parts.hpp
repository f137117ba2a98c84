// The parts of all pages: frame, times, links, small charts.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

// Builds HTML pages such that no value can become markup (SECURITY O4).

/// Converts untrusted text for use in an element or a quoted attribute. Removes secrets (SECURITY K1), bidirectional
/// controls and invisible characters; writes `& < > " '` and backtick as references, control characters and invalid
/// UTF-8 as U+FFFD. Keeps white space.
std::string html_text(std::string_view text);

/// Trusted markup with a "{}" for each value. Can only be made from string literals; everything else must be a value.
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
  /// Like add().
  template <class... Values>
  explicit Html(Markup<std::type_identity_t<Values>...> markup, const Values&... values) {
    add(markup, values...);
  }
  /// Appends markup with each "{}" replaced by the next value: text is escaped, integers are grouped by thousands, Html
  /// is inserted unchanged.
  template <class... Values>
  Html& add(Markup<std::type_identity_t<Values>...> markup, const Values&... values) {
    std::string_view rest = markup.text();
    (put_next(rest, values), ...);
    out_ += rest;
    return *this;
  }
  bool empty() const { return out_.empty(); }
  /// The markup, for the body of the response.
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

/// The navigation and the frame of a page.
struct PageFrame {
  std::string title;     ///< title of the window
  std::string path;      ///< entry of this page in the navigation, as "/status"
  std::string prefix{};  ///< prefix of our paths: "/p3" for partition 3; "" with one store and for all partitions
  std::uint32_t partition = 0;  ///< number of the partition, if there is a prefix
  std::uint32_t partitions = 1;
  bool of_all = false;  ///< the page is about all partitions, and has no prefix
  std::string host;     ///< machine of the worker that answers
  std::string version;
  std::string configuration;
  Milliseconds at{};      ///< when the figures were taken
  std::string json_path;  ///< path of the JSON version, "" = none
  /// Whether the page reloads after every refresh_every. A reload takes the keyboard focus away, so it happens only on
  /// request (WCAG 2.2.1), and the link that ends it is the first one.
  enum class Refresh { never, offered, on } refresh = Refresh::never;
};

inline constexpr std::chrono::seconds refresh_every{15};
inline constexpr std::string_view refresh_parameter = "refresh";  ///< in the query of a page that reloads

/// A complete page; `main` is its main part.
std::string whole_page(const PageFrame& frame, const Html& main);

/// As "3 min ago", with the exact time in datetime and title; "never" for 0.
Html time_ago(Milliseconds time, Milliseconds now);

/// The name of a state in the colour of the state.
Html state_word(std::string_view state);

/// A state and a short explanation of it (HTTP §4).
struct StateText {
  std::string_view name, meaning;
};
/// All states in display order.
std::span<const StateText> all_states();
/// The explanation of a state; "" if it is unknown.
std::string_view state_meaning(std::string_view state);

/// A link to a feed's page; only the text if the URL contains a secret, which a link would reveal (SECURITY K1).
Html feed_link(std::string_view feed_url, std::string_view text);

/// A link to the list of a host's feeds.
Html host_link(std::string_view host);

/// An external link; only the text unless the URL is http or https without secrets.
Html outside_link(std::string_view url, std::string_view text);

/// A bar chart; `label` describes it in words.
Html bars(std::span<const double> values, std::string_view label);
/// A horizontal bar for `share` (0 to 1). Decorative: the number is next to it.
Html bar(double share);

/// A section of a page; `id` must be unique in the page.
Html section(std::string_view id, std::string_view heading, const Html& content);
/// A list of facts. Add each with add_fact(), which skips empty values.
Html facts_list(const Html& facts);
void add_fact(Html& html, std::string_view name, std::string_view value);
/// A value with a remark in small print below it.
template <class Value>
Html with_remark(const Value& value, std::string_view remark) {
  return Html("{} <span class=\"sub\">{}</span>", value, remark);
}
/// A figure of the list at the top of an overview; `below` explains it.
void add_tile(Html& html, std::string_view name, const auto& figure, std::string_view below) {
  html.add("<div><dt>{}</dt><dd class=\"figure\">{}</dd><dd class=\"sub\">{}</dd></div>\n", name, figure, below);
}
/// A paragraph that says why a section has no rows.
Html nothing(std::string_view text);

/// A list that has at least three rows more than this shows this many and folds the others.
inline constexpr std::size_t rows_at_once = 5;

/// A list of items with several lines each; shows at least `at_once` items and folds the others.
Html items_list(const std::vector<Html>& items, std::size_t at_once = rows_at_once);

/// A table; the first cell of each row is the row's header.
class Table {
 public:
  struct Column {
    std::string_view name;
    std::string_view look{};  ///< class of the column's cells: "number", "words", "narrow"
  };
  explicit Table(std::vector<Column> columns, std::string_view caption = {})
      : columns_(std::move(columns)), caption_(caption) {}

  /// Adds a row with a value for each column: text, integer or Html.
  template <class... Cells>
  void row(const Cells&... cells) {
    rows_.push_back({Html("{}", cells)...});
  }
  std::size_t rows() const { return rows_.size(); }
  Html html() const { return part(0, rows_.size()); }
  /// Like html(), but only the first rows of a long table are visible.
  Html folded() const;

 private:
  Html part(std::size_t first, std::size_t end) const;

  std::vector<Column> columns_;
  std::string caption_;
  std::vector<std::vector<Html>> rows_;
};

/// The stylesheet of all pages, served at style_path.
std::string_view stylesheet();
inline constexpr std::string_view style_path = "/status/style.css";

}  // namespace feedmill
