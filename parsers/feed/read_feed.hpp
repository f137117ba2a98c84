// The entry point of parsers/: bytes in, a Feed out.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "parsers/feed/feed.hpp"
#include "parsers/markup/html_policy.hpp"

namespace feedmill {

/// Why a document is not a feed; the names are those of HTTP §11 (parse.empty, parse.not_a_feed …).
struct ParseError {
  /// `limit`: reading would exceed the step budget, and so would another attempt.
  enum class Code { empty, not_a_feed, malformed, charset, limit };
  Code code{};
  std::string detail;  ///< for people: what the document is instead
};

/// Version of the reading rules. Raise it when items are read differently: documents read by older rules are then read
/// again. ItemHash.ReaderVersionIsRaisedWhenReadingChanges checks it against the golden output.
inline constexpr std::uint64_t reader_version = 3;

/// What the caller knows about a document in addition to its bytes. The views must stay valid until read_feed()
/// returns.
struct DocumentHints {
  std::string_view url;               ///< where the bytes came from, after redirects; absolute, "" if unknown
  std::string_view content_type;      ///< the Content-Type header, "" if none; its charset is used
  std::string_view content_location;  ///< resolved against `url`; an unsafe scheme is ignored
  std::string_view content_language;
  HtmlPolicy html = HtmlPolicy::strict;
  bool whole_values = false;  ///< do not cap values (SECURITY §3), for callers that store nothing
  bool keep_class = false;    ///< keep `class` under policy `strict` (SECURITY S4)
  std::uint64_t most_steps = std::numeric_limits<std::uint64_t>::max();  ///< step budget, if lower than the default
  bool hash_items = false;                                               ///< compute Entry::item_hash and Feed::context
  /// Sorted hashes of items to skip; they are listed in Feed::known instead. `context` is the Feed::context of the
  /// document that the hashes come from; if this document's context differs, every item is read.
  std::span<const std::uint64_t> known{};
  std::uint64_t context = 0;
};

/// Reads one feed document: decodes to UTF-8, recognises the format from content, parses, normalises, sanitises.
///
/// RSS 0.90 … 2.0, RSS 1.0 and 1.1 (RDF), Atom 0.1 … 1.0 (RFC 4287), JSON Feed 1.0 and 1.1, CDF. The charset comes from
/// the first of: byte-order mark, Content-Type, XML declaration, UTF-8 (RFC 7303 §3); one that cannot be right is
/// replaced by detection. Malformed documents are repaired, read and marked in `Feed::bozo`; an error means that the
/// document is not a feed. Relative URLs resolve against xml:base, else the site's own page, Content-Location,
/// `hints.url`. `body` is the response body without content-encoding; it is not kept, and must not change during the
/// call. Returns at most 10 000 entries, the newest; values are capped as in SECURITY §3. Pure and reentrant; linear in
/// body; throws only std::bad_alloc.
boost::system::result<Feed, ParseError> read_feed(std::string_view body, const DocumentHints& hints);

/// Makes result<Feed, ParseError>::value() throw a readable error (found by ADL); our own code uses error() instead.
[[noreturn]] inline void throw_exception_from_error(const ParseError& error, const boost::source_location&) {
  throw std::runtime_error("not a feed: " + error.detail);
}

}  // namespace feedmill
