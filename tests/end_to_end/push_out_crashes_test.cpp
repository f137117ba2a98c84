// The worker that pushes out, Redis or receivers are killed (WEBSUB U14, RELIABILITY §4): no receiver misses an event,
// duplicates have the same id, and each receiver gets its events in stream order. FULL_TESTS runs the long loop;
// FEEDMILL_LOOP_MINUTES=n ends it after n minutes, however far it has got.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/records/event_record.hpp"
#include "tests/end_to_end/truth_world.hpp"
#include "tests/support/counts.hpp"

namespace feedmill::test::push_out_crashes_test {
namespace {

namespace json = boost::json;

constexpr std::size_t feeds = 3;
const std::vector<std::string> pushes_out{"run", "--no-ingest", "--no-deliver", "--push-out"};

/// A receiver that can be killed; it writes each POST to a file before it answers.
class Receiver {
 public:
  struct Told {
    std::string path, id, body;
  };

  explicit Receiver(std::filesystem::path file) : file_(std::move(file)) { start(); }

  void start() {
    process_ = std::make_unique<Program>(std::vector<std::string>{port_, file_.string()}, Environment(), "",
                                         FEEDMILL_TEST_RECEIVER);
    EXPECT_TRUE(eventually([&] { return process_->out().ends_with("\n") || process_->ended(); }));
    const std::string out = process_->out();
    ASSERT_TRUE(out.starts_with("port ")) << process_->err();
    port_ = out.substr(5, out.find('\n') - 5);
  }
  void kill() {
    process_->signal(SIGKILL);
    ASSERT_EQ(process_->wait().exit, -SIGKILL);
  }
  std::string url(const std::string& path) const { return "http://127.0.0.1:" + port_ + path; }
  std::uintmax_t bytes() const {
    std::error_code none_yet;
    const auto size = std::filesystem::file_size(file_, none_yet);
    return none_yet ? 0 : size;
  }
  /// The POSTs to `path`, in order of arrival.
  std::vector<Told> told(const std::string& path) const {
    std::vector<Told> all;
    std::ifstream lines(file_);
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      const json::object one = json::parse(line).as_object();
      if (one.at("path").as_string() != path) continue;
      all.push_back({path, std::string(one.at("id").as_string()), std::string(one.at("body").as_string())});
    }
    return all;
  }

 private:
  const std::filesystem::path file_;
  std::string port_ = "0";
  std::unique_ptr<Program> process_;
};

/// Parses a title of the publisher: the post's guid, and how often it had been edited.
std::pair<std::string, std::size_t> post_of(const std::string& title) {
  std::size_t post = 0, feed = 0, edits = 0;
  const int read = std::sscanf(title.c_str(), "Post %zu of feed %zu, edited %zu times", &post, &feed, &edits);
  EXPECT_EQ(read, 3) << title;
  return {GroundTruth::guid(feed, post), edits};
}

/// Feeds that change, and the receivers of their events.
class ToldWorld {
 public:
  ToldWorld() {
    Environment& environment = it.world.environment;
    environment["FEEDMILL_SIGNALS_MAX_LEN"] = "100000000";
    environment["FEEDMILL_PUSH_OUT_PER_HOST"] = "16";
  }

  /// Three webhooks and two hub subscribers, still to be verified by the pushing worker.
  void set_up() {
    ASSERT_NO_FATAL_FAILURE(it.import(feeds, 5));
    for (std::size_t feed = 0; feed < feeds; ++feed)
      ASSERT_EQ(it.world.run({"set", it.truth.url(feed), "republish=yes"}).exit, 0);
    const std::vector<std::string> posts{"post_created", "post_modified"};
    add_webhook("/all", one, {.types = posts}, 1);
    add_webhook("/feed", two, {.feeds = {it.truth.url(0)}, .types = posts}, 1);
    add_webhook("/four", two, {.types = posts}, 4);
    subscribe("/hub/feed", one, {TopicKind::feed, it.truth.url(1)});
    subscribe("/hub/all", two, {TopicKind::channel, "all"});
  }

