#include "worker/observe/notices.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <boost/json.hpp>

#include "worker/base/redact.hpp"
#include "worker/base/terminal.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

struct LifeCycle {
  std::string_view type, text, remedy;
};

constexpr std::array life_cycle{
    LifeCycle{"feed_failing", "feed is failing", "no action if it recovers; `feedmill show` has the server's answer"},
    LifeCycle{"feed_gone", "feed is gone", "find its new address, or feedmill remove it"},
    LifeCycle{"feed_recovered", "feed is healthy", "none: it is fetched as usual again"},
    LifeCycle{"feed_moved", "feed has moved permanently",
              "none: it is fetched from the new address; feedmill move URL --undo reverts the move"},
    LifeCycle{"feed_rekeyed", "feed has new ids for old posts", "none: its posts keep their places"},
    LifeCycle{"feed_gap", "posts were missed", "set a shorter interval: more is posted than its document lists"},
};

bool is_never_read(const Event& event) {
  return field_of(event.data, "state") == "never_read";
}

/// The log's wording: "feed is blocked" says more than "feed is failing".
std::string text_of(const LifeCycle& row, const Event& event) {
  const std::string_view state = field_of(event.data, "state");
  if (is_never_read(event)) return "feed has never been read";
  return state.empty() ? std::string(row.text) : "feed is " + std::string(state);
}

/// A notice that is not based on an event; `id` makes it unique.
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
  const auto row = std::ranges::find(life_cycle, event.type, &LifeCycle::type);
  if (row == life_cycle.end() || event.continued) return {};
  json::object object;
  object["id"] = event.id;
  object["type"] = event.type;
  object["feed_url"] = event.feed_url;
  object["timestamp"] = event.timestamp;
  for (const auto& [name, value] : event.data) object[name] = value;
  object["text"] = text_of(*row, event);
  object["remedy"] = is_never_read(event)
                         ? "feedmill explain shows why; if the URL is wrong, feedmill move or remove it"
                         : row->remedy;
  return Notice{std::string(operator_user), event.id, json::serialize(object), event.timestamp, event.feed_url};
}

Notice quarantine_notice(const std::string& feed_url, const std::string& why, Milliseconds now) {
  return notice_of("quarantine " + std::to_string(now.count()) + " " + feed_url, "feed_quarantined", feed_url, now,
                   {{"text", visible(why)},
                    {"remedy", "it is retried later, alone; please report it with the document at the URL"}});
}

std::optional<Notice> state_notice(const Report& report, Milliseconds now) {
  const bool well = report.state_to == "healthy";
  const bool was_told = report.state_from == "degraded" || report.state_from == "quarantined";
  if (report.state_to == report.state_from || !(well ? was_told : report.state_to == "degraded")) return {};
  json::object object{{"state", report.state_to},
                      {"text", "feed is " + report.state_to},
                      {"remedy", well ? "none: it is fetched as usual again"
                                      : "no action if it recovers; `feedmill show` has the server's answer"}};
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
       {"text", "Redis was unavailable: claims waited, and fetched documents were kept while their leases lasted"},
       {"remedy", failure_of(outage.last).text}});
}

Notice unfit_notice(const StoreError& error, Milliseconds now) {
  return notice_of(
      "unfit " + std::to_string(now.count()), "store_unfit", "", now,
      {{"text", "fetching has stopped: the server would discard posts"}, {"remedy", visible(error.detail)}});
}

Notice storm_notice(const std::string& host, const std::string& reason, Milliseconds now) {
  return notice_of("storm " + std::to_string(now.count()) + " " + host, "host_storm", "", now,
                   {{"host", host},
                    {"reason", reason},
                    {"text", "healthy feeds of this host fail alike: treated as a failure of the host"},
                    {"remedy",
                     "none: its feeds keep their state, one feed at a time is tried, and all are fetched again once it "
                     "recovers; after 7 days each feed fails individually"}});
}

