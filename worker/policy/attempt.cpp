#include "worker/policy/attempt.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <xxhash.h>

#include "parsers/feed/formats.hpp"
#include "parsers/markup/sanitise.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/post_identity.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/answer_head.hpp"
#include "worker/http/content_coding.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill {
namespace {

/// The versions of reader and sanitiser, which prefix fingerprints. Builds before 1.0.0 stored hex digits only.
std::string_view rules() {
  static const std::string text = fmt::format("v{:02x}{:02x}", reader_version, sanitiser_version);
  return text;
}

/// 32 characters: rules() and a hash of the bytes, so that a release with other rules reads unchanged bytes again
/// (SECURITY S13).
std::string fingerprint(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  std::string hex = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  rules().copy(hex.data(), rules().size());
  return hex;
}

/// Sets EntryRecord::read_anew. `items`: of the feed's last document, which another build read; null: unknown.
void mark_read_anew(std::vector<EntryRecord>& entries, const FeedState& state, const StoredItems* items) {
  const bool are_comparable = state.document.body_hash.starts_with('v') && items != nullptr && !items->hashes().empty();
  for (EntryRecord& entry : entries) {
    entry.read_anew =
        !are_comparable || entry.item_hash == 0 || std::ranges::binary_search(items->hashes(), entry.item_hash);
  }
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

/// SECURITY S14: marks unsanitised markup for consumers.
void mark_untouched(Document& document) {
  const auto mark = [](Fields& fields) {
    for (auto& [name, value] : fields) {
      if (name == "san_ver") value = "0";
    }
  };
  for (EntryRecord& entry : document.entries) mark(entry.fields);
  mark(document.feed);
}

/// The reason named `name`; `none` if unknown.
Reason reason_named(std::string_view name) {
  for (std::size_t i = 1; i < reason_count; ++i) {
    if (to_string(static_cast<Reason>(i)) == name) return static_cast<Reason>(i);
  }
  return Reason::none;
}

/// The canonical form of an absolute feed URL; "" if it is not valid.
std::string canonical(std::string_view text) {
  const auto url = canonical_feed_url(text);
  return url ? *url : std::string();
}

/// Marks the post that a truncated document ends in and returns its guid. "" if it has no complete guid of its own, or
/// is identified by fields that may be truncated.
std::string mark_cut_post(Feed& feed, IdentifiedBy by) {
  if (feed.entries.empty()) return {};
  Entry& last = feed.entries.back();
  if (!last.cut_short || last.half_named || last.id.empty() || by != IdentifiedBy::guid) return {};
  last.truncated += last.truncated.empty() ? "entry" : " entry";
  return last.guid;
}

Unreadable not_decoded(const DecodeError& error, BodyPrint print) {
  const bool bad_coding = error.reason == Reason::http_truncated || error.reason == Reason::limit_coding;
  return {error.reason, error.detail, std::move(print), bad_coding};
}

/// Strips an incomplete character from the end of a truncated text; it would mislead encoding detection.
std::string_view without_half_character(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;  // a continuation byte
    const std::size_t length = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : byte >= 0xC0U ? 2 : 1;
    return length > back ? text.substr(0, text.size() - back) : text;
  }
  return text;
}

BodyPrint wire_print(const FetchResponse& response) {
  BodyPrint print;
  print.wire_bytes = response.body.size();
  print.wire_hash = fingerprint(response.body);
  return print;
}

/// Whether HTTP, the content coding or a stalled server (not one of our limits) left the body incomplete.
bool is_of_framing(Reason reason) {
  return reason == Reason::http_truncated || reason == Reason::http_malformed || reason == Reason::http_stream ||
         reason == Reason::http_stalled;
}

/// Reads a body that ended early in HTTP or its coding (HTTP §4). If the root element or value is complete, the
/// document is; `response.fault` then describes the failure. Otherwise returns the complete posts with `failure`, or
/// `failure` alone if there are none or the data is corrupt before its end.
Reading salvaged(FetchResponse& response, const FeedState& state, const ReadingOptions& options, Unreadable failure) {
  const DecodeLimits limits{
      .max_bytes = options.max_body_bytes, .granted_bytes = options.granted_bytes, .as_far_as_it_goes = true};
  const std::string coding = joined_field(response.headers, "content-encoding");
  BodyPrint print = wire_print(response);
  const auto body = decode_content(std::move(response.body), coding, limits);
  if (!body && body.error().reason == Reason::worker_memory) return not_decoded(body.error(), std::move(failure.print));
  if (!body) return failure;
  auto document = read_document(without_half_character(*body), response, state, options);
  if (!document) return failure;
  print.body_bytes = body->size();
  if (is_of_framing(failure.reason) && !document->cut_short) {
    response.fault = fmt::format("its document is complete, but its transfer failed: {} ({})", failure.detail,
                                 to_string(failure.reason));
    print.body_hash = fingerprint(*body);
    const bool again = print.body_hash == state.document.body_hash && !options.again;
    if (again && !state.document.ends_early) return SameBody{std::move(print)};
    document->print = std::move(print);
    return std::move(*document);
  }
  if (document->entries.empty()) return failure;
  document->cut_short = true;
  document->print.wire_bytes = print.wire_bytes;
  document->print.body_bytes = print.body_bytes;
  document->failure = std::move(failure);
  return std::move(*document);
}

/// Ignores posts that have passed through this store, or through more stores than plausible: they are neither stored
/// nor gaps nor missing (WEBSUB U17).
void leave_out_loops(Feed& feed, std::string_view store_id) {
  const auto is_loop = [&](const Entry& entry) {
    const bool came_back = !store_id.empty() && std::ranges::find(entry.via, store_id) != entry.via.end();
    return came_back || entry.via.size() > limits::trail;
  };
  if (std::ranges::none_of(feed.entries, is_loop)) return;
  std::size_t left_out = 0, place = 0;
  auto known = feed.known.begin();
  const auto move_up = [&] {  // positions of skipped items count the removed posts before them
    for (; known != feed.known.end() && known->place == place; ++known, ++place) known->place -= left_out;
  };
  for (const Entry& entry : feed.entries) {
    move_up();
    ++place;
    if (is_loop(entry)) ++left_out;
  }
  move_up();
  std::erase_if(feed.entries, is_loop);
  add_flaw(feed, Flaw::loop, left_out);
}

/// HTTP P5: compares the undecoded body.
std::optional<SameBody> same_as_received(const BodyPrint& print, const FeedState& state) {
  if (print.wire_hash != state.document.wire_hash || state.document.ends_early) return std::nullopt;
  return SameBody{{print.wire_hash, state.document.body_hash, print.wire_bytes, state.document.body_bytes}};
}

Reading read_body(FetchResponse& response, const FeedState& state, const ReadingOptions& options) {
  BodyPrint print = wire_print(response);
  if (auto same = same_as_received(print, state); same && !options.again) return std::move(*same);
  const DecodeLimits limits{.max_bytes = options.max_body_bytes, .granted_bytes = options.granted_bytes};
  auto body = decode_content(std::move(response.body), joined_field(response.headers, "content-encoding"), limits,
                             &response.fault);
  if (!body) {
    const bool may_be_cut = body.error().reason == Reason::http_truncated || body.error().reason == Reason::limit_body;
    Unreadable failure = not_decoded(body.error(), std::move(print));
    if (!may_be_cut) return failure;
    return salvaged(response, state, options, std::move(failure));
  }
  if (looks_compressed(*body)) return Unreadable{Reason::parse_not_a_feed, "compressed twice", print, true};
  print.body_bytes = body->size();
  print.body_hash = fingerprint(*body);
  const bool again = print.body_hash == state.document.body_hash;
  if (again && !options.again && !state.document.ends_early) return SameBody{std::move(print)};
  if (print.body_hash == state.refused.hash && state.refused.by == FEEDMILL_VERSION) {  // HTTP §4: do not parse again
    return Unreadable{reason_named(state.refused.reason), "the document that could not be read before",
                      std::move(print)};
  }

  // A document that ends at the same byte again will always end there: do not wait for the rest of its last post.
  auto document = read_document(*body, response, state, options, again ? CutPost::kept : CutPost::left_out);
  if (again && !options.again && (!document || document->cut_post.empty())) return SameBody{std::move(print)};
  if (!document && is_challenge_page(*body)) {
    return Unreadable{Reason::status_challenge, "the server requires a browser", std::move(print)};
  }
  if (!document) return Unreadable{reason_of(document.error().code), document.error().detail, std::move(print)};
  document->print = std::move(print);
  if (std::ranges::any_of(document->entries, &EntryRecord::passed_over)) document->whole_body = std::move(*body);
  return std::move(*document);
}

bool wants_a_browser(FetchResponse& response) {
  if (says_challenge(response.status, response.headers)) return true;
  if (response.status != 403 && response.status != 503) return false;
  constexpr std::size_t longest = 1U << 20U;
  if (response.body.size() > longest) return false;
  const DecodeLimits limits{.max_bytes = longest};
  const auto page =
      decode_content(std::move(response.body), joined_field(response.headers, "content-encoding"), limits);
  return page && is_challenge_page(*page);
}

/// The response with a body, complete or truncated; null without a body.
const FetchResponse* body_in(const FetchResult& fetched) {
  if (const auto* error = std::get_if<FetchError>(&fetched)) return error->cut_off ? &*error->cut_off : nullptr;
  return std::get_if<FetchResponse>(&fetched);
}

/// Reads an exchange that ended early within the body of a 200; succeeds if the document is complete.
Reading read_cut_off(FetchResult& fetched, const FeedState& state, const ReadingOptions& options) {
  auto& error = std::get<FetchError>(fetched);
  Reading reading = salvaged(*error.cut_off, state, options, Unreadable{error.reason, error.detail, {}, false});
  if (!error.cut_off->fault.empty()) {
    FetchResponse whole = std::move(*error.cut_off);
    whole.hops = std::move(error.hops);
    whole.hops.push_back(Hop{whole.url, whole.status, ""});
    whole.timings = error.timings;
    whole.connections_new = error.connections_new;
    whole.connections_reused = error.connections_reused;
    whole.connections_resumed = error.connections_resumed;
    whole.wire_bytes = error.wire_bytes;
    fetched = std::move(whole);
    return reading;
  }
  const auto* const nothing = std::get_if<Unreadable>(&reading);
  if (nothing == nullptr || nothing->reason == Reason::worker_memory) return reading;
  error.cut_off.reset();
  return error;
}

}  // namespace

