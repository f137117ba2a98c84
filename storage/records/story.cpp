#include "storage/records/story.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "parsers/markup/text.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/feed_fields.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_read = 1'000;     // bytes of a title
constexpr std::size_t most_compared = 300;   // bytes of a headline
constexpr std::size_t least_contained = 12;  // bytes: shorter titles occur in others by chance

std::string_view site_of(std::string_view page) {
  return page.substr(0, page.find_first_of("/?#"));
}

}  // namespace

std::string story_page(std::string_view link, std::string_view canonical) {
  // canonical_url is stored without its fragment, which may be all that distinguishes two pages of an application.
  const bool declared = !canonical.empty() && canonical != canonical_url(link);
  std::string page = link_key(declared ? canonical : link);
  return site_of(page).size() == page.size() ? std::string() : page;
}

StoryPost story_post(std::uint64_t number, const Fields& fields) {
  const std::string feed_url(value_of(fields, "feed_url"));
  const std::string page = story_page(value_of(fields, "link"), value_of(fields, "canonical_url"));
  const std::string feed = link_key(feed_url);
  return {number, feed_url, headline(fields), !page.empty() && site_of(page) == site_of(feed)};
}

std::string headline(const Fields& fields) {
  std::string_view title = value_of(fields, "title");
  if (title.empty()) title = value_of(fields, "summary_text");
  const bool markup = is_markup(value_of(fields, "title_type")) && !value_of(fields, "title").empty();
  const std::string text = markup ? plain_text(title, most_read) : std::string(title.substr(0, most_read));
  std::string words;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || byte >= 0x80) {
      words += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!words.empty() && words.back() != ' ') {
      words += ' ';
    }
    if (words.size() >= most_compared) break;
  }
  while (words.ends_with(' ')) words.pop_back();
  return words;
}

bool is_same_headline(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  if (b.empty() || a == b) return a == b && !b.empty();
  return b.size() >= least_contained && a.find(b) != std::string_view::npos;
}

bool comes_first(const StoryPost& a, const StoryPost& b) {
  return std::tuple(!a.at_home, a.number) < std::tuple(!b.at_home, b.number);
}

std::vector<StoryPost> same_story(const StoryPost& post, const std::vector<StoryPost>& about_the_page) {
  std::map<std::string_view, std::vector<const StoryPost*>> by_feed;
  for (const StoryPost& other : about_the_page) {
    if (other.number == post.number || !is_same_headline(post.headline, other.headline)) continue;
    if (other.feed_url == post.feed_url) return {};
    by_feed[other.feed_url].push_back(&other);
  }
  std::vector<StoryPost> found;
  for (const auto& [feed, posts] : by_feed) {
    if (posts.size() == 1) found.push_back(*posts.front());
  }
  std::sort(found.begin(), found.end(), comes_first);
  return found;
}

}  // namespace feedmill