  std::unique_ptr<Program> start(const Environment& more = {}) {
    return std::make_unique<Program>(pushes_out, it.world.with(more));
  }

  /// Publishes a new post and an edit for every feed, and stores them.
  void bring_news() {
    it.bring_news();
    ASSERT_EQ(it.world.run({"run", "--once"}).exit, 0);
  }

  bool all_verified() {
    const auto counts = Subscribers(it.world.store).counts();
    return counts && counts->hub_active == 2;
  }

  std::uintmax_t bytes_told() const { return one.bytes() + two.bytes(); }

  /// Ends all back-offs, and the leases of the dead worker that wrote `log`.
  void let_time_pass(const std::string& log = "") const {
    constexpr std::string_view before = " worker=";
    const auto at = log.find(before);
    const std::string dead =
        at == std::string::npos
            ? ""
            : log.substr(at + before.size(), log.find_first_of(" \n", at + before.size()) - at - before.size());
    constexpr const char* pass =
        "local function dead(token) return token and ARGV[1] ~= '' and string.sub(token, 1, #ARGV[1]) == ARGV[1] end "
        "if dead(redis.call('GET', 'lock:push_out')) then redis.call('DEL', 'lock:push_out') end "
        "for _, id in ipairs(redis.call('ZRANGE', 'push_out:due', 0, -1)) do "
        "local claim = redis.call('HGET', 'push_out:subscriber:' .. id, 'claim') "
        "if not claim or dead(claim) then redis.call('ZADD', 'push_out:due', 1, id) end end return 1";
    redis_command(it.world.redis, {"EVAL", pass, "0", dead});
  }

  /// Faults in the deliveries once all have arrived, "" if there are none.
  std::string wrongs() {
    const auto records = EventStream(it.world.store).read("0", 10'000'000, Milliseconds(0));
    if (!records) return records.error().detail;
    std::string text;
    for (const Somebody& somebody : everybody_) {
      std::vector<Event> concerned;
      for (const EventRecord& record : *records) {
        auto event = read_event(record);
        if (event && is_behind(record.id, somebody.since) &&
            somebody.filter.wants(*event, std::vector<std::string>{"all"}))
          concerned.push_back(std::move(*event));
      }
      const std::string wrong =
          somebody.is_webhook ? wrongs_of_webhook(somebody, concerned) : wrongs_of_subscriber(somebody, concerned);
      if (!wrong.empty()) text += somebody.path + ": " + wrong + "\n";
    }
    return text;
  }
  std::string wrongs_once_told() {
    if (eventually([&] {
          let_time_pass();
          return wrongs().empty();
        }))
      return "";
    return wrongs();
  }

  struct Figures {
    std::size_t told = 0, repeated = 0;
  };
  Figures figures() const {
    Figures sum;
    for (const Somebody& somebody : everybody_) {
      if (!somebody.is_webhook) continue;
      std::set<std::string> ids;
      for (const Receiver::Told& told : somebody.receiver->told(somebody.path)) {
        ++sum.told;
        if (!ids.insert(told.id).second) ++sum.repeated;
      }
    }
    return sum;
  }

  TruthWorld it{durable("always"), {.listed = 30, .text = 100}};  // every delivered event is on disk
  Receiver one{it.world.redis.directory() / "one"}, two{it.world.redis.directory() / "two"};

 private:
  struct Somebody {
    std::string path;
    const Receiver* receiver;
    EventFilter filter;
    bool is_webhook, in_order;
    std::string since;  ///< stream id after which its deliveries begin
  };

  void add_webhook(const std::string& path, const Receiver& receiver, EventFilter filter, std::uint32_t at_once) {
    Subscriber webhook;
    webhook.url = receiver.url(path);
    webhook.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    webhook.filter = filter;
    webhook.with_private = true;
    webhook.at_once = at_once;
    const auto id = Subscribers(it.world.store).add(webhook);
    ASSERT_TRUE(id) << id.error().detail;
    note(*id, {path, &receiver, std::move(filter), true, at_once == 1, ""});
  }

