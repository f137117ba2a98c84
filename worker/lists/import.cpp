#include "worker/lists/import.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "storage/feeds/feeds.hpp"
#include "storage/timelines/channels.hpp"

namespace feedmill {
namespace {

constexpr std::size_t list_batch = 500;               // feeds per store call
constexpr std::size_t list_batch_bytes = 64U << 10U;  // attributes and folders of a batch; one larger feed is allowed

/// The feed's name until it has been read.
std::string title_of(const FeedSettings& settings) {
  for (const std::string_view wanted : {"title", "text"}) {
    for (const auto& [name, value] : settings.opml) {
      if (name == wanted && !value.empty()) return value;
    }
  }
  return {};
}

NewFeed new_feed(const Subscription& subscription, const SubscriptionList& list, Milliseconds after) {
  const FeedSettings settings = settings_of(subscription, list);
  NewFeed feed;
  feed.feed_url = subscription.feed_url;
  feed.after = after;
  feed.settings = settings_json(settings);
  feed.title = title_of(settings);
  feed.for_channels = !channels_of(subscription.folders, "").empty();
  return feed;
}

}  // namespace

SubscriptionList share_of(const Store& store, SubscriptionList& list) {
  SubscriptionList share;
  share.namespaces = list.namespaces;
  const auto first = std::stable_partition(list.feeds.begin(), list.feeds.end(), [&](const Subscription& feed) {
    return store.elsewhere(feed.feed_url).has_value();
  });
  std::move(first, list.feeds.end(), std::back_inserter(share.feeds));
  list.feeds.erase(first, list.feeds.end());
  return share;
}

SubscriptionBatch next_batch(const std::deque<Subscription>& feeds, std::size_t begin) {
  std::size_t end = begin;
  for (std::size_t bytes = 0; end < feeds.size() && end < begin + list_batch && bytes < list_batch_bytes; ++end) {
    for (const auto& [name, value] : feeds[end].attributes) bytes += name.size() + value.size();
    for (const auto& path : feeds[end].folders) {
      for (const std::string& folder : path) bytes += folder.size();
    }
  }
  const auto at = [&](std::size_t index) { return feeds.begin() + static_cast<std::ptrdiff_t>(index); };
  return {at(begin), at(end)};
}

StoreResult<std::vector<bool>> add_batch(Store& store, const SubscriptionBatch& batch, const SubscriptionList& list,
                                         std::size_t added, std::uint64_t rate) {
  std::vector<NewFeed> feeds;
  for (const Subscription& subscription : batch) {
    const std::uint64_t wait = rate == 0 ? 0 : (added + feeds.size()) * 1000 / rate;
    feeds.push_back(new_feed(subscription, list, Milliseconds(static_cast<std::int64_t>(wait))));
  }
  return Feeds(store).add(feeds);
}

std::vector<std::string> channels_in(const SubscriptionBatch& batch, std::string_view user) {
  std::vector<std::string> uids;
  std::unordered_set<std::string> known;
  for (const Subscription& subscription : batch) {
    for (std::string& uid : channels_of(subscription.folders, user)) {
      if (known.insert(uid).second) uids.push_back(std::move(uid));
    }
  }
  return uids;
}

StoreResult<void> put_into_channels(Store& store, const SubscriptionBatch& batch, std::string_view user) {
  const std::vector<std::string> uids = channels_in(batch, user);
  std::vector<Membership> memberships;
  for (const Subscription& subscription : batch) {
    for (std::string& uid : channels_of(subscription.folders, user))
      memberships.push_back({std::move(uid), subscription.feed_url});
  }
  if (uids.empty()) return {};
  Channels channels(store);
  if (const auto added = channels.add(uids); !added) return added.error();
  const auto followed = channels.follow(memberships);
  if (!followed) return followed.error();
  for (std::size_t i = 0; i < memberships.size(); ++i) {
    if ((*followed)[i]) continue;  // else it was removed after it was added, as an orphan for example
    const NewFeed feed{.feed_url = memberships[i].feed_url};
    if (const auto added = Feeds(store).add(std::span(&feed, 1), memberships[i].uid); !added) return added.error();
  }
  return {};
}

}  // namespace feedmill
