#include "parsers/feed/fields.hpp"

#include <algorithm>

#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

bool set_text(const Reading& in, Slot slot, Text& field, TextKind kind) {
  Text text = read_text(in, kind);
  // An empty element does not replace an existing value.
  if (text.value.empty() && field.present && !field.value.empty()) return true;
  if (field.present && field.value.empty()) in.target.yield(slot, false);
  if (!take(in, slot)) return false;
  field = std::move(text);
  return true;
}

bool set_date(const Reading& in, Slot slot, Date& field) {
  Date date = read_date(in.text());
  if (date.raw.empty()) return true;
  // A readable date wins over an unreadable one.
  if (field.time && !date.time) return false;
  if (!field.time && date.time && field.present()) in.target.yield(slot, true);
  if (!take(in, slot, true)) return false;
  field = std::move(date);
  return true;
}

Text* subtitle_of(Target& target) {
  if (target.feed != nullptr) return &target.feed->subtitle;
  return target.source != nullptr ? &target.source->subtitle : nullptr;
}

// Rank of an alternate link: HTML pages, which are for people, win over other types.
int alternate_rank(const Link& link) {
  if (link.type.empty() || link.type == "text/html" || link.type == "application/xhtml+xml") return 1;
  return 2;
}

Content to_content(Text text) {
  return {std::move(text.value), text.type, std::move(text.base), std::move(text.language), {}, {}};
}

bool summary(const Reading& in, TextKind kind) {
  if (in.target.entry == nullptr) return read_subtitle(in);
  Entry& entry = *in.target.entry;
  Text text = read_text(in, kind);
  if (text.value.empty() && entry.summary.present) return true;
  if (entry.summary.present && !entry.summary.value.empty() && in.rank == 0 &&
      in.target.ranks[static_cast<std::size_t>(Slot::summary)] == 1) {
    // A second description: both are kept, as summary and content.
    if (text.value == entry.summary.value) return true;
    if (!entry.content.empty()) return false;
    append(in, entry.content, to_content(std::move(text)));
    return true;
  }
  if (entry.summary.present && entry.summary.value.empty()) in.target.yield(Slot::summary, false);
  if (!take(in, Slot::summary)) return false;
  entry.summary = std::move(text);
  return true;
}

}  // namespace

bool read_title(const Reading& in) {
  return set_text(in, Slot::title, in.target.common.title, TextKind::plain);
}
bool read_rights(const Reading& in) {
  return set_text(in, Slot::rights, place_of(in, in.target.common.rights), TextKind::plain);
}
bool read_info(const Reading& in) {
  return set_text(in, Slot::info, place_of(in, in.target.common.info), TextKind::plain);
}

bool read_subtitle(const Reading& in) {
  Text* field = subtitle_of(in.target);
  return field != nullptr ? set_text(in, Slot::subtitle, *field, TextKind::plain) : summary(in, TextKind::plain);
}

bool read_html_subtitle(const Reading& in) {
  Text* field = subtitle_of(in.target);
  return field != nullptr && set_text(in, Slot::subtitle, *field, TextKind::html);
}

bool read_summary(const Reading& in) {
  return summary(in, TextKind::plain);
}
bool read_html_summary(const Reading& in) {
  return summary(in, TextKind::html);
}

bool read_html_content(const Reading& in) {
  if (in.target.entry == nullptr) return read_html_subtitle(in);
  if (in.target.entry->content.size() < 16)
    append(in, in.target.entry->content, to_content(read_text(in, TextKind::html)));
  return true;
}

bool read_published(const Reading& in) {
  return set_date(in, Slot::published, in.target.common.published);
}
bool read_updated(const Reading& in) {
  return set_date(in, Slot::updated, in.target.common.updated);
}
bool read_created(const Reading& in) {
  return set_date(in, Slot::created, place_of(in, in.target.common.created));
}
bool read_expired(const Reading& in) {
  return set_date(in, Slot::expired, place_of(in, in.target.common.expired));
}

bool read_language(const Reading& in) {
  std::string language = in.text();
  if (language.empty()) return true;
  if (language.size() <= 16) std::replace(language.begin(), language.end(), '_', '-');
  if (!take(in, Slot::language)) return false;
  in.target.common.language = std::move(language);
  return true;
}

