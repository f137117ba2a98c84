// Hashes of items, which allow skipping unchanged ones, and the counters in items, which never make an item count as
// changed. Internal to parsers/, except for DocumentHints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "parsers/feed/feed.hpp"
#include "parsers/markup/xml.hpp"

namespace feedmill {

/// Hashes `text` with `seed`; never 0, which means no hash.
std::uint64_t chained_hash(std::uint64_t seed, std::string_view text);

/// If `hash` is in `known` (sorted), records the item and its position instead of building an entry, and returns true.
bool pass_over(Feed& feed, std::span<const std::uint64_t> known, std::uint64_t hash);

/// Whether an entry without authors inherits those of its source or else its feed.
constexpr bool inherits_authors(Format format) {
  return format >= Format::atom01 && format <= Format::json11;
}

/// Context of the feed's item hashes: known items may be skipped only if it equals the context of the document that the
/// hashes come from. Available only after reading.
std::uint64_t context_of(const Feed& feed);

/// Hashes the items of one XML document.
class XmlItems {
 public:
  /// `seed`: hash of everything outside the items that reading them depends on; 0: no hashing. Items in `known` are
  /// skipped. All references must outlive this object.
  XmlItems(const XmlDocument& xml, Feed& feed, std::uint64_t seed, std::span<const std::uint64_t> known)
      : xml_(xml), feed_(feed), seed_(seed), known_(known) {}

  /// Hash of the item's source without counters, the enclosing start tags and the base URLs; 0 if reading the item
  /// depends on anything else.
  std::uint64_t hash(pugi::xml_node item);
  bool pass_over(std::uint64_t hash) { return feedmill::pass_over(feed_, known_, hash); }

 private:
  const XmlDocument& xml_;
  Feed& feed_;
  std::uint64_t seed_;
  std::span<const std::uint64_t> known_;
  pugi::xml_node parent_;  // parent of the most recent item
  std::uint64_t around_ = 0;
  bool may_count_ = false;  // the start tags around the items declare vocabularies of counters
  std::string counted_;     // buffer: an item without its counters
};

// Counters in feed items: views, ratings, comments. They change between polls and never count as news. Pure; linear.

/// Whether an extension element has the name of a counter: `slash:comments`, `thr:total`, `media:statistics`,
/// `nyaa:seeders`, `views` of any vocabulary. Ignores case, `-` and `_` in the name. It is one unless it has words.
bool is_counter(std::string_view prefix, std::string_view local_name);

/// Whether an element is `torznab:attr` or `newznab:attr`, which counts only if its attribute `name` names a counter.
bool is_named_attribute(std::string_view prefix, std::string_view local_name);

/// Whether an element that has the name of a counter may have words, too: the tags of `media:community`.
bool counts_with_words(std::string_view prefix, std::string_view local_name);

/// Whether a text, a counter's value, has letters.
bool has_words(std::string_view text);

/// Whether the start tags around the items declare a prefix that is usual for counters.
bool may_have_counters(std::string_view start_tags);

/// The source of an XML item without the elements and attributes that are counters under their usual prefixes. The
/// result points into `item` if there are none, else into `buffer`.
std::string_view without_counters(std::string_view item, std::string& buffer);

}  // namespace feedmill
