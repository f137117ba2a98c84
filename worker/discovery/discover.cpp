#include "worker/discovery/discover.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "parsers/feed/document_json.hpp"
#include "parsers/markup/text.hpp"
#include "storage/records/entry_record.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_asked = 10;  // of a step

constexpr std::size_t most_shown = 3;  // posts of a feed
constexpr std::array<std::string_view, 6> shown_fields{"title",  "title_type",     "link",
                                                       "author", "date_published", "summary_text"};

FoundFeed found_feed(std::string url, const Look& look, const FeedCandidate& candidate) {
  const Feed& feed = *look.feed;
  const std::string title = readable_text(feed.title.value, feed.title.type);
  FoundFeed found{std::move(url),
                  title.empty() ? candidate.title : title,
                  std::string(format_name(feed.format)),
                  feed.entries.size(),
                  {},
                  candidate.found_in};
  for (const Entry& entry : feed.entries) {
    if (found.posts.size() == most_shown) break;
    Fields& post = found.posts.emplace_back(entry_record(Entry(entry)).fields);
    std::erase_if(post,
                  [](const auto& field) { return std::ranges::find(shown_fields, field.first) == shown_fields.end(); });
  }
  return found;
}

/// Asks for candidates and keeps those that are feeds.
class Asker {
 public:
  Asker(Probe& probe, Discovery& discovery) : probe_(probe), discovery_(discovery) {}

  /// True when it is a feed that was not found before.
  bool ask(const FeedCandidate& candidate) {
    const auto url = canonical_feed_url(candidate.url);
    if (url.has_error()) {
      discovery_.refused.push_back({candidate.url, url.error()});
      return false;
    }
    if (!asked_.insert(*url).second) return false;
    const Look look = probe_.look(*url);
    if (!look.feed) {
      discovery_.refused.push_back({*url, look.trouble()});
      return false;
    }
    if (!documents_.insert(look.response()->url).second) return false;
    discovery_.feeds.push_back(found_feed(*url, look, candidate));
    return true;
  }

  void passed_over(const std::string& url) { asked_.insert(url); }

 private:
  Probe& probe_;
  Discovery& discovery_;
  std::set<std::string> asked_, documents_;  // addresses; those that answered, after redirects
};

}  // namespace

void discover(Probe& probe, const std::string& url, Discovery& discovery) {
  const Look& look = discovery.look.emplace(probe.look(url));
  if (look.feed) {
    discovery.feeds.push_back(found_feed(url, look, {url, "", "", FoundIn::itself}));
    return;
  }
  if (!look.is_page()) return;

  Asker asker(probe, discovery);
  asker.passed_over(url);
  const auto ask_all = [&](bool anchors) {
    std::size_t asked = 0;
    for (const FeedCandidate& candidate : look.page.feeds) {
      if ((candidate.found_in == FoundIn::anchor) != anchors) continue;
      if (asked++ == most_asked) break;
      asker.ask(candidate);
    }
    return !discovery.feeds.empty();
  };
  if (ask_all(false)) return;
  for (const std::string& place : well_known_feeds(look.response()->url)) {
    if (asker.ask({place, "", "", FoundIn::well_known})) return;
  }
  ask_all(true);
}

}  // namespace feedmill
