// Shared by the readers of XML formats: target fields, precedence between elements, and the tables that map elements to
// readers. Internal to parsers/.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"
#include "parsers/markup/xml.hpp"

namespace feedmill {

/// Fields that several elements may set.
enum class Slot : std::uint8_t {
  id,
  link,
  title,
  rights,
  info,
  authors,
  publisher,
  published,
  updated,
  created,
  expired,
  language,
  image,
  icon,
  logo,
  generator,
  subtitle,
  summary,
  comments,
  comments_feed,
  geo,
  media_title,
  media_description,
  media_rating,
  media_license,
  media_restriction,
  media_player,
  media_community,
  chapters,
  docs,
  rating,
  ttl,
  cloud,
  text_input,
  source,
  count_
};

/// The feed, entry or source being read, and the rank of the element behind each field: a smaller rank wins.
struct Target {
  Common& common;
  Feed* feed = nullptr;  ///< exactly one of the three is set
  Entry* entry = nullptr;
  Source* source = nullptr;
  std::array<std::uint8_t, static_cast<std::size_t>(Slot::count_)> ranks{};  ///< 0: nothing yet, else rank + 1
  struct Holder {
    pugi::xml_node node;  ///< null: nothing is lost with the field's value
    XmlName name;
  };
  std::array<Holder, static_cast<std::size_t>(Slot::count_)> holders;  ///< the elements that set the fields
  bool authors_stand_in = false;                                       ///< the authors read so far are
                                                                       ///< AuthorIs::stand_in

  explicit Target(Feed& value) : common(value), feed(&value) {}
  explicit Target(Entry& value) : common(value), entry(&value) {}
  explicit Target(Source& value) : common(value), source(&value) {}

  /// Whether an element of this rank may set the field; records it if so. Of equal ranks the first wins, or with
  /// `last_wins` the last.
  bool take(Slot slot, int rank, bool last_wins = false) {
    std::uint8_t& held = ranks[static_cast<std::size_t>(slot)];
    const auto offered = static_cast<std::uint8_t>(rank + 1);
    if (held != 0 && (held < offered || (held == offered && !last_wins))) return false;
    held = offered;
    return true;
  }
  bool has(Slot slot) const { return ranks[static_cast<std::size_t>(slot)] != 0; }
  /// Lets any element set the field; `keep`: its present value is kept as that of an outranked element.
  void yield(Slot slot, bool keep) {
    ranks[static_cast<std::size_t>(slot)] = 0xFF;
    if (!keep) holders[static_cast<std::size_t>(slot)] = {};
  }
};

/// One element being read. Its references are valid while the document is read.
struct Reading {
  XmlDocument& xml;
  Target& target;
  pugi::xml_node node;
  XmlName name;
  int rank = 0;          ///< rank of this element for the field it sets; from its row, worse if nested deeper
  bool is_kept = false;  ///< the element is in the output whatever becomes of the field

  std::string text() const { return xml.text(node); }
  std::string attribute(std::string_view local) const { return xml.attribute(node, local); }
  /// The element's or an attribute's text as a URL: resolved, "" if unsafe.
  std::string url() const;
  std::string url(std::string_view attribute) const;
};

/// The element, marked as output completely elsewhere.
inline Reading kept(Reading in) {
  in.is_kept = true;
  return in;
}

/// Target::take() for an element. The element that held the field before goes to the extensions.
bool take(const Reading& in, Slot slot, bool last_wins = false);

/// The value of a rare field, created if needed.
template <class Value>
Value& place_of(const Reading& in, Rare<Value>& field) {
  if (field) return *field;
  in.xml.allowance().take(sizeof(Value));
  return field.emplace();
}

/// Appends to a list of the target and charges the allowance for the slot, without its strings.
template <class Value>
void append(const Reading& in, std::vector<Value>& list, Value value) {
  in.xml.allowance().take_one_more<Value>();
  list.push_back(std::move(value));
}

/// Reads an element; false if part of it was not stored, so that it also goes to the extensions.
using ElementReader = bool (*)(const Reading&);

struct ElementRow {
  Ns ns;
  std::string_view name;  ///< lower case
  ElementReader read;
  int rank = 0;  ///< smaller wins if several elements set the same field
};

/// Rows of one vocabulary as another format uses them: possibly under another namespace and with lower priority.
struct RowGroup {
  std::span<const ElementRow> rows;
  Ns instead_of_core = Ns::core;  ///< the namespace used for rows of Ns::core
  int worse = 0;                  ///< added to their ranks
};

/// Finds the row of a name in constant time; built once per format and kind of target.
class ElementTable {
 public:
  struct Match {
    ElementReader read = nullptr;  ///< nullptr: no row
    int rank = 0;
  };

