// Posts of channels, and how many are unread (OPERATIONS A8).
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/store/deployment.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "worker/api/routes.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t enough_entries = 1'000;    // examined for a page, even if few match
constexpr std::size_t longest_feed_title = 512;  // bytes; it is repeated with each entry

/// The object `feed` of an entry.
json::object feed_of_entry(const std::string& url, const Fields& fields) {
  const std::string_view image = field_of(fields, "image");
  return {{"url", url},
          {"title", text_or_null(utf8_prefix(readable_field(fields, "title"), longest_feed_title))},
          {"image", text_or_null(image.empty() ? field_of(fields, "icon") : image)},
          {"link", text_or_null(field_of(fields, "link"))}};
}

}  // namespace

void EntryRows::add(const StoredEntry& entry, json::object row) {
  bytes_ += size_of(entry.fields);
  urls_.push_back(entry.get("feed_url"));
  rows_.emplace_back(std::move(row));
}

void EntryRows::look_up() {
  std::vector<std::string> unknown;
  for (std::size_t i = ready_; i < urls_.size(); ++i) {
    if (feeds_.try_emplace(urls_[i]).second) unknown.push_back(urls_[i]);
  }
  const auto read = [](Store& store, const std::vector<std::string>& urls) { return Feeds(store).faces(urls); };
  const std::vector<Fields> faces = answered(stores_.of_feeds(unknown, read));
  std::vector<std::string> titles;
  if (!channel_.empty()) titles = ChannelsOfAll(stores_).titles(channel_, unknown);
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    json::object& feed = feeds_[unknown[i]] = feed_of_entry(unknown[i], faces[i]);
    if (!channel_.empty()) feed["custom_title"] = text_or_null(titles[i]);
  }
  for (; ready_ < urls_.size(); ++ready_) {
    const json::object& feed = feeds_[urls_[ready_]];
    for (const auto& [name, value] : feed) bytes_ += value.is_string() ? value.get_string().size() : 0;
    rows_[ready_].as_object()["feed"] = feed;
  }
}

namespace {

/// Which posts of a channel to list.
struct TimelineFilter {
  std::string feed;   ///< only this feed's; "" = all
  bool all = false;   ///< also those that are read
  bool once = false;  ///< one of each story
};

/// The next positions of a timeline and where it continues; absent if the channel is unknown.
std::optional<FeedPlaces> next_places(const ChannelsOfAll& channels, const std::string& uid,
                                      const TimelineFilter& filter, std::size_t most,
                                      const std::optional<EntryCursor>& before) {
  const auto which = filter.all ? Channels::Of::all : Channels::Of::unread;
  if (!filter.feed.empty()) return channels.places_of({uid, filter.feed}, which, most, before);
  auto places = channels.places(uid, which, most, before);
  if (!places) return std::nullopt;
  FeedPlaces found{std::move(*places), {}};
  if (found.places.size() == most) found.rest = found.places.back();
  return found;
}

/// A page of a channel's posts.
ApiReply timeline_page(const ApiReading& reading, const TimelineFilter& filter) {
  const ApiCall& call = reading.call;
  const std::size_t limit = limit_of(call);
  std::optional<EntryCursor> before = before_of(call);
  const std::string& uid = call.get("channel");
  const ChannelsOfAll channels(reading.stores);
  const auto which = filter.all ? Channels::Of::all : Channels::Of::unread;
  EntryRows rows(reading.stores, uid);
  std::size_t seen = 0;
  for (bool goes_on = true; goes_on && rows.count() < limit && rows.bytes() < enough_bytes && seen < enough_entries;) {
    const auto found = next_places(channels, uid, filter, limit - rows.count(), before);
    if (!found) throw no_such_channel();
    std::span<const EntryCursor> left = found->places;
    while (!left.empty() && rows.bytes() < enough_bytes) {  // the rest is for the next page
      const auto some = left.first(std::min(entries_at_once, left.size()));
      const auto entries = channels.entries_at(some);
      const auto wanted =
          filter.once ? channels.are_first_told(uid, which, entries) : std::vector<bool>(entries.size(), true);
      const auto unread = filter.all ? channels.are_unread(uid, entries) : std::vector<bool>(entries.size(), true);
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!wanted[i]) continue;
        json::object row = entry_json(entries[i]);
        row["read"] = !unread[i];
        rows.add(entries[i], std::move(row));
      }
      rows.look_up();
      seen += some.size();
      before = some.back();
      left = left.subspan(some.size());
    }
    if (left.empty()) before = found->rest;
    goes_on = before.has_value();
    if (!filter.feed.empty()) break;  // it has examined as many posts as one call may
  }
  json::value next;
  if (before) next = fmt::format("{}:{}", before->score, before->id);
  return resource({{"entries", rows.take()}, {"next", std::move(next)}});
}

}  // namespace

ApiReply list_timeline(const ApiReading& reading) {
  const bool once = flag_of(reading.call, "once"), all = flag_of(reading.call, "all");
  const bool of_feed = reading.call.parameters.contains("url");
  const TimelineFilter filter{of_feed ? feed_url_of(reading.call) : std::string(), all, once};
  try {
    return timeline_page(reading, filter);
  } catch (const StoreFailure& failure) {
    const bool is_refused = failure.error.code == StoreError::Code::refused;
    if (!all || !is_refused || ChannelsOfAll(reading.stores).is_built(reading.call.get("channel"))) throw;
    return problem("not_ready", "a worker is building the list of all posts of this channel");
  }
}

ApiReply count_unread(const ApiReading& reading) {
  constexpr std::size_t most = 500;  // feeds, with URLs of 1 MiB; a count is linear in the feed's posts
  const ApiCall& call = reading.call;
  const auto page = channel_feeds_after(reading, name_of(call, "user"), call.get("after"), most);
  const ChannelsOfAll channels(reading.stores);
  std::vector<std::string> uids;
  for (const ChannelPart& part : page.parts) uids.push_back(part.uid);
  const std::vector<ChannelRecord> records = channels.records(uids);  // in the order of the parts
  json::array rows;
  for (const ChannelPart& part : page.parts) {
    const auto counts = channels.unread_of(part.uid, part.urls);
    json::array feeds;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0) feeds.push_back({{"url", part.urls[i]}, {"unread", counts[i]}});
    }
    rows.push_back({{"channel", part.uid}, {"unread", records[rows.size()].unread}, {"feeds", std::move(feeds)}});
  }
  return resource({{"channels", std::move(rows)}, {"next", text_or_null(page.next)}});
}

}  // namespace feedmill
