// The tables behind the sanitiser: which elements, attributes and CSS properties each policy keeps (SECURITY S1–S5,
// S14).
#pragma once

#include <cstdint>
#include <string_view>

namespace feedmill {

/// What of an entry's markup survives (SECURITY §4): `strict` the rules SECURITY S1–S13, `classic` feedparser's lists
/// (for comparison with it: nothing is stored so), `raw` everything.
enum class HtmlPolicy { strict, classic, raw };

/// What an HTML element is to us.
struct HtmlElement {
  enum Flag : std::uint16_t {
    strict = 1,         ///< kept by policy strict (SECURITY S1)
    classic = 2,        ///< kept by policy classic
    empty = 4,          ///< void: has no content and no end tag
    drop = 8,           ///< strict drops it with its content (SECURITY S2)
    drop_classic = 16,  ///< classic does
    raw_text = 32,      ///< its content is no markup (HTML §13.1.2)
    embeds = 64,        ///< leaves a link to what it embeds (SECURITY S2)
    block = 128,        ///< starts on a new line; ends an open <p>
    cell = 256,         ///< a boundary that end tags of what is outside do not cross
    item = 512,         ///< ended by a sibling of its kind: li, dt, dd, tr, td, th, thead, tbody, tfoot
    text_only = 1024    ///< classic: to browsers its content is text, or cannot be trusted to be markup
  };
  std::string_view name;
  std::uint16_t flags = 0;
  std::string_view attributes;  ///< strict's own ones besides title, lang and dir, separated by spaces

  bool is(Flag flag) const { return (flags & flag) != 0; }
};

/// Case is ignored; nullptr for elements of no policy (their tags go, their text stays).
const HtmlElement* find_html_element(std::string_view name);
/// Its index in the table, for counters.
std::size_t html_element_index(const HtmlElement& element);
inline constexpr std::size_t max_html_elements = 192;

/// Policy classic's attributes, the same for all elements; `name` in lower case.
bool is_classic_attribute(std::string_view name);
/// Whether DOM nodes have a member of that name that scripts which walk or change a page rely on; case counts.
bool is_dom_member(std::string_view name);
bool is_classic_css_property(std::string_view name);
/// Values that shorthand properties (background, border, margin, padding) may have.
bool is_classic_css_keyword(std::string_view value);

}  // namespace feedmill