bool was_read_alike(const FeedState& state) {
  const std::string& hash = state.document.body_hash;
  return hash.empty() || hash.starts_with(rules());
}

const Unreadable* refusal_of(const Reading& reading) {
  if (const auto* document = std::get_if<Document>(&reading)) return document->failure ? &*document->failure : nullptr;
  return std::get_if<Unreadable>(&reading);
}

bool has_document(const FetchResult& fetched) {
  const FetchResponse* const response = body_in(fetched);
  return response != nullptr && response->status == 200;
}

std::optional<SameBody> known_body(const FetchResult& fetched, const FeedState& state) {
  const auto* response = std::get_if<FetchResponse>(&fetched);
  if (response == nullptr || response->status != 200 || state.document.wire_bytes != response->body.size()) return {};
  return same_as_received(wire_print(*response), state);
}

std::uint64_t expected_bytes(const FetchResult& fetched, std::uint64_t last) {
  const FetchResponse* const response = body_in(fetched);
  if (response == nullptr) return 0;
  const std::uint64_t received = response->body.size();
  const std::string coding = joined_field(response->headers, "content-encoding");
  if (coding.empty()) return received;
  const std::uint64_t stated = stated_size(response->body, coding);
  return std::max(received, stated == 0 ? last : stated);
}

std::uint64_t cost_of_storing(const Document& document) {
  constexpr std::uint64_t each_time = 4, block = 32;  // bytes: allocator overhead
  std::uint64_t bytes = 0;
  for (const EntryRecord& entry : document.entries) {
    bytes += sizeof entry + entry.guid.size() + entry.digest.size() + entry.former_guid.size() + 4 * block;
    for (const auto& field : entry.fields) bytes += sizeof field + field.first.size() + field.second.size() + block;
  }
  for (const Deletion& deletion : document.deleted) bytes += sizeof deletion + deletion.guid.size() + block;
  return each_time * bytes + document.whole_body.capacity();
}

