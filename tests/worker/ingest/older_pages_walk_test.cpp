// Pages of older posts on a real server and a real store: closed gaps, first imports that reach further back, and
// misleading servers.
#include <chrono>
#include <ctime>
#include <functional>
#include <future>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/ingest/refresh.hpp"

namespace feedmill::test::older_pages_walk_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

std::string date_of(int post) {
  const std::time_t at = 1'750'000'000 + post * 600;
  std::tm parts{};
  gmtime_r(&at, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// An Atom document with the posts `newest` … `oldest`.
std::string atom(int newest, int oldest, const std::string& head = "") {
  std::string text = R"(<feed xmlns="http://www.w3.org/2005/Atom"><title>A feed</title><id>f</id>)" + head;
  for (int post = newest; post >= std::max(oldest, 1); --post) {
    text +=
        fmt::format("<entry><id>p{0}</id><title>Post {0}</title><updated>{1}</updated></entry>", post, date_of(post));
  }
  return text + "</feed>";
}

std::string link(const std::string& rel, const std::string& url) {
  return "<link rel=\"" + rel + "\" href=\"" + url + "\"/>";
}

class OlderPages : public testing::Test {
 protected:
  OlderPages() : store(StoreOptions{.url = redis.url()}) {
    const auto opened = store.open();
    EXPECT_TRUE(opened) << opened.error().detail;
  }
  ~OlderPages() override { threads.pool().join(); }

  static RefreshOptions options() {
    RefreshOptions all;
    all.host = {64, Milliseconds(0)};
    return all;
  }
  static FetchOptions fetch_options() {
    FetchOptions all;
    all.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
    return all;
  }

  void add(const std::string& settings = "") {
    EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = url, .settings = settings}}));
  }
  Claim claim() {
    ClaimRequest request;
    request.worker = std::string(32, 'a');
    request.request = ++claims;
    request.host = {64, Milliseconds(0)};
    request.only = {url};
    auto batch = Ingest(store).claim(request);
    EXPECT_TRUE(batch && batch->claims.size() == 1);
    return batch && !batch->claims.empty() ? batch->claims.front() : Claim();
  }
  Report refresh() {
    const Claim claimed = claim();
    std::future<Report> done = asio::co_spawn(loop, refresher.refresh(claimed), asio::use_future);
    while (done.wait_for(0s) != std::future_status::ready) loop.run_one();
    return done.get();
  }
  /// Reads pages until the walk ends; returns their number.
  int walk(int most = 40) {
    int pages = 0;
    while (!state().older.walk.next.empty() && pages < most) {
      refresh();
      ++pages;
    }
    EXPECT_LT(pages, most) << "it comes to no end";
    return pages;
  }

  /// Serves a site with the posts `newest` … 1, five on each page; page 1 is the feed itself. `head`: markup of a page.
  void serve_site(int newest, const std::function<std::string(int page)>& head) {
    publisher.serve("/feed", [newest, head](const ServedRequest& request) {
      const auto at = request.target.find("paged=");
      const int page = at == std::string::npos ? 1 : std::atoi(request.target.c_str() + at + 6);
      const int first = newest - 5 * (page - 1);
      Response response;
      if (page == 1) response.etag = "\"" + std::to_string(newest) + "\"";
      if (first < 1) response.status = 404;
      response.body = atom(first, first - 4, head(page));
      return response;
    });
  }
  void serve_linked(int newest) {
    serve_site(newest, [this](int page) { return link("next", url + "?paged=" + std::to_string(page + 1)); });
  }

  FeedRecord record() { return *Feeds(store).records(std::span(&url, 1))->front(); }
  FeedState state() { return record().state; }
  std::set<int> stored() {
    std::set<int> posts;
    for (const StoredEntry& entry : *Entries(store).all_by_order(url, 10'000)) {
      EXPECT_TRUE(posts.insert(std::atoi(entry.get("guid").c_str() + 1)).second) << "twice";
    }
    return posts;
  }
  static std::set<int> posts(int from, int to) {
    std::set<int> all;
    for (int post = from; post <= to; ++post) all.insert(post);
    return all;
  }
  /// Number of post_created events; if `mark` is given, only those with this member.
  int created(const char* mark = nullptr) {
    int count = 0;
    for (const EventRecord& event : *EventStream(store).read("0", 100'000, Milliseconds(0))) {
      if (event.type != "post_created") continue;
      const auto json = boost::json::parse(event.json).as_object();
      count += mark == nullptr || json.contains(mark) ? 1 : 0;
    }
    return count;
  }
  std::size_t asked() { return publisher.requests().size(); }

  RedisServer redis;
  HttpServer publisher;
  const std::string url = publisher.url("/feed");
  Store store;
  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{loop.get_executor()};
  StorePool pool{loop.get_executor(), StoreOptions{.url = redis.url()}, 2};
  MemoryBudget memory{512U << 20U};
  ReadingThreads threads{2, memory};
  Fetcher fetcher{loop.get_executor(), fetch_options()};
  Refresher refresher{fetcher, threads,   pool,
                      memory,  options(), [](const StoreResult<Committed>&, std::chrono::duration<double>) {}};
  std::uint64_t claims = 0;
};

// HTTP G1, G6
TEST_F(OlderPages, CloseAGapAndTouchNothingElse) {
  add();
  serve_linked(5);
  refresh();
  serve_linked(24);
  refresh();
  EXPECT_EQ(stored().size(), 10U);
  const FeedState before = state();
  EXPECT_EQ(before.older.walk.next, url + "?paged=2");
  EXPECT_EQ(before.due.reason, "pages");
  EXPECT_LE(*record().due, *store.now() + 1s);
  const std::size_t asked_before = asked();
  EXPECT_EQ(walk(), 3) << "9 to 5 meets what is stored";
  EXPECT_EQ(stored(), posts(1, 24));
  EXPECT_EQ(created(), 24);
  EXPECT_EQ(created("initial"), 5);
  EXPECT_EQ(created("healed"), 14);
  const std::vector<ServedRequest> requests = publisher.requests();
  for (std::size_t i = asked_before; i < requests.size(); ++i) EXPECT_EQ(requests[i].header("If-None-Match"), "");
  const FeedState after = state();
  EXPECT_EQ(after.validators, before.validators);
  EXPECT_EQ(after.document.wire_hash, before.document.wire_hash);
  EXPECT_EQ(after.document.hints, before.document.hints);
  EXPECT_EQ(after.last, before.last);
  EXPECT_EQ(after.counts.polls, before.counts.polls) << "pages are no polls";
  EXPECT_EQ(after.counts.total_new, before.counts.total_new + 14);
  EXPECT_GT(after.counts.total_wire_bytes, before.counts.total_wire_bytes);
  EXPECT_EQ(after.due.reason, before.older.walk.poll_reason);
  EXPECT_GT(*record().due, *store.now() + 20min);
  EXPECT_EQ(refresh().outcome, Outcome::not_modified);
}

TEST_F(OlderPages, AreFoundByJsonFeedsNextUrl) {
  const auto serve = [this](int newest) {
    publisher.serve("/feed", [this, newest](const ServedRequest& request) {
      const auto at = request.target.find("before=");
      const int first = at == std::string::npos ? newest : std::atoi(request.target.c_str() + at + 7) - 1;
      std::string items;
      for (int post = first; post > first - 5 && post > 0; --post) {
        items += fmt::format("{}{{\"id\":\"p{}\",\"title\":\"Post\",\"date_published\":\"{}\"}}",
                             items.empty() ? "" : ",", post, date_of(post));
      }
      const std::string more = fmt::format("\"next_url\":\"{}?before={}\",", url, first - 4);
      return Response{.headers = {{"Content-Type", "application/feed+json"}},
                      .body = "{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"F\"," + more +
                              "\"items\":[" + items + "]}"};
    });
  };
  add();
  serve(5);
  refresh();
  serve(20);
  refresh();
  EXPECT_EQ(walk(), 3);
  EXPECT_EQ(stored(), posts(1, 20));
}

// HTTP G3
TEST_F(OlderPages, OfWordPressAreAskedForByNumber) {
  const auto wordpress = [](int) { return R"(<generator uri="https://wordpress.org/">WordPress</generator>)"; };
  add();
  serve_site(5, wordpress);
  refresh();
  serve_site(20, wordpress);
  refresh();
  EXPECT_EQ(state().older.walk.next, url + "?paged=2");
  walk();
  EXPECT_EQ(stored(), posts(1, 20));
  EXPECT_EQ(state().older.numbers, OlderPosts::Numbers::work);
}

TEST_F(OlderPages, ThatTheServerDoesNotNumberAreTriedOnce) {
  const std::string head = R"(<generator uri="https://wordpress.org/">WordPress</generator>)";
  add();
  for (const int newest : {5, 20, 40}) {  // whatever the query
    publisher.serve("/feed", Response{.body = atom(newest, newest - 4, head)});
    refresh();
    walk();
  }
  EXPECT_EQ(state().older.numbers, OlderPosts::Numbers::fail);
  EXPECT_EQ(asked(), 4U) << "three documents and one try";
  EXPECT_EQ(stored().size(), 15U);
}

// RFC 5005 §4, HTTP G3
TEST_F(OlderPages, ThatAreArchivesAreReadOnceForEver) {
  const auto archive = [this](int number) { return publisher.url("/archive/" + std::to_string(number)); };
  // archive n has posts 5n-4 … 5n; the document has all newer posts and a link to the newest archive
  const auto serve = [&](int newest) {
    const int archives = (newest - 1) / 5;
    for (int number = 1; number <= archives; ++number) {
      const std::string head = number > 1 ? link("prev-archive", archive(number - 1)) : "";
      publisher.serve("/archive/" + std::to_string(number), Response{.body = atom(5 * number, 5 * number - 4, head)});
    }
    publisher.serve("/feed", Response{.body = atom(newest, 5 * archives + 1, link("prev-archive", archive(archives)))});
  };
  add();
  serve(7);
  refresh();
  serve(24);
  refresh();
  walk();
  EXPECT_EQ(stored(), posts(6, 24)) << "what is older than it was at its first import is nobody's gap";
  EXPECT_EQ(publisher.count("/archive/4"), 1U);
  EXPECT_EQ(publisher.count("/archive/2"), 1U);
  EXPECT_EQ(publisher.count("/archive/1"), 0U);
  serve(32);
  refresh();
  walk();
  EXPECT_EQ(stored(), posts(6, 32));
  EXPECT_EQ(publisher.count("/archive/6"), 1U);
  EXPECT_EQ(publisher.count("/archive/5"), 1U);
  EXPECT_EQ(publisher.count("/archive/4"), 1U);
  publisher.serve("/feed", Response{.body = atom(50, 49, link("prev-archive", archive(6)))});
  refresh();
  EXPECT_EQ(state().older.walk.next, "");
  EXPECT_EQ(publisher.count("/archive/6"), 1U) << "it has been read";
}

// HTTP G2, G3
TEST_F(OlderPages, OfLiarsEnd) {
  struct Liar {
    const char* name;
    std::string first;                                           // link in the document
    std::function<Response(const ServedRequest& request)> page;  // answer at /page
    std::size_t most;                                            // maximum number of requests for pages
  };
  HttpServer other;
  other.serve("/page", Response{.body = atom(15, 11)});
  const std::string page = publisher.url("/page");
  int endless = 0;
  const Liar liars[] = {
      {"itself", url, nullptr, 0},
      {"another host", publisher.url("localhost", "/page"), nullptr, 0},
      {"nothing to be asked", "ftp://127.0.0.1/page", nullptr, 0},
      {"a page that is its own next", page,
       [&](const ServedRequest&) { return Response{.body = atom(15, 11, link("next", page))}; }, 1},
      {"a ring", page + "?0",
       [&](const ServedRequest& request) {
         const bool even = request.target.ends_with('0');
         return Response{.body = atom(even ? 15 : 10, even ? 11 : 9, link("next", page + (even ? "?1" : "?0")))};
       },
       3},
      {"the same page by any name", page + "?0",
       [&](const ServedRequest& request) {
         const int number = std::atoi(request.target.substr(request.target.find('?') + 1).c_str());
         return Response{.body = atom(15, 11, link("next", page + "?" + std::to_string(number + 1)))};
       },
       2},
      {"posts without end", page + "?0",
       [&](const ServedRequest&) {
         endless += 5;
         return Response{.body =
                             atom(1000 + endless, 996 + endless, link("next", page + "?" + std::to_string(endless)))};
       },
       10},
      {"a web page", page, [](const ServedRequest&) { return Response{.body = "<!doctype html><p>Hello</p>"}; }, 1},
      {"no page", page, [](const ServedRequest&) { return Response{.status = 404}; }, 1},
      {"a redirect elsewhere", page,
       [&](const ServedRequest&) {
         return Response{.status = 302, .headers = {{"Location", other.url("localhost", "/page")}}};
       },
       3},
      {"redirects without end", page,
       [&](const ServedRequest&) {
         return Response{.status = 302, .headers = {{"Location", page}}};
       },
       6},
      {"an empty page", page, [](const ServedRequest&) { return Response{.body = atom(0, 1)}; }, 1},
      {"a page that breaks off", page,
       [](const ServedRequest&) {
         return Response{.headers = {{"Content-Length", "100000"}}, .body = atom(15, 11), .end = Response::End::close};
       },
       3},
      {"never ready", page, [](const ServedRequest&) { return Response{.status = 503}; }, 3},
  };
  for (const Liar& liar : liars) {
    SCOPED_TRACE(liar.name);
    redis_command(redis, {"FLUSHALL"});
    ASSERT_TRUE(store.open());
    add();
    publisher.serve("/feed", Response{.body = atom(3, 1)});
    refresh();
    publisher.serve("/feed", Response{.body = atom(20, 16, link("next", liar.first))});
    if (liar.page) publisher.serve("/page", liar.page);
    const std::size_t before = publisher.count("/page");
    refresh();
    walk();
    EXPECT_LE(publisher.count("/page") - before, liar.most);
    EXPECT_EQ(state().older, OlderPosts());
    EXPECT_GT(*record().due, *store.now() + 10min);
    EXPECT_NE(refresh().outcome, Outcome::failed) << "the feed itself goes on";
    if (std::string_view(liar.name) == "a redirect elsewhere") {
      EXPECT_EQ(stored().size(), 8U);
    }
  }
}

TEST_F(OlderPages, ThatAreShiftedByNewPostsCloseTheGapAllTheSame) {
  add();
  serve_linked(5);
  refresh();
  serve_linked(24);
  refresh();
  serve_linked(26);  // page 2 begins with two posts of page 1
  refresh();
  serve_linked(27);
  walk();
  EXPECT_EQ(stored(), posts(1, 24)) << "the newest come with the document";
}

// RELIABILITY L7
TEST_F(OlderPages, AreKeptLikeTheDocumentThatLeadsToThem) {
  RefreshOptions few = options();
  few.policy.retention.entries = 8;
  refresher.set_options(few);
  add();
  serve_linked(5);
  refresh();
  serve_linked(24);
  refresh();
  walk();
  EXPECT_EQ(stored(), posts(6, 24)) << "what the document and its pages list";
  EXPECT_EQ(created(), 24);
  refresh();
  EXPECT_EQ(stored().size(), 19U) << "and the document is the same";
  serve_linked(25);
  refresh();
  EXPECT_EQ(stored(), posts(18, 25)) << "another one: what is to be kept";
}

// DESIGN §5: trimmed posts are not remembered forever.
TEST_F(OlderPages, BringNoTrimmedPostBack) {
  RefreshOptions few = options();
  few.policy.retention.entries = 5;
  refresher.set_options(few);
  add();
  for (const int newest : {5, 8, 11}) {
    serve_linked(newest);
    refresh();
  }
  EXPECT_EQ(stored(), posts(7, 11));
  redis_command(redis, {"DEL", url + ":tombs"});
  publisher.serve("/feed", Response{.body = atom(20, 16, link("next", publisher.url("/page")))});
  publisher.serve("/page", Response{.body = atom(15, 1)});
  refresh();
  EXPECT_EQ(walk(), 1);
  EXPECT_EQ(created(), 20) << "each once";
}

TEST_F(OlderPages, OfAFirstImportAreReadUntilThereIsEnough) {
  RefreshOptions few = options();
  few.policy.retention.entries = 6;
  refresher.set_options(few);
  add(R"({"backfill":17})");
  serve_linked(60);
  refresh();
  EXPECT_EQ(walk(), 3);
  EXPECT_EQ(stored(), posts(44, 60)) << "17 are kept";
  EXPECT_EQ(created("initial"), 17);
  EXPECT_EQ(created("healed"), 0);
  refresh();
  serve_linked(61);
  refresh();
  EXPECT_EQ(stored(), posts(45, 61));
}

TEST_F(OlderPages, OfAFirstImportMayBeFew) {
  add(R"({"backfill":100})");
  serve_linked(12);
  refresh();
  EXPECT_EQ(walk(), 3) << "the third is a 404";
  EXPECT_EQ(stored(), posts(1, 12));
}

// HTTP G1
TEST_F(OlderPages, WaitForDueAndRequestedPollsOfTheFeed) {
  add();
  serve_linked(5);
  refresh();
  serve_linked(24);
  refresh();
  redis_command(redis, {"ZADD", "schedule", "1", url});
  const auto woken = Feeds(store).wake(std::span(&url, 1), Milliseconds(0), false);
  ASSERT_TRUE(woken);
  ASSERT_EQ(woken->front().result, Wake::Result::due);
  EXPECT_EQ(refresh().outcome, Outcome::not_modified) << "its document";
  EXPECT_EQ(state().older.walk.pages, 0U);
  EXPECT_EQ(walk(), 3) << "and then they go on";
  EXPECT_EQ(stored(), posts(1, 24));
}

TEST_F(OlderPages, AreAskedForAgainAfterAnOutage) {
  add();
  serve_linked(5);
  refresh();
  serve_linked(24);
  refresh();
  publisher.serve("/feed", Response{.status = 503, .headers = {{"Retry-After", "3600"}}});
  EXPECT_EQ(refresh().reason, Reason::status_server);
  EXPECT_EQ(state().older.walk.failures, 1U);
  EXPECT_GT(*record().due, *store.now() + 50min) << "that holds for the feed, too";
  EXPECT_EQ(state().state, "healthy");
  serve_linked(24);
  walk();
  EXPECT_EQ(stored(), posts(1, 24));
}

}  // namespace
}  // namespace feedmill::test::older_pages_walk_test
