// The crash table of RELIABILITY §4: at each point the worker is killed (W), Redis is killed (R) or a reply is lost
// with the connection (N). Afterwards all invariants hold, and no feed was polled early more than once. Rows for
// callbacks (RELIABILITY S13) are in crash_callback_test.cpp.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/feeds.hpp"
#include "storage/lua/scripts.hpp"
#include "tests/end_to_end/truth_world.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/packed_digests.hpp"

namespace feedmill::test::crash_points_test {
namespace {

using Fault = FaultProxy::Fault;

enum class Scene {
  refresh,  ///< three feeds with news are due
  parts,    ///< the same, but the news need three parts of a commit
  deliver,  ///< the news are stored but not delivered
  rewrite,  ///< like refresh, while Redis rewrites its AOF
  removal,  ///< a feed of 250 posts is being removed
  drain,    ///< like refresh, after the worker was asked to stop
  upgrade   ///< like refresh, in a store of schema 1
};

/// A row of the table: its point in the code, and the script that fails there.
struct Step {
  const char* name;
  const char* cells;  ///< the ticked cells: some of W, R, N
  Scene scene;
  const char* point;
  const char* const* script = nullptr;  ///< N: a call of this script fails; null: all connections are cut
  Fault fault = Fault::cut_reply;
  std::size_t nth = 1;
  bool unanswered = false;  ///< R: Redis dies before it has replied instead of at the point
};

constexpr Step steps[] = {
    {"S0", "WRN", Scene::refresh, "S0:1", &scripts::claim, Fault::cut_request},
    {"S1", "WRN", Scene::refresh, "S1:1", &scripts::claim, Fault::cut_reply, 1, true},
    {"S2", "WR", Scene::refresh, "S2:2"},
    {"S3", "WR", Scene::refresh, "S3:2"},
    {"S4", "WR", Scene::refresh, "S4:2"},
    {"S5", "WR", Scene::refresh, "S5:2"},
    {"S6", "WR", Scene::refresh, "S6:2"},
    {"S7", "WRN", Scene::parts, "S7:1", &scripts::commit, Fault::cut_request, 2},
    {"S8", "WRN", Scene::refresh, "S8:1", &scripts::commit, Fault::cut_reply, 1, true},
    {"S9", "WRN", Scene::refresh, "S9:1"},
    {"S10", "WRN", Scene::deliver, "S10:1", &scripts::deliver_posts, Fault::cut_request},
    {"S11", "WRN", Scene::deliver, "S11:1", &scripts::deliver_posts, Fault::cut_reply, 1, true},
    {"S12", "WR", Scene::rewrite, "S8:1"},
    {"S15", "WRN", Scene::removal, "S15:1", &scripts::remove, Fault::cut_reply, 1, true},
    {"S16", "WRN", Scene::drain, "S16:1"},
    {"S25_begun", "WRN", Scene::upgrade, "S25:1", &scripts::migrate, Fault::cut_reply, 1, true},
    {"S25_feeds", "WRN", Scene::upgrade, "S25:2", &scripts::migrate, Fault::cut_request, 2},
    {"S25_ended", "WRN", Scene::upgrade, "S25:3", &scripts::migrate, Fault::cut_reply, 3, true},
};

struct Cell {
  const Step* step;
  char kind;
  const char* sync;
  bool in_line;  ///< one request at a time: feeds queue at their host's gate (HTTP H1)
};

std::string name_of(const Cell& cell) {
  return std::string(cell.step->name) + "_" + cell.kind + (cell.kind == 'R' ? std::string("_") + cell.sync : "") +
         (cell.in_line ? "_in_line" : "");
}

void PrintTo(const Cell& cell, std::ostream* out) {
  *out << name_of(cell);
}

/// Every ticked cell. Cells that kill Redis run with both appendfsync settings; cells between a feed's claim and its
/// commit run once more with a line at the host's gate and packed hashes.
std::vector<Cell> cells() {
  std::vector<Cell> all;
  for (const Step& step : steps) {
    const bool claims = step.scene == Scene::refresh || step.scene == Scene::parts || step.scene == Scene::drain;
    for (const char* kind = step.cells; *kind != '\0'; ++kind) {
      all.push_back({&step, *kind, "everysec", false});
      if (*kind == 'R') all.push_back({&step, *kind, "always", false});
      if (claims) all.push_back({&step, *kind, "always", true});
    }
  }
  return all;
}

class CrashPoints : public testing::TestWithParam<Cell> {
 protected:
  static constexpr int short_lease = 1500, long_lease = 30'000;

