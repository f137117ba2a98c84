// A World with a GroundTruth publisher: feeds that are registered, imported and followed, and the invariants that hold
// after every crash (RELIABILITY §2, §4).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/end_to_end/program.hpp"
#include "tests/support/ground_truth.hpp"
#include "tests/support/store_witness.hpp"

namespace feedmill::test {

/// Arguments for a Redis that keeps its data when killed. `sync`: appendfsync, "everysec", or "always" with packed
/// hashes, so that both layouts of a store are killed.
std::vector<std::string> durable(const std::string& sync);

/// Settings for a lease of `ms` milliseconds and everything that must fit into it.
Environment lease(int ms);

/// Faults that `feedmill verify` finds in a store, a line each; "" if there are none (RELIABILITY §2, V).
std::string found_by_verify(const std::string& redis_url);

class TruthWorld {
 public:
  /// Redis gets the extra arguments. A feed becomes due an hour after each refresh.
  explicit TruthWorld(const std::vector<std::string>& redis_arguments, GroundTruth::Options options = {});

  /// Registers feeds with `posts` posts each and follows them all in the channel "all".
  void add_feeds(std::size_t feeds, std::size_t posts);
  /// Adds feeds as add_feeds() does, and fetches them for the first time.
  void import(std::size_t feeds, std::size_t posts);
  /// Publishes a new post and an edit in each feed, and makes all feeds due.
  void bring_news();
  void make_all_due();
  /// Makes the feeds due that no worker has claimed.
  void make_some_due();
  /// Kills and restarts Redis.
  void restart_redis();
  /// Deletes the delivery lock of a killed worker, which would last 30 s (RELIABILITY L14).
  void forget_delivery_right();

  /// Waits until a running worker has caught up with the publisher, then checks all invariants; returns the faults, ""
  /// if there are none.
  std::string wrongs_once_caught_up();
  std::string wrongs_now(Stage stage);
  /// Feeds requested more than `times` times since the import, or without validators, a line each (RELIABILITY I8).
  std::string impolite(std::size_t times) const;

  World world;
  GroundTruth truth;

 private:
  std::vector<std::string> urls() const;
  /// Makes feeds due that failed last, instead of in an hour; returns whether there are any. A busy machine may need
  /// longer than the short fetch.wall of these tests, above all where a redirect shares it.
  bool wake_failed();

  std::vector<std::size_t> asked_;  // requests per feed up to the import
};

}  // namespace feedmill::test
