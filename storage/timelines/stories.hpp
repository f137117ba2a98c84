// The index of stories: which posts of different feeds are about one page (RELIABILITY L20). It informs, and changes no
// post.
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

/// The index of one store, over a Store's connection. Ids are those of entries; of what is none of them nothing is
/// known.
class Stories {
 public:
  /// `store` outlives this.
  explicit Stories(Store& store) : impl_(store.impl()) {}

  /// The posts of other feeds that tell the story of each of these, those from the page's own site first, then the
  /// oldest; at most 49. Costs four round trips, and none of them when nothing is indexed of `ids` but the first.
  StoreResult<std::vector<std::vector<std::string>>> same_as(std::span<const std::string> ids);
  /// Of entries of a channel those whose story no post before them tells in it. `all`: among the channel's posts, read
  /// or not; else among those that are unread, and a story of which another post was read is told.
  StoreResult<std::vector<bool>> is_first_told(const std::string& uid, bool all, std::span<const std::string> ids);

  // What deliver does. Each may be repeated and come in any order: what is stored decides.

  /// Brings what is known of these posts up to what is stored. Returns how many writes a key of the wrong type refused.
  StoreResult<std::uint64_t> sync(std::span<const std::string> ids);

  enum class State {
    none,      ///< there is no index
    building,  ///< or what there is may lack posts, or have some that went
    built
  };
  StoreResult<State> state();
  StoreResult<void> note(State state);
  /// A bounded step of bringing all of it up to what is stored, from a default one on.
  struct Place {
    std::size_t shard = 0;
    std::string feeds = "0";             ///< cursor
    std::vector<std::string> waiting{};  ///< feeds that it has passed
    bool done = false;
  };
  StoreResult<Place> rebuild(const Place& from);
  /// Takes the index away.
  StoreResult<void> drop();

 private:
  StoreResult<std::vector<std::vector<StoryPost>>> stories_of(std::span<const std::string> ids,
                                                              std::vector<StoryPost>& own);
  std::uint64_t number_of(std::string_view id) const;

  Store::Impl& impl_;
};

}  // namespace feedmill
