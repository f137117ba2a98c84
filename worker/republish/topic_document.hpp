// A topic as a document: Atom (RFC 4287, paging of RFC 5005 §3) or JSON Feed 1.1 (WEBSUB U1, U16, U17).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "worker/republish/topic_page.hpp"

namespace feedmill {

/// Absolute URLs, "" = there is none. They are those of the page that is rendered; JSON Feed names self, hub and next.
struct TopicLinks {
  std::string self, hub, first, next, previous;
};

struct TopicDocument {
  std::string body;
  std::string content_type;                               ///< with charset where the format has one
  std::string etag;                                       ///< strong, quotes included: of the body
  std::optional<std::chrono::sys_seconds> last_modified;  ///< the newest change of its posts; absent without posts
};

std::string_view content_type_of(TopicFormat format);

/// Pure; linear in the page. Whatever is stored, the body is valid RFC 4287 or JSON Feed 1.1 in UTF-8: values that the
/// format cannot say are left out.
///
/// Of a post go out: title, summary, content, link, comments, language, authors, categories, enclosures, both dates,
/// the feed it is from, and the stores that it came through, ours last; as Atom contributors, rights, licence, further
/// links and the feed of comments, too, as JSON Feed both pictures and external_url. `media` and `extensions` do not:
/// nothing in them is sanitised.
TopicDocument render_topic(const TopicPage& page, TopicFormat format, const TopicLinks& links);

/// How many bytes a post of the page takes in its document. Where that is more than `most`, its content is taken out of
/// it; where it still is, all but title, dates, author, language and link. Pure.
std::size_t fit_post(RepublishedEntry& entry, const TopicPage& page, TopicFormat format, std::size_t most);

}  // namespace feedmill
