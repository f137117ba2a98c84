// What an event costs Redis if it concerns few or many subscribers (PERFORMANCE F11). Prints the figures of
// docs/BENCHMARKS.md.
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <signal.h>

#include "storage/queues/subscribers.hpp"
#include "tests/end_to_end/truth_world.hpp"

namespace feedmill::test::push_out_cost_test {
namespace {

class PushOutCost : public testing::TestWithParam<int> {
 protected:
  PushOutCost() {
    it.world.environment["FEEDMILL_PUSH_OUT_PER_HOST"] = "64";
    it.world.environment["FEEDMILL_PUSH_OUT_AT_ONCE"] = "32";  // half of a host's slots, the share of new receivers
    receiver.forget_requests();
    receiver.serve_rest([](const ServedRequest&) { return Response{.status = 204}; });
  }

  void add_webhooks(int count) {
    for (int i = 0; i < count; ++i) {
      Subscriber webhook;
      webhook.url = receiver.url("/" + std::to_string(i));
      webhook.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
      webhook.filter.types = {"post_created"};
      webhook.with_private = i % 2 == 0;  // for the others, each event looks up whether its feed is private
      ASSERT_TRUE(Subscribers(it.world.store).add(webhook));
    }
  }

  /// Number of calls by command, including those made by scripts.
  std::map<std::string, int> commands() const {
    std::map<std::string, int> calls;
    std::istringstream stats(it.world.redis_text({"INFO", "commandstats"}));
    for (std::string line; std::getline(stats, line);) {
      const auto name = line.find('_') + 1, at = line.find(":calls=");
      if (line.starts_with("cmdstat_") && at != std::string::npos)
        calls[line.substr(name, at - name)] = std::stoi(line.substr(at + 7));
    }
    return calls;
  }

  TruthWorld it{{}};
  HttpServer receiver;
};

TEST_P(PushOutCost, OfAnEventGrowsOnlyWithTheSubscribersConcerned) {
  const int count = GetParam();
  ASSERT_NO_FATAL_FAILURE(it.import(1, 1));
  ASSERT_EQ(it.world.run({"set", it.truth.url(0), "republish=yes"}).exit, 0);
  ASSERT_NO_FATAL_FAILURE(add_webhooks(count));
  Program worker({"run", "--no-ingest", "--no-deliver", "--push-out"}, it.world.environment);
  // The worker leads once it has stored its position in the stream.
  ASSERT_TRUE(eventually([&] {
    return it.world.redis_text({"EXISTS", "deliver:push_out:000"}) == "1";
  })) << worker.err();
  worker.signal(SIGSTOP);
  ASSERT_TRUE(worker.stopped());
  it.truth.publish(0);
  it.make_all_due();
  ASSERT_EQ(it.world.run({"run", "--once"}).exit, 0);
  it.world.redis_text({"CONFIG", "RESETSTAT"});
  worker.signal(SIGCONT);
  receiver.wait_for_requests(static_cast<std::size_t>(count));
  ASSERT_TRUE(eventually([&] { return it.world.redis_text({"ZCARD", "push_out:due"}) == "0"; })) << worker.err();
  std::map<std::string, int> calls = commands();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
  // An idle worker and this test also run commands, depending on the time that passes. Count those on subscribers.
  const int touching = std::accumulate(calls.begin(), calls.end(), 0, [](int sum, const auto& call) {
    static const std::set<std::string> of_subscribers{"hgetall", "hget", "hset", "hdel", "hmget", "zadd", "zrem"};
    return sum + (of_subscribers.contains(call.first) ? call.second : 0);
  });
  std::cout << count << " webhooks: " << touching << " commands about them, " << calls["evalsha"] << " scripts"
            << std::endl;
  EXPECT_LE(touching, 40 + 20 * count);  // 14 each; lease renewals on a busy machine add more
}

INSTANTIATE_TEST_SUITE_P(Webhooks, PushOutCost, testing::Values(1, 100, 1000));

}  // namespace
}  // namespace feedmill::test::push_out_cost_test
