#include <algorithm>
#include <functional>
#include <unordered_map>

#include <openssl/sha.h>

#include "parsers/feed/formats.hpp"
#include "parsers/feed/item_hash.hpp"
#include "parsers/feed/reading.hpp"
#include "parsers/markup/sanitise.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/holders.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

using IsSafe = bool (*)(std::string_view);

std::string sha256_hex(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

// The longest prefix of raw markup within `max` bytes that ends outside any character, tag and reference.
std::string_view markup_prefix(std::string_view markup, std::size_t max) {
  std::string_view kept = utf8_prefix(markup, max);
  const std::size_t open = kept.rfind('<');
  if (open != std::string_view::npos && kept.find('>', open) == std::string_view::npos) kept = kept.substr(0, open);
  const std::size_t reference = kept.rfind('&');
  if (reference != std::string_view::npos && kept.size() - reference < 32 &&
      kept.find(';', reference) == std::string_view::npos) {
    kept = kept.substr(0, reference);
  }
  return kept;
}

class Normaliser {
 public:
  Normaliser(Feed& feed, const NormaliseOptions& options, Allowance& allowance)
      : feed_(feed), options_(options), allowance_(allowance) {
    atom_ = feed.format >= Format::atom01 && feed.format <= Format::atom;
    json_ = feed.format == Format::json1 || feed.format == Format::json11;
  }

  void run() {
    const bool own_address = is_http_url(feed_.link) && feed_.link.size() <= limits::url;
    const SharedText feed_base = own_address ? feed_.link : std::string(options_.document_base);
    common(feed_, feed_base);
    markup(feed_.subtitle, feed_base, {}, limits::description);
    close_addresses_of_feed();
    for (DeletedEntry& deleted : feed_.deleted) {
      fold_lines(deleted.guid);
      deleted.guid = storable_guid(std::move(deleted.guid));
    }
    SmallArena arena;
    std::pmr::unordered_map<std::string_view, const Entry*> seen(&arena);  // first post of each guid
    for (Entry& entry : feed_.entries) {
      const bool own_page =
          is_http_url(entry.link) && entry.link.size() <= limits::url && entry.link != entry.external_url;
      allowance_.take(192);  // a digest for the guid, and its slot in `seen`
      identity(entry);
      const std::uint64_t flaws = count_flaws();
      const SharedText base = own_page && afford(entry.link.size() + 64) ? SharedText(entry.link) : feed_base;
      truncated_ = &entry.truncated;
      common(entry, base);
      markup(entry.summary, base, "summary", limits::summary);
      for (Content& content : entry.content) {
        clean(content, base, "content", limits::content);
        close(content.src, is_safe_url);
      }
      for (const EntryPage& page : entry_pages) {
        close(entry.*page.url, is_safe_url);
        if (!options_.whole_values) drop_long_url(page.name, entry.*page.url);
      }
      truncated_ = nullptr;
      for (Source& source : entry.source) {
        common(source, base);
        markup(source.subtitle, base, {}, limits::description);
        close(source.url, is_safe_url);
        if (!options_.whole_values) drop_long_url({}, source.url);
      }
      const bool has_name = !entry.id.empty() || !entry.link.empty();
      if (!has_name || count_flaws() != flaws) entry.item_hash = 0;
      const auto [first, is_new] = seen.emplace(entry.guid, &entry);
      if (is_new) continue;
      add_flaw(feed_, Flaw::duplicate_guid);
      // Two items with the same guid are distinguished by their links (DESIGN §5); a repeated item counts once.
      if (!entry.link.empty() && entry.link != entry.guid && entry.link != first->second->link) {
        entry.guid = guid_beside(entry.guid, entry.link);
        seen.emplace(entry.guid, &entry);
      }
    }
    if (!options_.whole_values) {
      spell(feed_);
      spell(feed_.subtitle.language);
      for (Entry& entry : feed_.entries) spell(entry);  // last: guids are made from links as written
    }
    for (Entry& entry : feed_.entries) inherit(entry);
  }

 private:
  std::uint64_t count_flaws() const {
    std::uint64_t all = 0;
    for (const auto& [flaw, count] : feed_.flaws) all += count;
    return all;
  }

  void common(Common& common, const SharedText& base) {
    markup(common.title, base, "title", limits::title);
    if (!is_markup(common.title.type)) fold_lines(common.title.value);
    fold_lines(common.id);
    for (Category& category : common.categories) {
      fold_lines(category.term);
      fold_lines(category.label);
    }
    if (common.rights) markup(*common.rights, base, "rights", limits::description);
    if (common.info) markup(*common.info, base, {}, limits::summary);
    if (!common.authors.empty()) common.author = shown(common.authors->front());
    if (common.geo && common.geo->type.empty()) common.geo->coordinates.clear();  // half a point
    original_enclosure(common);
    enclosures(common);
    close_addresses(common);
    for (const Date* date : {&common.published, &common.updated, common.created ? &*common.created : nullptr,
                             common.expired ? &*common.expired : nullptr}) {
      if (date == nullptr || !date->present()) continue;
      if (!date->time || has_unknown_zone(date->raw)) add_flaw(feed_, Flaw::date);
    }
    if (!options_.whole_values) cap(common);
  }

  void cap(Common& common) {
    drop_long_url("link", common.link);
    for (std::string* url : {&common.icon, &common.logo, &common.favicon}) drop_long_url({}, *url);
    drop_long_url("banner_image", common.banner_image);
    if (common.image) drop_long_url("image", common.image->url);
    drop_long_urls("license", common.licenses, std::identity());
    drop_long_urls("enclosures", common.enclosures, &Enclosure::url);
    keep_first("categories", common.categories, limits::categories);
    keep_first("enclosures", common.enclosures, limits::enclosures);
    cap_links(common.links);
    keep_first("license", common.licenses, limits::links);
    if (common.author->size() > limits::author) shorten("author", common.author.edit(), limits::author);
    if (common.language->size() > limits::word) shorten("language", common.language.edit(), limits::word);
    if (!common.authors.empty()) cap_people("authors", common.authors.edit());
    cap_people("contributors", common.contributors);
    if (common.publisher) cap_person("publisher", *common.publisher);
    for (Category& category : common.categories) {
      shorten("categories", category.term, limits::category);
      shorten("categories", category.label, limits::category);
      shorten("categories", category.scheme, limits::url);
    }
    for (Enclosure& enclosure : common.enclosures) {
      shorten("enclosures", enclosure.title, limits::author);
    }
  }

  // Enclosures and the post's own page have fields of their own, so dropping such links loses nothing.
  void cap_links(std::vector<Link>& links) {
    std::size_t kept = 0;
    std::erase_if(links, [&](const Link& link) {
      const bool is_long = link.href.size() > limits::url;
      if (!is_long && kept++ < limits::links) return false;
      const bool is_missed = !iequals(link.rel, "enclosure") && !iequals(link.rel, "alternate");
      lost(is_missed ? "links" : "", is_long ? Flaw::url : Flaw::truncated);
      return true;
    });
    for (Link& link : links) {
      shorten("links", link.rel, limits::author);
      shorten("links", link.hreflang, limits::word);
      shorten("links", link.title, limits::author);
    }
  }

  void cap_people(std::string_view field, std::vector<Person>& people) {
    keep_first(field, people, limits::people);
    for (Person& person : people) cap_person(field, person);
  }

  void cap_person(std::string_view field, Person& person) {
    shorten(field, person.name, limits::author);
    shorten(field, person.email, limits::author);
    drop_long_url(field, person.uri);
    drop_long_url(field, person.avatar);
  }

  template <class Edit>
  static void for_each_person(Common& common, Edit edit) {
    if (!common.authors.empty()) std::ranges::for_each(common.authors.edit(), edit);
    std::ranges::for_each(common.contributors, edit);
    if (common.publisher) edit(*common.publisher);
    if (common.itunes && common.itunes->owner) edit(*common.itunes->owner);
  }

  // Visits every URL but those of Media RSS, with the check that it must pass: `one` gets a field, `all` a list of
  // values and the projection to their URL.
  template <class One, class All>
  static void for_each_url(Common& common, One one, All all) {
    one(common.link, is_safe_url);
    for (std::string* url : {&common.icon, &common.logo, &common.favicon, &common.banner_image}) {
      one(*url, is_safe_file_url);
    }
    all(common.links, is_safe_url, &Link::href);
    all(common.licenses, is_safe_url, std::identity());
    all(common.enclosures, is_safe_file_url, &Enclosure::url);
    if (common.image) {
      one(common.image->url, is_safe_file_url);
      one(common.image->link, is_safe_url);
    }
    for_each_person(common, [&](Person& person) {
      one(person.uri, is_safe_url);
      one(person.avatar, is_safe_file_url);
    });
    if (common.generator) one(common.generator->uri, is_safe_url);
    for (Chapter& chapter : common.chapters) {
      one(chapter.href, is_safe_url);
      one(chapter.image, is_safe_file_url);
    }
    if (common.itunes) {
      one(common.itunes->image, is_safe_file_url);
      one(common.itunes->new_feed_url, is_safe_url);
    }
  }

  SharedText shown(const Person& person) {
    std::string name = display_name(person);
    if (name.empty()) name = person.uri;
    allowance_.take(name);
    return name;
  }

  // Counts a value that was cut or dropped for its size; `field` is the stored field, "" if readers do not receive it.
  void lost(std::string_view field, Flaw kind) {
    add_flaw(feed_, kind);
    if (truncated_ == nullptr || field.empty()) return;
    for (std::string_view rest = *truncated_; !rest.empty();) {
      if (take_until(rest, ' ') == field) return;
    }
    if (!truncated_->empty()) *truncated_ += ' ';
    *truncated_ += field;
  }

  void drop_long_url(std::string_view field, std::string& url) {
    if (url.size() <= limits::url) return;
    url.clear();
    lost(field, Flaw::url);
  }

  template <class Value, class Url>
  void drop_long_urls(std::string_view field, std::vector<Value>& values, Url url) {
    const auto dropped =
        std::erase_if(values, [&](const Value& value) { return std::invoke(url, value).size() > limits::url; });
    for (std::size_t i = 0; i < dropped; ++i) lost(field, Flaw::url);
  }

  void shorten(std::string_view field, std::string& value, std::size_t max) {
    if (value.size() <= max) return;
    value.resize(utf8_prefix(value, max).size());
    lost(field, Flaw::truncated);
  }

  template <class Value>
  void keep_first(std::string_view field, std::vector<Value>& values, std::size_t max) {
    if (values.size() <= max) return;
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(max), values.end());
    lost(field, Flaw::truncated);
  }

  // The final check of every URL that readers receive, whatever its source: only the schemes in the closed lists of
  // url.cpp remain.
  void close(std::string& url, IsSafe is_safe) {
    if (url.empty() || is_safe(url)) return;
    url.clear();
    add_flaw(feed_, Flaw::url);
  }

  template <class Values, class Url>
  void close_all(Values& values, IsSafe is_safe, Url url) {
    const auto is_unsafe = [&](const auto& value) { return !is_safe(std::invoke(url, value)); };
    add_flaw(feed_, Flaw::url, std::erase_if(values, is_unsafe));
  }

  void close_addresses(Common& common) {
    for_each_url(
        common, [&](std::string& url, IsSafe is_safe) { close(url, is_safe); },
        [&](auto& values, IsSafe is_safe, auto url) { close_all(values, is_safe, url); });
    if (common.media) close_addresses(*common.media);
  }

  void close_addresses(Media& media) {
    const auto address = [](const auto& attribute) {
      const bool is_address = attribute.first == "url" || attribute.first == "href";
      return is_address ? std::string_view(attribute.second) : std::string_view();
    };
    for (auto* list : {&media.content, &media.thumbnails, &media.credits, &media.peer_links}) {
      const bool files = list == &media.content || list == &media.thumbnails;
      for (Media::Attributes& attributes : *list) {
        close_all(attributes, files ? is_safe_file_url : is_safe_url, address);
      }
    }
    for (auto* one : {&media.rating, &media.license, &media.restriction, &media.player, &media.community}) {
      close_all(*one, is_safe_url, address);
    }
  }

  void close_addresses_of_feed() {
    for (std::string* url :
         {&feed_.docs, &feed_.self, &feed_.next, &feed_.prev, &feed_.first, &feed_.last, &feed_.error_reports_to}) {
      close(*url, is_safe_url);
    }
    close_all(feed_.hubs, is_safe_url, std::identity());
    if (feed_.text_input) close(feed_.text_input->link, is_safe_url);
  }

  // Converts URLs to RFC 3986, languages to BCP 47 and file types to RFC 6838 (SECURITY X5). Hub URLs stay as written.
  void spell(Entry& entry) {
    spell(static_cast<Common&>(entry));
    spell(entry.summary.language);
    for (Content& content : entry.content) {
      spell(content.language);
      spell_url(content.src);
      content.src_type = media_type(content.src_type);
    }
    for (const EntryPage& page : entry_pages) spell_url(entry.*page.url);
    for (Source& source : entry.source) {
      spell(static_cast<Common&>(source));
      spell(source.subtitle.language);
      spell_url(source.url);
    }
  }

  void spell(Common& common) {
    std::erase_if(common.categories, [](const Category& one) { return one.term.empty() && one.label.empty(); });
    for (Category& category : common.categories) spell_scheme(category.scheme);
    spell(common.language);
    spell(common.title.language);
    if (common.rights) spell(common.rights->language);
    if (common.info) spell(common.info->language);
    std::erase_if(common.links, [](const Link& link) {  // a relation type is a word or a URI (RFC 8288 §3.3)
      return !std::ranges::all_of(link.rel, [](char c) { return c > 0x20 && c < 0x7f; });
    });
    for (Link& link : common.links) {
      link.type = media_type(link.type);
      link.hreflang = language_tag(std::move(link.hreflang));
    }
    for (Enclosure& file : common.enclosures) file.type = media_type(file.type);
    for_each_url(
        common, [&](std::string& url, IsSafe) { spell_url(url); },
        [&](auto& values, IsSafe, auto url) {
          for (auto& value : values) spell_url(std::invoke(url, value));
          std::erase_if(values, [&](const auto& value) { return std::invoke(url, value).empty(); });
        });
    if (common.media) spell(*common.media);
    if (common.itunes) take_itunes_flags(*common.itunes, common.extensions);
  }

  void spell(Media& media) {
    const auto spell_all = [&](Media::Attributes& attributes) {
      for (auto& [name, value] : attributes) spell_attribute(name, value);
      std::erase_if(attributes, [](const auto& one) { return one.second.empty(); });
    };
    for (auto* list : {&media.content, &media.thumbnails, &media.credits, &media.peer_links}) {
      for (Media::Attributes& attributes : *list) spell_all(attributes);
    }
    for (auto* one : {&media.rating, &media.license, &media.restriction, &media.player, &media.community}) {
      spell_all(*one);
    }
  }

  // Normalises the value of a Media RSS attribute; "" if the attribute does not allow it.
  void spell_attribute(std::string_view name, std::string& value) {
    if (name == "url" || name == "href") spell_url(value);
    if (name == "lang") value = language_tag(std::move(value));
    if (name == "scheme") spell_scheme(value);
    if (!is_media_value(name, value)) value.clear();
  }

  static void spell(SharedText& language) {
    if (language.empty()) return;
    std::string tag = language_tag(*language);
    if (tag != *language) language = std::move(tag);
  }

  // A category's scheme may be something other than a URL: words, urn:, tag: and info: stay.
  void spell_scheme(std::string& scheme) {
    const std::string_view kind = url_scheme(scheme);
    if (kind.empty()) return;
    const bool is_name = iequals(kind, "urn") || iequals(kind, "tag") || iequals(kind, "info");
    if (!is_name && !is_safe_url(scheme)) return scheme.clear();
    spell_url(scheme);
  }

  // Converts an IRI to a URI, which may be three times as long.
  void spell_url(std::string& url) {
    const bool is_plain = std::ranges::all_of(url, [](char c) { return c > 0x20 && c < 0x7f; });
    if (!is_plain && !afford(2 * url.size() + 64)) return url.clear();
    url = uri_of(std::move(url));
  }

  // Restores the enclosure's own URL, which feedburner:origEnclosureLink gives for feedburner's redirect.
  static void original_enclosure(Common& common) {
    for (auto it = common.extensions.begin(); it != common.extensions.end(); ++it) {
      if (it->prefix != "feedburner" || it->name != "origEnclosureLink" || common.enclosures.empty()) continue;
      if (!is_http_url(it->value)) continue;  // not feedburner's element
      common.enclosures.front().url = it->value;
      common.extensions.erase(it);
      return;
    }
  }

  // Merges repeated enclosures (a link and an enclosure element for the same file).
  static void enclosures(Common& common) {
    if (common.enclosures.size() < 2) return;
    std::vector<Enclosure> kept;
    for (Enclosure& enclosure : common.enclosures) {
      const bool known =
          std::any_of(kept.begin(), kept.end(), [&](const Enclosure& k) { return k.url == enclosure.url; });
      if (!known && kept.size() < 256) kept.push_back(std::move(enclosure));
    }
    common.enclosures = std::move(kept);
  }

  void markup(Text& text, const SharedText& base, std::string_view field, std::size_t max) {
    if (text.present) clean(text, base, field, max);
  }

  // Cleans a Text or Content.
  template <class Value>
  void clean(Value& text, const SharedText& base, std::string_view field, std::size_t max) {
    if (text.base.empty()) text.base = base;
    if (!atom_ && !json_ && text.type == "text/plain" && looks_like_html(text.value)) text.type = TextType("html");
    clean(text.value, text.type, text.base, field, max);
  }

  void clean(std::string& value, TextType type, const std::string& base, std::string_view field, std::size_t max) {
    if (options_.whole_values) max = value.size() * 8 + 4096;
    max = std::min(max, value.size() + allowance_.memory() / 6);  // while it grows there are up to three copies
    allowance_.step(1 + value.size() / 8);
    if (options_.html == HtmlPolicy::raw || !is_markup(type)) {
      if (value.size() <= max) return;
      value.resize((is_markup(type) ? markup_prefix(value, max) : utf8_prefix(value, max)).size());
      lost(field, Flaw::truncated);
      return;
    }
    SanitiseOptions options;
    options.policy = options_.html;
    options.keep_class = options_.keep_class;
    options.base = base;
    options.xhtml = type == "application/xhtml+xml";
    options.max_bytes = max;
    Sanitised result = sanitise(value, options);
    allowance_.step(result.steps + result.html.size() / 8);
    if (result.html.capacity() > 64 + 2 * result.html.size()) result.html.shrink_to_fit();
    allowance_.give_back(value.capacity());
    allowance_.take(result.html.capacity());
    value = std::move(result.html);
    if (result.truncated) lost(field, Flaw::truncated);
  }

  // DESIGN §5: id, else link, else a digest of the entry's values. Before sanitising, so that no policy changes it.
  void identity(Entry& entry) {
    fold_lines(entry.id);
    if (entry.id.empty()) add_flaw(feed_, Flaw::missing_guid);
    const std::string& name = !entry.id.empty() ? entry.id : entry.link;
    if (name.size() > limits::guid || (name.size() > 64 && !afford(name.size() + 32))) {
      entry.guid = hashed_guid(name);
      return;
    }
    entry.guid = name;
    if (entry.guid.empty()) {
      std::string basis =
          entry.title.value + '\n' + (entry.published.present() ? entry.published.raw : entry.updated.raw);
      basis += '\n';
      basis += entry.content.empty() ? entry.summary.value : entry.content.front().value;
      entry.guid = "digest:" + sha256_hex(basis);
    }
  }

  // An entry inherits authors from its source or feed, and the feed's language. The value is held once,
  // but stored with each post, so each post is charged for it.
  void inherit(Entry& entry) {
    if (entry.authors.empty() && inherits_authors(feed_.format)) {
      const bool has_source = !entry.source.empty() && !entry.source.front().authors.empty();
      const Common& from = has_source ? static_cast<const Common&>(entry.source.front()) : feed_;
      std::size_t size = 0;
      for (const Person& one : *from.authors) {
        size += sizeof(Person) + one.name.size() + one.email.size() + one.uri.size() + one.avatar.size();
      }
      if (size > 0 && afford(size)) {
        entry.authors = from.authors;
        entry.author = from.author;
      }
    }
    const SharedText& language = feed_.language;
    if (!entry.language.empty() || language.empty() || language->size() > limits::word) return;
    if (afford(language->size())) entry.language = language;
  }

  // Charges `bytes` for a copy of a long value; false if the memory does not suffice.
  bool afford(std::size_t bytes) {
    if (!allowance_.affords(bytes)) return false;
    allowance_.take(bytes);
    return true;
  }

  Feed& feed_;
  const NormaliseOptions& options_;
  Allowance& allowance_;
  std::string* truncated_ = nullptr;  // of the current entry
  bool atom_ = false, json_ = false;
};

}  // namespace

std::string hashed_guid(std::string_view guid) {
  return "sha256:" + sha256_hex(guid);
}

std::string storable_guid(std::string guid) {
  return guid.size() > limits::guid ? hashed_guid(guid) : std::move(guid);
}

std::string guid_beside(const std::string& guid, const std::string& link) {
  return storable_guid(guid + ' ' + link);
}

void add_flaw(Feed& feed, Flaw flaw, std::size_t count) {
  if (count == 0) return;
  const auto more = static_cast<std::uint32_t>(std::min<std::size_t>(count, 0xFFFFFFFF));
  const auto known =
      std::find_if(feed.flaws.begin(), feed.flaws.end(), [&](const auto& counted) { return counted.first == flaw; });
  if (known == feed.flaws.end()) {
    feed.flaws.emplace_back(flaw, more);
  } else {
    known->second += more;
  }
}

void normalise(Feed& feed, const NormaliseOptions& options, Allowance& allowance) {
  Normaliser(feed, options, allowance).run();
}

void normalise(Feed& feed, const NormaliseOptions& options) {
  Allowance endless(std::size_t{1} << 40);
  normalise(feed, options, endless);
}

}  // namespace feedmill
