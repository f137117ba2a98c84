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

/// All partitions of a deployment, in order, or a single store, which may be one of the partitions. The stores must
/// outlive this object.
class Deployment {
 public:
  explicit Deployment(Store& store) : stores_{&store} {}
  explicit Deployment(std::vector<Store*> stores) : stores_(std::move(stores)) {}

  /// Number of partitions in the deployment, whether or not their stores are here.
  unsigned partitions() const { return front().partition().count; }
  std::span<Store* const> stores() const { return stores_; }
  Store& front() const { return *stores_.front(); }

  /// The store of a partition; null if it is not here.
  Store* at(unsigned partition) const {
    if (stores_.size() > 1) return stores_.at(partition);
    return front().partition().index == partition ? stores_.front() : nullptr;
  }
  /// The store of the feed with this canonical URL; null if it is not here.
  Store* with_feed(std::string_view feed_url) const { return at(partition_of(feed_url, partitions())); }
  /// The store of a home partition (home_of_channel(), home_of_user()); a single store is home to everything.
  Store& home(unsigned partition) const { return stores_.size() > 1 ? *stores_.at(partition) : front(); }

  /// Calls `work(store)` for each store, in order. Returns the results, or the first error.
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
  /// Calls `work(store, urls)` with each store's share of `urls`. Returns the results in the order of `urls`, or the
  /// first error.
  template <class Work>
  auto of_feeds(std::span<const std::string> urls, Work work) const {
    return in_order(shares_of(urls, count()), urls, work);
  }
  /// Calls `work(store, ids)` with each store's share of the entry ids. Returns the results in the order of `ids`, or
  /// the first error.
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

// Unwraps store results into values or an exception, for code that makes many calls and treats any failure alike.

/// Thrown by answered() if the store fails or does not answer.
struct StoreFailure {
  StoreError error;
};

/// The value of a result. Throws StoreFailure if it is an error.
template <class T>
T answered(StoreResult<T> answer) {
  if (answer.has_error()) throw StoreFailure{answer.error()};
  if constexpr (!std::is_void_v<T>) return std::move(*answer);
}

}  // namespace feedmill
