// Post content in events: `changed` up to its limit, and the whole post on request (DESIGN §4).
#include <functional>

#include "storage/entries/entries.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/event_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::event_content_test {
namespace {

namespace json = boost::json;

TEST(EventJson, SaysOldAndNewUpToALimitAndSizesBeyond) {
  const Fields old{{"gone", "x"}, {"title", std::string(512, 'a')}}, now{{"new", "\"y\""}, {"title", "b"}};
  EXPECT_EQ(changes_json(old, now, 512),
            R"({"new":["","\"y\""],"title":[")" + std::string(512, 'a') + R"(","b"],"gone":["x",""]})");
  EXPECT_EQ(changes_json(old, now, 511),
            R"({"new":["","\"y\""],"title":{"old_bytes":512,"new_bytes":1},"gone":["x",""]})");
  EXPECT_EQ(changes_json(old, now, 0),
            R"({"new":{"old_bytes":0,"new_bytes":3},)"
            R"("title":{"old_bytes":512,"new_bytes":1},"gone":{"old_bytes":1,"new_bytes":0}})");
  const Fields huge{{"title", std::string(1U << 20U, '\\')}};
  const json::value whole = json::parse(changes_json({}, huge, 1U << 20U));
  EXPECT_EQ(whole.at("title").at(1).as_string(), huge[0].second);
}

class EventContent : public StoreTest {
 protected:
  StoreOptions with(std::size_t most) {
    return StoreOptions{.url = server.url(), .events = {.content = true, .content_max = most}};
  }
  /// Commits through a store that adds content to events.
  Committed write(const std::vector<EntryRecord>& posts, std::size_t most = 64U << 10U) {
    Store telling(with(most));
    const Claim claimed = claim_one();
    const LookUp look_up{feed_url, posts};
    const auto known = Ingest(telling).look_up(std::span(&look_up, 1)).front();
    EXPECT_TRUE(known);
    Commit commit = plan(claimed, posts);
    commit.entries = diff_entries(std::vector(posts), *known, claimed.now, most).writes;
    if (between) between();
    const Commit* const one = &commit;
    const auto done = Ingest(telling).commit(std::span(&one, 1)).front();
    EXPECT_TRUE(done) << done.error().detail;
    return done ? *done : Committed();
  }
  static EntryRecord long_post(const std::string& content, const std::string& title = "t") {
    const Fields fields{{"content", content}, {"content_type", "text/html"}, {"title", title}};
    return {"a", digest_of(content + title), 1000, fields};
  }
  /// The post's hash without the fields that are elsewhere in the event.
  json::object stored(const std::string& id) {
    json::object fields;
    const auto entry = Entries(store).get(id);
    EXPECT_TRUE(entry && *entry);
    for (const auto& [name, value] : (*entry)->fields) fields[name] = value;
    for (const char* name : {"bytes", "digest", "feed_url", "guid", "rev"}) EXPECT_EQ(fields.erase(name), 1U) << name;
    return fields;
  }
  json::object last(const std::string& type) {
    const auto all = signals(type);
    EXPECT_FALSE(all.empty()) << type;
    return all.empty() ? json::object() : all.back();
  }

  std::function<void()> between;
};

TEST_F(EventContent, IsThePostAsItIsStored) {
  add();
  write({long_post("<p>\"one\"\\ \u00e9\n</p>")});
  EXPECT_EQ(last("post_created").at("post"), json::value(stored("Entry:1")));
  // The event has the whole post, including unchanged fields.
  write({long_post("<p>\"one\"\\ \u00e9\n</p>", "another")});
  json::object changed = last("post_modified");
  EXPECT_EQ(changed.at("post"), json::value(stored("Entry:1")));
  EXPECT_EQ(changed.at("post").at("content"), "<p>\"one\"\\ \u00e9\n</p>");
  EXPECT_EQ(changed.at("changed"), json::parse(R"({"title":["t","another"]})"));
  // Removed fields are not included.
  write({{"a", "bare", 1000, {{"title", "another"}}}});
  changed = last("post_modified");
  EXPECT_EQ(changed.at("post"), json::value(stored("Entry:1")));
  EXPECT_FALSE(changed.at("post").as_object().contains("content"));
  // An operator's change is reported like a publisher's.
  Store telling(with(64U << 10U));
  ASSERT_TRUE(Entries(telling).update_or_create({feed_url, "a", {{"author", "Ada"}}}, {}));
  EXPECT_EQ(last("post_modified").at("post"), json::value(stored("Entry:1")));
  EXPECT_EQ(last("post_modified").at("post").at("title"), "another");
}

TEST_F(EventContent, ThatIsTooLongIsItsSize) {
  add();
  const std::size_t most = 1000, names = std::string("contentcontent_typetext/htmltitlet").size();
  write({long_post(std::string(most - names, 'x'))}, most);
  EXPECT_TRUE(last("post_created").contains("post"));
  EXPECT_FALSE(last("post_created").contains("post_bytes"));
  write({long_post(std::string(most - names + 1, 'x'))}, most);
  const json::object changed = last("post_modified");
  EXPECT_EQ(changed.at("post_bytes"), 1001);
  EXPECT_FALSE(changed.contains("post"));
  EXPECT_EQ(changed.at("data").at("title"), "t");
  // A limit of 0 excludes every post; a limit of two megabytes allows a post of that size.
  write({long_post("short")}, 0);
  EXPECT_TRUE(last("post_modified").contains("post_bytes"));
  write({long_post(std::string((2U << 20U) - names, '"'))}, 2U << 20U);
  EXPECT_EQ(last("post_modified").at("post").at("content").as_string().size(), (2U << 20U) - names);
}

