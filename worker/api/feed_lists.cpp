// Lists of feeds: all, those of a channel, of a user or in a state, with a text (OPERATIONS A8).
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/store/deployment.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "worker/api/routes.hpp"
#include "worker/base/characters.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t enough_feeds = 1'000;   // examined for a page, even if few match
constexpr std::size_t examined_at_once = 50;  // a record may have some 100 KiB

/// Which feeds to list; "" = any. `text` is in lower case.
struct FeedFilter {
  std::string channel, user, state, text;

  bool of_channels() const { return !channel.empty() || !user.empty(); }
  /// Whether the index of a state lists the feeds.
  bool by_state() const { return !of_channels() && !state.empty() && state != "healthy"; }
  /// `own_title`: the one that the channel gives the feed.
  bool wants(const FeedRecord& record, std::string_view own_title) const {
    if (!state.empty() && record.state.state != state) return false;
    const auto has_text = [&](std::string_view where) { return lower_case(where).find(text) != std::string::npos; };
    return text.empty() || has_text(record.feed_url) || has_text(readable_field(record.feed, "title")) ||
           has_text(own_title);
  }
};

/// A feed to examine.
struct Candidate {
  std::string url, channel;
  std::string cursor;  ///< the list continues after it
};
struct Candidates {
  std::vector<Candidate> feeds;
  std::string next;  ///< "" at the end
};

/// The next feeds to examine.
Candidates candidates(const ApiReading& reading, const FeedFilter& filter, const std::string& after, std::size_t most) {
  Candidates some;
  if (filter.by_state()) {
    std::optional<EntryCursor> before;
    if (!after.empty()) {
      const std::size_t colon = after.find(':');
      before.emplace();
      if (colon == std::string::npos || !read_number(std::string_view(after).substr(0, colon), before->score))
        throw bad_cursor();
      before->id = after.substr(colon + 1);
    }
    const auto read = [&](Store& store) { return Feeds(store).in_state(filter.state, most, before); };
    for (EntryCursor& at : places_together(answered(reading.stores.each(read)), most)) {
      some.next = fmt::format("{}:{}", at.score, at.id);
      some.feeds.push_back({std::move(at.id), "", some.next});
    }
    if (some.feeds.size() < most) some.next.clear();
    return some;
  }
  if (!filter.user.empty()) {
    ChannelFeeds page = channel_feeds_after(reading, filter.user, after, most);
    for (ChannelPart& part : page.parts) {
      for (std::string& url : part.urls) {
        std::string cursor = cursor_behind(part.uid, url);
        some.feeds.push_back({std::move(url), part.uid, std::move(cursor)});
      }
    }
    some.next = std::move(page.next);
    return some;
  }
  const auto page = filter.channel.empty() ? std::optional(feed_page(reading, after, most))
                                           : channel_feed_page(reading, filter.channel, after, most);
  if (!page) throw no_such_channel();
  for (const std::string& url : page->names) some.feeds.push_back({url, filter.channel, url});
  if (page->next.is_string()) some.next = page->next.as_string();
  return some;
}

/// The titles that their channels give the feeds, "" for none. One look-up for consecutive feeds of one channel.
std::vector<std::string> own_titles(const ApiReading& reading, std::span<const Candidate> feeds) {
  std::vector<std::string> all;
  while (!feeds.empty()) {
    const std::string& uid = feeds.front().channel;
    const auto end = std::ranges::find_if_not(feeds, [&](const Candidate& one) { return one.channel == uid; });
    const auto its = feeds.first(static_cast<std::size_t>(end - feeds.begin()));
    std::vector<std::string> urls;
    for (const Candidate& one : its) urls.push_back(one.url);
    std::ranges::move(ChannelsOfAll(reading.stores).titles(uid, urls), std::back_inserter(all));
    feeds = feeds.subspan(its.size());
  }
  return all;
}

