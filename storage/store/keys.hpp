// The one place that builds keys (DESIGN §3); storage/lua/shared holds the same names for what scripts build
// themselves.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace feedmill {

/// How the names of keys end that begin with a feed's URL: no URL may end so itself.
inline constexpr std::array<std::string_view, 4> feed_key_endings{":sort", ":guidmap", ":digests", ":tombs"};

/// Key names: <key_prefix><partition prefix><name>. The prefix of a partition is "{<tag>}:" (partition.hpp), which puts
/// all its keys into one slot of a cluster (RELIABILITY L26, L27); on one server a store of one partition has none.
class Keys {
 public:
  explicit Keys(std::string key_prefix, const std::string& partition_prefix = "")
      : key_prefix_(std::move(key_prefix)),
        prefix_(key_prefix_ + partition_prefix),
        signals_(prefix_ + "stream:signals") {}
  /// Of what is of all partitions together: the one stream of their events, which no prefix of a partition stands
  /// before, and in its slot what belongs to it (RELIABILITY L28).
  static Keys of_all(const std::string& key_prefix) {
    Keys keys(key_prefix);
    keys.prefix_ = "{" + keys.signals_ + "}:";
    return keys;
  }

  /// What stands before every key.
  const std::string& prefix() const { return prefix_; }
  /// What stands before every pub/sub channel: the deployment's prefix alone.
  const std::string& channel_prefix() const { return key_prefix_; }

  std::string entry_counter() const { return prefix_ + "ids:Entry"; }
  std::string feeds() const { return prefix_ + "feeds"; }
  /// The registered feeds in the order of their URLs (RELIABILITY L22).
  std::string feeds_by_url() const { return prefix_ + "state:feeds"; }
  std::string schedule() const { return prefix_ + "schedule"; }
  /// When the first may start of each line of feeds that wait for their hosts (HTTP H1).
  std::string lines() const { return prefix_ + "lines"; }
  std::string line(std::string_view gate) const { return join("line:", gate); }
  const std::string& signals() const { return signals_; }
  /// Of all partitions: how far each has been copied into the one stream.
  std::string merged_places() const { return prefix_ + "merged"; }
  std::string feed_states() const { return prefix_ + "stats:feeds:states"; }
  std::string push_states() const { return prefix_ + "stats:websub:states"; }
  std::string requests() const { return prefix_ + "stream:requests"; }
  std::string requests_set_aside() const { return prefix_ + "state:requests:poison"; }
  /// The answer to a request that was asked under a ref of its program's.
  std::string request_answer(std::string_view app, std::string_view ref) const {
    return join(join("state:request:", app, ":").substr(prefix_.size()), ref);
  }
  std::string store() const { return prefix_ + "meta:store"; }
  /// Feeds whose removal has begun and not ended (RELIABILITY L17).
  std::string removals() const { return prefix_ + "state:removals"; }
  /// Feeds that an import is bringing back, by the time of its last step (RELIABILITY S15).
  std::string imports() const { return prefix_ + "state:imports"; }
  /// Words that a feed has become due, and not by its schedule: one wakes one worker.
  std::string wake() const { return prefix_ + "state:wake"; }
  std::string workers() const { return prefix_ + "state:workers"; }
  /// Never exists; declared by every script so that a migrating slot refuses it up front (RELIABILITY L4).
  std::string none() const { return prefix_ + "none"; }

  /// What the ids of entries begin with.
  std::string entries() const { return prefix_ + "Entry:"; }
  std::string worker(std::string_view id) const { return join("state:worker:", id); }
  std::string host(std::string_view host) const { return join("state:host:", host); }
  /// Hosts that back off, by the end of that.
  std::string open_circuits() const { return prefix_ + "state:hosts:closed"; }
  /// Who does what one does for all.
  std::string lock(std::string_view what) const { return join("lock:", what); }
  /// Written by `doctor` to see whether it may, and as a mark behind which all writes before it are durable.
  std::string trial(std::string_view id) const { return join("state:trial:", id); }
  std::string feed(std::string_view feed_url) const { return join("Feed:", feed_url); }
  std::string feed_state(std::string_view feed_url) const { return join("state:feed:", feed_url); }
  /// A subscription, by the hash of its callback's token: no list of keys tells a path (SECURITY W2).
  std::string callback(std::string_view hash) const { return join("websub:callback:", hash); }
  /// Steps of refreshes that somebody follows.
  std::string trace(std::string_view feed_url) const { return join("state:trace:", feed_url); }
  std::string sort(std::string_view feed_url) const { return join(feed_url, ":sort"); }
  std::string guidmap(std::string_view feed_url) const { return join(feed_url, ":guidmap"); }
  std::string digests(std::string_view feed_url) const { return join(feed_url, ":digests"); }
  std::string tombs(std::string_view feed_url) const { return join(feed_url, ":tombs"); }
  /// What its last document held (storage/records/stored_items.hpp).
  std::string items(std::string_view feed_url) const { return join("state:items:", feed_url); }
  std::string volatile_parts(std::string_view feed_url) const { return join("state:volatile:", feed_url); }

