// Recognises posts of different feeds about the same story (DESIGN §7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

inline constexpr std::size_t most_same_as = 16;  ///< ids reported with a post; all are counted

/// Key of the page that a stored post is about, from its fields `link` and `canonical_url`: link_key() of the URL
/// declared canonical, or else of its link. "" if it has neither, or for a site's home page, which is not a story.
std::string story_page(std::string_view link, std::string_view canonical_url);

/// A post about a page, in the form compared with others about that page.
struct StoryPost {
  std::uint64_t number = 0;  ///< of Entry:<n>
  std::string feed_url{};
  std::string headline{};  ///< by headline()
  bool at_home = false;    ///< its feed belongs to the site of the linked page
};

/// The fields that story_post() needs, in any order.
inline constexpr std::string_view story_fields[] = {"feed_url", "link",       "canonical_url",
                                                    "title",    "title_type", "summary_text"};

StoryPost story_post(std::uint64_t number, const Fields& fields);

/// A post's title, or else the start of its text, without markup: lower-case words separated by one space, cut. Linear.
std::string headline(const Fields& fields);

/// Whether two headlines are about one story: equal, or one contains the other ("Ada: Fog until noon"). Empty headlines
/// match nothing.
bool is_same_headline(std::string_view a, std::string_view b);

/// Posts in other feeds that tell the story of `post`, among posts about the same page: those of the page's own site
/// first, then oldest first. Ignores a feed with two posts under one link and headline, because the link does not
/// distinguish its posts.
std::vector<StoryPost> same_story(const StoryPost& post, const std::vector<StoryPost>& about_the_page);

/// Whether `a` comes before `b` in same_story().
bool comes_first(const StoryPost& a, const StoryPost& b);

}  // namespace feedmill
