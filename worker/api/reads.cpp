// What is asked for without changing anything.
#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/requests/requests.hpp"
#include "storage/store/answered.hpp"
#include "storage/timelines/stories.hpp"
#include "worker/admin/status.hpp"
#include "worker/api/routes.hpp"
#include "worker/base/json_text.hpp"
#include "worker/base/terminal.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t events_at_once = 50;  // an event may have 64 KiB

ApiReply bad_url(std::string_view error) {
  return problem("bad_parameter", fmt::format("url: {}", visible(error)));
}

ApiReply no_such_feed(const Store& store, const std::string& url) {
  const auto its = store.elsewhere(url);
  return its ? problem("bad_parameter", fmt::format("url: it is in partition {}; ask there", *its))
             : problem("no_such_feed", "no such feed");
}

}  // namespace

std::size_t limit_of(const ApiCall& call) {
  if (call.get("limit").empty()) return usual_page;
  std::size_t limit = 0;
  return read_number(std::string_view(call.get("limit")), limit) && limit <= most_page ? limit : 0;
}

ApiReply bad_limit() {
  return problem("bad_parameter", fmt::format("limit: 1 to {}", most_page));
}

std::size_t size_of(const Fields& fields) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : fields) bytes += name.size() + value.size();
  return bytes;
}

std::optional<ApiReply> read_before(const ApiCall& call, std::optional<EntryCursor>& before) {
  if (call.get("before").empty()) return std::nullopt;
  before = read_cursor(call.get("before"));
  if (before) return std::nullopt;
  return problem("bad_parameter", "before: a cursor such as 1763689990:Entry:17");
}

namespace {

ApiReply one_entry(Store& store, const std::optional<StoredEntry>& entry) {
  if (!entry) return problem("no_such_entry", "no such entry");
  const auto same_as = answered(Stories(store).same_as(std::span(&entry->id, 1)));
  return resource(entry_json(*entry, same_as.front()));
}

bool is_sequence(std::string_view text) {
  const std::size_t dash = text.find('-');
  std::uint64_t number = 0;
  return dash != std::string_view::npos && read_number(text.substr(0, dash), number) &&
         read_number(text.substr(dash + 1), number) && number < UINT64_MAX;  // behind which Redis looks for none
}

}  // namespace

ApiReply read_feed(const ApiReading& reading) {
  const auto url = canonical_feed_url(reading.call.get("url"));
  if (!url) return bad_url(url.error());
  const auto records = answered(Feeds(reading.store()).records(std::span(&*url, 1)));
  return records.front() ? resource(show_json(*records.front())) : no_such_feed(reading.store(), *url);
}

ApiReply read_explanation(const ApiReading& reading) {
  const auto url = canonical_feed_url(reading.call.get("url"));
  if (!url) return bad_url(url.error());
  const auto explained = answered(::feedmill::read_explained(reading.store(), reading.hosts, *url));
  return explained ? resource(explain_json(*explained)) : no_such_feed(reading.store(), *url);
}

ApiReply read_feed_entries(const ApiReading& reading) {
  const auto url = canonical_feed_url(reading.call.get("url"));
  if (!url) return bad_url(url.error());
  const auto known = answered(Feeds(reading.store()).is_registered(*url));
  if (!known) return no_such_feed(reading.store(), *url);
  const std::size_t limit = limit_of(reading.call);
  if (limit == 0) return bad_limit();
  std::optional<EntryCursor> before;
  if (const auto wrong = read_before(reading.call, before)) return *wrong;
  json::array entries;
  json::value next;
  for (std::size_t bytes = 0; entries.size() < limit && bytes < enough_bytes;) {
    const std::size_t most = std::min(entries_at_once, limit - entries.size());
    const auto page = answered(Entries(reading.store()).all_by_order(*url, most, before));
    for (const StoredEntry& entry : page) {
      bytes += size_of(entry.fields);
      entries.emplace_back(entry_json(entry));
      before = place_of(entry);
      next = cursor_of(entry);
    }
    if (page.size() == most) continue;
    next = nullptr;
    break;
  }
  return resource({{"entries", std::move(entries)}, {"next", std::move(next)}});
}

ApiReply read_entry_by_guid(const ApiReading& reading) {
  const auto url = canonical_feed_url(reading.call.get("url"));
  if (!url) return bad_url(url.error());
  return one_entry(reading.store(), answered(Entries(reading.store()).get_by_guid(*url, reading.call.get("guid"))));
}

ApiReply read_entry(const ApiReading& reading) {
  Entries entries(reading.store());
  const std::string id = entries.id_of(reading.call.item);
  // Any other key would be read as well.
  std::uint64_t number = 0;
  const std::string_view digits = std::string_view(id).substr(id.rfind(':') + 1);
  if (!read_number(digits, number) || id != entries.id_of(std::string(digits))) {
    return problem("no_such_entry", "expected an entry id such as Entry:17 or 17");
  }
  return one_entry(reading.store(), answered(entries.get(id)));
}

ApiReply read_events(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  if (limit == 0) return bad_limit();
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
  // Behind it: what was answered in between is not missed.
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

}  // namespace feedmill
