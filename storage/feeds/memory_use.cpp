#include "storage/feeds/memory_use.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <xxhash.h>

#include "parsers/text/strings.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::uint64_t histograms = 900'000;    // of the latency of the commands that we use, from Redis 7 on
constexpr std::int64_t longest_packed = 65'536;  // a larger post may have a value that keeps its hash a table
constexpr double place_in_keyspace = 12;         // of a key in Redis' main table, which MEMORY USAGE leaves out

/// A size as jemalloc rounds it: four classes between two powers of two.
std::uint64_t allocated(std::uint64_t bytes) {
  if (bytes <= 16) return 16;
  const std::uint64_t step = std::max<std::uint64_t>(std::bit_floor(bytes - 1) / 4, 16);
  return (bytes + step - 1) / step * step;
}

/// Size of a post's hash as a listpack, with its key. `own`: the values of `bytes` (entry_bytes()), feed_url and guid.
double packed(ReplyView own, std::int64_t fields, std::size_t key) {
  constexpr std::int64_t header = 7, element = 3, object = 16, place = 32;
  constexpr std::int64_t other_fields = 110;  // names and values of the store's other fields
  const auto texts = static_cast<std::int64_t>(own[1].text().size() + own[2].text().size());
  const std::int64_t list = header + own[0].integer() + texts + other_fields + 2 * fields * element;
  return static_cast<double>(allocated(static_cast<std::uint64_t>(list)) + object + place + allocated(key + 3));
}

double size_of(ReplyView reply) {
  return reply.is_nil() ? 0 : static_cast<double>(reply.integer()) + place_in_keyspace;
}

/// The keys of a feed that grow with its posts.
std::array<std::string, 3> indexes_of(const Keys& keys, const std::string& feed_url) {
  return {keys.sort(feed_url), keys.guidmap(feed_url), keys.items(feed_url)};
}

/// The other keys of a feed.
std::array<std::string, 5> other_keys_of(const Keys& keys, const std::string& feed_url) {
  return {keys.feed(feed_url), keys.feed_state(feed_url), keys.holders(feed_url), keys.volatile_parts(feed_url),
          keys.tombs(feed_url)};
}

/// A feed's mean place in the sets of all feeds.
StoreResult<double> shares_in_sets(Store::Impl& impl) {
  const std::array sets{impl.keys.feeds(), impl.keys.schedule(), impl.keys.feeds_by_url()};
  const std::vector<Words> commands{{"SCARD", sets[0]},           {"ZCARD", sets[1]},
                                    {"ZCARD", sets[2]},           {"MEMORY", "USAGE", sets[0]},
                                    {"MEMORY", "USAGE", sets[1]}, {"MEMORY", "USAGE", sets[2]}};
  const auto replies = impl.pipeline(commands);
  if (!replies) return replies.error();
  double bytes = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto members = static_cast<double>((*replies)[i].integer());
    if (members > 0) bytes += size_of((*replies)[sets.size() + i]) / members;
  }
  return bytes;
}