  /// Rows of earlier groups win over those of later ones with the same name.
  explicit ElementTable(std::initializer_list<RowGroup> groups);
  Match find(Ns ns, std::string_view name) const;

 private:
  struct Slot {
    const ElementRow* row = nullptr;
    Ns ns = Ns::core;
    int rank = 0;
  };
  std::vector<Slot> slots_;  // open addressing; a power of two
};

/// Reads the children of `parent` into `target`, each by its row; elements without a row, or not stored completely, go
/// to the target's extensions. Elements for which `skip` is true are left out.
void read_children(XmlDocument& xml, pugi::xml_node parent, Target& target, const ElementTable& table,
                   bool (*skip)(const XmlName&) = nullptr, int rank = 0);

/// Reads one element by its row, or keeps it as an extension if there is none.
void read_element(const ElementTable::Match& match, const Reading& in);

/// Appends the element with its content.
void add_extension(const XmlDocument& xml, pugi::xml_node node, const XmlName& name, std::vector<Element>& to);

// Text constructs -------------------------------------------------------------------------------------------------

/// Default text kind where the document does not declare one: plain (but HTML if it looks like it), or HTML.
enum class TextKind { plain, html };

/// Reads a text construct: Atom's type and mode attributes, inline markup, base64. Markup is returned as written:
/// normalise.hpp resolves and sanitises it later.
Text read_text(const Reading& in, TextKind kind);

// Pieces that several formats use ------------------------------------------------------------------------------------

Date read_date(std::string text);
/// `a@b (Name)`, `Name (a@b)`, `Name <a@b>`, or whichever part exists.
Person parse_person(std::string_view text);
std::string display_name(const Person& person);
/// Adds a category unless it exists. Charges the allowance here for strings that no XmlDocument has read.
void add_category(Allowance& allowance, std::vector<Category>& categories, std::string term, std::string scheme,
                  std::string label);
/// Adds a store id to an entry's trail if it is valid: 32 hex digits (Entry::via).
void add_via(Allowance& allowance, Entry& entry, std::string_view id);
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<std::uint64_t> parse_length(std::string_view text);

/// Whether an author wrote the item or only presents the show, which counts if no other author is named.
enum class AuthorIs { writer, stand_in };

/// Whether every name and address of `person` is also in `known`.
bool adds_nothing(const Person& person, const Person& known);

/// Adds an author unless already listed; one of a better rank comes first. False if it was not stored.
bool add_author(const Reading& in, Person person, AuthorIs kind = AuthorIs::writer);

/// Base64 (RFC 4648, white space ignored) as UTF-8 text; `raw` itself when it is neither.
std::string decode_base64(std::string_view raw);

// The vocabularies, one file each: rows for feeds, entries and sources, then rows for only one of them.
std::span<const ElementRow> rss_rows();
std::span<const ElementRow> rss_feed_rows();
std::span<const ElementRow> rss_entry_rows();
std::span<const ElementRow> atom_rows();
std::span<const ElementRow> atom_feed_rows();
std::span<const ElementRow> atom_entry_rows();
std::span<const ElementRow> module_rows();
std::span<const ElementRow> module_feed_rows();
std::span<const ElementRow> module_entry_rows();
std::span<const ElementRow> itunes_rows();
/// Takes flags out of the extensions that the rows did not recognise: in any case and with white space.
void take_itunes_flags(Itunes& itunes, std::vector<Element>& extensions);
std::span<const ElementRow> media_rows();
/// Whether a value fits its Media RSS attribute, by its name in JSON: numbers, true or false, medium, expression. True
/// for attributes of any text and for URLs.
bool is_media_value(std::string_view attribute, std::string_view value);
std::span<const ElementRow> geo_rows();

/// A format's tables: its own vocabulary first, then the other one and the modules.
const ElementTable& feed_table(Ns vocabulary);
const ElementTable& entry_table(Ns vocabulary);
const ElementTable& source_table();

}  // namespace feedmill
