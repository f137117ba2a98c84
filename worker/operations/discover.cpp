#include "worker/operations/discover.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "parsers/feed/document_json.hpp"
#include "parsers/markup/text.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_asked = 10;  // candidates per step

constexpr std::size_t most_shown = 3;  // posts per feed
constexpr std::array<std::string_view, 6> shown_fields{"title",  "title_type",     "link",
                                                       "author", "date_published", "summary_text"};

FoundFeed found_feed(std::string url, const Look& look, const FeedCandidate& candidate) {
  const Feed& feed = *look.feed;
  const std::string& found_at = look.response()->url;
  const std::string title = readable_text(feed.title.value, feed.title.type);
  FoundFeed found{std::move(url),
                  title.empty() ? candidate.title : title,
                  std::string(format_name(feed.format)),
                  feed.entries.size(),
                  {},
                  candidate.found_in,
                  is_of_comments(candidate.title, found_at) || is_of_comments(title, found_at)};
  for (const Entry& entry : feed.entries) {
    if (found.posts.size() == most_shown) break;
    Fields& post = found.posts.emplace_back(entry_record(Entry(entry)).fields);
    std::erase_if(post,
                  [](const auto& field) { return std::ranges::find(shown_fields, field.first) == shown_fields.end(); });
  }
  return found;
}

/// Whether two feeds are the same feed in different formats.
bool are_twins(const FoundFeed& one, const FoundFeed& other) {
  const auto links = [](const FoundFeed& feed) {
    std::vector<std::string> all;
    for (const Fields& post : feed.posts) {
      const std::string* const link = find_field(post, "link");
      if (link != nullptr) all.push_back(*link);
    }
    return all;
  };
  return one.title == other.title && !one.posts.empty() && links(one).size() == one.posts.size() &&
         links(one) == links(other);
}

/// Fetches candidates and keeps those that are feeds.
class Asker {
 public:
  Asker(Probe& probe, Discovery& discovery) : probe_(probe), discovery_(discovery) {}

  /// Returns true for a new feed of the site itself, but not for a feed of comments.
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
    FoundFeed found = found_feed(*url, look, candidate);
    for (const FoundFeed& known : discovery_.feeds) {
      if (!are_twins(known, found)) continue;
      discovery_.refused.push_back({*url, "the same feed in another format: " + known.url});
      return false;
    }
    const auto place = std::ranges::find_if(discovery_.feeds,
                                            [&](const FoundFeed& known) { return known.comments && !found.comments; });
    const bool is_own = !found.comments;
    discovery_.feeds.insert(place, std::move(found));
    return is_own;
  }

  void passed_over(const std::string& url) { asked_.insert(url); }

 private:
  Probe& probe_;
  Discovery& discovery_;
  std::set<std::string> asked_, documents_;  // requested URLs; final URLs after redirects
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
    bool any = false;
    for (const bool comments : {false, true}) {
      for (const FeedCandidate& candidate : look.page.feeds) {
        if ((candidate.found_in == FoundIn::anchor) != anchors) continue;
        if (is_of_comments(candidate.title, candidate.url) != comments) continue;
        if (asked == most_asked) break;
        ++asked;
        any = asker.ask(candidate) || any;
      }
    }
    return any;
  };
  if (ask_all(false)) return;
  for (const std::string& place : well_known_feeds(look.response()->url)) {
    if (asker.ask({place, "", "", FoundIn::well_known})) return;
  }
  ask_all(true);
}

LookUnderWay::LookUnderWay(Looks& looks, MemoryBudget& memory) : looks_(looks), share_(memory, 0) {
  ++looks_.under_way_;
}

LookUnderWay::~LookUnderWay() {
  found_->given_up = true;
  --looks_.under_way_;
}

Looks::Looks(Options options, MemoryBudget& memory)
    : options_(std::move(options)), memory_(memory), threads_(options_.at_once) {
  set_probe(options_.probe);
}

Looks::~Looks() {
  ending_ = true;
  threads_.join();
}

void Looks::set_probe(ProbeOptions probe) {
  probe.store = options_.probe.store;
  probe.fetch.max_body_bytes = std::min(probe.fetch.max_body_bytes, longest_document);
  probe.reading.max_body_bytes = probe.fetch.max_body_bytes;
  options_.probe = std::move(probe);
}

std::unique_ptr<LookUnderWay> Looks::begin(const std::string& url) {
  if (under_way_ >= options_.at_once) return nullptr;
  std::unique_ptr<LookUnderWay> look(new LookUnderWay(*this, memory_));
  if (!look->share_.cover_reading(longest_document)) return nullptr;
  ProbeOptions options = options_.probe;
  const auto until = std::chrono::steady_clock::now() + options_.patience;
  options.gives_up = [this, found = look->found_, until] {
    return ending_ || found->given_up || std::chrono::steady_clock::now() >= until;
  };
  boost::asio::post(threads_.get_executor(), [found = look->found_, url, options = std::move(options)] {
    try {
      Probe probe(options);
      discover(probe, url, found->discovery);
      found->complete = true;
    } catch (const Interrupted&) {  // keep the results so far
    } catch (const std::exception& error) {
      found->bug = error.what();
    }
    found->done = true;
  });
  return look;
}

}  // namespace feedmill
