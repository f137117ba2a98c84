#include "parsers/normalise.hpp"

#include <algorithm>
#include <unordered_set>

#include <openssl/sha.h>

#include "parsers/date.hpp"
#include "parsers/reading.hpp"
#include "parsers/sanitise.hpp"
#include "parsers/strings.hpp"
#include "parsers/url.hpp"

namespace feedmill {
namespace {

// SECURITY §3
constexpr std::size_t max_guid = std::size_t{1} << 10;
constexpr std::size_t max_title = std::size_t{8} << 10;
constexpr std::size_t max_summary = std::size_t{64} << 10;
constexpr std::size_t max_content = std::size_t{1} << 20;
constexpr std::size_t max_url = 2048;
constexpr std::size_t max_author = std::size_t{1} << 10;
constexpr std::size_t max_category = 256;
constexpr std::size_t max_categories = 64;
constexpr std::size_t max_enclosures = 32;
constexpr std::size_t max_links = 32;

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

class Normaliser {
 public:
  Normaliser(Feed& feed, const NormaliseOptions& options) : feed_(feed), options_(options) {
    atom_ = feed.format >= Format::atom01 && feed.format <= Format::atom;
    json_ = feed.format == Format::json1 || feed.format == Format::json11;
  }

  void run() {
    const std::string feed_base = is_http_url(feed_.link) ? feed_.link : std::string(options_.document_base);
    common(feed_, feed_base);
    markup(feed_.subtitle, feed_base, max_summary);
    if (feed_.language.empty() && !options_.content_language.empty()) {
      feed_.language = trim(options_.content_language.substr(0, options_.content_language.find(',')));
      std::replace(feed_.language.begin(), feed_.language.end(), '_', '-');
    }
    std::unordered_set<std::string> seen;
    for (Entry& entry : feed_.entries) {
      const std::string& base = is_http_url(entry.link) ? entry.link : feed_base;
      identity(entry);
      common(entry, base);
      markup(entry.summary, base, max_summary);
      for (Content& content : entry.content) {
        content_markup(content, base);
      }
      for (Source& source : entry.source) {
        common(source, base);
        markup(source.subtitle, base, max_summary);
      }
      if (seen.insert(entry.guid).second) continue;
      flaw(Flaw::duplicate_guid);
      if (!entry.link.empty() && entry.link != entry.guid) {
        entry.guid += ' ';
        entry.guid += entry.link;  // two items under one guid are told apart by their links (DESIGN §5)
        seen.insert(entry.guid);
      }
    }
  }

 private:
  void common(Common& common, const std::string& base) {
    markup(common.title, base, max_title);
    if (!is_markup(common.title.type)) fold_lines(common.title.value);
    fold_lines(common.id);
    for (Category& category : common.categories) {
      fold_lines(category.term);
      fold_lines(category.label);
    }
    markup(common.rights, base, max_summary);
    markup(common.info, base, max_summary);
    if (!common.authors.empty()) {
      common.author = display_name(common.authors.front());
      if (common.author.empty()) common.author = common.authors.front().uri;
    }
    if (common.geo && common.geo->type.empty()) common.geo->coordinates.clear();
    original_enclosure(common);
    enclosures(common);
    for (const Date* date : {&common.published, &common.updated, &common.created, &common.expired}) {
      if (date->present() && !date->time) flaw(Flaw::date);
    }
    if (!options_.whole_values) cap(common);
  }

  void cap(Common& common) {
    drop_long_url(common.link);
    for (std::string* url : {&common.icon, &common.logo, &common.favicon, &common.banner_image}) drop_long_url(*url);
    std::erase_if(common.links, [](const Link& link) { return link.href.size() > max_url; });
    std::erase_if(common.enclosures, [](const Enclosure& enclosure) { return enclosure.url.size() > max_url; });
    shorten(common.author, max_author);
    for (std::vector<Person>* people : {&common.authors, &common.contributors}) {
      for (Person& person : *people) shorten(person.name, max_author);
    }
    for (Category& category : common.categories) {
      shorten(category.term, max_category);
      shorten(category.label, max_category);
    }
    keep_first(common.categories, max_categories);
    keep_first(common.enclosures, max_enclosures);
    keep_first(common.links, max_links);
  }

