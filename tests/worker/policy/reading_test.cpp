#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "parsers/feed/read_feed.hpp"
#include "parsers/markup/sanitise.hpp"
#include "storage/records/entry_record.hpp"
#include "tests/support/coders.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill::reading_test {
namespace {

using test::gzip;
using test::zstd;

const std::string feed_text =
    "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>Mill</title><link>https://example.org/</link>"
    "<ttl>90</ttl><item><guid>b</guid><title>Second</title><pubDate>Sun, 01 Mar 2026 10:00:00 GMT</pubDate></item>"
    "<item><guid>a</guid><title>First</title><link>/a</link></item></channel></rss>";

FetchResult answer(std::string body, std::vector<Header> headers = {}, int status = 200) {
  FetchResponse response;
  response.status = status;
  response.url = "https://example.org/feed.xml";
  response.headers = std::move(headers);
  response.body = std::move(body);
  return response;
}

Reading read_one(FetchResult fetched, const FeedState& state = {}, const ReadingOptions& options = {}) {
  return read(fetched, state, options);
}

const Header gzipped{"content-encoding", "gzip"};

/// The state after a document with this print was stored.
FeedState state_after(const BodyPrint& print) {
  FeedState state;
  state.document.wire_hash = print.wire_hash;
  state.document.body_hash = print.body_hash;
  state.document.wire_bytes = print.wire_bytes;
  state.document.body_bytes = print.body_bytes;
  return state;
}

TEST(Reading, TurnsAFeedIntoWhatTheStoreTakes) {
  const std::string body = gzip(feed_text);
  const Reading reading = read_one(answer(body, {gzipped, {"content-type", "application/rss+xml"}}));
  const auto* document = std::get_if<Document>(&reading);
  ASSERT_NE(document, nullptr);
  EXPECT_EQ(document->print.wire_bytes, body.size());
  EXPECT_EQ(document->print.body_bytes, feed_text.size());
  EXPECT_EQ(document->print.wire_hash.size(), 32U);
  EXPECT_EQ(document->print.body_hash.size(), 32U);
  EXPECT_NE(document->print.wire_hash, document->print.body_hash);
  ASSERT_EQ(document->entries.size(), 2U);
  EXPECT_EQ(document->entries[0].guid, "b");
  EXPECT_EQ(document->entries[0].timestamp, 1'772'359'200);
  EXPECT_EQ(document->entries[1].timestamp, std::nullopt);
  const Fields& first = document->entries[1].fields;
  EXPECT_NE(std::find(first.begin(), first.end(), std::pair<std::string, std::string>("link", "https://example.org/a")),
            first.end())
      << "resolved against where the bytes came from";
  EXPECT_NE(
      std::find(document->feed.begin(), document->feed.end(), std::pair<std::string, std::string>("title", "Mill")),
      document->feed.end());
  EXPECT_EQ(document->hints.ttl_s, 90 * 60);
}

TEST(Reading, FingerprintsBeginWithTheRulesTheyWereReadBy) {
  const Reading reading = read_one(answer(""));
  const auto* empty = std::get_if<Unreadable>(&reading);
  ASSERT_NE(empty, nullptr);
  EXPECT_EQ(empty->print.wire_hash, fmt::format("v{:02x}{:02x}", reader_version, sanitiser_version) +
                                        "6d3014798d86001c324468d497f");  // XXH3-128 of no bytes
  EXPECT_EQ(empty->print.body_hash, empty->print.wire_hash);
}

// HTTP P5: undecodable bytes show that no decoder was called.
TEST(Reading, DoesNotDecodeTheBytesItHas) {
  const std::string undecodable = "these bytes were never compressed";
  const Reading first = read_one(answer(undecodable, {gzipped}));
  const auto* refused = std::get_if<Unreadable>(&first);
  ASSERT_NE(refused, nullptr);
  FeedState state = state_after(refused->print);
  state.document.body_hash = std::string(32, 'b');
  state.document.body_bytes = 4711;
  const Reading again = read_one(answer(undecodable, {gzipped}), state);
  const auto* same = std::get_if<SameBody>(&again);
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->print.wire_hash, state.document.wire_hash);
  EXPECT_EQ(same->print.wire_bytes, undecodable.size());
  EXPECT_EQ(same->print.body_hash, state.document.body_hash) << "taken from the state, since nothing was decoded";
  EXPECT_EQ(same->print.body_bytes, 4711U);
}

// HTTP P5: a text that is not a feed shows that the parser was not called.
TEST(Reading, DoesNotParseTheTextItHas) {
  const std::string no_feed = "<html><body>Hello</body></html>";
  const Reading first = read_one(answer(no_feed));
  const auto* refused = std::get_if<Unreadable>(&first);
  ASSERT_NE(refused, nullptr);
  const FeedState state = state_after(refused->print);
  const std::string coded = gzip(no_feed);
  const Reading again = read_one(answer(coded, {gzipped}), state);
  const auto* same = std::get_if<SameBody>(&again);
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->print.body_hash, state.document.body_hash);
  EXPECT_NE(same->print.wire_hash, state.document.wire_hash);
  EXPECT_EQ(same->print.wire_bytes, coded.size());
  EXPECT_EQ(same->print.body_bytes, no_feed.size());
}

