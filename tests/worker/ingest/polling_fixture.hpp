// Documents in sequence, processed as by a worker, on a real store. Only the network is left out.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/store/store.hpp"
#include "tests/support/packed_digests.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/policy/decide.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill::test {

inline const std::string url = "https://example.org/feed.xml";

struct Item {
  std::string guid, link, title;
  int day = 0;  ///< of March 2025; 0: undated
  std::string text{};
  std::string file{};  ///< URL of an enclosure
};

inline std::string rss(const std::vector<Item>& items, const std::string& comment = "") {
  std::string xml = "<rss version='2.0'><channel><title>Feed</title><link>https://example.org/</link>";
  for (const Item& item : items) {
    xml += "<item>";
    if (!item.guid.empty()) xml += "<guid isPermaLink='false'>" + item.guid + "</guid>";
    if (!item.link.empty()) xml += "<link>" + item.link + "</link>";
    xml += "<title>" + item.title + "</title>";
    if (!item.text.empty()) xml += "<description>" + item.text + "</description>";
    if (!item.file.empty()) xml += "<enclosure url='" + item.file + "' type='audio/mpeg' length='1'/>";
    if (item.day > 0) xml += "<pubDate>" + std::to_string(item.day) + " Mar 2025 12:00:00 GMT</pubDate>";
    xml += "</item>";
  }
  return xml + "</channel></rss>" + (comment.empty() ? "" : "<!-- " + comment + " -->");
}

/// Posts `newest` … 1 as a site lists them.
inline std::vector<Item> site(int newest, const std::string& base = "https://example.org/",
                              const std::string& guids = "g") {
  std::vector<Item> items;
  for (int n = newest; n > 0; --n) {
    const std::string number = std::to_string(n);
    items.push_back({guids + number, base + "post/" + number, "Post " + number, n, "What post " + number + " says"});
  }
  return items;
}

