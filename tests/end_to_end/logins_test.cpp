// Logins that programs and operators store for feeds, from HTTP and the command line to the wire (SECURITY K7).
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/end_to_end/program.hpp"
#include "tests/support/http_ask.hpp"

namespace feedmill::test::logins_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Logins : public testing::Test {
 protected:
  /// Creates a file that only the operator may read.
  std::string file(const std::string& name, const std::string& content) const {
    const fs::path path = world.redis.directory() / name;
    std::ofstream(path, std::ios::binary) << content;
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    return path.string();
  }
  HttpAnswer call(const std::string& token, const std::string& method, const std::string& path,
                  const std::string& body = "") const {
    return ask({method,
                "http://" + address + "/api/v1" + path,
                {{"Authorization", "Bearer token-of-" + token}, {"Content-Type", "application/json"}},
                body});
  }
  HttpAnswer put(const std::string& token, const std::string& origin, const std::string& secret) const {
    return call(token, "PUT", "/logins/paper",
                R"({"origin":")" + origin + R"(","user":"me","secret":")" + secret + "\"}");
  }
  HttpAnswer add(const std::string& token, const std::string& url, const std::string& auth) const {
    return call(token, "POST", "/feeds", R"({"url":")" + url + R"(","settings":{"auth":")" + auth + "\"}}");
  }
  /// Whether the origin has received a request for `path` with this Authorization.
  bool received(const std::string& path, const std::string& authorization) const {
    for (const ServedRequest& request : world.http.requests()) {
      if (request.target == path && request.header("Authorization") == authorization) return true;
    }
    return false;
  }
  std::string last_of(const std::string& path) const {
    return world.redis_text({"HGET", "state:feed:" + world.http.url(path), "last"});
  }

  World world;
  std::string address;  // of the worker
};

TEST_F(Logins, ReachOnlyTheirOriginAndShowNowhere) {
  HttpServer evil;  // of the program `other`
  evil.serve_rest([](const ServedRequest&) { return Response{.body = rss({{"e", "Evil"}})}; });
  world.http.serve("/good", [](const ServedRequest& request) {
    const bool is_known = !request.header("Authorization").empty();
    return is_known ? Response{.body = rss({{"a", "First"}})} : Response{.status = 401};
  });
  world.http.serve("/away", {.status = 302, .headers = {{"Location", evil.url("/landed")}}});
  std::string config;
  for (const std::string name : {"reader", "other"}) {
    config +=
        "[api.token." + name + "]\nasks = true\nfile = \"" + file(name, "token-of-" + name + "-0123456789") + "\"\n";
  }
  world.environment["FEEDMILL_LOG_LEVEL"] = "debug";
  Program worker({"run", "--config", file("feedmill.toml", config), "--listen", "127.0.0.1:0"}, world.environment);
  address = listening_at(worker);
  const std::string reader = "reader-0123456789", other = "other-0123456789";
  const std::string first = "Basic bWU6YzRuYXJ5LW9uZQ==", second = "Basic bWU6YzRuYXJ5LXR3bw==";  // me:c4nary-one, -two

  ASSERT_EQ(put(reader, world.http.url(""), "c4nary-one").status, 200);
  for (const char* path : {"/good", "/away"}) EXPECT_EQ(add(reader, world.http.url(path), "reader/paper").status, 201);
  // The other program tries a feed of its own host, the feed's setting, the login's origin, and the same name.
  EXPECT_EQ(add(other, evil.url("/own"), "reader/paper").status, 422);
  EXPECT_EQ(put(other, evil.url(""), "0thers").status, 200);
  EXPECT_EQ(call(other, "DELETE", "/logins/reader%2Fpaper").status, 404);
  EXPECT_EQ(add(other, evil.url("/own"), "other/paper").status, 201);
  ASSERT_TRUE(eventually([&] { return received("/good", first) && received("/away", first); })) << worker.err();
  ASSERT_TRUE(eventually([&] { return evil.count("/landed") > 0 && evil.count("/own") > 0; })) << worker.err();
  ASSERT_TRUE(eventually([&] { return world.count("post_created") == 3; })) << worker.err();

  // A new secret is used from the next fetch on.
  ASSERT_EQ(put(reader, world.http.url(""), "c4nary-two").status, 200);
  EXPECT_EQ(world.run({"refresh", world.http.url("/good"), "--defer", "--ignore-floor"}).exit, 0);
  EXPECT_TRUE(eventually([&] { return received("/good", second); })) << worker.err();

  std::string seen;  // all output of the program
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"login", "list"},
           {"login", "list", "--json"},
           {"list", "--json"},
           {"show", world.http.url("/good"), "--json"},
           {"explain", world.http.url("/good")},
           {"trace", world.http.url("/good"), "--ignore-floor"},
           {"export"},
           {"doctor"},
           {"store", "export", "-", "--redis", world.redis.url_of("feedmill_admin")}}) {
    const Finished told = world.run(verb);
    seen += told.out + told.err;
  }
  for (const std::string page : {"/metrics", "/status", "/status.json", "/status/feeds"}) seen += get(address, page);
  for (const std::string page : {"/status/feed", "/explain"})
    seen += get(address, page + "?url=" + world.http.url("/good"));
  EXPECT_THAT(seen, HasSubstr("reader/paper"));

  // After its removal nothing is sent, and the error names the remedy.
  const std::size_t sent = world.http.count("/good");
  EXPECT_EQ(call(reader, "DELETE", "/logins/paper").status, 200);
  EXPECT_EQ(world.run({"refresh", world.http.url("/good"), "--defer", "--ignore-floor"}).exit, 0);
  EXPECT_TRUE(eventually([&] { return last_of("/good").find("failed status.auth") != std::string::npos; }))
      << last_of("/good");
  EXPECT_THAT(world.run({"explain", world.http.url("/good")}).out, HasSubstr("feedmill login set reader/paper"));
  EXPECT_EQ(world.http.count("/good"), sent);
  worker.signal(SIGTERM);
  seen += worker.wait().err;

  for (const ServedRequest& request : evil.requests()) {
    EXPECT_THAT(request.head, Not(HasSubstr("YzRuYXJ5"))) << request.target;
    const bool is_own = request.target == "/own";
    EXPECT_EQ(request.header("Authorization"), is_own ? "Basic bWU6MHRoZXJz" : "") << request.target;
  }
  for (const ServedRequest& request : world.http.requests()) EXPECT_THAT(request.head, Not(HasSubstr("MHRoZXJz")));
  world.redis_text({"CONFIG", "SET", "rdbcompression", "no"});
  world.redis_text({"SAVE"});
  std::ifstream dump(world.redis.directory() / "dump.rdb", std::ios::binary);
  const std::string stored{std::istreambuf_iterator<char>(dump), {}};
  EXPECT_THAT(stored, HasSubstr("MHRoZXJz")) << "the other login is still there";
  for (const std::string& text : {seen, stored}) {
    for (const char* secret : {"c4nary", "YzRuYXJ5"}) EXPECT_EQ(text.find(secret), std::string::npos) << secret;
  }
}

