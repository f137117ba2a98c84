#include "worker/admin/status.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/admin/feed_pages.hpp"
#include "worker/admin/page_parts.hpp"
#include "worker/base/units.hpp"

namespace feedmill::status_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using Weight = Concern::Weight;

constexpr Milliseconds now{1'772'370'432'000};  // 2026-03-01T13:07:12Z

Status healthy() {
  Status status;
  ProcessStatus& process = status.process;
  process.worker = "0123456789abcdef0123456789abcdef";
  process.host = "reader-1";
  process.version = "0.9";
  process.configuration = "00ff00ff00ff00ff";
  process.clock = now;
  process.uptime = 26h;
  process.ready = {{"redis", true, ""}, {"not_draining", true, ""}};
  process.lanes = 256;
  process.lanes_busy = 3;
  process.memory_budget = 512U << 20;
  process.last_commit_ago = 4s;
  process.stretches.resize(stretch_count);
  process.ten_minutes.not_modified = 90;
  process.ten_minutes.lateness[0] = 90;
  process.six_hours.created = 7;
  StoreStatus& store = status.store.emplace();
  store.fleet.now = now;
  store.fleet.feeds = 1000;
  store.fleet.workers = 1;
  store.fleet.states = {{"healthy", 990}, {"failing", 10}};
  store.stream = {.records = 10, .hard_limit = 1000, .now = now, .groups = {{"delivery", 0, {}}}};
  store.workers = {
      {process.worker, now - 2s, {{"host", "reader-1"}, {"pid", "7"}, {"version", "0.9"}, {"in_flight", "3"}}}};
  return status;
}

std::string page(const Status& status) {
  return status_page(status).text();
}

TEST(Concerns, SaysNothingWhenAllIsWell) {
  EXPECT_TRUE(concerns(healthy()).empty());
  EXPECT_EQ(verdict({}), "All is well");
  EXPECT_THAT(page(healthy()), HasSubstr("<h1 id=\"verdict\">All is well</h1>"));
}

struct ConcernCase {
  const char* says;
  Weight weight;
  std::function<void(Status&)> spoil;
};

TEST(Concerns, ListsOnlyRealFaultsEachWithARemedy) {
  const ConcernCase cases[] = {
      {"Redis does not answer", Weight::bad,
       [](Status& s) {
         s.store.reset();
         s.store_error = "Redis does not answer: no such file; is it running, is redis.url right?";
       }},
      {"is stopping", Weight::note, [](Status& s) { s.process.stopping = true; }},
      {"Documents use 95 %", Weight::warning,
       [](Status& s) { s.process.memory_used = s.process.memory_budget / 100 * 95; }},
      {"110 of 200 refreshes of the last 10 minutes failed", Weight::bad,
       [](Status& s) {
         s.process.ten_minutes.failed = 110;
         s.process.ten_minutes.lateness[0] = 200;
       }},
      {"110 of 200 refreshes of the last 10 minutes failed, 90 of them with egress.blocked.", Weight::bad,
       [](Status& s) {
         s.process.ten_minutes.failed = 110;
         s.process.ten_minutes.lateness[0] = 200;
         s.process.main_failure = FailureCount{Reason::egress_blocked, 90};
       }},
      {"30 % of the refreshes of the last 3 hours failed", Weight::warning,
       [](Status& s) {
         s.process.three_hours.failed = 30;
         s.process.three_hours.updated = 70;
       }},
      {"fetched late: 1 in 100 by more than 15 min", Weight::bad,
       [](Status& s) {
         s.process.ten_minutes.lateness[8] = 90;
         s.process.ten_minutes.worst_lateness = 2h;
       }},
      {"2 refreshes of the last hour hit a bug", Weight::warning, [](Status& s) { s.process.hour.bugs = 2; }},
      {"1001 log lines were suppressed", Weight::note, [](Status& s) { s.process.log_suppressed = 1001; }},
      {"Nothing was stored for 10 minutes, with 4 feeds due", Weight::bad,
       [](Status& s) {
         s.process.last_commit_ago = 601s;
         s.store->fleet.due = 4;
       }},
      {"Nothing was stored for 10 minutes, with 5 feeds due", Weight::bad,
       [](Status& s) {
         s.process.last_commit_ago = -1s;
         s.store->fleet.due = 5;
       }},
      {"No worker fetches feeds", Weight::warning, [](Status& s) { s.store->fleet.workers = 0; }},
      {"“delivery” lags by 6 min", Weight::warning, [](Status& s) { s.store->stream.groups[0].oldest = now - 6min; }},
      {"60 % full", Weight::warning, [](Status& s) { s.store->stream.records = 600; }},
      {"A feed is quarantined", Weight::warning,
       [](Status& s) { s.store->fleet.states.emplace_back("quarantined", 1); }},
      {"12 feeds are quarantined", Weight::warning,
       [](Status& s) { s.store->fleet.states.emplace_back("quarantined", 12); }},
      {"No new entry for 6 hours", Weight::bad, [](Status& s) { s.process.six_hours.created = 0; }},
  };
  for (const ConcernCase& one : cases) {
    Status status = healthy();
    one.spoil(status);
    const auto found = concerns(status);
    ASSERT_EQ(found.size(), 1U) << one.says;
    EXPECT_THAT(found[0].text, HasSubstr(one.says));
    EXPECT_EQ(found[0].weight, one.weight) << one.says;
    EXPECT_NE(found[0].remedy, "") << one.says;
    EXPECT_THAT(page(status), HasSubstr(html_text(found[0].remedy)));
  }
}

