#include "parsers/feed/reading.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "parsers/markup/sanitise.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/entities.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_extension_depth = 12;       // deeper elements are dropped
constexpr std::size_t max_extension_elements = 4096;  // per top-level element

std::size_t hash(Ns ns, std::string_view name) {
  std::size_t value = static_cast<std::size_t>(ns) * 0x9E3779B1U + name.size();
  for (const char c : name) value = (value ^ static_cast<unsigned char>(to_lower(c))) * 0x100000001B3U;
  return value ^ (value >> 29);
}

// RFC 4287 §4.1.3.3 (6): the content is base64 if it is neither text nor XML.
bool is_base64(std::string_view mode, std::string_view declared) {
  if (iequals(mode, "base64")) return true;
  const std::string type = bare_type(declared);
  const std::size_t slash = type.find('/');
  if (slash == std::string::npos) return false;
  return !type.starts_with("text/") && !type.ends_with("+xml") && !type.ends_with("/xml");
}

bool is_other_xml(std::string_view declared) {
  const std::string type = bare_type(declared);
  return !is_markup(TextType(type)) && (type.ends_with("+xml") || type.ends_with("/xml"));
}

// The single <div> that wraps an XHTML construct (RFC 4287 §3.1.1.3); null if the construct holds anything else.
pugi::xml_node wrapper(pugi::xml_node node) {
  pugi::xml_node only;
  for (pugi::xml_node child = node.first_child(); child; child = child.next_sibling()) {
    if (only || child.type() != pugi::node_element) return {};
    only = child;
  }
  if (!only) return {};
  const std::string_view name = only.name();
  const std::size_t colon = name.find(':');
  return iequals(colon == std::string_view::npos ? name : name.substr(colon + 1), "div") ? only : pugi::xml_node{};
}

// Replaces CDATA sections, which have a meaning only in XML, by escaped text.
std::string without_cdata(std::string_view markup) {
  constexpr std::string_view open = "<![CDATA[";
  std::string out;
  for (std::size_t at = markup.find(open); at != std::string_view::npos; at = markup.find(open)) {
    out.append(markup.substr(0, at));
    markup.remove_prefix(at + open.size());
    const std::size_t end = markup.find("]]>");
    for (const char c : markup.substr(0, end)) {
      if (c == '&') {
        out += "&amp;";
      } else if (c == '<') {
        out += "&lt;";
      } else {
        out += c;
      }
    }
    markup.remove_prefix(end == std::string_view::npos ? markup.size() : end + 3);
  }
  return out.append(markup);
}

// Decodes an HTML text that also contains elements (RFC 4287 §3.1.1.2 forbids this): the escaped and the inline part
// are both markup.
std::string with_escaped_markup(std::string_view markup) {
  std::string out;
  while (!markup.empty()) {
    const std::size_t open = std::min(markup.find('<'), markup.size());
    append_decoded(out, markup.substr(0, open));
    markup.remove_prefix(open);
    const std::string_view tag = markup.substr(0, std::min(markup.find('>'), markup.size() - 1) + 1);
    out += tag;
    markup.remove_prefix(tag.size());
  }
  return out;
}

bool has_tag(std::string_view text) {
  while (true) {
    take_until(text, '<');
    if (text.empty()) return false;
    if (is_alpha(text.front()) || text.front() == '/') return true;
  }
}

std::string read_inner(const XmlDocument& xml, pugi::xml_node node) {
  const std::string_view markup = trim(xml.inner(node));
  xml.allowance().step(1 + markup.size() / 4);
  if (!xml.allowance().affords(2 * markup.size())) return {};
  std::string value = without_cdata(markup);
  xml.repair(value);
  xml.allowance().take(value);
  return value;
}

}  // namespace

std::string Reading::url() const {
  return xml.url(xml.text(node));
}

std::string Reading::url(std::string_view local) const {
  const std::string value = xml.attribute(node, local);
  return xml.url(value);
}

