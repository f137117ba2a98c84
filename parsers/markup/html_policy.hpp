// The table behind the sanitiser: which elements and attributes policy strict keeps (SECURITY S1–S4).
#pragma once

#include <cstdint>
#include <string_view>

namespace feedmill {

/// How much of an entry's markup survives (SECURITY §4): with `strict` what S1–S12 allow, with `raw` all of it.
enum class HtmlPolicy { strict, raw };

/// What an HTML element is to us.
struct HtmlElement {
  enum Flag : std::uint16_t {
    strict = 1,      ///< kept by policy strict (SECURITY S1)
    recognised = 2,  ///< not kept, but its tag marks a text as HTML (looks_like_html)
    empty = 4,       ///< void: has no content and no end tag
    drop = 8,        ///< dropped with its content (SECURITY S2)
    raw_text = 16,   ///< its content is no markup (HTML §13.1.2)
    embeds = 32,     ///< leaves a link to what it embeds (SECURITY S2)
    block = 64,      ///< starts on a new line; ends an open <p>
    cell = 128,      ///< a boundary that end tags of what is outside do not cross
    item = 256       ///< ended by a sibling of its kind: li, dt, dd, tr, td, th, thead, tbody, tfoot
  };
  std::string_view name;
  std::uint16_t flags = 0;
  std::string_view attributes;  ///< its own besides title, lang and dir, separated by spaces

  bool is(Flag flag) const { return (flags & flag) != 0; }
};

/// Case is ignored; nullptr for unknown elements (their tags go, their text stays).
const HtmlElement* find_html_element(std::string_view name);
/// Its index in the table, for counters.
std::size_t html_element_index(const HtmlElement& element);
inline constexpr std::size_t max_html_elements = 192;

}  // namespace feedmill
