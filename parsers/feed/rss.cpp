// RSS 0.90 to 2.0 including RSS 1.0 and 1.1, which differ only in layout: the vocabulary, and documents with items
// inside the channel or next to it.
#include "parsers/feed/fields.hpp"
#include "parsers/feed/formats.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

// RSS 2.0, "guid": a permalink unless isPermaLink is "false". If isPermaLink is "true" and an xml:base is in force, any
// reference is the URL of the page; the post's id stays as written.
bool read_guid(const Reading& in) {
  if (in.target.entry == nullptr) return false;
  std::string guid = in.text();
  const std::string declared = in.attribute("isPermaLink");
  const bool permalink = !iequals(declared, "false");
  if (guid.empty() || !take(in, Slot::id)) return guid.empty();
  in.target.entry->guid_is_permalink = permalink;
  const bool reference = guid.front() == '/' || guid.starts_with("./") || guid.starts_with("../");
  if (permalink && reference) {
    guid = in.xml.effective_base().resolve(guid);
    in.xml.allowance().take(guid);
  }
  const bool page = iequals(declared, "true") && !in.xml.base().empty() && url_scheme(guid).empty() &&
                    guid.find_first_of(" \n\t") == std::string::npos;
  if (permalink && (page || is_http_url(guid))) set_link(in, page ? in.xml.url(guid) : guid, 30);
  in.target.common.id = std::move(guid);
  return true;
}

// RSS 2.0, "enclosure": url, length and type are attributes; some publishers write the URL as text.
bool read_enclosure(const Reading& in) {
  if (in.target.common.enclosures.size() >= max_links) return true;
  Enclosure enclosure;
  enclosure.url = in.url("url");
  if (enclosure.url.empty()) enclosure.url = in.url("href");
  if (enclosure.url.empty()) enclosure.url = in.url();
  enclosure.type = in.attribute("type");
  enclosure.length = parse_length(in.attribute("length"));
  enclosure.title = in.attribute("title");
  if (enclosure.url.empty()) return true;
  in.xml.allowance().take(enclosure.url);
  in.xml.allowance().take(enclosure.title);
  append(in, in.target.common.links,
         {enclosure.url, "enclosure", enclosure.type, {}, enclosure.title, enclosure.length});
  append(in, in.target.common.enclosures, std::move(enclosure));
  return true;
}

// RSS 2.0, "source": the title is the element's text, the feed's URL an attribute. Atom's source has child elements.
bool read_source(const Reading& in) {
  if (in.target.entry == nullptr || !in.target.entry->source.empty()) return false;
  Source source;
  Target target(source);
  const ChildElements children(in.node);
  if (!children.empty()) {
    read_children(in.xml, in.node, target, source_table());
  } else if (!in.text().empty()) {
    read_title({in.xml, target, in.node, in.name, 0});
  }
  source.url = in.url("url");
  append(in, in.target.entry->source, std::move(source));
  return true;
}

// Added to the rank of an image that has only a URL, or no URL: a complete image then replaces it.
constexpr int half_image = 30;

