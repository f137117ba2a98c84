// What the readers of XML formats share: where a value goes, which of several wins, and the tables that say which
// element is read by what. Internal to parsers/.
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

/// The fields that several elements compete for.
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

/// The feed, entry or source being read, and from how good an element each field came: a smaller rank wins.
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
  bool authors_stand_in = false;                                       ///< those read so far are AuthorIs::stand_in

  explicit Target(Feed& value) : common(value), feed(&value) {}
  explicit Target(Entry& value) : common(value), entry(&value) {}
  explicit Target(Source& value) : common(value), source(&value) {}

  /// Whether an element of this rank may set the field; notes that it does. Of equal ranks the first wins, or with
  /// `last_wins` the last.
  bool take(Slot slot, int rank, bool last_wins = false) {
    std::uint8_t& held = ranks[static_cast<std::size_t>(slot)];
    const auto offered = static_cast<std::uint8_t>(rank + 1);
    if (held != 0 && (held < offered || (held == offered && !last_wins))) return false;
    held = offered;
    return true;
  }
  bool has(Slot slot) const { return ranks[static_cast<std::size_t>(slot)] != 0; }
  /// Lets any element take the field; `keep`: its value is kept as that of one that is outranked.
  void yield(Slot slot, bool keep) {
    ranks[static_cast<std::size_t>(slot)] = 0xFF;
    if (!keep) holders[static_cast<std::size_t>(slot)] = {};
  }
};

/// One element being read. The references live as long as the reading of the document.
struct Reading {
  XmlDocument& xml;
  Target& target;
  pugi::xml_node node;
  XmlName name;
  int rank = 0;          ///< of this element for the field it sets; from its row, worse when it lies deeper
  bool is_kept = false;  ///< the document's output has the element whatever becomes of the field

  std::string text() const { return xml.text(node); }
  std::string attribute(std::string_view local) const { return xml.attribute(node, local); }
  /// The element's text as a URL, or that of an attribute: resolved, "" when unsafe.
  std::string url() const;
  std::string url(std::string_view attribute) const;
};

/// The same element where another place has all that it says.
inline Reading kept(Reading in) {
  in.is_kept = true;
  return in;
}

/// Target::take() for an element. The one that set the field before goes to the extensions (SECURITY L7).
bool take(const Reading& in, Slot slot, bool last_wins = false);

/// The place of what few have, made where there is none.
template <class Value>
Value& place_of(const Reading& in, Rare<Value>& field) {
  if (field) return *field;
  in.xml.allowance().take(sizeof(Value));
  return field.emplace();
}

/// Appends to a list of the target and takes from the allowance what that costs besides its strings.
template <class Value>
void append(const Reading& in, std::vector<Value>& list, Value value) {
  in.xml.allowance().take_one_more<Value>();
  list.push_back(std::move(value));
}

/// Reads an element; false when something of it has found no place, so that it goes to the extensions too.
using ElementReader = bool (*)(const Reading&);

struct ElementRow {
  Ns ns;
  std::string_view name;  ///< lower case
  ElementReader read;
  int rank = 0;  ///< smaller wins when several elements say the same thing
};

/// Rows of one vocabulary as a format sees them: under another namespace perhaps, and of less weight.
struct RowGroup {
  std::span<const ElementRow> rows;
  Ns instead_of_core = Ns::core;  ///< the namespace that rows of Ns::core get here
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

/// Reads everything directly inside `parent` into `target`, each element by its row; elements without row, or with
/// something left over, go to the target's extensions. Elements for which `skip` says true are left out.
void read_children(XmlDocument& xml, pugi::xml_node parent, Target& target, const ElementTable& table,
                   bool (*skip)(const XmlName&) = nullptr, int rank = 0);

/// Reads one element by its row, or keeps it as an extension when there is none.
void read_element(const ElementTable::Match& match, const Reading& in);

/// Appends the element with all that is in it.
void add_extension(const XmlDocument& xml, pugi::xml_node node, const XmlName& name, std::vector<Element>& to);

// Text constructs -------------------------------------------------------------------------------------------------

/// What an element's text is when the document does not say: plain (but HTML when it looks like it), or HTML.
enum class TextKind { plain, html };

/// Reads a text construct: type and mode attributes as Atom has them, inline markup, base64. Markup comes out as
/// written: normalise.hpp resolves and sanitises it later.
Text read_text(const Reading& in, TextKind kind);

// Pieces that several formats use ------------------------------------------------------------------------------------

Date read_date(std::string text);
/// `a@b (Name)`, `Name (a@b)`, `Name <a@b>`, or whichever is there.
Person parse_person(std::string_view text);
std::string display_name(const Person& person);
/// A category that is not yet there. Strings that no XmlDocument has read are taken from the allowance here.
void add_category(Allowance& allowance, std::vector<Category>& categories, std::string term, std::string scheme,
                  std::string label);
/// Adds the id of a store to an entry's trail where it is one: 32 hex digits (Entry::via).
void add_via(Allowance& allowance, Entry& entry, std::string_view id);
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<std::uint64_t> parse_length(std::string_view text);

/// What an element tells about an author: who wrote it, or only what the show is presented by, which counts where
/// no other author is named.
enum class AuthorIs { writer, stand_in };

/// Whether `person` has no name or address that `known` is without.
bool adds_nothing(const Person& person, const Person& known);

/// Adds an author who is not yet there; one of a better rank comes first. False when it has found no place.
bool add_author(const Reading& in, Person person, AuthorIs kind = AuthorIs::writer);

/// Base64 (RFC 4648, white space ignored) as UTF-8 text; `raw` itself when it is neither.
std::string decode_base64(std::string_view raw);

// The vocabularies, each in its file: rows for feeds, entries and sources alike, then those of one of them only.
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
std::span<const ElementRow> media_rows();
std::span<const ElementRow> geo_rows();

/// The tables of a format: its own vocabulary first, then the other one's and the modules.
const ElementTable& feed_table(Ns vocabulary);
const ElementTable& entry_table(Ns vocabulary);
const ElementTable& source_table();

}  // namespace feedmill