  void drop_long_url(std::string& url) {
    if (url.size() <= max_url) return;
    url.clear();
    flaw(Flaw::url);
  }

  void shorten(std::string& value, std::size_t max) {
    if (value.size() <= max) return;
    value.resize(utf8_prefix(value, max).size());
    flaw(Flaw::truncated);
  }

  template <class Value>
  void keep_first(std::vector<Value>& values, std::size_t max) {
    if (values.size() <= max) return;
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(max), values.end());
    flaw(Flaw::truncated);
  }

  // feedburner:origEnclosureLink is the address of the file that feedburner's enclosure redirects to.
  static void original_enclosure(Common& common) {
    for (auto it = common.extensions.begin(); it != common.extensions.end(); ++it) {
      if (it->prefix != "feedburner" || it->name != "origEnclosureLink" || common.enclosures.empty()) continue;
      common.enclosures.front().url = it->value;
      common.extensions.erase(it);
      return;
    }
  }

  // The same file twice (a link and an enclosure element) is one enclosure.
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

  void markup(Text& text, const std::string& base, std::size_t max) {
    if (!text.present) return;
    if (text.base.empty()) text.base = base;
    if (!atom_ && !json_ && text.type == "text/plain" && looks_like_html(text.value)) text.type = "text/html";
    clean(text.value, text.type, text.base, max);
  }

  void content_markup(Content& content, const std::string& base) {
    if (content.base.empty()) content.base = base;
    if (!atom_ && !json_ && content.type == "text/plain" && looks_like_html(content.value)) content.type = "text/html";
    clean(content.value, content.type, content.base, max_content);
  }

  void clean(std::string& value, const std::string& type, const std::string& base, std::size_t max) {
    if (options_.whole_values) max = value.size() * 8 + 4096;
    if (options_.html == HtmlPolicy::raw || !is_markup(type)) {
      if (value.size() > max) {
        value.resize(utf8_prefix(value, max).size());
        flaw(Flaw::truncated);
      }
      return;
    }
    SanitiseOptions options;
    options.policy = options_.html;
    options.keep_class = options_.keep_class;
    options.base = base;
    options.xhtml = type == "application/xhtml+xml";
    options.max_bytes = max;
    Sanitised result = sanitise(value, options);
    value = std::move(result.html);
    if (result.truncated) flaw(Flaw::truncated);
  }

  void flaw(Flaw kind) {
    for (auto& [known, count] : feed_.flaws) {
      if (known == kind) {
        ++count;
        return;
      }
    }
    feed_.flaws.emplace_back(kind, 1);
  }

  // DESIGN §5: id, else link, else a digest of what the entry says. Before sanitising, so that no policy changes it.
  void identity(Entry& entry) {
    fold_lines(entry.id);
    if (entry.id.empty()) flaw(Flaw::missing_guid);
    entry.guid = !entry.id.empty() ? entry.id : entry.link;
    if (entry.guid.empty()) {
      std::string basis =
          entry.title.value + '\n' + (entry.published.present() ? entry.published.raw : entry.updated.raw);
      basis += '\n';
      basis += entry.content.empty() ? entry.summary.value : entry.content.front().value;
      entry.guid = "digest:" + sha256_hex(basis);
    }
    if (entry.guid.size() > max_guid) entry.guid = "sha256:" + sha256_hex(entry.guid);
  }

  Feed& feed_;
  const NormaliseOptions& options_;
  bool atom_ = false, json_ = false;
};

}  // namespace

void normalise(Feed& feed, const NormaliseOptions& options) {
  Normaliser(feed, options).run();
}

}  // namespace feedmill