bool read_image(const Reading& in) {
  Image image;
  for (const pugi::xml_node child : ChildElements(in.node)) {
    const XmlDocument::Scope scope(in.xml, child);
    const XmlName name = in.xml.name(child);
    const std::string value = in.xml.text(child);
    if ((iequals(name.local, "url") || iequals(name.local, "href")) && image.url.empty()) {
      image.url = in.xml.url(value);
    } else if (iequals(name.local, "title") && (image.title.empty() || name.ns == Ns::core)) {
      image.title = value;
    } else if (iequals(name.local, "link")) {
      image.link = in.xml.url(value);
    } else if (iequals(name.local, "width")) {
      image.width = parse_integer(value);
    } else if (iequals(name.local, "height")) {
      image.height = parse_integer(value);
    } else if (iequals(name.local, "description")) {
      image.description = value;
    }
  }
  if (image.url.empty()) image.url = in.url("href");
  if (image.url.empty()) image.url = in.url("url");
  if (image.url.empty() && is_http_url(in.text())) image.url = in.url();
  if (image == Image{}) {
    // RSS 1.0 §5.3.3: a channel refers to the image element next to it, which has the details.
    const std::string resource = in.xml.attribute(in.node, Ns::rdf, "resource");
    std::string url = in.xml.url(resource);
    Reading reference = kept(in);
    reference.rank += half_image;
    if (!url.empty()) set_image(reference, std::move(url));
    return resource.empty();
  }
  Rare<Image>& held = in.target.common.image;
  if (image.url.empty() && held && held->title.empty()) {  // the title belongs to the image of another element
    held->title = std::move(image.title);
    return false;
  }
  Reading ranked = in;
  if (image.url.empty()) ranked.rank += half_image;
  if (!take(ranked, Slot::image)) return false;
  place_of(in, in.target.common.image) = std::move(image);
  return true;
}

bool read_text_input(const Reading& in) {
  if (in.target.feed == nullptr) return false;
  TextInput input;
  for (const pugi::xml_node child : ChildElements(in.node)) {
    const XmlDocument::Scope scope(in.xml, child);
    const std::string_view name = in.xml.name(child).local;
    const std::string value = in.xml.text(child);
    if (iequals(name, "title")) input.title = value;
    if (iequals(name, "description")) input.description = value;
    if (iequals(name, "name")) input.name = value;
    if (iequals(name, "link")) input.link = in.xml.url(value);
  }
  if (input == TextInput{}) return true;
  if (!take(in, Slot::text_input)) return false;
  in.target.feed->text_input = std::move(input);
  return true;
}

bool read_cloud(const Reading& in) {
  if (in.target.feed == nullptr || !take(in, Slot::cloud)) return false;
  in.target.feed->cloud = Cloud{in.attribute("domain"), in.attribute("port"), in.attribute("path"),
                                in.attribute("registerProcedure"), in.attribute("protocol")};
  return true;
}

bool read_docs(const Reading& in) {
  if (in.target.feed == nullptr || !take(in, Slot::docs)) return false;
  in.target.feed->docs = in.url();
  return true;
}

bool read_ttl(const Reading& in) {
  if (in.target.feed == nullptr) return false;
  const std::optional<std::int64_t> ttl = parse_integer(in.text());
  if (!ttl) return in.text().empty();
  if (!take(in, Slot::ttl)) return ttl == in.target.feed->ttl;
  in.target.feed->ttl = ttl;
  return true;
}

bool read_rating(const Reading& in) {
  if (in.target.feed == nullptr || !take(in, Slot::rating)) return false;
  in.target.feed->rating = in.text();
  return true;
}

// RSS 0.91 counts hours from 1 to 24, others from 0 to 23.
bool read_skip_hours(const Reading& in) {
  if (in.target.feed == nullptr) return false;
  for (const pugi::xml_node child : ChildElements(in.node)) {
    const std::optional<std::int64_t> hour = parse_integer(in.xml.text(child));
    if (hour && *hour >= 0 && *hour <= 24 && in.target.feed->skip_hours.size() < 64) {
      in.target.feed->skip_hours.push_back(static_cast<int>(*hour));
    }
  }
  return true;
}

bool read_skip_days(const Reading& in) {
  if (in.target.feed == nullptr) return false;
  for (const pugi::xml_node child : ChildElements(in.node)) {
    std::string day = in.xml.text(child);
    if (!day.empty() && in.target.feed->skip_days.size() < 16) in.target.feed->skip_days.push_back(std::move(day));
  }
  return true;
}

// The new address of a feed that has moved; only absolute web URLs are accepted.
bool read_new_location(const Reading& in) {
  if (in.target.feed == nullptr) return false;
  std::string url = in.text();
  if (url.empty()) {
    for (const pugi::xml_node child : ChildElements(in.node)) url = in.xml.text(child);
  }
  in.target.feed->new_location = is_http_url(url) ? url : std::string{};
  return true;
}