TEST(Reading, KnowsAFeedHoweverItIsCompressed) {
  const Reading first = read_one(answer(gzip(feed_text, 1), {gzipped}));
  const auto* document = std::get_if<Document>(&first);
  ASSERT_NE(document, nullptr);
  const FeedState state = state_after(document->print);
  const std::pair<std::string, std::vector<Header>> ways[] = {
      {gzip(feed_text, 1), {gzipped}},
      {gzip(feed_text, 0), {gzipped}},
      {zstd(feed_text), {{"content-encoding", "zstd"}}},
      {feed_text, {}},
      {feed_text, {{"content-encoding", "identity"}}},
  };
  for (const auto& [body, headers] : ways) {
    EXPECT_TRUE(std::holds_alternative<SameBody>(read_one(answer(body, headers), state))) << body.size();
  }
  EXPECT_TRUE(std::holds_alternative<Document>(read_one(answer(feed_text + "\n"), state))) << "a byte more";
}

TEST(Reading, RejectsUndecodableAndUnreadableDocuments) {
  struct Case {
    const char* name;
    std::string body;
    std::vector<Header> headers;
    Reason reason;
  };
  std::string broken = gzip(feed_text), bomb = gzip(std::string(4 << 20, ' '));
  broken[broken.size() / 2] = static_cast<char>(broken[broken.size() / 2] ^ 0x55);
  const Case cases[] = {
      {"broken gzip", broken, {gzipped}, Reason::http_truncated},
      {"half a gzip", gzip(feed_text).substr(0, 60), {gzipped}, Reason::http_truncated},
      {"no gzip at all", "plain", {gzipped}, Reason::http_truncated},
      {"two codings", gzip(gzip(feed_text)), {{"content-encoding", "gzip, gzip"}}, Reason::parse_not_a_feed},
      {"a bomb", bomb, {gzipped}, Reason::limit_ratio},
      {"too long", std::string(3000, ' '), {}, Reason::limit_body},
      {"too long decoded", gzip(std::string(3000, '\n') + feed_text), {gzipped}, Reason::limit_body},
      {"nothing", "", {}, Reason::parse_empty},
      {"nothing, compressed", gzip(""), {gzipped}, Reason::parse_empty},
      {"white space", " \n\t ", {}, Reason::parse_empty},
      {"a page",
       "<!doctype html><html><head><title>x</title></head><body></body></html>",
       {},
       Reason::parse_not_a_feed},
      {"JSON that is no feed", "{\"a\":1}", {{"content-type", "application/json"}}, Reason::parse_not_a_feed},
      {"plain text", "Not found", {{"content-type", "text/plain"}}, Reason::parse_not_a_feed},
  };
  for (const Case& c : cases) {
    ReadingOptions options;
    if (c.reason == Reason::limit_body) options.max_body_bytes = 2000;
    const Reading reading = read_one(answer(c.body, c.headers), {}, options);
    const auto* refused = std::get_if<Unreadable>(&reading);
    ASSERT_NE(refused, nullptr) << c.name;
    EXPECT_EQ(refused->reason, c.reason) << c.name << ": " << to_string(refused->reason);
    EXPECT_FALSE(refused->detail.empty()) << c.name;
    EXPECT_EQ(refused->print.wire_bytes, c.body.size()) << c.name;
    EXPECT_EQ(refused->print.wire_hash.size(), 32U) << c.name;
  }
}

