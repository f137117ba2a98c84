// A client that loads a snapshot and applies every later event has the store's contents (DESIGN §4), whatever happens
// concurrently: feeds change in every way, programs send requests, operators repair, import and remove, and workers and
// Redis are killed at random.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <random>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/feeds.hpp"
#include "storage/redis/redis.hpp"
#include "tests/end_to_end/truth_world.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/folded_store.hpp"

namespace feedmill::test::fold_test {
namespace {

/// A publisher with feeds that change in every way that causes an event.
class Site {
 public:
  explicit Site(unsigned number) : number_(number) { publish(5); }

  void publish(int posts) {
    for (; posts > 0; --posts) posts_.push_back({posts_.size(), 0, false});
  }
  /// Makes one change, chosen by `chance`.
  void act(unsigned chance) {
    Post& post = posts_[posts_.size() - 1 - (chance >> 8U) % std::min<std::size_t>(posts_.size(), listed)];
    const unsigned what = chance % 16;
    if (what < 5) publish(1 + static_cast<int>((chance >> 4U) % 3));
    if (what >= 5 && what < 10) ++post.edits;
    if (what == 11) ++era_;
    if (what == 12) post.deleted = true;
    if (what == 13) ++titles_;
    if (what == 14) ++words_;
    if (what == 10 || what == 15) ++details_;
  }
  std::string document() const {
    std::string text =
        "<?xml version=\"1.0\"?><feed xmlns=\"http://www.w3.org/2005/Atom\""
        " xmlns:at=\"http://purl.org/atompub/tombstones/1.0\""
        " xmlns:thr=\"http://purl.org/syndication/thread/1.0\"><id>urn:site:" +
        std::to_string(number_) + "</id><title>Site " + std::to_string(titles_) +
        "</title><updated>2026-01-01T00:00:00Z</updated><subtitle>" + std::string(40 * words_ + 1, 'w') +
        "</subtitle><link href=\"https://example.org/" + std::to_string(number_) + "\"/>" + details();
    const std::size_t first = posts_.size() > listed ? posts_.size() - listed : 0;
    for (std::size_t i = posts_.size(); i-- > first;)
      text += posts_[i].deleted ? tombstone(posts_[i]) : entry(posts_[i]);
    return text + "</feed>";
  }

 private:
  static constexpr std::size_t listed = 12;
  struct Post {
    std::size_t number = 0, edits = 0;
    bool deleted = false;
  };
  static std::string date(std::size_t minutes) {
    const auto two = [](std::size_t value) { return (value < 10 ? "0" : "") + std::to_string(value); };
    return "2025-" + two(1 + minutes / 40320 % 12) + "-" + two(1 + minutes / 1440 % 28) + "T" + two(minutes / 60 % 24) +
           ":" + two(minutes % 60) + ":00Z";
  }
  /// Elements of the feed itself that readers do not notice; each is sometimes absent.
  std::string details() const {
    const std::string number = std::to_string(details_);
    std::string text =
        "<generator>G" + number + "</generator><thr:total>" + std::to_string(posts_.size()) + "</thr:total>";
    if (details_ % 2 == 1)
      text += "<rights>R" + number + "</rights><icon>https://example.org/" + number + ".ico</icon>";
    if (details_ % 3 == 1)
      text += "<category term=\"" + number + "\"/><contributor><name>" + number + "</name></contributor>";
    if (details_ % 4 == 1) text += "<link rel=\"related\" href=\"https://example.org/" + number + "\"/>";
    return text;
  }
  std::string id(const Post& post) const {
    return "urn:era:" + std::to_string(era_) + ":" + std::to_string(number_) + ":" + std::to_string(post.number);
  }
  std::string tombstone(const Post& post) const {
    return "<at:deleted-entry ref=\"" + id(post) + "\" when=\"2026-06-01T00:00:00Z\"/>";
  }
  std::string entry(const Post& post) const {
    const std::string name = std::to_string(number_) + "/" + std::to_string(post.number);
    const std::string words(post.number % 7 == 3 ? 3000 : 20 + 100 * (post.edits % 9),
                            'x');  // some exceed signals.changed_max
    return "<entry><id>" + id(post) + "</id><title>Post " + name + " \"" + std::to_string(post.edits) +
           "\"</title><link href=\"https://example.org/" + name + "?era=" + std::to_string(era_) + "\"/><published>" +
           date(post.number * 60) + "</published><updated>" + date(post.number * 60 + post.edits) +
           "</updated><content type=\"html\">&lt;p class=\"red\"&gt;" + words + std::to_string(post.edits) +
           "&lt;/p&gt;</content></entry>";
  }

