// Random histories of a feed, compared with a model of the contract in memory (DESIGN §3–§5, RELIABILITY I2–I5, I10,
// I11, I15). FEEDMILL_HISTORIES = number of histories (default 200), FEEDMILL_HISTORY_SEED = seed of the first one; a
// failure names its seed.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/redis/redis.hpp"
#include "tests/storage/store_fixture.hpp"
#include "tests/support/counts.hpp"

namespace feedmill::history_test {
namespace {

/// An item as listed by a publisher.
struct Item {
  std::string guid, title;
  std::int64_t date = 0;  // 0 = undated
};

/// The expected content of the store, as simple as possible.
class Model {
 public:
  struct Post {
    std::uint64_t number = 0;  // the number in Entry:<number>
    std::int64_t timestamp = 0, rev = 1;
    std::string title, digest;
    std::uint64_t bytes = 0;
    bool saved = false;
    std::optional<std::int64_t> updated{};   // the stored date_updated
    std::optional<std::string> publisher{};  // the publisher's title before an operator's save
    std::string id() const { return "Entry:" + std::to_string(number); }
  };
  enum class Tomb { listed, left };

  /// Reads a document of `records` without duplicates. `now`: the store's time, in seconds.
  void read(const std::vector<EntryRecord>& records, const Retention& retention, std::int64_t now) {
    std::set<std::string> guids;
    for (const EntryRecord& record : records) guids.insert(record.guid);
    std::vector<Candidate> fresh;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const EntryRecord& record = records[i];
      const auto known = posts.find(record.guid);
      if (known != posts.end()) {
        const Post& post = known->second;
        if (post.digest == record.digest) continue;
        const bool stale = post.rev > 1 && record.timestamp && post.updated && *record.timestamp < *post.updated &&
                           *post.updated <= now;
        if (!stale) change(known->second, record, now);  // RELIABILITY I11: an older version does not undo a newer one
      } else if (!tombs.contains(record.guid)) {
        Candidate candidate;
        candidate.guid = record.guid;
        candidate.record = &record;
        const std::int64_t undated = now - static_cast<std::int64_t>(i);
        candidate.timestamp = std::clamp<std::int64_t>(record.timestamp.value_or(undated), 0, now);
        candidate.place = records.size() - i;  // within a second, the first post of a document is the newest
        fresh.push_back(candidate);
      }
    }
    for (auto& [guid, tomb] : tombs) {
      tomb.first = guids.contains(guid) ? Tomb::listed : Tomb::left;
      tomb.second = tomb.second && tomb.first == Tomb::left;
    }
    forget(retention);
    hold_to(retention, now, std::move(fresh));
  }

  /// A poll that returns no document.
  void rest(const Retention& retention, std::int64_t now) {
    forget(retention);
    hold_to(retention, now, {});
  }

  void remove(const std::string& guid) {
    posts.erase(guid);
    tombs[guid] = {Tomb::listed, false};  // until the next document shows otherwise
  }

  void expire(std::uint64_t limit) {
    auto order = in_order();
    for (std::size_t i = 0; i + limit < order.size(); ++i) remove(order[i]);
  }

  /// A save by an operator. `bytes`: size of the resulting post.
  void save(const std::string& guid, const std::string& title, std::int64_t now, std::uint64_t bytes) {
    const auto known = posts.find(guid);
    if (known == posts.end()) {
      posts[guid] = {++counter, now, 1, title, "", bytes, true};
      tombs.erase(guid);
      ++created[guid];
    } else if (known->second.title != title) {
      if (!known->second.saved) known->second.publisher = known->second.title;
      known->second.title = title;
      known->second.bytes = bytes;
      known->second.saved = true;
      ++known->second.rev;
    }
  }

  /// Lets the grace period of a week end.
  void let_a_week_pass() {
    for (auto& [guid, tomb] : tombs) tomb.second = tomb.first == Tomb::left;
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [guid, post] : posts) sum += post.bytes;
    return sum;
  }

