// Repairing a store written by the release before san_ver 2 (tests/data/upgrade): markup under unsanitised types, cut
// descriptions, and URLs that start programs (SECURITY S13).
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/redis/redis.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/support/folded_store.hpp"

namespace feedmill::test::upgrade_test {
namespace {

constexpr std::string_view recorded_at = "http://127.0.0.1:8765";  // where its feeds were

std::string slurp(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Upgrade : public testing::Test {
 protected:
  using Hash = std::map<std::string, std::string>;

  Upgrade() {
    world.environment["FEEDMILL_REDIS_URL"] = world.redis.url_of("feedmill_admin");
    const std::filesystem::path data = FEEDMILL_UPGRADE_DATA;
    types = world.http.url("/types.atom");
    addresses = world.http.url("/addresses.rss");
    world.http.serve("/types.atom", {.body = slurp(data / "types.atom")});
    world.http.serve("/addresses.rss", {.body = slurp(data / "addresses.rss")});
    std::string store = slurp(data / "san_ver_1.jsonl");
    const std::string here = types.substr(0, types.size() - std::string("/types.atom").size());
    for (std::size_t at = store.find(recorded_at); at != std::string::npos; at = store.find(recorded_at, at)) {
      store.replace(at, recorded_at.size(), here);
      at += here.size();
    }
    const std::string file = path("store.jsonl");
    std::ofstream(file, std::ios::binary) << store;
    const Finished imported = world.run({"store", "import", file});
    EXPECT_EQ(imported.exit, 0) << imported.err;
  }

  std::string path(const std::string& name) { return (world.redis.directory() / name).string(); }

  static Hash hash(const Fields& fields) { return {fields.begin(), fields.end()}; }
  Hash post(const std::string& feed, const std::string& guid) {
    const auto found = *Entries(world.store).get_by_guid(feed, guid);
    return found ? hash(found->fields) : Hash();
  }
  Hash record(const std::string& feed) {
    const std::vector<std::string> urls{feed};
    return hash((*Feeds(world.store).records(urls)).front().value().feed);
  }
  std::size_t posts(const std::string& feed) { return std::stoul(world.redis_text({"ZCARD", feed + ":sort"})); }

  /// The guids of the posts reported as modified.
  std::set<std::string> modified() {
    std::set<std::string> guids;
    for (const EventRecord& signal : world.signals()) {
      if (signal.type != "post_modified") continue;
      guids.emplace(boost::json::parse(signal.json).at("guid").as_string());
    }
    return guids;
  }

  /// Expects a store without faults, whichever way it was repaired.
  void expect_mended() {
    const std::set<std::string> types_there_are{"", "text/plain", "text/html", "application/xhtml+xml"};
    for (const std::string& feed : {types, addresses}) {
      std::vector<Hash> records{record(feed)};
      const auto entries = *Entries(world.store).all_by_order(feed, 100);
      for (const StoredEntry& entry : entries) records.push_back(hash(entry.fields));
      for (Hash& fields : records) {
        for (const char* name : {"title", "summary", "content", "description"}) {
          const std::string& type = fields[std::string(name) + "_type"];
          EXPECT_TRUE(types_there_are.contains(type)) << name << " is " << type;
          const bool markup = type == "text/html" || type == "application/xhtml+xml";
          if (markup) {
            EXPECT_EQ(fields[name].find("<script"), std::string::npos) << fields[name];
            EXPECT_FALSE(std::regex_search(fields[name], std::regex("<[^>]* on"))) << fields[name];
          }
        }
        EXPECT_EQ(fields["extensions"].find("afp:"), std::string::npos) << fields["extensions"];
        for (const char* name : {"link", "comments", "enclosures", "media"}) {
          for (const char* scheme : {"javascript:", "ssh:", "telnet:", "nfs:", "afp:", "feed:"}) {
            EXPECT_EQ(fields[name].find(scheme), std::string::npos) << name << " is " << fields[name];
          }
        }
      }
      Hash about = record(feed);
      EXPECT_EQ(about["description_type"], "text/html");
      EXPECT_EQ(about["description"].find("<a"), std::string::npos) << "cut in front of the link";
      EXPECT_TRUE(about["description"].ends_with("</p>")) << about["description"].substr(8100);
      EXPECT_LE(about["description"].size(), 8192U);
    }
    EXPECT_EQ(posts(types), 9U);
    EXPECT_EQ(posts(addresses), 6U);
    const std::string clean = "<p>Hello<img src=\"https://site.example/x.png\" /></p>";
    for (const char* guid : {"urn:charset", "urn:semicolon"}) {
      Hash changed = post(types, guid);
      EXPECT_EQ(changed["content"], clean) << guid;
      EXPECT_EQ(changed["content_type"], "text/html");
      EXPECT_EQ(changed["summary_text"], "Hello");
      EXPECT_EQ(changed["san_ver"], "3");
    }
    EXPECT_EQ(post(types, "urn:harmless")["content"], "<p>Hello <em>you</em></p>");
    EXPECT_EQ(post(types, "urn:harmless")["content_type"], "text/html");
    EXPECT_EQ(post(types, "urn:title")["title"], "Bold <b>one</b><img src=\"https://site.example/x\" />");
    EXPECT_EQ(post(types, "urn:title")["summary_type"], "application/xhtml+xml");
    EXPECT_EQ(post(types, "urn:svg")["content"], "<svg onload=\"alert(1)\"></svg>") << "text as it is written";
    EXPECT_EQ(post(types, "urn:svg")["content_type"], "text/plain");
    EXPECT_FALSE(post(types, "urn:ssh").contains("link"));
    EXPECT_FALSE(post(types, "urn:feed").contains("link"));
    EXPECT_EQ(post(addresses, "encoded")["content_type"], "application/xhtml+xml");
    EXPECT_FALSE(post(addresses, "comments").contains("comments"));
    EXPECT_EQ(post(addresses, "enclosures")["enclosures"],
              R"([{"url":"https://casts.example/2.ogg","type":"audio/ogg","length":2}])");
  }

  /// How a consumer that follows from that snapshot differs from the store; "" = not at all.
  std::string followed(const std::string& snapshot) {
    FoldedStore fold(snapshot, [this](const std::string& key) {
      Redis redis(*parse_redis_url(world.redis.admin_url()), Milliseconds(5000));
      FoldedStore::Table all;
      for (auto& [name, value] : redis.command({"HGETALL", key})->pairs()) all[name] = value;
      return all;
    });
    const auto since = *EventStream(world.store).since(fold.seq(), 1000);
    for (const EventRecord& event : *since.records) fold.apply(event.json);
    return fold.differs_from(world.redis.admin_url());
  }

  World world;
  std::string types, addresses;
};

TEST_F(Upgrade, VerifyRepairsTheStoreAndTheNextFetchFindsLittleNew) {
  const std::string before_all = world.run({"store", "export"}).out;
  const Finished found = world.run({"verify", "--resanitise", "--json"});
  EXPECT_EQ(found.exit, 1) << found.err;
  EXPECT_NE(found.out.find("\"feed.markup\""), std::string::npos) << found.out;
  const std::size_t before = world.signals().size();
  const Finished mended = world.run({"verify", "--resanitise", "--repair", "--journal", path("journal.jsonl")});
  EXPECT_EQ(mended.exit, 0) << mended.out << mended.err;
  expect_mended();
  EXPECT_FALSE(post(addresses, "feedburner").contains("enclosures")) << "what it was instead is not known";
  EXPECT_EQ(world.run({"verify", "--resanitise"}).exit, 0) << "once is enough";
  EXPECT_EQ(world.signals().size(), before + world.count("post_mended") + world.count("feed_mended"))
      << "nobody but who mirrors the store is told";
  EXPECT_EQ(followed(before_all), "");
  EXPECT_FALSE(post(types, "urn:clean").contains("san_ver")) << "nothing to mend, nothing written";

  for (const std::string& url : {types, addresses}) ASSERT_EQ(world.run({"refresh", url, "--ignore-floor"}).exit, 0);
  expect_mended();
  EXPECT_TRUE(modified().empty()) << "also of the enclosure that is back";
  EXPECT_EQ(world.run({"verify", "--resanitise"}).exit, 0);
}

TEST_F(Upgrade, TheSameDocumentReadAgainRepairsItsPosts) {
  const std::size_t created = world.count("post_created");
  const std::string before_all = world.run({"store", "export"}).out;
  std::map<std::string, Hash> before;
  for (const char* guid : {"urn:charset", "urn:harmless", "urn:svg", "urn:ssh", "urn:clean"}) {
    before[guid] = post(types, guid);
  }
  for (const std::string& url : {types, addresses}) {
    const Finished read = world.run({"refresh", url, "--ignore-floor"});
    ASSERT_EQ(read.exit, 0) << read.err;
  }
  expect_mended();
  EXPECT_EQ(post(addresses, "feedburner")["enclosures"],
            R"([{"url":"https://casts.example/1.mp3","type":"audio/mpeg","length":1}])");
  EXPECT_EQ(world.count("post_created"), created);
  EXPECT_TRUE(modified().empty()) << "the publisher changed nothing";
  EXPECT_EQ(world.count("feed_modified"), 0U);
  EXPECT_GT(world.count("post_mended"), 3U);
  EXPECT_EQ(world.count("feed_mended"), 2U);
  EXPECT_EQ(followed(before_all), "");
  for (auto& [guid, stored] : before) {
    Hash now = post(types, guid);
    for (const char* name : {"first_seen", "last_changed", "timestamp"}) EXPECT_EQ(now[name], stored[name]);
  }
  Hash clean = post(types, "urn:clean");
  EXPECT_NE(clean["digest"], before["urn:clean"]["digest"]) << "of all that this build stores";
  clean["digest"] = before["urn:clean"]["digest"];
  EXPECT_EQ(clean, before["urn:clean"]) << "nothing else to mend, nothing else written";
  EXPECT_EQ(record(types)["san_ver"], "3");
  EXPECT_EQ(world.run({"verify"}).exit, 0) << "bytes and digests are right";
  EXPECT_EQ(world.run({"verify", "--resanitise"}).exit, 0);

  const std::size_t signals = world.signals().size();
  ASSERT_EQ(world.run({"refresh", types, "--ignore-floor"}).exit, 0);
  EXPECT_EQ(world.signals().size(), signals);
}

TEST_F(Upgrade, KeepsPostsSavedByAnOperator) {
  ASSERT_EQ(world.run({"entry", "put", "--feed", types, "--guid", "urn:clean", "title=Mine"}).exit, 0);
  ASSERT_EQ(world.run({"refresh", types, "--ignore-floor"}).exit, 0);
  EXPECT_EQ(post(types, "urn:clean")["title"], "Mine");
  EXPECT_EQ(post(types, "urn:clean")["content"], "<p>Clean</p>");
}

}  // namespace
}  // namespace feedmill::test::upgrade_test
