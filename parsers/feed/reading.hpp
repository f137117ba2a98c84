// Shared by the readers of the XML formats: target fields, precedence between elements, and the tables that map
// elements to readers. Internal to parsers/.
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

/// Fields that more than one element may set.
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

/// The feed, entry or source being read. For each field it keeps the rank of the element that set it; a smaller rank
/// wins.
struct Target {
  Common& common;
  Feed* feed = nullptr;  ///< exactly one of `feed`, `entry` and `source` is set
  Entry* entry = nullptr;
  Source* source = nullptr;
  std::array<std::uint8_t, static_cast<std::size_t>(Slot::count_)> ranks{};  ///< 0: not set, else rank + 1
  struct Holder {
    pugi::xml_node node;  ///< null: replacing the value loses nothing
    XmlName name;
  };
  std::array<Holder, static_cast<std::size_t>(Slot::count_)> holders;  ///< the element that set each field
  bool authors_stand_in = false;                                       ///< all authors so far are stand-ins

  explicit Target(Feed& value) : common(value), feed(&value) {}
  explicit Target(Entry& value) : common(value), entry(&value) {}
  explicit Target(Source& value) : common(value), source(&value) {}

  /// Whether an element of this rank may set the field; if so, records the rank. Of equal ranks the first wins, or with
  /// `last_wins` the last.
  bool take(Slot slot, int rank, bool last_wins = false) {
    std::uint8_t& held = ranks[static_cast<std::size_t>(slot)];
    const auto offered = static_cast<std::uint8_t>(rank + 1);
    if (held != 0 && (held < offered || (held == offered && !last_wins))) return false;
    held = offered;
    return true;
  }
  bool has(Slot slot) const { return ranks[static_cast<std::size_t>(slot)] != 0; }
  /// Lets any later element set the field. `keep`: the element that set it becomes an extension then, so that its value
  /// is not lost.
  void yield(Slot slot, bool keep) {
    ranks[static_cast<std::size_t>(slot)] = 0xFF;
    if (!keep) holders[static_cast<std::size_t>(slot)] = {};
  }
};

/// One element being read. The references are valid while the document is being read.
struct Reading {
  XmlDocument& xml;
  Target& target;
  pugi::xml_node node;
  XmlName name;
  int rank = 0;          ///< from its row, worse if nested deeper; a smaller rank wins the field
  bool is_kept = false;  ///< the element is in the output in any case, so losing the field loses nothing

  std::string text() const { return xml.text(node); }
  std::string attribute(std::string_view local) const { return xml.attribute(node, local); }
  /// The text of the element, or of an attribute, as a URL: resolved, "" if unsafe.
  std::string url() const;
  std::string url(std::string_view attribute) const;
};

/// A copy for an element that is stored completely elsewhere.
inline Reading kept(Reading in) {
  in.is_kept = true;
  return in;
}

/// Target::take() for an element. The element that set the field before becomes an extension.
bool take(const Reading& in, Slot slot, bool last_wins = false);

/// The value of a rarely used field, created if needed.
template <class Value>
Value& place_of(const Reading& in, Rare<Value>& field) {
  if (field) return *field;
  in.xml.allowance().take(sizeof(Value));
  return field.emplace();
}

/// Appends to a list of the target and charges the allowance for the element, but not for its strings.
template <class Value>
void append(const Reading& in, std::vector<Value>& list, Value value) {
  in.xml.allowance().take_one_more<Value>();
  list.push_back(std::move(value));
}

/// Reads an element. False if part of it was not stored; the element then becomes an extension, too.
using ElementReader = bool (*)(const Reading&);

/// Row of a vocabulary: the reader of one element.
struct ElementRow {
  Ns ns;
  std::string_view name;  ///< lower case
  ElementReader read;
  int rank = 0;  ///< smaller wins if several elements set one field
};

/// Rows of one vocabulary as a format uses them: possibly under another namespace and with lower priority.
struct RowGroup {
  std::span<const ElementRow> rows;
  Ns instead_of_core = Ns::core;  ///< the namespace that replaces Ns::core in the rows
  int worse = 0;                  ///< added to the ranks of the rows
};

/// Finds the row of an element name in constant time; built once per format and kind of target.
class ElementTable {
 public:
  struct Match {
    ElementReader read = nullptr;  ///< nullptr: there is no row
    int rank = 0;
  };

