// Limits on descriptors, memory and time (SECURITY T10, T37, M3).
#include "parsers/text/limits.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/end_to_end/push_world.hpp"
#include "tests/support/sanitized.hpp"

namespace feedmill::test::limits_test {
namespace {

class Limits : public testing::Test {
 protected:
  Limits() { world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1000"; }

  void add(const std::string& path, std::size_t feeds) {
    std::vector<NewFeed> wanted;
    for (std::size_t i = 0; i < feeds; ++i) {
      wanted.push_back(NewFeed{.feed_url = world.http.url(path + std::to_string(i))});
    }
    ASSERT_TRUE(Feeds(world.store).add(wanted));
  }
  std::string outcome(const std::string& path) {
    return world.redis_text({"HGET", "state:feed:" + world.http.url(path), "last"});
  }

  World world;
};

// SECURITY T37
TEST_F(Limits, FewDescriptorsMeanFewerLanes) {
  constexpr std::size_t feeds = 400;
  // The server answers only once a hundred requests wait: even few lanes are many.
  world.http.serve_rest([](const ServedRequest&) { return Response{.body = rss({{"a", "A"}}), .hold_until = 100}; });
  add("/feed/", feeds);
  world.environment["FEEDMILL_WORKER_LANES"] = "5000";
  Program worker({"run", "--once"}, world.environment, "ulimit -n 256");
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("post_created"), feeds);
  EXPECT_EQ(world.http.requests().size(), feeds);
}

TEST_F(Limits, ReportsTooFewDescriptorsAtStart) {
  world.environment["FEEDMILL_WORKER_LANES"] = "5000";
  const Program worker({"run"}, world.environment, "ulimit -n 256");
  EXPECT_TRUE(eventually([&] {
    return worker.err().find("of 5000 lanes are usable with this process's file limit") != std::string::npos;
  })) << worker.err();
}

std::string large_document(std::size_t bytes) {
  std::vector<std::pair<std::string, std::string>> posts;
  for (std::size_t i = 0; i < 8; ++i) posts.emplace_back("guid " + std::to_string(i), std::string(bytes / 8, 'x'));
  return rss(posts);
}

// SECURITY M3: sixty documents of 1 MiB, each reserving sixteen times its size, with a budget of 100 MiB.
TEST_F(Limits, ManyLargeFeedsAreReadAFewAtATime) {
  constexpr std::size_t feeds = is_sanitized ? 20 : 60;
  const std::string document = large_document(1 << 20);
  world.http.serve_rest([&](const ServedRequest&) { return Response{.body = document}; });
  add("/feed/", feeds);
  world.environment["FEEDMILL_WORKER_LANES"] = "100";
  world.environment["FEEDMILL_FETCH_MAX_BODY"] = "2MiB";
  world.environment["FEEDMILL_MEMORY_BUDGET"] = "100MiB";
  world.environment["MALLOC_ARENA_MAX"] = "2";  // each arena takes 64 MiB of address space
  // A sanitizer's shadow memory does not fit into a limited address space, so its own limit on resident memory is used
  // instead.
  world.environment["ASAN_OPTIONS"] = world.environment["TSAN_OPTIONS"] = "hard_rss_limit_mb=400:quarantine_size_mb=16";
  Program worker({"run", "--once"}, world.environment, is_sanitized ? "" : "ulimit -v 600000");
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("feed_created"), feeds);
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// `text` repeated `times` times, each "#" replaced by the repetition's number.
std::string numbered(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    for (const char c : text) c == '#' ? all += std::to_string(i) : all += c;
  }
  return all;
}

/// Documents in which one long string applies to thousands of entries (SECURITY L5). `with_guids`: give each entry its
/// own guid; otherwise nothing distinguishes them.
std::string hostile_document(std::size_t kind, bool with_guids = false) {
  const std::string long_text(400'000, 'd');
  const std::string id = with_guids ? "#" : "1";
  if (kind == 0) {
    const std::string guid = with_guids ? "<guid>#</guid>" : "";
    return "<rss version='2.0'><channel><title>t</title><link>https://h/" + long_text + "</link>" +
           numbered("<item>" + guid + "<description>&lt;b></description></item>", 8000) + "</channel></rss>";
  }
  if (kind == 1) {
    const std::string guid = with_guids ? "<id>#</id>" : "";
    return "<feed xmlns='http://www.w3.org/2005/Atom' xml:lang='" + long_text + "'>" +
           numbered("<entry>" + guid + "<title>a</title></entry>", 5000) + "</feed>";
  }
  return R"({"version":"https://jsonfeed.org/version/1.1","title":"t","authors":[{"name":")" + long_text +
         R"("}],"items":[{"id":"0"})" + numbered(R"(,{"id":")" + id + R"(","content_text":"a"})", 5000) + "]}";
}

