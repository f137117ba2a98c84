// Calls that only read.
#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/queues/requests.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/store/deployment.hpp"
#include "storage/timelines/stories.hpp"
#include "worker/admin/status.hpp"
#include "worker/api/api.hpp"
#include "worker/api/routes.hpp"
#include "worker/base/terminal.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t events_at_once = 50;  // an event may have 64 KiB

OperationRefused no_such_feed(const Store& store, const std::string& url) {
  const auto its = store.elsewhere(url);
  if (its) return {"bad_parameter", fmt::format("url: it is in partition {}; ask there", *its)};
  return {"no_such_feed", "no such feed"};
}

}  // namespace

std::size_t limit_of(const ApiCall& call) {
  if (call.get("limit").empty()) return usual_page;
  std::size_t limit = 0;
  if (!read_number(std::string_view(call.get("limit")), limit) || limit == 0 || limit > most_page)
    throw OperationRefused{"bad_parameter", fmt::format("limit: 1 to {}", most_page)};
  return limit;
}

std::string feed_url_of(const ApiCall& call) {
  const auto url = canonical_feed_url(call.get("url"));
  if (!url) throw OperationRefused{"bad_parameter", "url: " + url.error()};
  return *url;
}

bool flag_of(const ApiCall& call, std::string_view name) {
  const std::string& text = call.get(name);
  if (!text.empty() && text != "true" && text != "false")
    throw OperationRefused{"bad_parameter", fmt::format("{}: true or false", name)};
  return text == "true";
}

const std::string& name_of(const ApiCall& call, std::string_view name) {
  const std::string& text = call.get(name);
  if (text.empty() && call.parameters.contains(name))
    throw OperationRefused{"bad_parameter", fmt::format("{}: it is empty", name)};
  return text;
}

OperationRefused bad_cursor() {
  return {"bad_parameter", "after: expected `next` of the previous page"};
}

OperationRefused no_such_channel() {
  return {"no_such_channel", "no such channel"};
}

std::size_t size_of(const Fields& fields) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : fields) bytes += name.size() + value.size();
  return bytes;
}

std::optional<EntryCursor> before_of(const ApiCall& call) {
  if (call.get("before").empty()) return std::nullopt;
  auto before = read_cursor(call.get("before"));
  if (!before) throw OperationRefused{"bad_parameter", "before: a cursor such as 1763689990:Entry:17"};
  return before;
}

namespace {

ApiReply one_entry(const ApiReading& reading, const std::optional<StoredEntry>& entry) {
  if (!entry) return problem("no_such_entry", "no such entry");
  const auto same_as = answered(Stories(reading.store()).same_as(std::span(&entry->id, 1)));
  EntryRows rows(reading.stores);
  rows.add(*entry, entry_json(*entry, same_as.front()));
  rows.look_up();
  return resource(rows.take().front().as_object());
}

bool is_sequence(std::string_view text) {
  const std::size_t dash = text.find('-');
  std::uint64_t number = 0;
  return dash != std::string_view::npos && read_number(text.substr(0, dash), number) &&
         read_number(text.substr(dash + 1), number) && number < UINT64_MAX;  // Redis does not look beyond that
}

}  // namespace

ApiReply read_feed(const ApiReading& reading) {
  const std::string url = feed_url_of(reading.call);
  const auto records = answered(Feeds(reading.store()).records(std::span(&url, 1)));
  if (!records.front()) throw no_such_feed(reading.store(), url);
  return resource(show_json(*records.front()));
}

ApiReply read_explanation(const ApiReading& reading) {
  const std::string url = feed_url_of(reading.call);
  const auto explained = answered(::feedmill::read_explained(reading.store(), reading.hosts, url));
  if (!explained) throw no_such_feed(reading.store(), url);
  return resource(explain_json(*explained));
}

