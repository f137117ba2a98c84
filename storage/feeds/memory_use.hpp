// Redis memory of feeds and posts, measured on a sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "storage/store/store.hpp"

namespace feedmill {

/// Means over the sampled feeds; sizes in bytes, with all that Redis allocates for them. Without channels.
struct MemoryUse {
  std::size_t feeds = 0, posts = 0;  ///< measured
  double posts_a_feed = 0;           ///< stored
  double feed_bytes = 0;             ///< of a feed without its posts
  double post_bytes = 0;             ///< of a post: its hash, and its places in the feed's indexes
  double values_bytes = 0;           ///< of post_bytes, the publisher's fields (entry_bytes())
  double packed_post_bytes = 0;      ///< of a post if Redis stored its hash as a listpack
  std::uint64_t shared_bytes = 0;    ///< of the event stream, the scripts and the server itself

  /// Share of a post's memory that listpacks would save, 0 to 1.
  double saved_by_packing() const {
    return post_bytes > packed_post_bytes ? (post_bytes - packed_post_bytes) / post_bytes : 0;
  }
  /// Whether a store of so many feeds should be packed: a tenth of the memory of 10,000 posts or more.
  bool is_worth_packing(std::uint64_t stored_feeds) const {
    return posts_a_feed * static_cast<double>(stored_feeds) >= 10'000 && saved_by_packing() >= 0.1;
  }
};

/// Measures these feeds and 6 posts of each with MEMORY USAGE: about 30 commands a feed, pipelined; reads no texts.
/// Feeds that are not stored count as empty.
StoreResult<MemoryUse> memory_use(Store& store, std::span<const std::string> feed_urls);

/// A sample of all feeds that are added, each as likely as the others; the same for the same feeds.
class FeedSample {
 public:
  explicit FeedSample(std::size_t most = 100) : most_(most) {}

  void add(const std::string& feed_url);
  std::vector<std::string> urls() const;

 private:
  std::size_t most_;
  std::map<std::uint64_t, std::string> lowest_;  // by hash
};

}  // namespace feedmill