constexpr std::uint64_t mebi = std::uint64_t{1} << 20U;

// SECURITY M2: the unit has MemoryMax=1G; documents get 614 MiB of it.
TEST_F(Limits, HostileFeedsStayWithinTheUnit) {
  constexpr std::size_t feeds = 60;
  const std::string documents[] = {hostile_document(0), hostile_document(1), hostile_document(2)};
  world.http.serve_rest([&](const ServedRequest& asked) {
    return Response{.body = documents[static_cast<std::size_t>(asked.target.back()) % 3]};
  });
  add("/feed/", feeds);
  world.environment["FEEDMILL_WORKER_LANES"] = "100";
  world.environment["FEEDMILL_WORKER_CPU_THREADS"] = "8";
  world.environment["FEEDMILL_MEMORY_BUDGET"] = "614MiB";
  const Finished done = world.run({"run", "--once"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("feed_created"), feeds);
  if (!is_sanitized) {  // its shadow memory counts, too
    EXPECT_LE(done.peak_bytes, 1024 * mebi);
  }
}

class LimitsOfPushes : public testing::Test {
 protected:
  LimitsOfPushes() {
    world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1000";
    world.environment["FEEDMILL_WORKER_CPU_THREADS"] = "8";
    world.environment["FEEDMILL_MEMORY_BUDGET"] = "614MiB";
  }

  std::size_t posts(const std::string& url) { return std::stoul(world.redis_text({"ZCARD", url + ":sort"})); }

  PushWorld world;
};

// SECURITY M2: content pushed by hubs is held to the same limits as polled documents.
TEST_F(LimitsOfPushes, HostileContentStaysWithinTheUnit) {
  constexpr std::size_t feeds = 12, rounds = 4;
  const std::string documents[] = {hostile_document(0, true), hostile_document(1, true), hostile_document(2, true)};
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < feeds; ++i) urls.push_back(world.subscribed_feed("/feed/" + std::to_string(i)));
  const std::string worker = "http://127.0.0.1:" + std::to_string(world.worker().port());
  const auto push = [&](std::size_t i) {
    HubSubscriber to = world.subscriber(urls[i]);
    to.callback = worker + world.target_of(to.callback);  // the front forwards one at a time
    PushWorld::push(to, documents[i % 3]);
  };
  {
    std::vector<std::jthread> hubs;
    for (std::size_t i = 0; i < feeds; ++i) {
      hubs.emplace_back([&, i] {
        for (std::size_t round = 0; round < rounds; ++round) push(i);
      });
    }
  }
  // The publisher lists one post; there are more once a push has been written. A push that finds no memory is rejected
  // or taken as a hint.
  for (std::size_t i = 0; i < feeds; ++i) {
    EXPECT_TRUE(eventually([&] {
      if (posts(urls[i]) > 1) return true;
      push(i);
      return false;
    })) << urls[i]
        << world.worker().program().err();
  }
  world.worker().program().signal(SIGTERM);
  const Finished done = world.worker().program().wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  if (!is_sanitized) {
    EXPECT_LE(done.peak_bytes, 1024 * mebi);
  }
}

