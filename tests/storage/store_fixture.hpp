// A store on a real server, and the steps of a worker as functions.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/records/diff.hpp"
#include "storage/store/store.hpp"
#include "tests/support/packed_digests.hpp"
#include "tests/support/redis_server.hpp"

namespace feedmill::test {

inline const std::string feed_url = "https://example.org/feed.xml";
inline const std::string worker_a(32, 'a'), worker_b(32, 'b');

/// Each test has an empty server of its own.
class StoreTest : public testing::Test {
 protected:
  /// `user`: a user of deploy/redis/users.acl.
  explicit StoreTest(const std::string& user = "feedmill") : store(StoreOptions{.url = server.url_of(user)}) {
    const auto opened = store.open();
    EXPECT_TRUE(opened) << opened.error().detail;
  }

  std::string redis(const std::vector<std::string>& words) { return redis_command(server, words); }

  /// What the store keeps of its posts' digests (packed_mark()), by entry.
  std::map<std::string, std::string> digests(const std::string& of = feed_url) {
    return packed_digests(redis({"GET", "state:items:" + of}));
  }

  void add(const std::string& of = feed_url) {
    ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = of, .after = {}, .settings = "", .title = ""}}));
  }

  ClaimBatch claim(const std::string& worker = worker_a, std::size_t max = 10,
                   Milliseconds lease = Milliseconds(90'000), HostLimits host = {64, Milliseconds(0)}) {
    ClaimRequest request;
    request.worker = worker;
    request.request = ++requests;
    request.max = max;
    request.lease = lease;
    request.host = host;
    auto batch = Ingest(store).claim(request);
    EXPECT_TRUE(batch) << batch.error().detail;
    return batch ? *batch : ClaimBatch();
  }

  Claim claim_one() {
    EXPECT_EQ(redis({"ZADD", "schedule", "XX", "1", feed_url}), "0");
    ClaimBatch batch = claim();
    EXPECT_EQ(batch.claims.size(), 1U);
    return batch.claims.empty() ? Claim() : batch.claims[0];
  }

  Claim claim_of(const std::string& feed) {
    ClaimRequest request;
    request.worker = worker_a;
    request.request = ++requests;
    request.only = {feed};
    request.max = 1;
    request.host = {64, Milliseconds(0)};
    const auto batch = Ingest(store).claim(request);
    EXPECT_TRUE(batch && batch->claims.size() == 1) << feed;
    return batch && batch->claims.size() == 1 ? batch->claims[0] : Claim();
  }

  /// Makes all feeds due, and lets feeds that wait for a host start.
  void make_all_due() {
    const auto feeds = Feeds(store).urls_after("", 10'000);
    ASSERT_TRUE(feeds);
    std::vector<std::string> words{"ZADD", "schedule", "XX"};
    for (const std::string& feed : *feeds) words.insert(words.end(), {"1", feed});
    redis(words);
    redis({"ZUNIONSTORE", "lines", "1", "lines", "WEIGHTS", "0"});  // for the feeds in lines
  }

  static EntryRecord post(const std::string& guid, std::int64_t timestamp, const std::string& title = "t") {
    Fields fields{{"link", "https://example.org/" + guid}, {"title", title}};
    return {guid, digest_of(title), timestamp, fields};
  }
  /// The text itself, if the store keeps all of it.
  static std::string digest_of(const std::string& text) {
    return text.size() <= 10 ? text : std::to_string(std::hash<std::string>()(text));
  }

  /// The commit that a worker makes for a document: look up, diff, plan.
  Commit plan(const Claim& claimed, const std::vector<EntryRecord>& posts, Retention retention = {}) {
    const LookUp look_up{claimed.feed_url, posts};
    const auto known = Ingest(store).look_up(std::span(&look_up, 1)).front();
    EXPECT_TRUE(known) << known.error().detail;
    Commit commit;
    commit.feed_url = claimed.feed_url;
    commit.claim = claimed.id;
    commit.next_due = claimed.now + std::chrono::hours(1);
    commit.before = commit.state = claimed.state;
    commit.state.state = "healthy";
    commit.state.last.at = claimed.now;
    commit.document = true;
    commit.initial = claimed.state.rhythm.imported.count() == 0;
    if (commit.initial) commit.state.rhythm.imported = claimed.now;
    commit.entries = diff_entries(std::vector(posts), *known, claimed.now).writes;
    commit.tombs_left = known->left;
    commit.tombs_back = known->back;
    commit.retention = retention;
    commit.retention.listed = posts.size();
    return commit;
  }

  Committed send(const Commit& commit) {
    const Commit* const one = &commit;
    const auto done = Ingest(store).commit(std::span(&one, 1)).front();
    EXPECT_TRUE(done) << done.error().detail;
    return done ? *done : Committed();
  }

  Committed refresh(const std::vector<EntryRecord>& posts, Retention retention = {}) {
    return send(plan(claim_one(), posts, retention));
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

  RedisServer server;
  Store store;
  std::uint64_t requests = 0;
};

}  // namespace feedmill::test
