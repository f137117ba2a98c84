#include "worker/verbs/top_view.hpp"

#include <chrono>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/admin/status.hpp"
#include "worker/base/terminal.hpp"

namespace feedmill::top_view_test {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;

constexpr Milliseconds now{1'772'370'432'000};  // 2026-03-01T13:07:12Z

/// A worker that has run for 26 hours, and its store.
Status at_work() {
  Status status;
  ProcessStatus& process = status.process;
  process.worker = "0123456789abcdef0123456789abcdef";
  process.host = "reader-1";
  process.version = "0.9";
  process.uptime = 26h;
  process.total_for = 93'600s;
  process.total.not_modified = 5000;
  process.total.failed = 40;
  process.total.created = 900;
  process.ready = {{"redis", true, ""}, {"not_draining", true, ""}};
  process.lanes = 256;
  process.lanes_busy = 64;
  process.memory_used = 12U << 20;
  process.memory_budget = 512U << 20;
  process.memory_resident = 80U << 20;
  process.last_commit_ago = 4s;
  process.ten_minutes.not_modified = 6120;
  process.ten_minutes.created = 55;
  process.ten_minutes.lateness[0] = 6120;
  process.ten_minutes.worst_lateness = 3s;
  process.six_hours.created = 7;
  process.hour.not_modified = 36'000;
  process.hosts_age = 30min;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "h" + std::to_string(i) + ".example";
    process.busiest.push_back({"busy-" + name, 90, 2, 9s});
    process.slowest.push_back({"slow-" + name, 3, 1, 60s});
  }
  StoreStatus& store = status.store.emplace();
  store.fleet.now = now;
  store.fleet.feeds = 1000;
  store.fleet.workers = 1;
  store.fleet.due = 12;
  store.fleet.oldest_due = now - 3s;
  store.fleet.claimed = 64;
  store.fleet.states = {{"healthy", 990}, {"failing", 10}};
  store.fleet.push_states = {{"active", 5}};
  store.stream = {.records = 10, .hard_limit = 1000, .now = now, .groups = {{"deliver", 7, now - 2s}}};
  store.workers = {{process.worker, now - 2s, {{"host", "reader-1"}}}};
  store.closed = {{"closed.example",
                   {.last_start = {}, .not_before = now + 90min, .quotas = {}, .other = {{"cause", "rate_limited"}}}}};
  store.posts = {{"High water at six", "https://h.example/6", "https://h.example/feed", "Tide Tables", now - 5s}};
  store.notices = {{"1", R"({"text":"feed is failing","feed_url":"https://h.example/feed","timestamp":1772370000})"}};
  return status;
}

std::string shown(const json::object& moment, const TopFrame& frame = {}, const json::object* earlier = nullptr) {
  std::string text;
  for (const TopLine& line : top_view(moment, earlier, frame)) text += line.text + "\n";
  return text;
}

TopFrame frame_of(std::size_t width, std::size_t height) {
  TopFrame frame;
  frame.width = width;
  frame.height = height;
  return frame;
}

TEST(TopView, ShowsAWorkerAtWork) {
  Status status = at_work();
  const json::object earlier = status_json(status);
  status.process.total_for += 8s;
  status.process.total.not_modified += 80;
  status.process.total.failed += 2;
  status.process.total.created += 1000;
  const std::string text = shown(status_json(status), {}, &earlier);
  for (const char* const words : {"feedmill 0.9 on reader-1, up 26 h  2026-03-01T13:07:12Z\n",
                                  "ready: redis, not_draining\n",
                                  "rates       last 8 s    10 min       1 h",
                                  "            a second  a minute  a minute\n",
                                  "refreshes       10.2       612       600\n",
                                  "new posts        125      5.50         0\n",
                                  "failures        0.25         0         0\n",
                                  "pushes             0         0         0\n",
                                  "newest posts\n13:07:07Z High water at six  · Tide Tables\n",
                                  "lateness   half within 1.0 s, 99 % 1.0 s, worst 3.0 s\n",
                                  "feeds      1 000: 990 healthy, 10 failing\n",
                                  "due        12, oldest for 3.0 s; 64 being fetched\n",
                                  "lanes      64 of 256 busy  [###.......]\n",
                                  "memory     12 MiB of 512 MiB for documents  [#.........]\n",
                                  "           80 MiB resident\n",
                                  "stored     last 4.0 s ago\n",
                                  "stream     10 of at most 1 000 records\n",
                                  "           deliver: 7 pending, oldest for 2.0 s\n",
                                  "websub     5 active\n",
                                  "workers    1: reader-1 2.0 s ago\n",
                                  "busiest hosts (30 min)",
                                  "busy-h0.example",
                                  "slow-h4.example",
                                  "closed.example",
                                  "rate_limited 14:37:12Z\n",
                                  "13:00:00Z feed is failing  https://h.example/feed\n"}) {
    EXPECT_THAT(text, HasSubstr(words)) << text;
  }
}

TEST(TopView, ShowsTitlesOfFeedsWithoutMarkup) {
  Status status = at_work();
  status.store->posts[0].feed_title = "Ebb &amp; <i>Flow</i>&#x202e;";
  EXPECT_THAT(shown(status_json(status)), HasSubstr("· Ebb &amp; <i>Flow</i>&#x202e;\n"));
  status.store->posts[0].feed_title_type = "text/html";
  EXPECT_THAT(shown(status_json(status)), HasSubstr("· Ebb & Flow\\u{202E}\n"));
}

TEST(TopView, KnowsNoRatesOfAnotherProcess) {
  Status status = at_work();
  const json::object earlier = status_json(status);
  status.process.total_for += 5s;
  EXPECT_EQ(seconds_between(earlier, status_json(status)), 5.0);
  EXPECT_THAT(shown(status_json(status), {}, &earlier), HasSubstr("refreshes          0       612"));

  Status restarted = status;
  restarted.process.worker[0] = 'f';
  restarted.process.total.not_modified += 70;
  EXPECT_FALSE(seconds_between(earlier, status_json(restarted)));
  EXPECT_THAT(shown(status_json(restarted), {}, &earlier), HasSubstr("refreshes          –       612"));

  Status younger = status;
  younger.process.total_for = 2s;
  younger.process.total = {};
  EXPECT_FALSE(seconds_between(earlier, status_json(younger)));
  EXPECT_THAT(shown(status_json(younger), {}, &earlier), HasSubstr("refreshes          –       612"));

  Status fewer = status;  // counters cannot decrease
  fewer.process.total.not_modified -= 1;
  EXPECT_THAT(shown(status_json(fewer), {}, &earlier), HasSubstr("refreshes          –       612"));
  EXPECT_THAT(shown(status_json(status)), HasSubstr("rates            now    10 min"));
}

TEST(TopView, ReckonsWithTheTimeThatAYoungWorkerHad) {
  Status status = at_work();
  status.process.uptime = 2min;
  EXPECT_THAT(shown(status_json(status)), HasSubstr("refreshes          –     3 060    18 000\n"));
}

TEST(TopView, DescribesFaults) {
  Status status = at_work();
  status.process.ready[0] = {"redis", false, "Connection refused"};
  status.process.stopping = true;
  status.process.ten_minutes.commits_failed = 3;
  status.store.reset();
  status.store_error = "Redis does not answer: Connection refused";
  TopFrame frame;
  frame.trouble = "no answer on 127.0.0.1:9810";
  const std::string text = shown(status_json(status), frame);
  for (const char* const words :
       {"NO ANSWER, last known: no answer on 127.0.0.1:9810\n", "NOT READY: redis (Connection refused)\n", "STOPPING",
        "bad: Redis does not answer", "  Nothing is fetched or stored until it recovers",
        "store      unknown: Redis does not answer", "stored     last 4.0 s ago; 3 commits failed in 10 min\n"}) {
    EXPECT_THAT(text, HasSubstr(words)) << text;
  }
  EXPECT_THAT(text, Not(HasSubstr("newest notices")));
  EXPECT_THAT(text, Not(HasSubstr("being fetched")));
}

TEST(TopView, NeverLeavesItsFrame) {
  Status status = at_work();
  for (int i = 0; i < 20; ++i) {
    status.store->notices.push_back({"n", R"({"text":"日本語のフィード","feed_url":"https://very-long.example/)" +
                                              std::string(300, 'x') + R"("})"});
    status.store->closed.push_back({std::string(200, 'h') + ".example", {}});
    status.process.busiest.push_back({std::string(250, 'b'), 1'000'000'000, 1'000'000'000, 1h});
    status.store->workers.push_back({"w" + std::to_string(i), now, {{"host", std::string(60, 'w')}}});
  }
  const json::object moment = status_json(status);
  for (std::size_t width = 1; width < 200; ++width) {
    for (const std::size_t height : {1U, 2U, 10U, 24U, 25U, 50U, 120U}) {
      TopFrame frame = frame_of(width, height);
      frame.footer = "q quits";
      const auto lines = top_view(moment, &moment, frame);
      EXPECT_LE(lines.size(), height) << width;
      for (const TopLine& line : lines) ASSERT_LE(columns(line.text), width) << line.text;
      EXPECT_EQ(lines.back().text.substr(0, 1), width > 1 ? "q" : lines.back().text.substr(0, 1));
    }
  }
}

TEST(TopView, KeepsAllFiguresInFortyColumns) {
  const Status status = at_work();
  const std::string text = shown(status_json(status), frame_of(40, 200));
  for (const char* const words :
       {"refreshes          –       612       600\n", "lanes      64 of 256 busy  [###.......]\n",
        "feeds      1 000: 990 healthy, 10 faili…\n", "due        12, oldest for 3.0 s; 64 bei…\n",
        "           deliver: 7 pending, oldest f…\n", "busy-h0.example        90      2  100 ms\n",
        "closed.example    rate_limited 14:37:12Z\n"}) {
    EXPECT_THAT(text, HasSubstr(words)) << text;
  }
}

TEST(TopView, FitsTheUsualTerminal) {
  Status status = at_work();
  for (int i = 0; i < 9; ++i) status.store->posts.push_back(status.store->posts[0]);
  status.process.stretches.resize(72);
  for (std::size_t i = 0; i < 72; ++i) status.process.stretches[i].created = i;
  TopFrame frame = frame_of(80, 24);
  frame.footer = "q quits";
  const std::string text = shown(status_json(status), frame);
  EXPECT_THAT(text, HasSubstr("lanes      64 of 256 busy; documents 12 MiB of 512 MiB, 80 MiB resident\n")) << text;
  EXPECT_THAT(text, HasSubstr("stream     10 of at most 1 000 records; deliver: 7 pending, oldest for 2.0 s\n"))
      << text;
  EXPECT_THAT(text, HasSubstr("newest posts\n13:07:07Z High water at six")) << text;
  EXPECT_THAT(text, HasSubstr("▅▅▆▆")) << "the posts of each stretch: " << text;
  EXPECT_THAT(text, Not(HasSubstr("taller window"))) << text;
}

TEST(TopView, UsesTheRoomThereIs) {
  const json::object moment = status_json(at_work());
  const std::string tall = shown(moment, frame_of(80, 120));
  EXPECT_THAT(tall, HasSubstr("busy-h9.example"));
  EXPECT_THAT(tall, Not(HasSubstr("taller window")));
  TopFrame frame = frame_of(80, 40);
  frame.footer = "q quits";
  const std::string middle = shown(moment, frame);
  EXPECT_THAT(middle, HasSubstr("busy-h0.example"));
  EXPECT_THAT(middle, Not(HasSubstr("busy-h9.example")));
  EXPECT_THAT(middle, HasSubstr("newest notices"));
  EXPECT_THAT(middle, HasSubstr("\nq quits\n"));
  EXPECT_THAT(shown(moment, frame_of(80, 12)), HasSubstr("lines more in a taller window\n"));
  const std::string wide = shown(moment, frame_of(120, 60));
  const std::string row = wide.substr(wide.find("busy-h0.example"));
  EXPECT_THAT(row.substr(0, row.find('\n')), HasSubstr("slow-h0.example")) << "side by side";
}

TEST(TopView, CannotSteerATerminal) {
  Status status = at_work();
  const std::string evil = "\x1B[2J\x1B]0;title\a\n\u202E\x9B";
  status.process.host = status.process.version = evil;
  status.process.ready[0] = {evil, false, evil};
  status.process.busiest[0].host = evil;
  status.process.slowest[0].host = evil;
  status.store->closed[0] = {evil, {.last_start = {}, .not_before = {}, .quotas = {}, .other = {{"cause", evil}}}};
  status.store->fleet.states.emplace_back(evil, 3);
  status.store->fleet.push_states.emplace_back(evil, 3);
  status.store->stream.groups[0].name = evil;
  status.store->workers[0].fields = {{"host", evil}};
  status.store->notices[0].json =
      json::serialize(json::object{{"text", evil}, {"feed_url", evil}, {"timestamp", 1e300}});
  json::object moment = status_json(status);
  for (const char* const name : {"at", "version"}) moment[name] = evil;
  json::array concerns;
  concerns.push_back(json::object{{"weight", evil}, {"text", evil}, {"remedy", evil}});
  moment["concerns"] = std::move(concerns);
  for (const TopLine& line : top_view(moment, &moment, {})) {
    EXPECT_EQ(visible(line.text), line.text);
  }
}

/// Replaces each value within `value` by `other` in turn and checks the view.
void spoil(json::value& root, json::value& value, const json::value& other, std::size_t& tried) {
  if (&value != &root) {
    const json::value kept = value;
    value = other;
    const auto lines = top_view(root.as_object(), &root.as_object(), frame_of(80, 50));
    EXPECT_GT(lines.size(), 10U);
    EXPECT_LE(lines.size(), 50U);
    value = kept;
    ++tried;
  }
  if (json::object* const object = value.if_object()) {
    for (auto& [name, member] : *object) spoil(root, member, other, tried);
  } else if (json::array* const array = value.if_array()) {
    if (!array->empty()) spoil(root, array->front(), other, tried);
  }
}

TEST(TopView, SurvivesMissingAndMistypedValues) {
  json::value moment = status_json(at_work());
  std::size_t tried = 0;
  for (const json::value& other : {json::value(), json::value("text"), json::value(-1), json::value(1e308),
                                   json::value(true), json::value(json::array{1, "a"}), json::value(json::object())}) {
    spoil(moment, moment, other, tried);
  }
  EXPECT_GT(tried, 500U);
  const std::string nothing = shown({});
  EXPECT_THAT(nothing, HasSubstr("lanes      – of – busy\n"));
  EXPECT_THAT(nothing, HasSubstr("refreshes          –         –         –\n"));
  EXPECT_FALSE(seconds_between({}, {}));
}

}  // namespace
}  // namespace feedmill::top_view_test