  unsigned number_, era_ = 0, titles_ = 0, words_ = 0, details_ = 0;
  std::vector<Post> posts_;
};

/// A consumer that loaded a snapshot and follows the stream.
struct Follower {
  FoldedStore fold;
  std::size_t first, next;  // stream positions: after the snapshot, and of the next event to apply
  std::size_t number;       // the snapshot's number
};

class Fold : public testing::TestWithParam<bool> {
 protected:
  static constexpr unsigned feeds = 8;

  Fold() : it(durable("always")) {
    Environment& environment = it.world.environment;
    environment["FEEDMILL_SCHEDULE_FLOOR"] = environment["FEEDMILL_SCHEDULE_CEILING"] = "1s";
    environment["FEEDMILL_RETENTION_ENTRIES"] = "10";
    environment["FEEDMILL_RETENTION_HARD_CAP"] = "14";
    environment["FEEDMILL_SIGNALS_MAX_LEN"] = "100000000";
    environment["FEEDMILL_SIGNALS_CONTENT"] = GetParam() ? "true" : "false";
    environment["FEEDMILL_SIGNALS_CONTENT_MAX"] = "2KiB";
    environment["FEEDMILL_HTML_KEEP_CLASS"] = "true";
    for (const auto& [name, value] : lease(2000)) environment[name] = value;
    for (unsigned i = 0; i < feeds; ++i) {
      sites.emplace_back(i);
      for (const char* end : {".xml", "-moved.xml"}) {
        it.world.http.serve("/" + std::to_string(i) + end, [this, i](const ServedRequest&) {
          const std::lock_guard lock(mutex);
          return Response{.body = sites[i].document()};
        });
      }
    }
  }

  std::string url(unsigned feed, const char* end = ".xml") const {
    return it.world.http.url("/" + std::to_string(feed) + end);
  }
  unsigned chance(unsigned of) { return static_cast<unsigned>(random()) % of; }
  FoldedStore::Table hash(const std::string& key) {
    Redis redis(*parse_redis_url(it.world.redis.admin_url()), std::chrono::seconds(10));
    FoldedStore::Table all;
    for (auto& [name, value] : redis.command({"HGETALL", key})->pairs()) all[name] = value;
    return all;
  }
  void ask(const std::vector<std::string>& fields) {
    std::vector<std::string> words{"XADD", "stream:requests", "*"};
    words.insert(words.end(), fields.begin(), fields.end());
    redis_command(it.world.redis, words);
  }
  std::string some_entry() {
    return "Entry:" +
           std::to_string(1 + chance(static_cast<unsigned>(std::stoul(it.world.redis_text({"GET", "ids:Entry"})))));
  }

  /// How many posts of a feed keep their texts (RELIABILITY L34).
  static std::string texts(unsigned choice) {
    return std::array{"texts=0", "texts=1", "texts=10", "texts=all"}[choice % 4];
  }

  void start(std::size_t worker) {
    workers[worker] = std::make_unique<Program>(std::vector<std::string>{"run"}, it.world.environment);
  }
  void publishers_act() {
    const std::lock_guard lock(mutex);
    for (int i = 0; i < 10; ++i) sites[chance(feeds)].act(static_cast<unsigned>(random()));
  }
  void programs_ask() {
    const unsigned feed = chance(feeds);
    switch (chance(12)) {
      case 0:
        ask({"op", "remove", "url", url(feed)});
        break;
      case 1:
        ask({"op", "move", "url", url(feed), "to", url(feed, "-moved.xml")});
        break;
      case 2:
        ask({"op", "move", "url", url(feed), "undo", "yes"});
        break;
      case 3:
      case 4:
        ask({"op", "entry_remove", "id", some_entry()});
        break;
      case 5:
        ask({"op", "entry_put", "url", url(feed), "replace", "yes", "guid", "ours-" + std::to_string(chance(3)),
             "entry", R"({"title":"Ours )" + std::to_string(random()) + R"("})"});
        break;
      case 6:
      case 7: {
        FoldedStore::Table post = hash(some_entry());
        if (post.empty()) break;
        ask({"op", "entry_put", "url", post["feed_url"], "guid", post["guid"], "entry",
             R"({"summary":"Edited )" + std::to_string(random()) + R"("})"});
        break;
      }
      default:
        ask({"op", "add", "url", url(feed), "title", "Given"});
    }
  }
  void operators_act() {
    const unsigned feed = chance(feeds);
    const std::string file = (it.world.redis.directory() / "one.jsonl").string();
    const std::string journal = (it.world.redis.directory() / ("journal" + std::to_string(random()))).string();
    switch (chance(8)) {
      case 0:
        it.world.run({"verify", "--resanitise", "--repair", "--journal", journal},
                     {{"FEEDMILL_HTML_KEEP_CLASS", "false"}});
        break;
      case 1:
        it.world.run({"store", "export", "--feed", url(feed), file});
        it.world.run({"store", "import", "--replace", "--yes", file});
        break;
      case 2:
        it.world.run({"expire", url(feed), "--limit", "4", "--yes"});
        break;
      case 3:
        it.world.run({"set", url(feed), texts(chance(4))});
        break;
      default:
        break;
    }
  }
  void kill_something() {
    if (chance(8) == 0) {
      it.restart_redis();
      return;
    }
    const std::size_t victim = chance(static_cast<unsigned>(workers.size()));
    workers[victim]->signal(SIGKILL);
    ASSERT_EQ(workers[victim]->wait().exit, -SIGKILL);
    redis_command(it.world.redis, {"DEL", "lock:requests"});  // the dead worker's lock would last 30 s
    start(victim);
  }
  void wake_all() {
    std::vector<std::string> urls;
    for (unsigned feed = 0; feed < feeds; ++feed) urls.push_back(url(feed));
    ASSERT_TRUE(Feeds(it.world.store).wake(urls, Milliseconds(0), true));
  }

