// Weeks of answers that strangers get at a host, through redirects from other sites and otherwise, each kind at its own
// host, next to a feed of that host that keeps its pace (HTTP H3, H6, H10, H11): the real policy and store, and a store
// clock that the test advances.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/set_clock.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/policy/answers.hpp"
#include "worker/policy/decide.hpp"
#include "worker/words/explanation.hpp"

namespace feedmill::strangers_test {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Headers = std::vector<Header>;

constexpr Milliseconds begin = seconds(1'772'366'417);

struct Answer {
  int status = 200;
  Headers headers{};
  std::string there{};                      ///< target of a redirect, "" if none
  std::optional<Reason> broken{};           ///< why the transfer failed
  enum class By { poll, page, push } by{};  ///< the kind of request
  seconds takes{1};
  std::string way{};  ///< another site's URL in the redirect chain
};

struct Shape {
  std::string name;
  std::string bystander;
  std::vector<std::string> strangers;
  std::function<Answer(int round)> answer;  ///< to a stranger after `round` earlier requests
  Milliseconds from = hours(2);             ///< when the bystander starts to keep its pace
  bool removed = false;                     ///< the strangers are removed after their first answer
};

std::vector<Shape> shapes() {
  const Headers day{{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "86400"}};
  std::vector<Shape> all;
  const auto victim = [&all] { return "https://v" + std::to_string(all.size()) + ".test"; };
  const auto evil = [&all](int count) {
    std::vector<std::string> urls;
    for (int i = 0; i < count; ++i)
      urls.push_back("https://evil" + std::to_string(all.size()) + ".example/" + std::to_string(i));
    return urls;
  };
  const auto add = [&](std::string name, std::vector<std::string> strangers, std::function<Answer(int round)> answer) {
    all.push_back({std::move(name), victim() + "/ok.xml", std::move(strangers), std::move(answer)});
  };
  const auto always = [](Answer answer) { return [answer](int) { return answer; }; };
  const auto led = [&](int status, const Headers& headers) { return always({status, headers, victim() + "/x"}); };

  // Cases that an audit found.
  add("a quota by a redirect", evil(1), led(200, day));
  add("a quota by a redirect of a feed that is removed", evil(1), led(200, day));
  all.back().removed = true;
  add("a quota at another port", {victim() + ":8443/f"}, always({200, day}));
  add("a quota by a page of older posts", evil(1), always({200, day, victim() + "/x", {}, Answer::By::page}));
  add("a refusal", evil(1), led(429, {}));
  add("refusals and answers in turn", evil(8), [there = victim()](int round) {
    return Answer{round % 2 == 0 ? 429 : 200, {}, there + "/" + std::to_string(round)};
  });
  add("pages that are missing", evil(5), [there = victim()](int round) {
    return round == 0 ? Answer{} : Answer{404, {}, there + "/missing"};
  });
  add("a slow answer", evil(3), always({200, {}, victim() + "/drip", {}, {}, seconds(30)}));

  // Further cases.
  add("unavailable for a month", evil(3), led(503, {{"retry-after", "2592000"}}));
  add("refused until a date in a year", evil(3), led(429, {{"retry-after", "Mon, 01 Mar 2027 12:00:17 GMT"}}));
  add("a draft's quota of a week", evil(2),
      led(200, {{"ratelimit-limit", "1"}, {"ratelimit-remaining", "0"}, {"ratelimit-reset", "600000"}}));
  add("a structured quota of a day", evil(2),
      led(429, {{"ratelimit", "\"d\";r=0;t=86400"}, {"ratelimit-policy", "\"d\";q=1;w=86400"}}));
  add("forbidden", evil(3), led(403, day));
  add("answers that end early", evil(5), always({200, day, victim() + "/x", Reason::http_truncated}));
  add("a push to a feed of its own", {victim() + "/pushed"}, always({200, day, "", {}, Answer::By::push}));
  add("a quota by an address", {"http://192.0.2.7/f", "http://192.0.2.8/f"}, led(429, day));
  add("a neighbour below a public suffix", {"https://evil.github.io/1", "https://evil.github.io/2"},
      always({200, day, "https://victim.github.io/x"}));
  all.back().bystander = "https://victim.github.io/ok.xml";
  // A host that redirects to its customers' sites, and a customer's site that redirects back.
  const auto and_back = [&](Answer answer) {
    answer.there = victim() + "/x";
    answer.way = "https://evil.example/back";
    return always(answer);
  };
  add("a quota by way of another site", {victim() + "/a", victim() + "/b"}, and_back({200, day}));
  add("a refusal by way of another site", {victim() + "/a", victim() + "/b"},
      and_back({429, {{"retry-after", "604800"}}}));
  add("missing pages by way of another site",
      {victim() + "/1", victim() + "/2", victim() + "/3", victim() + "/4", victim() + "/5"},
      [back = and_back({404})](int round) { return round == 0 ? Answer{} : back(round); });
  add("a day told to one feed of www.", {"https://www.v" + std::to_string(all.size()) + ".test/f"}, led(200, day));
  add("a day told to one feed of its own", {victim() + "/other"}, always({200, day}));
  add("a day told twice and not repeated", {victim() + "/one", victim() + "/two"}, [day](int round) {
    return round == 0 ? Answer{200, day} : Answer{};
  });
  all.back().from = days(1) + hours(2);
  // Anyone may add URLs of a host.
  add("a day told twice where no feed is", {victim() + "/a", victim() + "/b"}, always({404, day}));
  add("an hour told where no feed is", {victim() + "/a"},
      always({404, {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "3500"}}}));
  add("a week told where no feed is",
      {victim() + "/a", victim() + "/b", victim() + "/c", victim() + "/d", victim() + "/e"},
      always({503, {{"retry-after", "604800"}}}));
  return all;
}

class Neighbours : public testing::Test {
 protected:
  Neighbours() {
    EXPECT_TRUE(store.open());
    options.schedule.ceiling = hours(1);
    std::vector<NewFeed> feeds;
    for (const Shape& shape : all) {
      feeds.push_back({.feed_url = shape.bystander});
      for (const std::string& url : shape.strangers) {
        shape_of[url] = &shape;
        feeds.push_back({.feed_url = url});
      }
    }
    EXPECT_TRUE(Feeds(store).add(feeds));
    plan(begin, {});
  }

