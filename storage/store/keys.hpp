// The only place that builds keys (DESIGN §3); storage/lua/shared has the names that scripts build themselves.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace feedmill {

/// Endings of the keys that begin with a feed's URL: no feed URL may end with one. ":digests" is of builds before
/// schema 2.
inline constexpr std::array<std::string_view, 4> feed_key_endings{":sort", ":guidmap", ":digests", ":tombs"};

/// Key names: <key_prefix><partition prefix><name>. A partition's prefix is "{<tag>}:" (partition.hpp), which puts all
/// its keys into one slot of a cluster (RELIABILITY L26, L27); a single partition on one server has no prefix.
class Keys {
 public:
  explicit Keys(std::string key_prefix, const std::string& partition_prefix = "")
      : key_prefix_(std::move(key_prefix)),
        prefix_(key_prefix_ + partition_prefix),
        signals_(prefix_ + "stream:signals") {}
  /// Keys of all partitions together: the merged event stream, which has no partition prefix, and related keys in its
  /// slot (RELIABILITY L28).
  static Keys of_all(const std::string& key_prefix) {
    Keys keys(key_prefix);
    keys.prefix_ = "{" + keys.signals_ + "}:";
    return keys;
  }

  /// Common prefix of the keys.
  const std::string& prefix() const { return prefix_; }
  /// Common prefix of the pub/sub channels: only the deployment's.
  const std::string& channel_prefix() const { return key_prefix_; }

  std::string entry_counter() const { return prefix_ + "ids:Entry"; }
  std::string feeds() const { return prefix_ + "feeds"; }
  /// Registered feeds in URL order (RELIABILITY L22).
  std::string feeds_by_url() const { return prefix_ + "state:feeds"; }
  std::string schedule() const { return prefix_ + "schedule"; }
  /// The lines (queues of due feeds that wait for a host), scored by each line's earliest possible start (HTTP H1).
  std::string lines() const { return prefix_ + "lines"; }
  /// The line of one gate: the feeds in it, scored by their due time.
  std::string line(std::string_view gate) const { return join("line:", gate); }
  const std::string& signals() const { return signals_; }
  /// How far each partition is copied into the merged stream; only in the keys of_all().
  std::string merged_places() const { return prefix_ + "merged"; }
  std::string feed_states() const { return prefix_ + "stats:feeds:states"; }
  /// Feeds in a state other than healthy, scored by when they entered it.
  std::string feeds_in_state(std::string_view state) const { return join("stats:feeds:in:", state); }
  std::string push_states() const { return prefix_ + "stats:websub:states"; }
  std::string requests() const { return prefix_ + "stream:requests"; }
  std::string requests_set_aside() const { return prefix_ + "state:requests:poison"; }
  /// The answer to the request that `app` named `ref`.
  std::string request_answer(std::string_view app, std::string_view ref) const {
    return join(join("state:request:", app, ":").substr(prefix_.size()), ref);
  }
  std::string store() const { return prefix_ + "meta:store"; }
  /// Feeds with a removal that has begun but not finished (RELIABILITY L17).
  std::string removals() const { return prefix_ + "state:removals"; }
  /// Feeds being imported, scored by the time of the last step (RELIABILITY S15).
  std::string imports() const { return prefix_ + "state:imports"; }
  /// Wake-up messages for feeds due ahead of schedule; each message wakes one worker.
  std::string wake() const { return prefix_ + "state:wake"; }
  /// Workers that fetch, scored by the end of their heartbeats; and those that do not.
  std::string workers() const { return prefix_ + "state:workers"; }
  std::string other_workers() const { return prefix_ + "state:workers:other"; }
  /// Never exists; declared by every script so that a migrating slot refuses it up front (RELIABILITY L4).
  std::string none() const { return prefix_ + "none"; }

