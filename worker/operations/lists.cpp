#include "worker/operations/lists.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "parsers/text/strings.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/store/deployment.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/operations/operation.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

constexpr std::size_t list_batch = 500;  // feeds per store call
constexpr std::size_t list_batch_bytes =
    64U << 10U;  // attributes, titles and folders of a batch; one larger feed is allowed

NewFeed new_feed(const Subscription& subscription, const SubscriptionList& list, Milliseconds after) {
  const FeedSettings settings = settings_of(subscription, list);
  NewFeed feed;
  feed.feed_url = subscription.feed_url;
  feed.after = after;
  feed.settings = settings_json(settings);
  feed.title = title_of(subscription.attributes, {"title", "text"});
  feed.for_channels = !channels_of(subscription.folders, "").empty();
  return feed;
}

/// The title that the list has for a feed in its folder with this index; "" if none, or if it is that of the feed
/// itself. `face`: as Feeds::faces(); the title of an unread feed is the list's.
std::string own_title(const Subscription& subscription, std::size_t folder, const Fields& face) {
  const auto& titles = subscription.titles;
  std::string title = folder < titles.size() ? titles[folder] : std::string();
  if (title.empty()) title = own_title_of(subscription.attributes);
  const bool is_url = title == subscription.feed_url || title == subscription.written;
  const std::string its = fold_space(utf8_prefix(readable_field(face, "title"), longest_title));
  const bool is_read = !field_of(face, "format").empty();
  return is_url || (is_read && title == its) ? std::string() : title;
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
    for (const std::string& title : feeds[end].titles) bytes += title.size();
    for (const auto& path : feeds[end].folders) {
      for (const std::string& folder : path) bytes += folder.size();
    }
  }
  const auto at = [&](std::size_t index) { return feeds.begin() + static_cast<std::ptrdiff_t>(index); };
  return {at(begin), at(end)};
}

std::vector<bool> add_batch(Store& store, const SubscriptionBatch& batch, const SubscriptionList& list,
                            std::size_t added, std::uint64_t rate) {
  std::vector<NewFeed> feeds;
  for (const Subscription& subscription : batch) {
    const std::uint64_t wait = rate == 0 ? 0 : (added + feeds.size()) * 1000 / rate;
    feeds.push_back(new_feed(subscription, list, Milliseconds(static_cast<std::int64_t>(wait))));
  }
  return answered(Feeds(store).add(feeds));
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

void put_into_channels(Store& store, const SubscriptionBatch& batch, std::string_view user) {
  const std::vector<std::string> uids = channels_in(batch, user);
  if (uids.empty()) return;
  std::vector<std::string> urls;
  for (const Subscription& subscription : batch) urls.push_back(subscription.feed_url);
  const auto faces = answered(Feeds(store).faces(urls));
  std::vector<Membership> memberships;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    const Subscription& subscription = batch.first[static_cast<std::ptrdiff_t>(i)];
    const std::span<const std::vector<std::string>> folders = subscription.folders;
    for (std::size_t folder = 0; folder < folders.size(); ++folder) {
      for (std::string& uid : channels_of(folders.subspan(folder, 1), user))
        memberships.push_back({std::move(uid), urls[i], own_title(subscription, folder, faces[i])});
    }
  }
  Channels channels(store);
  answered(channels.add(uids));
  const auto followed = answered(channels.follow(memberships));
  for (std::size_t i = 0; i < memberships.size(); ++i) {
    if (followed[i]) continue;  // else it was removed since it was added, for example as an orphan
    NewFeed feed{.feed_url = memberships[i].feed_url};
    if (!memberships[i].title.empty()) feed.title = memberships[i].title;
    answered(Feeds(store).add(std::span(&feed, 1), memberships[i].uid));
  }
}

namespace {

constexpr std::size_t held_names = 5'000, least_names = 100;  // for all stores; for one
constexpr std::size_t held_of_a_channel = 50'000;             // each call scans all feeds of the channel
constexpr std::size_t feeds_at_once = 50;                     // settings may take 64 KiB each

ExportedFeed exported(const FeedRecord& record) {
  // OPML attributes are plain text.
  return {record.feed_url, readable_field(record.feed, "title"), std::string(field_of(record.feed, "link")),
          read_settings(record.state.settings)};
}

}  // namespace

