// Where to look up the feeds of an event stream: in the stream's own store or, for the merged stream of all partitions
// (RELIABILITY L28), in each feed's partition.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "storage/store/partition.hpp"
#include "storage/store/store.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

/// Access to the stores with the feeds of an event stream.
struct FeedHomes {
  unsigned partitions = 1;
  /// Runs `work(store)` on a partition's store, off the loop; ends within the store's timeout.
  std::function<boost::asio::awaitable<void>(unsigned partition, std::function<void(Store&)> work)> at;

  /// Calls `read(store, urls)` for the feeds of each partition. Returns all values in the order of `urls`, or the first
  /// error.
  template <class Read, class Values = std::invoke_result_t<Read, Store&, std::span<const std::string>>>
  boost::asio::awaitable<Values> of_feeds(std::vector<std::string> urls, Read read) const {
    const auto shares = shares_of(urls, partitions);
    typename Values::value_type all(urls.size());
    for (const auto& [partition, places] : shares) {
      std::vector<std::string> share;
      for (const std::size_t place : places) share.push_back(urls[place]);
      Values found = typename Values::value_type();
      co_await at(partition, [&](Store& store) { found = read(store, share); });
      if (!found) co_return found.error();
      for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move((*found)[i]);
    }
    co_return all;
  }
};

/// For a stream with all its feeds in the store of `calls`, which must outlive the result.
inline FeedHomes all_in(StoreCalls& calls) {
  FeedHomes homes;
  homes.at = [&calls](unsigned, std::function<void(Store&)> work) { return calls.call(std::move(work)); };
  return homes;
}

}  // namespace feedmill
