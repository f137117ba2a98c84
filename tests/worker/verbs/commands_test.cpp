// Verbs as commands: output, errors and exit codes.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/redis/redis_address.hpp"
#include "storage/store/store.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/worker/verbs/run_verb.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill::commands_test {
namespace {

using Words = std::vector<std::string>;

const std::string feed_a = "http://a.example/feed.xml", feed_b = "http://b.example/feed.xml";

const std::string nobody_fetches = "no worker runs on this Redis yet: feedmill run fetches them\n";

std::vector<boost::json::object> rows(const std::string& text) {
  std::vector<boost::json::object> parsed;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const boost::json::value value = boost::json::parse(text.substr(begin, end - begin));
    EXPECT_TRUE(value.as_object().contains("schema")) << text;
    parsed.push_back(value.as_object());
    begin = end + 1;
  }
  return parsed;
}

std::string text_of(const boost::json::object& row, const char* name) {
  const boost::json::value* const found = row.if_contains(name);
  if (found == nullptr) return "absent";
  return found->is_string() ? std::string(found->as_string()) : boost::json::serialize(*found);
}

/// A private Redis, the program configured for it, and a store for direct inspection.
class Commands : public testing::Test {
 protected:
  explicit Commands(Words server_arguments = {})
      : server_(std::move(server_arguments)), store_({.url = server_.url()}) {
    EXPECT_TRUE(store_.open().has_value());
  }

  /// The URL has a password, so it is passed in the environment.
  VerbRun feedmill_at(const std::string& url, Words words) {
    words.insert(words.end(), {"--config", config_.string()});
    ::setenv("FEEDMILL_REDIS_URL", url.c_str(), 1);
    VerbRun outcome = run_verb(words);
    ::unsetenv("FEEDMILL_REDIS_URL");
    return outcome;
  }
  VerbRun feedmill(Words words) { return feedmill_at(server_.url(), std::move(words)); }

  std::string file(const std::string& name, const std::string& content) {
    const std::filesystem::path path = server_.directory() / name;
    std::ofstream(path) << content;
    return path.string();
  }

  FeedRecord record(const std::string& url) {
    const auto records = Feeds(store_).records(std::vector{url});
    EXPECT_TRUE(records.has_value() && records->front().has_value()) << url;
    return records->front().value_or(FeedRecord{});
  }

  /// Stores posts of a feed as a worker does: `titles`, oldest first, a second apart.
  void publish(const std::string& url, const Words& titles) { publish(store_, url, titles); }

  static void publish(Store& store, const std::string& url, const Words& titles) {
    ClaimRequest request;
    request.worker = "0123456789abcdef0123456789abcdef";
    request.request = ++requests;
    request.only = {url};
    request.host = {1, Milliseconds(0)};
    const auto batch = Ingest(store).claim(request);
    ASSERT_TRUE(batch.has_value()) << batch.error().detail;
    ASSERT_EQ(batch->claims.size(), 1U);
    const Claim& claim = batch->claims.front();
    Commit commit;
    commit.feed_url = url;
    commit.claim = claim.id;
    commit.next_due = claim.now + std::chrono::hours(1);
    commit.state = claim.state;
    commit.state.state = "healthy";
    commit.state.last.at = claim.now;
    commit.state.last.status = 200;
    commit.state.last.outcome = "updated";
    commit.state.counts.total_new += titles.size();
    commit.document = true;
    commit.feed = {{"link", "http://a.example/"}, {"title", "A feed \x1B[31m"}};
    for (std::size_t i = 0; i < titles.size(); ++i) {
      EntryWrite write;
      write.guid = titles[i];
      write.digest = "d";
      write.timestamp = 1763690000 + static_cast<std::int64_t>(i);
      write.set = {{"categories", R"([{"term":"x"}])"},
                   {"digest", "d"},
                   {"feed_url", url},
                   {"first_seen", "1763690000"},
                   {"guid", titles[i]},
                   {"last_changed", "1763690000"},
                   {"rev", "1"},
                   {"timestamp", std::to_string(write.timestamp)},
                   {"title", titles[i]}};
      commit.entries.push_back(std::move(write));
    }
    commit.retention.listed = titles.size();
    const auto committed = Ingest(store).commit(std::vector<const Commit*>{&commit});
    ASSERT_TRUE(committed.front().has_value()) << committed.front().error().detail;
    ASSERT_EQ(committed.front()->result, Committed::Result::ok);
  }

  inline static std::uint64_t requests = 0;
  test::RedisServer server_;
  std::filesystem::path config_ = file("feedmill.toml", "");
  Store store_;
};

TEST_F(Commands, TellUnderWhichNameTheyFailed) {
  const auto told = [&](const Words& words, const std::string& text) {
    const VerbRun outcome = feedmill(words);
    EXPECT_EQ(outcome.err.find("feedmill: " + text), 0U) << outcome.err;
  };
  const std::string list = file("urls.txt", feed_a + "\n");
  feedmill({"add", feed_b});
  told({"entry", "put", "--feed", feed_a, "--guid", "g", "title=T"}, "entry put: no such feed");
  // Verbs below `channel` report under its name if the arguments are valid.
  told({"channel", "read", "none", "--all"}, "channel: no such channel");
  told({"channel", "feeds", "none", "--add", "nonsense"}, "channel feeds: \"nonsense\" is not a feed URL");
  told({"import", list, "--prune"}, "import: --prune deletes feeds");
}

TEST_F(Commands, AddsFeedsOnce) {
  const VerbRun first =
      feedmill({"add", "HTTP://A.example/feed.xml", feed_b, feed_b, "--keep", "7", "--interval-min", "90min"});
  EXPECT_EQ(first.exit, 0);
  EXPECT_EQ(first.out, "added " + feed_a + "\nadded " + feed_b + "\n");
  EXPECT_EQ(record(feed_a).state.settings, R"({"keep":7,"interval_min":5400})");
  const VerbRun second = feedmill({"add", feed_a, "--json"});
  EXPECT_EQ(second.exit, 0);
  ASSERT_EQ(rows(second.out).size(), 1U);
  EXPECT_EQ(text_of(rows(second.out)[0], "result"), "present");
}

