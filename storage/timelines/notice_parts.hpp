// Rules and notices of a deployment of several partitions, of what each partition has of them (RELIABILITY L32).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "storage/timelines/notifications.hpp"

namespace feedmill {

/// Which of `count` partitions has all rules of a user, and gives them their ids.
unsigned home_of_user(std::string_view user, unsigned count);

/// Whether both watch the same, whatever their ids.
bool is_same_rule(const Watch& one, const Watch& other);

/// Which of `count` partitions besides the home of its user have a rule: that of its feed, or all.
std::vector<unsigned> copies_of_rule(const Watch& rule, unsigned count);

/// The newest notices of all partitions, as many as one keeps, newest first.
std::vector<StoredNotice> notices_together(std::span<const std::vector<StoredNotice>> parts);

}  // namespace feedmill
