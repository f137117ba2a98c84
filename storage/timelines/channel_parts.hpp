// Merges the channels of a deployment of several partitions from the parts in each partition (RELIABILITY L31).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/stored_entry.hpp"
#include "storage/timelines/channels.hpp"

namespace feedmill {

/// Home of a channel among `count` partitions: where it is created and where its position is stored. All channels of a
/// user have the same home, and so have all channels without a user.
unsigned home_of_channel(std::string_view uid, unsigned count);

/// Merges the channels of all partitions, given in order: feeds and unread posts are summed, the position is the
/// home's, or else the first part's. Channels of one user stay together, in order. A single part stays as it is.
std::vector<ChannelRecord> channels_together(std::span<const std::vector<ChannelRecord>> parts);

/// The first `most` of the sorted names, without duplicates.
std::vector<std::string> names_together(std::span<const std::vector<std::string>> parts, std::size_t most);

/// The newest `most` positions of all parts; each part is sorted newest first.
std::vector<EntryCursor> places_together(std::span<const std::vector<EntryCursor>> parts, std::size_t most);

}  // namespace feedmill