  /// Common prefix of entry ids.
  std::string entries() const { return prefix_ + "Entry:"; }
  std::string worker(std::string_view id) const { return join("state:worker:", id); }
  std::string host(std::string_view host) const { return join("state:host:", host); }
  /// Hosts in back-off, scored by its end.
  std::string open_circuits() const { return prefix_ + "state:hosts:closed"; }
  /// Locks for work that only one worker does at a time.
  std::string lock(std::string_view what) const { return join("lock:", what); }
  /// Written by `doctor` to test write access, and as a marker to wait until all earlier writes are durable.
  std::string trial(std::string_view id) const { return join("state:trial:", id); }
  std::string feed(std::string_view feed_url) const { return join("Feed:", feed_url); }
  std::string feed_state(std::string_view feed_url) const { return join("state:feed:", feed_url); }
  /// A subscription, named by the hash of its callback's token, so that key lists do not reveal callback paths
  /// (SECURITY W2).
  std::string callback(std::string_view hash) const { return join("websub:callback:", hash); }
  /// Steps of traced refreshes.
  std::string trace(std::string_view feed_url) const { return join("state:trace:", feed_url); }
  std::string sort(std::string_view feed_url) const { return join(feed_url, ":sort"); }
  std::string guidmap(std::string_view feed_url) const { return join(feed_url, ":guidmap"); }
  std::string tombs(std::string_view feed_url) const { return join(feed_url, ":tombs"); }
  /// Digests of the feed's posts, and content hashes of the items in its last document (PackedItems in
  /// storage/records/stored_snapshot.hpp).
  std::string items(std::string_view feed_url) const { return join("state:items:", feed_url); }
  std::string volatile_parts(std::string_view feed_url) const { return join("state:volatile:", feed_url); }

  // Data that delivery derives from posts. Names of channels and users cannot collide: each has its own prefix and
  // suffix.
  std::string channels() const { return prefix_ + "channels"; }
  std::string channel_order(std::string_view uid) const { return join("channel_sortorder_", uid); }
  std::string channel_feeds(std::string_view uid) const { return join("channel:", uid, ":feeds"); }
  std::string channel_read(std::string_view uid) const { return join("channel:", uid, ":read"); }
  /// Titles given to feeds in a channel, by feed URL.
  std::string channel_titles(std::string_view uid) const { return join("channel:", uid, ":titles"); }
  std::string timeline(std::string_view uid) const { return join("zchannel:", uid, ":posts"); }
  /// All posts of a channel, read or not.
  std::string channel_index(std::string_view uid) const { return join("zchannel:", uid, ":all"); }
  /// By channel, the point below which posts were trimmed.
  std::string channel_floors() const { return prefix_ + "channel_floors"; }
  /// The index of stories (RELIABILITY L20): how far it is built, and its shards.
  std::string stories() const { return prefix_ + "channel_same"; }
  std::string story_posts(std::size_t shard) const { return join("channel_same:posts:", std::to_string(shard)); }
  std::string story_pages(std::size_t shard) const { return join("channel_same:pages:", std::to_string(shard)); }
  /// Channels that contain this feed.
  std::string holders(std::string_view feed_url) const { return join("state:channels:", feed_url); }
  std::string notice_order(std::string_view user) const { return join("list:notification:user_id:", user); }
  std::string notices(std::string_view user) const { return join("hash:notification:user_id:", user); }
  std::string watches(std::string_view user) const { return join("state:watches:", user); }
  std::string watchers() const { return prefix_ + "state:watchers"; }
  std::string watch_version() const { return prefix_ + "state:watch_version"; }
  std::string channels_gone() const { return prefix_ + "state:channels_gone"; }
  std::string hosts() const { return prefix_ + "conf:hosts"; }

  // Only workers and operators may read these (SECURITY K7).
  /// Logins of an owner, by their own names, and all owners.
  std::string logins(std::string_view owner) const { return join("secret:logins:", owner); }
  std::string login_owners() const { return prefix_ + "secret:owners"; }
  /// A queued request that uses a login and comes from a token of the API: the hash of its content.
  std::string vouched(std::string_view app, std::string_view ref) const {
    return join(join("secret:asked:", app, ":").substr(prefix_.size()), ref);
  }

  /// A target's position in a source partition's stream (RELIABILITY L14).
  std::string delivered(std::string_view target) const { return join("deliver:", target, ":000"); }

  // Webhooks and hub subscribers (contents: storage/lua/shared/push_out.lua).
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
  /// Each topic's token, by kind and name.
  std::string topics() const { return prefix_ + "push_out:topics"; }
  /// The kinds and names of all topics, in order.
  std::string topic_names() const { return prefix_ + "push_out:topic_names"; }
  /// The titles of topics that have one of their own, by kind and name.
  std::string topic_titles() const { return prefix_ + "push_out:topic_titles"; }
  /// The topic of a token, named by the token's hash, so that key lists do not reveal tokens.
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