  std::map<std::string, Post> posts;
  std::map<std::string, std::pair<Tomb, bool>> tombs;  // and whether the grace period is over
  std::map<std::string, int> created;                  // number of creations by guid
  std::uint64_t counter = 0;

 private:
  struct Candidate {
    std::string guid;
    std::int64_t timestamp = 0;
    std::size_t place = 0;
    const EntryRecord* record = nullptr;  // nullptr = stored
    std::string id;
  };

  static void change(Post& post, const EntryRecord& record, std::int64_t now) {
    const std::string& title = record.fields.back().second;
    post.digest = record.digest;
    if (post.saved && post.publisher == title) return;  // no visible change by the publisher
    const bool is_news = post.title != title, has_another_date = record.timestamp != post.updated;
    if (!is_news && !has_another_date && !post.saved) return;
    ++post.rev;
    post.title = title;
    post.publisher.reset();
    post.bytes = entry_bytes(record.fields);
    post.saved = false;
    post.updated = record.timestamp;
    const bool is_past = record.timestamp && *record.timestamp >= 0 && *record.timestamp <= now;
    if (is_news && is_past) post.timestamp = *record.timestamp;
  }

  void forget(const Retention& retention) {
    std::erase_if(tombs, [&](const auto& tomb) {
      return tomb.second.first == Tomb::left && (tomb.second.second || retention.grace.count() == 0);
    });
  }

  std::vector<std::string> in_order() const {
    std::vector<std::string> guids;
    for (const auto& [guid, post] : posts) guids.push_back(guid);
    std::sort(guids.begin(), guids.end(), [&](const auto& a, const auto& b) {
      const Post &left = posts.at(a), &right = posts.at(b);
      return std::pair(left.timestamp, left.number) < std::pair(right.timestamp, right.number);
    });
    return guids;
  }

  /// Applies retention to stored and new posts, oldest first. Trims from the front posts that are too old, too many or
  /// too heavy: at most 100 stored posts, but any number of new ones, which are then never created.
  void hold_to(const Retention& retention, std::int64_t now, std::vector<Candidate> fresh) {
    const std::int64_t age = retention.age.count() / 1000;
    const auto too_old = [&](std::int64_t timestamp) { return age != 0 && timestamp < now - age; };
    std::vector<Candidate> all;
    for (const std::string& guid : in_order())
      all.push_back({guid, posts[guid].timestamp, 0, nullptr, posts[guid].id()});
    for (const Candidate& candidate : fresh) {
      if (too_old(candidate.timestamp))
        tombs[candidate.guid] = {Tomb::listed, false};
      else
        all.push_back(candidate);
    }
    std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
      if (a.timestamp != b.timestamp) return a.timestamp < b.timestamp;
      if ((a.record == nullptr) != (b.record == nullptr)) return a.record == nullptr;
      return a.record != nullptr ? a.place < b.place : posts.at(a.guid).number < posts.at(b.guid).number;
    });
    std::uint64_t heavy = 0, left = all.size();
    const auto bytes_of = [&](const Candidate& candidate) {
      return candidate.record == nullptr ? posts[candidate.guid].bytes : entry_bytes(candidate.record->fields);
    };
    for (const Candidate& candidate : all) heavy += bytes_of(candidate);
    int taken = 0;
    bool going = true;
    for (const Candidate& candidate : all) {
      going = going && (left > retention.count() || too_old(candidate.timestamp) ||
                        (retention.bytes != 0 && heavy > retention.bytes && left > 1));
      if (going) {
        heavy -= bytes_of(candidate);
        --left;
      }
      if (going && candidate.record != nullptr) {
        tombs[candidate.guid] = {Tomb::listed, false};
      } else if (going && taken < 100) {
        remove(candidate.guid);
        ++taken;
      } else if (candidate.record != nullptr) {
        const EntryRecord& record = *candidate.record;
        posts[candidate.guid] = {++counter,     candidate.timestamp,        1,     record.fields.back().second,
                                 record.digest, entry_bytes(record.fields), false, record.timestamp};
        ++created[candidate.guid];
      }
    }
  }
};

