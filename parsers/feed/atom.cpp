// Atom 1.0 (RFC 4287) and its predecessors 0.1 … 0.3: vocabulary and layout.
#include "parsers/feed/fields.hpp"
#include "parsers/feed/formats.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

// RFC 4287 §4.2.7
bool read_atom_link(const Reading& in) {
  if (in.target.common.links.size() >= max_links) return true;  // checked before resolving any link
  std::string href = in.url("href");
  if (href.empty() && in.xml.has_attribute(in.node, "href") && in.attribute("href").empty()) {
    href = in.xml.effective_base().url();  // RFC 3986 §4.4; an unsafe address does not count
  }
  if (href.empty()) href = in.url();  // RSS's form, found in other formats too
  add_link(in, link_of(in, std::move(href)));
  return true;
}

// RFC 4287 §4.1.3: text, markup, or another media type; with `src` the content is stored elsewhere.
bool read_content(const Reading& in) {
  if (in.target.entry == nullptr) return false;
  Text text = read_text(in, TextKind::plain);
  Content content{std::move(text.value), text.type, std::move(text.base), std::move(text.language), in.url("src"), {}};
  if (!content.src.empty() && content.value.empty()) content.src_type = bare_type(in.attribute("type"));
  if (in.target.entry->content.size() < 16) append(in, in.target.entry->content, std::move(content));
  return true;
}

bool read_atom_source(const Reading& in) {
  if (in.target.entry == nullptr || !in.target.entry->source.empty()) return false;
  Source source;
  Target target(source);
  read_children(in.xml, in.node, target, source_table());
  if (source.title.value.empty() && source.id.empty() && source.link.empty()) {
    if (!in.text().empty()) read_title({in.xml, target, in.node, in.name, 0});
    source.url = in.url("url");
  }
  append(in, in.target.entry->source, std::move(source));
  return true;
}

template <std::string Common::*Field, Slot slot>
bool read_url_field(const Reading& in) {
  std::string url = in.url();
  if (url.empty() || !take(in, slot)) return false;
  in.target.common.*Field = std::move(url);
  return true;
}

constexpr ElementRow atom_common_elements[] = {
    {Ns::core, "id", read_identifier},
    {Ns::core, "title", read_title},
    {Ns::core, "link", read_atom_link},
    {Ns::core, "updated", read_updated},
    {Ns::core, "modified", read_updated, 1},
    {Ns::core, "published", read_published},
    {Ns::core, "issued", read_published, 1},
    {Ns::core, "created", read_created},
    {Ns::core, "author", read_author},
    {Ns::core, "contributor", read_contributor},
    {Ns::core, "category", read_category},
    {Ns::core, "rights", read_rights},
    {Ns::core, "copyright", read_rights, 1},
    {Ns::core, "info", read_info},
    {Ns::core, "generator", read_generator},
    {Ns::core, "icon", read_url_field<&Common::icon, Slot::icon>},
    {Ns::core, "logo", read_url_field<&Common::logo, Slot::logo>},
};

constexpr ElementRow atom_feed_elements[] = {
    {Ns::core, "subtitle", read_subtitle},
    {Ns::core, "tagline", read_subtitle},
};

constexpr ElementRow atom_entry_elements[] = {
    {Ns::core, "summary", read_summary},
    {Ns::core, "content", read_content},
    {Ns::core, "source", read_atom_source},
    {Ns::core, "subtitle", read_summary, 1},
};

bool is_entry(const XmlName& name) {
  return name.ns == Ns::core && (iequals(name.local, "entry") || iequals(name.local, "item"));
}

// Uses the feed's own page as the base: it is better than the fetch address, which may be a mirror's. If the fetch
// address is unknown, relative URLs stay as they are.
void set_base(XmlDocument& xml, pugi::xml_node feed) {
  if (xml.document_base().empty()) return;
  for (const pugi::xml_node node : ChildElements(feed)) {
    if (!std::string_view(node.name()).ends_with("link")) continue;
    const XmlDocument::Scope scope(xml, node);
    const XmlName name = xml.name(node);
    if (name.ns != Ns::core || !iequals(name.local, "link")) continue;
    const std::string rel = xml.attribute(node, "rel");
    std::string url = xml.attribute(node, "href");
    if (is_http_url(url) && (rel.empty() || iequals(rel, "alternate"))) return xml.set_document_base(std::move(url));
  }
}

void parse_entry(XmlDocument& xml, pugi::xml_node node, Feed& feed, std::uint64_t hash) {
  Entry* const made = new_entry(feed, xml.allowance());
  if (made == nullptr) return;
  Entry& entry = *made;
  entry.item_hash = hash;
  Target target(entry);
  const std::string own = xml.attribute(node, Ns::xml, "lang");
  if (!own.empty() && target.take(Slot::language, 0)) entry.language = xml.language();
  read_children(xml, node, target, entry_table(Ns::atom));
}

}  // namespace

constinit const std::span<const ElementRow> atom_rows = atom_common_elements;
constinit const std::span<const ElementRow> atom_feed_rows = atom_feed_elements;
constinit const std::span<const ElementRow> atom_entry_rows = atom_entry_elements;

void parse_atom(XmlDocument& xml, Feed& feed, XmlItems& items) {
  const pugi::xml_node root = xml.root();
  const XmlDocument::Scope scope(xml, root);
  xml.set_core(Ns::atom);
  if (is_entry(xml.name(root))) {  // RFC 4287 §2: an entry may stand alone
    parse_entry(xml, root, feed, 0);
    return;
  }
  set_base(xml, root);
  std::size_t entries = 0;
  for (const pugi::xml_node node : ChildElements(root)) entries += may_be_entry(node) ? 1 : 0;
  reserve_entries(feed, entries, xml.allowance());
  Target target(feed);
  if (!xml.language().empty() && target.take(Slot::language, 0)) feed.language = xml.language();
  for (const pugi::xml_node node : ChildElements(root)) {
    if (xml.allowance().spent()) return;
    const XmlDocument::Scope inner(xml, node);
    const XmlName name = xml.name(node);
    if (is_entry(name)) {
      const std::uint64_t hash = items.hash(node);
      if (!items.pass_over(hash)) parse_entry(xml, node, feed, hash);
      continue;
    }
    const ElementTable::Match match = feed_table(Ns::atom).find(name.ns, name.local);
    read_element(match, {xml, target, node, name, match.rank});
  }
}

}  // namespace feedmill
