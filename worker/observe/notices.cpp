#include "worker/observe/notices.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <boost/json.hpp>

#include "worker/base/redact.hpp"
#include "worker/base/terminal.hpp"
#include "worker/observe/store_failure.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

struct LifeCycle {
  std::string_view type, text, remedy;
};

constexpr std::array life_cycle{
    LifeCycle{"feed_failing", "feed is failing",
              "nothing, if it comes back by itself; see feedmill show for what its server answers"},
    LifeCycle{"feed_gone", "feed is gone", "find its new address, or feedmill remove it"},
    LifeCycle{"feed_recovered", "feed is healthy", "nothing: it is fetched again as usual"},
    LifeCycle{"feed_moved", "feed has moved for good",
              "nothing: it is fetched from the new address; feedmill move URL --undo takes that back"},
    LifeCycle{"feed_rekeyed", "feed has new ids for old posts", "nothing: its posts keep their places"},
    LifeCycle{"feed_gap", "feed has left out posts", "set a shorter interval: more is posted than its document lists"},
};

bool is_never_read(const Event& event) {
  return field_of(event.data, "state") == "never_read";
}

/// As the log says it: "feed is blocked" says more than that it fails.
std::string text_of(const LifeCycle& row, const Event& event) {
  const std::string_view state = field_of(event.data, "state");
  if (is_never_read(event)) return "feed cannot be read, and never could";
  return state.empty() ? std::string(row.text) : "feed is " + std::string(state);
}

/// A notice that comes from no event; `id` makes it unique.
Notice notice_of(const std::string& id, const char* type, const std::string& feed_url, Milliseconds now,
                 json::object object) {
  object["id"] = id;
  object["type"] = type;
  object["feed_url"] = feed_url;
  object["timestamp"] = now.count() / 1000;
  return {std::string(operator_user), id, json::serialize(object), now.count() / 1000, feed_url};
}

}  // namespace

Notice post_notice(const Event& event, std::string user, std::span<const std::string> why) {
  std::vector<std::string> topics;
  for (const std::string& reason : why) topics.push_back(reason == "feed" ? "feed " + event.feed_url : reason);
  json::object object;
  object["id"] = event.id;
  object["type"] = event.type;
  object["entity_id"] = event.entity_id;
  object["feed_url"] = event.feed_url;
  object["guid"] = event.guid;
  for (const char* name : {"title", "link"}) object[name] = field_of(event.data, name);
  object["timestamp"] = event.timestamp;
  json::array& reasons = object["why"].emplace_array();
  for (const std::string& reason : why) reasons.emplace_back(reason);
  return {std::move(user), event.id, json::serialize(object), event.timestamp, event.feed_url, std::move(topics)};
}

std::optional<Notice> operator_notice(const Event& event) {
  const auto row =
      std::find_if(life_cycle.begin(), life_cycle.end(), [&](const LifeCycle& one) { return one.type == event.type; });
  if (row == life_cycle.end() || event.continued) return {};
  json::object object;
  object["id"] = event.id;
  object["type"] = event.type;
  object["feed_url"] = event.feed_url;
  object["timestamp"] = event.timestamp;
  for (const auto& [name, value] : event.data) object[name] = value;
  object["text"] = text_of(*row, event);
  object["remedy"] = is_never_read(event)
                         ? "see feedmill explain for why; when the address is wrong, feedmill move or remove it"
                         : row->remedy;
  return Notice{std::string(operator_user), event.id, json::serialize(object), event.timestamp, event.feed_url};
}

Notice quarantine_notice(const std::string& feed_url, const std::string& why, Milliseconds now) {
  return notice_of("quarantine " + std::to_string(now.count()) + " " + feed_url, "feed_quarantined", feed_url, now,
                   {{"text", visible(why)},
                    {"remedy", "it is tried again later, alone; please report it with the document behind the URL"}});
}

