// What is asked for without changing anything.
#include <algorithm>
#include <functional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/numbers.hpp"
#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/requests/requests.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/notifications.hpp"
#include "storage/timelines/stories.hpp"
#include "worker/admin/status_json.hpp"
#include "worker/api/routes.hpp"
#include "worker/base/json_text.hpp"
#include "worker/base/terminal.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t usual_limit = 50;
constexpr std::size_t stretch_size = 20'000;      // names
constexpr std::chrono::seconds stretch_kept{60};  // so old a list may be for pages behind the first
constexpr std::size_t enough_entries = 1'000;     // a page ends behind so many that it may not show
constexpr std::size_t events_at_once = 50;        // an event may have 64 KiB

ApiReply bad_url(std::string_view error) {
  return problem("bad_parameter", fmt::format("url: {}", visible(error)));
}

ApiReply no_such_feed(const Store& store, const std::string& url) {
  const auto its = store.elsewhere(url);
  return its ? problem("bad_parameter", fmt::format("url: partition {} has it: ask there", *its))
             : problem("no_such_feed", "it is none of the feeds here");
}

}  // namespace

std::size_t limit_of(const ApiCall& call) {
  if (call.get("limit").empty()) return usual_limit;
  std::size_t limit = 0;
  return read_number(std::string_view(call.get("limit")), limit) && limit <= most_limit ? limit : 0;
}

ApiReply bad_limit() {
  return problem("bad_parameter", fmt::format("limit: 1 to {}", most_limit));
}

bool read_place(const std::string& text, EntryCursor& place) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  if (!read_number(std::string_view(text).substr(0, colon), place.score) || colon + 1 >= text.size()) return false;
  place.id = text.substr(colon + 1);
  return place.id.size() <= 256;
}

namespace {

using EntryPage = StoreResult<std::optional<std::vector<StoredEntry>>>;
/// Which of a page's entries are shown.
using EntryFilter = std::function<StoreResult<std::vector<bool>>(const std::vector<StoredEntry>&)>;

/// A page of entries, newest first; absent where what they are of is not there.
StoreResult<std::optional<ApiReply>> entry_page(
    const ApiCall& call, const std::function<EntryPage(std::size_t, const std::optional<EntryCursor>&)>& more,
    const EntryFilter& filter = {}) {
  const std::size_t limit = limit_of(call);
  if (limit == 0) return std::optional(bad_limit());
  std::optional<EntryCursor> before;
  if (!call.get("before").empty() && !read_place(call.get("before"), before.emplace())) {
    return std::optional(problem("bad_parameter", "before: a cursor such as 1763689990:Entry:17"));
  }
  json::array entries;
  json::value next;
  for (std::size_t bytes = 0, seen = 0; entries.size() < limit && bytes < enough_bytes && seen < enough_entries;) {
    const std::size_t most = std::min(entries_at_once, limit - entries.size());
    const EntryPage page = more(most, before);
    if (!page) return page.error();
    if (!*page) return std::optional<ApiReply>();
    const auto wanted = filter ? filter(**page) : std::vector<bool>((*page)->size(), true);
    if (!wanted) return wanted.error();
    seen += (*page)->size();
    for (std::size_t i = 0; i < (*page)->size(); ++i) {
      const StoredEntry& entry = (**page)[i];
      for (const auto& [name, value] : entry.fields) bytes += name.size() + value.size();
      if ((*wanted)[i]) entries.emplace_back(entry_json(entry));
      before = place_of(entry);
      next = cursor_of(entry);
    }
    if ((*page)->size() < most) {
      next = nullptr;
      break;
    }
  }
  return std::optional(resource({{"entries", std::move(entries)}, {"next", std::move(next)}}));
}

StoreResult<ApiReply> one_entry(Store& store, const StoreResult<std::optional<StoredEntry>>& entry) {
  if (!entry) return entry.error();
  if (!*entry) return problem("no_such_entry", "nothing of that name is stored");
  const auto same_as = Stories(store).same_as(std::span(&(*entry)->id, 1));
  if (!same_as) return same_as.error();
  return resource(entry_json(**entry, same_as->front()));
}

bool is_sequence(std::string_view text) {
  const std::size_t dash = text.find('-');
  std::uint64_t number = 0;
  return dash != std::string_view::npos && read_number(text.substr(0, dash), number) &&
         read_number(text.substr(dash + 1), number) && number < UINT64_MAX;  // behind which Redis looks for none
}

/// `more`: reads a stretch of the list `of` behind a name.
StoreResult<NamePage> name_page(NameStretch& stretch, const std::string& of, const std::string& after,
                                std::size_t limit,
                                const std::function<StoreResult<std::vector<std::string>>(const std::string&)>& more) {
  const auto now = std::chrono::steady_clock::now();
  // Whoever begins sees what there is now; whoever goes on, what was there a moment ago.
  const bool goes_on = !after.empty() && stretch.of == of && now - stretch.read_at < stretch_kept &&
                       stretch.from <= after &&
                       (stretch.to_the_end || (!stretch.names.empty() && after < stretch.names.back()));
  if (!goes_on) {
    auto names = more(after);
    if (!names) return names.error();
    const bool to_the_end = names->size() < stretch_size;
    stretch = {of, after, std::move(*names), to_the_end, now};
  }
  const auto first = std::upper_bound(stretch.names.begin(), stretch.names.end(), after);
  const auto end = first + std::min(static_cast<std::ptrdiff_t>(limit), stretch.names.end() - first);
  NamePage page{{first, end}, {}};
  if (first != end && !(stretch.to_the_end && end == stretch.names.end())) page.next = *(end - 1);
  return page;
}

ApiReply no_such_channel() {
  return problem("no_such_channel", "nothing of that name is there");
}

}  // namespace