bool take(const Reading& in, Slot slot, bool last_wins) {
  if (!in.target.take(slot, in.rank, last_wins)) return false;
  Target::Holder& holder = in.target.holders[static_cast<std::size_t>(slot)];
  if (holder.node && holder.node != in.node) {
    const XmlDocument::Scope scope(in.xml, holder.node);
    add_extension(in.xml, holder.node, holder.name, in.target.common.extensions);
  }
  holder = in.is_kept ? Target::Holder{} : Target::Holder{in.node, in.name};
  return true;
}

ElementTable::ElementTable(std::initializer_list<RowGroup> groups) {
  std::size_t total = 0;
  for (const RowGroup& group : groups) total += group.rows.size();
  std::size_t size = 16;
  while (size < 3 * total) size *= 2;
  slots_.resize(size);
  for (const RowGroup& group : groups) {
    for (const ElementRow& row : group.rows) {
      const Ns ns = row.ns == Ns::core ? group.instead_of_core : row.ns;
      std::size_t at = hash(ns, row.name) & (size - 1);
      while (slots_[at].row != nullptr && (slots_[at].ns != ns || slots_[at].row->name != row.name)) {
        at = (at + 1) & (size - 1);
      }
      if (slots_[at].row == nullptr) slots_[at] = {&row, ns, row.rank + group.worse};
    }
  }
}

ElementTable::Match ElementTable::find(Ns ns, std::string_view name) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash(ns, name) & mask; slots_[at].row != nullptr; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.ns == ns && iequals(slot.row->name, name)) return {slot.row->read, slot.rank};
  }
  return {};
}

void read_children(XmlDocument& xml, pugi::xml_node parent, Target& target, const ElementTable& table) {
  for (const pugi::xml_node node : ChildElements(parent)) {
    if (xml.allowance().spent()) return;
    const XmlDocument::Scope scope(xml, node);
    const XmlName name = xml.name(node);
    const ElementTable::Match match = table.find(name.ns, name.local);
    read_element(match, {xml, target, node, name, match.rank});
  }
}

void read_element(const ElementTable::Match& match, const Reading& in) {
  if (match.read == nullptr || !match.read(in)) {
    add_extension(in.xml, in.node, in.name, in.target.common.extensions);
    return;
  }
  // Attributes of other vocabularies (thr:count on a link) become extensions of those vocabularies.
  for (pugi::xml_attribute a = in.node.first_attribute(); a; a = a.next_attribute()) {
    const char* key = a.name();
    if (std::strchr(key, ':') == nullptr || std::strncmp(key, "xml", 3) == 0) continue;
    const XmlName name = in.xml.name(a);
    if (name.ns == Ns::core || name.ns == Ns::rdf || name.ns == in.name.ns || name.ns == Ns::xlink) continue;
    auto& extensions = in.target.common.extensions;
    std::string prefix = lower(name.known != nullptr ? name.known->prefix : name.prefix);
    if (extensions.empty() || extensions.back().prefix != prefix || extensions.back().name != in.name.local ||
        !extensions.back().value.empty()) {
      Element element{std::move(prefix), std::string(in.name.local), {}, {}, {}};
      in.xml.allowance().take(element.name);
      append(in, extensions, std::move(element));
    }
    append(in, extensions.back().attributes, {key, in.xml.value(a)});
    in.xml.allowance().take(extensions.back().attributes.back().first);
  }
}

