// Items that need not be read: one that stands in a document as it stood in an earlier one says the same. Internal to
// parsers/, but for what DocumentHints needs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "parsers/feed/feed.hpp"
#include "parsers/markup/xml.hpp"

namespace feedmill {

/// `seed` and `text` as one number; never 0, which stands for no hash.
std::uint64_t chained_hash(std::uint64_t seed, std::string_view text);

/// Counts an item that is known, in its place, instead of building an entry. False when it is none of `known`, which
/// are sorted.
bool pass_over(Feed& feed, std::span<const std::uint64_t> known, std::uint64_t hash);

/// Whether an entry without authors inherits those of its source, else of its feed.
constexpr bool inherits_authors(Format format) {
  return format >= Format::atom01 && format <= Format::json11;
}

/// What a document that is read with one of `known` passed over must have in common with the one that they are of, and
/// shows when it has been read.
std::uint64_t context_of(const Feed& feed);

/// Hashes the items of one XML document.
class XmlItems {
 public:
  /// `seed`: all that reading depends on besides the text; 0: nothing is hashed. `known` are passed over. All outlive
  /// this.
  XmlItems(const XmlDocument& xml, Feed& feed, std::uint64_t seed, std::span<const std::uint64_t> known)
      : xml_(xml), feed_(feed), seed_(seed), known_(known) {}

  /// Of the item's source without counters, the start tags around it and the addresses that it resolves against; 0 when
  /// that is not all that it depends on.
  std::uint64_t hash(pugi::xml_node item);
  bool pass_over(std::uint64_t hash) { return feedmill::pass_over(feed_, known_, hash); }

 private:
  const XmlDocument& xml_;
  Feed& feed_;
  std::uint64_t seed_;
  std::span<const std::uint64_t> known_;
  pugi::xml_node parent_;  // of the last item
  std::uint64_t around_ = 0;
  bool may_count_ = false;  // these start tags declare vocabularies of counters
  std::string counted_;     // an item without its counters
};

}  // namespace feedmill