// HTTP §5, SECURITY M2: a redirect chain holds one response at a time, and at most 128 KiB of its header.
TEST_F(Limits, RedirectChainHoldsOneHeaderAtATime) {
  constexpr std::size_t feeds = 100, hops = 6, lines = 500, line_bytes = 250;
  const auto peak_with = [&](std::size_t header_lines, const std::string& path) {
    world.http.serve_rest([&, asked = world.http.requests().size()](const ServedRequest& request) {
      const auto hop = static_cast<std::size_t>(request.target.back() - '0');
      Response response{.status = 302, .body = rss({{"a", "A"}})};
      for (std::size_t i = 0; i < header_lines; ++i) response.headers.emplace_back("X", std::string(line_bytes, 'x'));
      if (hop + 1 < hops) {
        response.headers.emplace_back("Location",
                                      request.target.substr(0, request.target.size() - 1) + std::to_string(hop + 1));
      } else {
        response.status = 200;
        response.hold_until = asked + feeds * hops;  // all requests have arrived
      }
      return response;
    });
    std::vector<NewFeed> wanted;
    for (std::size_t i = 0; i < feeds; ++i) {
      wanted.push_back(NewFeed{.feed_url = world.http.url(path + std::to_string(i) + "/0")});
    }
    EXPECT_TRUE(Feeds(world.store).add(wanted));
    const std::size_t created = world.count("feed_created");
    const Finished done = world.run({"run", "--once"});
    EXPECT_EQ(done.exit, 0) << done.err;
    EXPECT_EQ(world.count("feed_created"), created + feeds);
    return done.peak_bytes;
  };
  world.environment["FEEDMILL_WORKER_LANES"] = "100";
  world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
  world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
  const std::uint64_t bare = peak_with(0, "/bare/"), full = peak_with(lines, "/full/");
  // A header takes four times its size, nearly half of it in libcurl's copy. A whole chain would take more than ten
  // times.
  if (!is_sanitized) {
    EXPECT_LE(full, bare + feeds * 5 * 128 * 1024);
  }
}

