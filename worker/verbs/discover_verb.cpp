#include <algorithm>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/base/posix_signals.hpp"
#include "worker/operations/discover.hpp"
#include "worker/process/run_options.hpp"
#include "worker/verbs/feeds.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill {
namespace {

void tell_found(Terminal& terminal, const std::string& page, const std::vector<FoundFeed>& feeds) {
  Columns table(terminal, {{"FORMAT", 8}, {"ENTRIES", 7, true}, {"FOUND IN", 11}, {"TITLE", 28}, {"URL", 0}});
  table.heading();
  for (const FoundFeed& feed : feeds) {
    table.row({{"page", page},
               {"url", feed.url},
               {"title", visible(feed.title)},
               {"format", feed.format},
               {"entries", feed.entries},
               {"found_in", to_string(feed.found_in)}},
              {feed.format, std::to_string(feed.entries), std::string(to_string(feed.found_in)), feed.title, feed.url});
  }
}

/// The feed to add for one URL of `add`; empty if the operator must choose, after printing the choices.
std::optional<FeedBehind> feed_behind(Probe& probe, const std::string& url, bool first, bool dry_run,
                                      Terminal& terminal) {
  Discovery discovery;
  discover(probe, url, discovery);
  const std::vector<FoundFeed>& feeds = discovery.feeds;
  const auto own = std::ranges::count(feeds, false, &FoundFeed::comments);
  if (feeds.size() == 1 || own == 1 || (first && !feeds.empty())) {
    const FoundFeed& found = feeds.front();
    if (found.url != url) {
      terminal.note(fmt::format("{} is a web page; its feed is {}", visible(url), visible(found.url)));
    }
    return FeedBehind{found.url, found.url == url ? "" : url, found, ""};
  }
  if (!feeds.empty()) {
    terminal.flush();
    terminal.error(fmt::format("{} is a web page with {} feeds; nothing was added: add one of these, or use --first",
                               visible(url), feeds.size()));
    tell_found(terminal, url, feeds);
    return {};
  }
  if (discovery.look->is_page()) {
    terminal.error(fmt::format(
        "{} is a web page without a feed; nothing was added (to add it anyway: echo URL | feedmill import -)",
        visible(url)));
    return {};
  }
  const std::string trouble = discovery.look->trouble();
  if (!dry_run) {
    terminal.note(fmt::format("{} could not be fetched ({}); added unchecked", visible(url), visible(trouble)));
  }
  return FeedBehind{url, "", {}, trouble, discovery.look->not_before};
}

int discover_feeds(const OperationValues& given, const Config& config, Terminal& terminal) {
  const std::string url = feed_url(terminal, given.text("URL"));
  note_interrupts();
  Probe probe(probe_options(config));
  Discovery discovery;
  discover(probe, url, discovery);
  for (const RefusedCandidate& refused : discovery.refused) {
    if (terminal.verbose()) {
      terminal.note(fmt::format("no feed: {}: {}", visible(refused.url), visible(refused.reason)));
    }
  }
  tell_found(terminal, url, discovery.feeds);
  if (!discovery.feeds.empty()) return exits::done;
  terminal.flush();
  throw VerbFailure{exits::no, discovery.look->is_page()
                                   ? fmt::format("{} offers no feed; {} URLs were tried (-v lists them)", visible(url),
                                                 discovery.refused.size())
                                   : fmt::format("{}: {}", visible(url), visible(discovery.look->trouble()))};
}

}  // namespace

VerbRow discover_verb() {
  static constexpr std::array taken{fields::argument("URL", "Address of a page")};
  return {.name = "discover",
          .about = "List the feeds that a web page offers; no Redis",
          .example = "feedmill discover https://example.org/",
          .exits = "1 when there is none",
          .fields = taken,
          .run = discover_feeds};
}

std::vector<FeedBehind> feeds_behind(const std::vector<std::string>& urls, bool first, bool dry_run,
                                     const VerbContext& context) {
  std::vector<std::string> doubtful;
  for (const std::string& url : urls) {
    if (!looks_like_feed(url)) doubtful.push_back(url);
  }
  const auto records = all_records(context.store, doubtful);
  for (std::size_t i = doubtful.size(); i-- > 0;) {
    if (records[i]) doubtful.erase(doubtful.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::optional<Probe> probe;
  if (!doubtful.empty()) {
    ProbeOptions options = probe_options(context.config);
    if (!dry_run) options.store = context.store.options_at(context.store.partition().index);
    probe.emplace(std::move(options));
  }
  std::vector<FeedBehind> feeds;
  bool undecided = false;
  for (const std::string& url : urls) {
    std::optional<FeedBehind> feed = FeedBehind{url, "", {}, ""};
    if (std::find(doubtful.begin(), doubtful.end(), url) != doubtful.end()) {
      if (context.terminal.err_is_terminal()) context.terminal.note("fetching " + visible(url));
      feed = feed_behind(*probe, url, first, dry_run, context.terminal);
    }
    if (!feed) {
      undecided = true;
    } else if (std::none_of(feeds.begin(), feeds.end(), [&](const FeedBehind& one) { return one.url == feed->url; })) {
      feeds.push_back(std::move(*feed));
    }
  }
  if (undecided) throw VerbFailure{exits::no, ""};
  return feeds;
}

}  // namespace feedmill