  CrashPoints() : it(durable(GetParam().sync), {.text = 1000, .in_halves = GetParam().step->scene != Scene::parts}) {
    load_scripts(it.world.redis);
    if (!GetParam().in_line) return;
    it.world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1";
    it.world.environment["FEEDMILL_HOST_SPACING"] = "20ms";
  }

  void set_scene() {
    it.import(3, GetParam().step->scene == Scene::removal ? 250 : 5);
    if (testing::Test::HasFatalFailure()) return;
    switch (GetParam().step->scene) {
      case Scene::parts:
        it.truth.publish(0, 250);
        it.make_all_due();
        break;
      case Scene::deliver:
        it.bring_news();
        ASSERT_EQ(it.world.run({"run", "--once", "--no-deliver"}).exit, 0);
        break;
      case Scene::rewrite:
        it.bring_news();
        ASSERT_EQ(redis_command(it.world.redis, {"CONFIG", "SET", "rdb-key-save-delay", "50000"}), "OK");
        redis_command(it.world.redis, {"BGREWRITEAOF"});
        ASSERT_TRUE(eventually([&] { return rewriting(); }));
        break;
      case Scene::removal:
        it.truth.withdraw(0);
        break;
      case Scene::refresh:
      case Scene::drain:
        it.bring_news();
        break;
      case Scene::upgrade:
        it.bring_news();
        ASSERT_EQ(it.world.redis_text({"EVAL", written_by_schema_1, "0"}), "3");
        break;
    }
  }

  bool rewriting() {
    return redis_command(it.world.redis, {"INFO", "persistence"}).find("aof_rewrite_in_progress:1") !=
           std::string::npos;
  }

  std::vector<std::string> command() const {
    switch (GetParam().step->scene) {
      case Scene::deliver:
        return {"run", "--no-ingest"};
      case Scene::removal:
        return {"remove", "--yes", it.truth.url(0)};
      default:
        return {"run"};
    }
  }

  Environment environment(const char* variable, int lease_ms, const FaultProxy* proxy = nullptr) const {
    Environment more = lease(lease_ms);
    if (variable != nullptr) more[variable] = GetParam().step->point;
    if (proxy != nullptr) more["FEEDMILL_REDIS_URL"] = proxy->redis_url();
    return it.world.with(more);
  }

  /// With `in_line`, at the point or after a death there: the feeds that the first worker left are still queued at the
  /// gate.
  void expect_a_line() {
    if (!GetParam().in_line || GetParam().step->point == std::string("S0:1")) return;
    EXPECT_NE(it.world.redis_text({"ZCARD", "line:" + it.world.http.server()}), "0");
    EXPECT_EQ(it.world.redis_text({"ZCARD", "lines"}), "1");
  }

  /// In the drain scene, waits until the worker has work in flight, then asks it to stop.
  void let_drain(const Program& worker, std::size_t asked_before) {
    if (GetParam().step->scene != Scene::drain) return;
    ASSERT_TRUE(eventually([&] { return it.truth.asked_in_all() > asked_before; })) << worker.err();
    worker.signal(SIGTERM);
  }

  /// Lets the next worker, or the same verb again, finish the work until the store is whole.
  void recover() {
    if (GetParam().step->scene == Scene::removal) {
      EXPECT_EQ(it.world.run(command()).exit, 0) << "a removal goes on where it was";
      EXPECT_EQ(it.wrongs_now(Stage::caught_up), "");
      return;
    }
    Program worker({"run"}, environment(nullptr, long_lease));
    EXPECT_EQ(it.wrongs_once_caught_up(), "") << worker.err();
    stop(worker);
  }

  static void stop(Program& worker) {
    EXPECT_TRUE(eventually([&] { return worker.err().find("event=ready") != std::string::npos; })) << worker.err();
    worker.signal(SIGTERM);
    const Finished end = worker.wait();
    EXPECT_EQ(end.exit, 0) << end.err;
  }

