// Rows of the crash table (RELIABILITY §4) for callbacks: S13, a push is stored before it is answered, and S14, a
// verification is stored before it is answered. In each row the worker is killed (W), Redis is killed (R) or a reply is
// lost with the connection (N). The hub gets 2xx only for stored deliveries and retries as hubs do; nothing is lost or
// duplicated.
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>

#include "storage/lua/scripts.hpp"
#include "tests/end_to_end/push_world.hpp"
#include "tests/end_to_end/truth_world.hpp"
#include "tests/support/fault_proxy.hpp"

namespace feedmill::test::crash_callback_test {
namespace {

using Fault = FaultProxy::Fault;

struct Cell {
  const char* name;
  char kind;
  const char* method = "sha256";   ///< RELIABILITY S13: hash that signs the push: sha256 = content, sha1 = hint
  const char* sync = "everysec";   ///< Redis' appendfsync
  Fault fault = Fault::cut_reply;  ///< for kind N
};

void PrintTo(const Cell& cell, std::ostream* out) {
  *out << cell.name;
}

class CallbackCrash : public testing::TestWithParam<Cell> {
 protected:
  CallbackCrash() { load_scripts(world.redis); }

  Cell cell() const { return GetParam(); }

  /// Makes the publisher serve a second post, which is about to be pushed.
  void publish_second() { world.serve_posts("/feed", {{"1", "first"}, second}, world.hub_links(url)); }

  std::vector<HttpAnswer> push_second() {
    return world.hub.publish(url, atom({second}), "application/atom+xml", cell().method);
  }

  /// Retries until the push is accepted, as a hub does.
  void push_second_until_accepted() {
    EXPECT_TRUE(eventually([&] {
      const auto answers = push_second();
      EXPECT_EQ(answers.size(), 1U);
      if (answers.empty()) return true;
      EXPECT_TRUE(answers[0].status == 202 || answers[0].status == 502 || answers[0].status == 503)
          << answers[0].status;
      return answers[0].status == 202;
    }));
  }

  /// The number of post_created events, read through a separate connection that a Redis crash does not break.
  std::string created() {
    constexpr const char* look =
        "local n = 0 for _, record in ipairs(redis.call('XRANGE', 'stream:signals', '-', '+')) do "
        "if record[2][2] == 'post_created' then n = n + 1 end end return tostring(n)";
    return world.redis_text({"EVAL", look, "0"});
  }

  /// Whatever happened, the second post is stored once and signalled once.
  void expect_second_once() {
    EXPECT_TRUE(eventually([&] { return world.title(url, second.id) == second.title; }));
    EXPECT_EQ(created(), "2");
    push_second_until_accepted();
    EXPECT_TRUE(world.push_until_written(url, {"3", "after all that"}));
    EXPECT_EQ(created(), "3");
    EXPECT_EQ(world.title(url, "1"), "first");
    EXPECT_EQ(world.title(url, second.id), second.title);
    const Finished verified = world.run({"verify"}, {{"FEEDMILL_REDIS_URL", world.redis.url_of("feedmill_admin")}});
    EXPECT_EQ(verified.exit, 0) << verified.out << verified.err;
  }

  /// Kills Redis while the worker is stopped at its point, and restarts it before the worker continues.
  void restart_redis_at_the_point(PushWorker& worker) {
    ASSERT_TRUE(worker.program().stopped()) << worker.program().err();
    world.redis.kill_once_written();
    world.redis.start();
    worker.program().signal(SIGCONT);
  }

  PushWorld world{durable(GetParam().sync)};
  const std::string url = world.http.url("/feed");
  const PushedPost second{"2", "second"};
};

class PushAccepted : public CallbackCrash {
 protected:
  void subscribe(const Environment& more) {
    world.start(more);
    ASSERT_EQ(world.subscribed_feed("/feed"), url);
    publish_second();
    before = world.everything();
  }

  void kill_worker() {
    ASSERT_NO_FATAL_FAILURE(subscribe({{"FEEDMILL_CRASH_AT", "S13:1"}}));
    const auto answers = push_second();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].status, 502) << "nobody answered";
    EXPECT_EQ(world.worker().program().wait().exit, -SIGKILL);
    EXPECT_EQ(world.everything(), before);
    world.start();
  }

  /// Whether the push is waiting to be written or has been written.
  bool is_noted() const { return world.state(url, "push_due") != "(nil)" || world.state(url, "push_at") != "(nil)"; }

  void kill_redis() {
    ASSERT_NO_FATAL_FAILURE(subscribe({{"FEEDMILL_PAUSE_AT", "S13:1"}}));
    std::vector<HttpAnswer> answers;
    {
      const std::jthread hub([&] { answers = push_second(); });
      ASSERT_NO_FATAL_FAILURE(restart_redis_at_the_point(world.worker()));
    }
    ASSERT_EQ(answers.size(), 1U);
    const bool noted = is_noted();
    EXPECT_EQ(answers[0].status, noted ? 202 : 503);
    EXPECT_TRUE(noted || !answers[0].header("Retry-After").empty());
  }

  void lose_an_answer() {
    FaultProxy proxy(world.redis.admin_url(), FaultProxy::Speaks::redis);
    ASSERT_NO_FATAL_FAILURE(subscribe({{"FEEDMILL_REDIS_URL", proxy.redis_url()}}));
    proxy.at(runs_script(scripts::websub_deliver), 1, cell().fault);
    const auto answers = push_second();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].status, 503);
    EXPECT_NE(answers[0].header("Retry-After"), "");
    EXPECT_EQ(is_noted(), cell().fault == Fault::cut_reply);
    if (cell().fault == Fault::cut_request) {
      EXPECT_EQ(world.everything(), before);
    }
    push_second_until_accepted();
    expect_second_once();
  }

  std::string before;
};

