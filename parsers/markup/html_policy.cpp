#include "parsers/markup/html_policy.hpp"

#include <array>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

using E = HtmlElement;
constexpr std::uint16_t operator|(E::Flag a, E::Flag b) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr std::uint16_t operator|(std::uint16_t a, E::Flag b) {
  return static_cast<std::uint16_t>(a | static_cast<unsigned>(b));
}

// Sorted by name.
constexpr HtmlElement html_elements[] = {
    {"a", E::strict, "href"},
    {"abbr", E::strict, ""},
    {"acronym", E::strict, ""},
    {"address", E::strict | E::block, ""},
    {"applet", E::drop, ""},
    {"area", E::recognised | E::empty, ""},
    {"article", E::strict | E::block, ""},
    {"aside", E::strict | E::block, ""},
    {"audio", E::strict, "src controls"},
    {"b", E::strict, ""},
    {"base", E::empty, ""},
    {"basefont", E::empty, ""},
    {"bdi", E::strict, ""},
    {"bdo", E::strict, ""},
    {"big", E::strict, ""},
    {"blink", 0, ""},
    {"blockquote", E::strict | E::block, "cite"},
    {"body", E::block, ""},
    {"br", E::strict | E::empty, ""},
    {"button", E::recognised, ""},
    {"canvas", E::recognised, ""},
    {"caption", E::strict | E::block | E::cell, ""},
    {"center", E::strict | E::block, ""},
    {"cite", E::strict, ""},
    {"code", E::strict, ""},
    {"col", E::strict | E::empty, "span"},
    {"colgroup", E::strict, "span"},
    {"command", E::recognised | E::empty, ""},
    {"data", E::strict, "value"},
    {"datagrid", E::recognised, ""},
    {"datalist", E::recognised, ""},
    {"dd", E::strict | E::block | E::item, ""},
    {"del", E::strict, "cite datetime"},
    {"details", E::strict | E::block, "open"},
    {"dfn", E::strict, ""},
    {"dialog", E::recognised | E::block, ""},
    {"dir", E::recognised | E::block, ""},
    {"div", E::strict | E::block, ""},
    {"dl", E::strict | E::block, ""},
    {"dt", E::strict | E::block | E::item, ""},
    {"em", E::strict, ""},
    {"embed", E::empty | E::drop | E::embeds, ""},
    {"event-source", E::recognised, ""},
    {"fieldset", E::recognised | E::block, ""},
    {"figcaption", E::strict | E::block, ""},
    {"figure", E::strict | E::block, ""},
    {"font", E::strict, ""},
    {"footer", E::strict | E::block, ""},
    {"form", E::recognised | E::block, ""},
    {"frame", E::empty, ""},
    {"frameset", E::drop, ""},
    {"h1", E::strict | E::block, ""},
    {"h2", E::strict | E::block, ""},
    {"h3", E::strict | E::block, ""},
    {"h4", E::strict | E::block, ""},
    {"h5", E::strict | E::block, ""},
    {"h6", E::strict | E::block, ""},
    {"head", E::drop, ""},
    {"header", E::strict | E::block, ""},
    {"hgroup", E::strict | E::block, ""},
    {"hr", E::strict | E::empty | E::block, ""},
    {"html", E::block, ""},
    {"i", E::strict, ""},
    {"iframe", E::drop | E::raw_text | E::embeds, ""},
    {"img", E::strict | E::empty, "src srcset sizes alt width height"},
    {"input", E::recognised | E::empty, ""},
    {"ins", E::strict, "cite datetime"},
    {"kbd", E::strict, ""},
    {"keygen", E::recognised | E::empty, ""},
    {"label", E::recognised, ""},
    {"legend", E::recognised, ""},
    {"li", E::strict | E::block | E::item, "value"},
    {"link", E::empty, ""},
    {"m", E::recognised, ""},
    {"main", E::strict | E::block, ""},
    {"map", E::recognised, ""},
    {"mark", E::strict, ""},
    {"marquee", 0, ""},
    {"math", E::drop, ""},
    {"menu", E::strict | E::block, ""},
    {"meta", E::empty, ""},
    {"meter", E::recognised, ""},
    {"multicol", E::recognised, ""},
    {"nav", E::strict | E::block, ""},
    {"nextid", E::recognised, ""},
    {"nobr", 0, ""},
    {"noembed", E::drop | E::raw_text, ""},
    {"noframes", E::drop | E::raw_text, ""},
    {"noscript", E::recognised, ""},
    {"object", E::drop | E::embeds, ""},
    {"ol", E::strict | E::block, "start type reversed"},
    {"optgroup", E::recognised, ""},
    {"option", E::recognised, ""},
    {"output", E::recognised, ""},
    {"p", E::strict | E::block, ""},
    {"param", E::empty, ""},
    {"picture", E::strict, ""},
    {"plaintext", E::drop | E::raw_text, ""},
    {"pre", E::strict | E::block, ""},
    {"progress", E::recognised, ""},
    {"q", E::strict, "cite"},
    {"rp", E::strict, ""},
    {"rt", E::strict, ""},
    {"ruby", E::strict, ""},
    {"s", E::strict, ""},
    {"samp", E::strict, ""},
    {"script", E::drop | E::raw_text, ""},
    {"section", E::strict | E::block, ""},
    {"select", E::recognised | E::drop, ""},
    {"small", E::strict, ""},
    {"sound", E::recognised, ""},
    {"source", E::strict | E::empty, "src srcset sizes type media"},
    {"spacer", E::recognised, ""},
    {"span", E::strict, ""},
    {"strike", E::strict, ""},
    {"strong", E::strict, ""},
    {"style", E::drop | E::raw_text, ""},
    {"sub", E::strict, ""},
    {"summary", E::strict | E::block, ""},
    {"sup", E::strict, ""},
    {"svg", E::drop, ""},
    {"table", E::strict | E::block | E::cell, ""},
    {"tbody", E::strict | E::block | E::item, ""},
    {"td", E::strict | E::block | E::cell | E::item, "colspan rowspan"},
    {"template", E::drop, ""},
    {"textarea", E::recognised | E::drop | E::raw_text, ""},
    {"tfoot", E::strict | E::block | E::item, ""},
    {"th", E::strict | E::block | E::cell | E::item, "colspan rowspan scope"},
    {"thead", E::strict | E::block | E::item, ""},
    {"time", E::strict, "datetime"},
    {"title", E::drop | E::raw_text, ""},
    {"tr", E::strict | E::block | E::item, ""},
    {"track", E::empty, ""},
    {"tt", E::strict, ""},
    {"u", E::strict, ""},
    {"ul", E::strict | E::block, ""},
    {"var", E::strict, ""},
    {"video", E::strict, "src poster controls width height"},
    {"wbr", E::strict | E::empty, ""},
    {"xmp", E::drop | E::raw_text, ""},
};
static_assert(std::size(html_elements) <= max_html_elements);

// Where the elements of each first letter begin.
constexpr std::array<std::uint8_t, 27> first_element_of_letter = [] {
  std::array<std::uint8_t, 27> result{};
  for (std::size_t letter = 0; letter < 27; ++letter) {
    std::size_t index = 0;
    while (index < std::size(html_elements) && static_cast<std::size_t>(html_elements[index].name[0] - 'a') < letter)
      ++index;
    result[letter] = static_cast<std::uint8_t>(index);
  }
  return result;
}();

}  // namespace

const HtmlElement* find_html_element(std::string_view name) {
  if (name.empty() || !is_alpha(name[0])) return nullptr;
  const auto letter = static_cast<std::size_t>(to_lower(name[0]) - 'a');
  for (std::size_t i = first_element_of_letter[letter]; i < first_element_of_letter[letter + 1]; ++i) {
    if (iequals(html_elements[i].name, name)) return &html_elements[i];
  }
  return nullptr;
}

std::size_t html_element_index(const HtmlElement& element) {
  return static_cast<std::size_t>(&element - std::begin(html_elements));
}

}  // namespace feedmill