StoreResult<NamePage> feed_page(const ApiReading& reading, const std::string& after, std::size_t limit) {
  return name_page(reading.stretches.feeds, "", after, limit,
                   [&](const std::string& from) { return Feeds(reading.store).urls_after(from, stretch_size); });
}

StoreResult<ApiReply> read_feeds(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  if (limit == 0) return bad_limit();
  const auto page = feed_page(reading, reading.call.get("after"), limit);
  if (!page) return page.error();
  const auto records = Feeds(reading.store).records(page->names);
  if (!records) return records.error();
  json::array feeds;
  for (const std::optional<FeedRecord>& record : *records) {
    if (record) feeds.emplace_back(list_json(*record));  // else it went meanwhile
  }
  return resource({{"feeds", std::move(feeds)}, {"next", page->next}});
}

StoreResult<ApiReply> read_feed(const ApiReading& reading) {
  const auto url = canonical_feed_url(reading.call.get("url"));
  if (!url) return bad_url(url.error());
  const auto records = Feeds(reading.store).records(std::span(&*url, 1));
  if (!records) return records.error();
  return records->front() ? resource(show_json(*records->front())) : no_such_feed(reading.store, *url);
}

StoreResult<ApiReply> read_explanation(const ApiReading& reading) {
  const auto url = canonical_feed_url(reading.call.get("url"));
  if (!url) return bad_url(url.error());
  const auto explained = ::feedmill::read_explained(reading.store, reading.hosts, *url);
  if (!explained) return explained.error();
  return *explained ? resource(explain_json(**explained)) : no_such_feed(reading.store, *url);
}

StoreResult<ApiReply> read_feed_entries(const ApiReading& reading) {
  const auto url = canonical_feed_url(reading.call.get("url"));
  if (!url) return bad_url(url.error());
  const auto known = Feeds(reading.store).is_registered(*url);
  if (!known) return known.error();
  if (!*known) return no_such_feed(reading.store, *url);
  const auto page = entry_page(reading.call, [&](std::size_t most, const std::optional<EntryCursor>& before) {
    auto entries = Entries(reading.store).all_by_order(*url, most, before);
    return entries ? EntryPage(std::move(*entries)) : EntryPage(entries.error());
  });
  if (!page) return page.error();
  return **page;
}

StoreResult<ApiReply> read_entry_by_guid(const ApiReading& reading) {
  const auto url = canonical_feed_url(reading.call.get("url"));
  if (!url) return bad_url(url.error());
  return one_entry(reading.store, Entries(reading.store).get_by_guid(*url, reading.call.get("guid")));
}

StoreResult<ApiReply> read_entry(const ApiReading& reading) {
  Entries entries(reading.store);
  const std::string id = entries.id_of(reading.call.item);
  // Any other key would be read as well.
  std::uint64_t number = 0;
  const std::string_view digits = std::string_view(id).substr(id.rfind(':') + 1);
  if (!read_number(digits, number) || id != entries.id_of(std::string(digits))) {
    return problem("no_such_entry", "an entry is Entry:17 or 17");
  }
  return one_entry(reading.store, entries.get(id));
}

StoreResult<ApiReply> read_channels(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  if (limit == 0) return bad_limit();
  const std::string& user = reading.call.get("user");
  if (user.empty() && reading.call.parameters.contains("user")) return problem("bad_parameter", "user: it is empty");
  const std::string beginning = user.empty() ? std::string() : user + "/";
  Channels channels(reading.store);
  const auto page =
      name_page(reading.stretches.channels, beginning, reading.call.get("after"), limit,
                [&](const std::string& after) { return channels.names_after(after, stretch_size, beginning); });
  if (!page) return page.error();
  const auto records = channels.records(page->names);
  if (!records) return records.error();
  json::array rows;
  for (const ChannelRecord& channel : *records) {
    rows.push_back(json::object{{"channel", channel.uid},
                                {"position", channel.position},
                                {"feeds", channel.feeds},
                                {"unread", channel.unread}});
  }
  return resource({{"channels", std::move(rows)}, {"next", page->next}});
}

