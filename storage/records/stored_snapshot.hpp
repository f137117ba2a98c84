// The posts of a document on their way into the store, and what the store knows of them (RELIABILITY L5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// A post on its way into the store: everything a reader gets, in the stored form of DESIGN §3.1.
struct EntryRecord {
  std::string guid;
  std::string digest;                     ///< of what a reader would notice
  std::optional<std::int64_t> timestamp;  ///< unix seconds; absent when the post is undated
  Fields fields;                          ///< title, link, content …: sorted by name, no empty values
  std::string former_guid{};  ///< what was its guid before the feed was switched to another identity, "" = the same
  std::string given_guid{};   ///< what its document calls it, "" = it gives no guid
  std::string shared_guid{};  ///< the guid that would be its own if another post of the document did not have it, too …
                              ///< … and of that other post; "" = it is alone
  std::uint64_t item_hash = 0;  ///< of the item that it was read from (Entry::item_hash)
  bool has_idle = false;        ///< it has values that its digest leaves out
  bool passed_over = false;     ///< it is known by that alone: stored with this digest, and not read
  /// Another build read the feed's last document, and the item has not changed since, as far as we can tell.
  /// Differences from the stored post are not news.
  bool read_anew = false;
};

/// A post that the document says is gone (RFC 6721).
struct Deletion {
  std::string guid;
  std::int64_t when = 0;  ///< unix seconds
};

/// A stored post that goes on under another guid (DESIGN §5).
struct Rekey {
  std::string id, from, to;
  std::string digest;
  Fields set;  ///< fields that follow without a reader noticing: its link, written another way
};

/// A stored post as far as it can be recognised under another guid.
struct StoredPost {
  std::string id, guid, digest;
  std::int64_t timestamp = 0;
  Fields fields;  ///< date_published, enclosures, link, summary_text, title
};

/// What the store knows of the guids of a document (one read-only script, RELIABILITY L5).
struct StoredSnapshot {
  static constexpr std::size_t max_departed = 50;
  static constexpr std::size_t usual_news = 20;  ///< posts that a feed brings at once; more may be a back catalogue
  enum class Is { unknown, tombstoned, same, different };
  struct Guid {
    Is is{};
    std::string id;             ///< Entry:<n> when `different`
    Fields fields;              ///< stored fields when `different`
    std::string stored_guid{};  ///< the guid that `id` is stored under, when that is another
    /// Stored by older rules: what today's make of it, "" for a field that goes, `bytes` and `digest` apart
    /// (resanitise.hpp). `fields` are as if that had been done; `same` has `id` and `fields` then, too.
    Fields mended{};
    /// When `unknown`: the only other spelling of it that is stored (append_url_alias), else one that was trimmed. The
    /// document does not list it. "" = there is none, or another unknown guid of the document is spelled like it.
    std::string alias{};
    bool alias_trimmed = false;  ///< `alias` is a tombstone
  };
  std::vector<Guid> guids;                 ///< in the order asked for
  std::vector<std::string> left, back;     ///< tombstones whose guid left the document, or stands in it again
  Fields feed;                             ///< the readers' record Feed:<feed_url> as it is now: title, description …
  Fields feed_mended;                      ///< stored by older rules: what today's make of it, "" for a field that goes
  bool other_rules = false;                ///< markup went through another sanitiser when it was last read
  std::string items;                       ///< what is kept of its last document's items
  std::uint64_t stored = 0;                ///< posts of the feed
  std::int64_t newest = 0;                 ///< timestamp of the newest of them
  std::int64_t oldest = 0;                 ///< and of the oldest; 0 unless more than usual_news guids are unknown
  bool trimmed = false;                    ///< it has tombstones
  std::optional<Milliseconds> first_tomb;  ///< when the guid of its oldest tombstone left the document
  bool compares_all = false;               ///< `fields` are there of posts with the same digest, too
  std::string volatile_parts;              ///< what was learned of the feed (volatile_parts.hpp), "" = nothing
  /// Guids of stored posts that the last document listed and this one does not, as far as StoredItems knows them. Read
  /// only where some guid is unknown; one more than max_departed stands for many.
  std::vector<std::string> departed;
  std::vector<Guid> same_second;       ///< posts of the seconds that were asked for, `different`, with their fields
  std::vector<std::string> deletable;  ///< of each deletion asked for: "" = no such post, else the post's date or "0"

  // What a comparison with the stored posts has shown (worker/policy/feed_identity.hpp).
  bool compared = false,
       replaced = false;               ///< more than 5 % of the document are stored posts under new guids …
                                       ///< … which item_identity.hpp says without such a comparison, too
  std::size_t recognised = 0;          ///< posts of the document that are stored under another guid than it gives them
  Naming naming = Naming::given;       ///< of a feed that is identified by guid, the document included
  std::vector<Rekey> rekeys;           ///< of posts that the document does not list
  std::vector<std::string> tombs_new;  ///< guids of posts that were trimmed under other guids
};

}  // namespace feedmill