ApiReply read_feed_entries(const ApiReading& reading) {
  const std::string url = feed_url_of(reading.call);
  if (!answered(Feeds(reading.store()).is_registered(url))) throw no_such_feed(reading.store(), url);
  const std::size_t limit = limit_of(reading.call);
  std::optional<EntryCursor> before = before_of(reading.call);
  EntryRows rows(reading.stores);
  json::value next;
  while (rows.count() < limit && rows.bytes() < enough_bytes) {
    const std::size_t most = std::min(entries_at_once, limit - rows.count());
    const auto page = answered(Entries(reading.store()).all_by_order(url, most, before));
    for (const StoredEntry& entry : page) {
      rows.add(entry, entry_json(entry));
      before = place_of(entry);
      next = cursor_of(entry);
    }
    rows.look_up();
    if (page.size() == most) continue;
    next = nullptr;
    break;
  }
  return resource({{"entries", rows.take()}, {"next", std::move(next)}});
}

ApiReply read_entry_by_guid(const ApiReading& reading) {
  const std::string url = feed_url_of(reading.call);
  return one_entry(reading, answered(Entries(reading.store()).get_by_guid(url, reading.call.get("guid"))));
}

ApiReply read_entry(const ApiReading& reading) {
  Entries entries(reading.store());
  const std::string id = entries.id_of(reading.call.item);
  // Check the id: it is used as a key, so any other key would be read as well.
  std::uint64_t number = 0;
  const std::string_view digits = std::string_view(id).substr(id.rfind(':') + 1);
  if (!read_number(digits, number) || id != entries.id_of(std::string(digits))) {
    return problem("no_such_entry", "expected an entry id such as Entry:17 or 17");
  }
  return one_entry(reading, answered(entries.get(id)));
}

ApiReply read_events(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  std::string after = reading.call.get("after");
  if (!after.empty() && !is_sequence(after))
    return problem("bad_parameter", "after: expected the seq of an event, such as 1795437223358-1");
  json::array events;
  for (std::size_t bytes = 0; events.size() < limit && bytes < enough_bytes;) {
    const std::size_t most = std::min(events_at_once, limit - events.size());
    const auto since = answered(EventStream(reading.store()).since(after, most));
    if (!since.records) {
      return problem(
          "too_old",
          fmt::format("events after {} have been trimmed, or the store was restored; the oldest available is {}", after,
                      since.oldest),
          {{"oldest", since.oldest}});
    }
    for (const EventRecord& record : *since.records) {
      bytes += record.json.size();
      events.push_back(embedded_json(record.json));
      after = record.id;
    }
    if (after.empty()) after = since.oldest;
    if (since.records->size() < most) break;
  }
  return resource({{"events", std::move(events)}, {"next", after}});
}

ApiReply read_answer(const ApiReading& reading) {
  const ApiCall& call = reading.call;
  const std::string& id = call.get("id");
  if (!id.empty() && !is_sequence(id)) return problem("bad_parameter", "id: expected the id from the 202 answer");
  RequestStream stream(reading.store());
  const auto waits = answered(id.empty() ? StoreResult<bool>(false) : stream.waits(id, call.app, call.item));
  // Read after the queue, so that an answer given in between is not missed.
  const auto answer = answered(stream.answer(call.app, call.item));
  json::object object{{"ref", call.item}};
  if (answer) {
    object["state"] = answer->done ? "done" : "failed";
    const json::value data = embedded_json(answer->data);
    if (data.is_object()) object.insert(data.as_object().begin(), data.as_object().end());
    return resource(object);
  }
  if (!waits)
    return problem("no_such_request", "no request with this ref was answered or is waiting under the given id");
  object["state"] = "waiting";
  return resource(object);
}

// Feed discovery over HTTP.

namespace asio = boost::asio;