std::optional<Notice> state_notice(const Report& report, Milliseconds now) {
  const bool well = report.state_to == "healthy";
  const bool was_told = report.state_from == "degraded" || report.state_from == "quarantined";
  if (report.state_to == report.state_from || !(well ? was_told : report.state_to == "degraded")) return {};
  json::object object{{"state", report.state_to},
                      {"text", "feed is " + report.state_to},
                      {"remedy", well ? "nothing: it is fetched again as usual"
                                      : "nothing, if it comes back by itself; see feedmill show for what its server "
                                        "answers"}};
  if (report.reason != Reason::none) object["reason"] = to_string(report.reason);
  return notice_of("state " + report.state_to + " " + std::to_string(now.count()) + " " + report.feed_url,
                   well ? "feed_recovered" : "feed_degraded", report.feed_url, now, std::move(object));
}

Notice outage_notice(const Outage& outage, Milliseconds now) {
  return notice_of(
      "outage " + std::to_string(now.count()), "store_outage", "", now,
      {{"down_s", std::llround(outage.length.count())},
       {"errors", outage.errors},
       {"detail", visible(outage.last.detail)},
       {"text", "Redis did not serve: claims waited, and what had been fetched was kept while its lease held"},
       {"remedy", failure_of(outage.last).text}});
}

Notice unfit_notice(const StoreError& error, Milliseconds now) {
  return notice_of(
      "unfit " + std::to_string(now.count()), "store_unfit", "", now,
      {{"text", "nothing is fetched any more: the server would throw posts away"}, {"remedy", visible(error.detail)}});
}

Notice push_notice(const std::string& feed_url, const std::string& state, const std::string& why, Milliseconds now) {
  const bool well = state == "healthy";
  json::object object{{"state", state},
                      {"text", well ? "pushes of this feed can be relied on again"
                                    : "its hub does not push this feed (" + state + "): it is polled as usual"},
                      {"remedy", well ? "nothing: it is polled less often again"
                                      : "nothing: it is tried again later; feedmill set URL websub=off stops that"}};
  if (!why.empty()) object["why"] = why;
  return notice_of("websub " + state + " " + std::to_string(now.count()) + " " + feed_url, "feed_push", feed_url, now,
                   std::move(object));
}

Notice hub_notice(const std::string& hub, Milliseconds now) {
  return notice_of("websub hub " + std::to_string(now.count()) + " " + hub, "hub_trouble", "", now,
                   {{"hub", hub},
                    {"text", "five feeds or more that this hub pushes cannot be relied on within a day"},
                    {"remedy", "nothing, if it comes back; see that websub.public_url can be reached from outside"}});
}

Notice storm_notice(const std::string& host, const std::string& reason, Milliseconds now) {
  return notice_of(
      "storm " + std::to_string(now.count()) + " " + host, "host_storm", "", now,
      {{"host", host},
       {"reason", reason},
       {"text", "feeds of this host that were healthy fail alike: it is taken for the host's trouble"},
       {"remedy",
        "nothing: its feeds keep their state, one at a time asks, and all are fetched again when it is over; "
        "after 7 days they fail each for itself"}});
}

Notice webhook_notice(const std::string& id, const std::string& url, std::string_view what, const std::string& why,
                      Milliseconds now) {
  const bool suspended = what == "webhook_suspended";
  return notice_of(std::string(what) + " " + std::to_string(now.count()) + " " + id,
                   suspended ? "webhook_suspended" : "webhook_ended", "", now,
                   {{"webhook", id},
                    {"url", redact(url)},
                    {"reason", why},
                    {"text", suspended ? "a webhook has failed for so long that it is told of nothing any more"
                                       : "a webhook has ended: its receiver answered 410"},
                    {"remedy", suspended ? "mend the receiver, then: feedmill webhook resume " + id
                                         : std::string("add it again if that was a mistake")}});
}

Notice requests_notice(const RequestFigures& figures, Milliseconds now) {
  return notice_of("requests " + std::to_string(now.count()), "requests_waiting", "", now,
                   {{"waiting", figures.waiting},
                    {"bytes", figures.bytes},
                    {"text", "requests of programs come faster than they are answered"},
                    {"remedy", "look at what writes to stream:requests, and whether a worker runs"}});
}

Notice collision_notice(const std::string& feed_url, const std::string& to, Milliseconds now) {
  return notice_of("collision " + feed_url + " " + to, "feed_collision", feed_url, now,
                   {{"to", to},
                    {"text", "feed would move to a URL that is a feed already; nothing was merged"},
                    {"remedy", "feedmill remove one of the two"}});
}

}  // namespace feedmill