/// Adds what the channel says of a feed to rows of consecutive feeds of one channel.
void add_channel_fields(const ApiReading& reading, std::span<json::value> rows) {
  const ChannelsOfAll channels(reading.stores);
  while (!rows.empty()) {
    const json::string uid = rows.front().at("channel").as_string();
    const auto is_of_it = [&](const json::value& row) { return row.at("channel").as_string() == uid; };
    const auto end = std::ranges::find_if_not(rows, is_of_it);
    const auto its = rows.first(static_cast<std::size_t>(end - rows.begin()));
    std::vector<std::string> urls;
    for (const json::value& row : its) urls.emplace_back(row.at("url").as_string());
    const auto unread = channels.unread_of(std::string(uid), urls);
    const auto titles = channels.titles(std::string(uid), urls);
    for (std::size_t i = 0; i < its.size(); ++i) {
      its[i].as_object()["unread"] = unread[i];
      its[i].as_object()["custom_title"] = text_or_null(titles[i]);
    }
    rows = rows.subspan(its.size());
  }
}

/// A page of the feeds that `filter` selects, and the cursor of the next.
std::pair<json::array, json::value> filtered(const ApiReading& reading, const FeedFilter& filter, std::size_t limit) {
  const auto read = [](Store& store, const std::vector<std::string>& urls) { return Feeds(store).records(urls); };
  const bool all_match = filter.text.empty() && (filter.state.empty() || filter.by_state());
  json::array rows;
  std::string cursor = reading.call.get("after");
  for (std::size_t examined = 0; rows.size() < limit && examined < enough_feeds;) {
    const std::size_t most = std::min(examined_at_once, all_match ? limit - rows.size() : enough_feeds - examined);
    const Candidates some = candidates(reading, filter, cursor, most);
    std::vector<std::string> urls;
    for (const Candidate& one : some.feeds) urls.push_back(one.url);
    const auto records = answered(reading.stores.of_feeds(urls, read));
    cursor = some.next;
    const bool by_own_title = filter.of_channels() && !filter.text.empty();
    const auto titles = by_own_title ? own_titles(reading, some.feeds) : std::vector<std::string>(urls.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!records[i] || !filter.wants(*records[i], titles[i])) continue;  // absent: it was removed in between
      json::object& row = rows.emplace_back(list_json(*records[i])).as_object();
      if (filter.of_channels()) row["channel"] = some.feeds[i].channel;
      if (rows.size() < limit) continue;
      if (i + 1 < records.size()) cursor = some.feeds[i].cursor;
      break;
    }
    examined += records.size();
    if (cursor.empty() || records.empty()) break;
  }
  if (filter.of_channels()) add_channel_fields(reading, {rows.data(), rows.size()});
  return {std::move(rows), text_or_null(cursor)};
}

}  // namespace

ApiReply list_feeds(const ApiReading& reading) {
  const ApiCall& call = reading.call;
  const std::size_t limit = limit_of(call);
  const FeedFilter filter{name_of(call, "channel"), name_of(call, "user"), name_of(call, "state"),
                          lower_case(name_of(call, "text"))};
  if (!filter.channel.empty() && !filter.user.empty())
    return problem("bad_parameter", "give channel or user: a user's channels have all the feeds of the user");
  if (!filter.state.empty() && std::ranges::find(feed_state_names, filter.state) == feed_state_names.end())
    return problem("bad_parameter", fmt::format("state: one of {}", fmt::join(feed_state_names, ", ")));
  auto [feeds, next] = filtered(reading, filter, limit);
  return resource({{"feeds", std::move(feeds)}, {"next", std::move(next)}});
}

ApiReply list_channel_feeds(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  const std::string& uid = reading.call.get("channel");
  auto [feeds, next] = filtered(reading, {uid, "", "", ""}, limit);
  return resource({{"channel", uid}, {"feeds", std::move(feeds)}, {"next", std::move(next)}});
}

}  // namespace feedmill
