// Which posts of different feeds tell the same story (DESIGN §7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

inline constexpr std::size_t most_same_as = 16;  ///< ids that are told of a post; all are counted

/// The page that a stored post is about, from its fields `link` and `canonical_url`: link_key() of the address that it
/// declares canonical, else of its link. "" without one, and for the home page of a site: that is no story.
std::string story_page(std::string_view link, std::string_view canonical_url);

/// A post that is about a page, as others about the same page are held against it.
struct StoryPost {
  std::uint64_t number = 0;  ///< of Entry:<n>
  std::string feed_url{};
  std::string headline{};  ///< as headline() has it
  bool at_home = false;    ///< its feed is of the site that its link leads to
};

/// The fields that story_post() needs, in no order.
inline constexpr std::string_view story_fields[] = {"feed_url", "link",       "canonical_url",
                                                    "title",    "title_type", "summary_text"};

StoryPost story_post(std::uint64_t number, const Fields& fields);

/// What a post is called: its title, else the beginning of its text, without markup; words in lower case with a space
/// between, cut. Linear.
std::string headline(const Fields& fields);

/// Whether two headlines are of one story: equal, or one holds the other ("Ada: Fog until noon"). Two that are empty
/// say nothing.
bool is_same_headline(std::string_view a, std::string_view b);

/// Of posts about one page those that tell the story of `post`, in other feeds: those from the page's own site first,
/// then the oldest. A link that two posts of a feed have under one headline does not tell that feed's posts apart: such
/// a feed has no part in it.
std::vector<StoryPost> same_story(const StoryPost& post, const std::vector<StoryPost>& about_the_page);

/// Whether `a` stands before `b` in that order.
bool comes_first(const StoryPost& a, const StoryPost& b);

}  // namespace feedmill