  void subscribe(const std::string& path, const Receiver& receiver, const Topic& topic) {
    Subscriber subscriber;
    subscriber.url = receiver.url(path);
    subscriber.topic = topic;
    subscriber.topic_url = "http://127.0.0.1/t" + path + ".json";
    subscriber.intent = {"subscribe", "s3cret", std::chrono::hours(240), "", 0};
    const auto asked = Subscribers(it.world.store).ask(subscriber);
    ASSERT_TRUE(asked && *asked);
    EventFilter filter{.types = {"post_created", "post_modified"}};
    (topic.kind == TopicKind::feed ? filter.feeds : filter.channels).push_back(topic.name);
    const auto all = Subscribers(it.world.store).list(Subscriber::Kind::hub, "", 10);
    ASSERT_TRUE(all);
    for (const Subscriber& known : *all) {
      if (known.url == subscriber.url) note(known.id, {path, &receiver, filter, false, true, ""});
    }
  }

  void note(const std::string& id, Somebody somebody) {
    const auto known = Subscribers(it.world.store).get(id);
    ASSERT_TRUE(known && *known);
    somebody.since = (*known)->cursor;
    everybody_.push_back(std::move(somebody));
  }

  static bool is_behind(const std::string& id, const std::string& since) {
    const auto parts = [](const std::string& text) {
      return std::pair(std::stoull(text), std::stoull(text.substr(text.find('-') + 1)));
    };
    return parts(id) > parts(since);
  }

  /// Faults of a webhook's deliveries: each matching event must come, in stream order if so configured, and repeats
  /// must have the same body.
  static std::string wrongs_of_webhook(const Somebody& somebody, const std::vector<Event>& concerned) {
    std::vector<std::string> expected, came;
    for (const Event& event : concerned) expected.push_back(event.id);
    std::map<std::string, std::string> bodies;
    for (const Receiver::Told& told : somebody.receiver->told(somebody.path)) {
      const auto [known, first] = bodies.emplace(told.id, told.body);
      if (first) came.push_back(told.id);
      if (known->second != told.body) return told.id + " came with another body";
    }
    if (!somebody.in_order) std::ranges::sort(came, [](auto& a, auto& b) { return is_behind(b, a); });
    return difference(came, expected);
  }

  /// Faults of a subscriber's deliveries: each matching post must come, in stream order, its last version being the
  /// current one.
  std::string wrongs_of_subscriber(const Somebody& somebody, const std::vector<Event>& concerned) {
    std::vector<std::string> expected, came;
    std::set<std::string> seen;
    for (const Event& event : concerned) {
      if (seen.insert(event.guid).second) expected.push_back(event.guid);
    }
    std::map<std::string, std::size_t> newest;  // edits by guid
    for (const Receiver::Told& told : somebody.receiver->told(somebody.path)) {
      const json::object document = json::parse(told.body).as_object();
      const json::array& items = document.at("items").as_array();
      for (std::size_t i = items.size(); i > 0; --i) {
        const auto [guid, edits] = post_of(std::string(items[i - 1].at("title").as_string()));
        if (newest.insert_or_assign(guid, edits).second) came.push_back(guid);
      }
    }
    for (std::size_t feed = 0; feed < feeds; ++feed) {
      for (std::size_t post = 0; post < it.truth.posts(feed); ++post) {
        const auto found = newest.find(GroundTruth::guid(feed, post));
        if (found != newest.end() && found->second != it.truth.edits_at(feed, post, it.truth.version(feed)))
          return found->first + " is as it was";
      }
    }
    return difference(came, expected);
  }

  static std::string difference(const std::vector<std::string>& came, const std::vector<std::string>& expected) {
    if (came == expected) return "";
    const auto [is, should] = std::ranges::mismatch(came, expected);
    return "of " + std::to_string(expected.size()) + " came " + std::to_string(came.size()) + "; behind " +
           std::to_string(is - came.begin()) + " " + (is == came.end() ? "nothing" : *is) + " instead of " +
           (should == expected.end() ? "nothing" : *should);
  }

