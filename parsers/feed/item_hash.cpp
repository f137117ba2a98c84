#include "parsers/feed/item_hash.hpp"

#include <algorithm>
#include <array>

#include <xxhash.h>

#include "parsers/text/strings.hpp"

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

namespace {

// Sorted, in lower case, without "-" and "_".
constexpr std::array<std::string_view, 33> counter_names = {
    "bookmarkcount", "bookmarks", "commentcount",  "comments",    "commentscount", "diggcount",  "dislikes",
    "downloadcount", "downloads", "favoritecount", "favorites",   "favourites",    "grabs",      "hitparade",
    "leechers",      "likecount", "likes",         "numcomments", "playcount",     "replycount", "reposts",
    "retweets",      "seeders",   "seeds",         "sharecount",  "shares",        "starrating", "statistics",
    "upvotes",       "viewcount", "views",         "votes",       "votescount"};
// Counters only under a usual prefix; elsewhere these names can be content (a rank in sports, a total in a shop).
constexpr std::array<std::string_view, 7> usual_counter_names = {"community", "count", "hits", "peers",
                                                                 "points",    "rank",  "total"};
// Usual prefixes of vocabularies with counters. If a document binds one to another vocabulary, items that changed only
// in such elements are read again only once a day.
constexpr std::array<std::string_view, 10> usual_prefixes = {"digg", "gd",    "hatena", "media",   "newznab",
                                                             "nyaa", "slash", "thr",    "torrent", "torznab"};
constexpr std::size_t longest_name = 24;

bool is_name_byte(char c) {
  return is_alnum(c) || c == '-' || c == '_' || c == '.' || c == ':';
}

/// The prefix and local name of a tag that begins at `at` + 1.
struct TagName {
  std::string_view prefix, local;
};

TagName tag_name(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && is_name_byte(text[end])) ++end;
  const std::string_view name = text.substr(at + 1, end - at - 1);
  const std::size_t colon = name.find(':');
  if (colon == npos) return {};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

bool may_count(const TagName& name) {
  return std::ranges::find(usual_prefixes, name.prefix) != usual_prefixes.end() &&
         (is_counter(name.prefix, name.local) || is_named_attribute(name.prefix, name.local));
}

/// The attribute `name` of a start tag, "" if it has none.
std::string_view name_in(std::string_view tag) {
  constexpr std::string_view attribute = " name=";
  const std::size_t at = tag.find(attribute), open = at + attribute.size();
  if (at == npos || open >= tag.size()) return {};
  const std::string_view value = tag.substr(open + 1);
  return value.substr(0, value.find(tag[open]));
}

/// Whether an element that may_count() is a counter.
bool counts(const TagName& name, std::string_view element) {
  if (is_named_attribute(name.prefix, name.local)) {
    return is_counter(name.prefix, name_in(element.substr(0, element.find('>'))));
  }
  if (counts_with_words(name.prefix, name.local)) return true;
  constexpr std::string_view cdata = "<![CDATA[";
  while (!element.empty()) {
    const std::size_t open = element.find('<');
    if (has_words(element.substr(0, open))) return false;
    if (open == npos) break;
    element.remove_prefix(open);
    const std::size_t close = element.starts_with(cdata) ? cdata.size() - 1 : element.find('>');
    if (close == npos) break;
    element.remove_prefix(close + 1);
  }
  return true;
}

/// The position after the element that begins at `at`; npos if it is not closed.
std::size_t end_of_element(std::string_view text, std::size_t at, const TagName& name) {
  const std::size_t close = text.find('>', at);
  if (close == npos || text[close - 1] == '/') return close == npos ? npos : close + 1;
  const std::string end = "</" + std::string(name.prefix) + ":" + std::string(name.local);
  const std::size_t last = text.find(end, close);
  const std::size_t behind = last == npos ? npos : text.find('>', last);
  return behind == npos ? npos : behind + 1;
}

/// The position after the comment or CDATA section that begins at `at`; `at` if none begins there.
std::size_t end_of_opaque(std::string_view text, std::size_t at) {
  for (const auto& [open, close] :
       {std::pair<std::string_view, std::string_view>{"<![CDATA[", "]]>"}, {"<!--", "-->"}}) {
    if (text.substr(at, open.size()) != open) continue;
    const std::size_t end = text.find(close, at + open.size());
    return end == npos ? text.size() : end + close.size();
  }
  return at;
}

/// Appends a tag without its `thr:` attributes: reply links carry the counters thr:count and thr:updated (RFC 4685 §4).
void append_tag(std::string& out, std::string_view tag) {
  for (std::size_t at = tag.find(" thr:"); at != npos; at = tag.find(" thr:")) {
    const std::size_t open = tag.find_first_of("\"'", at);
    const std::size_t close = open == npos ? npos : tag.find(tag[open], open + 1);
    if (close == npos) break;
    out += tag.substr(0, at);
    tag.remove_prefix(close + 1);
  }
  out += tag;
}

}  // namespace

bool is_counter(std::string_view prefix, std::string_view local_name) {
  if (local_name.size() > longest_name) return false;
  std::string name;
  for (const char c : local_name) {
    if (c != '-' && c != '_') name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (std::ranges::binary_search(counter_names, std::string_view(name))) return true;
  return std::ranges::find(usual_prefixes, prefix) != usual_prefixes.end() &&
         std::ranges::binary_search(usual_counter_names, std::string_view(name));
}

bool is_named_attribute(std::string_view prefix, std::string_view local_name) {
  return local_name == "attr" && (prefix == "torznab" || prefix == "newznab");
}

bool counts_with_words(std::string_view prefix, std::string_view local_name) {
  return prefix == "media" && local_name == "community";
}

bool has_words(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return is_alpha(c) || static_cast<unsigned char>(c) >= 0x80; });
}

bool may_have_counters(std::string_view start_tags) {
  return std::ranges::any_of(usual_prefixes, [&](std::string_view prefix) {
    const std::string declaration = "xmlns:" + std::string(prefix) + "=";
    return start_tags.find(declaration) != npos;
  });
}

std::string_view without_counters(std::string_view item, std::string& buffer) {
  buffer.clear();
  std::size_t copied = 0;
  int searched = 0;  // elements that stay although the rest was searched for their end
  for (std::size_t at = item.find('<'); at != npos && searched < 8; at = item.find('<', at)) {
    if (const std::size_t behind = end_of_opaque(item, at); behind != at) {
      at = behind;
      continue;
    }
    const TagName name = tag_name(item, at);
    const std::size_t close = std::min(item.find('>', at), item.size());
    const bool may = may_count(name);
    std::size_t behind = may ? end_of_element(item, at, name) : npos;
    if (behind != npos && !counts(name, item.substr(at, behind - at))) {
      if (behind != close + 1) ++searched;
      behind = npos;
    } else if (may && behind == npos) {
      ++searched;
    }
    if (behind != npos) {
      buffer += item.substr(copied, at - copied);
      copied = at = behind;
    } else {
      const std::string_view tag = item.substr(at, close - at);
      if (tag.find(" thr:") != npos) {
        buffer += item.substr(copied, at - copied);
        append_tag(buffer, tag);
        copied = close;
      }
      at = close;
    }
  }
  if (copied == 0) return item;
  buffer += item.substr(copied);
  return buffer;
}

}  // namespace feedmill