TEST_F(Commands, SetsWhatHoldsForAFeed) {
  feedmill({"add", feed_a});
  const VerbRun dry = feedmill({"set", feed_a, "keep=7", "--dry-run"});
  EXPECT_EQ(dry.out, "would set " + feed_a + " keep=7\n");
  EXPECT_EQ(record(feed_a).state.settings, "");
  const VerbRun set = feedmill({"set", "HTTP://A.example/feed.xml", "keep=7", "interval_min=90min", "header.X-A=a b"});
  EXPECT_EQ(set.exit, 0);
  EXPECT_EQ(set.out, "set " + feed_a + " keep=7 interval_min=90min header.X-A=a b\n");
  EXPECT_EQ(record(feed_a).state.settings, R"({"keep":7,"interval_min":5400,"headers":{"X-A":"a b"}})");
  const VerbRun shown = feedmill({"show", feed_a});
  EXPECT_NE(shown.out.find("keep=7 interval_min=90min header.X-A=a b"), std::string::npos) << shown.out;
  const VerbRun less = feedmill({"set", feed_a, "interval_min=", "header.x-a=", "html_policy=raw", "--json"});
  ASSERT_EQ(rows(less.out).size(), 1U);
  EXPECT_EQ(text_of(rows(less.out)[0], "result"), "set");
  EXPECT_EQ(text_of(rows(less.out)[0], "settings"), R"({"keep":7,"html_policy":"raw"})");
  const VerbRun none = feedmill({"set", feed_a, "keep=", "html_policy="});
  EXPECT_EQ(none.out, "set " + feed_a + "\n");
  EXPECT_EQ(record(feed_a).state.settings, "");
}