TEST_P(PushAccepted, IsNotedAndWrittenOnce) {
  if (cell().kind == 'N') {
    lose_an_answer();
    return;
  }
  cell().kind == 'W' ? kill_worker() : kill_redis();
  if (HasFatalFailure()) return;
  push_second_until_accepted();
  world.leave_to_last();
  expect_second_once();
}

INSTANTIATE_TEST_SUITE_P(S13, PushAccepted,
                         testing::Values(Cell{"W", 'W'}, Cell{"W_hint", 'W', "sha1"}, Cell{"R_everysec", 'R'},
                                         Cell{"R_always", 'R', "sha256", "always"}, Cell{"R_hint", 'R', "sha1"},
                                         Cell{"N_request", 'N', "sha256", "everysec", Fault::cut_request},
                                         Cell{"N_answer", 'N'}, Cell{"N_answer_hint", 'N', "sha1"}),
                         [](const auto& test) { return test.param.name; });

class PushWritten : public CallbackCrash {};

TEST_P(PushWritten, ThoughItsWorkerDiedWithIt) {
  FaultProxy proxy(world.redis.admin_url(), FaultProxy::Speaks::redis);
  world.start({{"FEEDMILL_REDIS_URL", proxy.redis_url()}});
  ASSERT_EQ(world.subscribed_feed("/feed"), url);
  publish_second();
  proxy.at(runs_script(scripts::websub_claim), 1, Fault::swallow_reply);
  const auto answers = push_second();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, 202);
  ASSERT_TRUE(proxy.wait_for_faults(1));
  world.worker().program().signal(SIGKILL);
  EXPECT_EQ(world.worker().program().wait().exit, -SIGKILL);
  EXPECT_EQ(created(), "1");
  // The lost push is fetched when its claim ends; the test does not wait for that.
  const std::string due = world.redis_text({"ZSCORE", "schedule", url}), now = world.redis_text({"TIME"});
  EXPECT_LE(std::stoll(due) / 1000, std::stoll(now) + 150);
  world.redis_text({"ZADD", "schedule", "XX", "1", url});
  world.start();
  world.leave_to_last();
  expect_second_once();
}

INSTANTIATE_TEST_SUITE_P(S13, PushWritten, testing::Values(Cell{"AfterwardsW", 'W'}),
                         [](const auto& test) { return test.param.name; });

class Verification : public CallbackCrash {
 protected:
  void add_feed() { ASSERT_EQ(world.add_feed("/feed", {{"1", "first"}}, world.hub_links(url)), url); }

  /// Expects the status that the hub got, and that the hub has no confirmed subscriber.
  void expect_unverified(int status) {
    ASSERT_TRUE(world.hub.await_requests(1));
    ASSERT_EQ(world.hub.verifications().size(), 1U);
    EXPECT_EQ(world.hub.verifications()[0].status, status);
    EXPECT_TRUE(world.hub.subscribers(url).empty());
  }

  void kill_worker() {
    add_feed();
    world.start({{"FEEDMILL_CRASH_AT", "S14:1"}});
    expect_unverified(502);
    EXPECT_EQ(world.worker().program().wait().exit, -SIGKILL);
    EXPECT_EQ(world.subscription(url, "state"), "active") << "stored first, then answered";
    world.start();
    world.leave_to_last();
    world.bring_forward(url, "renew_at");
  }

  void kill_redis() {
    add_feed();
    restart_redis_at_the_point(world.start({{"FEEDMILL_PAUSE_AT", "S14:1"}}));
  }

  void lose_an_answer() {
    FaultProxy proxy(world.redis.admin_url(), FaultProxy::Speaks::redis);
    proxy.at(runs_script(scripts::websub_verify), 1, cell().fault);
    add_feed();
    world.start({{"FEEDMILL_REDIS_URL", proxy.redis_url()}});
    expect_unverified(503);
    if (cell().fault == Fault::cut_reply) {
      EXPECT_EQ(world.subscription(url, "state"), "active");
      world.bring_forward(url, "renew_at");
    } else {
      EXPECT_EQ(world.subscription(url, "state", true), "pending");
      world.bring_forward(url, "pending_since", true);
      EXPECT_TRUE(eventually([&] { return world.state(url, "push_state") == "failed"; }));
      world.redis_text({"ZADD", "websub:due", "XX", "1", url});
    }
    expect_subscribed_once();
  }

  /// Waits until a renewal has repaired the subscription.
  void expect_subscribed_once() {
    ASSERT_TRUE(world.hub.await_subscribers(url, 1));
    EXPECT_EQ(world.hub.subscribers(url).size(), 1U);
    EXPECT_EQ(world.subscription(url, "state"), "active");
    EXPECT_EQ(world.redis_text({"HGET", "stats:websub:states", "unproven"}), "1");
    publish_second();
    push_second_until_accepted();
    expect_second_once();
  }
};

TEST_P(Verification, IsStoredBeforeItIsAnswered) {
  if (cell().kind == 'N') {
    lose_an_answer();
    return;
  }
  cell().kind == 'W' ? kill_worker() : kill_redis();
  if (!HasFatalFailure()) expect_subscribed_once();
}

INSTANTIATE_TEST_SUITE_P(S14, Verification,
                         testing::Values(Cell{"W", 'W'}, Cell{"R_everysec", 'R'},
                                         Cell{"R_always", 'R', "sha256", "always"},
                                         Cell{"N_request", 'N', "sha256", "everysec", Fault::cut_request},
                                         Cell{"N_answer", 'N'}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace feedmill::test::crash_callback_test
