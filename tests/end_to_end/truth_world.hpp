// A world whose publisher keeps account: feeds that are registered, imported and followed, and the invariants after
// every crash (RELIABILITY §2, §4).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/end_to_end/program.hpp"
#include "tests/support/ground_truth.hpp"
#include "tests/support/store_witness.hpp"

namespace feedmill::test {

/// Arguments of a Redis that outlives its own death. `sync`: "everysec" or "always".
std::vector<std::string> durable(const std::string& sync);

/// A lease and what must fit into it; in milliseconds.
Environment lease(int ms);

/// What `feedmill verify` finds in a store, a line each; "" when nothing is wrong (RELIABILITY §2, V).
std::string found_by_verify(const std::string& redis_url);

class TruthWorld {
 public:
  /// Redis gets these extra arguments. A feed is due again an hour after each refresh.
  explicit TruthWorld(const std::vector<std::string>& redis_arguments, GroundTruth::Options options = {});

  /// Registers feeds with so many posts each and follows them all in the channel "all".
  void add_feeds(std::size_t feeds, std::size_t posts);
  /// The same, and reads them for the first time.
  void import(std::size_t feeds, std::size_t posts);
  /// Each feed gets a new post and an edit; all are due.
  void bring_news();
  void make_all_due();
  /// Makes those feeds due that no worker has claimed.
  void make_some_due();
  /// Kills Redis and starts it again.
  void restart_redis();
  /// The right to deliver of a worker that was killed would last 30 s (RELIABILITY L14).
  void forget_delivery_right();

  /// Waits until a running worker has caught up with the publisher; then, and from then on, all invariants hold: what
  /// is wrong, "" when nothing is.
  std::string wrongs_once_caught_up();
  std::string wrongs_now(Stage stage);
  /// Feeds asked more often than `times` since the import, or without validators: a line each (RELIABILITY I8).
  std::string impolite(std::size_t times) const;

  World world;
  GroundTruth truth;

 private:
  std::vector<std::string> urls() const;

  std::vector<std::size_t> asked_;  // up to the import
};

}  // namespace feedmill::test