Export::Export(std::string user, std::size_t stores) : user_(std::move(user)), channels_(stores) {}

template <class More>
void Export::hold(Names& names, std::size_t at_once, More more) {
  if (!names.held.empty() || names.all) return;
  names.held = answered(more(names.after));
  names.all = names.held.size() < at_once;
  if (!names.held.empty()) names.after = names.held.back();
  std::ranges::reverse(names.held);
}

template <class More>
std::vector<std::string> Export::take(Names& names, std::size_t most, std::size_t at_once, More more) {
  hold(names, at_once, more);
  std::vector<std::string> some;
  while (!names.held.empty() && some.size() < most) {
    some.push_back(std::move(names.held.back()));
    names.held.pop_back();
  }
  return some;
}

std::string Export::next(Store& store) {
  if (stage_ == Stage::head) {
    writer_.emplace(answered(store.now()).count() / 1000);
    stage_ = Stage::channels;
  }
  if (stage_ == Stage::rest)
    write_rest(store);
  else if (channel_)
    write_channel(store);
  else
    choose_channel(store);
  return writer_->take();
}

/// Chooses the first channel name among all stores, so that each channel becomes one folder.
void Export::choose_channel(Store& store) {
  const std::string beginning = user_.empty() ? std::string() : user_ + "/";
  const std::size_t at_once = std::max(least_names, held_names / channels_.size());
  const auto more = [&](const std::string& after) { return Channels(store).names_after(after, at_once, beginning); };
  hold(channels_[at_], at_once, more);
  const auto is_unknown = [](const Names& names) { return names.held.empty() && !names.all; };
  const auto next = std::ranges::find_if(channels_, is_unknown);
  at_ = next == channels_.end() ? 0 : static_cast<std::size_t>(next - channels_.begin());
  if (next != channels_.end()) return;
  for (const Names& names : channels_) {
    if (!names.held.empty() && (!channel_ || names.held.back() < *channel_)) channel_ = names.held.back();
  }
  if (!channel_) {
    feeds_ = {};
    stage_ = Stage::rest;
    if (!user_.empty()) end();
    return;
  }
  for (std::size_t i = channels_.size(); i-- > 0;) {
    std::vector<std::string>& held = channels_[i].held;
    if (held.empty() || held.back() != *channel_) continue;
    held.pop_back();
    holders_.push_back(i);
  }
  at_ = holders_.back();
  feeds_ = {};
}

void Export::write_channel(Store& store) {
  const auto urls = take(feeds_, feeds_at_once, held_of_a_channel, [&](const std::string& after) {
    return Channels(store).feeds_after(*channel_, after, held_of_a_channel);
  });
  const auto records = answered(Feeds(store).records(urls));
  const auto titles = answered(Channels(store).titles(*channel_, urls));
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!records[i]) continue;
    ExportedFeed feed = exported(*records[i]);
    feed.custom_title = titles[i];
    for (const auto& path : folders_of(std::span(&*channel_, 1), feed.settings.folders, user_)) {
      if (!path.empty()) writer_->row(path, feed);
    }
  }
  if (!urls.empty()) return;
  feeds_ = {};
  holders_.pop_back();
  if (holders_.empty()) channel_.reset();
  at_ = holders_.empty() ? 0 : holders_.back();
}

void Export::end() {
  writer_->end();
  stage_ = Stage::ended;
}

void Export::write_rest(Store& store) {
  Feeds feeds(store);
  const auto urls = take(feeds_, feeds_at_once, held_names,
                         [&](const std::string& after) { return feeds.urls_after(after, held_names); });
  if (urls.empty()) {
    feeds_ = {};
    if (++at_ == channels_.size()) end();
    return;
  }
  const auto holders = answered(Channels(store).holding(urls));
  const auto records = answered(feeds.records(urls));
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!records[i]) continue;
    const ExportedFeed feed = exported(*records[i]);
    const auto& remembered = feed.settings.folders;
    const bool at_the_top = std::ranges::any_of(remembered, [](const auto& path) { return path.empty(); });
    if (holders[i].empty() || at_the_top) writer_->row({}, feed);
  }
}

}  // namespace feedmill