StoreResult<ApiReply> read_channel_feeds(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  if (limit == 0) return bad_limit();
  const std::string& uid = reading.call.get("channel");
  Channels channels(reading.store);
  const auto known = channels.is_known(uid);
  if (!known) return known.error();
  if (!*known) return no_such_channel();
  const auto page = name_page(reading.stretches.channel_feeds, uid, reading.call.get("after"), limit,
                              [&](const std::string& after) { return channels.feeds_after(uid, after, stretch_size); });
  if (!page) return page.error();
  return resource(
      {{"channel", uid}, {"feeds", json::array(page->names.begin(), page->names.end())}, {"next", page->next}});
}

StoreResult<ApiReply> read_timeline(const ApiReading& reading) {
  Channels channels(reading.store);
  Stories stories(reading.store);
  const std::string& uid = reading.call.get("channel");
  const std::string& once = reading.call.get("once");
  if (!once.empty() && once != "true" && once != "false") return problem("bad_parameter", "once: true or false");
  const auto first_told = [&](const std::vector<StoredEntry>& entries) {
    return stories.is_first_told(uid, false, ids_of(entries));
  };
  const auto page = entry_page(
      reading.call,
      [&](std::size_t most, const std::optional<EntryCursor>& before) { return channels.timeline(uid, most, before); },
      once == "true" ? EntryFilter(first_told) : EntryFilter());
  if (!page) return page.error();
  return *page ? **page : no_such_channel();
}

StoreResult<ApiReply> read_notices(const ApiReading& reading) {
  const std::string& user = reading.call.get("user");
  const auto all = Notifications(reading.store).list(user);
  if (!all) return all.error();
  json::array notices;
  for (const StoredNotice& notice : *all) {
    json::value one = embedded_json(notice.json);
    // A feed's address may hold a secret, and operators read this aloud (SECURITY K1).
    notices.push_back(user == operator_user ? without_secrets(std::move(one)) : std::move(one));
  }
  return resource({{"user", user}, {"notices", std::move(notices)}});
}

StoreResult<ApiReply> read_rules(const ApiReading& reading) {
  const std::string& user = reading.call.get("user");
  const auto all = Notifications(reading.store).watches(user);
  if (!all) return all.error();
  json::array rules;
  for (const Watch& watch : *all) {
    rules.push_back(json::object{
        {"id", leading_number<std::uint64_t>(watch.id)}, {"kind", to_string(watch.kind)}, {"watched", watch.target}});
  }
  return resource({{"user", user}, {"rules", std::move(rules)}});
}

StoreResult<ApiReply> read_events(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  if (limit == 0) return bad_limit();
  std::string after = reading.call.get("after");
  if (!after.empty() && !is_sequence(after))
    return problem("bad_parameter", "after: the seq of an event, as 1795437223358-1");
  json::array events;
  for (std::size_t bytes = 0; events.size() < limit && bytes < enough_bytes;) {
    const std::size_t most = std::min(events_at_once, limit - events.size());
    const auto since = EventStream(reading.store).since(after, most);
    if (!since) return since.error();
    if (!since->records) {
      return problem(
          "too_old",
          fmt::format("events behind {} have been trimmed, or the store was put back; the oldest there is: {}", after,
                      since->oldest),
          {{"oldest", since->oldest}});
    }
    for (const EventRecord& record : *since->records) {
      bytes += record.json.size();
      events.push_back(embedded_json(record.json));
      after = record.id;
    }
    if (after.empty()) after = since->oldest;
    if (since->records->size() < most) break;
  }
  return resource({{"events", std::move(events)}, {"next", after}});
}

StoreResult<ApiReply> read_answer(const ApiReading& reading) {
  const ApiCall& call = reading.call;
  const std::string& id = call.get("id");
  if (!id.empty() && !is_sequence(id)) return problem("bad_parameter", "id: as the answer 202 has given it");
  RequestStream stream(reading.store);
  const auto waits = id.empty() ? StoreResult<bool>(false) : stream.waits(id, call.app, call.item);
  if (!waits) return waits.error();
  // Behind it: what was answered in between is not missed.
  const auto answer = stream.answer(call.app, call.item);
  if (!answer) return answer.error();
  json::object object{{"ref", call.item}};
  if (*answer) {
    object["state"] = (*answer)->done ? "done" : "failed";
    const json::value data = embedded_json((*answer)->data);
    if (data.is_object()) object.insert(data.as_object().begin(), data.as_object().end());
    return resource(object);
  }
  if (!*waits) return problem("no_such_request", "none of that ref was answered, nor waits under the id given");
  object["state"] = "waiting";
  return resource(object);
}

}  // namespace feedmill