void set_link(const Reading& in, const std::string& url, int rank) {
  if (url.empty() || !in.target.take(Slot::link, rank)) return;
  in.target.common.link = url;
  in.xml.allowance().take(url);
}

void add_page(const Reading& in, int rank) {
  Link link;
  link.href = in.url("href");
  if (link.href.empty()) return;
  set_link(in, link.href, rank);
  add_link(in, std::move(link));
}

bool set_image(const Reading& in, std::string url) {
  if (!take(in, Slot::image)) return false;
  Image image;
  image.url = std::move(url);
  place_of(in, in.target.common.image) = std::move(image);
  return true;
}

Link link_of(const Reading& in, std::string href) {
  return {std::move(href),          in.attribute("rel"),   in.attribute("type"),
          in.attribute("hreflang"), in.attribute("title"), parse_length(in.attribute("length"))};
}

// Resolves a link to another document of the feed against this document rather than the site's page; `href` becomes the
// result.
void read_feed_link(const Reading& in, std::string_view rel, std::string& href) {
  struct Relation {
    std::string_view rel;
    std::string Feed::*field;
  };
  static constexpr Relation relations[] = {{"self", &Feed::self},
                                           {"next", &Feed::next},
                                           {"prev", &Feed::prev},
                                           {"previous", &Feed::prev},
                                           {"first", &Feed::first},
                                           {"last", &Feed::last},
                                           {"prev-archive", &Feed::prev_archive}};
  const auto* const relation = std::ranges::find(relations, rel, &Relation::rel);
  const bool is_relation = relation != std::end(relations);
  if (!is_relation && rel != "hub") return;
  Feed& feed = *in.target.feed;
  if (std::string url = in.xml.url_beside_document(in.attribute("href")); !url.empty()) href = std::move(url);
  if (!is_relation) {
    if (feed.hubs.size() < 16) feed.hubs.push_back(href);
  } else if ((feed.*relation->field).empty()) {
    feed.*relation->field = href;
  }
}

void add_link(const Reading& in, Link link) {
  Common& common = in.target.common;
  if (link.rel.empty()) link.rel = "alternate";
  const std::string rel = lower(link.rel);
  if (!link.href.empty()) {
    if (rel == "alternate" || rel == "http://www.iana.org/assignments/relation/alternate") {
      set_link(in, link.href, in.rank + alternate_rank(link));
    } else if (rel == "enclosure" && common.enclosures.size() < max_links) {
      Enclosure enclosure;
      enclosure.url = link.href;
      enclosure.type = link.type;
      enclosure.title = link.title;
      enclosure.length = link.length;
      in.xml.allowance().take(enclosure.url);
      in.xml.allowance().take(enclosure.title);
      append(in, common.enclosures, std::move(enclosure));
    } else if (rel == "license" && common.licenses.size() < max_links) {
      in.xml.allowance().take(link.href);
      append(in, common.licenses, link.href);
    } else if (rel == "replies" && in.target.entry != nullptr) {
      in.xml.allowance().take(link.href);
      const bool page = link.type == "text/html" || link.type == "application/xhtml+xml";
      if (page && in.target.take(Slot::comments, 5)) in.target.entry->comments = link.href;
      if (!page && in.target.take(Slot::comments_feed, 5)) in.target.entry->comments_feed = link.href;
    } else if (in.target.feed != nullptr) {
      read_feed_link(in, rel, link.href);
    }
  }
  if (common.links.size() < max_links) append(in, common.links, std::move(link));
}

bool read_link(const Reading& in) {
  if (in.target.common.links.size() >= max_links) return true;  // checked before any link is resolved
  std::string url = in.url();
  if (url.empty() && in.xml.has_attribute(in.node, "href")) url = in.url("href");  // Atom's form
  if (url.empty()) url = in.xml.url(in.xml.attribute(in.node, Ns::rdf, "resource"));
  if (url.empty()) return in.text().empty();
  Link link = link_of(in, std::move(url));
  if (link.rel.empty()) set_link(in, link.href, in.rank);
  add_link(in, std::move(link));
  return true;
}

