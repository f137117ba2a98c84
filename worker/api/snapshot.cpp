// The whole store in pages, for who keeps a copy of it and follows the events (DESIGN §4).
#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/store/answered.hpp"
#include "worker/api/routes.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// Where a page ends: behind a feed, or inside of it behind an entry. "URL" or "URL SCORE:ID".
struct Place {
  std::string url;
  std::optional<EntryCursor> before;
};

bool read_page_cursor(const std::string& text, Place& place) {
  const std::size_t space = text.find(' ');
  place.url = text.substr(0, space);
  if (space == std::string::npos) return true;
  place.before = read_cursor(std::string_view(text).substr(space + 1));
  return !place.url.empty() && place.before.has_value();
}

std::string cursor_behind(const Place& place) {
  // A feed whose first post is still to come: all are older than this.
  const EntryCursor before = place.before.value_or(EntryCursor{std::numeric_limits<std::int64_t>::max(), "~"});
  return fmt::format("{} {}:{}", place.url, before.score, before.id);
}

json::object fields_json(const Fields& fields) {
  json::object object;
  for (const auto& [name, value] : fields) object[name] = byte_text(value);
  return object;
}

json::object feed_row(const FeedRecord& record) {
  return {{"entity_type", "feed"},
          {"entity_id", record.feed_url},
          {"fetch_url", text_or_null(record.state.address.fetch_url)},
          {"feed", fields_json(record.feed)}};
}

/// As an event that holds all of a post.
json::object post_row(const StoredEntry& entry) {
  Fields fields = entry.fields;
  std::erase_if(fields, [](const auto& field) {
    constexpr std::array<std::string_view, 5> elsewhere{"bytes", "digest", "feed_url", "guid", "rev"};
    return std::ranges::find(elsewhere, field.first) != elsewhere.end();
  });
  return {{"entity_type", "post"},
          {"entity_id", entry.id},
          {"feed_url", byte_text(entry.get("feed_url"))},
          {"guid", byte_text(entry.get("guid"))},
          {"rev", leading_number<std::int64_t>(entry.get("rev"), 1)},
          {"post", fields_json(fields)}};
}

}  // namespace

ApiReply read_snapshot(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  if (limit == 0) return bad_limit();
  Place place;
  if (!read_page_cursor(reading.call.get("after"), place)) {
    return problem("bad_parameter", "after: expected `next` of the previous page");
  }
  // Before anything is read: what changes meanwhile is told behind it.
  const auto seq = answered(EventStream(reading.store()).last_seq());
  json::array rows;
  json::value next;
  std::size_t bytes = 0;
  const auto add = [&](json::object row, const Fields& fields) {
    bytes += size_of(fields);
    rows.emplace_back(std::move(row));
  };
  bool inside = place.before.has_value();
  for (std::size_t feeds = 0; rows.size() < limit && feeds < limit && bytes < enough_bytes;) {
    if (!inside) {
      ++feeds;
      NamePage behind = feed_page(reading, place.url, 1);
      if (behind.names.empty()) return resource({{"seq", seq}, {"rows", std::move(rows)}, {"next", nullptr}});
      place = {std::move(behind.names.front()), {}};
      const auto records = answered(Feeds(reading.store()).records(std::span(&place.url, 1)));
      if (!records.front()) continue;  // it went meanwhile
      add(feed_row(*records.front()), records.front()->feed);
      inside = true;
    }
    const std::size_t most = std::min(entries_at_once, limit - rows.size());
    if (most == 0) break;
    const auto entries = answered(Entries(reading.store()).all_by_order(place.url, most, place.before));
    for (const StoredEntry& entry : entries) {
      add(post_row(entry), entry.fields);
      place.before = place_of(entry);
    }
    inside = entries.size() == most;
  }
  return resource({{"seq", seq}, {"rows", std::move(rows)}, {"next", inside ? cursor_behind(place) : place.url}});
}

}  // namespace feedmill