  std::vector<Somebody> everybody_;
};

/// A crash point in the code, with the number of passes after which the process dies there.
struct Point {
  const char* name;
  const char* at;
};

void PrintTo(const Point& point, std::ostream* out) {
  *out << point.name;
}

class PushOutCrashes : public testing::TestWithParam<Point> {
 protected:
  ToldWorld it;
};

TEST_P(PushOutCrashes, LoseNoEvent) {
  ASSERT_NO_FATAL_FAILURE(it.set_up());
  auto worker = it.start({{"FEEDMILL_CRASH_AT", GetParam().at}});
  EXPECT_TRUE(eventually([&] { return it.all_verified() || worker->ended(); })) << worker->err();
  for (int round = 0; round < 20 && !worker->ended(); ++round) {
    const auto before = it.bytes_told();
    ASSERT_NO_FATAL_FAILURE(it.bring_news());
    EXPECT_TRUE(eventually([&] { return it.bytes_told() > before || worker->ended(); })) << worker->err();
  }
  const Finished end = worker->wait();
  ASSERT_EQ(end.exit, -SIGKILL) << end.err;
  it.let_time_pass(end.err);

  worker = it.start();
  ASSERT_NO_FATAL_FAILURE(it.bring_news());
  EXPECT_TRUE(eventually([&] { return it.all_verified(); })) << worker->err();
  EXPECT_EQ(it.wrongs_once_told(), "") << worker->err();
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().exit, 0);
  EXPECT_EQ(it.wrongs(), "");
  EXPECT_EQ(it.it.wrongs_now(Stage::caught_up), "");
}

INSTANTIATE_TEST_SUITE_P(Points, PushOutCrashes,
                         testing::Values(Point{"S20_first", "S20:1"}, Point{"S20_second", "S20:2"},
                                         Point{"S20_fifth", "S20:5"}, Point{"S21_first", "S21:1"},
                                         Point{"S21_second", "S21:2"}, Point{"S22_first", "S22:1"},
                                         Point{"S22_second", "S22:2"}, Point{"S22_ninth", "S22:9"},
                                         Point{"S23_first", "S23:1"}, Point{"S23_second", "S23:2"},
                                         Point{"S23_fifth", "S23:5"}),
                         [](const auto& test) { return test.param.name; });

/// Subscribers that a dead worker took and did not settle become due when its lease ends, without a later event or
/// another look-up.
TEST(HubLeases, DeliverTheLastVersionWithoutFurtherEvents) {
  ToldWorld it;
  ASSERT_NO_FATAL_FAILURE(it.set_up());
  auto worker = it.start();
  EXPECT_TRUE(eventually([&] { return it.all_verified(); })) << worker->err();
  ASSERT_NO_FATAL_FAILURE(it.bring_news());
  EXPECT_TRUE(eventually([&] { return it.wrongs().empty(); })) << it.wrongs();
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().exit, 0);
  worker = it.start({{"FEEDMILL_CRASH_AT", "S22:2"}});
  ASSERT_NO_FATAL_FAILURE(it.bring_news());
  EXPECT_EQ(worker->wait().exit, -SIGKILL);
  worker = it.start();
  EXPECT_TRUE(eventually([&] { return it.wrongs().empty(); })) << it.wrongs();
}

class PushOutKillLoop : public testing::Test {
 protected:
  /// Lets the publisher, the workers and the receivers run for a random while.
  void let_work() {
    const auto enough = it.bytes_told() + random() % 8192;
    int looks = 0;
    ASSERT_TRUE(eventually([&] {
      if (looks++ % 10 == 0) {
        const std::size_t feed = random() % feeds;
        it.it.truth.act(feed, static_cast<unsigned>(random()));
        EXPECT_TRUE(Feeds(it.it.world.store).wake(std::vector{it.it.truth.url(feed)}, Milliseconds(0), true));
      }
      it.let_time_pass();
      return it.bytes_told() >= enough;
    })) << ingest->err();
  }