void add_extension(const XmlDocument& xml, pugi::xml_node top, const XmlName& top_name, std::vector<Element>& to) {
  if (to.size() >= max_extension_elements) return;
  const auto fill = [&](Element& element, pugi::xml_node node, const XmlName& name) {
    element.prefix =
        name.ns == Ns::core ? std::string{} : lower(name.known != nullptr ? name.known->prefix : name.prefix);
    if (name.ns == Ns::atom) element.prefix = "atom";
    element.name = name.local;
    element.value = xml.own_text(node);
    xml.allowance().take_one_more<Element>();
    xml.allowance().take(element.name);
    xml.allowance().take(element.prefix);
    for (pugi::xml_attribute a = node.first_attribute(); a; a = a.next_attribute()) {
      const std::string_view key = a.name();
      if (key == "xmlns" || key.starts_with("xmlns:") || element.attributes.size() >= 64) continue;
      element.attributes.emplace_back(key, xml.value(a));
      xml.allowance().take_one_more<Element::Attribute>();
      xml.allowance().take(element.attributes.back().first);
    }
  };
  Element root;
  fill(root, top, top_name);
  // Depth first with an explicit stack. Parents are addressed by index path, because vectors move their elements.
  struct Level {
    pugi::xml_node next;
    std::size_t index;
  };
  std::vector<Level> path{{top.first_child(), 0}};
  std::size_t budget = max_extension_elements;
  while (!path.empty() && budget > 0 && !xml.allowance().spent()) {
    xml.allowance().step(path.size());
    pugi::xml_node node = path.back().next;
    while (node && node.type() != pugi::node_element) node = node.next_sibling();
    if (!node) {
      path.pop_back();
      continue;
    }
    path.back().next = node.next_sibling();
    Element* parent = &root;
    for (std::size_t i = 1; i < path.size(); ++i) parent = &parent->children[path[i].index];
    parent->children.emplace_back();
    const XmlName name = xml.name(node);
    if (name.ns == Ns::core && iequals(name.local, "item")) xml.note_stray_item(node);
    fill(parent->children.back(), node, name);
    --budget;
    if (path.size() < max_extension_depth) path.push_back({node.first_child(), parent->children.size() - 1});
  }
  to.push_back(std::move(root));
}

Text read_text(const Reading& in, TextKind kind) {
  Text text;
  text.present = true;
  text.base = in.xml.base();
  text.language = in.xml.language();
  const std::string type = in.attribute("type");
  const std::string mode = in.attribute("mode");
  text.type = TextType(type.empty() && kind == TextKind::html ? "html" : std::string_view(type));
  const bool escaped = iequals(mode, "escaped") || iequals(mode, "base64");
  const bool inline_markup = !ChildElements(in.node).empty();
  if (inline_markup || (text.type == "application/xhtml+xml" && !escaped)) {
    const bool atom10 = istarts_with(namespace_name(in.name.uri), "w3.org/2005/");
    const bool escaped_too = !type.empty() && text.type == "text/html" && has_tag(in.xml.deep_text(in.node));
    const bool may_wrap = escaped_too || (atom10 && text.type == "application/xhtml+xml");
    const pugi::xml_node div = may_wrap ? wrapper(in.node) : pugi::xml_node{};
    // Inline markup of any type is read as XHTML, because publishers forget to escape it. Other XML is shown as
    // written.
    if (!is_other_xml(type)) text.type = TextType("xhtml");
    if (div) {
      const XmlDocument::Scope scope(in.xml, div);
      text.base = in.xml.base();
      text.language = in.xml.language();
      text.value = read_inner(in.xml, div);
    } else {
      text.value = read_inner(in.xml, in.node);
    }
    if (escaped_too) {
      text.type = TextType("html");
      text.value = with_escaped_markup(text.value);
      in.xml.allowance().take(text.value);
    }
    return text;
  }
  text.value = in.text();
  if (is_base64(mode, type)) text.value = decode_base64(text.value);
  return text;
}

Date read_date(std::string text) {
  Date date;
  date.raw = std::move(text);
  date.time = parse_date(date.raw);
  return date;
}

