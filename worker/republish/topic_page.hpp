// The posts of a topic, a page at a time, as far as others may have them (WEBSUB U1, U15).
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/records/stored_entry.hpp"
#include "storage/records/topic.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

enum class TopicFormat { atom, json };

/// How large a document may be that is made of a page.
struct DocumentBound {
  TopicFormat format{};
  std::size_t bytes = 0;
};

/// A text of a feed or a post: plain, or sanitised HTML.
struct TopicText {
  std::string value;
  bool is_html = false;

  std::string plain() const;
  bool operator==(const TopicText&) const = default;
};

/// A feed that posts of a page are from.
struct TopicSource {
  std::string feed_url;  ///< "" when it holds a secret: nobody is told
  std::string id;        ///< urn:uuid:…, of the feed as a topic
  TopicText title;       ///< its address where it has none that is visible
  std::string link, author;
};

/// A post as it is re-published.
struct RepublishedEntry {
  std::string id;          ///< Entry:<n>, the key in the store
  std::string urn;         ///< urn:uuid:…, the same for ever
  Fields fields;           ///< as stored; markup that other rules than today's have stored is sanitised by today's
  std::size_t source = 0;  ///< in TopicPage::sources
};

struct TopicPage {
  Topic topic;
  std::string store_id;  ///< Store::id()
  std::string id;        ///< urn:uuid:…, the same for ever
  TopicText title, description;
  std::string link, language, image, author;
  std::optional<std::chrono::sys_seconds> updated;  ///< the newest change of the entries; absent without one
  std::vector<TopicSource> sources;
  std::vector<RepublishedEntry> entries;
  std::optional<EntryCursor> next;  ///< behind the last that was looked at, where there may be more
};

/// The newest `limit` posts behind `before`, newest first; of a channel those of its index of all posts. Absent: there
/// is no such feed or channel, or it is a feed that may not be re-published. Of a channel the posts of such feeds are
/// left out: then there may be fewer than `limit`, or none, and a `next` all the same. Error `refused` while a
/// channel's index is not built. Blocking; reads at most five times `limit` posts.
///
/// With a `bound` the page ends before the post that would make its document larger. A post that is alone too large for
/// it goes without its content, and if that is not enough, without summary and lists. Reads five posts at a time.
StoreResult<std::optional<TopicPage>> read_topic_page(Store& store, const Topic& topic,
                                                      const std::optional<EntryCursor>& before, std::size_t limit,
                                                      const std::optional<DocumentBound>& bound = {});

/// The place in a topic that `before` comes to: of the post that it names, where that was trimmed of the next newer
/// one, so that the page behind it is the same. Absent: the topic begins behind it. Blocking.
StoreResult<std::optional<EntryCursor>> resolve_place(Store& store, const Topic& topic, const EntryCursor& before);

/// These entries (`Entry:<n>`) alone, in this order, without a `next`: what a hub delivers. Those that are gone, are
/// not of the topic, or may not be re-published are left out. With a `bound`, which holds as for a page, it ends before
/// the entry that no longer fits; `looked_at`, unless null, is how many of them it is made of, those left out included.
/// Blocking.
StoreResult<std::optional<TopicPage>> read_topic_entries(Store& store, const Topic& topic,
                                                         std::span<const std::string> entry_ids,
                                                         const std::optional<DocumentBound>& bound = {},
                                                         std::size_t* looked_at = nullptr);

/// "urn:uuid:…" of a name in a store: a version 5 UUID (RFC 9562 §5.5) in the namespace that the store's id is. Pure.
std::string urn_of(const std::string& store_id, const std::string& name);

}  // namespace feedmill
