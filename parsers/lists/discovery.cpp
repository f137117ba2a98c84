#include "parsers/lists/discovery.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "parsers/feed/links.hpp"
#include "parsers/markup/html_policy.hpp"
#include "parsers/markup/html_tokenizer.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/entities.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_linked = 32, most_anchors = 16, most_title_bytes = 300;

/// Media types used only for feeds.
constexpr std::array<std::string_view, 11> feed_types = {"application/rss+xml",
                                                         "application/atom+xml",
                                                         "application/feed+json",
                                                         "application/rdf+xml",
                                                         "application/x.atom+xml",
                                                         "application/x-rss+xml",
                                                         "application/rss",
                                                         "application/x-atom+xml",
                                                         "application/atom",
                                                         "text/rss",
                                                         "text/atom"};
/// Media types used for feeds and for other documents.
constexpr std::array<std::string_view, 3> shared_types = {"application/json", "application/xml", "text/xml"};

/// Elements allowed in a head; any other ends it (HTML §13.2.6.4.4).
constexpr std::array<std::string_view, 10> head_elements = {"html", "head",   "title", "base",     "link",
                                                            "meta", "script", "style", "noscript", "template"};

/// The media type without parameters, in lower case: "application/rss+xml" for `Application/RSS+XML; charset=utf-8`.
std::string media_type_of(std::string_view type) {
  return lower(trim(type.substr(0, type.find(';'))));
}

/// Whether an alternate link leads to a feed; with a shared type, or none, the URL must look like a feed, too.
bool is_feed_link(std::string_view type, std::string_view url) {
  if (is_one_of(type, feed_types)) return true;
  return (type.empty() || is_one_of(type, shared_types)) && looks_like_feed(url);
}

/// Whether a link uses a scheme for subscribing in a feed or podcast reader: feed:https://a/b, podcast://a/b.
bool has_reader_scheme(std::string_view reference) {
  constexpr std::array<std::string_view, 7> schemes = {"feed", "podcast", "podcasts", "pcast", "itpc", "rss", "atom"};
  return is_one_of(lower(url_scheme(trim(reference))), schemes);
}

/// Replaces a reader's scheme by http, or by https if the rest has no scheme. Leaves feed: to resolve_safe_url().
std::string without_reader_scheme(std::string_view reference) {
  std::string_view rest = trim(reference);
  if (!has_reader_scheme(rest) || iequals(url_scheme(rest), "feed")) return std::string(rest);
  rest.remove_prefix(rest.find(':') + 1);
  if (rest.starts_with("//")) rest.remove_prefix(2);
  return is_http_url(rest) ? std::string(rest) : "https://" + std::string(rest);
}

/// A reference on the page as an absolute URL; "" if it cannot be fetched.
std::string address(std::string_view base, std::string_view reference) {
  if (reference.size() > most_url_bytes) return {};
  std::string url = resolve_safe_url(base, without_reader_scheme(reference));
  url.resize(std::min(url.find('#'), url.size()));
  return is_http_url(url) && url.size() <= most_url_bytes ? url : std::string();
}

/// A link or anchor as written on the page; resolved once the base is known.
struct Written {
  std::string href, rel, type, title;
  bool in_head = false;
  bool is_other_shape = false;  ///< a translation of the page, or a variant for other devices
};

std::string decoded(std::string_view value) {
  std::string text;
  append_decoded(text, value, true);
  return text;
}

/// Collects a page's links and title token by token.
class Page {
 public:
  void read(std::string_view markup) {
    HtmlTokenizer tokens(markup);
    for (HtmlToken token = tokens.next(); token.kind != HtmlToken::Kind::end; token = tokens.next()) {
      if (token.kind == HtmlToken::Kind::end_tag && iequals(token.name, "head")) in_head_ = false;
      if (token.kind == HtmlToken::Kind::start_tag) start_tag(token, tokens);
    }
  }

  bool is_html = false;
  std::string title;
  std::optional<std::string> base;
  std::vector<Written> links, anchors;

