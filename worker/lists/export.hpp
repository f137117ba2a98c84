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
/// as a folder, then, without a user, the feeds that are in none; of several stores one after the other. What is there
/// all the while is in it. Holds a stretch of names and a few feeds.
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

  /// The next few of them; empty at the end. `more` hands out `at_once` behind a name.
  template <class More>
  static StoreResult<std::vector<std::string>> take(Names& names, std::size_t most, std::size_t at_once, More more);
  StoreResult<void> write_channels(Store& store);
  StoreResult<void> write_rest(Store& store);
  void end_store();

  std::string user_;
  std::size_t stores_, at_ = 0;
  Stage stage_ = Stage::head;
  Names channels_, feeds_;  // feeds of `channel_`, then all
  std::optional<std::string> channel_;
  std::optional<SubscriptionsWriter> writer_;
};

}  // namespace feedmill