std::uint64_t cost_of_storing(const Reading& reading) {
  const auto* document = std::get_if<Document>(&reading);
  return document == nullptr ? 0 : cost_of_storing(*document);
}

namespace {

/// Whether the skipped items and the other posts can be judged separately.
bool say_nothing_of_each_other(const Feed& feed, const Document& document, const FeedState& state) {
  return feed.deleted.empty() && document.identified_by == state.identity.by && !document.unfit &&
         document.entries.size() == feed.entries.size() + feed.known.size() && stand_alone(document.entries);
}

bool is_of_wordpress(const Feed& feed) {
  if (!feed.generator) return false;
  const Generator& generator = *feed.generator;
  return lower(generator.name + ' ' + generator.uri).find("wordpress") != std::string::npos;
}

}  // namespace

boost::system::result<Document, ParseError> read_document(std::string_view body, const FetchResponse& response,
                                                          const FeedState& state, const ReadingOptions& options,
                                                          CutPost cut_post) {
  DocumentHints hints;
  hints.url = response.url;
  hints.content_type = response.header("content-type");
  hints.content_location = response.header("content-location");
  hints.content_language = response.header("content-language");
  hints.html = options.html;
  hints.keep_class = options.keep_class;
  const StoredItems* const items = state.identity.by == IdentifiedBy::guid ? options.items : nullptr;
  hints.hash_items = options.hash_items;
  hints.most_steps = options.most_steps;
  const bool read_alike = was_read_alike(state);
  if (items != nullptr && options.pass_over && read_alike) {
    hints.known = items->hashes();
    hints.context = items->context();
  }
  auto feed = read_feed(body, hints);
  if (!feed) return feed.error();
  leave_out_loops(*feed, options.store_id);
  Document document;
  document.cut_short = feed->cut_short;
  if (document.cut_short && cut_post == CutPost::kept) document.cut_post = mark_cut_post(*feed, state.identity.by);
  if (document.cut_short && document.cut_post.empty()) {
    std::erase_if(feed->entries, [](const Entry& entry) { return entry.cut_short; });
  }
  const bool first =
      state.rhythm.imported.count() == 0 && state.counts.total_new == 0;  // no posts are stored under another identity
  // Part of a list may suggest another identity than the whole list.
  const IdentifiedBy fits =
      document.cut_short && !first ? state.identity.by : fitting_identity(*feed, state.identity.by);
  document.unfit = fits != state.identity.by;
  document.identified_by =
      first || state.identity.unfit_documents + 1 >= documents_to_switch ? fits : state.identity.by;
  const IdentifiedBy was = first ? document.identified_by : state.identity.by;
  document.entries = feed->known.empty() ? entry_records(*feed, document.identified_by, was)
                                         : entry_records(*feed, document.identified_by, was, *items);
  if (!feed->known.empty() && !say_nothing_of_each_other(*feed, document, state)) {
    ReadingOptions all = options;
    all.pass_over = false;
    document = Document();
    feed = Feed();  // frees memory before the second read
    return read_document(body, response, state, all, cut_post);
  }
  if (!read_alike) mark_read_anew(document.entries, state, items);
  if (items != nullptr && !items->are_named()) add_flaw(*feed, Flaw::missing_guid, feed->known.size());
  document.has_idle = feed->has_counters || std::ranges::any_of(document.entries, &EntryRecord::has_idle);
  document.context = feed->context;
  document.deleted = deletions(*feed, document.identified_by);
  document.feed = feed_fields(*feed);
  document.markup = {options.html, options.keep_class};
  if (options.html == HtmlPolicy::raw) mark_untouched(document);
  document.hints = schedule_hints(*feed);
  document.self = canonical(feed->self);
  document.prev = canonical(feed->prev);
  document.older = {canonical(feed->prev_archive), canonical(feed->next), is_of_wordpress(*feed)};
  document.hubs = hub_links(joined_field(response.headers, "link"), response.url, feed->hubs, feed->self);
  if (feed->itunes) document.new_location = canonical(feed->itunes->new_feed_url);
  document.flaws = std::move(feed->flaws);
  return document;
}

Reading read(FetchResult& fetched, const FeedState& state, const ReadingOptions& options) {
  if (const auto* error = std::get_if<FetchError>(&fetched)) {
    if (!error->cut_off) return *error;
    return read_cut_off(fetched, state, options);
  }
  auto& response = std::get<FetchResponse>(fetched);
  if (response.status == 200) return read_body(response, state, options);
  if (response.status == 304 && response.conditional) return NotModified();
  return HttpStatus{response.status, wants_a_browser(response)};
}

Reading read_whole(const Document& passed, const FetchResponse& response, const FeedState& state,
                   const ReadingOptions& options) {
  auto document = read_document(passed.whole_body, response, state, options);
  if (!document) return Unreadable{reason_of(document.error().code), document.error().detail, passed.print};
  document->print = passed.print;
  return std::move(*document);
}

}  // namespace feedmill