TEST(Concerns, NamesWhatFitsTheReasonAndLeadsToFeedsThatFailed) {
  Status status = healthy();
  status.process.ten_minutes.failed = 110;
  status.process.main_failure = FailureCount{Reason::egress_blocked, 90};
  status.process.busiest = {{"well.example", 90, 0, 1s}, {"bad.example", 20, 20, 1s}, {"one.example", 1, 1, 1s}};
  EXPECT_THAT(concerns(status)[0].remedy, HasSubstr("egress.allow"));
  EXPECT_EQ(concerns(status)[0].where, "/status/feeds?host=bad.example");
  status.process.main_failure = FailureCount{Reason::dns_failed, 90};
  EXPECT_THAT(concerns(status)[0].remedy, HasSubstr("name servers"));
  status.store->fleet.states.emplace_back("degraded", 3);
  EXPECT_EQ(concerns(status)[0].where, "/status/feeds?state=degraded");
}

TEST(Concerns, PutsTheWorstFirst) {
  Status status = healthy();
  status.process.stopping = true;
  status.process.hour.bugs = 1;
  status.process.six_hours.created = 0;
  const auto found = concerns(status);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].weight, Weight::bad);
  EXPECT_EQ(found[2].weight, Weight::note);
  EXPECT_EQ(verdict(found), "2 things need attention");
}

TEST(StatusPage, SaysAtOnceThatTheStoreIsAwayAndShowsTheRest) {
  Status status = healthy();
  status.store.reset();
  status.store_error = "Redis does not answer: <refused>; is it running, is redis.url right?";
  status.process.ready[0] = {"redis", false, "Connection refused"};
  const std::string shown = page(status);
  EXPECT_THAT(shown, HasSubstr("One thing needs attention"));
  EXPECT_THAT(shown, HasSubstr("Redis does not answer: &lt;refused&gt;"));
  EXPECT_THAT(shown, HasSubstr("not ready. Redis does not serve (Connection refused)."));
  EXPECT_THAT(shown, HasSubstr("3 of 256 busy"));
  EXPECT_THAT(shown, Not(HasSubstr("Feeds by state")));
}

