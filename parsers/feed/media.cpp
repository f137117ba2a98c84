// Media RSS 1.5: the children of a group are read as the entry's own.
#include <algorithm>
#include <array>
#include <initializer_list>

#include "parsers/feed/fields.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

constexpr std::string_view media_scheme = "http://search.yahoo.com/mrss/category_schema";
constexpr std::size_t max_items = 256;

Media& media_of(const Reading& in) {
  return place_of(in, in.target.common.media);
}

// The JSON name of an attribute, where it differs from the name in Media RSS.
std::string attribute_key(std::string_view name) {
  if (iequals(name, "fileSize")) return "file_size";
  if (iequals(name, "isDefault")) return "is_default";
  if (iequals(name, "samplingrate")) return "sampling_rate";
  if (iequals(name, "framerate")) return "frame_rate";
  return lower(name);
}

Media::Attributes attributes_of(const Reading& in) {
  Media::Attributes attributes;
  for (pugi::xml_attribute a = in.node.first_attribute(); a && attributes.size() < 32; a = a.next_attribute()) {
    const std::string_view name = a.name();
    if (name.starts_with("xmlns") || name.find(':') != std::string_view::npos) continue;
    std::string value = in.xml.value(a);
    if (iequals(name, "url") || iequals(name, "href")) value = in.xml.url(value);
    if (!value.empty()) append(in, attributes, {attribute_key(name), std::move(value)});
  }
  return attributes;
}

void add_value(const Reading& in, Media::Attributes& attributes, std::string value, std::string_view key = "value") {
  if (!value.empty()) append(in, attributes, {std::string(key), std::move(value)});
}

const ElementTable& media_table() {
  static const ElementTable table{{media_rows}};
  return table;
}

/// Whether the element is stored as an attribute of the rendition that contains it.
bool is_attribute(const XmlName& name) {
  return name.ns == Ns::media && (iequals(name.local, "title") || iequals(name.local, "description"));
}

// Reads the elements inside media:content or a group, which describe the entry if it has none of its own.
void read_inside(const Reading& in, int worse, bool is_rendition = false) {
  for (const pugi::xml_node child : ChildElements(in.node)) {
    const XmlDocument::Scope scope(in.xml, child);
    const XmlName name = in.xml.name(child);
    const ElementTable::Match match = media_table().find(name.ns, name.local);
    const int rank = std::min(in.rank + worse, 120);
    const bool is_kept = is_rendition && is_attribute(name);
    if (match.read != nullptr && match.read({in.xml, in.target, child, name, match.rank + rank, is_kept})) continue;
    add_extension(in.xml, child, name, in.target.common.extensions);
  }
}

bool read_group(const Reading& in) {
  if (in.rank >= 60) return false;
  read_inside(in, 1);
  return true;
}

bool read_media_content(const Reading& in) {
  Media& media = media_of(in);
  Media::Attributes attributes = attributes_of(in);
  for (const pugi::xml_node child : ChildElements(in.node)) {  // each file may have its own title
    const XmlDocument::Scope scope(in.xml, child);
    const XmlName name = in.xml.name(child);
    if (attributes.size() >= max_items) break;
    if (is_attribute(name)) add_value(in, attributes, in.xml.text(child), lower(name.local));
  }
  if (!attributes.empty() && media.content.size() < max_items) append(in, media.content, std::move(attributes));
  if (in.rank >= 60) return false;
  read_inside(in, 20, true);
  return true;
}

template <std::vector<Media::Attributes> Media::*field>
bool read_list(const Reading& in) {
  Media::Attributes attributes = attributes_of(in);
  std::string text = in.text();
  if (field == &Media::thumbnails || field == &Media::peer_links) {
    const bool has_url = std::any_of(attributes.begin(), attributes.end(),
                                     [](const auto& a) { return a.first == "url" || a.first == "href"; });
    if (!has_url) add_value(in, attributes, in.url(), field == &Media::thumbnails ? "url" : "href");
  } else {
    add_value(in, attributes, std::move(text));
  }
  auto& list = media_of(in).*field;
  if (!attributes.empty() && list.size() < max_items) append(in, list, std::move(attributes));
  return true;
}

template <Media::Attributes Media::*field, Slot slot>
bool read_single(const Reading& in) {
  if (!take(in, slot)) return false;
  Media::Attributes& held = media_of(in).*field;
  held = attributes_of(in);
  add_value(in, held, in.text());
  return true;
}

template <std::string Media::*field, Slot slot, ElementReader read>
bool read_media_text(const Reading& in) {
  std::string& text = media_of(in).*field;
  const bool taken = take(in, slot);
  if (taken) text = in.text();
  read(kept(in));
  return (taken || in.is_kept) && !in.node.first_attribute();
}

