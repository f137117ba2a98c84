// The families of operations, one file each.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "storage/queues/subscribers.hpp"
#include "storage/timelines/notifications.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill {

OperationFamily feed_family();
OperationFamily entry_family();
OperationFamily channel_family();
OperationFamily user_family();
OperationFamily login_family();
OperationFamily webhook_family();
OperationFamily topic_family();

/// The field "url": a stored feed.
inline constexpr OperationField feed_field{.name = "url",
                                           .kind = OperationField::Kind::feed,
                                           .unit = "URL",
                                           .about = "Feed URL",
                                           .required = true,
                                           .is_key = true,
                                           .told = true};
/// The field "channel": a stored channel.
inline constexpr OperationField channel_field{.name = "channel",
                                              .kind = OperationField::Kind::channel,
                                              .unit = "CHANNEL",
                                              .about = "Name of a channel",
                                              .required = true,
                                              .is_key = true,
                                              .told = true};
/// Makes a key into an ordinary field, which HTTP has in the body.
constexpr OperationField in_body(OperationField field, std::string_view about) {
  field.is_key = false;
  field.about = about;
  return field;
}

inline constexpr std::array<std::string_view, 2> as_choices{"read", "unread"};
/// The field "as" of marks.
inline constexpr OperationField as_field{.name = "as",
                                         .kind = OperationField::Kind::choice,
                                         .unit = "HOW",
                                         .about = "read or unread",
                                         .required = true,
                                         .choices = as_choices};
/// Refuses marking all entries or notices unread.
void check_marks(const OperationValues& given);

/// Makes a rule from the values, without an id.
Watch rule_of(const OperationValues& given);

/// Whether `id` has the form of a webhook's id.
bool is_webhook_id(std::string_view id);

/// Checks that the login in a changed setting `auth` is stored. Returns the problem, or "". Throws StoreFailure.
std::string missing_login(Store& store, const FeedSettings& before, const FeedSettings& settings);

/// Adds a note if no running worker pushes out.
void note_without_push_out(Store& store, std::vector<std::string>& notes);

}  // namespace feedmill