  void run_until(Milliseconds end) {
    while (events.top().at < end && !HasFatalFailure()) {
      const Event event = events.top();
      events.pop();
      clock.set(event.at);
      event.claim.id.empty() ? poll(event.at) : answer(event);
    }
  }

  boost::json::object explained(const std::string& url) {
    const auto found = read_explained(store, HostRules(Config()), url);
    return explain_json(**found).at("host").as_object();
  }

  const std::vector<Shape> all = shapes();
  std::map<std::string, const Shape*> shape_of;  // by the strangers' URLs
  std::map<std::string, std::vector<Milliseconds>> asked;
  std::map<std::string, int> deferred;  // because a redirect's target was busy or closed

 private:
  struct Event {
    Milliseconds at{};
    Claim claim;
    Answer said;
    int number = 0;
    bool operator<(const Event& other) const { return std::tie(at, number) > std::tie(other.at, other.number); }
  };

  void plan(Milliseconds at, Claim claim, Answer said = {}) {
    events.push({at, std::move(claim), std::move(said), ++numbers});
  }

  void poll(Milliseconds now) {
    ClaimRequest request;
    request.worker = std::string(32, 'a');
    request.request = static_cast<std::uint64_t>(++numbers);
    request.max = 100;
    request.host = {1, seconds(1)};
    const auto batch = Ingest(store).claim(request);
    ASSERT_TRUE(batch) << batch.error().detail;
    for (const Claim& claim : batch->claims) {
      std::vector<Milliseconds>& times = asked[claim.feed_url];
      const auto shape = shape_of.find(claim.feed_url);
      Answer said;
      if (shape != shape_of.end()) said = shape->second->answer(static_cast<int>(times.size()));
      times.push_back(now);
      if (!said.there.empty()) {
        const bool is_own = is_one_site(claim.feed_url, said.there);
        const auto wait = Ingest(store).take_slot(claim, server_of(said.there), request.host,
                                                  is_own ? Milliseconds(minutes(5)) : Milliseconds(seconds(5)));
        ASSERT_TRUE(wait && *wait) << claim.feed_url;
        if (**wait != Milliseconds(0)) {
          ++deferred[claim.feed_url];
          said = {302, {}, "", Reason::worker_host_wait};
        }
      }
      plan(now + said.takes, claim, said);
    }
    plan(std::clamp<Milliseconds>(batch->next_due.value_or(now + minutes(10)), now + Milliseconds(500),
                                  now + minutes(10)),
         {});
  }