TEST(StatusPage, DescribesEmptySections) {
  Status status = healthy();
  status.store->fleet = FleetFigures();
  status.store->fleet.now = now;
  status.store->fleet.workers = 1;
  status.store->workers.clear();
  status.store->stream.groups.clear();
  status.process.ten_minutes = {};
  const std::string shown = page(status);
  for (const char* const words :
       {"No feeds yet", "No hosts backing off", "None. Failing, moved", "No worker sends a heartbeat",
        "No consumer groups", "This worker has contacted no host", "add some: feedmill add URL", "nothing was due"})
    EXPECT_THAT(shown, HasSubstr(words));
}

TEST(StatusPage, ListsWorkersThatDoNotFetchAndComparesConfigurations) {
  Status status = healthy();
  status.process.push_out = true;
  status.process.ingest = status.process.deliver = false;
  status.store->workers.push_back({"b", now - 1s, {{"host", "pusher"}, {"does", "deliver push_out"}}, {}, false});
  status.store->fleet.differing = {"egress.allow", "signals.content"};
  const std::string shown = page(status);
  EXPECT_THAT(shown, HasSubstr("<td>fetch</td>")) << "an older build";
  EXPECT_THAT(shown, HasSubstr("<td>deliver, push out</td>"));
  EXPECT_THAT(shown, HasSubstr("<dd>pushes events out</dd>"));
  EXPECT_THAT(shown, HasSubstr("Workers have different configurations: egress.allow, signals.content."));
  const boost::json::object all = status_json(status);
  EXPECT_EQ(all.at("store").at("differing_options").at(1).as_string(), "signals.content");
  EXPECT_TRUE(all.at("worker").at("push_out").as_bool());
}

TEST(PartitionsPage, ShowsEachPartitionAndMergesProblems) {
  std::vector<PartitionStatus> all;
  for (std::uint32_t i = 0; i < 12; ++i) all.push_back({i, healthy()});
  EXPECT_EQ(verdict_of_all(all), "All is well");
  EXPECT_THAT(partitions_page(all).text(), HasSubstr("<h1 id=\"verdict\">All is well</h1>"));
  all[3].status.store.reset();
  all[3].status.store_error = "Redis does not answer: <b>";
  for (PartitionStatus& one : all) one.status.process.stopping = true;
  all[5].status.store->fleet.differing = all[7].status.store->fleet.differing = {"host"};
  EXPECT_EQ(verdict_of_all(all), "2 things need attention");
  const std::string shown = partitions_page(all).text();
  EXPECT_THAT(shown, HasSubstr("Redis does not answer: &lt;b&gt;"));
  EXPECT_THAT(shown, HasSubstr("Partition <a href=\"/p3/status\">3</a>."));
  EXPECT_THAT(shown, HasSubstr("Partitions <a href=\"/p5/status\">5</a>, <a href=\"/p7/status\">7</a>."));
  EXPECT_THAT(shown, HasSubstr("All partitions."));
  EXPECT_THAT(shown, HasSubstr("<dd class=\"figure\">11\xe2\x80\xaf"
                               "000</dd>"))
      << "only of partitions that answer";
  EXPECT_LT(shown.find("Redis does not answer"), shown.find("This worker is stopping")) << "the worst first";
}

TEST(StatusPage, FoldsLongLists) {
  Status status = healthy();
  for (int i = 0; i < 20; ++i) {
    status.process.busiest.push_back({"h" + std::to_string(i) + ".example", 5, 1, 10s});
    status.store->notices.push_back(
        {std::to_string(i), R"({"read":false,"text":"feed is failing","remedy":"wait","feed_url":"https://h.example/)" +
                                std::to_string(i) + R"(","timestamp":1772370000})"});
    status.store->closed.push_back({"c" + std::to_string(i) + ".example",
                                    {.last_start = {},

                                     .not_before = now + 90min,
                                     .quotas = {},
                                     .other = {{"closed", "1"}, {"cause", "rate_limited"}, {"refusals", "3"}}}});
  }
  const std::string shown = page(status);
  EXPECT_THAT(shown, HasSubstr("<summary>15 more</summary>"));
  EXPECT_THAT(shown, HasSubstr("h19.example"));
  EXPECT_THAT(shown, HasSubstr("href=\"/status/feeds?host=c7.example\""));
  EXPECT_THAT(shown, HasSubstr("it reports too many requests (429)"));
  EXPECT_THAT(shown, HasSubstr("title=\"2026-03-01T14:37:12Z\">in 90 min</time>"));
  EXPECT_THAT(shown, HasSubstr("/status/feed?url=https%3A%2F%2Fh.example%2F3"));
}

