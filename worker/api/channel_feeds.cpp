#include "worker/api/channel_feeds.hpp"

#include <utility>

namespace feedmill {
namespace {

constexpr std::size_t most_channels = 200;

}  // namespace

std::string cursor_behind(const std::string& uid, const std::string& url) {
  return url + " " + uid;  // URLs have no spaces
}

std::optional<ChannelFeeds> channel_feeds_after(const ApiReading& reading, const std::string& user,
                                                const std::string& after, std::size_t most) {
  const std::size_t space = after.find(' ');
  if (!after.empty() && (space == std::string::npos || space + 1 == after.size())) return std::nullopt;
  std::string url = after.substr(0, std::min(space, after.size()));
  std::string uid = after.empty() ? "" : after.substr(space + 1);
  ChannelFeeds page;
  std::size_t taken = 0;
  // Adds the channel's next feeds; false if the page is full.
  const auto take = [&] {
    auto feeds = channel_feed_page(reading, uid, url, most - taken);
    page.next = cursor_behind(uid, url);
    if (!feeds) return true;  // it was removed in between
    taken += feeds->names.size();
    if (!feeds->names.empty()) page.next = cursor_behind(uid, feeds->names.back());
    page.parts.push_back({uid, std::move(feeds->names)});
    return feeds->next.is_null() && taken < most;
  };
  if (!url.empty() && !take()) return page;  // a cursor without a feed: the whole channel was listed
  for (std::size_t channels = 0; channels < most_channels;) {
    const NamePage names = channel_page(reading, user, uid, most_channels - channels);
    channels += names.names.size();
    for (const std::string& name : names.names) {
      uid = name;
      url.clear();
      if (!take()) return page;
    }
    if (names.next.is_null()) {
      page.next.clear();
      return page;
    }
  }
  return page;
}

}  // namespace feedmill