  /// Lets the surviving worker finish, or end as the scene requires.
  void see_through(Program& worker) {
    const Scene scene = GetParam().step->scene;
    if (scene == Scene::removal || scene == Scene::drain) {
      const Finished end = worker.wait();
      // A verb fails on an outage; a drain may have had to abandon claims.
      EXPECT_TRUE(scene == Scene::removal || end.exit == 0 || end.exit == 75) << end.exit << end.err;
      it.forget_delivery_right();
      recover();
      return;
    }
    EXPECT_EQ(it.wrongs_once_caught_up(), "") << worker.err();
    stop(worker);
  }

  void kill_worker() {
    const std::size_t asked = it.truth.asked_in_all();
    Program worker(command(), environment("FEEDMILL_CRASH_AT", short_lease));
    let_drain(worker, asked);
    const Finished end = worker.wait();
    ASSERT_EQ(end.exit, -SIGKILL) << end.err;
    expect_a_line();
    expect_claimable_within(short_lease);
    it.forget_delivery_right();
    recover();
  }

  /// RELIABILITY I8, checked on the stored state: no feed is hidden for longer than the lease.
  void expect_claimable_within(int ms) {
    const auto now = it.world.store.now();
    ASSERT_TRUE(now);
    const auto urls = Feeds(it.world.store).urls_after("", 10'000);
    ASSERT_TRUE(urls);
    const auto records = Feeds(it.world.store).records(*urls);
    ASSERT_TRUE(records);
    for (const auto& record : *records) {
      ASSERT_TRUE(record && record->due);
      EXPECT_TRUE(record->claim.empty() || *record->due <= *now + Milliseconds(ms)) << record->feed_url;
    }
  }

  void kill_redis_at_the_point() {
    const std::size_t asked = it.truth.asked_in_all();
    Program worker(command(), environment("FEEDMILL_PAUSE_AT", long_lease));
    let_drain(worker, asked);
    ASSERT_TRUE(worker.stopped()) << worker.err();
    expect_a_line();
    EXPECT_EQ(rewriting(), GetParam().step->scene == Scene::rewrite);
    it.restart_redis();
    worker.signal(SIGCONT);
    see_through(worker);
  }

  void kill_redis_before_the_answer() {
    FaultProxy proxy(it.world.redis.admin_url(), FaultProxy::Speaks::redis);
    proxy.at(runs_script(*GetParam().step->script), GetParam().step->nth, Fault::hold_reply);
    Program worker(command(), environment(nullptr, long_lease, &proxy));
    ASSERT_TRUE(proxy.wait_for_faults(1)) << worker.err();
    it.restart_redis();
    proxy.cut();
    see_through(worker);
  }

  void lose_an_answer() {
    const Step& step = *GetParam().step;
    FaultProxy proxy(it.world.redis.admin_url(), FaultProxy::Speaks::redis);
    if (step.script != nullptr) {
      proxy.at(runs_script(*step.script), step.nth, step.fault);
      Program worker(command(), environment(nullptr, long_lease, &proxy));
      ASSERT_TRUE(proxy.wait_for_faults(1)) << worker.err();
      see_through(worker);
      return;
    }
    const std::size_t asked = it.truth.asked_in_all();
    Program worker(command(), environment("FEEDMILL_PAUSE_AT", long_lease, &proxy));
    let_drain(worker, asked);
    ASSERT_TRUE(worker.stopped()) << worker.err();
    expect_a_line();
    proxy.cut();
    worker.signal(SIGCONT);
    see_through(worker);
  }

  TruthWorld it;
};

TEST_P(CrashPoints, LeaveAllInvariants) {
  const Cell& cell = GetParam();
  ASSERT_NO_FATAL_FAILURE(set_scene());
  if (cell.kind == 'W')
    kill_worker();
  else if (cell.kind == 'N')
    lose_an_answer();
  else if (cell.step->unanswered)
    kill_redis_before_the_answer();
  else
    kill_redis_at_the_point();
  EXPECT_EQ(it.impolite(2), "") << "a crash causes at most one early request";
  // The file on disk has the same content, rewritten or not.
  EXPECT_TRUE(eventually([&] { return !rewriting(); }));
  it.restart_redis();
  EXPECT_EQ(it.wrongs_now(Stage::caught_up), "");
}

INSTANTIATE_TEST_SUITE_P(Table, CrashPoints, testing::ValuesIn(cells()),
                         [](const auto& test) { return name_of(test.param); });

TEST(Removal, ThatWasKilledIsFinishedByTheNext) {
  World world;
  std::vector<std::pair<std::string, std::string>> posts;
  for (int i = 0; i < 250; ++i) posts.emplace_back("p" + std::to_string(i), "Post");
  world.http.serve("/feed.xml", {.body = rss(posts)});
  const std::string url = world.http.url("/feed.xml");
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = url}}));
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  EXPECT_EQ(world.run({"remove", "--yes", url}, {{"FEEDMILL_CRASH_AT", "S15:1"}}).exit, -SIGKILL);
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "150");
  EXPECT_EQ(world.run({"remove", "--dry-run", url}).exit, 1) << "it is no feed any more";
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "150");
  const Finished next = world.run({"remove", url});
  EXPECT_EQ(next.exit, 0) << "the first time somebody said yes: " << next.err;
  EXPECT_EQ(world.redis_text({"KEYS", "Entry:*"}), "");
  EXPECT_EQ(world.redis_text({"EXISTS", "state:feed:" + url}), "0");
  EXPECT_EQ(world.run({"remove", "--yes", url}).exit, 1);
}