  void kill_a_worker() {
    auto& victim = workers[random() % workers.size()];
    victim->signal(SIGKILL);
    const Finished end = victim->wait();
    ASSERT_EQ(end.exit, -SIGKILL) << end.err;
    it.let_time_pass(end.err);
    victim = it.start();
  }

  void kill_redis() {
    it.it.restart_redis();
    it.let_time_pass();
  }

  void kill_a_receiver() {
    Receiver& victim = random() % 2 == 0 ? it.one : it.two;
    victim.kill();
    victim.start();
    it.let_time_pass();
  }

  ToldWorld it;
  std::minstd_rand random{std::random_device()()};
  std::unique_ptr<Program> ingest;
  std::array<std::unique_ptr<Program>, 2> workers;
};

TEST_F(PushOutKillLoop, LosesNoEvent) {
  const int kills = tries(20, 500, 500);
  const auto seed = std::random_device()();
  random.seed(seed);
  RecordProperty("seed", std::to_string(seed));
  ASSERT_NO_FATAL_FAILURE(it.set_up());
  for (auto& worker : workers) worker = it.start();
  ingest = std::make_unique<Program>(std::vector<std::string>{"run"}, it.it.world.environment);
  const char* const minutes = std::getenv("FEEDMILL_LOOP_MINUTES");
  const auto begun = std::chrono::steady_clock::now();
  const auto end = begun + std::chrono::minutes(minutes != nullptr ? std::atoi(minutes) : 1440);
  std::map<char, int> of;
  for (int kill = 0; kill < kills && std::chrono::steady_clock::now() < end; ++kill) {
    ASSERT_NO_FATAL_FAILURE(let_work()) << "seed " << seed;
    const auto chance = random() % 10;
    const char whom = chance < 6 ? 'w' : chance < 8 ? 'r' : 's';
    if (whom == 'w') kill_a_worker();
    if (whom == 'r') kill_a_receiver();
    if (whom == 's') kill_redis();
    ++of[whom];
    if (HasFailure()) FAIL() << "after " << kill << " kills, seed " << seed;
  }
  it.it.make_some_due();
  EXPECT_EQ(it.it.wrongs_once_caught_up(), "") << "seed " << seed;
  EXPECT_EQ(it.wrongs_once_told(), "") << "seed " << seed;
  ingest->signal(SIGTERM);
  EXPECT_EQ(ingest->wait().exit, 0);
  for (auto& worker : workers) {  // the last may just have been started
    EXPECT_TRUE(eventually([&] { return worker->err().find("event=ready") != std::string::npos; })) << worker->err();
    worker->signal(SIGTERM);
  }
  for (auto& worker : workers) EXPECT_EQ(worker->wait().exit, 0);
  EXPECT_EQ(it.wrongs(), "");
  EXPECT_EQ(it.it.wrongs_now(Stage::caught_up), "");
  const ToldWorld::Figures figures = it.figures();
  EXPECT_GT(figures.told, 0U);
  std::cout << of['w'] << " workers, " << of['s'] << " servers and " << of['r'] << " receivers killed; " << figures.told
            << " messages to webhooks, " << figures.repeated << " of them repeated, in "
            << std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun).count()
            << " s" << std::endl;
}

