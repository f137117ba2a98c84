// How often an idle worker polls, by the number of stores it serves (RELIABILITY L33).
#include "worker/process/run_options.hpp"

#include <gtest/gtest.h>

#include "worker/process/fleet_watch.hpp"

namespace feedmill::run_options_test {
namespace {

using namespace std::chrono_literals;

TEST(IdlePace, IsTheUsualOneForFewStoresAndSlowerForMany) {
  for (const std::size_t few : {1U, 16U, 64U}) EXPECT_EQ(idle_pace(few, 5s, 20s), 5s) << few;
  EXPECT_EQ(idle_pace(128, 5s, 20s), 10s);
  EXPECT_EQ(idle_pace(256, 5s, 20s), 20s);
}

// Heartbeats renew the delivery right of a waiting process.
TEST(IdlePace, IsThatOfAWorkerWhetherItFetchesOrNot) {
  Config config = *load_config(ConfigSources());
  EXPECT_EQ(deliver_options(config, worker_id(), RunMode::daemon, 256).block, 180s);
  config.worker.ingest = false;
  EXPECT_EQ(deliver_options(config, worker_id(), RunMode::daemon, 256).block, 180s);
}

TEST(IdlePace, AlsoAppliesToPushingOut) {
  Config config = *load_config(ConfigSources());
  config.worker.push_out = true;
  const auto options = [&](std::size_t stores) {
    return *push_out_options(config, worker_id(), RunMode::daemon, 1024, stores);
  };
  EXPECT_EQ(options(1).engine.look, 1s);
  EXPECT_EQ(options(1).engine.lead, 10s);
  EXPECT_EQ(options(256).engine.look, 15s);
  EXPECT_EQ(options(256).block, 180s);
  const auto of_most = options(256).engine;
  EXPECT_LT(of_most.lead / 3 + of_most.look, of_most.lead) << "renewed before it ends";
}

TEST(QuietPartition, IsLookedAtWhenAFeedIsDue) {
  FleetFigures figures;
  figures.feeds = 2;
  figures.now = 1000s;
  EXPECT_EQ(quiet_for(figures, {}, 300s), 300s) << "nothing will be due";
  figures.oldest_due = 1070s;
  EXPECT_EQ(quiet_for(figures, {}, 300s), 70s);
  figures.oldest_due = 9000s;
  EXPECT_EQ(quiet_for(figures, {}, 300s), 300s);
}

TEST(QuietPartition, IsNoneWhereAnythingIsUnderWay) {
  FleetFigures quiet;
  EXPECT_EQ(quiet_for(quiet, RequestFigures{.waiting = 1}, 300s), 0s);
  for (std::uint64_t FleetFigures::*const busy : {&FleetFigures::due, &FleetFigures::waiting, &FleetFigures::claimed}) {
    FleetFigures figures = quiet;
    figures.*busy = 1;
    EXPECT_EQ(quiet_for(figures, {}, 300s), 0s);
  }
  quiet.is_indexed = false;
  EXPECT_EQ(quiet_for(quiet, {}, 300s), 0s);
}

}  // namespace
}  // namespace feedmill::run_options_test
