// The small namespaces: Dublin Core, content, Creative Commons, feedburner, wfw, syndication, admin, Podlove chapters.
// Elements with fields of their own are read here; others (podcast:*, prism:*, slash:*, thr:* …) have no row and become
// extensions unchanged.
#include "parsers/feed/fields.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

// Dublin Core in RDF: text, or a description with a value and its taxonomy (RSS 1.0 module taxonomy).
bool read_subject(const Reading& in) {
  const ChildElements children(in.node);
  if (children.empty()) {
    add_category(in.xml.allowance(), in.target.common.categories, in.text(), {}, {});
    return true;
  }
  for (const pugi::xml_node description : children) {
    std::string term, scheme;
    for (const pugi::xml_node part : ChildElements(description)) {
      const std::string resource = in.xml.attribute(part, Ns::rdf, "resource");
      if (!resource.empty()) {
        scheme = resource;
      } else {
        term = in.xml.text(part);
      }
    }
    add_category(in.xml.allowance(), in.target.common.categories, std::move(term), std::move(scheme), {});
  }
  return true;
}

bool read_dc_author(const Reading& in) {
  return add_author(in, parse_person(in.xml.deep_text(in.node)));
}

bool read_dc_contributor(const Reading& in) {
  Person person = parse_person(in.xml.deep_text(in.node));
  auto& contributors = in.target.common.contributors;
  if (person != Person{} && contributors.size() < limits::people) append(in, contributors, std::move(person));
  return true;
}

bool read_dc_publisher(const Reading& in) {
  Person person = parse_person(in.xml.deep_text(in.node));
  if (person == Person{} || !take(in, Slot::publisher)) return false;
  place_of(in, in.target.common.publisher) = std::move(person);
  return true;
}

// DCMI Period: "start=…; end=…; scheme=…".
bool read_valid(const Reading& in) {
  const std::string text = in.text();
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view part = take_until(rest, ';');
    const std::string_view key = trim(take_until(part, '='));
    if (iequals(key, "start")) place_of(in, in.target.common.valid_from) = read_date(std::string(trim(part)));
    if (iequals(key, "end")) place_of(in, in.target.common.valid_until) = read_date(std::string(trim(part)));
  }
  return false;  // all dcterms elements are also kept as extensions
}

template <ElementReader read>
bool and_extension(const Reading& in) {
  read(kept(in));
  return false;
}

bool read_license(const Reading& in) {
  std::string url = in.xml.url(in.xml.attribute(in.node, Ns::rdf, "resource"));
  if (url.empty() && in.text().find_first_of(" \n\t") == std::string::npos) url = in.url();  // else a name
  if (url.empty()) return false;
  auto& licenses = in.target.common.licenses;
  if (licenses.size() < 16 && std::find(licenses.begin(), licenses.end(), url) == licenses.end()) {
    append(in, licenses, std::move(url));
  }
  return true;
}

// The page that feedburner's link redirects to. It replaces that link, whichever comes first.
bool read_original_link(const Reading& in) {
  std::string url = in.url();
  if (url.empty()) return false;
  if (in.target.take(Slot::link, 0, true)) in.target.common.link = std::move(url);
  return true;
}

bool read_original_enclosure(const Reading& in) {
  std::string url = in.url();
  if (url.empty()) return true;
  // normalise.cpp moves the URL into the first enclosure, which may follow this element.
  append(in, in.target.common.extensions, {"feedburner", "origEnclosureLink", std::move(url), {}, {}});
  return true;
}

bool read_comment_api(const Reading& in) {
  if (in.target.entry == nullptr) return false;
  if (in.target.entry->comment_api.empty()) in.target.entry->comment_api = in.url();
  return true;
}

bool read_comments_feed(const Reading& in) {
  if (in.target.entry == nullptr || !in.target.take(Slot::comments_feed, 0)) return false;
  in.target.entry->comments_feed = in.url();
  return true;
}

template <std::string Syndication::*field>
bool read_syndication(const Reading& in) {
  if (in.target.feed == nullptr) return false;
  auto& syndication = in.target.feed->syndication;
  if (!syndication) syndication.emplace();
  (*syndication).*field = in.text();
  return false;  // also kept as an extension
}

bool read_generator_agent(const Reading& in) {
  Generator generator;
  generator.uri = in.xml.url(in.xml.attribute(in.node, Ns::rdf, "resource"));
  generator.name = generator.uri.empty() ? in.text() : generator.uri;
  if (generator == Generator{} || !take(in, Slot::generator)) return false;
  place_of(in, in.target.common.generator) = std::move(generator);
  return true;
}

// Podlove Simple Chapters 1.2. The first list is used; further ones become extensions.
bool read_chapters(const Reading& in) {
  if (!take(in, Slot::chapters)) return false;
  in.target.common.chapters_version = in.attribute("version");
  for (const pugi::xml_node child : ChildElements(in.node)) {
    const XmlDocument::Scope scope(in.xml, child);
    const XmlName name = in.xml.name(child);
    if (name.ns != Ns::psc || !iequals(name.local, "chapter") || in.target.common.chapters.size() >= 1024) continue;
    Chapter chapter;
    chapter.start_raw = in.xml.attribute(child, "start");
    chapter.start = parse_duration(chapter.start_raw);
    chapter.title = in.xml.attribute(child, "title");
    chapter.href = in.xml.url(in.xml.attribute(child, "href"));
    chapter.image = in.xml.url(in.xml.attribute(child, "image"));
    append(in, in.target.common.chapters, std::move(chapter));
  }
  return true;
}

