// Figures for which every feed must be looked at: taken a few feeds at a time, round after round.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "storage/store.hpp"

namespace feedmill {

/// Of a whole round (OPERATIONS §3).
struct SurveyFigures {
  std::uint64_t hosts_backing_off = 0;  ///< groups of hosts count as one
  /// Since the last success of the healthy feed that had none for longest; 0 when there is no healthy feed.
  std::chrono::duration<double> oldest_success_age{};

  bool operator==(const SurveyFigures&) const = default;
};

/// One walk over all feeds after another. A step looks at about 2,000, so that it never keeps the store busy for long:
/// as many feeds have new figures with each step, a million within 500 of them.
class Survey {
 public:
  /// Blocking. The figures of the round that ends with this step; nothing while it is under way, or when the store
  /// fails: then the round begins anew. `groups`: names of the groups of hosts, which have a gate of their own (HTTP
  /// H7).
  std::optional<SurveyFigures> step(Store& store, const std::vector<std::string>& groups);

 private:
  StoreResult<bool> look_at_some(Store& store, const std::vector<std::string>& groups);

  std::string cursor_ = "0";
  std::unordered_set<std::size_t> hosts_;  // hashes of those looked at in this round
  std::uint64_t backing_off_ = 0;
  Milliseconds now_{};
  std::optional<Milliseconds> oldest_;
};

}  // namespace feedmill
