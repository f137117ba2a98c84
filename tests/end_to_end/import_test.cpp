// An import that is interrupted and then repeated (SECURITY T32, RELIABILITY L22).
#include <sys/stat.h>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/end_to_end/program.hpp"
#include "tests/end_to_end/truth_world.hpp"

namespace feedmill::test::import_test {
namespace {

constexpr int rows = 12'000;

/// The list arrives through a pipe: the first half at once, the rest when the test sends it.
class Imports : public testing::Test {
 protected:
  Imports() : world(durable("always")) {
    world.environment["FEEDMILL_REDIS_URL"] = world.redis.admin_url();
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    writer = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);  // keeps the pipe open before and after its reader
    EXPECT_GE(writer, 0);
  }
  ~Imports() override { ::close(writer); }

  static std::string list(int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i)
      text += "https://h" + std::to_string(i % 100) + ".example/" + std::to_string(i) + "\n";
    return text;
  }
  void write(const std::string& text) const {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t done = ::write(writer, text.data() + at, text.size() - at);
      ASSERT_GT(done, 0);
      at += static_cast<std::size_t>(done);
    }
  }
  /// Waits until the import has registered part of the first half; it then waits for more.
  void let_it_begin(const Program& import) const {
    write(list(0, rows / 2));
    ASSERT_TRUE(eventually([&] { return registered() > 0; })) << import.err();
  }
  int registered() const { return std::atoi(world.redis_text({"SCARD", "feeds"}).c_str()); }

  void expect_some() const {
    EXPECT_GT(registered(), 0);
    EXPECT_LT(registered(), rows);
    EXPECT_EQ(found_by_verify(world.redis.admin_url()), "");
  }
  void expect_that_a_repetition_completes_it() const {
    const int before = registered();
    const std::filesystem::path file = world.redis.directory() / "urls.txt";
    {
      const int to = ::open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
      const std::string text = list(0, rows);
      EXPECT_EQ(::write(to, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      ::close(to);
    }
    const Finished again = world.run({"import", file.string()});
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_EQ(again.out, "added " + std::to_string(rows - before) + ", present " + std::to_string(before) +
                             ", repaired 0, refused 0, merged 0\n");
    EXPECT_EQ(registered(), rows);
    EXPECT_EQ(world.redis_text({"ZCARD", "schedule"}), std::to_string(rows));
    EXPECT_EQ(world.redis_text({"ZCARD", "state:feeds"}), std::to_string(rows));
    EXPECT_EQ(world.redis_text({"HGET", "stats:feeds:states", "new"}), std::to_string(rows));
    EXPECT_EQ(found_by_verify(world.redis.admin_url()), "");
  }

  World world;
  std::string pipe = (world.redis.directory() / "pipe").string();
  int writer = -1;
};

TEST_F(Imports, ThatAreInterruptedAreCompletedByARepetition) {
  Program import({"import", pipe}, world.environment);
  ASSERT_NO_FATAL_FAILURE(let_it_begin(import));
  import.signal(SIGINT);
  EXPECT_EQ(import.wait().exit, 130);
  expect_some();
  expect_that_a_repetition_completes_it();
}

TEST_F(Imports, ThatAreKilledAreCompletedByARepetition) {
  Program import({"import", pipe}, world.environment);
  ASSERT_NO_FATAL_FAILURE(let_it_begin(import));
  import.signal(SIGKILL);
  EXPECT_EQ(import.wait().exit, -SIGKILL);
  expect_some();
  expect_that_a_repetition_completes_it();
}

TEST_F(Imports, ThatLoseTheirRedisAreCompletedByARepetition) {
  Program import({"import", pipe}, world.environment);
  ASSERT_NO_FATAL_FAILURE(let_it_begin(import));
  world.redis.kill();
  write(list(rows / 2, rows / 2 + 1'000));  // as much as fits into the pipe unread
  ::close(std::exchange(writer, -1));
  const Finished failed = import.wait();
  EXPECT_EQ(failed.exit, 69) << failed.err;
  EXPECT_NE(failed.err.find("Redis does not answer"), std::string::npos) << failed.err;
  world.redis.start();
  expect_some();
  expect_that_a_repetition_completes_it();
}

}  // namespace
}  // namespace feedmill::test::import_test