  void answer(const Event& event) {
    Claim claim = event.claim;
    const Answer& said = event.said;
    claim.state.rhythm.new_per_week = 40;  // polled every hour
    claim.state.rhythm.last_new = claim.state.rhythm.imported = event.at;
    Exchange exchange;
    exchange.requested_url = claim.feed_url;
    exchange.headers = said.headers;
    exchange.hops = {{claim.feed_url, said.there.empty() ? said.status : 302, said.there}};
    if (!said.way.empty()) exchange.hops.push_back({said.way, 302, said.there});
    if (!said.there.empty()) exchange.hops.push_back({said.there, said.status, ""});
    Reading reading = NotModified();
    if (said.status != 200) reading = HttpStatus{said.status};
    if (said.broken) {
      FetchError error;
      error.reason = *said.broken;
      error.sent = true;
      error.status = said.status;
      reading = error;
    }
    Commit commit;
    if (said.by == Answer::By::page) {
      PageWalk& walk = claim.state.older.walk;
      walk.next = claim.feed_url + "?page=2";
      walk.poll_due = event.at + hours(1);
      walk.poll_reason = "adaptive";
      exchange.requested_url = exchange.hops.front().url = walk.next;
      commit = decide_page(claim, std::move(reading), exchange, {}, options, event.at).commit;
    } else if (said.by == Answer::By::push) {
      claim.due = event.at + hours(1);
      commit = decide_push(claim, Document(), {}, options).decision.commit;
    } else {
      commit = decide(claim, std::move(reading), exchange, {}, options, event.at).commit;
      commit.host.document = said.status == 200 && said.there.empty() && !said.broken;
    }
    const Commit* const one = &commit;
    const auto done = Ingest(store).commit(std::span(&one, 1)).front();
    ASSERT_TRUE(done) << done.error().detail;
    ASSERT_EQ(done->result, Committed::Result::ok) << claim.feed_url;
    EXPECT_NE(done->circuit, Committed::Circuit::storm) << claim.feed_url;
    const auto shape = shape_of.find(claim.feed_url);
    if (shape != shape_of.end() && shape->second->removed) {
      ASSERT_TRUE(Feeds(store).remove(claim.feed_url));
    }
  }

  test::ClockedRedis clock{begin};
  Store store{StoreOptions{.url = clock.server().url()}};
  PolicyOptions options;
  std::priority_queue<Event> events;
  int numbers = 0;
};

TEST_F(Neighbours, KeepTheirPaceWhateverAnswersStrangersGet) {
  const Milliseconds end = begin + days(test::tries(2, 66, 66));
  run_until(end);
  std::size_t requests = 0;
  for (const auto& [url, times] : asked) requests += times.size();
  std::printf("%zu requests\n", requests);
  for (const Shape& shape : all) {
    const std::vector<Milliseconds>& times = asked[shape.bystander];
    ASSERT_FALSE(times.empty()) << shape.name;
    Milliseconds last = begin + shape.from, longest{};
    for (const Milliseconds at : times) {
      if (at >= begin + shape.from) longest = std::max(longest, at - std::exchange(last, at));
    }
    longest = std::max(longest, end - last);
    EXPECT_LE(longest, minutes(66) + seconds(30)) << shape.name << ": an interval, its spread, and a slot or two";
    const auto host = explained(shape.bystander);
    EXPECT_TRUE(host.at("quotas").as_array().empty()) << shape.name << boost::json::serialize(host);
    EXPECT_TRUE(host.at("not_before").is_null()) << shape.name << boost::json::serialize(host);
    EXPECT_TRUE(host.at("storm_since").is_null()) << shape.name << boost::json::serialize(host);
    std::size_t strange = 0;
    for (const std::string& url : shape.strangers) strange += asked[url].size();
    std::printf("%-50s %4zu times, longest gap %lld s; strangers %zu times\n", shape.name.c_str(), times.size(),
                static_cast<long long>(longest / seconds(1)), strange);
  }
}

}  // namespace
}  // namespace feedmill::strangers_test