TEST(StatusPage, ShowsTitlesOfFeedsWithoutMarkup) {
  Status status = healthy();
  status.store->posts = {
      {"Post", "https://h.example/1", "https://h.example/feed", "Q&amp;A &lt;b&gt;", now, "text/html"}};
  EXPECT_THAT(page(status), HasSubstr("<bdi>Q&amp;A &lt;b&gt;</bdi>"));
  EXPECT_EQ(status_json(status).at("store").at("newest_posts").at(0).at("feed_title_type").as_string(), "text/html");
  status.store->posts[0].feed_title_type = "";
  EXPECT_THAT(page(status), HasSubstr("<bdi>Q&amp;amp;A &amp;lt;b&amp;gt;</bdi>"));
}

TEST(StatusPage, SurvivesMalformedNotices) {
  Status status = healthy();
  for (const char* const text : {"", "{", "[]", "7", "{\"text\":7,\"timestamp\":\"x\",\"feed_url\":null}"}) {
    status.store->notices.push_back({"x", text});
  }
  EXPECT_THAT(page(status), HasSubstr("Notices to operators"));
}

TEST(StatusJson, CarriesWhatThePageShows) {
  Status status = healthy();
  status.store->closed.push_back(
      {"c.example", {.last_start = {}, .not_before = now, .quotas = {}, .other = {{"cause", "forbidden"}}}});
  status.store->notices.push_back({"1", R"({"read":false,"text":"t","feed_url":"https://h.example/?token=canary"})"});
  const boost::json::value all = without_secrets(status_json(status));
  EXPECT_EQ(all.at("schema").to_number<int>(), 1);
  EXPECT_EQ(all.at("at").as_string(), "2026-03-01T13:07:12Z");
  EXPECT_EQ(all.at("configuration").as_string(), "00ff00ff00ff00ff");
  EXPECT_EQ(all.at("worker").at("lanes").at("busy").to_number<int>(), 3);
  EXPECT_TRUE(all.at("worker").at("last_1h").at("hit_rate").is_null());
  EXPECT_EQ(all.at("worker").at("last_10min").at("not_modified_share").to_number<double>(), 1);
  EXPECT_EQ(all.at("worker").at("stretches").as_array().size(), stretch_count);
  EXPECT_EQ(all.at("store").at("feeds").at("states").at("failing").to_number<int>(), 10);
  EXPECT_EQ(all.at("store").at("workers").at(0).at("heartbeat_age_seconds").to_number<double>(), 2);
  EXPECT_EQ(all.at("store").at("hosts_backing_off").at(0).at("cause").as_string(), "forbidden");
  EXPECT_EQ(all.at("store").at("notices").at(0).at("text").as_string(), "t");
  EXPECT_TRUE(all.at("store_error").is_null());
  EXPECT_EQ(boost::json::serialize(all).find("canary"), std::string::npos);  // SECURITY K1
  status.store.reset();
  status.store_error = "away";
  const boost::json::object without = status_json(status);
  EXPECT_TRUE(without.at("store").is_null());
  EXPECT_EQ(without.at("store_error").as_string(), "away");
  EXPECT_EQ(without.at("concerns").at(0).at("weight").as_string(), "bad");
}

TEST(FeedListQuery, AcceptsOnlyValidValues) {
  FeedListQuery query = read_feed_list_query("state=failing&host=%20Example.ORG%20&q=%2Fa+b&after=1763690000000-3");
  EXPECT_EQ(query.state, "failing");
  EXPECT_EQ(query.host, "example.org");
  EXPECT_EQ(query.part, "/a b");
  EXPECT_EQ(query.after, (FeedPlace{1'763'690'000'000, 3}));
  for (const char* const odd : {"", "state=", "state=%3Cscript%3E", "state=Failing", "after=1", "after=1-", "after=-",
                                "after=1-x", "after=x-1", "after=99999999999999999999-1", "after=1--1", "host=%zz"}) {
    query = read_feed_list_query(odd);
    EXPECT_EQ(query.state, "") << odd;
    EXPECT_FALSE(query.after) << odd;
  }
  EXPECT_LE(read_feed_list_query("q=" + std::string(5000, 'a')).part.size(), 200U);
}

FeedList list_of(std::size_t feeds) {
  FeedList list;
  list.fleet.now = now;
  list.fleet.feeds = list.page.total = feeds;
  list.fleet.states = {{"healthy", feeds}};
  for (std::size_t i = 0; i < std::min<std::size_t>(feeds, 50); ++i) {
    FeedRecord& record = list.page.feeds.emplace_back();
    record.feed_url = "https://example.org/" + std::to_string(i);
    record.due = now + 5min;
    record.state.state = "healthy";
    record.state.due.reason = "adaptive";
  }
  return list;
}

TEST(FeedListPage, LeadsOnAndBack) {
  FeedList list = list_of(120);
  list.page.next = FeedPlace{1'763'690'000'000, 3};
  std::string shown = feed_list_page(read_feed_list_query("state=healthy"), list).text();
  EXPECT_THAT(
      shown,
      HasSubstr("<a href=\"/status/feeds?state=healthy&amp;after=1763690000000-3\" rel=\"next\">The next 50</a>"));
  EXPECT_THAT(shown, Not(HasSubstr("From the beginning")));
  EXPECT_THAT(shown, HasSubstr("<a href=\"/status/feeds?state=healthy\" aria-current=\"true\">healthy 120</a>"));
  EXPECT_THAT(shown,
              HasSubstr("<time datetime=\"2026-03-01T13:12:12Z\" title=\"2026-03-01T13:12:12Z\">in 5 min</time>"));
  list.page.next.reset();
  shown = feed_list_page(read_feed_list_query("state=healthy&after=1-1"), list).text();
  EXPECT_THAT(shown, HasSubstr("<a href=\"/status/feeds?state=healthy\">From the beginning</a>"));
  EXPECT_THAT(shown, Not(HasSubstr("The next 50")));
}

TEST(FeedListPage, DescribesAnEmptyResult) {
  FeedList list = list_of(0);
  EXPECT_THAT(feed_list_page({}, list).text(), HasSubstr("No feeds yet"));
  list.fleet.feeds = list.page.total = 100'000;
  list.fleet.states = {{"healthy", 100'000}, {"paused", 2}};
  EXPECT_THAT(feed_list_page(read_feed_list_query("state=gone"), list).text(), HasSubstr("No feed is gone."));
  EXPECT_THAT(feed_list_page(read_feed_list_query("q=x"), list).text(), HasSubstr("No further matching feeds."));
  EXPECT_THAT(feed_list_page({}, list_of(1)).text(), Not(HasSubstr("Paused feeds")));
  list.page.looked_at = 20'000;
  list.page.next = FeedPlace{5, 1};
  const std::string shown = feed_list_page(read_feed_list_query("q=%3Cb%3E&host=h.example"), list).text();
  EXPECT_THAT(shown, HasSubstr("None among the 20\xe2\x80\xaf"
                               "000 feeds checked so far."));
  EXPECT_THAT(shown, HasSubstr(">Search on</a>"));
  EXPECT_THAT(shown, HasSubstr("<b><bdi>&lt;b&gt;</bdi></b>"));
  EXPECT_THAT(shown, HasSubstr("Paused feeds (2) are not scheduled"));
  list.fleet.states.emplace_back("failing", 7);
  list.page = {};
  EXPECT_THAT(feed_list_page(read_feed_list_query("state=failing"), list).text(),
              HasSubstr("7 more entered this state before lists were kept"));
}

TEST(FeedPage, TellsTheStoryInTheWordsOfExplain) {
  FeedStory story;
  FeedRecord& record = story.explained.record;
  story.explained.now = now;
  story.explained.host.name = "example.org";
  record.feed_url = "https://example.org/feed";
  record.feed = {{"title", "A <b>title</b>"}, {"link", "javascript:alert(1)"}, {"description", "d"}};
  record.state.state = "degraded";
  record.state.last.detail = "<img src=x onerror=alert(1)>";
  record.state.address.moves = {{now - 1h, "https://example.org/old", "https://example.org/new"}};
  record.state.address.moving.to = "https://example.org/soon";
  story.entries.push_back({"Entry:7",
                           {{"title", "<script>"},
                            {"link", "https://example.org/7"},
                            {"guid", "g\"7"},
                            {"author", "<i>"},
                            {"timestamp", "1772370000"}}});
  story.events.push_back({"1-1", "post_created", R"({"timestamp":1772370000,"data":{"title":"</li><script>"}})"});
  story.events.push_back({"1-2", "feed_moved", R"({"timestamp":1772370000,"data":{"from":"a","to":"<b>"}})"});
  story.events.push_back({"1-3", "feed_gone", "rubbish"});
  const std::string shown = feed_page(story).text();
  for (const auto& [name, value] : explain_lines({record, story.explained.host, now})) {
    EXPECT_THAT(shown, HasSubstr("<dd>" + html_text(value) + "</dd>")) << name;
  }
  EXPECT_THAT(shown, HasSubstr("A &lt;b&gt;title&lt;/b&gt;"));
  EXPECT_THAT(shown, HasSubstr("<bdi>javascript:alert(1)</bdi>"));
  EXPECT_THAT(shown, Not(HasSubstr("href=\"javascript")));
  EXPECT_THAT(
      shown,
      HasSubstr(
          "<a href=\"https://example.org/7\" rel=\"noopener noreferrer nofollow\"><bdi>&lt;script&gt;</bdi></a>"));
  EXPECT_THAT(shown, HasSubstr("May be moving to <bdi>https://example.org/soon</bdi>"));
  EXPECT_THAT(shown, HasSubstr("from <bdi>https://example.org/old</bdi>"));
  EXPECT_THAT(shown, HasSubstr("New entry <bdi>&lt;/li&gt;&lt;script&gt;</bdi>"));
  EXPECT_THAT(shown, HasSubstr("Push (WebSub)"));
  EXPECT_THAT(shown, Not(HasSubstr("<script")));
  EXPECT_THAT(shown, Not(HasSubstr("<img")));
}

TEST(FeedPage, ShowsHowItsSubscriptionStands) {
  FeedStory story;
  FeedRecord& record = story.explained.record;
  story.explained.now = now;
  record.feed_url = "https://example.org/feed";
  record.state.push.advert = {"https://example.org/self", {"https://hub.example/"}, 0};
  const std::string named = feed_page(story).text();
  EXPECT_THAT(named, HasSubstr("<dd>https://hub.example/ for https://example.org/self, not subscribed</dd>"));
  record.state.push.standing.state = "doubtful";
  record.state.push.standing.since = now - 2h;
  record.state.push.standing.hub = "https://hub.example/";
  record.state.push.standing.note = "answered 500: <b>";
  record.state.push.standing.last_push = now - 26min;
  record.state.push.health.pushed_first = 4;
  record.state.push.health.poll_first = 2;
  PushRecord& subscription = story.explained.subscription.emplace();
  subscription.state = "active";
  subscription.token = "canary-of-the-token";
  subscription.secret = "canary-of-the-secret";
  subscription.lease_end = now + 48h;
  const std::string shown = feed_page(story).text();
  for (const char* text :
       {"<dt>State</dt><dd>doubtful since 2026-03-01T11:07:12Z</dd>", "<dt>Hub</dt><dd>https://hub.example/ for ",
        "<dt>Last error</dt><dd>answered 500: &lt;b&gt;</dd>", "<dt>Lease</dt><dd>until 2026-03-03T13:07:12Z, ",
        "<dt>Last push</dt><dd>26 min ago</dd>", "push first 4 times, poll first 2 times",
        "polls found posts that no push delivered"}) {
    EXPECT_THAT(shown, HasSubstr(text));
  }
  EXPECT_THAT(shown, Not(HasSubstr("canary")));
  for (const auto& [name, value] : explain_lines({record, story.explained.host, now, subscription})) {
    if (name != "websub") continue;
    EXPECT_THAT(value, HasSubstr("; lease until 2026-03-03T13:07:12Z"));
    EXPECT_THAT(value, HasSubstr("; push first 4 times"));
  }
}

TEST(StatusPage, CountsSubscriptionsByStateWhereThereAreAny) {
  EXPECT_THAT(page(healthy()), Not(HasSubstr("Subscriptions at hubs")));
  Status status = healthy();
  status.store->fleet.push_states = {{"healthy", 1234}, {"denied", 2}, {"pending", 0}};
  const std::string shown = page(status);
  EXPECT_THAT(shown, HasSubstr("Subscriptions at hubs"));
  EXPECT_THAT(
      shown, HasSubstr("<tr><th scope=\"row\">healthy <span class=\"sub\">pushes arrive first; polled less often</span>"
                       "</th><td class=\"number\">1\xe2\x80\xaf"
                       "234</td></tr>"));
  EXPECT_THAT(shown, HasSubstr("the hub denied the subscription"));
}

TEST(StatusPage, CountsEventReceiversIfThereAreAny) {
  Status status = healthy();
  EXPECT_THAT(page(status), Not(HasSubstr("Event receivers")));
  status.store->told = {.webhooks_active = 12, .webhooks_suspended = 2, .hub_pending = 3, .hub_active = 41, .due = 5};
  status.process.streams = 77;
  const std::string shown = page(status);
  for (const char* row : {"Webhooks</th><td class=\"number\">12</td>", "Suspended webhooks",
                          "Subscribers of the hub</th><td class=\"number\">41</td>", "Not verified yet",
                          ("Live streams <span class=\"sub\">of this worker</span></th><td "
                           "class=\"number\">77</td>")}) {
    EXPECT_THAT(shown, HasSubstr(row));
  }
  ASSERT_EQ(concerns(status).size(), 1U);
  EXPECT_THAT(concerns(status)[0].text, HasSubstr("2 webhooks are suspended"));
  const boost::json::object json = status_json(status);
  EXPECT_EQ(json.at("store").at("push_out").at("webhooks_suspended").to_number<int>(), 2);
  EXPECT_EQ(json.at("worker").at("streams").to_number<int>(), 77);
}

TEST(FigureText, SaysItForPeople) {
  EXPECT_EQ(span_text(0s), "0.0 s");
  EXPECT_EQ(span_text(4ms), "4 ms");
  EXPECT_EQ(span_text(1500ms), "1.5 s");
  EXPECT_EQ(span_text(90s), "90 s");
  EXPECT_EQ(span_text(26min), "26 min");
  EXPECT_EQ(span_text(5h), "5 h");
  EXPECT_EQ(span_text(72h), "3 days");
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1500), "1.5 KiB");
  EXPECT_EQ(bytes_text(512U << 20), "512 MiB");
  EXPECT_EQ(bytes_text(std::uint64_t{5} << 50), "5120 TiB");
  EXPECT_EQ(percent_text(0, 0), "–");
  EXPECT_EQ(percent_text(0, 7), "0 %");
  EXPECT_EQ(percent_text(1, 1000), "0.1 %");
  EXPECT_EQ(percent_text(2, 3), "67 %");
  EXPECT_EQ(short_text("日本語", 2), "日本…");
  EXPECT_EQ(short_text("日本", 2), "日本");
  EXPECT_EQ(short_text("", 0), "");
}

}  // namespace
}  // namespace feedmill::status_test
