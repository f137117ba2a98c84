// The channels of a deployment of several partitions, of what each partition has of them (RELIABILITY L31).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/stored_entry.hpp"
#include "storage/timelines/channels.hpp"

namespace feedmill {

/// Which of `count` partitions a channel is made in, and says where it stands among the others: the same for all
/// channels of a user, and for all that are of nobody.
unsigned home_of_channel(std::string_view uid, unsigned count);

/// The channels of all partitions, given in their order: feeds and unread posts are counted together, the position is
/// that of its home, else of the first part. Those of a user in their order, one user after the other.
std::vector<ChannelRecord> channels_together(std::span<const std::vector<ChannelRecord>> parts);

/// The first `most` of these sorted names, each once.
std::vector<std::string> names_together(std::span<const std::vector<std::string>> parts, std::size_t most);

/// The newest `most` of these places, each part newest first.
std::vector<EntryCursor> places_together(std::span<const std::vector<EntryCursor>> parts, std::size_t most);

}  // namespace feedmill