/// A fetch that broke off within a body.
FetchResult broken_off(std::string body, std::vector<Header> headers = {}) {
  FetchError error;
  error.reason = Reason::http_truncated;
  error.detail = "bytes are missing";
  error.sent = true;
  error.status = 200;
  error.cut_off = std::get<FetchResponse>(answer(std::move(body), std::move(headers)));
  return error;
}

std::vector<std::string> guids_of(const Reading& reading) {
  std::vector<std::string> guids;
  if (const auto* document = std::get_if<Document>(&reading)) {
    for (const EntryRecord& record : document->entries) guids.push_back(record.guid);
  }
  return guids;
}
using Guids = std::vector<std::string>;

// HTTP §4
TEST(Reading, TakesThePostsThatCameWhole) {
  const std::size_t second = feed_text.find("</item>") + 7, third = feed_text.rfind("</item>") + 7;
  for (std::size_t end = 0; end < feed_text.size(); ++end) {
    if ((end < second && end + 6 > second) || (end < third && end + 6 > third))
      continue;  // complete except for its end tag
    FetchResult fetched = broken_off(feed_text.substr(0, end));
    EXPECT_TRUE(has_document(fetched));
    const Reading reading = read(fetched, {}, {});
    EXPECT_EQ(guids_of(reading), end < second ? Guids{} : end < third ? Guids{"b"} : (Guids{"b", "a"})) << end;
    if (end < second) {
      const auto* error = std::get_if<FetchError>(&reading);
      ASSERT_NE(error, nullptr) << end;
      EXPECT_EQ(error->reason, Reason::http_truncated);
      EXPECT_FALSE(error->cut_off);
      continue;
    }
    const auto& document = std::get<Document>(reading);
    EXPECT_TRUE(document.cut_short);
    ASSERT_TRUE(document.failure);
    EXPECT_EQ(document.failure->reason, Reason::http_truncated);
    EXPECT_EQ(document.print.wire_hash + document.print.body_hash, "");
    EXPECT_EQ(refusal_of(reading), &*document.failure);
  }
  EXPECT_EQ(guids_of(read_one(broken_off(feed_text))), (Guids{"b", "a"})) << "all of it, and yet not what was promised";
}

TEST(Reading, TakesThePostsThatCameWholeOfJson) {
  const std::string text =
      R"({"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":"1","content_text":"a, \"b\""},)"
      R"({"id":"2","content_text":"c","tags":["x","y"]}],"authors":[{"name":"N"}]})";
  const std::size_t first = text.find("},") + 1, second = text.find("}]") + 1;
  for (std::size_t end = 0; end < text.size(); ++end) {
    EXPECT_EQ(guids_of(read_one(broken_off(text.substr(0, end)))), end < first    ? Guids{}
                                                                   : end < second ? Guids{"1"}
                                                                                  : (Guids{"1", "2"}))
        << end;
  }
}

TEST(Reading, TakesThePostsThatCameWholeOfAtomAndRdf) {
  const std::string atom =
      "<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title><entry><id>1</id><content type='xhtml'><div "
      "xmlns='http://www.w3.org/1999/xhtml'><p>x</p></div></content></entry><entry><id>2</id></entry></feed>";
  EXPECT_EQ(guids_of(read_one(broken_off(atom.substr(0, atom.find("<p>") + 3)))), Guids{});
  EXPECT_EQ(guids_of(read_one(broken_off(atom.substr(0, atom.find("<id>2") + 5)))), Guids{"1"});
  EXPECT_EQ(guids_of(read_one(broken_off(atom.substr(0, atom.rfind("</feed"))))), (Guids{"1", "2"}));
  const std::string rdf =
      "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'><channel>"
      "<title>T</title></channel><item rdf:about='https://e.org/1'><title>1</title></item>"
      "<item rdf:about='https://e.org/2'><title>2</title></item></rdf:RDF>";
  EXPECT_EQ(guids_of(read_one(broken_off(rdf.substr(0, rdf.rfind("<title>"))))), Guids{"https://e.org/1"});
}

