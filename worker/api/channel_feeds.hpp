// A walk through the feeds of a user's channels, in pages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "worker/api/routes.hpp"

namespace feedmill {

/// Some feeds of a channel, in the order of their URLs.
struct ChannelPart {
  std::string uid;
  std::vector<std::string> urls;
};

struct ChannelFeeds {
  std::vector<ChannelPart> parts;  ///< in the order of channels; a channel without feeds is there, too
  std::string next;                ///< "" at the end
};

/// The next feeds of the channels of `user` ("" = of all channels), at most `most` and of at most 200 channels. `after`
/// is cursor_behind() of the last feed, or `next` of the previous page; "" = from the start. Absent if it is neither.
/// Throws StoreFailure.
std::optional<ChannelFeeds> channel_feeds_after(const ApiReading& reading, const std::string& user,
                                                const std::string& after, std::size_t most);

/// The cursor after a feed of a channel.
std::string cursor_behind(const std::string& uid, const std::string& url);

}  // namespace feedmill
