// Index of subscribers by the events they receive, so that an event need not be tested against each of them. Pure.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "storage/queues/subscribers.hpp"
#include "worker/push_out/outside_event.hpp"

namespace feedmill {

class ConcernedIndex {
 public:
  /// Applies changes; call in the order in which they were read.
  void take(const SubscriberChanges& changes);

  /// The subscribers that match an event, by id; unordered, without duplicates.
  struct Concerned {
    std::vector<std::string> told;
    std::vector<std::string> withheld;  ///< not told because the feed is private
  };
  Concerned of(const OutsideEvent& event) const;

  /// Ids of all subscribers.
  std::vector<std::string> all() const;
  std::size_t size() const { return rows_.size(); }

 private:
  using Ids = std::unordered_set<std::string>;

  void forget(const std::string& id);

  std::unordered_map<std::string, SubscriberChanges::Row> rows_;
  std::unordered_map<std::string, Ids> of_feed_, of_channel_;
  Ids of_all_;
};

}  // namespace feedmill
