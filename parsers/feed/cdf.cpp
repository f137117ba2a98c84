// Channel Definition Format (Microsoft, 1997), Internet Explorer 4's subscription format. It uses attributes where
// other formats use elements.
#include "parsers/feed/fields.hpp"
#include "parsers/feed/formats.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

bool read_logo(const Reading& in) {
  std::string url = in.url("href");
  return url.empty() || set_image(in, std::move(url));
}

bool read_anchor(const Reading& in) {
  add_page(in, 1);
  return true;
}

constexpr ElementRow cdf_elements[] = {
    {Ns::core, "title", read_title}, {Ns::core, "abstract", read_summary}, {Ns::core, "a", read_anchor},
    {Ns::core, "logo", read_logo},   {Ns::core, "usage", read_nothing},    {Ns::core, "schedule", read_nothing},
};

const ElementTable& cdf_table() {
  static const ElementTable table{{cdf_elements}, {module_rows}};
  return table;
}

void read_attributes(XmlDocument& xml, pugi::xml_node node, Target& target) {
  add_page({xml, target, node, xml.name(node), 0}, 0);
  if (std::string modified = xml.attribute(node, "lastmod"); !modified.empty()) {
    target.common.updated = read_date(std::move(modified));
  }
}

}  // namespace

void parse_cdf(XmlDocument& xml, Feed& feed, XmlItems&) {
  const pugi::xml_node root = xml.root();
  const XmlDocument::Scope scope(xml, root);
  xml.set_core(Ns::core);
  Target target(feed);
  read_attributes(xml, root, target);
  for (const pugi::xml_node node : ChildElements(root)) {
    if (xml.allowance().spent()) return;
    const XmlDocument::Scope inner(xml, node);
    const XmlName name = xml.name(node);
    if (iequals(name.local, "item")) {
      Entry* const made = new_entry(feed, xml.allowance());
      if (made == nullptr) return;
      Target entry(*made);
      read_attributes(xml, node, entry);
      read_children(xml, node, entry, cdf_table());
      continue;
    }
    const ElementTable::Match match = cdf_table().find(name.ns, name.local);
    read_element(match, {xml, target, node, name, match.rank});
  }
}

}  // namespace feedmill