constexpr ElementRow rss_common_elements[] = {
    {Ns::core, "title", read_title},
    {Ns::core, "link", read_link},
    {Ns::core, "category", read_category},
    {Ns::core, "pubdate", read_published},
    {Ns::core, "lastbuilddate", read_updated, 2},
    {Ns::core, "author", read_author},
    {Ns::core, "managingeditor", read_author},
    {Ns::core, "webmaster", read_publisher},
    {Ns::core, "copyright", read_rights},
    {Ns::core, "language", read_language, 1},
    {Ns::core, "expirationdate", read_expired},
    {Ns::core, "image", read_image},
    {Ns::core, "generator", read_generator},
    {Ns::core, "enclosure", read_enclosure},
};

constexpr ElementRow rss_feed_elements[] = {
    {Ns::core, "description", read_html_subtitle},
    {Ns::core, "tagline", read_subtitle, 1},
    {Ns::core, "docs", read_docs},
    {Ns::core, "cloud", read_cloud},
    {Ns::core, "ttl", read_ttl},
    {Ns::core, "rating", read_rating},
    {Ns::core, "textinput", read_text_input},
    {Ns::core, "skiphours", read_skip_hours},
    {Ns::core, "skipdays", read_skip_days},
    {Ns::core, "errorreportsto", read_error_reports_to},
    {Ns::core, "newlocation", read_new_location},
    {Ns::core, "items", read_nothing},  // RSS 1.0 §5.3.5: an index of the items, which follow the channel
};

constexpr ElementRow rss_entry_elements[] = {
    {Ns::core, "description", read_html_summary}, {Ns::core, "guid", read_guid},
    {Ns::core, "comments", read_comments},        {Ns::core, "source", read_source},
    {Ns::core, "fullitem", read_html_content},    {Ns::core, "body", read_html_content},
};

bool is_item(const XmlName& name) {
  return name.ns == Ns::core && (iequals(name.local, "item") || iequals(name.local, "entry"));
}

bool is_channel(const XmlName& name) {
  return name.ns == Ns::core && iequals(name.local, "channel");
}

// The URLs that the document gives for itself: its page, which is the base of paths if there is no other, and its own
// URL (rel="self").
struct OwnAddresses {
  std::string site, self;
};

OwnAddresses own_addresses(XmlDocument& xml, pugi::xml_node channel) {
  OwnAddresses found;
  for (const pugi::xml_node node : ChildElements(channel)) {
    if (!iequals(std::string_view(node.name()).substr(std::string_view(node.name()).rfind(':') + 1), "link")) continue;
    const XmlDocument::Scope scope(xml, node);
    const XmlName name = xml.name(node);
    if (name.ns != Ns::core && name.ns != Ns::atom) continue;
    std::string url = xml.text(node);
    if (url.empty()) url = xml.attribute(node, "href");
    if (!is_http_url(url)) continue;
    const std::string rel = xml.attribute(node, "rel");
    std::string& field = iequals(rel, "self") ? found.self : found.site;
    if (field.empty() && (rel.empty() || iequals(rel, "self") || iequals(rel, "alternate"))) field = std::move(url);
  }
  return found;
}

class RssReader {
 public:
  RssReader(XmlDocument& xml, Feed& feed, XmlItems& items) : xml_(xml), feed_(feed), items_(items), target_(feed) {}

  void read(pugi::xml_node root) {
    // Any element, including items, may be inside the channel or next to it.
    set_base(root);
    if (const XmlName name = xml_.name(root); is_channel(name)) {
      read_channel(root);
      read_stray_items();
      return;
    }
    for (const pugi::xml_node node : ChildElements(root)) {
      if (xml_.allowance().spent()) break;
      const XmlDocument::Scope scope(xml_, node);
      const XmlName name = xml_.name(node);
      if (is_channel(name)) {
        read_channel(node);
      } else {
        read_part(node, name, 20);
      }
    }
    read_stray_items();
  }