TEST(Reading, LeavesTheEncodingAloneWhenACharacterIsCut) {
  const std::string text =
      "<rss version='2.0'><channel><title>T</title><item><guid>1</guid><title>Z\u00fcrich</title>"
      "</item><item><guid>2</guid><title>\U0001F600";
  for (std::size_t back = 0; back < 4; ++back) {
    const Reading reading = read_one(broken_off(text.substr(0, text.size() - back)));
    ASSERT_EQ(guids_of(reading), Guids{"1"}) << back;
    EXPECT_EQ(std::get<Document>(reading).entries[0].fields, (Fields{{"san_ver", "3"}, {"title", "Z\u00fcrich"}}))
        << back;
  }
}

TEST(Reading, TakesThePostsThatCameWholeThroughACoding) {
  std::string items;
  for (unsigned i = 0; i < 2000; ++i) {
    items +=
        "<item><guid>" + std::to_string(i) + "</guid><title>" + std::to_string(i * 2654435761U) + "</title></item>";
  }
  const std::string text = "<rss version='2.0'><channel><title>T</title>" + items + "</channel></rss>";
  const std::string coded = gzip(text);
  const std::string half = coded.substr(0, coded.size() / 2);
  const Reading cut = read_one(broken_off(half, {gzipped}));
  EXPECT_GT(guids_of(cut).size(), 500U);
  EXPECT_LT(guids_of(cut).size(), 2000U);
  const Reading whole = read_one(answer(half, {gzipped}));  // the HTTP message is complete, its coding is not
  EXPECT_EQ(guids_of(whole), guids_of(cut));
  ASSERT_NE(refusal_of(whole), nullptr);
  EXPECT_TRUE(refusal_of(whole)->bad_coding) << "it is asked for once more without";
  ReadingOptions options;
  options.max_body_bytes = text.size() / 2;
  for (const Reading& long_one :
       {read_one(answer(coded, {gzipped}), {}, options), read_one(answer(text), {}, options)}) {
    EXPECT_GT(guids_of(long_one).size(), 500U);
    ASSERT_NE(refusal_of(long_one), nullptr);
    EXPECT_EQ(refusal_of(long_one)->reason, Reason::limit_body);
    EXPECT_FALSE(refusal_of(long_one)->bad_coding);
  }
}

TEST(Reading, AsksForMemoryForWhatBrokeOff) {
  ReadingOptions options;
  options.granted_bytes = 100;
  FetchResult fetched = broken_off(feed_text.substr(0, feed_text.size() - 10));
  const Reading first = read(fetched, {}, options);
  ASSERT_NE(refusal_of(first), nullptr);
  EXPECT_EQ(refusal_of(first)->reason, Reason::worker_memory);
  EXPECT_EQ(guids_of(read(fetched, {}, {})), (Guids{"b", "a"})) << "its body is still there";
}

TEST(Reading, LeavesOutThePostThatADocumentEndsIn) {
  const Reading reading = read_one(answer(feed_text.substr(0, feed_text.rfind("</title>"))));
  EXPECT_EQ(guids_of(reading), Guids{"b"});
  EXPECT_TRUE(std::get<Document>(reading).cut_short);
  EXPECT_FALSE(std::get<Document>(reading).failure) << "this is what the server has";
  EXPECT_FALSE(std::get<Document>(read_one(answer(feed_text))).cut_short);
}

/// Reads a document that was truncated the last time and is unchanged now.
Reading read_again(const std::string& body, FeedState state = {}, bool ended_early = true,
                   const ReadingOptions& options = {}) {
  const auto first = std::get<Document>(read_one(answer(body), state));
  state.document.wire_hash = first.print.wire_hash;
  state.document.body_hash = first.print.body_hash;
  state.rhythm.imported = state.last.at = Milliseconds(1);
  state.document.ends_early = ended_early;
  return read_one(answer(body), state, options);
}

TEST(Reading, KeepsThePostThatADocumentAlwaysEndsIn) {
  const Reading reading = read_again(feed_text.substr(0, feed_text.rfind("rst</title>")));
  EXPECT_EQ(guids_of(reading), (Guids{"b", "a"}));
  const auto& document = std::get<Document>(reading);
  EXPECT_TRUE(document.cut_short);
  EXPECT_EQ(document.cut_post, "a");
  EXPECT_EQ(document.entries[1].fields, (Fields{{"san_ver", "3"}, {"title", "Fi"}, {"truncated", "entry"}}));
  EXPECT_TRUE(document.entries[1].digest.starts_with(cut_mark));
  EXPECT_FALSE(document.entries[0].digest.starts_with(cut_mark));
  EXPECT_TRUE(
      std::ranges::none_of(document.entries[0].fields, [](const auto& field) { return field.first == "truncated"; }));
  const std::string json =
      R"({"version":"https://jsonfeed.org/version/1.1","items":[{"id":"b","title":"B"},{"id":"a","title":"Fi)";
  EXPECT_EQ(guids_of(read_again(json)), (Guids{"b", "a"}));
  EXPECT_TRUE(std::holds_alternative<SameBody>(read_again(json, {}, false)));
  ReadingOptions options;
  options.again = true;
  EXPECT_EQ(guids_of(read_again(json, {}, false, options)), (Guids{"b", "a"}));
}

