// The result of a fetch attempt, as a closed set of alternatives. Pure; for the CPU threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "parsers/feed/links.hpp"
#include "parsers/feed/read_feed.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/given_entry.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/http/fetch.hpp"
#include "worker/policy/schedule.hpp"

namespace feedmill {

/// Fingerprints of a body, prefixed with the rules it was read by, and its sizes in bytes, received and decoded (HTTP
/// P5).
struct BodyPrint {
  std::string wire_hash, body_hash;
  std::uint64_t wire_bytes = 0, body_bytes = 0;
};

/// A 200 with a body that is not a feed or cannot be decoded.
struct Unreadable {
  Reason reason{};
  std::string detail;
  BodyPrint print;
  bool bad_coding = false;  ///< its content coding is broken, undeclared or unknown: retry without one (HTTP §4)
};

/// Links to older posts: absolute URLs, "" = none.
struct OlderLinks {
  std::string archive, next;  ///< RFC 5005 §4 prev-archive; §3 next, JSON Feed's next_url
  bool numbered = false;      ///< its software numbers its pages: WordPress
};

/// A feed document in the form the store takes.
struct Document {
  BodyPrint print;
  std::vector<EntryRecord> entries;
  IdentifiedBy identified_by = IdentifiedBy::guid;  ///< what the guids are derived from
  bool unfit = false;                               ///< another identity would fit it better than the feed's
  std::vector<Deletion> deleted;                    ///< posts it declares deleted (RFC 6721)
  Fields feed;
  GivenMarkup markup;  ///< how its markup was processed
  ScheduleHints hints;
  std::string self, prev;  ///< its own and its predecessor's URL as it states them: absolute, "" = none
  OlderLinks older;
  HubLinks hubs;             ///< hubs in its header or body
  std::string new_location;  ///< its new URL as it states it (HTTP R5), canonical, "" = none
  std::vector<std::pair<Flaw, std::uint32_t>> flaws;
  /// It is truncated: posts it does not list may still exist, and its last post is ignored unless it is `cut_post`.
  bool cut_short = false;
  bool has_idle = false;      ///< some posts have values that their digests omit
  std::uint64_t context = 0;  ///< of the item hashes (Feed::context)
  std::string whole_body;     ///< its body if items were skipped, for reading it completely; else ""
  std::string cut_post;       ///< guid of the last post, if it is kept because the document always ends in it
  /// Set if its body ended early: the attempt failed, but has the complete posts received (HTTP §4). Such a document is
  /// also `cut_short`, and its print has no hashes.
  std::optional<Unreadable> failure;
};

/// A 200 with the body that is already stored.
struct SameBody {
  BodyPrint print;
};

/// 304.
struct NotModified {};

/// A response without a document, by its status.
struct HttpStatus {
  int status = 0;
  bool challenge = false;  ///< its page requires a browser (HTTP §4)
};

/// decide() must handle every alternative to compile.
using Reading = std::variant<Document, SameBody, NotModified, HttpStatus, FetchError, Unreadable>;

/// Options of read().
struct ReadingOptions {
  std::uint64_t max_body_bytes = 16u << 20;  ///< decoded
  /// Decoded bytes granted for now (SECURITY M2): a larger body is Unreadable with worker.memory, and is kept.
  std::uint64_t granted_bytes = std::numeric_limits<std::uint64_t>::max();
  HtmlPolicy html = HtmlPolicy::strict;
  bool keep_class = false;  ///< `class` survives `strict`
  /// Store::id() of the target store. Posts with it in their trail have come back and are ignored, as are posts with
  /// too long a trail (WEBSUB U17). "": returned posts are not detected.
  std::string store_id;
  bool hash_items = false;  ///< compute Document::context and EntryRecord::item_hash
  /// DocumentHints::most_steps; above it the body is Unreadable with parse.limit.
  std::uint64_t most_steps = std::numeric_limits<std::uint64_t>::max();
  const StoredItems* items = nullptr;  ///< of the feed's last document; null: unknown
  bool pass_over = true;               ///< skip `items` that a document of named posts lists again
  bool again = false;                  ///< read a document even if its body is already stored
};

/// Whether this build's rules read the feed's last document, so that every difference is the publisher's.
bool was_read_alike(const FeedState& state);

/// Why the document could not be read completely; null if it could, or if there was none.
const Unreadable* refusal_of(const Reading& reading);

/// Whether read() has a body to process, which is worth using a CPU thread.
bool has_document(const FetchResult& fetched);

/// Decoded size of the document in `fetched`, as far as known before decoding. `last`: that of the previous document.
std::uint64_t expected_bytes(const FetchResult& fetched, std::uint64_t last);

/// The result of read() if the received bytes are already known, without decoding; costs one pass over them.
std::optional<SameBody> known_body(const FetchResult& fetched, const FeedState& state);

/// Fingerprint → decode → fingerprint → parse, stopping at the first known fingerprint. A truncated document that
/// arrives again byte for byte is read once more, including its last post. Consumes the body of `fetched`. If the body
/// ended early (by its transfer, its coding or our limit), returns its complete posts as a Document with a `failure`.
/// Throws only std::bad_alloc.
Reading read(FetchResult& fetched, const FeedState& state, const ReadingOptions& options);

/// Memory for a document's posts until they are stored: as read, as written, and as script arguments, built and sent.
/// In bytes; 0 without a document.
std::uint64_t cost_of_storing(const Document& document);
std::uint64_t cost_of_storing(const Reading& reading);

/// Whether to ignore a truncated document's last post, or to keep the part received if its guid is complete.
enum class CutPost { left_out, kept };

/// Parses a decoded body. `response`: the response with the body; `state`: how the feed's posts are identified. Leaves
/// Document::print empty.
boost::system::result<Document, ParseError> read_document(std::string_view body, const FetchResponse& response,
                                                          const FeedState& state, const ReadingOptions& options,
                                                          CutPost cut_post = CutPost::left_out);

/// Reads a document again, this time including skipped items. `response`: its response. Returns a Document or
/// Unreadable.
Reading read_whole(const Document& passed, const FetchResponse& response, const FeedState& state,
                   const ReadingOptions& options);

}  // namespace feedmill
