// Whom an event concerns, among all subscribers there are: looked up, not tried one after the other. Pure.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "storage/push_out/subscribers.hpp"
#include "worker/push_out/outside_event.hpp"

namespace feedmill {

class ConcernedIndex {
 public:
  /// Knows of what changed, in the order in which it was read.
  void take(const SubscriberChanges& changes);

  /// The ids of those whom it concerns; in no order, each once.
  std::vector<std::string> of(const OutsideEvent& event) const;

  /// Those of everybody.
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
