#include "storage/records/shared_fields.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/entry_values.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

/// Whether the link has that relation and target.
template <class OneLink>
bool says(const OneLink& link, std::string_view rel, std::string_view href) {
  return link.href == href && iequals(link.rel, rel);
}

/// The document's links that no other field contains.
std::vector<Link> further_links(const Common& common, const LinkFields& fields) {
  const std::string_view license = common.licenses.empty() ? std::string_view() : common.licenses.front();
  std::vector<Link> further;
  const auto is_told = [&](std::string_view rel, std::string_view href) {
    const auto is_same = [&](const auto& link) { return says(link, rel, href); };
    const auto is_file = [&](const Enclosure& file) { return file.url == href; };
    return href.empty() || is_same(NamedLink{"alternate", common.link, {}}) ||
           is_same(NamedLink{"license", license, {}}) || std::ranges::any_of(fields.told, is_same) ||
           (fields.enclosures && iequals(rel, "enclosure") && std::ranges::any_of(common.enclosures, is_file));
  };
  for (const Link& link : common.links) {
    if (!is_told(link.rel, link.href)) further.push_back(link);
  }
  const auto add = [&](const NamedLink& link) {
    const auto is_same = [&](const Link& one) { return says(one, link.rel, link.href); };
    if (link.href.size() > limits::url || is_told(link.rel, link.href) || std::ranges::any_of(further, is_same)) return;
    further.push_back({std::string(link.href), std::string(link.rel), std::string(link.type), {}, {}, {}});
  };
  for (const std::string& other : common.licenses) add({"license", other, {}});
  std::ranges::for_each(fields.also, add);
  return further;
}

}  // namespace

Fields shared_fields(const Common& common, const LinkFields& link_fields) {
  Fields fields;
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) fields.emplace_back(name, std::move(value));
  };
  if (!common.authors.empty()) add("authors", people_json(*common.authors));
  if (!common.categories.empty()) add("categories", categories_json(common.categories));
  if (!common.contributors.empty()) add("contributors", people_json(common.contributors));
  add("image", picture_address(common));
  if (!common.licenses.empty()) add("license", common.licenses.front());
  const std::vector<Link> links = further_links(common, link_fields);
  if (!links.empty()) add("links", links_json(links));
  if (common.media) add("media", media_json(*common.media));
  if (common.publisher) add("publisher", person_json(*common.publisher));
  if (common.rights) add("rights", readable_text(common.rights->value, common.rights->type));
  return fields;
}

}  // namespace feedmill