 private:
  void set_base(pugi::xml_node root) {
    pugi::xml_node channel = root;
    for (const pugi::xml_node node : ChildElements(root)) {
      const XmlDocument::Scope scope(xml_, node);
      if (is_channel(xml_.name(node))) channel = node;
    }
    std::size_t items = 0;
    for (const pugi::xml_node list : {channel, root}) {
      for (const pugi::xml_node node : ChildElements(list)) items += may_be_entry(node) ? 1 : 0;
    }
    reserve_entries(feed_, items, xml_.allowance());
    OwnAddresses own = own_addresses(xml_, channel);
    if (xml_.document_base().empty()) {
      xml_.set_document_base(std::move(own.self));
      xml_.set_site(std::move(own.site));
    } else if (!own.site.empty()) {
      xml_.set_document_base(std::move(own.site));
    }
  }

  void read_channel(pugi::xml_node channel) {
    std::string about = xml_.attribute(channel, Ns::rdf, "about");
    if (!about.empty() && target_.take(Slot::id, 1)) feed_.id = std::move(about);
    if (!xml_.language().empty() && target_.take(Slot::language, 0)) feed_.language = xml_.language();
    for (const pugi::xml_node node : ChildElements(channel)) {
      if (xml_.allowance().spent()) return;
      const XmlDocument::Scope scope(xml_, node);
      read_part(node, xml_.name(node), 0);
    }
  }

  void read_part(pugi::xml_node node, const XmlName& name, int rank) {
    if (is_item(name)) {
      pass_over_or_read(node);
      return;
    }
    // RSS 1.1 and some others wrap the items in a list.
    if (name.ns == Ns::core && iequals(name.local, "items")) {
      for (const pugi::xml_node child : ChildElements(node)) {
        if (xml_.allowance().spent()) return;
        const XmlDocument::Scope scope(xml_, child);
        if (is_item(xml_.name(child))) pass_over_or_read(child);
      }
      return;
    }
    const ElementTable::Match match = feed_table(Ns::rss).find(name.ns, name.local);
    read_element(match, {xml_, target_, node, name, match.rank + rank});
  }

  // Reads items inside foreign elements (FeedSync conflicts, private wrappers), which count as entries, too.
  void read_stray_items() {
    for (const pugi::xml_node item : xml_.take_stray_items()) {
      if (xml_.allowance().spent()) return;
      const XmlDocument::Scope scope(xml_, item);
      read_item(item, 0);
    }
  }

  void pass_over_or_read(pugi::xml_node item) {
    const std::uint64_t hash = items_.hash(item);
    if (!items_.pass_over(hash)) read_item(item, hash);
  }

  void read_item(pugi::xml_node item, std::uint64_t hash) {
    Entry* const made = new_entry(feed_, xml_.allowance());
    if (made == nullptr) return;
    Entry& entry = *made;
    entry.item_hash = hash;
    Target target(entry);
    std::string about = xml_.attribute(item, Ns::rdf, "about");
    if (!about.empty() && target.take(Slot::id, 5)) entry.id = std::move(about);
    const std::string own = xml_.attribute(item, Ns::xml, "lang");
    if (!own.empty() && target.take(Slot::language, 0)) entry.language = xml_.language();
    read_children(xml_, item, target, entry_table(Ns::rss));
  }

  XmlDocument& xml_;
  Feed& feed_;
  XmlItems& items_;
  Target target_;
};

}  // namespace

constinit const std::span<const ElementRow> rss_rows = rss_common_elements;
constinit const std::span<const ElementRow> rss_feed_rows = rss_feed_elements;
constinit const std::span<const ElementRow> rss_entry_rows = rss_entry_elements;

void parse_rss(XmlDocument& xml, Feed& feed, XmlItems& items) {
  const XmlDocument::Scope scope(xml, xml.root());
  xml.set_core(Ns::rss);
  RssReader(xml, feed, items).read(xml.root());
}

}  // namespace feedmill
