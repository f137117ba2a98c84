// Renders a topic as a document: Atom (RFC 4287, paging of RFC 5005 §3) or JSON Feed 1.1 (WEBSUB U1, U16, U17).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "worker/republish/topic_page.hpp"

namespace feedmill {

/// Absolute URLs of and around the rendered page, "" = none. JSON Feed uses only self, hub and next.
struct TopicLinks {
  std::string self, hub, first, next, previous;
};

/// A rendered document and its HTTP metadata.
struct TopicDocument {
  std::string body;
  std::string content_type;                               ///< with charset if the format has one
  std::string etag;                                       ///< strong, with quotes; a hash of the body
  std::optional<std::chrono::sys_seconds> last_modified;  ///< newest change of a post; absent without posts
};

std::string_view content_type_of(TopicFormat format);

/// Renders a page. The body is always valid RFC 4287 or JSON Feed 1.1 in UTF-8: values that the format cannot express
/// are omitted. Pure; linear in the page.
///
/// A post has title, summary, content, link, comments, language, authors, categories, enclosures, both dates, its feed,
/// and the stores that it passed through, ours last; in Atom also contributors, rights, licence, further links and the
/// comments feed; in JSON Feed also both pictures and external_url. `media` and `extensions` are omitted, because they
/// are not sanitised.
TopicDocument render_topic(const TopicPage& page, TopicFormat format, const TopicLinks& links);

/// Returns the bytes that a post of the page takes in its document. If they exceed `most`, first removes the content;
/// if that is not enough, everything except title, dates, author, language and link. Pure.
std::size_t fit_post(RepublishedEntry& entry, const TopicPage& page, TopicFormat format, std::size_t most);

}  // namespace feedmill