namespace {

bool is_local_part(char c) {
  return is_alnum(c) || std::string_view("_.+-!#$%&'*/=?^`{|}~").find(c) != std::string_view::npos;
}
bool is_domain_part(char c) {
  return is_alnum(c) || c == '-' || c == '.' || !is_ascii(c);
}

// Start and length of the first address in `text`; length 0 if there is none.
std::pair<std::size_t, std::size_t> find_address(std::string_view text) {
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    std::size_t start = at;
    while (start > 0 && is_local_part(text[start - 1])) --start;
    std::size_t end = at + 1;
    while (end < text.size() && is_domain_part(text[end])) ++end;
    while (end > at + 1 && text[end - 1] == '.') --end;
    const std::string_view domain = text.substr(at + 1, end - at - 1);
    if (start < at && domain.find('.') != std::string_view::npos) {
      if (text.substr(end).starts_with("?subject=")) {
        while (end < text.size() && !is_space(text[end])) ++end;
      }
      return {start, end - start};
    }
  }
  return {0, 0};
}

void erase_all(std::string& text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

}  // namespace

Person parse_person(std::string_view text) {
  Person person;
  text = trim(text.substr(0, std::min<std::size_t>(text.size(), 4096)));
  const auto [start, length] = find_address(text);
  if (length == 0) {
    person.name = fold_space(text);
    return person;
  }
  person.email = text.substr(start, length);
  std::size_t left = start;
  if (istarts_with(text.substr(0, left), "mailto:") || (left >= 7 && iequals(text.substr(left - 7, 7), "mailto:"))) {
    left -= 7;
  }
  std::string name(text.substr(0, left));
  name += text.substr(start + length);
  erase_all(name, "()");
  erase_all(name, "<>");
  erase_all(name, "[]");
  name = fold_space(name);
  if (name.starts_with('(')) name.erase(0, 1);
  if (name.ends_with(')')) name.pop_back();
  std::string_view clean = trim(name);
  while (!clean.empty() && (clean.front() == ',' || clean.front() == '-' || clean.front() == '"')) {
    clean = trim(clean.substr(1));
  }
  while (!clean.empty() && (clean.back() == ',' || clean.back() == '-' || clean.back() == '"' || clean.back() == ';')) {
    clean = trim(clean.substr(0, clean.size() - 1));
  }
  person.name = clean;
  return person;
}

std::string display_name(const Person& person) {
  if (!person.name.empty() && !person.email.empty()) return person.name + " (" + person.email + ")";
  return person.name.empty() ? person.email : person.name;
}

void add_category(Allowance& allowance, std::vector<Category>& categories, std::string term, std::string scheme,
                  std::string label) {
  // Real entries have about a dozen categories.
  if ((term.empty() && scheme.empty() && label.empty()) || categories.size() >= 256 || allowance.spent()) return;
  allowance.step(1 + categories.size() / 4);
  Category category{std::move(term), std::move(scheme), std::move(label)};
  if (std::find(categories.begin(), categories.end(), category) == categories.end()) {
    allowance.take_one_more<Category>();
    allowance.take(category.term);
    allowance.take(category.scheme);
    categories.push_back(std::move(category));
  }
}

