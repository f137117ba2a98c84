// A store's feeds as a list of subscriptions, part by part (OPERATIONS O6, A8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/store/store.hpp"
#include "worker/lists/subscriptions.hpp"

namespace feedmill {

/// OPML of all feeds, or of those in a user's channels, in the order of channels' and feeds' names: first each channel
/// as a folder, then, without a user, the feeds that are in none. What is there all the while is in it. Holds a stretch
/// of names and a few feeds.
class Export {
 public:
  /// `user`: whose, without their USER/; "" = all. `stores`: how many there are, the partitions of a deployment.
  explicit Export(std::string user, std::size_t stores = 1);

  /// The next part; may be empty. A bounded step over the store at(). Not to be called once it has ended().
  StoreResult<std::string> next(Store& store);
  /// Which store is to be asked next.
  std::size_t at() const { return at_; }
  bool ended() const { return stage_ == Stage::ended; }

 private:
  enum class Stage { head, channels, rest, ended };
  /// Names behind one another, of which a stretch is held.
  struct Names {
    std::vector<std::string> held;  // the next one last
    std::string after;
    bool all = false;
  };

  /// Sees to it that the next one is held, unless that was the last. `more` hands out `at_once` behind a name.
  template <class More>
  static StoreResult<void> hold(Names& names, std::size_t at_once, More more);
  /// The next few of them; empty at the end.
  template <class More>
  static StoreResult<std::vector<std::string>> take(Names& names, std::size_t most, std::size_t at_once, More more);
  StoreResult<void> choose_channel(Store& store);
  StoreResult<void> write_channel(Store& store);
  StoreResult<void> write_rest(Store& store);
  void end();

  std::string user_;
  std::size_t at_ = 0;
  Stage stage_ = Stage::head;
  std::vector<Names> channels_;         // of each store
  std::optional<std::string> channel_;  // the one under way
  std::vector<std::size_t> holders_;    // stores that have a part of it, the first last
  Names feeds_;                         // of `channel_` at a store, then of a store
  std::optional<SubscriptionsWriter> writer_;
};

}  // namespace feedmill
