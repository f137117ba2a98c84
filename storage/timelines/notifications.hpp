// Notices: what a user asked to be told of, newest first, at most 30; operators are the user `_operator` (DESIGN §3).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/notice.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

inline constexpr std::string_view operator_user = "_operator";
inline constexpr std::size_t max_watches = 200;  ///< rules a user may have
inline constexpr std::size_t max_notices = 30;   ///< that a store keeps of a user, as deliver_notices.lua has it

/// A notice as it is kept: `json` begins with the member "read".
struct StoredNotice {
  std::string id, json;
};

/// A rule: what a user wants to be told of.
struct Watch {
  enum class Kind {
    feed,     ///< new posts of the feed `target`
    channel,  ///< new posts of the feeds in the channel `target`
    words     ///< new posts of any feed that hold all words of `target`
  };
  std::string user;
  std::string id;  ///< digits
  Kind kind{};
  std::string target;
  bool operator==(const Watch&) const = default;
};

/// The word for a kind of rule: feed, channel, words.
std::string_view to_string(Watch::Kind kind);

/// Notices and rules of one store, over a Store's connection.
class Notifications {
 public:
  /// `store` outlives this.
  explicit Notifications(Store& store) : impl_(store.impl()) {}

  /// Newest first.
  StoreResult<std::vector<StoredNotice>> list(const std::string& user);
  /// Adds notices, each atomically; for those that come from no event.
  StoreResult<void> add(std::span<const Notice> notices);
  /// Of these ids, or of all when there are none; how many changed.
  StoreResult<std::size_t> mark_read(const std::string& user, std::span<const std::string> ids = {});
  StoreResult<std::size_t> mark_unread(const std::string& user, std::span<const std::string> ids = {});
  StoreResult<std::size_t> remove(const std::string& user, std::span<const std::string> ids = {});

  /// Adds a rule (its `id` is ignored) and returns its id, that of an equal one when there is one; absent when the user
  /// has as many as there may be.
  StoreResult<std::optional<std::string>> watch(const Watch& watch);
  /// How many of the ids were rules of the user, and are gone.
  StoreResult<std::size_t> unwatch(const std::string& user, std::span<const std::string> ids);
  /// A user's rules, oldest first.
  StoreResult<std::vector<Watch>> watches(const std::string& user);
  StoreResult<std::vector<Watch>> all_watches();
  /// Changes whenever a rule does.
  StoreResult<std::string> watch_version();

 private:
  friend class Channels;
  explicit Notifications(Store::Impl& impl) : impl_(impl) {}
  /// Takes away the rules that watch a channel.
  StoreResult<void> forget_channel(const std::string& uid);
  StoreResult<std::size_t> edit(const std::string& user, std::string_view how, std::span<const std::string> ids);
  StoreResult<std::vector<Watch>> watches_of(std::span<const std::string> users);

  Store::Impl& impl_;
};

}  // namespace feedmill
