// Notices for users by their rules, newest first, at most 30; operators are the user `_operator` (DESIGN §3).
// Their list keeps rare kinds longer than frequent ones.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/notice.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/in_parts.hpp"

namespace feedmill {

inline constexpr std::string_view operator_user = "_operator";
inline constexpr std::size_t max_watches = 200;  ///< rules per user
inline constexpr std::size_t max_notices = 30;   ///< stored per user; also in deliver_notices.lua

/// A stored notice: `json` begins with the member "read".
struct StoredNotice {
  std::string id, json;
};

/// A rule: the posts that a user wants notices about.
struct Watch {
  enum class Kind {
    feed,     ///< new posts of the feed `target`
    channel,  ///< new posts of the feeds in the channel `target`
    words     ///< new posts of any feed that contain all words of `target`
  };
  std::string user;
  std::string id;  ///< digits
  Kind kind{};
  std::string target;
  bool operator==(const Watch&) const = default;
};

/// The name of a kind of rule: feed, channel, words.
std::string_view to_string(Watch::Kind kind);

/// Notices and rules of one store, over a Store's connection.
class Notifications {
 public:
  /// `store` must outlive this object.
  explicit Notifications(Store& store) : impl_(store.impl()) {}

  /// A user's notices, newest first.
  StoreResult<std::vector<StoredNotice>> list(const std::string& user);
  /// Adds notices that do not come from events, each atomically.
  StoreResult<void> add(std::span<const Notice> notices);
  /// Marks these notices, or all if `ids` is empty; returns how many changed.
  StoreResult<std::size_t> mark_read(const std::string& user, std::span<const std::string> ids = {});
  StoreResult<std::size_t> mark_unread(const std::string& user, std::span<const std::string> ids = {});
  StoreResult<std::size_t> remove(const std::string& user, std::span<const std::string> ids = {});

  /// Adds a rule (its `id` is ignored) and returns its id, or the id of an equal rule; absent if the user already has
  /// max_watches.
  StoreResult<std::optional<std::string>> watch(const Watch& watch);
  /// Removes rules of a user; returns how many.
  StoreResult<std::size_t> unwatch(const std::string& user, std::span<const std::string> ids);
  /// A user's rules, oldest first.
  StoreResult<std::vector<Watch>> watches(const std::string& user);
  StoreResult<std::vector<Watch>> all_watches();
  /// A value that changes whenever a rule changes.
  StoreResult<std::string> watch_version();

 private:
  friend class Channels;
  explicit Notifications(Store::Impl& impl) : impl_(impl) {}
  /// Removes the rules that watch a channel. `parts.cursor` is "0" at first.
  StoreResult<void> forget_channel(const std::string& uid, InParts& parts);
  StoreResult<std::size_t> edit(const std::string& user, std::string_view how, std::span<const std::string> ids);
  StoreResult<std::vector<Watch>> watches_of(std::span<const std::string> users);

  Store::Impl& impl_;
};

}  // namespace feedmill