Person read_person(const Reading& in) {
  // The avatar in any of its forms: Blogger's gd:image, media:thumbnail, GNU social's link, an avatar element.
  const auto avatar = [&](pugi::xml_node node, std::string_view name) -> std::string {
    if (iequals(name, "image")) return in.xml.url(in.xml.attribute(node, "src"));
    if (iequals(name, "thumbnail")) return in.xml.url(in.xml.attribute(node, "url"));
    if (iequals(name, "avatar")) return in.xml.url(in.xml.text(node));
    if (!iequals(name, "link") || !iequals(in.xml.attribute(node, "rel"), "avatar")) return {};
    return in.xml.url(in.xml.attribute(node, "href"));
  };
  Person person;
  for (const pugi::xml_node child : ChildElements(in.node)) {
    const XmlDocument::Scope scope(in.xml, child);
    const XmlName name = in.xml.name(child);
    std::string value = in.xml.text(child);
    const bool is_avatar = person.avatar.empty() && !(person.avatar = avatar(child, name.local)).empty();
    if (iequals(name.local, "name") && person.name.empty()) {
      person.name = fold_space(value);
    } else if (iequals(name.local, "email") && person.email.empty()) {
      person.email = istarts_with(value, "mailto:") ? value.substr(7) : value;
    } else if ((iequals(name.local, "uri") || iequals(name.local, "url") || iequals(name.local, "homepage")) &&
               person.uri.empty()) {
      person.uri = in.xml.url(value);
    } else if (name.ns != Ns::core || !is_avatar) {
      add_extension(in.xml, child, name, in.target.common.extensions);
    }
  }
  if (person.name.empty() && person.email.empty() && person.uri.empty()) {
    std::string picture = std::move(person.avatar);
    person = parse_person(in.xml.deep_text(in.node));
    person.avatar = std::move(picture);
  }
  return person;
}

bool read_author(const Reading& in) {
  return add_author(in, read_person(in));
}

bool read_contributor(const Reading& in) {
  Person person = read_person(in);
  if (person != Person{} && in.target.common.contributors.size() < 64) {
    append(in, in.target.common.contributors, std::move(person));
  }
  return true;
}

bool read_publisher(const Reading& in) {
  Person person = read_person(in);
  if (person == Person{}) return true;
  if (!take(in, Slot::publisher)) return false;
  place_of(in, in.target.common.publisher) = std::move(person);
  return true;
}

bool read_category(const Reading& in) {
  std::string term = in.attribute("term");
  std::string scheme = in.attribute("scheme");
  std::string label = in.attribute("label");
  if (scheme.empty()) scheme = in.attribute("domain");
  if (term.empty()) term = in.text();
  add_category(in.xml.allowance(), in.target.common.categories, std::move(term), std::move(scheme), std::move(label));
  return true;
}

bool read_generator(const Reading& in) {
  Generator generator;
  generator.name = in.text();
  generator.version = in.attribute("version");
  generator.uri = in.url("uri");
  if (generator.uri.empty()) generator.uri = in.url("url");
  if (generator == Generator{}) return true;
  if (!take(in, Slot::generator)) return false;
  place_of(in, in.target.common.generator) = std::move(generator);
  return true;
}

bool read_identifier(const Reading& in) {
  std::string id = in.text();
  if (id.empty()) return true;
  if (!take(in, Slot::id)) return false;
  // The id is opaque, but a relative reference means nothing outside its document.
  if (id.front() == '/' || id.starts_with("./") || id.starts_with("../")) {
    id = in.xml.effective_base().resolve(id);
    in.xml.allowance().take(id);
  }
  in.target.common.id = std::move(id);
  return true;
}

bool read_comments(const Reading& in) {
  if (in.target.entry == nullptr) return false;
  const std::string text = in.text();
  if (text.find_first_of(" \n\t") != std::string::npos) return false;  // prose, not a URL
  std::string url = in.xml.url(text);
  if (url.empty()) return text.empty();
  if (url == in.target.entry->comments) return true;
  if (!take(in, Slot::comments)) return false;
  in.target.entry->comments = std::move(url);
  return true;
}

bool read_error_reports_to(const Reading& in) {
  if (in.target.feed == nullptr) return false;
  std::string value = in.xml.attribute(in.node, Ns::rdf, "resource");
  if (value.empty()) value = in.text();
  if (in.target.feed->error_reports_to.empty()) in.target.feed->error_reports_to = std::move(value);
  return true;
}

bool read_nothing(const Reading&) {
  return true;
}

}  // namespace feedmill