  // What deliver derives from posts. No two of these meet, whatever a channel or a user is called: each name stands
  // between a beginning and an ending of its own.
  std::string channels() const { return prefix_ + "channels"; }
  std::string channel_order(std::string_view uid) const { return join("channel_sortorder_", uid); }
  std::string channel_feeds(std::string_view uid) const { return join("channel:", uid, ":feeds"); }
  std::string channel_read(std::string_view uid) const { return join("channel:", uid, ":read"); }
  std::string timeline(std::string_view uid) const { return join("zchannel:", uid, ":posts"); }
  /// All posts of a channel, read or not; and which have fallen off that, by channel.
  std::string channel_index(std::string_view uid) const { return join("zchannel:", uid, ":all"); }
  std::string channel_floors() const { return prefix_ + "channel_floors"; }
  /// The index of stories (RELIABILITY L20): how far it is built, and its shards.
  std::string stories() const { return prefix_ + "channel_same"; }
  std::string story_posts(std::size_t shard) const { return join("channel_same:posts:", std::to_string(shard)); }
  std::string story_pages(std::size_t shard) const { return join("channel_same:pages:", std::to_string(shard)); }
  /// The channels that hold a feed.
  std::string holders(std::string_view feed_url) const { return join("state:channels:", feed_url); }
  std::string notice_order(std::string_view user) const { return join("list:notification:user_id:", user); }
  std::string notices(std::string_view user) const { return join("hash:notification:user_id:", user); }
  std::string watches(std::string_view user) const { return join("state:watches:", user); }
  std::string watchers() const { return prefix_ + "state:watchers"; }
  std::string watch_version() const { return prefix_ + "state:watch_version"; }
  std::string channels_gone() const { return prefix_ + "state:channels_gone"; }
  std::string hosts() const { return prefix_ + "conf:hosts"; }
  /// How far a target has come with a source partition's stream (RELIABILITY L14).
  std::string delivered(std::string_view target) const { return join("deliver:", target, ":000"); }

  // Who is told of events by POST (storage/lua/shared/push_out.lua says what stands in them).
  std::string subscribers() const { return prefix_ + "push_out:ids"; }
  std::string subscriber(std::string_view id) const { return join("push_out:subscriber:", id); }
  std::string subscribers_of(std::string_view kind, std::string_view name) const {
    return join(join("push_out:of:", kind, ":").substr(prefix_.size()), name);
  }
  std::string subscribers_due() const { return prefix_ + "push_out:due"; }
  std::string subscriber_leases() const { return prefix_ + "push_out:leases"; }
  std::string subscriber_changes() const { return prefix_ + "push_out:changes"; }
  std::string subscribers_gone() const { return prefix_ + "push_out:gone"; }
  std::string subscriber_states() const { return prefix_ + "stats:push_out:states"; }
  std::string subscriber_sites() const { return prefix_ + "push_out:sites"; }
  /// The token of each topic, by its kind and name; what each token stands for, by its hash: no list of keys tells one.
  std::string topics() const { return prefix_ + "push_out:topics"; }
  /// Their kinds and names in order.
  std::string topic_names() const { return prefix_ + "push_out:topic_names"; }
  std::string topic(std::string_view hash) const { return join("push_out:topic:", hash); }

 private:
  std::string join(std::string_view left, std::string_view right, std::string_view end = {}) const {
    std::string key;
    key.reserve(prefix_.size() + left.size() + right.size() + end.size());
    return key.append(prefix_).append(left).append(right).append(end);
  }

  std::string key_prefix_, prefix_, signals_;
};

}  // namespace feedmill