namespace {

constexpr std::size_t calls_per_look = 5;  // charged for each URL that is fetched
constexpr std::chrono::milliseconds look_again{20};

boost::json::object discovery_json(const std::string& url, const Discovery& found, const std::vector<bool>& present,
                                   bool complete) {
  boost::json::array feeds, refused;
  for (std::size_t i = 0; i < found.feeds.size(); ++i) {
    const FoundFeed& feed = found.feeds[i];
    boost::json::array posts;
    for (const Fields& fields : feed.posts) {
      boost::json::object& post = posts.emplace_back(boost::json::object()).get_object();
      for (const auto& [name, value] : fields) post[name] = value;
    }
    feeds.push_back({{"url", feed.url},
                     {"title", visible(feed.title)},
                     {"format", feed.format},
                     {"entries", feed.entries},
                     {"found_in", to_string(feed.found_in)},
                     {"present", present[i]},
                     {"posts", std::move(posts)}});
  }
  for (const RefusedCandidate& one : found.refused) {
    refused.push_back({{"url", visible(one.url)}, {"detail", visible(one.reason)}});
  }
  const std::string trouble = found.look && !found.look->is_page() ? found.look->trouble() : std::string();
  return {{"url", url},
          {"complete", complete},
          {"feeds", std::move(feeds)},
          {"refused", std::move(refused)},
          {"trouble", trouble.empty() ? boost::json::value() : boost::json::value(visible(trouble))}};
}

}  // namespace

/// Discovers feeds with the code of `feedmill discover`.
asio::awaitable<ApiReply> Api::discover(const ApiCall& call, Visit& visit) {
  const auto url = canonical_feed_url(call.get("url"));
  if (!url) co_return problem("bad_value", fmt::format("url: {}", visible(url.error())));
  if (auto refused = co_await read_body(visit, longest_request)) co_return *refused;
  if (visit.gone()) co_return ApiReply();
  const auto known = [&](Store& store) { return Feeds(store).is_registered(*url); };
  const auto is_there = co_await with_store(call.app, known);
  if (!is_there) co_return store_is_away(is_there.error());
  const bool may_look = looking_.size() < most_looks && !looking_.contains(call.app);
  const auto look = may_look ? looks_.begin(*url) : nullptr;
  if (!look) co_return problem("busy", "too many URLs are being checked");
  const Looking looking(*this, call.app);
  asio::steady_timer timer(executor_);
  while (!look->done()) {
    timer.expires_after(look_again);
    co_await timer.async_wait(asio::use_awaitable);
  }
  if (!look->bug().empty()) throw std::runtime_error(look->bug());
  const Discovery& found = look->discovery();
  const std::size_t asked = 1 + found.feeds.size() + found.refused.size();
  charge(call.app, static_cast<std::int64_t>(calls_per_look * asked) * options_.call_time);
  if (found.look && found.look->is_refused()) {
    co_return problem("refused_address", visible(found.look->trouble()));
  }
  std::vector<std::string> urls;
  for (const FoundFeed& feed : found.feeds) urls.push_back(feed.url);
  const auto look_up = [&](Store& store) { return Feeds(store).records(urls); };
  const auto records = co_await with_store(call.app, look_up);
  if (!records) co_return store_is_away(records.error());
  std::vector<bool> present;
  for (const auto& record : *records) present.push_back(record.has_value());
  co_return resource(discovery_json(*url, found, present, look->is_complete()));
}

// The whole store in pages, for clients that keep a copy and follow the events (DESIGN §4).

namespace {

namespace json = boost::json;

/// Where a page ends: after a feed, or within a feed after an entry. As text, "URL" or "URL SCORE:ID".
struct Place {
  std::string url;
  std::optional<EntryCursor> before;
};

Place read_page_cursor(const std::string& text) {
  const std::size_t space = text.find(' ');
  Place place{text.substr(0, space), {}};
  if (space == std::string::npos) return place;
  place.before = read_cursor(std::string_view(text).substr(space + 1));
  if (place.url.empty() || !place.before) throw bad_cursor();
  return place;
}

std::string cursor_behind(const Place& place) {
  // If none of the feed's posts was sent yet, start before its newest one.
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

/// Has the form of an event with the complete post.
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
  Place place = read_page_cursor(reading.call.get("after"));
  // Taken before the first read, so that events after it include changes made during the reading.
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
      if (!records.front()) continue;  // it was removed in between
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