/// Adds one feed's sizes to `use`, as sums over all of its posts.
StoreResult<void> add_feed(Store::Impl& impl, const std::string& feed_url, MemoryUse& use) {
  const std::array others = other_keys_of(impl.keys, feed_url);
  const std::array indexes = indexes_of(impl.keys, feed_url);
  std::vector<Words> commands{
      {"ZCARD", indexes[0]}, {"ZREVRANGE", indexes[0], "0", "2"}, {"ZRANGE", indexes[0], "0", "2"}};
  for (const std::string& key : others) commands.push_back({"MEMORY", "USAGE", key});
  for (const std::string& key : indexes) commands.push_back({"MEMORY", "USAGE", key});
  const auto replies = impl.pipeline(commands);
  if (!replies) return replies.error();
  ++use.feeds;
  const auto posts = static_cast<double>((*replies)[0].integer());
  use.posts_a_feed += posts;
  for (std::size_t i = 0; i < others.size(); ++i) use.feed_bytes += size_of((*replies)[3 + i]);
  double of_indexes = 0;
  for (std::size_t i = 0; i < indexes.size(); ++i) of_indexes += size_of((*replies)[3 + others.size() + i]);
  std::set<std::string> ids;
  for (const std::size_t end : {1U, 2U}) {
    for (const std::string& id : (*replies)[end].texts()) ids.insert(id);
  }
  commands.clear();
  for (const std::string& id : ids) {
    commands.push_back({"MEMORY", "USAGE", id, "SAMPLES", "0"});
    commands.push_back({"HLEN", id});
    commands.push_back({"HMGET", id, "bytes", "feed_url", "guid"});
  }
  const auto hashes = impl.pipeline(commands);
  if (!hashes) return hashes.error();
  double bytes = 0, values = 0, packed_bytes = 0, measured = 0;
  std::size_t i = 0;
  for (const std::string& id : ids) {
    const ReplyView size = (*hashes)[i++], fields = (*hashes)[i++], own = (*hashes)[i++];
    if (size.is_nil()) continue;
    ++measured;
    bytes += size_of(size);
    values += static_cast<double>(std::max<std::int64_t>(own[0].integer(), 0));
    const bool can_be_packed = own[0].integer() <= longest_packed;
    packed_bytes += can_be_packed ? std::min(size_of(size), packed(own, fields.integer(), id.size())) : size_of(size);
  }
  if (measured == 0) return {};
  use.posts += static_cast<std::size_t>(measured);
  use.post_bytes += of_indexes + posts * bytes / measured;
  use.values_bytes += posts * values / measured;
  use.packed_post_bytes += of_indexes + posts * packed_bytes / measured;
  return {};
}

}  // namespace

StoreResult<MemoryUse> memory_use(Store& store, std::span<const std::string> feed_urls) {
  Store::Impl& impl = store.impl();
  MemoryUse use;
  for (const std::string& feed_url : feed_urls) {
    const auto added = add_feed(impl, feed_url, use);  // keys of the wrong type count as empty
    if (!added && added.error().code != StoreError::Code::refused) return added.error();
  }
  const std::string signals = impl.keys.signals();
  const std::vector<Words> commands{{"MEMORY", "USAGE", signals}, {"INFO", "memory"}};
  const auto replies = impl.pipeline(commands);
  if (!replies) return replies.error();
  use.shared_bytes = histograms + static_cast<std::uint64_t>(size_of((*replies)[0]));
  const auto figure = [&](std::string_view name) {
    return leading_number<std::uint64_t>(info_value((*replies)[1].text(), name));
  };
  const std::uint64_t server = figure("used_memory_startup") + figure("used_memory_scripts");
  const std::uint64_t lua = figure("used_memory_vm_eval");  // part of used_memory from Redis 8 on
  use.shared_bytes += server + (figure("used_memory_overhead") >= server + lua ? lua : 0);
  if (use.feeds == 0) return use;
  const auto shares = shares_in_sets(impl);
  if (!shares && shares.error().code != StoreError::Code::refused) return shares.error();
  const auto feeds = static_cast<double>(use.feeds);
  if (use.posts_a_feed > 0) {
    use.post_bytes /= use.posts_a_feed;
    use.values_bytes /= use.posts_a_feed;
    use.packed_post_bytes /= use.posts_a_feed;
  }
  use.posts_a_feed /= feeds;
  use.feed_bytes = use.feed_bytes / feeds + (shares ? *shares : 0);
  return use;
}

void FeedSample::add(const std::string& feed_url) {
  lowest_.emplace(XXH3_64bits(feed_url.data(), feed_url.size()), feed_url);
  if (lowest_.size() > most_) lowest_.erase(std::prev(lowest_.end()));
}

std::vector<std::string> FeedSample::urls() const {
  std::vector<std::string> urls;
  for (const auto& [hash, feed_url] : lowest_) urls.push_back(feed_url);
  return urls;
}

}  // namespace feedmill