TEST_F(Commands, SetsNothingWhenSomethingIsWrong) {
  feedmill({"add", feed_a});
  const Words wrong[] = {{"set"},
                         {"set", feed_a},
                         {"set", feed_a, "keep=7", "kep=8"},
                         {"set", feed_a, "keep=7", "interval_max=1h", "interval_min=2h"},
                         {"set", feed_a, "keep=7", "auth=nobody"},
                         {"set", feed_a, "keep=7", "policy=nowhere"},
                         {"set", feed_a, "keep=7", "proxy=http://proxy.example:3128"},
                         {"set", feed_a, "header.Authorization=Bearer s3cret"},
                         {"set", feed_a, "proxy=http://me:s3cret@proxy.example:3128"},
                         {"add", feed_b, "--policy", "nowhere"},
                         {"add", feed_b, "--auth", "nobody"},
                         {"add", feed_b, "--interval-min", "15"}};
  for (const Words& words : wrong) {
    const VerbRun outcome = feedmill(words);
    EXPECT_EQ(outcome.exit, 64) << testing::PrintToString(words);
    EXPECT_EQ(outcome.out, "") << testing::PrintToString(words);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.err.find("s3cret"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(record(feed_a).state.settings, "");
  EXPECT_EQ(Feeds(store_).urls_after("", 10'000)->size(), 1U);
  EXPECT_EQ(feedmill({"set", feed_b, "keep=7"}).exit, 1) << "no such feed";
  EXPECT_EQ(feedmill({"set", "a.example", "keep=7"}).exit, 65);
  const VerbRun unknown = feedmill({"set", feed_a, "nonsense=1"});
  EXPECT_NE(unknown.err.find("keep keep_age keep_bytes texts backfill interval_min"), std::string::npos) << unknown.err;
}

TEST_F(Commands, SetsOnlyNamesThatAreConfigured) {
  file("feedmill.toml", "[feed_auth.news]\nheader = \"X-Key\"\nvalue_file = \"" + file("key", "c4nary") +
                            "\"\norigin = \"http://a.example\"\n[egress.policy.intranet]\nallow = [\"10.0.0.0/8\"]\n");
  const VerbRun added = feedmill({"add", feed_a, feed_b, "--auth", "news", "--policy", "intranet"});
  EXPECT_EQ(added.exit, 0) << added.err;
  EXPECT_EQ(record(feed_a).state.settings, R"({"auth":"news","policy":"intranet"})");
  const VerbRun other = feedmill({"set", feed_b, "auth=weather"});
  EXPECT_EQ(other.exit, 64);
  EXPECT_NE(other.err.find("defined: news"), std::string::npos) << other.err;
  // A name no longer in the configuration does not block other changes.
  file("feedmill.toml", "");
  EXPECT_EQ(feedmill({"set", feed_b, "keep=3"}).exit, 0);
  EXPECT_EQ(feedmill({"set", feed_b, "auth=", "policy=", "keep="}).out, "set " + feed_b + "\n");
}

TEST_F(Commands, SetsNoIntervalThatWouldBeIgnored) {
  feedmill({"add", feed_a});
  const VerbRun set = feedmill({"set", feed_a, "interval_max=5min"});
  EXPECT_EQ(set.exit, 64);
  EXPECT_NE(set.err.find("interval_max: at least 10min, the minimum unless egress.allow opens the server"),
            std::string::npos)
      << set.err;
  EXPECT_EQ(feedmill({"add", feed_b, "--interval-min", "5min"}).exit, 64);
  EXPECT_EQ(feedmill({"set", feed_a, "interval_max=10min"}).exit, 0);
  file("feedmill.toml", "[egress]\nallow = [\"127.0.0.0/8\"]\n");
  EXPECT_EQ(feedmill({"set", feed_a, "interval_max=5min"}).exit, 0) << "it may be a server that allow opens";
  file("feedmill.toml", "");
  EXPECT_EQ(feedmill({"set", feed_a, "keep=3"}).exit, 0) << "what was set before does not block other changes";
}

TEST_F(Commands, SaysWhenASecretWouldGoNowhere) {
  file("feedmill.toml", "[feed_auth.news]\nheader = \"X-Key\"\nvalue_file = \"" + file("key", "c4nary") +
                            "\"\norigin = \"http://a.example\"\n");
  feedmill({"add", feed_a, feed_b});
  const auto warned = [](const VerbRun& outcome) {
    return outcome.err.find("has another origin") != std::string::npos;
  };
  EXPECT_FALSE(warned(feedmill({"set", feed_a, "auth=news"})));
  EXPECT_TRUE(warned(feedmill({"set", feed_b, "auth=news"})));
}

TEST_F(Commands, PausesAndResumesFeeds) {
  feedmill({"add", feed_a, feed_b});
  EXPECT_EQ(feedmill({"pause", feed_a, "--dry-run"}).out, "would pause " + feed_a + "\n");
  EXPECT_EQ(record(feed_a).state.state, "new");
  EXPECT_EQ(feedmill({"pause", feed_a, "http://c.example/"}).exit, 1);
  EXPECT_EQ(record(feed_a).state.state, "new") << "nothing half-done";
  EXPECT_EQ(feedmill({"pause", feed_a}).out, "paused " + feed_a + "\n");
  EXPECT_EQ(feedmill({"pause", feed_a, feed_b}).out, "paused already " + feed_a + "\npaused " + feed_b + "\n");
  const VerbRun shown = feedmill({"show", feed_a});
  EXPECT_NE(shown.out.find("paused"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("due"), std::string::npos) << shown.out;
  EXPECT_EQ(rows(feedmill({"list", "--state", "paused", "--json"}).out).size(), 2U);
  const VerbRun refreshed = feedmill({"refresh", feed_a});
  EXPECT_EQ(refreshed.exit, 1) << refreshed.err;
  EXPECT_EQ(refreshed.out, "paused " + feed_a + ": use feedmill resume\n");
  EXPECT_EQ(feedmill({"resume", feed_a, "--dry-run"}).out, "would resume " + feed_a + "\n");
  const VerbRun resumed = feedmill({"resume", feed_a, feed_b, "--json"});
  ASSERT_EQ(rows(resumed.out).size(), 2U) << resumed.out << resumed.err;
  EXPECT_EQ(text_of(rows(resumed.out)[1], "result"), "resumed");
  EXPECT_NE(text_of(rows(resumed.out)[1], "due"), "null");
  EXPECT_EQ(record(feed_a).state.state, "new");
  EXPECT_GT(*record(feed_b).due, *record(feed_a).due) << "spread as an import is";
  EXPECT_EQ(feedmill({"resume", feed_a}).out.find("not paused " + feed_a), 0U);
  EXPECT_EQ(feedmill({"resume", "http://c.example/"}).exit, 1);
}

TEST_F(Commands, AddsNothingWhenOneAddressIsWrong) {
  const VerbRun outcome =
      feedmill({"add", feed_a, "example.org/feed", "ftp://a.example/", "http://user:secret@a.example/"});
  EXPECT_EQ(outcome.exit, 65);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 3) << outcome.err;
  EXPECT_EQ(outcome.err.find("feedmill: add: \"example.org/feed\" is not a feed URL"), 0U) << outcome.err;
  EXPECT_TRUE(Feeds(store_).urls_after("", 10'000)->empty());
}

TEST_F(Commands, RemovesOnlyWhenToldTo) {
  feedmill({"add", feed_a, feed_b});
  publish(feed_a, {"one"});
  EXPECT_EQ(feedmill({"remove", feed_a}).exit, 64) << "not asked for on a terminal";
  const VerbRun dry = feedmill({"remove", feed_a, "--dry-run"});
  EXPECT_EQ(dry.out, "would remove " + feed_a + "\n");
  const VerbRun unknown = feedmill({"remove", feed_a, "http://c.example/", "--yes"});
  EXPECT_EQ(unknown.exit, 1);
  EXPECT_EQ(Feeds(store_).urls_after("", 10'000)->size(), 2U) << "nothing half-done";
  EXPECT_EQ(feedmill({"remove", feed_a, "--yes"}).exit, 0);
  EXPECT_EQ(*Feeds(store_).urls_after("", 10'000), std::vector{feed_b});
  EXPECT_FALSE(Entries(store_).get("Entry:1")->has_value());
}

TEST_F(Commands, RemovesNoChannelIfOneOfSeveralIsUnknown) {
  ASSERT_EQ(feedmill({"channel", "add", "anna/news"}).exit, 0);
  ASSERT_EQ(feedmill({"add", feed_a, "--channel", "anna/news"}).exit, 0);
  const VerbRun refused = feedmill({"channel", "remove", "anna/news", feed_a, "--yes"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("use feedmill channel feeds CHANNEL --remove URL"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("nothing was deleted"), std::string::npos) << refused.err;
  EXPECT_NE(feedmill({"channel", "feeds", "anna/news"}).out.find(feed_a), std::string::npos);
  EXPECT_EQ(feedmill({"channel", "remove", "anna/news", "--yes"}).exit, 0);
  EXPECT_EQ(feedmill({"channel", "remove", "anna/news", "--yes"}).exit, 1);
}

TEST_F(Commands, ListsRequestedFeeds) {
  feedmill({"add", feed_a, feed_b});
  publish(feed_a, {"one", "two"});
  const auto all = rows(feedmill({"list", "--json"}).out);
  ASSERT_EQ(all.size(), 2U);
  for (const char* const key :
       {"schema", "url", "title", "state", "entries", "due", "last_at", "last_status", "last_error"}) {
    EXPECT_TRUE(all[0].contains(key)) << key;
  }
  EXPECT_EQ(text_of(all[0], "url"), feed_a);
  EXPECT_EQ(text_of(all[0], "state"), "healthy");
  EXPECT_EQ(text_of(all[0], "entries"), "2");
  EXPECT_EQ(text_of(all[0], "last_status"), "200");
  EXPECT_EQ(text_of(all[1], "last_at"), "null");
  EXPECT_EQ(rows(feedmill({"list", "--json", "--state", "new"}).out).size(), 1U);
  EXPECT_EQ(text_of(rows(feedmill({"list", "--json", "--host", "b.example"}).out).at(0), "url"), feed_b);
  EXPECT_EQ(text_of(rows(feedmill({"list", "--json", "--due"}).out).at(0), "url"), feed_b);
  const VerbRun people = feedmill({"list"});
  EXPECT_EQ(people.out.find('\x1B'), std::string::npos) << "a title must not steer the terminal";
  EXPECT_NE(people.out.find("A feed \\x1B[31m"), std::string::npos) << people.out;
}

TEST_F(Commands, ListsLimitedFeedsInChosenColumns) {
  const std::string long_url = "http://c.example/" + std::string(300, 'p');
  feedmill({"add", feed_a, feed_b, long_url});
  publish(feed_a, {"one", "two"});
  EXPECT_EQ(feedmill({"list", "--columns", "url,state", "--header"}).out,
            "URL  STATE\n" + feed_a + "  healthy\n" + feed_b + "  new\n" + long_url + "  new\n");
  EXPECT_EQ(rows(feedmill({"list", "--limit", "2", "--json"}).out).size(), 2U);
  EXPECT_EQ(feedmill({"list", "--state", "new", "--limit", "1", "--columns", "url"}).out, feed_b + "\n");
  EXPECT_EQ(feedmill({"list", "--state", "never read"}).err, "none of 3 feeds matches\n");
  EXPECT_EQ(feedmill({"entries", feed_a, "--columns", "id,link", "--header", "--limit", "1"}).out.substr(0, 20),
            "ID              LINK");
  feedmill({"channel", "add", "anna/news", "anna/work"});
  EXPECT_EQ(feedmill({"channel", "list", "--columns", "channel", "--limit", "1"}).out, "anna/news\n");
}

TEST_F(Commands, HelpAndVersionAreVerbs) {
  const VerbRun help = run_verb({"help", "channel", "add"});
  EXPECT_EQ(help.exit, 0);
  EXPECT_EQ(help.out, run_verb({"channel", "add", "-h"}).out);
  EXPECT_EQ(run_verb({"help"}).out, run_verb({"-h"}).out);
  const VerbRun unknown = run_verb({"help", "rm"});
  EXPECT_EQ(unknown.exit, 64);
  EXPECT_NE(unknown.err.find("use feedmill remove URL..."), std::string::npos) << unknown.err;
  EXPECT_EQ(run_verb({"version"}).out, run_verb({"-V"}).out);
}

TEST_F(Commands, ShowsAllThatIsKnownOfAFeed) {
  feedmill({"add", feed_a});
  publish(feed_a, {"one"});
  const auto shown = rows(feedmill({"show", feed_a, "--json"}).out);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(text_of(shown[0], "total_new"), "1");
  EXPECT_EQ(text_of(shown[0].at("feed").as_object(), "link"), "http://a.example/");
  EXPECT_NE(feedmill({"show", feed_a}).out.find("state               healthy"), std::string::npos);
  EXPECT_EQ(feedmill({"show", feed_b}).exit, 1);
  EXPECT_EQ(feedmill({"show", "nonsense"}).exit, 65);
}

TEST_F(Commands, PagesThroughEntries) {
  feedmill({"add", feed_a});
  publish(feed_a, {"one", "two", "three"});
  const auto newest = rows(feedmill({"entries", feed_a, "--limit", "2", "--json"}).out);
  ASSERT_EQ(newest.size(), 2U);
  EXPECT_EQ(text_of(newest[0], "title"), "three");
  EXPECT_EQ(text_of(newest[0], "timestamp"), "1763690002");
  EXPECT_EQ(text_of(newest[0], "first_seen"), "2025-11-21T01:53:20Z");
  EXPECT_EQ(text_of(newest[0], "categories"), R"([{"term":"x"}])") << "JSON text comes out as JSON";
  const auto older = rows(feedmill({"entries", feed_a, "--json", "--before", text_of(newest[1], "cursor")}).out);
  ASSERT_EQ(older.size(), 1U);
  EXPECT_EQ(text_of(older[0], "title"), "one");
  const VerbRun people = feedmill({"entries", feed_a, "--limit", "1"});
  EXPECT_NE(people.out.find("three"), std::string::npos);
  const std::string before = " --before 1763690002:" + text_of(newest[0], "id") + "\n";
  EXPECT_EQ(people.err, "older: feedmill entries " + feed_a + " --limit 1" + before);
  EXPECT_EQ(feedmill({"entries", feed_a, "--header", "--columns", "id,title", "--limit", "1"}).err,
            "older: feedmill entries " + feed_a + " --limit 1 --columns id,title --header" + before);
  EXPECT_EQ(feedmill({"entries", feed_b}).exit, 1);
}

TEST_F(Commands, FindsOneEntry) {
  feedmill({"add", feed_a});
  publish(feed_a, {"one"});
  const auto by_guid = rows(feedmill({"entry", "--feed", feed_a, "--guid", "one", "--json"}).out);
  ASSERT_EQ(by_guid.size(), 1U);
  const auto by_id = rows(feedmill({"entry", text_of(by_guid[0], "id"), "--json"}).out);
  EXPECT_EQ(by_id, by_guid);
  EXPECT_NE(feedmill({"entry", text_of(by_guid[0], "id")}).out.find("title: one"), std::string::npos);
  EXPECT_EQ(feedmill({"entry", text_of(by_guid[0], "id").substr(std::string("Entry:").size())}).out,
            feedmill({"entry", text_of(by_guid[0], "id")}).out)
      << "its number will do";
  EXPECT_EQ(feedmill({"entry", "Entry:999"}).exit, 1);
  EXPECT_EQ(feedmill({"entry", "--feed", feed_a, "--guid", "two"}).exit, 1);
}

TEST_F(Commands, ShowPeopleNoMarkupInTitles) {
  feedmill({"add", feed_a});
  publish(feed_a, {"one"});
  const auto set = [&](const std::string& key, const char* title, const char* type) {
    test::redis_command(server_, {"HSET", key, "title", title, "title_type", type});
  };
  set("Feed:" + feed_a, "Science &amp; <i>Tech</i>", "text/html");
  set("Entry:1", "Q&amp;A &lt;b&gt;&#x202e;", "text/html");
  const auto says = [&](const Words& verb, const std::string& text) {
    const std::string out = feedmill(verb).out;
    EXPECT_NE(out.find(text), std::string::npos) << verb[0] << ": " << out;
    EXPECT_EQ(out.find("title_type"), std::string::npos) << verb[0] << ": " << out;
  };
  says({"list"}, "Science & Tech  ");
  says({"show", feed_a}, "title               Science & Tech\n");
  says({"entries", feed_a}, "Q&A <b>\\u{202E}\n");
  says({"entry", "Entry:1"}, "title: Q&A <b>\\u{202E}\n");
  says({"export"}, "text=\"Science &amp; Tech\"");
  // Also for programs, unless the type is printed with the text.
  EXPECT_EQ(text_of(rows(feedmill({"list", "--json"}).out).at(0), "title"), "Science & Tech");
  EXPECT_EQ(text_of(rows(feedmill({"entry", "Entry:1", "--json"}).out).at(0), "title_type"), "text/html");
  set("Feed:" + feed_a, "R&amp;D <i>", "");
  EXPECT_NE(feedmill({"list"}).out.find("R&amp;D <i>"), std::string::npos);
  EXPECT_NE(feedmill({"export"}).out.find("text=\"R&amp;amp;D &lt;i&gt;\""), std::string::npos);
  // Markup without visible content does not count as a title.
  set("Feed:" + feed_a, "<img src=\"https://a.example/i\">", "text/html");
  set("Entry:1", "<br>", "text/html");
  test::redis_command(server_, {"HSET", "Entry:1", "link", "https://a.example/1"});
  says({"export"}, "text=\"" + feed_a + "\"");
  says({"entries", feed_a}, "https://a.example/1\n");
}

TEST_F(Commands, ImportsAListOnce) {
  const std::string list = file("list.opml",
                                "<opml version=\"2.0\"><body>\n<outline text=\"News\">\n"
                                "<outline type=\"rss\" text=\"A\" title=\"Feed A\" xmlUrl=\"" +
                                    feed_a +
                                    "\"/>\n"
                                    "<outline type=\"rss\" text=\"B\" xmlUrl=\"feed://b.example/feed.xml\"/>\n"
                                    "</outline></body></opml>\n");
  const VerbRun dry = feedmill({"import", list, "--dry-run"});
  EXPECT_EQ(dry.exit, 0) << dry.err;
  EXPECT_TRUE(Feeds(store_).urls_after("", 10'000)->empty());
  const VerbRun first = feedmill({"import", list});
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_EQ(first.out, "added 2, present 0, repaired 1, refused 0, merged 0\n");
  EXPECT_EQ(first.err, "line 4: \"feed://b.example/feed.xml\" read as " + feed_b + "\n" + nobody_fetches);
  EXPECT_EQ(record(feed_a).state.settings,
            R"({"folders":[["News"]],"opml":{"type":"rss","text":"A","title":"Feed A"}})");
  const auto second = rows(feedmill({"import", list, "--json"}).out);
  ASSERT_EQ(second.size(), 3U);
  EXPECT_EQ(text_of(second[2], "added"), "0");
  EXPECT_EQ(text_of(second[2], "present"), "2");
}

TEST_F(Commands, ImportsReadableRowsAndReportsTheOthers) {
  const VerbRun outcome =
      feedmill({"import", file("urls.txt", "# mine\n" + feed_a + "\nnonsense\n\nftp://c.example/\n")});
  EXPECT_EQ(outcome.exit, 65);
  EXPECT_EQ(outcome.out, "added 1, present 0, repaired 0, refused 2, merged 0\n");
  EXPECT_EQ(outcome.err,
            "feedmill: import: line 3: refused: \"nonsense\": not an http or https URL\n"
            "feedmill: import: line 5: refused: \"ftp://c.example/\": scheme ftp: only http and https\n" +
                nobody_fetches);
  EXPECT_EQ(feedmill({"import", (server_.directory() / "absent").string()}).exit, 65);
  EXPECT_EQ(feedmill({"import", server_.directory().string()}).exit, 65);
}

TEST_F(Commands, SpreadsFirstFetchesOfAnImport) {
  std::string urls;
  for (int i = 0; i < 1001; ++i) urls += "http://h" + std::to_string(i) + ".example/\n";
  EXPECT_EQ(feedmill({"import", file("urls.txt", urls)}).exit, 0);
  const auto first = record("http://h0.example/").due, last = record("http://h1000.example/").due;
  ASSERT_TRUE(first && last);
  EXPECT_GE((*last - *first).count(), 4900);  // 200 a second
  EXPECT_LE((*last - *first).count(), 6500);
}

TEST_F(Commands, ExportsImportedFeeds) {
  const std::string list =
      file("list.opml",
           "<opml version=\"2.0\" xmlns:x=\"urn:x\"><body><outline text=\"News\"><outline type=\"rss\" "
           "text=\"A &amp; B\" x:id=\"7\" xmlUrl=\"" +
               feed_a + "\"/></outline></body></opml>\n");
  EXPECT_EQ(feedmill({"import", list}).exit, 0);
  feedmill({"add", feed_b, "--keep", "7"});
  const VerbRun first = feedmill({"export"});
  EXPECT_EQ(first.exit, 0);
  EXPECT_NE(first.out.find("<outline text=\"News\">\n      <outline xmlns:x=\"urn:x\" type=\"rss\" text=\"A &amp; B\" "
                           "x:id=\"7\" xmlUrl=\"" +
                           feed_a + "\"/>"),
            std::string::npos)
      << first.out;
  EXPECT_NE(first.out.find("feedmill:keep=\"7\""), std::string::npos) << first.out;
  const std::string settings_a = record(feed_a).state.settings, settings_b = record(feed_b).state.settings;
  feedmill({"remove", "--yes", feed_a, feed_b});
  EXPECT_EQ(feedmill({"import", file("again.opml", first.out)}).exit, 0);
  EXPECT_EQ(record(feed_a).state.settings, settings_a);
  EXPECT_EQ(rows(feedmill({"export", "--json"}).out).size(), 2U);
}

TEST_F(Commands, ImportAndExportTheOwnTitlesOfChannels) {
  const auto title = [&](const std::string& channel, const std::string& url) {
    return test::redis_command(server_, {"HGET", "channel:" + channel + ":titles", url});
  };
  const std::string feed_c = "http://c.example/feed.xml", none = "(nil)";
  feedmill({"add", feed_b, "--channel", "News", "--title", "Given  before"});
  feedmill({"add", feed_c});
  test::redis_command(
      server_, {"HSET", "Feed:" + feed_c, "title", "Its <b>own</b>", "title_type", "text/html", "format", "rss"});
  const std::string row = "<outline type=\"rss\" title=\"The publisher's\" text=\"";
  const std::string list = file(
      "list.opml", "<opml version=\"2.0\"><body><outline text=\"News\">" + row + "Mine\" xmlUrl=\"" + feed_a + "\"/>" +
                       row + "Listed\" xmlUrl=\"" + feed_b + "\"/>" + row + "Its own\" xmlUrl=\"" + feed_c +
                       "\"/></outline><outline text=\"Work\">" + row + "Yours\" xmlUrl=\"" + feed_a + "\"/>" +
                       "<outline text=\"" + feed_b + "\" xmlUrl=\"" + feed_b + "\"/></outline></body></opml>");
  ASSERT_EQ(feedmill({"import", list}).exit, 0);
  EXPECT_EQ(title("News", feed_a), "Mine");
  EXPECT_EQ(title("Work", feed_a), "Yours");
  EXPECT_EQ(title("News", feed_b), "Given before") << "a list replaces no own title";
  EXPECT_EQ(title("News", feed_c), none) << "the feed has that title itself";
  const std::string exported = feedmill({"export"}).out;
  EXPECT_NE(exported.find("title=\"The publisher's\" text=\"Mine\""), std::string::npos) << exported;
  feedmill({"remove", "--yes", feed_a, feed_b, feed_c});
  feedmill({"channel", "remove", "--yes", "News", "Work"});
  ASSERT_EQ(feedmill({"import", file("again.opml", exported)}).exit, 0);
  EXPECT_EQ(title("News", feed_a), "Mine");
  EXPECT_EQ(title("Work", feed_a), "Yours");
  EXPECT_EQ(title("News", feed_b), "Given before");
}

TEST_F(Commands, AnEmptyTitleRemovesTheChannelsOwn) {
  const auto title = [&] { return test::redis_command(server_, {"HGET", "channel:News:titles", feed_a}); };
  EXPECT_EQ(feedmill({"add", feed_a, "--channel", "News", "--title", "Mine"}).exit, 0);
  EXPECT_EQ(title(), "Mine");
  EXPECT_EQ(feedmill({"add", feed_a, "--channel", "News"}).exit, 0);
  EXPECT_EQ(title(), "Mine") << "without the flag it stays";
  EXPECT_EQ(feedmill({"add", feed_a, "--channel", "News", "--title", ""}).exit, 0);
  EXPECT_EQ(title(), "(nil)");
  EXPECT_EQ(feedmill({"add", feed_a, "--title", "Mine"}).exit, 64) << "a feed alone has its publisher's title";
  EXPECT_EQ(feedmill({"add", feed_a, feed_b, "--channel", "News", "--title", "Mine"}).exit, 64);
  EXPECT_EQ(feedmill({"add", feed_a, "--channel", "News", "--title", std::string(1025, 'x')}).exit, 64);
}

TEST_F(Commands, ImportsAPlainListInPartsAndResumesIt) {
  std::string urls;
  for (int i = 0; i < 9'000; ++i) urls += i == 6'000 ? "ftp://bad/\n" : "http://h" + std::to_string(i) + ".example/\n";
  const std::string begun = urls.substr(0, urls.find("http://h5000.example/"));
  EXPECT_EQ(feedmill({"import", file("begun.txt", begun)}).exit, 0);
  const VerbRun whole = feedmill({"import", file("urls.txt", urls + "http://h1.example/\n")});
  EXPECT_EQ(whole.exit, 65);
  EXPECT_EQ(whole.out, "added 3999, present 5000, repaired 0, refused 1, merged 1\n");
  EXPECT_NE(whole.err.find("line 6001: refused: \"ftp://bad/\""), std::string::npos) << whole.err;
  EXPECT_EQ(*Feeds(store_).count(), 8'999U);
}

/// Verbs over more feeds than fit on a page.
class Walks : public Commands {
 protected:
  static constexpr int feeds = 1'203;

  Walks() {
    std::vector<NewFeed> all;
    for (int i = 0; i < feeds; ++i) {
      urls.push_back("http://h" + std::to_string(i % 7) + ".example/" + std::to_string(i));
      all.push_back({.feed_url = urls.back()});
    }
    EXPECT_TRUE(Feeds(store_).add(all));
    std::sort(urls.begin(), urls.end());
  }
  std::string redis(const Words& words) { return test::redis_command(server_, words); }
  /// Runs the program as a user that may read every key.
  VerbRun as_admin(Words words) { return feedmill_at(server_.admin_url(), std::move(words)); }
  /// The rows of a list, without the header, which has the time of writing.
  static std::string body_of(const std::string& opml) { return opml.substr(opml.find("<body>")); }
  /// The URLs of the rows, in order.
  static Words told(const std::string& out) {
    Words all;
    for (const auto& row : rows(out)) {
      if (row.contains("url")) all.push_back(text_of(row, "url"));
    }
    return all;
  }
  Words urls;
};

TEST_F(Walks, OfAllFeedsNeverUseASingleReply) {
  redis({"CONFIG", "SET", "slowlog-max-len", "1000000"});
  redis({"CONFIG", "SET", "slowlog-log-slower-than", "0"});
  const std::string list = file("list.txt", urls[0] + "\n" + urls[1] + "\n");
  for (const Words& verb : std::vector<Words>{{"list"},
                                              {"list", "--json"},
                                              {"export"},
                                              {"export", "--json"},
                                              {"plan"},
                                              {"doctor"},
                                              {"verify"},
                                              {"store", "export", "-"},
                                              {"refresh", "--all", "--defer"},
                                              {"import", list, "--prune", "--yes"}}) {
    redis({"SLOWLOG", "RESET"});
    const VerbRun outcome = as_admin(verb);
    EXPECT_TRUE(outcome.exit == 0 || verb[0] == "doctor") << verb[0] << outcome.err;
    const std::string asked = redis({"SLOWLOG", "GET", "-1"});
    EXPECT_NE(asked.find("state:feeds"), std::string::npos) << verb[0];
    for (const char* const whole : {"SMEMBERS feeds", "SMEMBERS,feeds", "SMEMBERS\nfeeds"}) {
      EXPECT_EQ(asked.find(whole), std::string::npos) << verb[0];
    }
  }
  EXPECT_EQ(*Feeds(store_).count(), 2U);
}

TEST_F(Walks, EndAsTheyDidForFewFeeds) {
  EXPECT_EQ(told(feedmill({"list", "--json"}).out), urls);
  EXPECT_EQ(told(feedmill({"export", "--json"}).out), urls);
  const VerbRun none = feedmill({"list", "--state", "gone"});
  EXPECT_EQ(none.err, "none of 1203 feeds matches\n");
  const std::string exported = feedmill({"export"}).out;
  std::size_t at = 0;
  for (const std::string& url : urls) {
    at = exported.find("xmlUrl=\"" + url + "\"", at);
    ASSERT_NE(at, std::string::npos) << url;
  }
  EXPECT_EQ(text_of(rows(feedmill({"plan", "--json"}).out)[0], "feeds"), "1203");
  const VerbRun doctor = feedmill({"doctor", "--json"});
  EXPECT_NE(doctor.out.find("the feeds of each of 7 hosts fit its limits"), std::string::npos) << doctor.out;
  EXPECT_EQ(told(feedmill({"refresh", "--all", "--defer", "--json"}).out), urls);
  // The output is the same without an index.
  redis({"DEL", "state:feeds"});
  EXPECT_EQ(told(feedmill({"list", "--json"}).out), urls);
  EXPECT_TRUE(body_of(feedmill({"export"}).out) == body_of(exported));
}

TEST_F(Walks, ReportAHostWithTooManyFeeds) {
  std::vector<NewFeed> all;
  for (int i = 0; i < 2'000; ++i) {
    const char* const scheme = i % 2 == 0 ? "http" : "https";
    all.push_back({.feed_url = scheme + std::string("://crowded.example/") + std::to_string(i),
                   .settings = R"({"interval_max":900})"});
  }
  ASSERT_TRUE(Feeds(store_).add(all));
  const VerbRun doctor = feedmill({"doctor", "--json"});
  EXPECT_NE(doctor.out.find("crowded.example: its 2000 feeds need"), std::string::npos) << doctor.out;
}

TEST_F(Walks, PruneNeedsAYesAndCountsAllThatWouldGo) {
  const std::string list = file("list.txt", urls[0] + "\n"), more = file("more.txt", urls[0] + "\n" + feed_a + "\n");
  const VerbRun unasked = feedmill({"import", more, "--prune"});
  EXPECT_EQ(unasked.exit, 64);
  EXPECT_NE(unasked.err.find("use --yes, or --dry-run"), std::string::npos) << unasked.err;
  EXPECT_EQ(unasked.out, "");
  EXPECT_EQ(*Feeds(store_).count(), 1'203U) << "nothing was imported either";
  const VerbRun dry = feedmill({"import", list, "--prune", "--dry-run"});
  EXPECT_EQ(std::count(dry.out.begin(), dry.out.end(), '\n'), 1'203) << "what would go, and the summary";
  EXPECT_EQ(feedmill({"import", list, "--prune", "--yes"}).exit, 0);
  EXPECT_EQ(*Feeds(store_).urls_after("", 10), Words{urls[0]});
}

TEST_F(Commands, RefreshThroughALivingWorkerShowsItsResults) {
  feedmill({"add", feed_a});
  ASSERT_TRUE(Fleet(store_)
                  .heartbeat("0123456789abcdef0123456789abcdef", {{"host", "h"}}, std::chrono::seconds(20))
                  .has_value());
  std::thread worker([this] {
    Store store({.url = server_.url()});
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    publish(store, feed_a, {"one", "two"});
  });
  const VerbRun outcome = feedmill({"refresh", feed_a, "--json"});
  worker.join();
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  ASSERT_EQ(rows(outcome.out).size(), 1U) << outcome.out;
  EXPECT_EQ(text_of(rows(outcome.out)[0], "outcome"), "updated");
  EXPECT_EQ(text_of(rows(outcome.out)[0], "created"), "2");
  const VerbRun again = feedmill({"refresh", feed_a, "--json"});
  EXPECT_EQ(again.exit, 75) << "HTTP P22";
  EXPECT_EQ(text_of(rows(again.out).at(0), "result"), "too_early") << again.out;
  feedmill({"pause", feed_a});
  EXPECT_EQ(feedmill({"refresh", feed_a}).exit, 1) << "it was named, and is not fetched";
  EXPECT_EQ(feedmill({"refresh", "--all"}).exit, 0) << "which was not meant";
  feedmill({"resume", feed_a});
  EXPECT_EQ(text_of(rows(feedmill({"refresh", "--all", "--defer", "--ignore-floor", "--json"}).out).at(0), "result"),
            "due");
}

TEST_F(Commands, AddNowShowsTheFirstResult) {
  ASSERT_TRUE(Fleet(store_).heartbeat("0123456789abcdef0123456789abcdef", {}, std::chrono::seconds(20)).has_value());
  std::thread worker([this] {
    Store store({.url = server_.url()});
    while (Feeds(store).urls_after("", 10'000)->empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    publish(store, feed_a, {"one"});
  });
  const VerbRun outcome = feedmill({"add", feed_a, "--now", "--json"});
  worker.join();
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  ASSERT_EQ(rows(outcome.out).size(), 2U) << outcome.out;
  EXPECT_EQ(text_of(rows(outcome.out)[1], "result"), "refreshed");
  EXPECT_EQ(text_of(rows(outcome.out)[1], "created"), "1");
}

TEST_F(Commands, RefreshDoesItselfWhatAVanishedWorkerLeft) {
  feedmill({"add", feed_a});
  ASSERT_TRUE(
      Fleet(store_).heartbeat("0123456789abcdef0123456789abcdef", {}, std::chrono::milliseconds(700)).has_value());
  const VerbRun outcome = feedmill({"refresh", feed_a});
  EXPECT_EQ(outcome.exit, 1) << "nobody is at that address: " << outcome.err;
  EXPECT_NE(record(feed_a).state.last.at.count(), 0) << outcome.out;
}

TEST_F(Commands, RefreshesNothingWhenOneFeedIsUnknown) {
  feedmill({"add", feed_a});
  publish(feed_a, {});
  EXPECT_EQ(feedmill({"refresh", feed_a, feed_b, "--defer", "--ignore-floor"}).exit, 1);
  EXPECT_GT(*record(feed_a).due, *store_.now());
}

TEST_F(Commands, SayWhyTheStoreCannotBeUsed) {
  const VerbRun away = run_verb({"list", "--redis", "unix:///nowhere/redis.sock", "--config", config_.string()});
  EXPECT_EQ(away.exit, 69);
  EXPECT_EQ(away.err.find("feedmill: list: "), 0U) << away.err;
  EXPECT_EQ(std::count(away.err.begin(), away.err.end(), '\n'), 1) << away.err;
  const VerbRun wrong = run_verb({"list", "--config", file("wrong.toml", "[redis]\nurll = \"x\"\n")});
  EXPECT_EQ(wrong.exit, 78);
  EXPECT_NE(wrong.err.find("redis.urll"), std::string::npos) << wrong.err;
}

TEST_F(Commands, NameAKeyOfTheWrongType) {
  ASSERT_EQ(feedmill({"add", feed_a}).exit, 0);
  test::redis_command(server_, {"RENAME", "schedule", "kept"});
  test::redis_command(server_, {"SET", "schedule", "x"});
  const VerbRun outcome = feedmill({"add", feed_b});
  EXPECT_EQ(outcome.exit, 75) << outcome.err;
  EXPECT_NE(
      outcome.err.find("the store refused: WRONGTYPE schedule is a string, not a zset; feedmill verify lists such "
                       "keys, and verify --repair repairs some"),
      std::string::npos)
      << outcome.err;
  test::redis_command(server_, {"RENAME", "kept", "schedule"});
}

/// `tail` in a process of its own, because only a signal ends it.
class Tail : public Commands {
 protected:
  explicit Tail(Words server_arguments = {}) : Commands(std::move(server_arguments)) {}
  ~Tail() override {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    close_reader();
  }

  void start(Words words) {
    words.insert(words.begin(), "tail");
    words.insert(words.end(), {"--config", config_.string()});
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      int code = 70;
      ::setenv("FEEDMILL_REDIS_URL", server_.url().c_str(), 1);
      try {
        const auto line = read_command_line(words, verb_groups());
        TerminalOptions options = line->terminal;
        options.out = ends[1];
        Terminal terminal(options);
        ::close(ends[0]);
        code = run_command(*line, terminal);
      } catch (const Interrupted&) {
        code = exits::interrupted;
      } catch (const OutputClosed&) {
        code = exits::done;
      }
      ::_exit(code);
    }
    ::close(ends[1]);
    reader_ = ends[0];
  }

  /// The next line it prints; "" when none comes in 15 s.
  std::string line() {
    while (text_.find('\n') == std::string::npos) {
      pollfd ready{reader_, POLLIN, 0};
      if (::poll(&ready, 1, 15'000) <= 0) return {};
      std::array<char, 4096> block;
      const ssize_t got = ::read(reader_, block.data(), block.size());
      if (got <= 0) return {};
      text_.append(block.data(), static_cast<std::size_t>(got));
    }
    const std::string first = text_.substr(0, text_.find('\n'));
    text_.erase(0, first.size() + 1);
    return first;
  }

  void close_reader() {
    if (reader_ >= 0) ::close(std::exchange(reader_, -1));
  }

  int exit_code_of_it() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  pid_t pid_ = -1;
  int reader_ = -1;
  std::string text_;
};

TEST_F(Tail, ShowsSignalsAsTheyComeUntilInterrupted) {
  feedmill({"add", feed_a});
  publish(feed_a, {"before"});
  start({"--json", "--type", "post_created"});
  std::this_thread::sleep_for(std::chrono::seconds(1));  // it is following by then
  publish(feed_a, {"one", "two"});
  const boost::json::object first = boost::json::parse(line()).as_object();
  EXPECT_EQ(text_of(first, "schema"), "1");
  EXPECT_EQ(text_of(first, "type"), "post_created");
  EXPECT_EQ(text_of(first, "guid"), "one");
  EXPECT_EQ(text_of(boost::json::parse(line()).as_object(), "guid"), "two");
  ::kill(pid_, SIGINT);
  EXPECT_EQ(exit_code_of_it(), 130);
}

TEST_F(Tail, BeginsAtTheGivenPosition) {
  feedmill({"add", feed_a});
  publish(feed_a, {"one"});
  start({"--from", "0"});
  const std::string shown = line();
  EXPECT_NE(shown.find("post_created"), std::string::npos) << shown;
  EXPECT_NE(shown.find("one"), std::string::npos) << shown;
}

TEST_F(Tail, EndsQuietlyWhenItsReaderGoes) {
  feedmill({"add", feed_a});
  start({"--from", "0", "--json"});
  close_reader();
  EXPECT_EQ(exit_code_of_it(), 0);
}

class DurableTail : public Tail {
 protected:
  DurableTail() : Tail({"--appendonly", "yes", "--appendfsync", "always"}) {}
};

TEST_F(DurableTail, MissesNothingWhileRedisRestarts) {
  feedmill({"add", feed_a});
  start({"--from", "0", "--json", "--type", "post_created"});
  publish(feed_a, {"one"});
  EXPECT_EQ(text_of(boost::json::parse(line()).as_object(), "guid"), "one");
  server_.kill();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  server_.start();
  store_.disconnect();
  publish(feed_a, {"two", "three"});
  EXPECT_EQ(text_of(boost::json::parse(line()).as_object(), "guid"), "two");
  EXPECT_EQ(text_of(boost::json::parse(line()).as_object(), "guid"), "three");
}

TEST(Signals, AreOneLineForPeople) {
  EventRecord record{"17-0", "post_modified",
                     R"({"v":1,"entity_id":"Entry:17","timestamp":1763690000,"feed_url":"http://a.example/",)"
                     R"("data":{"title":"a\nb","link":"http://a.example/1"},"changed":{"title":["x","y"]}})"};
  EXPECT_EQ(signal_line(record),
            "2025-11-21T01:53:20Z  post_modified   Entry:17  a\\x0Ab  http://a.example/1  [title]");
  EXPECT_EQ(signal_json(record).substr(0, 19), R"({"schema":1,"v":1,")");
  EXPECT_EQ(signal_json({"1-0", "x", "{}"}), R"({"schema":1})");
}

TEST(Parse, PrintsADocumentOrSaysWhyNot) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("feedmill-parse-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  const std::string good = (directory / "good.xml").string(), bad = (directory / "bad.txt").string();
  std::ofstream(good) << "<rss version=\"2.0\"><channel><title>T</title><item><link>/one</link></item></channel></rss>";
  std::ofstream(bad) << "no feed";

  const VerbRun read = run_verb({"parse", "--url", "http://a.example/feed", good});
  EXPECT_EQ(read.exit, 0) << read.err;
  EXPECT_EQ(std::count(read.out.begin(), read.out.end(), '\n'), 1);
  EXPECT_EQ(text_of(boost::json::parse(read.out).as_object(), "format"), "rss20");
  EXPECT_NE(read.out.find("http://a.example/one"), std::string::npos) << read.out;

  const VerbRun refused = run_verb({"parse", bad});
  EXPECT_EQ(refused.exit, 65);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1);
  EXPECT_EQ(run_verb({"parse", (directory / "absent").string()}).exit, 65);

  const auto answer = [](const std::string& request) {
    return boost::json::parse(answer_request(request)).as_object();
  };
  EXPECT_EQ(text_of(answer(R"({"argv":["--url","http://a.example/feed",")" + good + "\"]}"), "out"), read.out);
  EXPECT_EQ(text_of(answer(R"({"argv":[")" + bad + "\"]}"), "rc"), "65");
  EXPECT_EQ(text_of(answer(R"({"argv":["--nonsense"]})"), "rc"), "64");
  EXPECT_EQ(text_of(answer("nonsense"), "rc"), "64");

  std::ofstream(good) << "<rss version=\"2.0\"><channel><title>T</title><item><title>a\xE2\x80\xAE</title>"
                         "<pubDate>\xE2\x80\xAEsoon</pubDate></item></channel></rss>";
  const VerbRun words = run_verb({"parse", "--explain", good});
  EXPECT_EQ(words.exit, 0) << words.err;
  EXPECT_EQ(words.out.substr(0, 14), "format: rss20,") << words.out;
  EXPECT_NE(words.out.find("kept as text only: entry 1 (\"\\u{202E}soon\")\n"), std::string::npos) << words.out;
  const auto statements = rows(run_verb({"parse", "--explain", "--json", good}).out);
  ASSERT_EQ(statements.size(), static_cast<std::size_t>(std::count(words.out.begin(), words.out.end(), '\n')));
  EXPECT_EQ(statements.at(0).at("schema"), 1);
  EXPECT_EQ(text_of(statements.at(0), "topic"), "format");
  EXPECT_EQ(text_of(answer(R"({"argv":["--explain",")" + good + "\"]}"), "out"), words.out);
  EXPECT_EQ(run_verb({"parse", "--explain", bad}).exit, 65);
  std::filesystem::remove_all(directory);
}

TEST(About, NamesVersions) {
  const VerbRun version = run_verb({"--version", "--json"});
  EXPECT_EQ(version.exit, 0);
  const auto row = rows(version.out).at(0);
  for (const char* const library : {"libcurl", "c-ares", "hiredis", "pugixml", "simdjson", "Boost"}) {
    EXPECT_TRUE(row.at("libraries").as_object().contains(library)) << library;
  }
  EXPECT_EQ(row.at("libraries").as_object().contains("hiredis_ssl"), objection_to_redis_url("rediss://host").empty());
}

}  // namespace
}  // namespace feedmill::commands_test
