// The feeds that a web page offers, and what it says about its hub. Finds addresses; nothing is ever fetched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// How a page's feed came to be known, the surest first.
enum class FoundIn { itself, link_header, link_tag, well_known, anchor };

/// "itself", "link_header", "link_tag", "well_known", "anchor".
std::string_view to_string(FoundIn place);

/// An address that may be a feed's: who wants to know asks for it.
struct FeedCandidate {
  std::string url;          ///< absolute http or https
  std::string title, type;  ///< as the page says, "" when it does not
  FoundIn found_in{};
};

/// What a page links to. `feeds`: Link headers, link tags, anchors, each in document order and each address once.
struct PageLinks {
  bool is_html = false;  ///< markup of a page was there
  std::string title;
  std::vector<FeedCandidate> feeds;  ///< at most 32 of headers and tags, 16 of anchors; those of a feed's type first
  std::vector<std::string> hubs;     ///< WebSub: of headers, else of the head (a body may hold what visitors wrote)
  std::string self;                  ///< likewise; "" when none is named
};

/// What is known of a page besides its bytes. The views must live until read_page returns.
struct PageHints {
  std::string_view url;           ///< where the bytes came from, after redirects; absolute
  std::string_view content_type;  ///< its charset counts
  std::string_view link_header;   ///< all Link lines, joined by ", "
};

/// Reads a page, however broken its markup: `<base>`, `<link rel=alternate>` and `rel=feed` with a feed's type, those
/// with text/xml or no type that are no translation and no other shape of the page, `<a>` whose address or type says
/// feed. `feed:`, `podcast://` and the like are read as http addresses. Comments, scripts and styles are passed over.
/// Links about other things (an `anchor` that is not the page) are ignored. Linear in body; pure; throws only
/// std::bad_alloc.
PageLinks read_page(std::string_view body, const PageHints& hints);

/// Where sites keep their feed without saying so: addresses below the page's directory and at its host's root, the
/// most usual first.
std::vector<std::string> well_known_feeds(std::string_view page_url);

/// Whether a feed is of readers' comments, by its address or by a title in one of the languages of WordPress that are
/// used most: "Blog » Comments Feed", "Kommentare zu: Hafen", "/comments/feed/", "/feeds/1/comments/default".
bool is_of_comments(std::string_view title, std::string_view url);

/// Whether the words of an address say feed (feed, rss, atom, rdf, xml as its last part, or in its query).
bool looks_like_feed(std::string_view url);

}  // namespace feedmill