void add_via(Allowance& allowance, Entry& entry, std::string_view id) {
  constexpr std::size_t digits = 32;
  id = trim(id);
  if (id.size() != digits || entry.via.size() > limits::trail) return;
  if (!std::all_of(id.begin(), id.end(), [](char c) { return hex_value(c) >= 0; })) return;
  allowance.take_one_more<std::string>();
  std::string& kept = entry.via.emplace_back(id);
  std::transform(kept.begin(), kept.end(), kept.begin(), to_lower);
  allowance.take(kept);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = trim(text);
  std::int64_t value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_length(std::string_view text) {
  text = trim(text);
  if (!std::ranges::all_of(text, is_digit)) return std::nullopt;  // "15.3 MB"
  const std::optional<std::int64_t> value = parse_integer(text);
  if (!value) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

bool adds_nothing(const Person& person, const Person& known) {
  const auto is_in = [](const std::string& part, const std::string& whole) { return part.empty() || part == whole; };
  return is_in(person.name, known.name) && is_in(person.email, known.email) && is_in(person.uri, known.uri) &&
         is_in(person.avatar, known.avatar);
}

bool add_author(const Reading& in, Person person, AuthorIs kind) {
  if (person == Person{}) return true;
  Target& target = in.target;
  std::uint8_t& held = target.ranks[static_cast<std::size_t>(Slot::authors)];
  const auto offered = static_cast<std::uint8_t>(in.rank + 1);
  const bool stand_in = kind == AuthorIs::stand_in;
  if (stand_in && held != 0 && (!target.authors_stand_in || held < offered)) return false;
  auto& authors = target.common.authors.edit();
  if (held != 0 && target.authors_stand_in && (!stand_in || held > offered)) {
    authors.clear();
    held = 0;
  }
  target.authors_stand_in = stand_in;
  in.xml.allowance().step(authors.size());
  const auto known = std::find_if(authors.begin(), authors.end(), [&](const Person& one) {
    return adds_nothing(person, one) || adds_nothing(one, person);
  });
  if (known != authors.end()) {
    if (!adds_nothing(person, *known)) *known = std::move(person);
  } else if (authors.size() < limits::people) {
    append(in, authors, std::move(person));
    if (held > offered) std::rotate(authors.begin(), authors.end() - 1, authors.end());
  }
  held = held == 0 ? offered : std::min(held, offered);
  return true;
}

std::string decode_base64(std::string_view raw) {
  std::string out;
  out.reserve(raw.size() * 3 / 4);
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : raw) {
    int value = -1;
    if (c >= 'A' && c <= 'Z') value = c - 'A';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 26;
    if (is_digit(c)) value = c - '0' + 52;
    if (c == '+' || c == '-') value = 62;
    if (c == '/' || c == '_') value = 63;
    if (c == '=' || is_space(c)) continue;
    if (value < 0) return std::string(raw);
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    have += 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>((bits >> have) & 0xFF);
    }
  }
  Decoded decoded = decode_document(out, "text/plain;charset=utf-8");
  if (decoded.bozo != Bozo::none) return std::string(raw);
  trim_in_place(decoded.text);
  return std::move(decoded.text);
}

namespace {

using Rows = std::span<const ElementRow>;

/// The table of a vocabulary: its rows for one kind of target (`own`) and for all kinds, those of the other vocabulary,
/// which has the namespace `ns`, and those of the modules.
ElementTable table_of(Rows own, Rows own_common, Ns ns, Rows other, Rows other_common, Rows modules) {
  return ElementTable{{own},
                      {own_common},
                      {other, ns, 10},
                      {other_common, ns, 10},
                      {other, Ns::core, 10},
                      {other_common, Ns::core, 10},
                      {modules},
                      {module_rows},
                      {itunes_rows},
                      {media_rows},
                      {geo_rows}};
}

}  // namespace

const ElementTable& feed_table(Ns vocabulary) {
  static const ElementTable rss =
      table_of(rss_feed_rows, rss_rows, Ns::atom, atom_feed_rows, atom_rows, module_feed_rows);
  static const ElementTable atom =
      table_of(atom_feed_rows, atom_rows, Ns::rss, rss_feed_rows, rss_rows, module_feed_rows);
  return vocabulary == Ns::atom ? atom : rss;
}

const ElementTable& entry_table(Ns vocabulary) {
  static const ElementTable rss =
      table_of(rss_entry_rows, rss_rows, Ns::atom, atom_entry_rows, atom_rows, module_entry_rows);
  static const ElementTable atom =
      table_of(atom_entry_rows, atom_rows, Ns::rss, rss_entry_rows, rss_rows, module_entry_rows);
  return vocabulary == Ns::atom ? atom : rss;
}

const ElementTable& source_table() {
  static const ElementTable table{{atom_feed_rows},
                                  {atom_rows},
                                  {atom_feed_rows, Ns::atom, 10},
                                  {atom_rows, Ns::atom, 10},
                                  {module_rows},
                                  {itunes_rows},
                                  {media_rows},
                                  {geo_rows}};
  return table;
}

}  // namespace feedmill