class Polling : public testing::Test {
 protected:
  explicit Polling(const EventDetail& detail = {})
      : store(StoreOptions{.url = server.url(), .events = detail}), events(detail) {
    EXPECT_TRUE(store.open());
    EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = url}}));
  }

  std::string redis(const std::vector<std::string>& words) { return redis_command(server, words); }

  Committed poll(const std::string& body) {
    FetchResponse response;
    response.status = 200;
    response.url = url;
    response.headers = {{"etag", etag}};
    response.body = body;
    return poll_answered(std::move(response));
  }
  /// Polls with a connection that breaks after `bytes` of the body.
  Committed poll_cut(const std::string& body, std::size_t bytes) {
    FetchError error;
    error.reason = Reason::http_truncated;
    error.detail = "bytes are missing";
    error.sent = true;
    error.status = 200;
    FetchResponse& part = error.cut_off.emplace();
    part.status = 200;
    part.url = url;
    part.body = body.substr(0, bytes);
    return poll_answered(std::move(error));
  }

  /// Processes an answer as Refresher does, without the network.
  Committed poll_answered(FetchResult fetched) {
    ClaimRequest request;
    request.worker = std::string(32, 'a');
    request.request = ++requests;
    request.host = {64, Milliseconds(0)};
    request.only = {url};
    redis({"ZADD", "schedule", "XX", "1", url});
    const auto batch = Ingest(store).claim(request);
    EXPECT_TRUE(batch && batch->claims.size() == 1);
    const Claim& claim = batch->claims.front();
    Exchange exchange;
    exchange.requested_url = url;
    if (const auto* response = std::get_if<FetchResponse>(&fetched)) exchange.validators = response->validators();
    std::optional<StoredFeed> before;
    const TextsToRead texts = texts_to_read(claim.state, retention);
    if (claim.has_posts) before = stored_feed(texts.newest);
    if (!before) before.emplace();
    ReadingOptions how = reading_options;
    how.hash_items = true;
    how.items = &before->items;
    how.again = texts.again || takes_held_back(claim.state, claim.now);
    how.pass_over = passes_over && !compares_all(claim.state, claim.now);
    FetchResult again = fetched;
    Reading reading = read(fetched, claim.state, how);
    StoredSnapshot known;
    reads = 0;
    if (auto* document = std::get_if<Document>(&reading)) {
      if (alter) alter(claim.state, *document);
      passed_over += static_cast<std::size_t>(std::ranges::count(document->entries, true, &EntryRecord::passed_over));
      const auto look = [&] {
        known =
            look_up({url, document->entries, document->deleted, {}, &*before, 0, compares_all(claim.state, claim.now)});
        settle_repeated(*document, known);
      };
      look();
      if (must_compare(claim.state.identity, *document, known)) {
        if (!document->whole_body.empty()) {
          how.pass_over = false;
          reading = read(again, claim.state, how);
          document = &std::get<Document>(reading);
          look();
        }
        const auto stored = Ingest(store).stored_posts(url);
        EXPECT_TRUE(stored);
        const Recognised recognised = recognise(claim.state.identity, *document, known, *stored);
        ++reads;
        if (!recognised.look_up.empty()) {
          add_recognised(known, recognised, look_up({url, recognised.look_up, {}, {}, &*before}));
        }
      }
      const Suspects suspected = suspects(claim.state.identity, *document, known, claim.now);
      StoredSnapshot found;
      if (!suspected.empty()) {
        LookUp wanted{url, suspected.look_up, {}, {}, &*before};
        wanted.seconds = suspected.seconds;
        found = look_up(wanted);
      }
      recognise_items(claim.state.identity, *document, known, std::move(found));
    }
    PolicyOptions options;
    options.retention = retention;
    options.events = events;
    decision = decide(claim, Reading(reading), exchange, known, options, claim.now);
    const Commit* const commit = &decision.commit;
    const auto done = Ingest(store).commit(std::span(&commit, 1)).front();
    EXPECT_TRUE(done) << done.error().detail;
    if (looks_whole && (requests < 50 || requests % 100 == 0)) expect_whole();  // it sends many commands
    return done ? *done : Committed();
  }

  StoredFeed stored_feed(std::optional<std::uint64_t> texts = {}) {
    const FeedToRead wanted{url, 0, texts};
    const auto stored = Ingest(store).stored_feeds(std::span(&wanted, 1)).front();
    EXPECT_TRUE(stored);
    return *stored;
  }

  StoredSnapshot look_up(const LookUp& wanted) {
    ++reads;
    const auto known = Ingest(store).look_up(std::span(&wanted, 1)).front();
    EXPECT_TRUE(known);
    return *known;
  }

  std::map<std::string, std::string> digests() { return packed_digests(redis({"GET", "state:items:" + url})); }

  /// RELIABILITY I2, I3, I4, I15: no guid is both mapped and tombstoned.
  void expect_whole() {
    const auto entries = Entries(store).all_by_order(url, 100'000);
    ASSERT_TRUE(entries);
    std::set<std::string> guids;
    for (const StoredEntry& entry : *entries) {
      const std::string& guid = entry.get("guid");
      EXPECT_TRUE(guids.insert(guid).second) << guid << " twice";
      EXPECT_EQ(redis({"HGET", url + ":guidmap", guid}), entry.id);
      EXPECT_EQ(digests()[entry.id], packed_mark(entry.get("digest")));
      EXPECT_EQ(redis({"ZSCORE", url + ":tombs", guid}), "(nil)");
    }
    EXPECT_EQ(redis({"HLEN", url + ":guidmap"}), std::to_string(guids.size()));
    EXPECT_EQ(digests().size(), guids.size());
  }

  std::vector<boost::json::object> signals(const std::string& type = "") {
    std::vector<boost::json::object> all;
    const auto records = EventStream(store).read("0", 100'000, Milliseconds(0));
    EXPECT_TRUE(records);
    for (const EventRecord& record : *records) {
      if (type.empty() || record.type == type) all.push_back(boost::json::parse(record.json).as_object());
    }
    return all;
  }
  std::size_t count(const std::string& type) { return signals(type).size(); }
  FeedState state() { return (*Feeds(store).records(std::vector{url}))[0]->state; }
  std::string title_of(const std::string& id) { return redis({"HGET", id, "title"}); }

  RedisServer server;
  Store store;
  EventDetail events;
  Retention retention;
  std::string etag;                                        ///< of the next documents
  std::function<void(const FeedState&, Document&)> alter;  ///< changes each document before its posts are looked up
  bool looks_whole = true;                                 ///< expect_whole() after each poll
  bool passes_over = true;                                 ///< items with known hashes are not read
  ReadingOptions reading_options;
  std::size_t passed_over = 0;  ///< in all polls
  Decision decision;
  int reads = 0;  ///< read-only round trips of the last poll
  std::uint64_t requests = 0;
};

}  // namespace feedmill::test
