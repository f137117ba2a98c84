// The sanitiser's tables: the elements, attributes and CSS properties that each policy keeps (SECURITY S1, S4, S14).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/text/url.hpp"

namespace feedmill {

/// How much of an entry's markup is kept (SECURITY §4). `strict`: by rules SECURITY S1, S4, S5, S7, S8, S10, S13.
/// `classic`: by feedparser's lists, for comparison only, never stored. `raw`: everything.
enum class HtmlPolicy { strict, classic, raw };

/// One row of the element table.
struct HtmlElement {
  enum Flag : std::uint16_t {
    strict = 1,         ///< kept by policy strict (SECURITY S1)
    classic = 2,        ///< kept by policy classic
    empty = 4,          ///< void: has no content and no end tag
    drop = 8,           ///< strict drops the element with its content (SECURITY S1)
    drop_classic = 16,  ///< classic drops the element with its content
    raw_text = 32,      ///< its content is not markup (HTML §13.1.2)
    embeds = 64,        ///< replaced by a link to the resource it embeds (SECURITY S1)
    block = 128,        ///< starts on a new line; ends an open <p>
    cell = 256,         ///< end tags for elements outside the cell do not close it
    item = 512,         ///< closed by the next element of its kind: li, dt, dd, tr, td, th, thead, tbody, tfoot
    text_only = 1024    ///< classic: browsers treat the content as text, or it cannot be trusted to be markup
  };
  std::string_view name;
  std::uint16_t flags = 0;
  std::string_view attributes;  ///< allowed by strict in addition to title, lang and dir; separated by spaces

  bool is(Flag flag) const { return (flags & flag) != 0; }
};

/// The row of an element, ignoring case; nullptr if neither policy knows it (then its tags are dropped, its text is
/// kept).
const HtmlElement* find_html_element(std::string_view name);
/// Index of the element in the table, for counters.
std::size_t html_element_index(const HtmlElement& element);
inline constexpr std::size_t max_html_elements = 192;

/// Whether policy classic keeps the attribute, on any element; `name` is in lower case.
bool is_classic_attribute(std::string_view name);
/// Whether `name` is a member of DOM nodes that scripts use to walk or change a page; case-sensitive.
bool is_dom_member(std::string_view name);
/// Whether policy classic keeps the CSS property; `name` is in lower case.
bool is_classic_css_property(std::string_view name);
/// Whether classic allows the keyword in a shorthand property (background, border, margin, padding).
bool is_classic_css_keyword(std::string_view value);

// Checks the values of attributes that the policy allows by name (SECURITY S4, S5, S14).

/// Resolves a URL from markup and checks it (SECURITY S5); "" if it must be dropped. `link`: the URL is an <a> href,
/// which also allows mailto: and tel:.
std::string clean_html_url(HtmlPolicy policy, std::string_view raw, const UrlBase& base, bool link);

/// Sanitises an attribute's decoded `value` in place; false if the attribute must be dropped. An attribute without a
/// value (`has_value` false) gets the policy's replacement.
bool clean_html_attribute(HtmlPolicy policy, const HtmlElement& element, std::string_view name, std::string& value,
                          bool has_value, const UrlBase& base);

}  // namespace feedmill