bool read_dc_description(const Reading& in) {
  return in.target.entry != nullptr ? read_summary(in) : read_subtitle(in);
}

bool read_play_author(const Reading& in) {
  add_author(in, read_person(in), AuthorIs::stand_in);
  return false;
}

bool read_play_image(const Reading& in) {
  std::string url = in.url("href");
  if (!url.empty()) set_image(kept(in), std::move(url));
  return false;
}

// RFC 6721 §3. Also kept as an extension, where consumers of the JSON find at:by and at:comment.
bool read_deleted_entry(const Reading& in) {
  DeletedEntry deleted{in.attribute("ref"), {}};
  deleted.when.raw = in.attribute("when");
  deleted.when.time = parse_date(deleted.when.raw);
  if (!deleted.guid.empty() && in.target.feed->deleted.size() < limits::deletions) {
    append(in, in.target.feed->deleted, std::move(deleted));
  }
  return false;
}

// The stores that a re-published post has passed through (WEBSUB U17). Invalid ids are ignored.
bool read_via(const Reading& in) {
  if (in.target.entry == nullptr) return false;
  add_via(in.xml.allowance(), *in.target.entry, in.text());
  return true;
}

constexpr ElementRow module_common_elements[] = {
    {Ns::dc, "title", read_title, 1},
    {Ns::dc, "creator", read_dc_author, 1},
    {Ns::dc, "author", read_dc_author, 2},
    {Ns::dc, "contributor", read_dc_contributor},
    {Ns::dc, "publisher", read_dc_publisher, 1},
    {Ns::dc, "subject", read_subject},
    {Ns::dc, "rights", read_rights, 2},
    {Ns::dc, "date", read_updated, 3},
    {Ns::dc, "language", read_language, 2},
    {Ns::dc, "description", read_dc_description, 2},
    {Ns::dc, "identifier", read_identifier, 6},
    {Ns::dcterms, "title", and_extension<read_title>, 2},
    {Ns::dcterms, "creator", and_extension<read_dc_author>, 3},
    {Ns::dcterms, "contributor", and_extension<read_dc_contributor>},
    {Ns::dcterms, "publisher", and_extension<read_dc_publisher>, 2},
    {Ns::dcterms, "subject", and_extension<read_subject>},
    {Ns::dcterms, "language", and_extension<read_language>, 3},
    {Ns::dcterms, "description", and_extension<read_dc_description>, 3},
    {Ns::dcterms, "created", and_extension<read_created>, 1},
    {Ns::dcterms, "issued", and_extension<read_published>, 2},
    {Ns::dcterms, "modified", and_extension<read_updated>, 4},
    {Ns::dcterms, "date", and_extension<read_updated>, 5},
    {Ns::dcterms, "valid", read_valid},
    {Ns::dcterms, "license", and_extension<read_license>},
    {Ns::dcterms, "rights", and_extension<read_rights>, 3},
    {Ns::cc, "license", read_license},
    {Ns::creative_commons, "license", read_license},
    {Ns::feedburner, "origlink", read_original_link},
    {Ns::feedburner, "origenclosurelink", read_original_enclosure},
    {Ns::feedburner, "browserfriendly", read_info, 1},
    {Ns::admin, "generatoragent", read_generator_agent, 1},
    {Ns::admin, "errorreportsto", read_error_reports_to},
    {Ns::psc, "chapters", read_chapters},
    {Ns::googleplay, "author", read_play_author, 5},
    {Ns::googleplay, "image", read_play_image, 8},
    {Ns::googleplay, "description", and_extension<read_dc_description>, 5},
};

constexpr ElementRow module_feed_elements[] = {
    {Ns::sy, "updateperiod", read_syndication<&Syndication::update_period>},
    {Ns::sy, "updatefrequency", read_syndication<&Syndication::update_frequency>},
    {Ns::sy, "updatebase", read_syndication<&Syndication::update_base>},
    {Ns::tombstones, "deleted-entry", read_deleted_entry},
};

constexpr ElementRow module_entry_elements[] = {
    {Ns::content, "encoded", read_html_content}, {Ns::xhtml, "body", read_html_content},
    {Ns::xhtml, "div", read_html_content},       {Ns::wfw, "comment", read_comment_api},
    {Ns::wfw, "commentrss", read_comments_feed}, {Ns::feedmill, "via", read_via},
};

}  // namespace

constinit const std::span<const ElementRow> module_rows = module_common_elements;
constinit const std::span<const ElementRow> module_feed_rows = module_feed_elements;
constinit const std::span<const ElementRow> module_entry_rows = module_entry_elements;

}  // namespace feedmill