 private:
  void start_tag(const HtmlToken& token, HtmlTokenizer& tokens) {
    const std::string name = lower(token.name);
    const bool of_head = is_one_of(name, head_elements);
    is_html = is_html || of_head || name == "body" || name == "a" || name == "div" || name == "p";
    if (!of_head) in_head_ = false;
    if (name == "title" && !seen_title_) {
      const std::size_t begin = tokens.offset();
      const std::string_view inside = tokens.skip_raw_text("title");
      if (tokens.next().kind == HtmlToken::Kind::end) {  // unclosed: it must not swallow the rest of the page
        tokens.rewind(begin);
      } else {
        title = fold_space(decode_references(utf8_prefix(inside, most_title_bytes)));
      }
      seen_title_ = true;
      return;
    }
    const HtmlElement* const element = find_html_element(name);
    if (name == "base" && !base) base = attributes(token).href;
    if (name == "link" && links.size() < 16 * most_linked) links.push_back(attributes(token));
    if (name == "a" && anchors.size() < 64 * most_anchors) {
      Written anchor = attributes(token);
      const bool is_feed =
          is_one_of(anchor.type, feed_types) || looks_like_feed(anchor.href) || has_reader_scheme(anchor.href);
      if (is_feed) anchors.push_back(std::move(anchor));
    }
    const bool raw = element != nullptr && element->is(HtmlElement::raw_text) && name != "plaintext";
    if (raw && name != "noscript" && !token.self_closing) tokens.skip_raw_text(name);
  }

  Written attributes(const HtmlToken& token) const {
    Written written;
    written.in_head = in_head_;
    bool seen_href = false;
    HtmlAttributes each(token.attributes);
    while (each.next()) {
      if (iequals(each.name(), "href") && !seen_href) {
        if (each.value().size() <= 4 * most_url_bytes) written.href = decoded(each.value());
        seen_href = true;
      } else if (iequals(each.name(), "rel")) {
        written.rel = lower(each.value().substr(0, most_title_bytes));
      } else if (iequals(each.name(), "type")) {
        written.type = media_type_of(each.value().substr(0, most_title_bytes));
      } else if (iequals(each.name(), "hreflang") || iequals(each.name(), "media")) {
        written.is_other_shape = true;
      } else if (iequals(each.name(), "title")) {
        written.title = fold_space(decoded(utf8_prefix(each.value(), most_title_bytes)));
      }
    }
    return written;
  }

  bool in_head_ = true, seen_title_ = false;
};

bool has_word(std::string_view words, std::string_view wanted) {
  for (std::string_view word = take_word(words); !word.empty(); word = take_word(words)) {
    if (word == wanted) return true;
  }
  return false;
}

class Gatherer {
 public:
  explicit Gatherer(PageLinks& links) : links_(links) {}

  void feed(std::string url, std::string title, std::string type, FoundIn place) {
    const auto same = [&](const FeedCandidate& one) { return one.url == url; };
    if (url.empty() || std::any_of(links_.feeds.begin(), links_.feeds.end(), same)) return;
    const bool anchor = place == FoundIn::anchor;
    std::size_t& count = anchor ? anchors_ : linked_;
    if (count == (anchor ? most_anchors : most_linked)) return;
    ++count;
    links_.feeds.push_back({std::move(url), std::move(title), std::move(type), place});
  }

  void hub(std::string url) {
    const auto& hubs = links_.hubs;
    if (url.empty() || hubs.size() == most_hubs || std::find(hubs.begin(), hubs.end(), url) != hubs.end()) return;
    links_.hubs.push_back(std::move(url));
  }

 private:
  PageLinks& links_;
  std::size_t linked_ = 0, anchors_ = 0;
};

void gather_header(const PageHints& hints, PageLinks& page, Gatherer& gatherer) {
  for (const HeaderLink& link : read_link_header(hints.link_header)) {
    if (!link.anchor.empty() && address(hints.url, link.anchor) != address(hints.url, hints.url)) continue;
    std::string url = address(hints.url, link.target);
    const bool alternate = link.has_rel("alternate") || link.has_rel("feed");
    if (link.has_rel("hub")) gatherer.hub(url);
    if (link.has_rel("self") && page.self.empty()) page.self = url;
    if (alternate && is_feed_link(media_type_of(link.type), url)) {
      gatherer.feed(std::move(url), link.title, media_type_of(link.type), FoundIn::link_header);
    }
  }
}

}  // namespace

std::string_view to_string(FoundIn place) {
  constexpr std::array<std::string_view, 5> names = {"itself", "link_header", "link_tag", "well_known", "anchor"};
  return names[static_cast<std::size_t>(place)];
}

