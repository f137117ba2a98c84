// The feedmill program as a person or a service manager runs it.
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
  std::uint64_t peak_bytes = 0;  ///< most memory that it had in RAM at once
};

/// A process of the program; killed with the object.
class Program {
 public:
  /// Its output goes to files, so that it never waits for us. `limits`: what a shell does before it becomes the
  /// program, as "ulimit -n 256". `path`: another program, "" = feedmill.
  Program(const std::vector<std::string>& arguments, const Environment& environment, const std::string& limits = "",
          const std::string& path = "");
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Whether it has ended.
  bool ended() const;
  /// Waits until it has stopped itself (SIGSTOP), for half a minute at most; false when it did not.
  bool stopped() const;
  /// Waits for its end, for a minute at most.
  Finished wait();
  /// Its output so far.
  std::string out() const;
  std::string err() const;

 private:
  std::filesystem::path directory_;
  pid_t pid_ = -1;
};

/// The number of occurrences of `what` in `text`.
std::size_t count_of(const std::string& text, const std::string& what);

/// host:port of a worker's listener, from its log.
std::string listening_at(const Program& worker);

/// Head and body of the answer to a GET.
std::string get(const std::string& host_and_port, const std::string& target);

/// A real Redis, a real origin, and an environment in which feedmill may talk to both.
class World {
 public:
  /// `redis`: arguments of its server, as of RedisServer.
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

/// An RSS document with these posts, newest first: guid and title.
std::string rss(const std::vector<std::pair<std::string, std::string>>& posts, const std::string& title = "Feed");

}  // namespace feedmill::test
