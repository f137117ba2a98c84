// The one way into parsers/: bytes in, a Feed out.
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

/// Why a document is no feed; the names are those of HTTP §11 (parse.empty, parse.not_a_feed …).
struct ParseError {
  /// `limit`: reading it would take more steps than any document deserves; reading it again takes as many.
  enum class Code { empty, not_a_feed, malformed, charset, limit };
  Code code{};
  std::string detail;  ///< for people: what was found instead
};

/// Raised when an item is read as something else than before: what was read by older rules is read again.
/// ItemHash.ReaderVersionIsRaisedWhenReadingChanges holds it against the golden output.
inline constexpr std::uint64_t reader_version = 3;

/// What is known about a document besides its bytes. The views must live until read_feed returns.
struct DocumentHints {
  std::string_view url;               ///< where the bytes came from, after redirects; absolute, or "" when unknown
  std::string_view content_type;      ///< the Content-Type header, "" if none; its charset counts
  std::string_view content_location;  ///< resolved against `url`; an unsafe scheme is ignored
  std::string_view content_language;
  HtmlPolicy html = HtmlPolicy::strict;
  bool whole_values =
      false;  ///< leave values as long as they are (SECURITY §3 caps them): for callers that store nothing
  bool keep_class = false;                                               ///< `class` survives `strict` (SECURITY S4)
  std::uint64_t most_steps = std::numeric_limits<std::uint64_t>::max();  ///< that reading may take, if that is less
  bool hash_items = false;  ///< Entry::item_hash and Feed::context are wanted
  /// Hashes of items that need not be read, sorted: they are in Feed::known instead. `context` is Feed::context of the
  /// document that they stand in; should that be another, all is read.
  std::span<const std::uint64_t> known{};
  std::uint64_t context = 0;
};

/// Reads one feed document: decodes to UTF-8, recognises the format from content, parses, normalises, sanitises.
///
/// RSS 0.90 … 2.0, RSS 1.0 and 1.1 (RDF), Atom 0.1 … 1.0 (RFC 4287), JSON Feed 1.0 and 1.1, CDF. Charset, first that is
/// given: byte-order mark, Content-Type, XML declaration, else UTF-8 (RFC 7303 §3); what cannot be right is detected.
/// What is not well-formed is repaired and read, and says so in `Feed::bozo`; an error means that it is no feed at all.
/// Relative URLs resolve against xml:base, else the site's own page, Content-Location, `hints.url`.
/// `body` is what the server sent, content-encoding removed; it is not kept, and must not be changed meanwhile.
/// At most 10 000 entries, the newest; values capped as SECURITY §3 says. Pure and reentrant; linear in body; throws
/// only std::bad_alloc.
boost::system::result<Feed, ParseError> read_feed(std::string_view body, const DocumentHints& hints);

/// Lets result<Feed, ParseError>::value() throw something readable; ours look at error() instead. Found by ADL.
[[noreturn]] inline void throw_exception_from_error(const ParseError& error, const boost::source_location&) {
  throw std::runtime_error("not a feed: " + error.detail);
}

}  // namespace feedmill
