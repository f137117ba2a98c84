// Pages of a topic's public posts (WEBSUB U1, U15).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/records/topic.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

enum class TopicFormat { atom, json };

/// Memory for making a document: five posts of 2 MiB, twice, and the document.
inline constexpr std::uint64_t topic_making_cost = 24U << 20U;

/// Size limit of the document rendered from a page.
struct DocumentBound {
  TopicFormat format{};
  std::size_t bytes = 0;
};

/// A text of a feed or post: plain text or sanitised HTML.
struct TopicText {
  std::string value;
  bool is_html = false;

  std::string plain() const;
  bool operator==(const TopicText&) const = default;
};

/// The feed of some of the posts on a page.
struct TopicSource {
  std::string feed_url;  ///< "" if the URL contains a secret
  std::string id;        ///< "urn:uuid:…" of the feed as a topic
  TopicText title;       ///< the feed's URL if it has no visible title
  std::string link, author;
};

/// A post to be republished.
struct RepublishedEntry {
  std::string id;          ///< "Entry:<n>", the key in the store
  std::string urn;         ///< "urn:uuid:…", permanent
  Fields fields;           ///< as stored; markup stored under other rules is sanitised again by the current ones
  std::size_t source = 0;  ///< index into TopicPage::sources
};

/// Some posts of a topic, with their feeds and the texts that describe the topic.
struct TopicPage {
  Topic topic;
  std::string store_id;  ///< Store::id()
  std::string id;        ///< "urn:uuid:…", permanent
  TopicText title, description;
  std::string link, language, image, author;
  std::optional<std::chrono::sys_seconds> updated;  ///< newest change of an entry; absent without entries
  std::vector<TopicSource> sources;
  std::vector<RepublishedEntry> entries;
  std::optional<EntryCursor> next;  ///< cursor after the last post examined, if there may be more
};

/// Reads the newest `limit` posts after `before`, newest first; for a channel, from its index of all posts. Absent if
/// the feed or channel does not exist, or the feed is private. Skips private posts of a channel, so a page may have
/// fewer than `limit` posts, or none, and still have a `next`. Error `refused` until a channel's index is built.
/// Blocking; reads at most five times `limit` posts.
///
/// With a `bound` the page ends before the post that would exceed it. A single post that is too large loses its content
/// and, if that is not enough, its summary and lists. Reads five posts at a time.
StoreResult<std::optional<TopicPage>> read_topic_page(Store& store, const Topic& topic,
                                                      const std::optional<EntryCursor>& before, std::size_t limit,
                                                      const std::optional<DocumentBound>& bound = {});

/// The position in a topic for `before`: its post, or the next newer one if that was trimmed, so that the page after it
/// does not change. Absent if `before` is newer than all posts. Blocking.
StoreResult<std::optional<EntryCursor>> resolve_place(Store& store, const Topic& topic, const EntryCursor& before);

/// Reads these entries (`Entry:<n>`) in this order, for hub deliveries; the result has no `next`. Skips entries that
/// were removed, are not in the topic or are private. With a `bound`, ends before the first entry that does not fit, as
/// pages do. If not null, `looked_at` gets the number of entries processed, including skipped ones. Blocking.
StoreResult<std::optional<TopicPage>> read_topic_entries(Store& store, const Topic& topic,
                                                         std::span<const std::string> entry_ids,
                                                         const std::optional<DocumentBound>& bound = {},
                                                         std::size_t* looked_at = nullptr);

/// The "urn:uuid:…" of a name in a store: a version 5 UUID (RFC 9562 §5.5) with the store's id as namespace. Pure.
std::string urn_of(const std::string& store_id, const std::string& name);

// Whether a feed's posts may be shown to others (WEBSUB U15). Checked wherever posts leave the store: in documents,
// webhooks and live streams.

/// Whether posts of one feed may leave the store, and why not.
struct Republishing {
  bool allowed = false;
  bool registered = true;  ///< false: the feed does not exist
  std::string why_not;     ///< reason for operators, and how to override it; "" if allowed; contains no secrets

  bool operator==(const Republishing&) const = default;
};

/// `republish=yes` or `no` in the feed's record decides. Otherwise only public feeds are allowed: no credentials,
/// custom headers or policy, not opened by `egress.allow`, no secret in the URL, and fetched since feedmill records the
/// origin. Pure.
Republishing republishing_of(const std::string& feed_url, const FeedState& state);
Republishing republishing_of(const FeedRecord& feed);

/// Whether an event may leave the store. Usually `feed` decides; for the removal of a feed, the field `republish` of
/// the event.
bool may_be_told(const Event& event, const Republishing& feed);

/// Runs republishing_of() for each feed, in order; unregistered feeds are not allowed. Blocking.
StoreResult<std::vector<Republishing>> read_republishing(Store& store, std::span<const std::string> feed_urls);

}  // namespace feedmill