/// RELIABILITY L19: a removal dies after deleting half of the posts; then the feed gains a follower.
TEST(Removal, KilledOrphanRemovalKeepsChannelsIntact) {
  World world;
  std::vector<std::pair<std::string, std::string>> posts;
  for (int i = 0; i < 250; ++i) posts.emplace_back("p" + std::to_string(i), "Post");
  world.http.serve("/feed.xml", {.body = rss(posts)});
  const std::string url = world.http.url("/feed.xml");
  const auto age = [&] { world.redis_text({"ZADD", "state:orphans", "XX", "1", url}); };
  const std::map<std::string, std::string> option{{"FEEDMILL_FEEDS_ORPHAN_AFTER", "1h"}};
  ASSERT_EQ(world.run({"add", url, "--channel", "anna/news"}).exit, 0);
  ASSERT_EQ(world.run({"run", "--once"}, option).exit, 0);
  ASSERT_EQ(world.run({"channel", "feeds", "anna/news", "--remove", url}).exit, 0);
  age();
  ASSERT_EQ(world.run({"run", "--once"}, option).exit, 0);
  EXPECT_NE(world.run({"explain", url}).out.find("because it is in no channel"), std::string::npos);
  age();
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0) << "without the option it stays";
  std::map<std::string, std::string> dies = option;
  dies["FEEDMILL_CRASH_AT"] = "S15:1";
  EXPECT_EQ(world.run({"run", "--once"}, dies).exit, -SIGKILL);
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "150");
  EXPECT_EQ(world.run({"add", url, "--channel", "bert/news"}).exit, 0);
  ASSERT_EQ(world.run({"run", "--once"}, option).exit, 0);
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "250");
  EXPECT_EQ(world.redis_text({"SMEMBERS", "channel:bert/news:feeds"}), url);
  EXPECT_EQ(world.run({"verify", "--redis", world.redis.url_of("feedmill_admin")}).exit, 0);
}

/// HTTP G1: a feed with five posts a page has published 19 since the last poll; a worker dies at some step of some
/// page.
class Gaps : public testing::TestWithParam<const char*> {};

TEST_P(Gaps, AreClosedDespiteKilledWorkers) {
  World world;
  const std::string url = world.http.url("/feed.xml");
  const auto serve = [&](int newest) {
    world.http.serve("/feed.xml", [url, newest](const ServedRequest& request) {
      const auto at = request.target.find("page=");
      const int page = at == std::string::npos ? 1 : std::atoi(request.target.c_str() + at + 5);
      const std::string next = url + "?page=" + std::to_string(page + 1);
      std::string text =
          "<feed xmlns='http://www.w3.org/2005/Atom'><title>F</title><link rel='next' href='" + next + "'/>";
      const int first = newest - 5 * (page - 1);
      for (int post = first; post > first - 5 && post > 0; --post) {
        const std::string number = std::to_string(post), minute = (post < 10 ? "0" : "") + number;
        text += "<entry><id>p" + number + "</id><title>T</title><updated>2025-06-01T00:" + minute +
                ":00Z</updated></entry>";
      }
      return Response{.body = text + "</feed>", .etag = page == 1 ? "\"" + std::to_string(newest) + "\"" : ""};
    });
  };
  serve(5);
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  serve(24);
  ASSERT_TRUE(Feeds(world.store).wake(std::span(&url, 1), Milliseconds(0), true));
  Environment dies = world.with(lease(1500));
  dies["FEEDMILL_CRASH_AT"] = GetParam();
  ASSERT_EQ(Program({"run"}, dies).wait().exit, -SIGKILL);
  Program next({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.redis_text({"ZCARD", url + ":sort"}) == "24"; })) << next.err();
  EXPECT_TRUE(eventually([&] { return world.redis_text({"HEXISTS", "state:feed:" + url, "walk"}) == "0"; }));
  next.signal(SIGTERM);
  EXPECT_EQ(next.wait().exit, 0);
  EXPECT_EQ(world.count("post_created"), 24U) << "each once";
  EXPECT_EQ(world.run({"verify", "--redis", world.redis.url_of("feedmill_admin")}).exit, 0);
}

