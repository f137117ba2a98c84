// How often a worker asks where nothing happens, by how many stores it serves (RELIABILITY L33).
#include "worker/process/run_options.hpp"

#include <gtest/gtest.h>

namespace feedmill::run_options_test {
namespace {

using namespace std::chrono_literals;

TEST(IdlePace, IsTheUsualOneForFewStoresAndSlowerForMany) {
  for (const std::size_t few : {1U, 16U, 32U}) EXPECT_EQ(idle_pace(few, 5s, 15s), 5s) << few;
  EXPECT_EQ(idle_pace(64, 5s, 15s), 10s);
  EXPECT_EQ(idle_pace(256, 5s, 15s), 15s);
}

TEST(IdlePace, LeavesTheRightToDeliverWithWhoWaits) {
  const Config config = *load_config(ConfigSources());
  for (const std::size_t stores : {1U, 32U, 256U, 4096U}) {
    const DeliverLoop::Options options = deliver_options(config, worker_id(), RunMode::daemon, stores);
    EXPECT_LT(options.deliverer.right_for / 3 + options.block, options.deliverer.right_for) << "renewed before it ends";
  }
}

}  // namespace
}  // namespace feedmill::run_options_test