TEST(Reading, DropsAPostWithATruncatedGuidOrLink) {
  const auto again = [](const std::string& body, FeedState state = {}) {
    return std::holds_alternative<SameBody>(read_again(body, std::move(state)));
  };
  EXPECT_TRUE(again(feed_text.substr(0, feed_text.rfind("</guid>")))) << "its guid";
  EXPECT_TRUE(again(feed_text.substr(0, feed_text.rfind("</link>")))) << "its link";
  EXPECT_TRUE(again(feed_text.substr(0, feed_text.rfind("<guid>")))) << "it has none";
  EXPECT_TRUE(again(feed_text.substr(0, feed_text.rfind("</channel>")))) << "no post at all";
  EXPECT_TRUE(again(R"({"version":"https://jsonfeed.org/version/1.1","items":[{"id":"b"},{"title":"A","id":"a)"));
  const auto cut_in = [&](const std::string& item) {
    return again("<rss xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><item>" + item);
  };
  EXPECT_TRUE(cut_in("<dc:identifier>doi:10.1/2")) << "half a name";
  EXPECT_TRUE(cut_in("<dc:identifier>doi:10.1/2</dc:identifier>")) << "a guid may follow";
  EXPECT_TRUE(cut_in("<guid>a</guid><pubDate>Sun, 01 Mar 202")) << "its date";
  EXPECT_FALSE(cut_in("<dc:identifier>doi:10.1/2</dc:identifier><guid>a</guid><title>A"));
  FeedState by_link;
  by_link.identity.by = IdentifiedBy::link;
  EXPECT_TRUE(again(feed_text.substr(0, feed_text.rfind("</title>")), by_link)) << "its guid does not count";
}

TEST(Reading, NeedsABodyOnlyOf200) {
  for (const int status : {201, 204, 206, 226, 304, 401, 404, 410, 429, 500, 503}) {
    FetchResult fetched = answer(feed_text, {}, status);
    EXPECT_FALSE(has_document(fetched)) << status;
    const Reading reading = read(fetched, {}, {});
    const auto* other = std::get_if<HttpStatus>(&reading);
    ASSERT_NE(other, nullptr) << status;
    EXPECT_EQ(other->status, status);
  }
  EXPECT_TRUE(has_document(answer(feed_text)));
  FetchError error;
  error.reason = Reason::http_timeout;
  error.detail = "no answer";
  error.sent = true;
  const FetchResult failed = error;
  EXPECT_FALSE(has_document(failed));
  const Reading reading = read_one(failed);
  const auto* kept = std::get_if<FetchError>(&reading);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->reason, Reason::http_timeout);
  EXPECT_EQ(kept->detail, "no answer");
  EXPECT_TRUE(kept->sent);
}

TEST(Reading, Takes304OnlyAsAnAnswerToValidators) {
  FetchResponse response = std::get<FetchResponse>(answer("", {}, 304));
  response.conditional = true;
  EXPECT_TRUE(std::holds_alternative<NotModified>(read_one(response)));
  response.conditional = false;
  const Reading reading = read_one(response);
  ASSERT_TRUE(std::holds_alternative<HttpStatus>(reading));

  Claim claim;
  claim.feed_url = "https://example.org/feed.xml";
  const Milliseconds now(1'772'366'400'000);
  const Decision decision = decide(claim, Reading(reading), {}, {}, {}, now);
  EXPECT_EQ(decision.reason, Reason::http_unexpected);
  EXPECT_EQ(decision.detail, "the server answered 304 to a request without validators");
  EXPECT_EQ(decision.commit.state.counts.polls_not_modified, 0U);
  EXPECT_GE(decision.commit.next_due, now + std::chrono::minutes(60));
}

// HTTP §4
TEST(Reading, KnowsPagesThatWantToSeeABrowser) {
  const std::string page =
      "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>"
      "<script src=\"/cdn-cgi/challenge-platform/h/b/orchestrate/jsch/v1\"></script></body></html>";
  const std::string refusal = "<!DOCTYPE html><html><body>403 Forbidden</body></html>";
  struct Case {
    const char* name;
    int status;
    std::vector<Header> headers;
    std::string body;
    bool challenge;
  };
  for (const Case& c : {Case{"a page of the table", 403, {}, page, true}, Case{"503 as well", 503, {}, page, true},
                        Case{"compressed", 403, {gzipped}, gzip(page), true},
                        Case{"by its header", 403, {{"cf-mitigated", "challenge"}}, "", true},
                        Case{"another header", 503, {{"cf-mitigated", "block"}}, refusal, false},
                        Case{"a plain refusal", 403, {}, refusal, false},
                        Case{"no HTML", 403, {}, "/cdn-cgi/challenge-platform/", false},
                        Case{"said to be compressed", 403, {gzipped}, page, true},
                        Case{"not with that status", 404, {{"cf-mitigated", "challenge"}}, page, false}}) {
    const Reading reading = read_one(answer(c.body, c.headers, c.status));
    const auto* status = std::get_if<HttpStatus>(&reading);
    ASSERT_NE(status, nullptr) << c.name;
    EXPECT_EQ(status->challenge, c.challenge) << c.name;
  }
  const Reading instead = read_one(answer(page));
  EXPECT_EQ(std::get<Unreadable>(instead).reason, Reason::status_challenge) << "sent as 200";
  EXPECT_EQ(std::get<Unreadable>(read_one(answer(refusal))).reason, Reason::parse_not_a_feed);
}

TEST(Reading, DoesNotParseAgainWhatCouldNotBeRead) {
  const auto first = std::get<Unreadable>(read_one(answer("<html>no feed</html>")));
  FeedState state;
  state.refused.hash = first.print.body_hash;
  state.refused.reason = "parse.limit";  // not what parsing would return
  state.refused.by = FEEDMILL_VERSION;
  const auto again = std::get<Unreadable>(read_one(answer("<html>no feed</html>"), state));
  EXPECT_EQ(again.reason, Reason::parse_limit);
  EXPECT_EQ(std::get<Unreadable>(read_one(answer("<html>other</html>"), state)).reason, Reason::parse_not_a_feed);
  state.refused.by = "0.0.1";
  EXPECT_EQ(std::get<Unreadable>(read_one(answer("<html>no feed</html>"), state)).reason, Reason::parse_not_a_feed)
      << "another version tries again";
}

TEST(Reading, SaysWhenTheCodingIsToBlame) {
  struct Case {
    const char* name;
    std::vector<Header> headers;
    std::string body;
    bool bad_coding;
  };
  for (const Case& c :
       {Case{"broken", {gzipped}, "no gzip", true}, Case{"twice", {gzipped}, gzip(gzip(feed_text)), true},
        Case{"cut off", {gzipped}, gzip(feed_text).substr(0, 60), true},
        Case{"never asked for", {{"content-encoding", "compress"}}, "\x1f\x9d", true},
        Case{"no feed", {}, "<html></html>", false}}) {
    EXPECT_EQ(std::get<Unreadable>(read_one(answer(c.body, c.headers))).bad_coding, c.bad_coding) << c.name;
  }
}

// HTTP §4
TEST(Reading, TakesTheDocumentBeforeItsWrapping) {
  struct Case {
    const char* named;
    std::string body;
    const char* fault;
  };
  for (const Case& c :
       {Case{"gzip", feed_text, "its Content-Encoding is \"gzip\", and its body is not coded"},
        Case{"br", feed_text, "its Content-Encoding is \"br\", and its body is not coded"},
        Case{"UTF-8", feed_text, "its Content-Encoding is \"UTF-8\", and its body is not coded"},
        Case{"none", feed_text, "its Content-Encoding is \"none\", and its body is not coded"},
        Case{"deflate", gzip(feed_text), "its Content-Encoding is \"deflate\", and its body is gzip"},
        Case{"gzip, gzip", gzip(feed_text), "its Content-Encoding is \"gzip, gzip\", and its body is gzip"},
        Case{"gzip, br", feed_text, "its Content-Encoding is \"gzip, br\", and its body is not coded"},
        Case{"br", zstd(feed_text), "its Content-Encoding is \"br\", and its body is zstd"},
        Case{"", gzip(feed_text), "its Content-Encoding is \"\", and its body is gzip"},
        Case{"x-gzip", gzip(feed_text), ""}}) {
    FetchResult fetched = answer(c.body, {{"content-encoding", c.named}});
    EXPECT_EQ(guids_of(read(fetched, {}, {})), (Guids{"b", "a"})) << c.named;
    EXPECT_EQ(std::get<FetchResponse>(fetched).fault, c.fault);
  }
}

// HTTP §4
TEST(Reading, BelievesTheEndOfADocumentAndNotThatOfItsTransfer) {
  FeedState state;
  for (const Reason reason :
       {Reason::http_truncated, Reason::http_malformed, Reason::http_stream, Reason::http_stalled}) {
    FetchResult fetched = broken_off(feed_text + "\n<!-- cached -->", {{"etag", "\"1\""}});
    std::get<FetchError>(fetched).reason = reason;
    const Reading reading = read(fetched, state, {});
    const auto& document = std::get<Document>(reading);
    EXPECT_FALSE(document.cut_short);
    EXPECT_FALSE(document.failure);
    EXPECT_EQ(guids_of(reading), (Guids{"b", "a"}));
    const auto& whole = std::get<FetchResponse>(fetched);
    EXPECT_EQ(whole.validators().etag, "\"1\"");
    EXPECT_EQ(whole.hops.back().status, 200);
    EXPECT_EQ(whole.fault, "its document is complete, but its transfer failed: bytes are missing (" +
                               std::string(to_string(reason)) + ")");
    state.document.body_hash = document.print.body_hash;
    fetched = broken_off(feed_text + "\n<!-- cached -->");
    EXPECT_TRUE(std::holds_alternative<SameBody>(read(fetched, state, {}))) << "again";
    state.document.body_hash.clear();
  }
  for (const Reason reason : {Reason::limit_body, Reason::http_timeout}) {
    FetchResult fetched = broken_off(feed_text);
    std::get<FetchError>(fetched).reason = reason;
    const Reading reading = read(fetched, {}, {});
    EXPECT_TRUE(refusal_of(reading)) << "a limit holds";
  }
  FetchResult remark = broken_off(feed_text + "\n<!-- cac");
  EXPECT_EQ(refusal_of(read(remark, {}, {})), nullptr) << "what breaks off behind it is not of the feed";
  const std::string json = R"({"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":"1"}]})";
  FetchResult fetched = broken_off(json);
  EXPECT_EQ(refusal_of(read(fetched, {}, {})), nullptr);
  fetched = broken_off(json.substr(0, json.size() - 1));
  EXPECT_NE(refusal_of(read(fetched, {}, {})), nullptr);
  // The name of the end tag inside other markup does not end the document.
  fetched = broken_off(
      "<rss version=\"2.0\"><channel><item><guid>1</guid><description><![CDATA[</rss>]]></description>"
      "</item><!-- </channel></rss> --> <item><guid>2</guid>");
  EXPECT_NE(refusal_of(read(fetched, {}, {})), nullptr);
}

// HTTP R5
TEST(Reading, ReportsTheSelfLinkAndNewAddress) {
  const std::string text =
      "<?xml version=\"1.0\"?><rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\" "
      "xmlns:itunes=\"http://www.itunes.com/dtds/podcast-1.0.dtd\"><channel><title>T</title>"
      "<atom:link rel=\"self\" href=\"https://Example.org:443/self.xml\"/>"
      "<atom:link rel=\"previous\" href=\"https://example.org/prev.xml\"/>"
      "<itunes:new-feed-url>https://new.example.org/feed.xml</itunes:new-feed-url></channel></rss>";
  const auto document = std::get<Document>(read_one(answer(text)));
  EXPECT_EQ(document.self, "https://example.org/self.xml") << "in the spelling that feeds have";
  EXPECT_EQ(document.prev, "https://example.org/prev.xml");
  EXPECT_EQ(document.new_location, "https://new.example.org/feed.xml");
  EXPECT_EQ(std::get<Document>(read_one(answer(feed_text))).new_location, "");
}

}  // namespace
}  // namespace feedmill::reading_test
