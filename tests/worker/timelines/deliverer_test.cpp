// The deliverer against a real server: crashes, two at once, a trimmed stream (RELIABILITY L13–L15).
#include "worker/timelines/deliverer.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <sys/wait.h>
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/records/diff.hpp"
#include "storage/redis/redis.hpp"
#include "storage/upkeep/verify.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/observe/notices.hpp"

namespace feedmill::test::deliverer_test {
namespace {

using Texts = std::vector<std::string>;

class DelivererTest : public testing::Test {
 protected:
  explicit DelivererTest(bool subscribed = true) : store(options()) {
    EXPECT_TRUE(store.open());
    for (const std::string& url : urls) {
      EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = url}}));
    }
    if (subscribed) subscribe();
  }

  void subscribe() {
    EXPECT_TRUE(channels.add(Texts{"all", "anna/one", "bob/two"}));
    const std::vector<Membership> memberships{
        {"all", urls[0]}, {"all", urls[1]}, {"anna/one", urls[0]}, {"bob/two", urls[1]}};
    EXPECT_TRUE(channels.follow(memberships));
    EXPECT_TRUE(notifications.watch({"anna", "", Watch::Kind::words, "odd"}));
    EXPECT_TRUE(notifications.watch({"bob", "", Watch::Kind::channel, "bob/two"}));
    EXPECT_TRUE(notifications.watch({"carl", "", Watch::Kind::feed, urls[0]}));
  }

  StoreOptions options() const { return StoreOptions{.url = server.url()}; }
  std::string redis(const Texts& words) const { return redis_command(server, words); }

  /// Refreshes a feed that lists these posts (guid and title).
  void refresh(const std::string& url, const std::vector<std::pair<std::string, std::string>>& posts,
               Retention retention = {}, const std::string& event = {}) {
    ClaimRequest request;
    request.worker = std::string(32, 'a');
    request.request = ++requests;
    request.only = {url};
    request.max = 1;
    request.host = {64, Milliseconds(0)};
    const auto batch = Ingest(store).claim(request);
    ASSERT_TRUE(batch && batch->claims.size() == 1) << url;
    const Claim& claim = batch->claims[0];
    std::vector<EntryRecord> records;
    for (const auto& [guid, title] : posts) {
      records.push_back({guid, title, 1'000 + static_cast<std::int64_t>(records.size()), {{"title", title}}});
    }
    const LookUp look_up{url, records};
    const auto known = Ingest(store).look_up(std::span(&look_up, 1)).front();
    ASSERT_TRUE(known);
    Commit commit;
    commit.feed_url = url;
    commit.claim = claim.id;
    commit.next_due = claim.now;
    commit.before = commit.state = claim.state;
    commit.state.state = "healthy";
    commit.state.last.at = claim.now;
    commit.document = true;
    if (!event.empty()) commit.events = {{event, "updated", R"({"state":"gone"})", ""}};
    commit.entries = diff_entries(std::vector(records), *known, claim.now).writes;
    commit.tombs_left = known->left;
    commit.tombs_back = known->back;
    commit.retention = retention;
    commit.retention.listed = posts.size();
    const Commit* const one = &commit;
    ASSERT_TRUE(Ingest(store).commit(std::span(&one, 1)).front());
  }

  /// Writes a history with new, edited and trimmed posts of both feeds.
  void write_history(unsigned seed, int rounds) {
    std::minstd_rand random(seed);
    for (int round = 0; round < rounds; ++round) {
      const std::string& url = urls[random() % 2];
      std::vector<std::pair<std::string, std::string>> posts;
      const auto first = random() % 20;
      for (auto i = first; i < first + 1 + random() % 8; ++i) {
        posts.emplace_back("g" + std::to_string(i), (i % 2 == 0 ? "even " : "odd ") + std::to_string(random() % 3));
      }
      refresh(url, posts, Retention{.entries = 6, .hard_cap = 10});
    }
  }

  static void drain(Deliverer& deliverer) {
    for (;;) {
      const auto step = deliverer.step();
      ASSERT_TRUE(step) << step.error().detail;
      ASSERT_FALSE(step->waiting);
      if (step->idle) return;
    }
  }
  void drain() {
    Deliverer deliverer(options(), DelivererOptions{.token = "test"});
    drain(deliverer);
    ASSERT_TRUE(deliverer.let_go());
  }

  std::string timelines() const {
    std::string all;
    for (const char* uid : {"all", "anna/one", "bob/two"}) {
      all += std::string(uid) + ": " +
             redis({"ZRANGE", std::string("zchannel:") + uid + ":posts", "0", "-1", "WITHSCORES"}) + "\n";
    }
    return all;
  }
  std::string notices() {
    std::string all;
    for (const char* user : {"anna", "bob", "carl", "_operator"}) {
      all += std::string(user) + ":";
      for (const StoredNotice& notice : *notifications.list(user)) all += " " + notice.json;
      all += "\n";
    }
    return all;
  }
  /// The timelines rebuilt from scratch; read marks are kept.
  std::string built_afresh() {
    for (const char* uid : {"all", "anna/one", "bob/two"}) redis({"DEL", std::string("zchannel:") + uid + ":posts"});
    for (const char* uid : {"all", "anna/one", "bob/two"}) {
      EXPECT_TRUE(channels.rebuild(uid, [] { return true; }));
    }
    return timelines();
  }

  /// Timelines match the feeds, and every user has the notices that a single deliverer would have written.
  void expect_as_if_undisturbed() {
    const std::string followed = timelines(), told = notices();
    for (const char* user : {"anna", "bob", "carl"}) ASSERT_TRUE(notifications.remove(user));
    redis({"DEL", "deliver:notices:000"});
    redis({"XGROUP", "SETID", "stream:signals", "delivery", "0"});
    drain();
    EXPECT_TRUE(notices() == told) << "as one alone tells it";
    EXPECT_EQ(followed, built_afresh());
  }

  const Texts urls{"https://one.org/", "https://two.org/"};
  RedisServer server;
  Store store;
  Channels channels{store};
  Notifications notifications{store};
  std::uint64_t requests = 0;
};

TEST_F(DelivererTest, AStepThatIsBegunWaitsForItsFirstRecord) {
  Deliverer deliverer(options(), DelivererOptions{.token = "test"});
  drain(deliverer);
  const auto begun = deliverer.begin_step(Milliseconds(2'000));
  ASSERT_TRUE(begun);
  ASSERT_TRUE(begun->waits);
  EXPECT_GE(begun->waits->socket, 0);
  refresh(urls[0], {{"even", "even 1"}}, Retention{.entries = 6, .hard_cap = 10});
  const auto ended = deliverer.end_step();
  ASSERT_TRUE(ended) << ended.error().detail;
  EXPECT_GE(ended->applied, 1U);
  EXPECT_FALSE(ended->idle || ended->waits);
  drain(deliverer);
  ASSERT_TRUE(deliverer.begin_step(Milliseconds(2'000)));
  deliverer.break_wait();
  EXPECT_FALSE(deliverer.end_step()) << "broken off";
  drain(deliverer);
}

TEST_F(DelivererTest, TimelinesAndNoticesComeOutOfTheStream) {
  refresh(urls[0], {{"a", "odd one"}, {"b", "even one"}});
  refresh(urls[1], {{"c", "odd two"}});
  drain();
  EXPECT_EQ(
      timelines(),
      "all: Entry:1 1000 Entry:3 1000 Entry:2 1001\nanna/one: Entry:1 1000 Entry:2 1001\nbob/two: Entry:3 1000\n");
  EXPECT_EQ(notifications.list("anna")->size(), 2U);
  EXPECT_EQ(notifications.list("bob")->size(), 1U);
  EXPECT_EQ(notifications.list("carl")->size(), 2U);
  EXPECT_EQ(redis({"XPENDING", "stream:signals", "delivery"}), "0 (nil) (nil) (nil)");
  EXPECT_EQ(EventStream(store).figures()->groups.front().lag, 0U);
  const std::string before = timelines() + notices();
  redis({"XGROUP", "SETID", "stream:signals", "delivery", "0"});
  drain();
  EXPECT_EQ(timelines() + notices(), before) << "everything handed out again";
}

TEST_F(DelivererTest, PublishesANoticeForItsUserAndForEachRuleThatFits) {
  EXPECT_TRUE(notifications.watch({"anna", "", Watch::Kind::feed, urls[0]}));
  EXPECT_TRUE(notifications.watch({"anna", "", Watch::Kind::channel, "anna/one"}));
  Redis listener(*parse_redis_url(server.url_of("feedmill_reader")), Milliseconds(5000));
  ASSERT_TRUE(listener.command({"PSUBSCRIBE", "notifications:*"}));
  refresh(urls[0], {{"a", "odd one"}});
  drain();
  redis({"PUBLISH", "notifications:end", "end"});
  std::set<std::string> heard;
  for (;;) {
    const auto message = listener.next();
    ASSERT_TRUE(message);
    const std::string channel((*message)[2].text());
    if (channel == "notifications:end") break;
    const auto object = boost::json::parse(std::string((*message)[3].text())).as_object();
    EXPECT_EQ(std::string(object.at("feed_url").as_string()), urls[0]);
    EXPECT_EQ(std::string(object.at("data").at("title").as_string()), "odd one");
    heard.insert(channel + " <- " + std::string(object.at("user_id").as_string()));
  }
  EXPECT_EQ(heard, (std::set<std::string>{
                       "notifications:anna <- anna", "notifications:carl <- carl", "notifications:global <- anna",
                       "notifications:global <- carl", "notifications:topic:channel anna/one <- anna",
                       "notifications:topic:feed " + urls[0] + " <- anna",
                       "notifications:topic:feed " + urls[0] + " <- carl", "notifications:topic:words odd <- anna"}));
}

TEST_F(DelivererTest, FollowsAHistoryToWhatTheFeedsSay) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    write_history(seed, 30);
    drain();
    const std::string followed = timelines();
    EXPECT_EQ(followed, built_afresh()) << "seed " << seed;
  }
}

TEST_F(DelivererTest, BuildsTheIndexOfAChannelOfAnOlderStore) {
  write_history(3, 10);
  drain();
  const auto indexes = [this] {
    std::string all;
    for (const char* uid : {"all", "anna/one", "bob/two"}) {
      all += redis({"ZRANGE", std::string("zchannel:") + uid + ":all", "0", "-1", "WITHSCORES"}) + "\n";
    }
    return all;
  };
  const std::string built = indexes();
  ASSERT_TRUE(channels.mark_all_read("all"));
  // As before the index existed; the pending events are delivered first.
  redis({"DEL", "channel_floors", "zchannel:all:all", "zchannel:anna/one:all", "zchannel:bob/two:all"});
  ASSERT_EQ(channels.unbuilt()->size(), 3U);
  EXPECT_EQ(channels.posts("all", 10).error().code, StoreError::Code::refused);
  Deliverer deliverer(options(), DelivererOptions{.token = "test"});
  const auto first = deliverer.step();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->idle);
  EXPECT_EQ(channels.unbuilt()->size(), 2U) << "one between two batches";
  drain(deliverer);
  EXPECT_TRUE(channels.unbuilt()->empty());
  EXPECT_EQ(indexes(), built);
  EXPECT_EQ(channels.posts("all", 1000)->value().size(), std::stoul(redis({"ZCARD", "zchannel:all:all"})));
  EXPECT_TRUE(channels.timeline("all", 10)->value().empty()) << "a reader is not undone";
  // A builder that is stopped leaves the rest to the next one.
  redis({"HSET", "channel_floors", "all", "~"});
  deliverer.cancelled = [] { return true; };
  ASSERT_TRUE(deliverer.let_go());
  EXPECT_FALSE(deliverer.step());
  EXPECT_EQ(*channels.unbuilt(), Texts{"all"});
  ASSERT_TRUE(deliverer.let_go());
  drain();
  EXPECT_TRUE(channels.unbuilt()->empty());
}

/// While two builds run on one store, the deliverer may belong to the build that does not know the index.
TEST_F(DelivererTest, RebuildsTheIndexesAfterABuildThatKeepsNone) {
  write_history(3, 10);
  drain();
  Store admin(StoreOptions{.url = server.admin_url()});
  const auto is_sound = [&] {
    const auto found = verify(admin);
    return found && found->empty();
  };
  const std::string posts = redis({"ZRANGE", "zchannel:all:all", "0", "-1"});
  const std::string last = redis({"GET", "deliver:timelines:000"});
  ASSERT_EQ(redis({"GET", "deliver:indexes:000"}), last);
  ASSERT_TRUE(channels.posts("all", 10));
  // That build has added one post to the timeline, removed another, and advanced its position.
  const std::string missed = posts.substr(0, posts.find(' '));
  redis({"ZREM", "zchannel:all:all", missed});
  redis({"ZADD", "zchannel:all:all", "1", "Entry:999"});
  redis({"SET", "deliver:timelines:000", last + "9"});
  EXPECT_EQ(channels.posts("all", 10).error().code, StoreError::Code::refused);
  EXPECT_TRUE(is_sound());
  write_history(1, 1);
  drain();
  EXPECT_TRUE(channels.posts("all", 10));
  EXPECT_TRUE(channels.unbuilt()->empty());
  EXPECT_NE(redis({"ZSCORE", "zchannel:all:all", missed}), "(nil)");
  EXPECT_EQ(redis({"ZSCORE", "zchannel:all:all", "Entry:999"}), "(nil)");
  EXPECT_TRUE(is_sound());
}

// Each child is a real process that dies by SIGKILL at its point; the parent continues from there.
TEST_F(DelivererTest, SurvivesDeathBetweenReadWriteAndAcknowledgement) {
  enum class Point { read, timelines, notices };
  const NotificationMatcher watcher(*notifications.all_watches());
  for (int round = 0; round < 12; ++round) {
    write_history(static_cast<unsigned>(round), 4);
    for (const Point point : {Point::read, Point::timelines, Point::notices}) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        Store own(options());
        Deliveries group(own);
        group.join();
        const auto records = group.fresh(5);
        std::vector<Event> signals;
        std::vector<NoticesOfRecord> told;
        for (const EventRecord& record : *records) {
          const Event& signal = signals.emplace_back(*read_event(record));
          NoticesOfRecord& notices = told.emplace_back(NoticesOfRecord{signal.id, signal.prev, {}});
          if (signal.type != "post_created") continue;
          const Texts holding{"all", signal.feed_url == urls[0] ? "anna/one" : "bob/two"};
          for (const NotificationMatcher::Match& match :
               watcher.matches(signal.feed_url, holding, signal.data[0].second)) {
            notices.notices.push_back(post_notice(signal, match.user, match.why));
          }
        }
        if (point != Point::read) group.apply(std::span<const Event>(signals));
        if (point == Point::notices) group.apply(std::span<const NoticesOfRecord>(told));
        ::kill(getpid(), SIGKILL);
        _exit(1);
      }
      int status = 0;
      waitpid(child, &status, 0);
      ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    if (round % 3 == 2) drain();
  }
  drain();
  EXPECT_EQ(redis({"XPENDING", "stream:signals", "delivery"}).substr(0, 2), "0 ");
  expect_as_if_undisturbed();
}

/// A feed in more channels than one call may write to (RELIABILITY L15), followed by as many rules.
class ACrowd : public DelivererTest {
 protected:
  static constexpr std::size_t channels_of_it = 1300;

  ACrowd() : DelivererTest(false) {
    std::vector<Membership> memberships;
    for (std::size_t i = 0; i < channels_of_it; ++i) {
      uids.push_back("reader" + std::to_string(i) + "/news");
      memberships.push_back({uids.back(), urls[0]});
    }
    EXPECT_TRUE(channels.add(uids));
    EXPECT_TRUE(channels.follow(memberships));
  }

  /// Expects `posts` in every timeline except the reader's, which is empty, and equal indexes.
  void expect_everywhere(const std::string& posts, const std::string& uid_of_reader) {
    const std::string index = redis({"ZRANGE", "zchannel:" + uids[0] + ":all", "0", "-1", "WITHSCORES"});
    std::size_t other = 0;
    for (const std::string& uid : uids) {
      const std::string unread = uid == uid_of_reader ? "" : posts;
      const std::string has = redis({"ZRANGE", "zchannel:" + uid + ":posts", "0", "-1", "WITHSCORES"});
      if (has != unread && other < 3) ADD_FAILURE() << uid << " has " << has;
      other += has != unread ? 1 : 0;
      other += redis({"ZRANGE", "zchannel:" + uid + ":all", "0", "-1", "WITHSCORES"}) != index ? 1 : 0;
    }
    EXPECT_EQ(other, 0U);
  }

  std::vector<Event> signals(const std::vector<EventRecord>& records) {
    std::vector<Event> all;
    for (const EventRecord& record : records) all.push_back(*read_event(record));
    return all;
  }

  Texts uids;
};

TEST_F(ACrowd, GetsAPostInPartsThatSurviveAKillBetweenAnyTwo) {
  for (std::size_t parts = 1; parts < 3; ++parts) {
    refresh(urls[0], {{"a", "post " + std::to_string(parts)}, {"b", "another"}});
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Store own(options());
      Deliveries group(own);
      group.join();
      auto events = signals(*group.pending(100));
      for (Event& event : signals(*group.fresh(100))) events.push_back(std::move(event));
      DeliveryPart part;
      Delivered all;
      for (std::size_t i = 0; i < parts; ++i) {
        all.add(*group.apply(std::span(events).subspan(all.applied + all.repeated), {}, part));
        part = all.part.value_or(DeliveryPart{"none"});
      }
      _exit(part.from == "none" || part.from == "0" ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0) << "it ended between two parts";
    // A user that already has the post reads it before the others get it.
    ASSERT_TRUE(channels.mark_all_read(uids[1]));
  }
  drain();
  ASSERT_TRUE(channels.mark_all_read(uids[1]));
  expect_everywhere("Entry:1 1000 Entry:2 1001", uids[1]);
  EXPECT_EQ(redis({"XPENDING", "stream:signals", "delivery"}).substr(0, 2), "0 ");
}

TEST_F(ACrowd, RestartsARecordAfterALostConnection) {
  refresh(urls[0], {{"a", "one"}, {"b", "two"}});
  refresh(urls[1], {{"c", "three"}});
  Deliverer deliverer(options(), DelivererOptions{.token = "test"});
  std::size_t asked = 0, failed = 0;
  deliverer.cancelled = [&] {
    if (++asked % 2 == 1 && failed < 3) redis({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    return false;
  };
  for (bool idle = false; !idle;) {
    const auto step = deliverer.step();
    failed += step ? 0 : 1;
    ASSERT_LT(failed, 10U);
    idle = step && step->idle;
  }
  EXPECT_EQ(failed, 3U);
  expect_everywhere("Entry:1 1000 Entry:2 1001", "");
}

TEST_F(ACrowd, TwoDeliverersGiveEachRecordOnce) {
  std::vector<std::thread> deliverers;
  std::atomic<int> wrong = 0;
  refresh(urls[0], {{"a", "one"}, {"b", "two"}});
  refresh(urls[0], {{"a", "one"}, {"b", "two, edited"}, {"c", "three"}});
  refresh(urls[0], {{"c", "three"}}, Retention{.entries = 1, .strict = true});
  for (int i = 0; i < 2; ++i) {
    deliverers.emplace_back([&] {
      Deliverer own(options(), DelivererOptions{.token = "both", .batch = 2});
      for (bool idle = false; !idle;) {
        const auto step = own.step();
        wrong += step ? 0 : 1;
        idle = step && step->idle;
      }
    });
  }
  for (std::thread& thread : deliverers) thread.join();
  EXPECT_EQ(wrong, 0);
  redis({"DEL", "lock:delivery:000"});
  drain();
  expect_everywhere("Entry:3 1002", "");
}

TEST_F(ACrowd, IsNotifiedInPartsOnceEach) {
  for (std::size_t i = 0; i < channels_of_it; ++i) {
    ASSERT_TRUE(notifications.watch({"user" + std::to_string(i), "", Watch::Kind::feed, urls[0]}));
  }
  refresh(urls[0], {{"a", "one"}, {"b", "two"}});
  drain();
  for (std::size_t i = 0; i < channels_of_it; i += 7) {
    ASSERT_EQ(notifications.list("user" + std::to_string(i))->size(), 2U);
  }
  EXPECT_EQ(notifications.list("user" + std::to_string(channels_of_it - 1))->size(), 2U);
  redis({"DEL", "deliver:notices:000"});
  redis({"XGROUP", "SETID", "stream:signals", "delivery", "0"});
  drain();
  EXPECT_EQ(notifications.list("user0")->size(), 2U) << "handed out again";
}

TEST_F(DelivererTest, TwoAtOnceEndWhereOneWould) {
  std::atomic<bool> writing = true;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> deliverers;
  for (int i = 0; i < 2; ++i) {
    deliverers.emplace_back([&] {
      // Both have the same token, so neither the lock nor timing keeps them apart.
      Deliverer own(options(), DelivererOptions{.token = "both", .batch = 3});
      for (bool idle = false; writing || !idle;) {
        const auto step = own.step();
        wrong += step ? 0 : 1;
        idle = step && step->idle;
      }
    });
  }
  write_history(7, 150);
  writing = false;
  for (std::thread& thread : deliverers) thread.join();
  EXPECT_EQ(wrong, 0);
  redis({"DEL", "lock:delivery:000"});
  drain();
  expect_as_if_undisturbed();
}

TEST_F(DelivererTest, StalledOwnerDoesNotHarmTimelinesAfterItsRightExpires) {
  Deliverer sleeper(options(), DelivererOptions{.token = "sleeper", .batch = 2});
  refresh(urls[0], {{"a", "odd 1"}, {"b", "odd 2"}, {"c", "odd 3"}, {"d", "odd 4"}, {"e", "odd 5"}});
  ASSERT_EQ(sleeper.step()->applied, 2U);
  redis({"DEL", "lock:delivery:000"});
  Deliverer next(options(), DelivererOptions{.token = "next", .batch = 1});
  ASSERT_EQ(next.step()->applied, 1U);
  // The stalled deliverer still believes in its right and reads the next events; it must not skip those pending with
  // the other.
  ASSERT_EQ(sleeper.step()->applied, 2U);
  drain(next);
  const std::string followed = timelines();
  EXPECT_EQ(followed, built_afresh());
  EXPECT_EQ(notifications.list("anna")->size(), 5U);
}

TEST_F(DelivererTest, RebuildsTimelinesAfterFallingBehindTheStream) {
  write_history(1, 20);
  drain();
  ASSERT_TRUE(channels.mark_all_read("anna/one"));
  redis({"ZADD", "zchannel:all:posts", "1", "Entry:999"});
  write_history(2, 40);
  redis({"XTRIM", "stream:signals", "MAXLEN", "3"});
  Deliverer deliverer(options(), DelivererOptions{.token = "test"});
  const auto step = deliverer.step();
  ASSERT_TRUE(step) << step.error().detail;
  EXPECT_TRUE(step->rebuilt);
  EXPECT_TRUE(step->missed);
  drain(deliverer);
  const std::string followed = timelines();
  EXPECT_EQ(followed.find("Entry:999"), std::string::npos);
  EXPECT_EQ(followed, built_afresh());

  // Likewise when the stream is empty, and when it is deleted with its group.
  for (const Texts& loss : {Texts{"XTRIM", "stream:signals", "MAXLEN", "0"}, Texts{"DEL", "stream:signals"}}) {
    ASSERT_TRUE(deliverer.let_go());
    write_history(3, 10);
    redis(loss);
    drain(deliverer);
    EXPECT_EQ(timelines(), built_afresh());
    write_history(4, 5);
    drain(deliverer);
    EXPECT_EQ(timelines(), built_afresh());
  }
}

TEST_F(DelivererTest, ARecordTakenOutOfTheMiddleIsMadeUpFor) {
  refresh(urls[0], {{"a", "odd 1"}});
  drain();
  refresh(urls[0], {{"a", "odd 1"}, {"b", "odd 2"}});
  const auto last = EventStream(store).last_id();
  redis({"XDEL", "stream:signals", *last});
  refresh(urls[0], {{"a", "odd 1"}, {"b", "odd 2"}, {"c", "odd 3"}});
  drain();
  EXPECT_EQ(redis({"ZCARD", "zchannel:all:posts"}), "3");
}

TEST_F(DelivererTest, RepeatedEventsDoNotUndoAReader) {
  write_history(5, 20);
  drain();
  ASSERT_TRUE(channels.mark_all_read("all"));
  write_history(6, 20);
  std::atomic<bool> delivering = true;
  std::thread reader([&] {
    Store own(options());
    Channels mine(own);
    while (delivering) {
      const auto page = mine.timeline("all", 3);
      Texts ids;
      if (page && *page) {
        for (const StoredEntry& entry : **page) ids.push_back(entry.id);
      }
      if (!mine.mark_read("all", ids)) break;
    }
  });
  for (int again = 0; again < 5; ++again) {
    redis({"DEL", "deliver:timelines:000"});
    redis({"XGROUP", "SETID", "stream:signals", "delivery", "0"});
    drain();
  }
  delivering = false;
  reader.join();
  const std::string read = redis({"ZRANGE", "channel:all:read", "0", "-1"}) + " ";
  std::istringstream unread(redis({"ZRANGE", "zchannel:all:posts", "0", "-1"}));
  for (std::string id; unread >> id;) EXPECT_EQ(read.find(id + " "), std::string::npos) << id;
}

TEST_F(DelivererTest, NotifiesOfNewsButNotOfABackCatalogue) {
  redis({"XADD", "stream:signals", "*", "type", "post_created", "json",
         (R"({"seq":"1-1","prev":"","type":"post_created","entity_id":"Entry:50","feed_url":"https://one.org/",)"
          R"("initial":true,"data":{"title":"odd","timestamp":5}})")});
  redis(
      {"XADD", "stream:signals", "*", "type", "feed_failing", "json",
       (R"({"seq":"1-2","prev":"","type":"feed_failing","entity_id":"https://one.org/","feed_url":"https://one.org/",)"
        R"("data":{"reason":"http.gone"}})")});
  redis({"XADD", "stream:signals", "*", "whatever", "this is"});
  Deliverer deliverer(options(), DelivererOptions{.token = "test"});
  const auto step = deliverer.step();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->applied, 3U);
  EXPECT_EQ(step->failed, 1U);
  EXPECT_TRUE(notifications.list("carl")->empty());
  ASSERT_EQ(notifications.list("_operator")->size(), 1U);
  EXPECT_NE(notifications.list("_operator")->front().json.find("feed is failing"), std::string::npos);
}

TEST_F(DelivererTest, RulesCountFromWhenTheyAreMade) {
  Deliverer deliverer(options(), DelivererOptions{.token = "test"});
  refresh(urls[0], {{"a", "odd 1"}});
  drain(deliverer);
  const auto rule = notifications.watch({"dora", "", Watch::Kind::words, "odd"});
  refresh(urls[0], {{"a", "odd 1"}, {"b", "odd 2"}});
  drain(deliverer);
  EXPECT_EQ(notifications.list("dora")->size(), 1U);
  ASSERT_TRUE(notifications.unwatch("dora", Texts{**rule}));
  refresh(urls[0], {{"a", "odd 1"}, {"b", "odd 2"}, {"c", "odd 3"}});
  drain(deliverer);
  EXPECT_EQ(notifications.list("dora")->size(), 1U);
}

/// A store without subscribers.
class Unheard : public DelivererTest {
 protected:
  Unheard() : DelivererTest(false) {}

  /// Adds a post to the first feed.
  void write(const std::string& event = {}) {
    listed.emplace_back("g" + std::to_string(listed.size()), "odd");
    refresh(urls[0], listed, {}, event);
  }
  Deliverer::Step step() {
    const auto done = deliverer.step();
    EXPECT_TRUE(done) << done.error().detail;
    return done ? *done : Deliverer::Step{};
  }
  /// Number of reads for records to deliver that the server has executed.
  std::size_t reads() const {
    const std::string stats = redis({"INFO", "commandstats"});
    const std::string name = "cmdstat_xreadgroup:calls=";
    const auto at = stats.find(name);
    return at == std::string::npos ? 0 : std::stoul(stats.substr(at + name.size()));
  }
  void everybody_leaves() {
    for (const char* uid : {"all", "anna/one", "bob/two"}) EXPECT_TRUE(channels.remove(uid));
    for (const char* user : {"anna", "bob", "carl"}) {
      for (const Watch& watch : *notifications.watches(user)) {
        EXPECT_TRUE(notifications.unwatch(user, std::span(&watch.id, 1)));
      }
      EXPECT_TRUE(notifications.remove(user));
    }
  }
  std::size_t timeline_size() const { return std::stoul(redis({"ZCARD", "zchannel:all:posts"})); }

  // Checks for subscribers at every step.
  Deliverer deliverer{options(), DelivererOptions{.token = "test", .upkeep_every = Milliseconds(0)}};
  std::vector<std::pair<std::string, std::string>> listed;
};

TEST_F(Unheard, EventsWithoutSubscribersAreSkippedUnread) {
  write_history(1, 20);
  const auto written = static_cast<std::uint64_t>(EventStream(store).figures()->records);
  ASSERT_GT(written, 20U);
  const std::size_t before = reads();
  const Deliverer::Step first = step();
  EXPECT_TRUE(first.unwanted && first.idle);
  EXPECT_EQ(first.applied, written);
  EXPECT_TRUE(*deliverer.is_done());
  EXPECT_EQ(EventStream(store).figures()->groups.front().lag, 0U);
  write();
  EXPECT_EQ(step().applied, 1U);
  EXPECT_EQ(step().applied, 0U);
  EXPECT_EQ(reads(), before);
}

/// The deliverer sends no command while it is blocked in the server.
TEST_F(Unheard, WaitsForTheNextRecord) {
  const auto comes = [&](Milliseconds longest) {
    EXPECT_TRUE(deliverer.begin_to_wait(longest));
    return *deliverer.has_come();
  };
  write();
  EXPECT_TRUE(step().unwanted);
  EXPECT_FALSE(comes(Milliseconds(20)));
  write();
  EXPECT_TRUE(comes(Milliseconds(20)));
  EXPECT_TRUE(comes(Milliseconds(20))) << "until it is passed over";
  EXPECT_EQ(step().applied, 1U);
  EXPECT_FALSE(comes(Milliseconds(20)));
  std::thread writer([&] { write(); });
  const bool came = comes(Milliseconds(1'000));
  writer.join();
  EXPECT_TRUE(came);
  EXPECT_EQ(step().applied, 1U);
}

TEST_F(Unheard, AFirstSubscriberLosesNothingWheneverTheyCome) {
  enum class Moment { at_the_start, after_a_commit, after_a_pass, after_both };
  for (const Moment moment : {Moment::at_the_start, Moment::after_a_commit, Moment::after_a_pass, Moment::after_both}) {
    if (moment != Moment::at_the_start) write();
    if (moment == Moment::after_a_pass || moment == Moment::after_both) {
      EXPECT_TRUE(step().unwanted);
    }
    if (moment == Moment::after_both) write();
    subscribe();
    const std::size_t notices_before = notifications.list("carl")->size();
    EXPECT_EQ(timeline_size(), listed.size()) << "what there was is filled in";
    for (int i = 0; i < 3; ++i) {
      write();
      if (i != 1) {
        EXPECT_FALSE(step().unwanted);
      }
    }
    drain(deliverer);
    const std::string followed = timelines();
    EXPECT_EQ(followed, built_afresh());
    EXPECT_EQ(timeline_size(), listed.size());
    EXPECT_GE(notifications.list("carl")->size(), notices_before + 3) << "of all that was committed since";
    EXPECT_GE(notifications.list("anna")->size(), 3U);
    everybody_leaves();
    write();
    EXPECT_TRUE(step().unwanted);
  }
}

TEST_F(Unheard, AFirstSubscriberLosesNothingWhileTwoDeliverAndOthersCommit) {
  for (unsigned round = 0; round < 4; ++round) {
    std::atomic<bool> writing = true;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> deliverers;
    for (int i = 0; i < 2; ++i) {
      deliverers.emplace_back([&] {
        // Neither the lock nor timing keeps them apart, and each checks for subscribers at every step.
        Deliverer own(options(), DelivererOptions{.token = "both", .batch = 3, .upkeep_every = Milliseconds(0)});
        for (bool idle = false; writing || !idle;) {
          const auto done = own.step();
          wrong += done ? 0 : 1;
          idle = done && done->idle;
        }
      });
    }
    for (unsigned i = 0; i < 3 + round * 4; ++i) write();
    subscribe();
    const std::size_t told_before = listed.size();
    for (int i = 0; i < 10; ++i) write();
    writing = false;
    for (std::thread& thread : deliverers) thread.join();
    EXPECT_EQ(wrong, 0);
    redis({"DEL", "lock:delivery:000"});
    drain();
    const std::string followed = timelines();
    EXPECT_EQ(followed, built_afresh());
    std::set<std::string> told;
    for (const StoredNotice& notice : *notifications.list("carl")) told.insert(notice.json);
    for (std::size_t i = told_before; i < listed.size(); ++i) {
      const std::string guid = "\"guid\":\"" + listed[i].first + "\"";
      EXPECT_TRUE(std::any_of(told.begin(), told.end(), [&](const auto& json) { return json.find(guid) != json.npos; }))
          << guid;
    }
    everybody_leaves();
  }
}

TEST_F(Unheard, WhatAnotherLeftPendingIsReadBeforeAnythingIsPassed) {
  write();
  EXPECT_TRUE(step().unwanted);
  for (int i = 0; i < 4; ++i) write();
  {
    Store own(options());
    ASSERT_EQ(Deliveries(own).fresh(2)->size(), 2U);  // dies without acknowledging them
  }
  EXPECT_FALSE(step().unwanted);
  drain(deliverer);
  EXPECT_EQ(redis({"XPENDING", "stream:signals", "delivery"}), "0 (nil) (nil) (nil)");
  EXPECT_TRUE(*deliverer.is_done());
  write();
  EXPECT_TRUE(step().unwanted);
}

TEST_F(Unheard, OperatorsAreNotifiedOnceWithoutSubscribers) {
  write();
  EXPECT_TRUE(step().unwanted);
  write();
  write("feed_gone");
  write();
  drain(deliverer);
  ASSERT_EQ(notifications.list("_operator")->size(), 1U);
  EXPECT_NE(notifications.list("_operator")->front().json.find("feed_gone"), std::string::npos);
  write();
  EXPECT_TRUE(step().unwanted);
  EXPECT_EQ(notifications.list("_operator")->size(), 1U);
}

TEST_F(Unheard, PublishingPerFeedReadsEveryRecord) {
  Deliverer loud(options(), DelivererOptions{.token = "test", .per_feed = true});
  write();
  const auto done = loud.step();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->applied, 1U);
  EXPECT_FALSE(done->unwanted);
}

TEST_F(Unheard, TrimmedEventsWithoutSubscribersAreNotReportedMissed) {
  write_history(1, 20);
  redis({"XTRIM", "stream:signals", "MAXLEN", "3"});
  const Deliverer::Step posts = step();
  EXPECT_TRUE(posts.unwanted);
  EXPECT_FALSE(posts.rebuilt || posts.missed);
  ASSERT_TRUE(deliverer.let_go());
  write("feed_gone");
  write();
  redis({"XTRIM", "stream:signals", "MAXLEN", "1"});
  EXPECT_TRUE(step().missed) << "operators should have heard of something";
  drain(deliverer);
  EXPECT_TRUE(*deliverer.is_done());
  write();
  EXPECT_TRUE(step().unwanted);
}

}  // namespace
}  // namespace feedmill::test::deliverer_test
