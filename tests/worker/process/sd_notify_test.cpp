#include "worker/process/sd_notify.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/service_manager.hpp"

namespace feedmill::sd_notify_test {
namespace {

using namespace std::chrono_literals;
using test::ServiceManager;
namespace fs = std::filesystem;

class SdNotifyTest : public testing::TestWithParam<bool> {
 public:
  ~SdNotifyTest() override { fs::remove_all(home); }

 protected:
  SdNotifyTest() {
    std::string pattern = (fs::temp_directory_path() / "feedmill-notify-XXXXXX").string();
    home = mkdtemp(pattern.data());
    name = GetParam() ? "@feedmill-test-" + std::to_string(getpid()) : (home / "notify").string();
  }

  fs::path home;
  std::string name;
};

TEST_P(SdNotifyTest, SendsOneDatagramEach) {
  ServiceManager manager(name);
  const SdNotify notify(name);
  EXPECT_TRUE(notify.enabled());
  notify.ready("ingesting\nREADY=0");
  EXPECT_EQ(manager.heard(), "READY=1\nSTATUS=ingesting\\x0aREADY=0");
  notify.status("Redis is away");
  EXPECT_EQ(manager.heard(), "STATUS=Redis is away");
  notify.watchdog();
  EXPECT_EQ(manager.heard(), "WATCHDOG=1");
  notify.reloading();
  EXPECT_THAT(manager.heard(), testing::MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+"));
  notify.stopping("draining");
  EXPECT_EQ(manager.heard(), "STOPPING=1\nSTATUS=draining");
  EXPECT_EQ(manager.heard(), "");
}

TEST_P(SdNotifyTest, IgnoresAMissingListener) {
  SdNotify(name).ready("");
}

INSTANTIATE_TEST_SUITE_P(Sockets, SdNotifyTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "Abstract" : "Path"; });

TEST(SdNotify, IsSilentWithoutASocket) {
  const SdNotify notify("", 30s);
  EXPECT_FALSE(notify.enabled());
  EXPECT_FALSE(notify.watchdog_interval());
  notify.ready("x");
}

TEST(SdNotify, TakesItsSettingsFromTheEnvironment) {
  setenv("NOTIFY_SOCKET", "@nobody", 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  unsetenv("WATCHDOG_PID");
  EXPECT_EQ(SdNotify::from_environment().watchdog_interval(), 15s);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(SdNotify::from_environment().watchdog_interval(), 15s);
  setenv("WATCHDOG_PID", "1", 1);  // meant for another process
  EXPECT_FALSE(SdNotify::from_environment().watchdog_interval());
  unsetenv("WATCHDOG_PID");
  setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_FALSE(SdNotify::from_environment().watchdog_interval());
  unsetenv("WATCHDOG_USEC");
  unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(SdNotify::from_environment().enabled());
}

}  // namespace
}  // namespace feedmill::sd_notify_test
