// The stores of a deployment (RELIABILITY L27).
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "storage/store/store.hpp"

namespace feedmill {

/// All partitions of a deployment, in their order, or a single store, which may be one of the partitions. The stores
/// outlive this.
class Deployment {
 public:
  explicit Deployment(Store& store) : stores_{&store} {}
  explicit Deployment(std::vector<Store*> stores) : stores_(std::move(stores)) {}

  /// Partitions of the deployment, whether they are here or not.
  unsigned partitions() const { return front().partition().count; }
  std::span<Store* const> stores() const { return stores_; }
  Store& front() const { return *stores_.front(); }

  /// Null if it is not here.
  Store* at(unsigned partition) const {
    if (stores_.size() > 1) return stores_.at(partition);
    return front().partition().index == partition ? stores_.front() : nullptr;
  }
  /// Likewise.
  Store* with_feed(std::string_view feed_url) const { return at(partition_of(feed_url, partitions())); }
  /// The home of a name among `stores()` (home_of_channel(), home_of_user()); a single store is that of everything.
  Store& home(unsigned partition) const { return stores_.size() > 1 ? *stores_.at(partition) : front(); }

  /// What `work(store)` returns for each store, in their order; the first error.
  template <class Work, class Found = typename std::invoke_result_t<Work, Store&>::value_type>
  StoreResult<std::vector<Found>> each(Work work) const {
    std::vector<Found> all;
    all.reserve(stores_.size());
    for (Store* const store : stores_) {
      auto found = work(*store);
      if (!found) return found.error();
      all.push_back(std::move(*found));
    }
    return all;
  }
  /// What `work(store, names)` returns for the feeds of each store, in the order of `urls`; the first error.
  template <class Work>
  auto of_feeds(std::span<const std::string> urls, Work work) const {
    return in_order(shares_of(urls, count()), urls, work);
  }
  /// Likewise for entries.
  template <class Work>
  auto of_entries(std::span<const std::string> ids, Work work) const {
    return in_order(shares_of_entries(ids, count()), ids, work);
  }

 private:
  unsigned count() const { return static_cast<unsigned>(stores_.size()); }

  template <class Work, class Result = std::invoke_result_t<Work, Store&, const std::vector<std::string>&>>
  Result in_order(const std::map<unsigned, std::vector<std::size_t>>& shares, std::span<const std::string> names,
                  Work work) const {
    typename Result::value_type all(names.size());
    for (const auto& [partition, places] : shares) {
      std::vector<std::string> own;
      for (const std::size_t place : places) own.push_back(names[place]);
      auto found = work(*stores_[partition], own);
      if (!found) return found.error();
      for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move((*found)[i]);
    }
    return all;
  }

  std::vector<Store*> stores_;
};

// Answers of the store as values or exceptions, for code with many calls that are refused as one.

/// Thrown if the store fails or does not answer.
struct StoreFailure {
  StoreError error;
};

/// The store's answer. Throws StoreFailure.
template <class T>
T answered(StoreResult<T> answer) {
  if (answer.has_error()) throw StoreFailure{answer.error()};
  if constexpr (!std::is_void_v<T>) return std::move(*answer);
}

}  // namespace feedmill
