#include "worker/reading.hpp"

#include <algorithm>

#include <xxhash.h>

#include "storage/entry_record.hpp"
#include "storage/feed_fields.hpp"
#include "worker/content_coding.hpp"

namespace feedmill {
namespace {

std::string fingerprint(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::string hex;
  hex.reserve(2 * sizeof canonical.digest);
  for (const unsigned char byte : canonical.digest) {
    hex += digits[byte >> 4U];
    hex += digits[byte & 0xFU];
  }
  return hex;
}

Reason reason_of(ParseError::Code code) {
  switch (code) {
    case ParseError::Code::empty:
      return Reason::parse_empty;
    case ParseError::Code::not_a_feed:
      return Reason::parse_not_a_feed;
    case ParseError::Code::malformed:
      return Reason::parse_malformed;
    case ParseError::Code::charset:
      return Reason::parse_charset;
    case ParseError::Code::limit:
      return Reason::parse_limit;
  }
  return Reason::parse_malformed;
}

Reading read_body(FetchResponse& response, const FeedState& state, const ReadingOptions& options) {
  BodyPrint print;
  print.wire_bytes = response.body.size();
  print.wire_hash = fingerprint(response.body);
  if (print.wire_hash == state.wire_hash) {  // HTTP P5: nothing is decoded
    print.body_hash = state.body_hash;
    print.body_bytes = state.body_bytes;
    return SameBody{std::move(print)};
  }
  const DecodeLimits limits{.max_bytes = options.max_body_bytes, .granted_bytes = options.granted_bytes};
  auto body = decode_content(std::move(response.body), joined_field(response.headers, "content-encoding"), limits);
  if (!body) return Unreadable{body.error().reason, body.error().detail, std::move(print)};
  print.body_bytes = body->size();
  print.body_hash = fingerprint(*body);
  if (print.body_hash == state.body_hash) return SameBody{std::move(print)};

  DocumentHints hints;
  hints.url = response.url;
  hints.content_type = response.header("content-type");
  hints.content_location = response.header("content-location");
  hints.content_language = response.header("content-language");
  hints.html = options.html;
  auto feed = read_feed(*body, hints);
  if (!feed) return Unreadable{reason_of(feed.error().code), feed.error().detail, std::move(print)};
  Document document;
  document.print = std::move(print);
  document.entries = entry_records(*feed);
  document.feed = feed_fields(*feed);
  document.hints = schedule_hints(*feed);
  document.flaws = std::move(feed->flaws);
  return document;
}

}  // namespace

bool has_document(const FetchResult& fetched) {
  const auto* response = std::get_if<FetchResponse>(&fetched);
  return response != nullptr && response->status == 200;
}

std::uint64_t expected_bytes(const FetchResult& fetched) {
  const auto* response = std::get_if<FetchResponse>(&fetched);
  if (response == nullptr) return 0;
  const std::size_t stated = stated_size(response->body, joined_field(response->headers, "content-encoding"));
  return std::max(response->body.size(), stated);
}

Reading read(FetchResult& fetched, const FeedState& state, const ReadingOptions& options) {
  if (auto* error = std::get_if<FetchError>(&fetched)) return *error;
  auto& response = std::get<FetchResponse>(fetched);
  if (response.status == 200) return read_body(response, state, options);
  if (response.status == 304 && response.conditional) return NotModified();
  return HttpStatus{response.status};
}

}  // namespace feedmill
