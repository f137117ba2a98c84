// Weeks of polling in seconds: the real hot path, network and store, with only the clock of the claims advanced; judged
// by a referee on the publishers' side (HTTP P1–P12, P14–P17).
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <queue>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "tests/support/await.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/referee.hpp"
#include "tests/support/set_clock.hpp"
#include "worker/http/request_style.hpp"
#include "worker/ingest/refresh.hpp"

namespace feedmill::politeness_test {
namespace {

namespace asio = boost::asio;
using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::Referee;
using test::SaidValidators;
using Answer = Referee::Answer;
using Visit = Referee::Visit;
using Headers = std::vector<std::pair<std::string, std::string>>;

const std::string contact = "https://reader.example/bot";

std::string http_date(Milliseconds time) {
  const std::time_t at = time.count() / 1000;
  std::tm parts{};
  gmtime_r(&at, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text;
}

/// The newest 20 of posts 1 … count, an hour apart; `newest`: date of the last one. `head`: further elements of the
/// channel.
std::string rss(int count, Milliseconds newest, const std::string& head = "", const std::string& guids = "post") {
  std::string text =
      "<rss version=\"2.0\" xmlns:sy=\"http://purl.org/rss/1.0/modules/syndication/\"><channel>"
      "<title>A feed</title>" +
      head;
  for (int i = count; i > std::max(0, count - 20); --i) {
    text += "<item><guid isPermaLink=\"false\">" + guids + std::to_string(i) + "</guid><title>Post " +
            std::to_string(i) + "</title><pubDate>" + http_date(newest - hours(count - i)) + "</pubDate></item>";
  }
  return text + "</channel></rss>";
}

Headers said_in(const SaidValidators& said, Headers headers = {}) {
  if (!said.etag.empty()) headers.emplace_back("ETag", said.etag);
  if (!said.last_modified.empty()) headers.emplace_back("Last-Modified", said.last_modified);
  return headers;
}

/// A 200 answer with a document.
Answer document(std::string body, const SaidValidators& said = {}, Headers headers = {}) {
  Answer answer;
  answer.response = {.headers = said_in(said, std::move(headers)), .body = std::move(body)};
  answer.said = said;
  return answer;
}

Answer not_modified(Headers headers = {}) {
  Answer answer;
  answer.response = {.status = 304, .headers = std::move(headers)};
  answer.keep = Answer::Keep::old;
  return answer;
}

/// A refusal or failure that leaves the validators alone; the next poll must wait at least `wait`.
Answer refusal(int status, seconds wait, const char* rule, Headers headers = {}) {
  Answer answer;
  answer.response = {.status = status, .headers = std::move(headers), .body = "no"};
  answer.keep = Answer::Keep::old;
  answer.earliest = answer.latest = wait;
  answer.rule = rule;
  return answer;
}

Answer redirect(int status, const std::string& to, Headers headers = {}) {
  headers.emplace_back("Location", to);
  Answer answer;
  answer.response = {.status = status, .headers = std::move(headers)};
  return answer;
}

seconds back(seconds base, seconds cap, int n) {
  return n > 20 ? cap : std::min(cap, base * (1 << (n - 1)));
}

/// Honours validators; the document never changes.
Referee::Habit steady(SaidValidators said, Headers headers = {}, seconds earliest = hours(1), const char* rule = "P6",
                      std::string head = "") {
  return [=](const Visit& visit) {
    Answer answer =
        visit.conditional ? not_modified(headers) : document(rss(3, visit.now - days(2), head), said, headers);
    answer.earliest = earliest;
    answer.rule = rule;
    return answer;
  };
}

/// A document first, then only `status`; the back-off doubles from `base` to `cap`.
Referee::Habit failing(int status, seconds base, seconds cap, const char* rule, Headers headers = {}) {
  return [=](const Visit& visit) {
    if (visit.poll == 1) return document(rss(3, visit.now), {.etag = "\"first\""});
    return refusal(status, back(base, cap, static_cast<int>(visit.poll) - 1), rule, headers);
  };
}

/// A worker's parts; discarded and rebuilt, as after a crash (HTTP P4).
struct Parts {
  Parts(const std::string& redis_url, const std::string& name_server, const RefreshOptions& options)
      : store(context.get_executor(), StoreOptions{.url = redis_url}, 1),
        fetcher(context.get_executor(), fetch_options(name_server)),
        refresher(fetcher, threads, store, memory, options,
                  [](const StoreResult<Committed>&, std::chrono::duration<double>) {}) {}
  ~Parts() { threads.pool().join(); }

  static FetchOptions fetch_options(const std::string& name_server) {
    FetchOptions options;
    options.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
    options.resolver.servers = name_server;
    options.contact = contact;
    return options;
  }

  asio::io_context context;
  StorePool store;
  MemoryBudget memory{512u << 20};
  ReadingThreads threads{1, memory};
  Fetcher fetcher;
  Refresher refresher;
};

class Politeness : public testing::Test {
 protected:
  Politeness() : store(StoreOptions{.url = redis.server().url()}) {
    const auto opened = store.open();
    EXPECT_TRUE(opened) << opened.error().detail;
    dns.serve_rest([](const std::string&) { return test::DnsAnswer{.addresses = {"127.0.0.1"}}; });
  }

  void add(const std::string& name, Referee::Habit habit) { urls.push_back(referee.add(name, std::move(habit))); }

  std::string at(const std::string& host, const std::string& path = "/feed.xml") const {
    return referee.url(host + ".test", path);
  }

  /// Polls each feed whenever it is due, for `length` by the store's clock.
  void poll_for(Milliseconds length) {
    std::vector<NewFeed> feeds;
    for (const std::string& url : urls) feeds.push_back({.feed_url = url});
    ASSERT_TRUE(Feeds(store).add(feeds));
    using Due = std::pair<Milliseconds, std::string>;
    std::priority_queue<Due, std::vector<Due>, std::greater<>> queue;
    for (const std::string& url : urls) queue.emplace(start, url);
    std::unique_ptr<Parts> parts;
    while (!queue.empty() && queue.top().first < start + length) {
      if (polls++ % 500 == 0) {
        RefreshOptions options;
        options.host = {64, Milliseconds(0)};
        parts = std::make_unique<Parts>(redis.server().url(), dns.address(), options);
      }
      const auto [now, url] = queue.top();
      queue.pop();
      Milliseconds next{};
      ASSERT_NO_FATAL_FAILURE(poll(*parts, url, now, next));
      queue.emplace(next, url);
    }
  }

  /// Polls one feed; `next`: when to poll it again.
  void poll(Parts& parts, const std::string& url, Milliseconds now, Milliseconds& next) {
    redis.set(now);
    referee.set_time(now);
    ClaimRequest request;
    request.worker = std::string(32, 'a');
    request.request = polls;
    request.host = {64, Milliseconds(0)};
    request.only = {url};
    auto batch = Ingest(store).claim(request);
    ASSERT_TRUE(batch) << batch.error().detail;
    if (batch->claims.empty()) {  // its host is backing off
      ASSERT_EQ(batch->deferred.size(), 1U) << url;
      next = batch->deferred.front().due;
      ASSERT_GT(next, now) << url;
      return;
    }
    const Report report = test::await(parts.context, parts.refresher.refresh(batch->claims.front()));
    ASSERT_NE(report.reason, Reason::store_stale);
    ASSERT_NE(report.reason, Reason::store_unavailable) << report.detail;
    const auto record = Feeds(store).records(std::span(&url, 1));
    ASSERT_TRUE(record && record->front() && record->front()->due) << url;
    next = *record->front()->due;
  }

  FeedState state(const std::string& url) { return Feeds(store).records(std::span(&url, 1))->front()->state; }

  static constexpr Milliseconds start = seconds(1'772'366'417);

  test::ClockedRedis redis{start};
  test::DnsServer dns;
  Referee referee{contact};
  Store store;
  std::vector<std::string> urls;
  std::uint64_t polls = 0;
};

TEST_F(Politeness, ThreeWeeksWithPublishersOfAllKindsBreakNoRule) {
  // Validators: byte for byte, whatever they look like.
  add("weak", steady({.etag = "W/\"odd  one\""}));
  add("unquoted", steady({.etag = "no-quotes"}));
  add("latin", steady({.etag = "\"caf\xE9\""}));
  add("empty-quotes", steady({.etag = "\"\""}));
  add("odd-date", steady({.last_modified = "some day"}));
  add("early-date", steady({.last_modified = "Thu, 01 Jan 1970 00:00:00 GMT"}));
  add("both", steady({.etag = "\"a,b;c\"", .last_modified = "Sat, 01 Aug 2026 10:00:00 GMT"}));
  add("none", steady({}));
  add("long", [](const Visit& visit) {
    return document(rss(3, visit.now), {}, {{"ETag", "\"" + std::string(1100, 'x') + "\""}});
  });
  add("control", [](const Visit& visit) { return document(rss(3, visit.now), {}, {{"ETag", "\"a\x01z\""}}); });
  add("twice", [](const Visit& visit) {
    Answer answer = document(rss(3, visit.now - days(3)), {}, {{"ETag", "\"one\""}, {"ETag", "\"two\""}});
    answer.said.etag = "\"one\"";
    return visit.conditional ? not_modified() : answer;
  });
  add("etag-moves", [](const Visit& visit) {  // the body remains the same
    return document("<rss version='2.0'><channel><title>x</title></channel></rss>",
                    {.etag = "\"" + std::to_string(visit.poll) + "\""});
  });
  add("renews", [](const Visit& visit) {
    if (!visit.conditional) return document(rss(3, visit.now), {.etag = "\"a\"", .last_modified = "then"});
    Answer answer = not_modified({{"ETag", "\"renewed " + std::to_string(visit.poll) + "\""}});
    answer.keep = Answer::Keep::renew;
    answer.said.etag = "\"renewed " + std::to_string(visit.poll) + "\"";
    return answer;
  });
  add("drops", [](const Visit& visit) {  // a validator that a later document lacks is forgotten
    if (visit.poll % 2 == 1)
      return document(rss(static_cast<int>(visit.poll), visit.now), {.etag = "\"a\"", .last_modified = "b"});
    return document(rss(static_cast<int>(visit.poll), visit.now), {.last_modified = "c"});
  });
  add("half-broken", [n = 0](const Visit& visit) mutable {  // a refused document's validators are dropped with it
    if (visit.poll % 3 != 0) {
      n = 0;
      return document(rss(static_cast<int>(visit.poll), visit.now),
                      {.etag = "\"good " + std::to_string(visit.poll) + "\""});
    }
    Answer answer = refusal(200, back(hours(1), hours(24), ++n), "P2", {{"ETag", "\"bad\""}});
    answer.response.body = "<html><body>Down for maintenance, try " + std::to_string(visit.poll) + "</body></html>";
    return answer;
  });
  add("sometimes-500", [](const Visit& visit) {
    if (visit.poll % 4 == 0) return refusal(500, hours(1), "P6", {{"ETag", "\"of the error page\""}});
    return visit.conditional ? not_modified() : document(rss(3, visit.now), {.etag = "\"real\""});
  });
  add("cut-short", [](const Visit& visit) {
    if (visit.poll % 3 != 2)
      return document(rss(static_cast<int>(visit.poll), visit.now), {.etag = "\"" + std::to_string(visit.poll) + "\""});
    Answer answer = refusal(200, hours(1), "P2");
    const std::string whole = rss(1, visit.now);
    answer.response = {.raw = "HTTP/1.1 200 OK\r\nETag: \"cut\"\r\nContent-Length: 5000\r\n\r\n" +
                              whole.substr(0, whole.rfind("</channel>"))};
    return answer;
  });
  add("stuck", [](const Visit& visit) {  // answers 304 although there is a new post every hour
    const int posts = static_cast<int>(visit.now / hours(1) % 1000) + 100;
    return visit.conditional ? not_modified() : document(rss(posts, visit.now), {.etag = "\"forever\""});
  });

  // Freshness and hints.
  add("busy", [](const Visit& visit) {  // freshness lowers the floor, but not below ten minutes
    Answer answer = document(rss(static_cast<int>(visit.now / minutes(20) % 100'000), visit.now), {},
                             {{"Cache-Control", "max-age=60"}});
    answer.earliest = minutes(10);
    return answer;
  });
  add("busy-silent",
      [](const Visit& visit) { return document(rss(static_cast<int>(visit.now / minutes(20) % 100'000), visit.now)); });
  add("no-cache", steady({.etag = "\"n\""}, {{"Cache-Control", "no-cache, max-age=60"}}, hours(1), "P7"));
  add("max-age",
      steady({.etag = "\"m\""}, {{"Cache-Control", "public, max-age=\"36000\""}, {"Age", "3600"}}, hours(9), "P7"));
  add("year", steady({.etag = "\"y\""}, {{"Cache-Control", "max-age=31536000"}}, hours(24), "P8"));
  add("expires", [](const Visit& visit) {
    Answer answer =
        document(rss(3, visit.now), {}, {{"Date", http_date(visit.now)}, {"Expires", http_date(visit.now + hours(5))}});
    answer.earliest = hours(5);
    answer.rule = "P7";
    return answer;
  });
  add("fresh-404", [](const Visit& visit) {
    if (visit.poll == 1) return document(rss(3, visit.now));
    const auto wait = std::max<seconds>(hours(3), back(hours(1), days(7), static_cast<int>(visit.poll) - 1));
    return refusal(404, wait, "P7", {{"Cache-Control", "max-age=10800"}});
  });
  add("ttl", steady({.etag = "\"t\""}, {}, hours(5), "P11", "<ttl>300</ttl>"));
  add("ttl-odd", steady({.etag = "\"t\""}, {}, hours(1), "P11", "<ttl>soon</ttl>"));
  add("sy", steady({.etag = "\"s\""}, {}, hours(6), "P11",
                   "<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>"));
  add("skip-hours", [](const Visit& visit) {
    std::string hours_out;
    for (int hour = 6; hour < 24; ++hour) hours_out += "<hour>" + std::to_string(hour) + "</hour>";
    Answer answer = document(rss(static_cast<int>(visit.now / minutes(30) % 100'000), visit.now,
                                 "<skipHours>" + hours_out + "</skipHours>"));
    answer.allowed = [](Milliseconds time) { return time / hours(1) % 24 < 6; };
    answer.latest = hours(44);
    return answer;
  });
  add("skip-days", [](const Visit& visit) {
    Answer answer = document(rss(static_cast<int>(visit.now / minutes(30) % 100'000), visit.now,
                                 "<skipDays><day>Saturday</day><day>Sunday</day></skipDays>"));
    answer.allowed = [](Milliseconds time) { return (time / days(1) + 3) % 7 < 5; };
    answer.latest = hours(73);
    return answer;
  });
  add("dormant", [](const Visit& visit) {
    Answer answer = document(rss(3, Milliseconds(days(20'000)), "", "old"), {.etag = "\"d\""});
    if (visit.conditional) answer = not_modified();
    answer.latest = days(7);
    return answer;
  });

  // Refusals.
  add("retry-after", [](const Visit& visit) {
    if (visit.poll % 2 == 1) return document(rss(static_cast<int>(visit.poll), visit.now));
    Answer answer = refusal(429, hours(2), "P9", {{"Retry-After", "7200"}});
    answer.latest = hours(6);  // HTTP H10: the learned pace of its host delays it further
    return answer;
  });
  add("retry-date", [](const Visit& visit) {
    if (visit.poll % 2 == 1) return document(rss(static_cast<int>(visit.poll), visit.now));
    return refusal(503, hours(3) - seconds(1), "P9", {{"Retry-After", http_date(visit.now + hours(3))}});
  });
  add("retry-month", [](const Visit& visit) {
    if (visit.poll == 1) return document(rss(3, visit.now));
    return refusal(503, days(7), "P9", {{"Retry-After", "2592000"}});
  });
  add("retry-nonsense", failing(503, hours(1), hours(24), "P9", {{"Retry-After", "in a while"}}));
  add("retry-404", [](const Visit& visit) {
    if (visit.poll % 2 == 1) return document(rss(static_cast<int>(visit.poll), visit.now));
    return refusal(404, hours(10), "P9", {{"Retry-After", "36000"}});
  });
  add("limited", failing(429, hours(4), days(7), "P10"));
  add("not-found", failing(404, hours(1), days(7), "P14"));
  add("forbidden", failing(403, hours(4), days(7), "P14"));
  add("private", failing(401, hours(4), days(7), "P14"));
  add("legal", failing(451, hours(24), days(30), "P14"));
  add("server-error", failing(500, hours(1), hours(24), "P14"));
  add("teapot", failing(418, hours(1), days(7), "P14"));
  add("no-content", failing(204, hours(1), hours(24), "P14"));
  add("gone", [](const Visit& visit) {
    if (visit.poll == 1) return document(rss(3, visit.now));
    return refusal(410, visit.poll == 2 ? seconds(hours(24)) : seconds(days(30)), "P14");
  });
  add("resets", [](const Visit& visit) {
    if (visit.poll % 2 == 1) return document(rss(static_cast<int>(visit.poll), visit.now));
    Answer answer = refusal(200, hours(1), "P6");
    answer.response = {.raw = "HTTP/1.1 200 OK\r\nContent-Le", .end = test::Response::End::reset};
    return answer;
  });

  // Redirects.
  const auto elsewhere = [this](int status, const std::string& name) {
    return [this, status, name](const Visit& visit) {
      const std::string real = at("www." + name, "/real.xml");
      if (visit.url != real) return redirect(status, real);
      return visit.conditional ? not_modified() : document(rss(3, visit.now, "", name), {.etag = "\"real\""});
    };
  };
  add("see-302", elsewhere(302, "see-302"));
  add("see-303", elsewhere(303, "see-303"));
  add("see-307", elsewhere(307, "see-307"));
  add("wanders", [this](const Visit& visit) {  // a new target every third poll, first asked without validators
    const std::string real = at("www.wanders", "/" + std::to_string(visit.poll / 3) + ".xml");
    if (visit.url != real) return redirect(302, real);
    return visit.conditional ? not_modified() : document(rss(3, visit.now), {.etag = "\"same everywhere\""});
  });
  add("cookies", [this](const Visit& visit) {
    if (visit.url == at("cookies"))
      return redirect(302, at("cookies", "/in.xml"), {{"Set-Cookie", "session=1; Path=/"}});
    return visit.conditional ? not_modified() : document(rss(3, visit.now), {.etag = "\"c\""});
  });
  add("for-good", [this, sightings = 0, first = Milliseconds(0)](const Visit& visit) mutable {
    const std::string target = at("new.for-good");
    if (visit.url != target) {
      if (sightings++ == 0) first = visit.now;
      return redirect(301, target);
    }
    Answer answer = document(rss(static_cast<int>(visit.poll), visit.now, "", "same"), {});
    if (sightings >= 3 && visit.now - first >= hours(24)) answer.moved_to = target;
    return answer;
  });
  add("hijacked", [this](const Visit& visit) {  // some day redirects to another feed: never taken over
    const std::string target = at("other.hijacked");
    if (visit.url != target) {
      return visit.poll < 10 ? document(rss(static_cast<int>(visit.poll), visit.now)) : redirect(301, target);
    }
    return document(rss(static_cast<int>(visit.poll), visit.now, "", "foreign"));
  });

  poll_for(days(21));
  referee.set_time(start + days(21));
  referee.finish();
  std::printf("%llu polls of %zu feeds in three weeks:\n%s", static_cast<unsigned long long>(polls), urls.size(),
              referee.table().c_str());
  EXPECT_EQ(referee.violations(), 0U) << referee.table();
  for (const char* rule : {"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P13", "P14", "P16",
                           "P17", "P18", "P19", "P21"}) {
    EXPECT_GT(referee.scores()[rule].checks, 0U) << rule << " was not put to the test";
  }

  // HTTP P24: the counters of a feed match the polls that the publisher saw.
  for (const std::string& url : urls) {
    const FeedState counted = state(url);
    const Referee::Polls seen = referee.polls(url);
    EXPECT_EQ(counted.counts.polls, seen.polls) << url;
    EXPECT_EQ(counted.counts.polls_not_modified, seen.not_modified) << url;
  }
  // HTTP P5: the same document again counts as unchanged.
  EXPECT_EQ(state(at("etag-moves")).counts.polls_same_body, state(at("etag-moves")).counts.polls - 1);
}

// RELIABILITY I11, HTTP P4
TEST_F(Politeness, AHeldBackChangeCostsOneRequestWithoutValidators) {
  const auto atom = [](const std::string& title, const std::string& updated) {
    return "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>A feed</title><entry><id>a</id><title>" + title +
           "</title><updated>" + updated + "</updated></entry></feed>";
  };
  const std::vector<std::string> documents{atom("One", "2026-02-01T00:00:00Z"), atom("Typo", "2026-02-02T00:00:00Z"),
                                           atom("Corrected", "2026-02-01T00:00:00Z")};
  std::vector<Milliseconds> bare;
  Milliseconds corrected{};
  add("corrected", [&](const Visit& visit) {
    if (!visit.conditional) bare.push_back(visit.now);
    if (visit.poll > documents.size() && visit.conditional) return not_modified();
    const std::size_t version = std::min<std::size_t>(visit.poll, documents.size());
    if (visit.poll == documents.size()) corrected = visit.now;
    return document(documents[version - 1], {.etag = "\"" + std::to_string(version) + "\""});
  });
  ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = urls.front()}}));
  test::redis_command(redis.server(), {"HSET", "state:feed:" + urls.front(), "settings", R"({"interval_max":7200})"});
  poll_for(days(5));
  ASSERT_EQ(bare.size(), 2U) << "the first, and one a day after the correction";
  EXPECT_GE(bare[1] - corrected, hours(24));
  EXPECT_LE(bare[1] - corrected, hours(27));
  EXPECT_EQ(test::redis_command(redis.server(), {"HGET", "Entry:1", "title"}), "Corrected");
}

/// An impolite client on its own connection.
class Visitor {
 public:
  explicit Visitor(const Referee& referee) : socket_(context_) {
    socket_.connect({asio::ip::make_address("127.0.0.1"), referee.port()});
  }

  /// Sends a correct request modified by `change`; `more`: further header lines.
  void ask(const std::string& feed_url, const std::string& url, const std::string& more = "",
           const std::function<void(std::string&)>& change = {}) {
    const std::size_t path = url.find('/', 7);
    std::string head = "GET " + url.substr(path) + " HTTP/1.1\r\nHost: " + url.substr(7, path - 7) +
                       "\r\nUser-Agent: " + user_agent(contact, feed_url) +
                       "\r\nAccept: application/atom+xml,application/rss+xml,application/xml,text/xml,*/*;q=0.1"
                       "\r\nAccept-Encoding: gzip, br, zstd\r\n" +
                       more + "\r\n";
    if (change) change(head);
    asio::write(socket_, asio::buffer(head));
    char answer[4096];
    socket_.read_some(asio::buffer(answer));
  }

 private:
  asio::io_context context_;
  asio::ip::tcp::socket socket_;
};

TEST(RefereeTest, DetectsImpoliteRequests) {
  const auto swap = [](const std::string& from, const std::string& to) {
    return [=](std::string& head) { head.replace(head.find(from), from.size(), to); };
  };
  struct Offence {
    const char* rule;
    Milliseconds after;  ///< since the previous poll
    std::string path;
    std::string more;
    std::function<void(std::string&)> change;
  };
  const std::string match = "If-None-Match: \"v\"\r\n";
  const std::vector<Offence> offences{
      {"P1", hours(2), "/feed.xml", "If-None-Match: v\r\n", {}},
      {"P3", hours(2), "/other.xml", match, {}},
      {"P4", hours(2), "/feed.xml", "", {}},
      {"P6", minutes(30), "/feed.xml", match, {}},
      {"P13", hours(2), "/other.xml", "", {}},
      {"P14", days(2), "/feed.xml", match, {}},
      {"P16", hours(2), "/feed.xml", match + "Referer: http://here/\r\n", {}},
      {"P16", hours(2), "/feed.xml", match + "Cookie: a=1\r\n", {}},
      {"P16", hours(2), "/feed.xml", match, swap("GET", "HEAD")},
      {"P16", Milliseconds(0), "/feed.xml", match, {}},
      {"P17", hours(2), "/feed.xml", match, swap("gzip, br, zstd", "*")},
      {"P18", hours(2), "/feed.xml", match + "A-IM: feed\r\n", {}},
      {"P19", hours(2), "/feed.xml", match, swap("feedmill/", "Mozilla/5.0 feedmill/")},
      {"P19", hours(2), "/feed.xml", match, swap("feed-id=", "feed-id=0")},
      {"P21", hours(2), "/robots.txt", "", {}},
  };
  for (const Offence& offence : offences) {
    Referee referee(contact);
    const std::string url = referee.add("feed", steady({.etag = "\"v\""}));
    Milliseconds now = days(20'000);
    Visitor visitor(referee);
    referee.set_time(now);
    visitor.ask(url, url);
    EXPECT_EQ(referee.violations(), 0U) << referee.table();
    if (offence.after.count() != 0) referee.set_time(now + offence.after);
    visitor.ask(url, referee.url("feed.test", offence.path), offence.more, offence.change);
    EXPECT_GT(referee.scores()[offence.rule].violations, 0U) << offence.rule << "\n" << referee.table();
  }
}

TEST(RefereeTest, SeesThatAWaitWasCutShort) {
  struct Haste {
    const char* rule;
    Referee::Habit habit;
    Milliseconds after;
  };
  const auto refused = [](const char* rule, seconds wait) {
    return [=](const Visit&) { return refusal(429, wait, rule); };
  };
  const auto forbidden_hour = [](const Visit& visit) {
    Answer answer = document(rss(1, visit.now));
    answer.allowed = [](Milliseconds time) { return time / hours(1) % 24 < 6; };
    return answer;
  };
  const Haste table[] = {{"P7", steady({}, {}, hours(9), "P7"), hours(8)},
                         {"P8", steady({}, {}, hours(24), "P8"), hours(23)},
                         {"P9", refused("P9", hours(2)), hours(1)},
                         {"P10", refused("P10", hours(4)), hours(3)},
                         {"P11", forbidden_hour, hours(12)}};
  for (const Haste& haste : table) {
    Referee referee(contact);
    const std::string url = referee.add("feed", haste.habit);
    Visitor visitor(referee);
    referee.set_time(days(20'000));
    visitor.ask(url, url);
    referee.set_time(days(20'000) + haste.after);
    visitor.ask(url, url);
    EXPECT_GT(referee.scores()[haste.rule].violations, 0U) << haste.rule << "\n" << referee.table();
  }
}

/// Hosts with many feeds each, one request at a time and a second apart: the feeds wait in lines, and the store's clock
/// advances from each request to the next.
class CrowdedHosts : public testing::Test {
 protected:
  static constexpr Milliseconds begin = seconds(1'772'366'417), spacing = seconds(1);

  CrowdedHosts() : store(StoreOptions{.url = redis.server().url()}) {
    const auto opened = store.open();
    EXPECT_TRUE(opened) << opened.error().detail;
    dns.serve_rest([](const std::string&) { return test::DnsAnswer{.addresses = {"127.0.0.1"}}; });
    referee.watch_hosts(spacing);
  }

  void add(const std::string& host, int feeds, const Referee::Habit& habit) {
    for (int i = 0; i < feeds; ++i) urls.push_back(referee.add(host, habit, "/" + std::to_string(i) + ".xml"));
  }

  /// Refreshes claimed feeds one after the other until none is left; then advances the clock.
  void work_until(Milliseconds end) {
    while (now < end && !testing::Test::HasFatalFailure()) {
      redis.set(now);
      referee.set_time(now);
      ClaimRequest request;
      request.worker = std::string(32, 'a');
      request.request = ++claims;
      request.max = 1;
      request.host = {1, spacing};
      request.overdue_rate = rate;
      auto batch = Ingest(store).claim(request);
      ASSERT_TRUE(batch) << batch.error().detail;
      joined += batch->deferred.size();
      if (batch->claims.empty()) {
        if (!batch->exhausted) continue;
        now = std::clamp<Milliseconds>(batch->next_due.value_or(end), now + Milliseconds(1), end);
        continue;
      }
      if (batch->claims.front().due < now - seconds(2)) overdue.push_back(now);
      if (refreshes++ % 500 == 0) {
        RefreshOptions options;
        options.host = request.host;
        options.policy.schedule.floor = options.policy.schedule.ceiling = hours(1);
        parts = std::make_unique<Parts>(redis.server().url(), dns.address(), options);
      }
      const Report report = test::await(parts->context, parts->refresher.refresh(std::move(batch->claims.front())));
      ASSERT_NE(report.reason, Reason::store_stale);
      ASSERT_NE(report.reason, Reason::store_unavailable) << report.detail;
    }
  }

  test::ClockedRedis redis{begin};
  test::DnsServer dns;
  Referee referee{contact};
  Store store;
  std::unique_ptr<Parts> parts;
  Milliseconds now = begin;
  std::vector<std::string> urls;
  std::vector<Milliseconds> overdue;  ///< when overdue feeds were started
  std::uint64_t claims = 0, refreshes = 0, rate = 0;
  std::size_t joined = 0;
};

/// An Atom page with five posts; page 1 is the document. Post n is dated n hours after `zero`.
std::string page_of(int newest, int page, const std::string& next, Milliseconds zero) {
  std::string text = "<feed xmlns='http://www.w3.org/2005/Atom'><title>F</title><link rel='next' href='" + next + "'/>";
  const int first = newest - 5 * (page - 1);
  for (int post = first; post > first - 5 && post > 0; --post) {
    const auto time = std::chrono::floor<seconds>(zero + hours(post));
    const std::time_t at = time.count();
    std::tm parts{};
    gmtime_r(&at, &parts);
    char date[64];
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    text += "<entry><id>p" + std::to_string(post) + "</id><title>T</title><updated>" + date + "</updated></entry>";
  }
  return text + "</feed>";
}

TEST_F(CrowdedHosts, AreAskedByTheRulesWhereFeedsWaitInLines) {
  add("calm", 40, steady({.etag = "\"calm\""}));
  add("quota", 6, [](const Visit& visit) {  // HTTP H10
    const Headers told{{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "60"}};
    Answer answer = visit.conditional ? not_modified(told) : document(rss(3, visit.now), {.etag = "\"q\""}, told);
    answer.host_rest = seconds(60);
    return answer;
  });
  add("overloaded", 12, [](const Visit& visit) {  // HTTP H4, H5
    if (visit.now >= begin + hours(20) && visit.now < begin + hours(22)) {
      Answer answer = refusal(503, minutes(30), "P9", {{"Retry-After", "1800"}});
      answer.is_refusal = true;
      answer.latest = hours(8);
      return answer;
    }
    Answer answer = visit.conditional ? not_modified() : document(rss(3, visit.now), {.etag = "\"o\""});
    answer.latest = hours(8);
    return answer;
  });
  add("stormy", 10, [](const Visit& visit) {  // HTTP H11
    if (visit.now >= begin + hours(24) && visit.now < begin + hours(36)) {
      Answer answer = refusal(404, hours(1), "P6");
      answer.is_of_storm = true;
      answer.latest = hours(14);
      return answer;
    }
    Answer answer = visit.conditional ? not_modified() : document(rss(3, visit.now), {.etag = "\"s\""});
    answer.latest = hours(14);
    return answer;
  });
  add("gaps", 4, [this](const Visit& visit) {  // HTTP G1: every tenth poll finds 19 new posts
    const int newest = 5 + 19 * static_cast<int>(visit.poll / 10);
    const auto query = visit.url.find("?page=");
    const std::string home = visit.url.substr(0, query);
    const int page = query == std::string::npos ? 1 : std::atoi(visit.url.c_str() + query + 6);
    const auto at = [&](int number) { return home + "?page=" + std::to_string(number); };
    const bool is_news = visit.poll % 10 == 0;
    const std::string body = page_of(newest, page, at(page + 1), begin - days(30));
    if (page > 1) return document(body);
    if (visit.conditional && !is_news) return not_modified();
    Answer answer = document(body, {.etag = "\"" + std::to_string(newest) + "\""});
    if (is_news) answer.pages = {at(2), at(3), at(4)};
    return answer;
  });
  add("led", 3, [this](const Visit& visit) {  // HTTP H6: redirected to a host where others wait
    const std::string target = referee.url("there.led.test", visit.url.substr(visit.url.rfind('/')));
    if (visit.url != target) return redirect(302, target);
    return visit.conditional ? not_modified() : document(rss(3, visit.now, "", visit.url), {.etag = "\"there\""});
  });
  std::vector<NewFeed> feeds;
  for (const std::string& url : urls) feeds.push_back({.feed_url = url});
  ASSERT_TRUE(Feeds(store).add(feeds));

  ASSERT_NO_FATAL_FAILURE(work_until(begin + hours(test::tries(40, 80, 160))));
  EXPECT_GT(joined, urls.size()) << "hardly anybody had to wait";
  // Feeds may be waiting at any one moment, but not always.
  const auto somebody_waits = [&] { return redis_command(redis.server(), {"EXISTS", "lines"}) == "1"; };
  while (somebody_waits() && now < begin + hours(test::tries(41, 81, 161)))
    ASSERT_NO_FATAL_FAILURE(work_until(now + seconds(10)));
  EXPECT_FALSE(somebody_waits()) << "all have had their turn";

  // HTTP P12: no worker runs for a while; then all late feeds share one budget, whatever their hosts would allow.
  rate = 2;
  now += minutes(70);
  const Milliseconds back = now;
  overdue.clear();
  ASSERT_NO_FATAL_FAILURE(work_until(back + seconds(15)));
  EXPECT_GT(overdue.size(), 20U);
  for (std::size_t i = 0; i < overdue.size(); ++i) {
    const double allowed = 0.25 * 2 + 1 + 2 * std::chrono::duration<double>(overdue[i] - back).count();
    EXPECT_LE(static_cast<double>(i + 1), allowed + 0.01) << (overdue[i] - back).count() << " ms";
  }
  rate = 0;
  ASSERT_NO_FATAL_FAILURE(work_until(back + hours(3)));
  std::printf("%llu refreshes of %zu feeds in %lld hours:\n%s", static_cast<unsigned long long>(refreshes), urls.size(),
              static_cast<long long>((now - begin) / hours(1)), referee.table().c_str());
  EXPECT_EQ(referee.violations(), 0U) << referee.table();
  for (const char* rule : {"P6", "P9", "P14", "P15", "P16", "G1", "G2", "G3", "H4", "H5", "H10", "H11"}) {
    EXPECT_GT(referee.scores()[rule].checks, 0U) << rule << " was not put to the test";
  }
}

}  // namespace
}  // namespace feedmill::politeness_test