TEST_F(Logins, ArePutByOperatorsFromFiles) {
  world.http.serve("/feed", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed"), key = file("key", "c4nary\n"), origin = world.http.url("");
  const auto set = [&](const std::string& name, const std::string& from) {
    return world.run({"login", "set", name, "--origin", origin, "--header", "X-Key", "--file", from});
  };
  EXPECT_THAT(world.run({"login", "list"}).err, HasSubstr("no logins yet"));
  EXPECT_THAT(world.run({"add", url, "--auth", "ops/paper"}).err,
              HasSubstr("no login ops/paper is stored: feedmill login set ops/paper"));
  const Finished put = set("ops/paper", key);
  EXPECT_EQ(put.exit, 0) << put.err;
  EXPECT_THAT(put.err, HasSubstr("not https"));
  EXPECT_EQ(world.run({"add", url, "--auth", "ops/paper"}).exit, 0);
  EXPECT_THAT(world.run({"login", "list", "--json"}).out, HasSubstr(R"("name":"ops/paper","origin":")" + origin));
  EXPECT_EQ(world.run({"run", "--once"}).exit, 0);
  EXPECT_EQ(world.http.requests().back().header("X-Key"), "c4nary");
  EXPECT_EQ(world.count("post_created"), 1U);

  for (const auto& [name, from] :
       std::vector<std::pair<std::string, std::string>>{{"paper", key},
                                                        {"ops/", key},
                                                        {"/paper", key},
                                                        {"ops/a b", key},
                                                        {"ops/a/b", key},
                                                        {"ops/paper", "/none"},
                                                        {"ops/paper", file("lines", "c4nary\nc4nary\n")},
                                                        {"ops/paper", file("empty", "")}}) {
    const Finished refused = set(name, from);
    EXPECT_EQ(refused.exit, 65) << name << " " << from << refused.err;
    EXPECT_THAT(refused.out + refused.err, Not(HasSubstr("c4nary")));
  }
  EXPECT_EQ(world.run({"login", "remove", "ops/paper"}).exit, 64) << "no terminal to confirm on";
  EXPECT_EQ(world.run({"login", "remove", "ops/paper", "--yes"}).exit, 0);
  EXPECT_EQ(world.run({"login", "remove", "ops/paper", "--yes"}).exit, 1);
  EXPECT_THAT(world.run({"login", "list"}).err, HasSubstr("no logins yet"));
}

}  // namespace
}  // namespace feedmill::test::logins_test