PageLinks read_page(std::string_view body, const PageHints& hints) {
  const Decoded document = decode_document(body, hints.content_type);
  Page read;
  read.read(document.text);
  PageLinks page;
  page.is_html = read.is_html;
  page.title = std::move(read.title);
  Gatherer gatherer(page);
  gather_header(hints, page, gatherer);
  const bool header_says_hub = !page.hubs.empty();
  std::string self;
  std::string base = read.base ? resolve_safe_url(hints.url, *read.base) : std::string();
  if (!is_http_url(base)) base = hints.url;
  std::vector<FeedCandidate> doubtful;
  for (Written& link : read.links) {
    std::string url = address(base, link.href);
    if (!header_says_hub && link.in_head && has_word(link.rel, "hub")) gatherer.hub(url);
    if (link.in_head && has_word(link.rel, "self") && self.empty()) self = url;
    const bool alternate = has_word(link.rel, "alternate") || has_word(link.rel, "feed");
    if (!alternate || has_word(link.rel, "stylesheet")) continue;
    if (is_feed_link(link.type, url)) {
      gatherer.feed(std::move(url), std::move(link.title), std::move(link.type), FoundIn::link_tag);
    } else if (!link.is_other_shape &&
               (link.type.empty() || link.type == "text/xml" || link.type == "application/xml")) {
      doubtful.push_back({std::move(url), std::move(link.title), std::move(link.type), FoundIn::link_tag});
    }
  }
  for (FeedCandidate& one : doubtful) {
    if (one.url != hints.url)
      gatherer.feed(std::move(one.url), std::move(one.title), std::move(one.type), one.found_in);
  }
  // WebSub: the self link comes from the place that names the hub, else from the other place.
  if (!self.empty() && (!header_says_hub || page.self.empty())) page.self = std::move(self);
  // Prefer feeds on the page's own host: pages also link to feeds of other sites.
  const std::string_view host = split_url(hints.url).authority;
  for (const bool own : {true, false}) {
    for (const Written& anchor : read.anchors) {
      std::string url = address(base, anchor.href);
      if (iequals(split_url(url).authority, host) != own) continue;
      gatherer.feed(std::move(url), anchor.title, anchor.type, FoundIn::anchor);
    }
  }
  return page;
}

std::vector<std::string> well_known_feeds(std::string_view page_url) {
  constexpr std::array<std::string_view, 8> paths = {"/feed",     "/feed/",     "/feed.xml", "/rss.xml",
                                                     "/atom.xml", "/index.xml", "/rss",      "/feed.json"};
  std::vector<std::string> urls;
  const auto add = [&](std::string url) {
    if (is_http_url(url) && std::ranges::find(urls, url) == urls.end()) urls.push_back(std::move(url));
  };
  for (const std::string_view path : paths) add(resolve_url(page_url, path.substr(1)));
  for (const std::string_view path : paths) add(resolve_url(page_url, path));
  return urls;
}

bool is_of_comments(std::string_view title, std::string_view url) {
  constexpr std::array<std::string_view, 24> words = {
      "comments", "kommentar", "commentaires", "comentarios", "comentários", "commenti",  "reacties",  "komentarz",
      "komentář", "kommentti", "kommentit",    "hozzászól",   "yorum",       "комментар", "Комментар", "коментар",
      "Коментар", "σχόλι",     "コメント",     "评论",        "評論",        "留言",      "댓글",      "تعليق"};
  const UrlParts parts = split_url(url);
  const std::string path = lower(parts.path), query = lower(parts.query);
  const bool by_address = path.find("/comments/") != path.npos || path.ends_with("/comments") ||
                          path.ends_with("/comments.xml") || path.ends_with("/comments.rss") ||
                          path.ends_with("/comments.atom") || query.find("feed=comments") != query.npos;
  constexpr std::string_view arrow = "\u00bb";  // in WordPress titles, followed by the kind of feed
  const std::size_t last = title.rfind(arrow);
  const std::string which = lower(last == title.npos ? title : title.substr(last + arrow.size()));
  return by_address ||
         std::ranges::any_of(words, [&](std::string_view word) { return which.find(word) != which.npos; });
}

bool looks_like_feed(std::string_view url) {
  const UrlParts parts = split_url(url);
  const std::string query = lower(parts.query);
  for (const std::string_view word :
       {"feed=", "format=rss", "format=atom", "format=feed", "type=rss", "type=atom", "output=rss", "output=atom"}) {
    if (query.find(word) != std::string::npos) return true;
  }
  std::string_view path = parts.path;
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::string name = lower(path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1));
  if (name.find("sitemap") != std::string::npos) return false;
  constexpr std::array<std::string_view, 5> endings = {".rss", ".atom", ".rdf", ".xml", ".rss2"};
  if (std::any_of(endings.begin(), endings.end(), [&](std::string_view end) { return name.ends_with(end); })) {
    return true;
  }
  // "feed" and the like as a whole word: "feed", "rss2", "feed.json", "blog-feed"; not "feedback".
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of("-_.+"), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (word == "feed" || word == "feeds" || word == "rss" || word == "rss2" || word == "atom" || word == "rdf") {
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace feedmill
