// What an exchange with the origin brought: the closed set of ways an attempt ends. Pure; for the CPU threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "parsers/feed/hub_links.hpp"
#include "parsers/feed/read_feed.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/given_entry.hpp"
#include "storage/records/stored_items.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/http/fetch.hpp"
#include "worker/policy/schedule.hpp"

namespace feedmill {

/// Fingerprints of a body with the rules that it was read by, and its sizes in bytes, as received and decoded (HTTP
/// P5).
struct BodyPrint {
  std::string wire_hash, body_hash;
  std::uint64_t wire_bytes = 0, body_bytes = 0;
};

/// A 200 whose body is no feed, or cannot be decoded.
struct Unreadable {
  Reason reason{};
  std::string detail;
  BodyPrint print;
  bool bad_coding = false;  ///< its content coding is broken, undeclared or unknown: worth asking for none (HTTP §4)
};

/// Where the posts before a document's own are: absolute URLs, "" = it does not say.
struct OlderLinks {
  std::string archive, next;  ///< RFC 5005 §4 prev-archive; §3 next, JSON Feed's next_url
  bool numbered = false;      ///< by software that numbers its pages: WordPress
};

/// A feed document, in the form the store takes.
struct Document {
  BodyPrint print;
  std::vector<EntryRecord> entries;
  IdentifiedBy identified_by = IdentifiedBy::guid;  ///< what their guids are made of
  bool unfit = false;                               ///< another identity than the feed's would fit it better
  std::vector<Deletion> deleted;                    ///< posts that it says are gone (RFC 6721)
  Fields feed;
  GivenMarkup markup;  ///< how its markup was treated
  ScheduleHints hints;
  std::string self, prev;  ///< where it says it is itself, and the feed before it: absolute URLs, "" = nowhere
  OlderLinks older;
  HubLinks hubs;             ///< where pushes come from, by its header or itself
  std::string new_location;  ///< where it says it has moved to (HTTP R9), canonical, "" = nowhere
  std::vector<std::pair<Flaw, std::uint32_t>> flaws;
  /// It ends in the middle: what it does not list may be listed all the same, and the post that it ends in is left out,
  /// unless it is `cut_post`.
  bool cut_short = false;
  bool has_idle = false;      ///< posts with values that their digests leave out
  std::uint64_t context = 0;  ///< of the items' hashes (Feed::context)
  std::string whole_body;     ///< its body where items were passed over, to read all of it after all; else ""
  std::string cut_post;       ///< guid of the post that it ends in, when that is not left out: it always ends there
  /// Its body ended early: an attempt that failed, with the posts that had come whole until then (HTTP §4). Such a
  /// document is `cut_short` as well, and its print has no hashes.
  std::optional<Unreadable> failure;
};

/// 200 with the body that is stored already.
struct SameBody {
  BodyPrint print;
};

/// 304.
struct NotModified {};

/// An answer whose status says that there is no document.
struct HttpStatus {
  int status = 0;
  bool challenge = false;  ///< with a page that wants to see a browser (HTTP §4)
};

/// A new way of ending does not compile until decide() has an answer to it.
using Reading = std::variant<Document, SameBody, NotModified, HttpStatus, FetchError, Unreadable>;

struct ReadingOptions {
  std::uint64_t max_body_bytes = 16u << 20;  ///< decoded
  /// What memory is granted for now (SECURITY M2): a larger one is Unreadable with worker.memory, its body still there.
  std::uint64_t granted_bytes = std::numeric_limits<std::uint64_t>::max();
  HtmlPolicy html = HtmlPolicy::strict;
  bool keep_class = false;  ///< `class` survives `strict`
  /// Store::id() of the store that it is for: posts whose trail names it have come back, and are left out like those
  /// whose trail is too long (WEBSUB U17). "" = they are not told apart.
  std::string store_id;
  bool hash_items = false;  ///< Document::context and EntryRecord::item_hash are wanted
  /// As DocumentHints::most_steps; then it is Unreadable with parse.limit.
  std::uint64_t most_steps = std::numeric_limits<std::uint64_t>::max();
  const StoredItems* items = nullptr;  ///< of the feed's last document; null: unknown
  bool pass_over = true;               ///< skips `items` that a document of named posts lists again
};

/// Whether the feed's last document was read by the rules of this build, so that every difference is the publisher's.
bool was_read_alike(const FeedState& state);

/// Why no document could be read whole; null when one was, or none was to be had.
const Unreadable* refusal_of(const Reading& reading);

/// True when read() has a body to look at: worth a CPU thread.
bool has_document(const FetchResult& fetched);

/// Decoded size of the document in `fetched` as far as is known before it is decoded. `last`: that of the one before.
std::uint64_t expected_bytes(const FetchResult& fetched, std::uint64_t last);

/// What read() would say of a body that is known byte for byte as it was received, without a look into it; costs one
/// pass over that.
std::optional<SameBody> known_body(const FetchResult& fetched, const FeedState& state);

/// Fingerprint → decode → fingerprint → parse, stopping at the first fingerprint that is known; but a document that
/// ends in the middle and comes again byte for byte is read once more, with the post that it ends in. `fetched` gives
/// up its body. Of a body that ends early, by its transfer, its coding or our limit, the posts that have come whole are
/// a Document with a `failure`. Throws only std::bad_alloc.
Reading read(FetchResult& fetched, const FeedState& state, const ReadingOptions& options);

/// What a document's posts take in memory until they are stored: as they were read, as they are written, and as the
/// arguments of a script, which are made and sent. In bytes; 0 of what is no document.
std::uint64_t cost_of_storing(const Document& document);
std::uint64_t cost_of_storing(const Reading& reading);

/// What becomes of the post that a document ends in: it is left out, or kept as far as it goes when its guid came
/// whole.
enum class CutPost { left_out, kept };

/// A decoded body as the document it is. `response`: what it came with; `state`: how the feed's posts are told apart.
/// Document::print is left empty.
boost::system::result<Document, ParseError> read_document(std::string_view body, const FetchResponse& response,
                                                          const FeedState& state, const ReadingOptions& options,
                                                          CutPost cut_post = CutPost::left_out);

/// The whole of a document of which items were passed over, which `response` brought: a Document, or Unreadable.
Reading read_whole(const Document& passed, const FetchResponse& response, const FeedState& state,
                   const ReadingOptions& options);

}  // namespace feedmill