/// One webhook on a server that records its deliveries.
class PushOutLeases : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(it.import(1, 1));
    it.world.environment["FEEDMILL_PUSH_OUT_TIMEOUT"] = "30s";
    receiver.serve_rest([this](const ServedRequest&) {
      return silent.exchange(false) ? Response{.silent = true, .end = Response::End::hang} : Response{.status = 202};
    });
    Subscriber webhook;
    webhook.url = receiver.url("/");
    webhook.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    webhook.filter.types = {"post_created"};
    webhook.with_private = true;
    id = *Subscribers(it.world.store).add(webhook);
  }

  std::unique_ptr<Program> start(const Environment& more = {}) {
    auto worker = std::make_unique<Program>(pushes_out, it.world.with(more));
    EXPECT_TRUE(eventually([&] { return worker->err().find("event=ready") != std::string::npos; })) << worker->err();
    return worker;
  }
  void publish(std::size_t posts) {
    it.truth.publish(0, posts);
    it.make_all_due();
    ASSERT_EQ(it.world.run({"run", "--once"}).exit, 0);
  }
  std::int64_t due() { return std::atoll(it.world.redis_text({"ZSCORE", "push_out:due", id}).c_str()); }
  /// How often each message arrived, in order of first arrival.
  std::vector<std::size_t> times() const {
    std::vector<std::string> ids;
    std::vector<std::size_t> count;
    for (const ServedRequest& request : receiver.requests()) {
      const auto found = std::ranges::find(ids, request.header("webhook-id"));
      if (found == ids.end()) {
        ids.push_back(request.header("webhook-id"));
        count.push_back(1);
      } else {
        ++count[static_cast<std::size_t>(found - ids.begin())];
      }
    }
    return count;
  }

  TruthWorld it{{}};
  HttpServer receiver;
  std::atomic<bool> silent = false;
  std::string id;
};

using Times = std::vector<std::size_t>;

// Nothing speeds this up: leases end on their own while eventually() waits.
TEST_F(PushOutLeases, OfAWorkerThatDiedEndWithinSeconds) {
  silent = true;
  auto first = start();
  ASSERT_TRUE(eventually([&] { return it.world.redis_text({"EXISTS", "lock:push_out"}) == "1"; }));
  ASSERT_NO_FATAL_FAILURE(publish(2));
  ASSERT_TRUE(eventually([&] { return times() == Times{1}; }));
  // The lease is renewed while the request lasts, and never extends more than ten seconds ahead.
  const std::int64_t taken = due();
  EXPECT_TRUE(eventually([&] { return due() > taken; }));
  auto second = start();
  first->signal(SIGKILL);
  EXPECT_EQ(first->wait().exit, -SIGKILL);
  const auto now = it.world.store.now();
  ASSERT_TRUE(now);
  EXPECT_LE(due(), now->count() + 10'000);
  EXPECT_LE(std::atoll(it.world.redis_text({"PTTL", "lock:push_out"}).c_str()), 10'000);
  EXPECT_TRUE(eventually([&] { return times() == Times{2, 1}; })) << second->err();
  ASSERT_NO_FATAL_FAILURE(publish(1));
  EXPECT_TRUE(eventually([&] { return times() == Times{2, 1, 1}; })) << "another looks up whom events concern";
  second->signal(SIGTERM);
  EXPECT_EQ(second->wait().exit, 0);
}

TEST_F(PushOutLeases, StalledWorkerDoesNotResumeAfterLeaseExpiry) {
  auto first = start({{"FEEDMILL_PAUSE_AT", "S22:1"}});
  ASSERT_TRUE(eventually([&] { return it.world.redis_text({"EXISTS", "lock:push_out"}) == "1"; }));
  ASSERT_NO_FATAL_FAILURE(publish(3));
  ASSERT_TRUE(first->stopped()) << first->err();
  EXPECT_EQ(times(), Times{1});
  auto second = start();
  EXPECT_TRUE(eventually([&] { return times() == Times({2, 1, 1}); })) << second->err();
  first->signal(SIGCONT);
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait().exit, 0);
  ASSERT_NO_FATAL_FAILURE(publish(1));
  EXPECT_TRUE(eventually([&] { return times().size() == 4; })) << second->err();
  second->signal(SIGTERM);
  EXPECT_EQ(second->wait().exit, 0);
  EXPECT_EQ(times(), Times({2, 1, 1, 1}));
}

}  // namespace
}  // namespace feedmill::test::push_out_crashes_test
