#include "parsers/feed/item_hash.hpp"

#include <algorithm>

#include <xxhash.h>

#include "parsers/feed/counters.hpp"

namespace feedmill {

std::uint64_t chained_hash(std::uint64_t seed, std::string_view text) {
  const std::uint64_t hash = XXH3_64bits_withSeed(text.data(), text.size(), seed + text.size());
  return hash == 0 ? 1 : hash;
}

bool pass_over(Feed& feed, std::span<const std::uint64_t> known, std::uint64_t hash) {
  if (hash == 0 || !std::binary_search(known.begin(), known.end(), hash)) return false;
  feed.known.push_back({feed.entries.size() + feed.known.size(), hash});
  ++feed.account.entries;
  return true;
}

std::uint64_t context_of(const Feed& feed) {
  std::uint64_t context = chained_hash(chained_hash(1, feed.link), *feed.language);
  if (!inherits_authors(feed.format)) return context;
  for (const Person& person : *feed.authors) {
    for (const std::string* part : {&person.name, &person.email, &person.uri, &person.avatar}) {
      context = chained_hash(context, *part);
    }
  }
  return context;
}

std::uint64_t XmlItems::hash(pugi::xml_node item) {
  if (seed_ == 0 || xml_.has_entities()) return 0;
  if (const pugi::xml_node parent = item.parent(); parent != parent_) {
    parent_ = parent;
    around_ = chained_hash(chained_hash(seed_, xml_.document_base()), xml_.site());
    for (pugi::xml_node outer = parent; outer && outer.type() == pugi::node_element; outer = outer.parent()) {
      around_ = chained_hash(around_, xml_.start_tag(outer));
      may_count_ = may_count_ || may_have_counters(xml_.start_tag(outer));
    }
  }
  const std::string_view source = xml_.source(item);
  if (source.empty()) return 0;
  const std::string_view lasting = may_count_ ? without_counters(source, counted_) : source;
  if (lasting.size() != source.size()) feed_.has_counters = true;
  return chained_hash(around_, lasting);
}

}  // namespace feedmill