class Histories : public test::StoreTest {
 protected:
  /// The records of a document as the reader builds them: of equal guids the first is used.
  static std::vector<EntryRecord> records_of(const std::vector<Item>& items) {
    Feed feed;
    for (const Item& item : items) {
      Entry& entry = feed.entries.emplace_back();
      entry.guid = item.guid;
      entry.title = {item.title, {}, "", "", true};
      if (item.date != 0) entry.updated.time = Time(std::chrono::seconds(item.date));
    }
    return entry_records(feed, IdentifiedBy::guid, IdentifiedBy::guid);  // fields: date_updated, title
  }

  /// Makes the feed due and ends any earlier lease.
  Claim take(const std::string& url) {
    redis({"ZADD", "schedule", "XX", "1", url});
    ClaimRequest request;
    request.worker = test::worker_a;
    request.request = ++requests;
    request.host = {64, Milliseconds(0)};
    request.only = {url};
    auto batch = Ingest(store).claim(request);
    EXPECT_TRUE(batch && batch->claims.size() == 1);
    return batch->claims.empty() ? Claim() : batch->claims[0];
  }

  /// Sends a commit that breaks the connection in its `part`-th part: the server receives only the parts before it.
  void break_at(Commit commit, std::size_t part) {
    commit.entries[100 * part].set.emplace_back("content", std::string((1U << 20U) + 1, 'x'));
    redis({"CONFIG", "SET", "proto-max-bulk-len", "1048576"});
    const Commit* const one = &commit;
    EXPECT_FALSE(Ingest(store).commit(std::span(&one, 1)).front());
    redis({"CONFIG", "SET", "proto-max-bulk-len", "536870912"});
  }

  Redis& probe() {
    if (!probe_) probe_.emplace(*parse_redis_url(server.url()), Milliseconds(5000));
    return *probe_;
  }
  Fields pairs(const std::vector<std::string>& words) {
    Words views(words.begin(), words.end());
    const auto reply = probe().command(views);
    EXPECT_TRUE(reply);
    return reply ? reply->pairs() : Fields();
  }

  void expect_as(const Model& model, const std::string& url) {
    std::map<std::string, std::string> map, order, tombs;
    for (const auto& [guid, id] : pairs({"HGETALL", url + ":guidmap"})) map[guid] = id;
    for (const auto& [id, score] : pairs({"ZRANGE", url + ":sort", "0", "-1", "WITHSCORES"})) order[id] = score;
    std::map<std::string, std::string> marks = digests(url);
    for (const auto& [guid, score] : pairs({"ZRANGE", url + ":tombs", "0", "-1", "WITHSCORES"})) tombs[guid] = score;
    ASSERT_EQ(map.size(), model.posts.size());
    ASSERT_EQ(order.size(), model.posts.size());
    ASSERT_EQ(marks.size(), model.posts.size());
    for (const auto& [guid, post] : model.posts) {
      ASSERT_EQ(map[guid], post.id()) << guid;
      ASSERT_EQ(order[post.id()], std::to_string(post.timestamp)) << guid;
      if (!post.digest.empty()) {
        ASSERT_EQ(marks[post.id()], test::packed_mark(post.digest)) << guid;
      }
      std::map<std::string, std::string> fields;
      for (const auto& [name, value] : pairs({"HGETALL", post.id()})) fields[name] = value;
      ASSERT_EQ(fields["guid"], guid);
      ASSERT_EQ(fields["feed_url"], url);
      ASSERT_EQ(fields["title"], post.title) << guid;
      ASSERT_EQ(fields["rev"], std::to_string(post.rev)) << guid;
      ASSERT_EQ(fields["timestamp"], std::to_string(post.timestamp)) << guid;
      ASSERT_EQ(fields["bytes"], std::to_string(post.bytes)) << guid;
      ASSERT_EQ(fields.contains("saved"), post.saved) << guid;
    }
    ASSERT_EQ(tombs.size(), model.tombs.size());
    for (const auto& [guid, tomb] : model.tombs) {
      ASSERT_EQ(tombs[guid] == "inf", tomb.first == Model::Tomb::listed) << guid;
    }
    ASSERT_EQ(Feeds(store).records(std::vector{url})->front()->bytes, model.bytes());
  }

