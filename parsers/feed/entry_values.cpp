#include "parsers/feed/entry_values.hpp"

#include <algorithm>
#include <numeric>

#include "parsers/feed/formats.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_excerpt = 300;  // two or three lines

std::string_view attribute_of(const Media::Attributes& attributes, std::string_view name) {
  const auto found = std::ranges::find(attributes, name, &Element::Attribute::first);
  return found == attributes.end() ? std::string_view() : std::string_view(found->second);
}

/// The first URL of a srcset: `https://a.example/1.jpg 1500w, …`.
std::string_view first_of_srcset(std::string_view srcset) {
  srcset = trim(srcset);
  srcset = srcset.substr(0, srcset.find_first_of(" \t\n"));
  while (srcset.ends_with(',')) srcset.remove_suffix(1);
  return srcset;
}

bool is_picture(std::string_view type) {
  return istarts_with(type, "image/");
}

}  // namespace

const Content* best_content(const Entry& entry) {
  const Content* best = nullptr;
  for (const Content& content : entry.content) {
    if (content.value.empty()) continue;
    if (is_markup(content.type)) return &content;
    if (best == nullptr) best = &content;
  }
  return best;
}

std::string summary_text(const Entry& entry) {
  const bool summary = !entry.summary.value.empty();
  const Content* const content = summary ? nullptr : best_content(entry);
  if (!summary && content == nullptr) return {};
  const std::string& value = summary ? entry.summary.value : content->value;
  if (is_markup(summary ? entry.summary.type : content->type)) return plain_text(value, max_excerpt);
  std::string text = fold_space(utf8_prefix(value, 4 * max_excerpt));
  text.resize(utf8_prefix(text, max_excerpt).size());
  return text;
}

std::string canonical_address(const Entry& entry) {
  const auto named = std::find_if(entry.links.begin(), entry.links.end(), [](const Link& link) {
    return iequals(link.rel, "canonical") && is_http_url(link.href);
  });
  const std::string& link = named == entry.links.end() ? entry.link : named->href;
  return is_http_url(link) ? canonical_url(link) : std::string{};
}

std::string picture_address(const Common& common) {
  const auto is_usable = [](std::string_view url) {
    return !url.empty() && url.size() <= limits::url && is_safe_file_url(url);
  };
  if (common.image && is_usable(common.image->url)) return common.image->url;
  for (const std::string* url : {&common.banner_image, &common.logo, &common.icon}) {
    if (is_usable(*url)) return *url;
  }
  for (const Element& element : common.extensions) {
    if (element.prefix != "podcast" || (element.name != "images" && element.name != "image")) continue;
    const std::string_view srcset = first_of_srcset(attribute_of(element.attributes, "srcset"));
    for (const std::string_view url : {srcset, attribute_of(element.attributes, "href")}) {
      if (!is_http_url(url)) continue;
      std::string safe = uri_of(resolve_safe_url("", url));  // extensions hold URLs as written
      if (is_usable(safe)) return safe;
    }
  }
  if (common.media) {
    for (const Media::Attributes& thumbnail : common.media->thumbnails) {
      if (const std::string_view url = attribute_of(thumbnail, "url"); is_usable(url)) return std::string(url);
    }
    for (const Media::Attributes& file : common.media->content) {
      const bool picture = iequals(attribute_of(file, "medium"), "image") || is_picture(attribute_of(file, "type"));
      if (const std::string_view url = attribute_of(file, "url"); picture && is_usable(url)) return std::string(url);
    }
  }
  for (const Enclosure& file : common.enclosures) {
    if (is_picture(file.type) && is_usable(file.url)) return file.url;
  }
  return {};
}

// Selects which entries of a very long document are kept.

namespace {

constexpr std::size_t slack = 2000;  // extra entries gathered before the oldest are dropped: keeps the selection linear

Time date_of(const Entry& entry) {
  if (entry.updated.time) return *entry.updated.time;
  return entry.published.time.value_or(Time::min());
}

}  // namespace

bool may_be_entry(pugi::xml_node node) {
  const std::string_view name = node.name();
  return (name.size() >= 4 && iequals(name.substr(name.size() - 4), "item")) ||
         (name.size() >= 5 && iequals(name.substr(name.size() - 5), "entry"));
}

void reserve_entries(Feed& feed, std::size_t count, Allowance& allowance) {
  const std::size_t affordable = allowance.memory() / 4 * 3 / sizeof(Entry);  // entries must leave some memory
  const std::size_t room = std::min({count, max_entries + slack, affordable});
  if (room <= feed.entries.capacity()) return;
  allowance.take((room - feed.entries.capacity()) * sizeof(Entry));
  feed.entries.reserve(room);
}

Entry* new_entry(Feed& feed, Allowance& allowance) {
  std::vector<Entry>& entries = feed.entries;
  ++feed.account.entries;
  if (entries.size() >= max_entries + slack) keep_newest(entries);
  if (entries.size() == entries.capacity()) {  // the old and new buffers coexist while it grows
    const std::size_t more = std::max<std::size_t>(16, entries.size());
    const std::size_t bytes = (entries.size() + more) * sizeof(Entry);
    if (!allowance.affords(bytes)) return nullptr;
    allowance.take(more * sizeof(Entry));
    entries.reserve(entries.size() + more);
  }
  return &entries.emplace_back();
}

void keep_newest(std::vector<Entry>& entries) {
  if (entries.size() <= max_entries) return;
  std::vector<std::uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto newer = [&](std::uint32_t a, std::uint32_t b) {
    const Time first = date_of(entries[a]);
    const Time second = date_of(entries[b]);
    return first != second ? first > second : a < b;
  };
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(max_entries), order.end(), newer);
  order.resize(max_entries);
  std::sort(order.begin(), order.end());
  for (std::size_t to = 0; to < order.size(); ++to) {
    if (order[to] != to) entries[to] = std::move(entries[order[to]]);
  }
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(max_entries), entries.end());
}

}  // namespace feedmill