Notice webhook_notice(const std::string& id, const std::string& url, std::string_view what, const std::string& why,
                      Milliseconds now) {
  const bool suspended = what == "webhook_suspended";
  return notice_of(std::string(what) + " " + std::to_string(now.count()) + " " + id,
                   suspended ? "webhook_suspended" : "webhook_ended", "", now,
                   {{"webhook", id},
                    {"url", redact(url)},
                    {"reason", why},
                    {"text", suspended ? "a webhook is suspended: it has failed for too long"
                                       : "a webhook has ended: its receiver answered 410"},
                    {"remedy", suspended ? "fix the receiver, then: feedmill webhook resume " + id
                                         : std::string("add it again if that was a mistake")}});
}

Notice requests_notice(const RequestFigures& figures, Milliseconds now) {
  return notice_of("requests " + std::to_string(now.count()), "requests_waiting", "", now,
                   {{"waiting", figures.waiting},
                    {"bytes", figures.bytes},
                    {"text", "programs send requests faster than they are processed"},
                    {"remedy", "check what writes to stream:requests, and whether a worker runs"}});
}

Notice collision_notice(const std::string& feed_url, const std::string& to, Milliseconds now) {
  return notice_of("collision " + feed_url + " " + to, "feed_collision", feed_url, now,
                   {{"to", to},
                    {"text", "feed would move to the URL of another feed; feeds are not merged"},
                    {"remedy", "remove one of the two: feedmill remove"}});
}

PushNews push_news(const Report& report) {
  return {report.feed_url, report.push_from,      report.push_to,  "",
          report.push_hub, report.hub_in_trouble, report.push_fell};
}

void note_turn(Log& log, Metrics& metrics, const PushNews& news) {
  if (news.from == news.to) return;
  metrics.push_turned(news.to);
  const bool bad = news.to == "failed" || news.to == "denied" || news.to == "doubtful";
  log.write(bad ? LogLevel::warn : LogLevel::info, "websub_state",
            bad ? "pushes for a feed are unreliable; it is polled as if there were none"
                : "the subscription of a feed at its hub has changed",
            {{"feed", feed_id(news.feed_url)},
             {"url", news.feed_url},
             {"state_from", news.from.empty() ? "none" : news.from},
             {"state_to", news.to.empty() ? "none" : news.to},
             {"detail", news.why}});
}

namespace {

/// A feed's subscription is now failed, denied, or healthy again (WEBSUB H1).
Notice push_notice(const std::string& feed_url, const std::string& state, const std::string& why, Milliseconds now) {
  const bool well = state == "healthy";
  json::object object{{"state", state},
                      {"text", well ? "pushes of this feed are reliable again"
                                    : "its hub does not push this feed (" + state + "): it is polled as usual"},
                      {"remedy", well ? "none: it is polled less often again"
                                      : "none: feedmill retries later; feedmill set URL websub=off disables pushes"}};
  if (!why.empty()) object["why"] = why;
  return notice_of("websub " + state + " " + std::to_string(now.count()) + " " + feed_url, "feed_push", feed_url, now,
                   std::move(object));
}

/// Five feeds or more cannot rely on a hub (WEBSUB H3).
Notice hub_notice(const std::string& hub, Milliseconds now) {
  return notice_of("websub hub " + std::to_string(now.count()) + " " + hub, "hub_trouble", "", now,
                   {{"hub", hub},
                    {"text", "pushes of five or more feeds of this hub became unreliable within a day"},
                    {"remedy", "no action if it recovers; check that websub.public_url is reachable from outside"}});
}

}  // namespace

std::vector<Notice> turn_notices(const PushNews& news, Milliseconds now) {
  std::vector<Notice> notices;
  const bool recovered = news.to == "healthy" && (news.from == "doubtful" || news.fell);
  if (news.from != news.to && (news.to == "failed" || news.to == "denied" || recovered)) {
    notices.push_back(push_notice(news.feed_url, news.to, news.why, now));
  }
  if (news.hub_in_trouble) notices.push_back(hub_notice(news.hub, now));
  return notices;
}

}  // namespace feedmill