// SECURITY M1, M3
TEST_F(Limits, ABodyAtTheCapIsReadInTheLeastBudget) {
  const std::string document = large_document((16 << 20) - 4096);
  world.http.serve_rest([&](const ServedRequest&) { return Response{.body = document}; });
  add("/feed/", 2);
  world.environment["FEEDMILL_MEMORY_BUDGET"] = "324MiB";
  const Finished done = world.run({"run", "--once"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("feed_created"), 2u);
  EXPECT_LE(done.peak_bytes, 512 * mebi);
}

/// Lists that expand when read: the text of a folder or a prefix applies to thousands of rows.
std::string hostile_list(std::string_view kind) {
  constexpr std::string_view end = "</body></opml>";
  constexpr std::size_t rows = 20'000;
  const std::string start = "<opml version='2.0'><body>";
  if (kind == "a folder") {
    return start + "<outline text='" + std::string(100'000, 'f') + "'>" +
           numbered("<outline xmlUrl='https://h.example/#'/>", rows) + "</outline>" + std::string(end);
  }
  if (kind == "folders") {
    const std::string folder = "<outline text='" + std::string(250, 'f') + "'>";
    return start + repeated(folder, 30) + numbered("<outline xmlUrl='a#.b'/>", rows) + repeated("</outline>", 30) +
           std::string(end);
  }
  if (kind == "prefixes") {
    return "<opml version='2.0'" + numbered(" xmlns:n#='" + std::string(250, 'u') + "'", 200) + "><body>" +
           numbered("<outline xmlUrl='a#.b' n1:a='' n2:a='' n3:a='' n4:a='' n5:a='' n6:a='' n7:a=''/>", rows) +
           std::string(end);
  }
  if (kind == "attributes") {
    return start + numbered("<outline xmlUrl='a#.b' a='' b='' c='' d='' e=''/>", rows) + std::string(end);
  }
  return numbered("a#.b\n", 3 * rows);
}

// SECURITY M2, M4: covers the parsed list and the result built from it.
TEST_F(Limits, AnImportTakesAMultipleOfItsFile) {
  const std::string file = (world.redis.directory() / "feeds.opml").string();
  std::ofstream(file) << "<opml version='2.0'><body><outline xmlUrl='https://a.example/'/></body></opml>";
  const Finished nothing = world.run({"import", "-q", file});
  for (const std::string_view kind : {"a folder", "folders", "prefixes", "attributes", "lines"}) {
    world.redis_text({"FLUSHALL"});
    std::ofstream(file) << hostile_list(kind);
    const Finished done = world.run({"import", "-q", file});
    const bool whole = kind == "a folder";  // other kinds may stop at a limit, which is reported
    EXPECT_TRUE(done.exit == 0 || (!whole && done.exit == 65)) << kind << ": " << done.err;
    EXPECT_GE(std::stoul(world.redis_text({"SCARD", "feeds"})), whole ? 20'000U : 500U) << kind;
    if (is_sanitized) continue;
    EXPECT_LE(done.peak_bytes, nothing.peak_bytes + limits::reading_cost(std::filesystem::file_size(file))) << kind;
  }
}

// RELIABILITY H1: slow documents cause no restart and do not delay other hosts.
TEST_F(Limits, SlowDocumentsNeitherLookDeadNorDelayOtherHosts) {
  const std::string base(4 << 20, 'd');
  const std::string slow = "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='https://h/" + base +
                           "/'><entry><title>a</title>" + repeated("<link href='a'/>", 200'000) + "</entry></feed>";
  world.http.serve_rest([slow](const ServedRequest&) { return Response{.body = slow}; });
  world.http.serve("/good", Response{.body = rss({{"a", "A"}})});
  world.environment["FEEDMILL_WORKER_CPU_THREADS"] = "2";
  world.environment["FEEDMILL_ADMIN_LISTEN"] = "127.0.0.1:0";
  add("/feed/", 6);
  const std::string good = world.http.url("localhost", "/good");
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = good}}));
  Program worker({"run"}, world.environment);
  const std::string admin = listening_at(worker);
  EXPECT_TRUE(eventually([&] {
    EXPECT_NE(get(admin, "/livez").find(" 200 "), std::string::npos);
    return world.redis_text({"HGET", "state:feed:" + good, "last"}).starts_with("200 ");
  })) << worker.err();
  EXPECT_TRUE(eventually([&] {
    EXPECT_NE(get(admin, "/livez").find(" 200 "), std::string::npos);
    for (int i = 0; i < 6; ++i) {
      if (!outcome("/feed/" + std::to_string(i)).starts_with("200 ")) return false;
    }
    return true;
  })) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

// SECURITY M1
TEST_F(Limits, ABudgetTooSmallForOneFeedIsRefused) {
  const Finished done = world.run({"run", "--once"}, {{"FEEDMILL_MEMORY_BUDGET", "300MiB"}});
  EXPECT_EQ(done.exit, 78);
  EXPECT_NE(done.err.find("memory.budget"), done.err.npos) << done.err;
  EXPECT_NE(done.err.find("324MiB"), done.err.npos) << done.err;
}

// SECURITY T10
TEST_F(Limits, SlowServersDoNotDelayOthers) {
  constexpr std::size_t each = 100;
  world.http.serve_rest([](const ServedRequest& asked) {
    if (asked.target.starts_with("/slow")) return Response{.silent = true, .end = Response::End::hang};
    return Response{.body = rss({{"a", "A"}})};
  });
  add("/slow/", each);
  add("/good/", each);
  world.environment["FEEDMILL_WORKER_LANES"] = "256";
  world.environment["FEEDMILL_FETCH_WALL"] = "3s";
  const Finished done = world.run({"run", "--once"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("feed_created"), each);
  for (std::size_t i = 0; i < each; ++i) {
    EXPECT_EQ(outcome("/slow/" + std::to_string(i)), "0 failed http.timeout") << i;
  }
}

// HTTP D1
TEST_F(Limits, AHangUpDoesNotEndTheWorker) {
  world.http.serve("/feed/0", {.body = rss({{"a", "A"}})});
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("ready") != std::string::npos; }));
  worker.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return worker.err().find("reload") != std::string::npos; }));
  add("/feed/", 1);
  EXPECT_TRUE(eventually([&] { return world.count("feed_created") == 1; }));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

}  // namespace
}  // namespace feedmill::test::limits_test