  /// Checks that each post was created as often as expected, and that each revision was reported once and in order.
  void expect_signals(const Model& model, const std::string& url, const std::string& since) {
    std::map<std::string, int> created;
    std::map<std::string, std::int64_t> revs;  // by entry
    for (std::string after = since;;) {
      const auto records = EventStream(store).read(after, 1000, Milliseconds(0));
      ASSERT_TRUE(records);
      if (records->empty()) break;
      for (const EventRecord& record : *records) {
        const boost::json::object signal = boost::json::parse(record.json).as_object();
        if (signal.at("feed_url").as_string() != url) continue;
        const std::string id(signal.at("entity_id").as_string());
        if (record.type == "post_created") {
          ++created[std::string(signal.at("guid").as_string())];
          revs[id] = 1;
        } else if (record.type == "post_modified" || record.type == "post_mended") {
          ASSERT_EQ(signal.at("rev").as_int64(), ++revs[id]);
        } else {
          ASSERT_EQ(revs.erase(id), 1U) << record.json;
        }
      }
      after = records->back().id;
    }
    ASSERT_EQ(created, model.created);
    ASSERT_EQ(revs.size(), model.posts.size());
    for (const auto& [guid, post] : model.posts) ASSERT_EQ(revs[post.id()], post.rev) << guid;
  }

  void live(std::uint64_t seed);

  std::optional<Redis> probe_;
};

