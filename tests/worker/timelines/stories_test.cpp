// Stories that appear in many feeds, as they are delivered: events once whatever fails, an index that follows the
// store, and no false pair among real documents (RELIABILITY L14, L20).
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <sys/wait.h>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "parsers/feed/read_feed.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/upkeep/verify.hpp"
#include "tests/storage/story_fixture.hpp"
#include "worker/timelines/deliverer.hpp"

namespace feedmill::test::stories_delivery_test {
namespace {

const std::string site = "https://site.example/feed", planet = "https://planet.example/feed";

class StoryDelivery : public StoryTest {
 protected:
  StoreOptions options() const { return StoreOptions{.url = server.url()}; }

  static void drain(Deliverer& deliverer) {
    for (;;) {
      const auto step = deliverer.step();
      ASSERT_TRUE(step) << step.error().detail;
      ASSERT_EQ(step->failed, 0U);
      if (step->idle) return;
    }
  }
  void drain(bool same_as = true) {
    Deliverer deliverer(options(),
                        DelivererOptions{.token = "test", .stories = same_as ? StoryIndex::kept : StoryIndex::removed});
    drain(deliverer);
    ASSERT_TRUE(deliverer.let_go());
  }

  /// The post_same_as events, such as "Entry:2 = Entry:1, 1".
  std::vector<std::string> told() {
    std::vector<std::string> all;
    for (const auto& event : signals("post_same_as")) {
      const auto& data = event.at("data").as_object();
      std::string line(event.at("entity_id").as_string());
      line += " =";
      for (const auto& other : data.at("same_as").as_array()) line += " " + std::string(other.as_string());
      all.push_back(line + ", " + std::to_string(data.at("same_count").as_int64()));
    }
    return all;
  }
};

TEST_F(StoryDelivery, APostIsReportedWithOthersOfItsStory) {
  drain();
  publish(site,
          {post_to("a", "https://site.example/fog", "Fog until noon"), post_to("b", "https://site.example/x", "X")});
  drain();
  EXPECT_TRUE(told().empty());
  publish(planet, {post_to("p", "http://www.site.example/fog/?utm_source=p", "Ada: Fog until noon")});
  drain();
  ASSERT_EQ(told(), Texts{id(planet, "p") + " = " + id(site, "a") + ", 1"});
  const auto event = signals("post_same_as").front();
  EXPECT_EQ(event.at("feed_url").as_string(), planet);
  EXPECT_EQ(event.at("guid").as_string(), "p");
  EXPECT_EQ(event.at("entity_type").as_string(), "post");
  EXPECT_EQ(event.at("action").as_string(), "updated");

  // A different text is still the same story; a different title may be another one.
  publish(planet, {post_to("p", "http://www.site.example/fog/?utm_source=p", "Ada: Fog until noon, and later")});
  drain();
  EXPECT_EQ(told().size(), 2U);
  publish(planet, {post_to("p", "https://planet.example/own", "Ada: Fog until noon, and later")});
  drain();
  EXPECT_EQ(told().size(), 2U);
  EXPECT_EQ(same_as(id(site, "a")), Texts());
  Store all(StoreOptions{.url = server.url_of("feedmill_admin")});
  const auto wrong = verify(all);
  ASSERT_TRUE(wrong) << wrong.error().detail;
  EXPECT_TRUE(wrong->empty()) << wrong->front().kind << " " << wrong->front().detail;
}

TEST_F(StoryDelivery, SixteenAreNamedAndAllCounted) {
  drain();
  for (int i = 0; i < 20; ++i) {
    publish("https://f" + std::to_string(i) + ".example/feed",
            {post_to("a", "https://site.example/fog", "Fog until noon")});
  }
  drain();
  const auto last = signals("post_same_as").back().at("data").as_object();
  EXPECT_EQ(last.at("same_as").as_array().size(), 16U);
  EXPECT_EQ(last.at("same_count").as_int64(), 19);
}

TEST_F(StoryDelivery, IndexIsBuiltFromStoredPostsAndDroppedWithTheOption) {
  publish(site, {post_to("a", "https://site.example/fog", "Fog until noon")});
  publish(planet, {post_to("p", "https://site.example/fog", "Fog until noon")});
  drain(false);
  EXPECT_EQ(redis({"KEYS", "channel_same*"}), "");
  drain();
  EXPECT_EQ(same_as(id(site, "a")), Texts{id(planet, "p")});
  EXPECT_TRUE(told().empty()) << "what was there before is no news";
  drain(false);
  EXPECT_EQ(redis({"KEYS", "channel_same*"}), "");
  EXPECT_EQ(redis({"EXISTS", "deliver:stories:000"}), "0");
  EXPECT_EQ(same_as(id(site, "a")), Texts());
}

TEST_F(StoryDelivery, AVerbWithoutTheIndexLeavesItToTheWorker) {
  publish(site, {post_to("a", "https://site.example/fog", "Fog until noon")});
  drain();
  publish(planet, {post_to("p", "https://site.example/fog", "Fog until noon")});
  Deliverer verb(options(), DelivererOptions{.token = "verb", .stories = StoryIndex::left});
  drain(verb);
  ASSERT_TRUE(verb.let_go());
  EXPECT_TRUE(told().empty());
  drain();
  EXPECT_EQ(told(), Texts{id(planet, "p") + " = " + id(site, "a") + ", 1"}) << "though no record is left to deliver";
}

TEST_F(StoryDelivery, ItLeavesWithTheTrim) {
  drain();
  const auto posts = [](int from) {
    std::vector<EntryRecord> all;
    for (int i = from; i < from + 10; ++i) {
      all.push_back(post_to("g" + std::to_string(i), "https://site.example/" + std::to_string(i), "Fog until noon", i));
    }
    return all;
  };
  const Retention ten{.entries = 10, .hard_cap = 10, .strict = true};
  for (int round = 0; round < 20; ++round) {
    publish(site, posts(round * 5), ten);
    publish(planet, posts(round * 5), ten);
    if (round % 3 == 0) drain();
  }
  drain();
  EXPECT_EQ(indexed(), 20U) << "no more than is stored";
  ASSERT_TRUE(Feeds(store).remove(site));
  ASSERT_TRUE(Feeds(store).remove(planet));
  drain();
  EXPECT_EQ(redis({"KEYS", "channel_same:*"}), "");
}

TEST_F(StoryDelivery, RebuildsTheIndexAfterFallingBehindTheStream) {
  drain();
  publish(site, {post_to("a", "https://site.example/fog", "Fog until noon")});
  drain();
  const std::string gone = id(site, "a");
  ASSERT_TRUE(Entries(store).remove(gone));
  publish(site, {post_to("b", "https://site.example/rain", "Rain until noon")});
  publish(planet, {post_to("p", "https://site.example/rain", "Rain until noon")});
  redis({"XTRIM", "stream:signals", "MAXLEN", "1"});
  drain();
  EXPECT_EQ(same_as(id(site, "b")), Texts{id(planet, "p")});
  EXPECT_EQ(redis({"HEXISTS", "channel_same:posts:" + gone.substr(6), gone.substr(6)}), "0");
}

// Each child is a real process that dies by SIGKILL; the next one continues from there.
TEST_F(StoryDelivery, EachIsReportedOnceHoweverOftenDeliveryDies) {
  drain();
  for (int round = 0; round < 15; ++round) {
    for (const std::string& feed : {site, planet}) {
      const std::string n = std::to_string(round);
      publish(feed, {post_to("g" + n, "https://site.example/" + n, "Fog until noon"),
                     post_to("h" + n, feed + "/" + n, "Fog until noon")});
    }
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Store own(options());
      Deliveries group(own);
      group.join();
      const auto records = group.fresh(3);
      std::vector<SameAsOfRecord> said;
      Texts ids;
      for (const EventRecord& record : *records) {
        const Event event = *read_event(record);
        said.push_back({event.id, event.prev, event.entity_id, event.feed_url, event.guid});
        if (event.type == "post_created") ids.push_back(event.entity_id);
      }
      Stories index(own);
      if (round % 3 > 0) index.sync(ids);
      if (round % 3 > 1) {
        for (SameAsOfRecord& one : said) one.same_as = index.same_as(std::span(&one.entity_id, 1))->front();
        group.apply(std::span<const SameAsOfRecord>(said));
      }
      ::kill(getpid(), SIGKILL);
      _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    if (round % 4 == 3) drain();
  }
  drain();
  std::map<std::string, int> times;
  for (const std::string& line : told()) ++times[line];
  for (const auto& [line, count] : times) EXPECT_EQ(count, 1) << line;
  for (int round = 0; round < 15; ++round) {
    const std::string a = id(site, "g" + std::to_string(round)), b = id(planet, "g" + std::to_string(round));
    EXPECT_EQ(times.count(b + " = " + a + ", 1"), 1U) << round;
    EXPECT_EQ(same_as(a), Texts{b});
  }
  EXPECT_EQ(redis({"XPENDING", "stream:signals", "delivery"}).substr(0, 2), "0 ");
}

TEST_F(StoryDelivery, TwoDeliverersReportTheSameAsOne) {
  drain();
  std::atomic<bool> writing = true;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> deliverers;
  for (int i = 0; i < 2; ++i) {
    deliverers.emplace_back([&] {
      Deliverer own(options(), DelivererOptions{.token = "both", .stories = StoryIndex::kept, .batch = 3});
      for (bool idle = false; writing || !idle;) {
        const auto step = own.step();
        wrong += step ? 0 : 1;
        idle = step && step->idle;
      }
    });
  }
  const Retention five{.entries = 5, .hard_cap = 5, .strict = true};
  for (int round = 0; round < 60; ++round) {
    const std::string n = std::to_string(round);
    for (const std::string& feed : {site, planet}) {
      publish(feed, {post_to("g" + n, "https://site.example/" + n, "Fog until noon", round)}, five);
    }
  }
  writing = false;
  for (std::thread& thread : deliverers) thread.join();
  EXPECT_EQ(wrong, 0);
  redis({"DEL", "lock:delivery:000"});
  drain();
  std::set<std::string> posts;
  for (const auto& event : signals("post_same_as")) {
    EXPECT_TRUE(posts.insert(std::string(event.at("entity_id").as_string())).second) << "told twice";
  }
  EXPECT_EQ(indexed(), 10U) << "as many as are stored";
  EXPECT_EQ(same_as(id(site, "g59")), Texts{id(planet, "g59")});
}

// Each document is published as a feed, and again as another feed with the same posts.
TEST_F(StoryDelivery, ReportsNoFalsePairAmongRealDocuments) {
  const std::filesystem::path real = FEEDMILL_REAL_DOCUMENTS;
  if (!std::filesystem::is_directory(real)) GTEST_SKIP() << real << " is not here";
  drain();
  std::set<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(real)) paths.insert(file.path());
  std::map<std::string, std::vector<EntryRecord>> documents;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    auto feed = read_feed(content.str(), DocumentHints{});
    if (feed) documents[path.stem()] = entry_records(*feed, IdentifiedBy::guid, IdentifiedBy::guid);
  }
  ASSERT_GT(documents.size(), 150U);
  const auto url_of = [](const std::string& name) { return "https://" + name + ".example/feed"; };
  std::size_t posts = 0;
  for (const auto& [name, records] : documents) {
    publish(url_of(name), records);
    posts += records.size();
  }
  EXPECT_GT(posts, 4'000U);
  drain();
  // Guids, which matching ignores, show whether two posts are one story. By links alone, a laptop would match a truck.
  const auto expect_true_pairs = [&](const boost::json::object& event) {
    for (const auto& id : event.at("data").at("same_as").as_array()) {
      const auto other = Entries(store).get(std::string(id.as_string()));
      ASSERT_TRUE(other && *other);
      EXPECT_EQ(event.at("guid").as_string(), std::string_view((*other)->get("guid"))) << event;
    }
  };
  const auto found = signals("post_same_as");
  EXPECT_EQ(found.size(), 3U) << ::testing::PrintToString(told()) << " of an article and two episodes";
  for (const auto& event : found) expect_true_pairs(event);

  for (const auto& [name, records] : documents) publish(url_of(name) + "/again", records);
  drain();
  std::size_t again = 0;
  for (const auto& event : signals("post_same_as")) {
    expect_true_pairs(event);
    again += event.at("feed_url").as_string().ends_with("/again") ? 1 : 0;
  }
  EXPECT_GT(again, posts * 7 / 10) << "of " << posts;
}

}  // namespace
}  // namespace feedmill::test::stories_delivery_test
