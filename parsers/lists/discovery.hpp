// Finds the feeds and the hub that a web page offers. Never fetches anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// How a page's feed was found, most reliable first.
enum class FoundIn { itself, link_header, link_tag, well_known, anchor };

/// "itself", "link_header", "link_tag", "well_known", "anchor".
std::string_view to_string(FoundIn place);

/// A URL that may be a feed's; only fetching it can tell.
struct FeedCandidate {
  std::string url;          ///< absolute http or https
  std::string title, type;  ///< as given on the page, "" if absent
  FoundIn found_in{};
};

/// A page's links. `feeds` come from Link headers, link tags and anchors, each in document order, each URL once.
struct PageLinks {
  bool is_html = false;  ///< the body has a page's markup
  std::string title;
  std::vector<FeedCandidate> feeds;  ///< at most 32 from headers and tags, 16 from anchors; feed types first
  std::vector<std::string> hubs;     ///< WebSub: from headers, else the head (visitors may have written the body)
  std::string self;                  ///< from headers, else the head; "" if absent
};

/// What the caller knows about a page in addition to its bytes. The views must stay valid until read_page() returns.
struct PageHints {
  std::string_view url;           ///< where the bytes came from, after redirects; absolute
  std::string_view content_type;  ///< its charset is used
  std::string_view link_header;   ///< all Link lines, joined by ", "
};

/// Finds the feeds and hub of a page, however broken its markup: `<base>`; `<link rel=alternate>` and `rel=feed` with a
/// feed's type, or with text/xml or no type unless it is a translation or device variant of the page; `<a>` with a URL
/// or type that looks like a feed. Takes `feed:`, `podcast://` and similar URLs as http. Skips comments, scripts and
/// styles, and links about other resources (an `anchor` other than the page). Linear in body; pure; throws only
/// std::bad_alloc.
PageLinks read_page(std::string_view body, const PageHints& hints);

/// Usual feed URLs of sites that do not link to them: below the page's directory and at the host's root, the most usual
/// first.
std::vector<std::string> well_known_feeds(std::string_view page_url);

/// Whether a feed contains readers' comments, judging by its URL, or by its title in one of the most used languages of
/// WordPress: "Blog » Comments Feed", "Kommentare zu: Hafen", "/comments/feed/", "/feeds/1/comments/default".
bool is_of_comments(std::string_view title, std::string_view url);

/// Whether a URL looks like a feed's: feed, rss, atom, rdf or xml is its last part or in its query.
bool looks_like_feed(std::string_view url);

}  // namespace feedmill
