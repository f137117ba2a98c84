// Runs the feedmill program as a user or a service manager would.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

#include "storage/records/stream_records.hpp"
#include "storage/store/store.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/redis_server.hpp"

namespace feedmill::test {

using Environment = std::map<std::string, std::string>;

struct Finished {
  int exit = -1;  ///< exit code, or -signal
  std::string out, err;
  std::uint64_t peak_bytes = 0;  ///< peak resident memory
};

/// A process of the program; killed on destruction.
class Program {
 public:
  /// Output goes to files, so that the process never blocks on us. `limits`: shell commands run before the program,
  /// such as "ulimit -n 256". `path`: a program to run instead; "" = feedmill.
  Program(const std::vector<std::string>& arguments, const Environment& environment, const std::string& limits = "",
          const std::string& path = "");
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Whether the process has ended.
  bool ended() const;
  /// Waits up to half a minute for the process to stop itself (SIGSTOP); returns whether it did.
  bool stopped() const;
  /// Waits for the process to end; kills it after a minute.
  Finished wait();
  /// Output so far.
  std::string out() const;
  std::string err() const;

 private:
  std::filesystem::path directory_;
  pid_t pid_ = -1;
};

/// The number of occurrences of `what` in `text`.
std::size_t count_of(const std::string& text, const std::string& what);

/// host:port of the first listener that a worker's log names, waiting for it; "" if none appears.
std::string listening_at(const Program& worker);

/// Head and body of the response to a GET.
std::string get(const std::string& host_and_port, const std::string& target);

/// A real Redis, a real origin, and an environment in which feedmill may talk to both.
class World {
 public:
  /// `redis_arguments`: as for RedisServer.
  explicit World(const std::vector<std::string>& redis_arguments = {});

  Finished run(const std::vector<std::string>& arguments, const Environment& more = {}) const;
  Environment with(const Environment& more) const;
  std::string redis_text(const std::vector<std::string>& words) const { return redis_command(redis, words); }
  std::vector<EventRecord> signals();
  /// The number of events of a type in the stream.
  std::size_t count(const std::string& type);

  RedisServer redis;
  HttpServer http;
  Store store;
  Environment environment;
};

/// An RSS document with these posts, newest first, given as guid and title.
std::string rss(const std::vector<std::pair<std::string, std::string>>& posts, const std::string& title = "Feed");

}  // namespace feedmill::test