INSTANTIATE_TEST_SUITE_P(AtEachStep, Gaps, testing::Values("S2:2", "S4:2", "S6:2", "S8:1", "S8:2", "S8:3"),
                         [](const auto& test) {
                           std::string name = test.param;
                           name[name.find(':')] = '_';
                           return name;
                         });

/// RELIABILITY R5, R8: the private server or its worker is killed.
class EmbeddedStore : public testing::Test {
 protected:
  EmbeddedStore() : truth(world.http) {
    world.environment.erase("FEEDMILL_REDIS_URL");
    world.environment["FEEDMILL_STORE_DATA_DIR"] = data.string();
    world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
    world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
    for (std::size_t feed = 0; feed < 3; ++feed) {
      EXPECT_EQ(world.run({"add", truth.add_feed(5)}).exit, 0);
      looked_at.push_back(truth.asked(feed).times);
    }
  }

  /// The server's URL, from server.json.
  std::string url() const {
    std::ifstream file(data / "server.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto from = text.find("\"socket\":\"") + 10;
    return "unix://" + text.substr(from, text.find('"', from) - from);
  }
  int server() const {
    std::ifstream file(data / "redis.pid");
    int pid = 0;
    file >> pid;
    return pid;
  }

  /// Whether the process is gone or a zombie.
  static bool has_ended(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto state = text.rfind(") ");
    return state == std::string::npos || text[state + 2] == 'Z';
  }

  void expect_all_stored(Program& worker) {
    EXPECT_TRUE(eventually([&] { return wrongs_text(url(), truth, Stage::caught_up).empty(); }))
        << wrongs_text(url(), truth, Stage::caught_up) << worker.err();
    for (std::size_t feed = 0; feed < truth.feeds(); ++feed)
      EXPECT_LE(truth.asked(feed).times, looked_at[feed] + 2) << "once by each worker";
    const int last = server();
    ASSERT_GT(last, 0);
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait().exit, 0);
    EXPECT_TRUE(eventually([&] { return has_ended(last); })) << "the last user stops it";
  }

  World world;
  std::filesystem::path data = world.redis.directory() / "data";
  GroundTruth truth;
  std::vector<std::size_t> looked_at;  // requests per feed made by `add`
};

TEST_F(EmbeddedStore, SurvivesItsWorkerAndServesTheNext) {
  Environment killed = world.with(lease(1500));
  killed["FEEDMILL_CRASH_AT"] = "S8:1";
  ASSERT_EQ(Program({"run"}, killed).wait().exit, -SIGKILL);
  const int left = server();
  EXPECT_EQ(::kill(left, 0), 0);
  Program next({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return next.err().find("event=ready") != std::string::npos; })) << next.err();
  EXPECT_EQ(server(), left);
  expect_all_stored(next);
}

TEST_F(EmbeddedStore, IsStartedAgainByItsWorker) {
  Environment pausing = world.with(lease(30'000));
  pausing["FEEDMILL_PAUSE_AT"] = "S6:1";
  Program worker({"run"}, pausing);
  ASSERT_TRUE(worker.stopped()) << worker.err();
  const int killed = server();
  ASSERT_EQ(::kill(killed, SIGKILL), 0);
  worker.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return server() != killed && server() != 0; })) << worker.err();
  expect_all_stored(worker);
}

}  // namespace
}  // namespace feedmill::test::crash_points_test