  void take_snapshot(std::size_t number) {
    const Finished snapshot =
        it.world.run({"store", "export"}, {{"FEEDMILL_REDIS_URL", it.world.redis.url_of("feedmill_admin")}});
    ASSERT_EQ(snapshot.exit, 0) << snapshot.err;
    FoldedStore fold(snapshot.out, [this](const std::string& key) { return hash(key); });
    const auto events = it.world.signals();
    const auto last = std::ranges::find(events, fold.seq(), &EventRecord::id);
    ASSERT_TRUE(last != events.end()) << fold.seq() << " is no event";
    const auto first = static_cast<std::size_t>(last - events.begin()) + 1;
    followers.push_back({std::move(fold), first, first, number});
  }
  /// Advances every follower by a random stretch; some apply part of it again.
  void follow(bool to_the_end) {
    const auto events = it.world.signals();
    for (Follower& follower : followers) {
      const auto left = static_cast<unsigned>(events.size() - follower.next);
      const std::size_t to = to_the_end ? events.size() : follower.next + chance(left + 1);
      const auto applied = static_cast<unsigned>(follower.next - follower.first);
      for (std::size_t at = follower.next - std::size_t{chance(applied + 1)} * chance(2); at < to; ++at) {
        follower.fold.apply(events[at].json);
      }
      follower.next = to;
    }
  }

  TruthWorld it;
  std::mutex mutex;
  std::vector<Site> sites;
  std::array<std::unique_ptr<Program>, 3> workers;
  std::vector<Follower> followers;
  std::minstd_rand random;
};

TEST_P(Fold, EqualsTheStoreFromAnySnapshot) {
  const auto seed = std::random_device()();
  random.seed(seed);
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (unsigned feed = 0; feed < feeds; ++feed) {
    ASSERT_EQ(it.world.run({"add", url(feed)}).exit, 0);
    ASSERT_EQ(it.world.run({"set", url(feed), texts(feed)}).exit, 0);
  }
  ASSERT_EQ(it.world.run({"run", "--once"}).exit, 0);
  std::size_t moments = 0;
  for (const std::size_t all = static_cast<std::size_t>(tries(10, 500, 2000)); moments < all;) {
    for (std::size_t worker = 0; worker < workers.size(); ++worker) start(worker);
    followers.clear();
    for (std::size_t end = std::min(all, moments + 10); moments < end; ++moments) {
      publishers_act();
      ASSERT_NO_FATAL_FAILURE(wake_all());
      for (unsigned i = chance(4); i > 0; --i) programs_ask();
      operators_act();
      ASSERT_NO_FATAL_FAILURE(take_snapshot(moments));
      follow(false);
      if (chance(2) != 0) continue;
      ASSERT_NO_FATAL_FAILURE(kill_something());
    }
    publishers_act();
    ASSERT_NO_FATAL_FAILURE(wake_all());
    EXPECT_TRUE(eventually([&] { return it.world.redis_text({"XLEN", "stream:requests"}) == "0"; }));
    for (const auto& worker : workers) worker->signal(SIGTERM);
    for (const auto& worker : workers) {
      const int end = worker->wait().exit;
      EXPECT_TRUE(end == 0 || end == -SIGTERM) << worker->err();  // -SIGTERM: it had only just started
    }
    follow(true);
    for (const Follower& follower : followers) {
      EXPECT_EQ(follower.fold.differs_from(it.world.redis.admin_url()), "") << "of snapshot " << follower.number;
    }
    ASSERT_FALSE(HasFailure()) << "after " << moments << " snapshots";
  }
  std::map<std::string, std::size_t> told;
  for (const EventRecord& event : it.world.signals()) ++told[event.type];
  for (const auto& [type, times] : told) RecordProperty(type, std::to_string(times));
}

INSTANTIATE_TEST_SUITE_P(Events, Fold, testing::Bool(),
                         [](const auto& test) { return test.param ? "WithContent" : "WithoutContent"; });

}  // namespace
}  // namespace feedmill::test::fold_test
