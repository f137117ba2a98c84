// A topic as a document: Atom (RFC 4287, paging of RFC 5005 §3) or JSON Feed 1.1 (WEBSUB U1, U16, U17).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "worker/republish/topic_page.hpp"

namespace feedmill {

/// Absolute URLs, "" = none, of the rendered page; JSON Feed uses self, hub and next.
struct TopicLinks {
  std::string self, hub, first, next, previous;
};

struct TopicDocument {
  std::string body;
  std::string content_type;                               ///< with charset if the format has one
  std::string etag;                                       ///< strong, with quotes: of the body
  std::optional<std::chrono::sys_seconds> last_modified;  ///< newest change of its posts; absent without posts
};

std::string_view content_type_of(TopicFormat format);

/// Pure; linear in the page. The body is always valid RFC 4287 or JSON Feed 1.1 in UTF-8: values that the format cannot
/// express are omitted.
///
/// Contains of a post: title, summary, content, link, comments, language, authors, categories, enclosures, both dates,
/// its feed, and the stores that it came through, ours last; in Atom also contributors, rights, licence, further links
/// and the comments feed, in JSON Feed both pictures and external_url. Omits `media` and `extensions`, which are not
/// sanitised.
TopicDocument render_topic(const TopicPage& page, TopicFormat format, const TopicLinks& links);

/// Bytes that a post of the page takes in its document. If they exceed `most`, removes the content; if they still do,
/// everything except title, dates, author, language and link. Pure.
std::size_t fit_post(RepublishedEntry& entry, const TopicPage& page, TopicFormat format, std::size_t most);

}  // namespace feedmill