  /// A row of an earlier group wins over one of a later group with the same name.
  explicit ElementTable(std::initializer_list<RowGroup> groups);
  Match find(Ns ns, std::string_view name) const;

 private:
  struct Slot {
    const ElementRow* row = nullptr;
    Ns ns = Ns::core;
    int rank = 0;
  };
  std::vector<Slot> slots_;  // open addressing; the size is a power of two
};

/// Reads the children of `parent` into `target`, each by its row. Elements without a row, or not stored completely,
/// become extensions of the target.
void read_children(XmlDocument& xml, pugi::xml_node parent, Target& target, const ElementTable& table);

/// Reads one element by its row, or keeps it as an extension if it has none.
void read_element(const ElementTable::Match& match, const Reading& in);

/// Appends the element with its content to a list of extensions, within the limits on depth and number.
void add_extension(const XmlDocument& xml, pugi::xml_node node, const XmlName& name, std::vector<Element>& to);

// Text constructs -------------------------------------------------------------------------------------------------

/// How to read text of undeclared type: as plain text (or as HTML if it looks like it), or as HTML.
enum class TextKind { plain, html };

/// Reads a text construct: Atom's type and mode attributes, inline markup, base64. Markup is returned as written;
/// normalise() resolves and sanitises it later.
Text read_text(const Reading& in, TextKind kind);

// Helpers of several formats -----------------------------------------------------------------------------------------

/// A date with its text as written; `time` is empty if parse_date() cannot read it.
Date read_date(std::string text);
/// Splits `a@b (Name)`, `Name (a@b)` or `Name <a@b>`; each part may be missing.
Person parse_person(std::string_view text);
/// "Name (email)", or whichever part exists.
std::string display_name(const Person& person);
/// Adds a category unless it is listed already. Charges the allowance for its strings.
void add_category(Allowance& allowance, std::vector<Category>& categories, std::string term, std::string scheme,
                  std::string label);
/// Adds a store id to an entry's trail (Entry::via) if it is valid: 32 hex digits.
void add_via(Allowance& allowance, Entry& entry, std::string_view id);
/// The number at the start of a text that may begin with '+' or '-'; empty if there is none.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// A length in bytes; empty if the text is anything but digits.
std::optional<std::uint64_t> parse_length(std::string_view text);

/// Whether an author wrote the item or only presents the show. A presenter counts only if no writer is named.
enum class AuthorIs { writer, stand_in };

/// Whether `known` already has every name and address of `person`.
bool adds_nothing(const Person& person, const Person& known);

/// Adds an author unless already listed; a writer replaces stand-ins. False if the author was not stored.
bool add_author(const Reading& in, Person person, AuthorIs kind = AuthorIs::writer);

/// Decodes base64 (RFC 4648, ignoring white space) to UTF-8 text; returns `raw` if that fails.
std::string decode_base64(std::string_view raw);

// The vocabularies, one file each: rows for feeds, entries and sources alike, then rows for only one kind.
extern const std::span<const ElementRow> rss_rows;
extern const std::span<const ElementRow> rss_feed_rows;
extern const std::span<const ElementRow> rss_entry_rows;
extern const std::span<const ElementRow> atom_rows;
extern const std::span<const ElementRow> atom_feed_rows;
extern const std::span<const ElementRow> atom_entry_rows;
extern const std::span<const ElementRow> module_rows;
extern const std::span<const ElementRow> module_feed_rows;
extern const std::span<const ElementRow> module_entry_rows;
extern const std::span<const ElementRow> itunes_rows;
/// Moves flags that the rows did not recognise (in other case, or with white space) from the extensions to `itunes`.
void take_itunes_flags(Itunes& itunes, std::vector<Element>& extensions);
extern const std::span<const ElementRow> media_rows;
/// Whether a value fits its Media RSS attribute, which is given by its JSON name: numbers, booleans, medium,
/// expression. True for URLs and for attributes that allow any text.
bool is_media_value(std::string_view attribute, std::string_view value);
extern const std::span<const ElementRow> geo_rows;

/// The tables of a format: its own vocabulary first, then the other one, then the modules.
const ElementTable& feed_table(Ns vocabulary);
const ElementTable& entry_table(Ns vocabulary);
const ElementTable& source_table();

}  // namespace feedmill
