// A redis-server with a clock that stands still until a test advances it: weeks of gates and schedules take seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/mman.h>

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/redis_server.hpp"

namespace feedmill::test {

class ClockedRedis {
 public:
  explicit ClockedRedis(std::chrono::milliseconds begin) {
    std::string path = (std::filesystem::temp_directory_path() / "feedmill-clock-XXXXXX").string();
    const int fd = mkstemp(path.data());
    if (fd < 0 || ftruncate(fd, sizeof(std::int64_t)) != 0) std::abort();
    clock_ = static_cast<std::atomic<std::int64_t>*>(
        mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
    path_ = path;
    set(begin);
    setenv("SET_CLOCK", path.c_str(), 1);
    setenv("LD_PRELOAD", FEEDMILL_SET_CLOCK, 1);
    server_ = std::make_unique<RedisServer>(std::vector<std::string>{"--loglevel", "warning"});  // not reused
    unsetenv("LD_PRELOAD");
    unsetenv("SET_CLOCK");
  }
  ~ClockedRedis() {
    server_.reset();
    munmap(clock_, sizeof(std::int64_t));
    std::filesystem::remove(path_);
  }
  ClockedRedis(const ClockedRedis&) = delete;
  ClockedRedis& operator=(const ClockedRedis&) = delete;

  void set(std::chrono::milliseconds now) { clock_->store(now.count() * 1000); }
  const RedisServer& server() const { return *server_; }

 private:
  std::filesystem::path path_;
  std::atomic<std::int64_t>* clock_ = nullptr;
  std::unique_ptr<RedisServer> server_;
};

}  // namespace feedmill::test