TEST_F(EventContent, IsNoneUnlessItIsAskedFor) {
  add();
  refresh({long_post("x")});
  refresh({long_post("y")});
  for (const json::object& event : signals()) {
    EXPECT_FALSE(event.contains("post") || event.contains("post_bytes")) << json::serialize(event);
  }
}

TEST_F(EventContent, IsNoneWhereTwoChangedThePostAtOnce) {
  add();
  write({long_post("one")});
  between = [this] {
    ASSERT_TRUE(Entries(store).update_or_create({feed_url, "a", {{"author", R"(Eve,"post":{)"}}}, {}));
  };
  write({long_post("two")});
  const json::object changed = last("post_modified");
  EXPECT_EQ(changed.at("rev"), 3);
  EXPECT_FALSE(changed.contains("post")) << "it would lack the author";
  EXPECT_EQ(std::to_string(changed.at("post_bytes").as_int64()), redis({"HGET", "Entry:1", "bytes"}));
  EXPECT_EQ(redis({"HGET", "Entry:1", "author"}), R"(Eve,"post":{)");
}

TEST_F(EventContent, HasItsTextWithoutMarkupWhereAskedFor) {
  EXPECT_EQ(content_text({{"content", "<p>a &amp; b</p>"}, {"content_type", "text/html"}, {"summary", "no"}}), "a & b");
  EXPECT_EQ(content_text({{"summary", "<b> & x"}, {"summary_type", "text/plain"}}), "<b> & x");
  EXPECT_EQ(content_text({{"title", "t"}}), "");
  EntryWrite write;
  write.id = "Entry:1";
  write.set = {{"title", "t"}};
  write.shown = {{"content", "<p>one</p><p>two</p>"}, {"content_type", "text/html"}};
  const auto told = [&](bool with) {
    const EventDetail detail{.content = true, .content_text = with};
    return json::parse("{" + post_event({}, write, 1, detail)).at("post").as_object();
  };
  EXPECT_EQ(told(true).at("content_text"), "one two");
  EXPECT_FALSE(told(false).contains("content_text"));
}

TEST_F(EventContent, HasTitlesAsPlainTextInItsData) {
  EntryWrite write;
  write.set = {{"title", "Q&amp;A <i>x</i>"}, {"title_type", "text/html"}};
  const auto title = [&write] {
    return json::parse("{" + post_event({}, write, 1, {})).at("data").at("title").as_string();
  };
  EXPECT_EQ(title(), "Q&A x");
  write.id = "Entry:1";  // an event that does not change the type
  write.set.pop_back();
  write.shown = {{"title_type", "text/html"}};
  EXPECT_EQ(title(), "Q&A x");
  write.shown.clear();
  EXPECT_EQ(title(), "Q&amp;A <i>x</i>");
  EXPECT_EQ(feed_data_json({{"title", "R&amp;D"}, {"title_type", "text/html"}}), R"({"title":"R&D"})");
  EXPECT_EQ(feed_data_json({{"title", "R&amp;D"}}), R"({"title":"R&amp;D"})");
}

TEST_F(EventContent, IsUtf8WhateverTheStoreHolds) {
  add();
  write({long_post("one")});
  redis({"HSET", "Entry:1", "author", "\xff\xfe", "post", std::string(600, '\xc3')});
  write({long_post("two")});
  const json::object changed = last("post_modified");  // the event is valid JSON
  EXPECT_EQ(changed.at("changed").at("content"), json::parse(R"(["one","two"])"));
  EXPECT_FALSE(changed.at("changed").as_object().contains("post"));
}

TEST_F(EventContent, OfAFeedIsItsWholeRecordInTheCommitThatChangesIt) {
  add();
  refresh({post("a", 100)});
  Redis listener(*parse_redis_url(server.admin_url()), Milliseconds(5000));
  ASSERT_TRUE(listener.command({"PSUBSCRIBE", "*ed"}));
  Fields record{{"extensions", R"({"itunes":{"explicit":true}})"}, {"rights", "\xff B"}, {"title", "T"}};
  Commit commit = plan(claim_one(), {post("a", 100), post("b", 200)});
  commit.feed = record;
  commit.events = {
      {"feed_mended", "updated", mended_data_json(record), "", feed_record_json(record, {.content = true})}};
  send(commit);
  const json::object mended = last("feed_mended");
  EXPECT_EQ(mended.at("data"), json::parse(R"({"fields":["extensions","rights","title"]})"));
  EXPECT_EQ(mended.at("feed").at("extensions").as_string(), record[0].second);
  EXPECT_EQ(mended.at("feed").at("title"), "T");
  EXPECT_EQ(redis({"HGET", "Feed:" + feed_url, "rights"}), record[1].second);
  refresh({post("a", 100, "edited"), post("b", 200)});
  for (const char* type : {"post_created", "post_modified"}) {
    const auto message = listener.next();
    ASSERT_TRUE(message);
    EXPECT_EQ((*message)[2].text(), type) << "only the stream has feed_mended";
  }
  EXPECT_EQ(feed_record_json(record, {.content = true, .content_max = 20}), "");
}

}  // namespace
}  // namespace feedmill::test::event_content_test