// An element with attributes is also kept as an extension, because no field holds its url.
bool read_media_copyright(const Reading& in) {
  const bool has_attributes = static_cast<bool>(in.node.first_attribute());
  return read_rights(has_attributes ? kept(in) : in) && !has_attributes;
}

bool read_media_category(const Reading& in) {
  std::string scheme = in.attribute("scheme");
  if (scheme.empty()) scheme = media_scheme;
  std::string label = in.attribute("label");
  std::string term = in.text();
  if (!term.empty() || !label.empty()) {
    add_category(in.xml.allowance(), in.target.common.categories, std::move(term), std::move(scheme), std::move(label));
  }
  return true;
}

bool read_media_keywords(const Reading& in) {
  for (const std::string& text : {in.text(), in.attribute("text")}) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view word = trim(take_until(rest, ','));
      if (!word.empty()) add_category(in.xml.allowance(), in.target.common.categories, std::string(word), {}, {});
    }
  }
  return true;
}

// media:community: three elements with attributes, and a list of tags.
bool read_community(const Reading& in) {
  if (!take(kept(in), Slot::media_community)) return false;
  Media& media = media_of(in);
  media.community.clear();
  media.tags.clear();
  for (const pugi::xml_node child : ChildElements(in.node)) {
    const XmlDocument::Scope scope(in.xml, child);
    const XmlName name = in.xml.name(child);
    const Reading part{in.xml, in.target, child, name, in.rank};
    std::string prefix = name.local == "starRating" ? "star_rating" : lower(name.local);
    for (auto& [key, value] : attributes_of(part)) {
      std::string long_key = prefix;
      if (media.community.size() >= max_items) break;
      append(in, media.community, {long_key.append("_").append(key), std::move(value)});
      in.xml.allowance().take(media.community.back().first);
    }
    const std::string text = part.text();
    if (prefix == "tags") {
      for (std::string_view rest = text; !rest.empty() && media.tags.size() < max_items;) {
        const std::string_view tag = trim(take_until(rest, ','));
        if (tag.empty()) continue;
        append(in, media.tags, std::string(tag));
        in.xml.allowance().take(media.tags.back());
      }
    } else {
      if (media.community.size() < max_items) add_value(in, media.community, text, prefix);
    }
  }
  return false;  // keeps nested elements as extensions
}

constexpr ElementRow media_elements[] = {
    {Ns::media, "group", read_group},
    {Ns::media, "content", read_media_content},
    {Ns::media, "thumbnail", read_list<&Media::thumbnails>},
    {Ns::media, "credit", read_list<&Media::credits>},
    {Ns::media, "peerlink", read_list<&Media::peer_links>},
    {Ns::media, "rating", read_single<&Media::rating, Slot::media_rating>},
    {Ns::media, "license", read_single<&Media::license, Slot::media_license>},
    {Ns::media, "restriction", read_single<&Media::restriction, Slot::media_restriction>},
    {Ns::media, "player", read_single<&Media::player, Slot::media_player>},
    {Ns::media, "community", read_community},
    {Ns::media, "title", read_media_text<&Media::title, Slot::media_title, read_title>, 2},
    {Ns::media, "description", read_media_text<&Media::description, Slot::media_description, read_summary>, 6},
    {Ns::media, "category", read_media_category},
    {Ns::media, "keywords", read_media_keywords},
    {Ns::media, "copyright", read_media_copyright, 3},
};

}  // namespace

constinit const std::span<const ElementRow> media_rows = media_elements;

bool is_media_value(std::string_view attribute, std::string_view value) {
  using Words = std::initializer_list<std::string_view>;
  const auto is_among = [&](const Words& words) { return is_any_case_of(value, words); };
  constexpr std::array<std::string_view, 8> numbers{"file_size", "bitrate",  "frame_rate", "sampling_rate",
                                                    "channels",  "duration", "height",     "width"};
  const bool is_text = is_one_of(attribute, Words{"value", "title", "description"});
  if (!is_text && has_format_control(value)) return false;
  if (attribute == "medium") return is_among({"image", "audio", "video", "document", "executable"});
  if (attribute == "expression") return is_among({"sample", "full", "nonstop"});
  if (attribute == "is_default") return is_among({"true", "false"});
  if (!is_one_of(attribute, numbers)) return true;
  return std::ranges::all_of(value, [](char c) { return is_digit(c) || c == '.' || c == ':' || c == ',' || c == '%'; });
}

}  // namespace feedmill
