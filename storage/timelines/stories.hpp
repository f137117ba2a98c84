// The index of stories: posts of different feeds about one page (RELIABILITY L20). Informative only; changes no post.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/records/story.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// The index of one store, over a Store's connection. Ids are those of entries; unknown ids have no stories.
class Stories {
 public:
  /// `store` must outlive this object.
  explicit Stories(Store& store) : impl_(store.impl()) {}

  /// For each post, the posts of other feeds with the same story: from the page's own site first, then oldest first; at
  /// most 49. Three round trips, or one if none of `ids` is indexed.
  StoreResult<std::vector<std::vector<std::string>>> same_as(std::span<const std::string> ids);
  /// For each entry: is it the channel's first about its story? `all`: among all posts of the channel; otherwise among
  /// unread posts, and false if another post of the story was read.
  StoreResult<std::vector<bool>> is_first_told(const std::string& uid, bool all, std::span<const std::string> ids);

  // For delivery. Calls may be repeated and in any order: each reads the stored posts.

  /// Updates the index for these posts. Returns how many writes failed because a key has the wrong type.
  StoreResult<std::uint64_t> sync(std::span<const std::string> ids);

  enum class State {
    none,      ///< there is no index
    building,  ///< it may lack posts or contain removed ones
    built
  };
  StoreResult<State> state();
  StoreResult<void> note(State state);
  /// Progress of a rebuild; start with a default one.
  struct Place {
    std::size_t shard = 0;
    std::string feeds = "0";             ///< cursor
    std::vector<std::string> waiting{};  ///< feeds returned by the cursor, not yet indexed
    bool done = false;
  };
  StoreResult<Place> rebuild(const Place& from);
  /// Drops the index.
  StoreResult<void> drop();

 private:
  StoreResult<std::vector<std::vector<StoryPost>>> stories_of(std::span<const std::string> ids,
                                                              std::vector<StoryPost>& own);
  std::uint64_t number_of(std::string_view id) const;

  Store::Impl& impl_;
};

}  // namespace feedmill
