#include "worker/diagnosis/discover.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "parsers/feed/document_json.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_asked = 10;  // of a step

FoundFeed found_feed(std::string url, const Look& look, const FeedCandidate& candidate) {
  const std::string& title = look.feed->title.value;
  return {std::move(url), title.empty() ? candidate.title : title, std::string(format_name(look.feed->format)),
          look.feed->entries.size(), candidate.found_in};
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

Discovery discover(Probe& probe, const std::string& url) {
  Discovery discovery;
  discovery.look = probe.look(url);
  const Look& look = discovery.look;
  if (look.feed) {
    discovery.feeds.push_back(found_feed(url, look, {url, "", "", FoundIn::itself}));
    return discovery;
  }
  if (!look.is_page()) return discovery;

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
  if (ask_all(false)) return discovery;
  for (const std::string& place : well_known_feeds(look.response()->url)) {
    if (asker.ask({place, "", "", FoundIn::well_known})) return discovery;
  }
  ask_all(true);
  return discovery;
}

}  // namespace feedmill