void Histories::live(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  const auto chance = [&](std::uint64_t percent) { return below(100) < percent; };
  const std::string url = "https://h" + std::to_string(seed) + ".example.org/feed";
  add(url);
  Model model;
  model.counter = std::strtoull(redis({"GET", "ids:Entry"}).c_str(), nullptr, 10);
  const std::string since = *EventStream(store).last_id();
  const bool large = chance(10);  // more posts than a part of a commit may have
  const bool heavy = !large && chance(30);
  const std::uint64_t guids = large ? 400 : 40;
  const std::int64_t start = store.now()->count() / 1000;
  Retention retention;
  std::vector<Item> document;
  std::uint64_t listed = 0;

  const auto item = [&](std::uint64_t number) {
    Item made;
    made.guid = "g" + std::to_string(number);
    made.title = "t" + std::string(below(4) * (heavy ? 20 : 1), 'x');
    if (!chance(15)) made.date = start - static_cast<std::int64_t>(below(chance(50) ? 5 : 4'000'000));
    if (chance(5)) made.date = start + 1'000'000;  // in the future
    return made;
  };
  const auto change_document = [&] {
    for (std::uint64_t changes = 1 + below(large ? 150 : 6); changes > 0; --changes) {
      const std::uint64_t at = document.empty() ? 0 : below(document.size());
      if (document.empty() || chance(60)) {
        document.insert(document.begin() + static_cast<std::ptrdiff_t>(chance(80) ? 0 : at), item(below(guids)));
      } else if (chance(40)) {
        document.erase(document.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (chance(50)) {
        const std::string guid = document[at].guid;
        document[at] = item(0);
        document[at].guid = guid;
      } else {
        std::shuffle(document.begin(), document.end(), random);
      }
    }
    if (chance(3)) document.clear();
  };
  const auto change_retention = [&] {
    retention = Retention();
    retention.entries = 1 + below(large ? 120 : 20);
    retention.strict = chance(40);
    retention.hard_cap = retention.entries + below(large ? 200 : 30);
    if (chance(25)) retention.age = std::chrono::seconds(below(5'000'000) + 10);
    if (heavy) retention.bytes = 30 + below(1500);
    if (chance(15)) retention.grace = Milliseconds(0);
  };
  change_retention();

  for (int step = 0; step < 25; ++step) {
    SCOPED_TRACE("FEEDMILL_HISTORY_SEED=" + std::to_string(seed) + " FEEDMILL_HISTORIES=1, step " +
                 std::to_string(step));
    const std::uint64_t what = below(100);
    if (what < 60) {
      change_document();
      if (chance(20)) change_retention();
      const std::vector<EntryRecord> records = records_of(document);
      Commit commit = plan(take(url), records, retention);
      if (commit.entries.size() > 100 && chance(50)) {
        break_at(commit, 1 + below((commit.entries.size() - 1) / 100));
        commit = plan(take(url), records, retention);  // another worker reads the same document
      }
      const Committed done = send(commit);
      listed = records.size();
      commit.retention.listed = listed;
      // Age is measured from the last poll in the worker's state, as of the claim.
      model.read(records, commit.retention, commit.state.last.at.count() / 1000);
      if (done.result == Committed::Result::ok && chance(30)) {
        EXPECT_EQ(send(commit).result, Committed::Result::dup);
      }
      if (model.posts.size() <= commit.retention.count() && chance(20)) {  // a repeated document: RELIABILITY I10
        const std::string before = *EventStream(store).last_id();
        commit = plan(take(url), records, retention);
        EXPECT_TRUE(commit.entries.empty());
        send(commit);
        model.read(records, commit.retention, commit.state.last.at.count() / 1000);
        if (retention.age.count() == 0) {
          EXPECT_EQ(*EventStream(store).last_id(), before);
        }
      }
    } else if (what < 70) {
      if (chance(50)) change_retention();
      Commit commit = plan(take(url), {}, retention);
      commit.document = false;
      commit.trim = true;
      commit.tombs_left.clear();
      commit.retention.listed = listed;
      send(commit);
      model.rest(commit.retention, commit.state.last.at.count() / 1000);
    } else if (what < 80) {
      if (model.posts.empty()) continue;
      auto chosen = model.posts.begin();
      std::advance(chosen, static_cast<std::ptrdiff_t>(below(model.posts.size())));
      const std::string guid = chosen->first;
      EXPECT_TRUE(*Entries(store).remove(chosen->second.id()));
      model.remove(guid);
    } else if (what < 88) {
      const std::string guid = "g" + std::to_string(below(guids + 5)), title = "saved " + std::to_string(below(3));
      const auto saved = Entries(store).update_or_create({url, guid, {{"title", title}}});
      ASSERT_TRUE(saved);
      const auto entry = Entries(store).get(saved->id);
      const std::int64_t now = std::strtoll((*entry)->get("last_changed").c_str(), nullptr, 10);
      model.save(guid, title, now, entry_bytes((*entry)->fields));
    } else if (what < 92) {
      const std::uint64_t limit = below(30);
      EXPECT_TRUE(**Entries(store).expire(url, limit) + limit >= model.posts.size());
      model.expire(limit);
    } else if (what < 96) {
      for (const auto& [guid, score] : pairs({"ZRANGE", url + ":tombs", "0", "-1", "WITHSCORES"})) {
        if (score != "inf") redis({"ZADD", url + ":tombs", "XX", "1", guid});
      }
      model.let_a_week_pass();
    } else {
      probe_.reset();
      store.disconnect();
    }
    expect_as(model, url);
    if (HasFailure()) return;
  }
  SCOPED_TRACE("FEEDMILL_HISTORY_SEED=" + std::to_string(seed) + " FEEDMILL_HISTORIES=1, signals");
  expect_signals(model, url, since);
  EXPECT_TRUE(*Feeds(store).remove(url));
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST_F(Histories, EndAsTheContractSays) {
  const auto usual = static_cast<std::uint64_t>(test::tries(100, 200, 200));
  const std::uint64_t histories = from_environment("FEEDMILL_HISTORIES", usual);
  const std::uint64_t first = from_environment("FEEDMILL_HISTORY_SEED", 1);
  for (std::uint64_t seed = first; seed < first + histories; ++seed) {
    live(seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace feedmill::history_test
