// Merges rules and notices of a deployment of several partitions from the parts in each partition (RELIABILITY L32).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "storage/timelines/notifications.hpp"

namespace feedmill {

/// Home of a user among `count` partitions: it stores all the user's rules and assigns their ids.
unsigned home_of_user(std::string_view user, unsigned count);

/// Whether both rules watch the same thing; ids are ignored.
bool is_same_rule(const Watch& one, const Watch& other);

/// The partitions, of `count` and except the user's home, with a copy of a rule: its feed's partition, or all.
std::vector<unsigned> copies_of_rule(const Watch& rule, unsigned count);

/// The newest notices of all partitions, newest first, at most max_notices.
std::vector<StoredNotice> notices_together(std::span<const std::vector<StoredNotice>> parts);

}  // namespace feedmill
