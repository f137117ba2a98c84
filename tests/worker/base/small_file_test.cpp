#include "worker/base/small_file.hpp"

#include <cstdlib>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include "worker/base/system.hpp"

namespace feedmill::small_file_test {
namespace {

namespace fs = std::filesystem;

class SmallFiles : public testing::Test {
 protected:
  SmallFiles() {
    std::string pattern = (fs::temp_directory_path() / "feedmill-files-XXXXXX").string();
    home = ::mkdtemp(pattern.data());
  }
  ~SmallFiles() override { fs::remove_all(home); }

  fs::path home;
};

/// SECURITY E11.
TEST_F(SmallFiles, ThatAreNotRegularAreNotRead) {
  ASSERT_EQ(::mkfifo((home / "fifo").c_str(), 0600), 0);
  fs::create_symlink(home / "fifo", home / "link");
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{AF_UNIX, {}};
  (home / "socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const fs::path& file : {home / "fifo", home / "link", home / "socket", home, fs::path("/dev/zero"),
                               fs::path("/dev/null"), fs::path("/dev/tty")}) {
    const auto content = read_regular_file(file, 100);
    ASSERT_FALSE(content) << file;
    EXPECT_EQ(content.error(), "the file cannot be read: it is not a regular file") << file;
  }
  EXPECT_FALSE(read_regular_file(home / "none", 100));
}

TEST_F(SmallFiles, AreReadUpToTheirBound) {
  std::ofstream(home / "file") << "12345";
  fs::create_symlink(home / "file", home / "link");
  EXPECT_EQ(*read_regular_file(home / "file", 5), "12345");
  EXPECT_EQ(*read_regular_file(home / "link", 5), "12345");
  EXPECT_FALSE(read_regular_file(home / "file", 4));
}

}  // namespace
}  // namespace feedmill::small_file_test
