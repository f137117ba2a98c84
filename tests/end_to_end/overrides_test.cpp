// Settings for one feed or one host, from the configuration to the store and the wire.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/end_to_end/program.hpp"
#include "tests/support/proxy_server.hpp"

namespace feedmill::test::overrides_test {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

class Overrides : public testing::Test {
 protected:
  /// Creates a file that only the operator may read.
  std::string file(const std::string& name, const std::string& content) {
    const fs::path path = world.redis.directory() / name;
    std::ofstream(path, std::ios::binary) << content;
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    return path.string();
  }
  /// Replaces the configuration that programs read from now on.
  void configure(const std::string& text) { config = file("feedmill.toml", text); }
  Finished feedmill(std::vector<std::string> arguments, const Environment& more = {}) {
    arguments.insert(arguments.end(), {"--config", config});
    return world.run(arguments, more);
  }
  Finished done(std::vector<std::string> arguments, const Environment& more = {}) {
    const Finished finished = feedmill(std::move(arguments), more);
    EXPECT_EQ(finished.exit, 0) << finished.err;
    return finished;
  }
  std::string entry(const std::string& field, const std::string& id = "Entry:1") {
    return world.redis_text({"HGET", id, field});
  }

  World world;
  std::string config = file("feedmill.toml", "");
};

TEST_F(Overrides, APausedFeedIsLeftAloneUntilItIsResumed) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  done({"add", url});
  done({"pause", url});
  done({"run", "--once"});
  EXPECT_EQ(world.http.count("/feed.xml"), 0U);
  done({"resume", url});
  done({"run", "--once"});
  EXPECT_EQ(world.http.count("/feed.xml"), 1U);
  EXPECT_EQ(entry("title"), "First");
}

// SECURITY S14
TEST_F(Overrides, MarkupIsKeptAsTheOperatorSays) {
  const std::string markup = "<p style=\"color:red\" onclick=\"x()\">Hi<script>x()</script></p>";
  const std::string escaped =
      "&lt;p style=\"color:red\" onclick=\"x()\"&gt;Hi&lt;script&gt;x()&lt;/script&gt;&lt;/p&gt;";
  for (const char* path : {"/strict", "/raw"}) {
    world.http.serve(path, {.body = "<rss version=\"2.0\"><channel><title>T</title><item><guid>" + std::string(path) +
                                    "</guid><description>" + escaped + "</description></item></channel></rss>"});
    done({"add", world.http.url(path)});
    if (std::string(path) != "/strict") done({"set", world.http.url(path), "html_policy=" + std::string(path + 1)});
    done({"refresh", world.http.url(path)});
  }
  EXPECT_EQ(entry("summary", "Entry:1"), "<p>Hi</p>");
  EXPECT_EQ(entry("san_ver", "Entry:1"), "3");
  EXPECT_EQ(entry("summary", "Entry:2"), markup);
  EXPECT_EQ(entry("san_ver", "Entry:2"), "0");
  done({"add", world.http.url("/class")});
  world.http.serve("/class",
                   {.body = "<rss version=\"2.0\"><channel><title>T</title><item><guid>c</guid><description>"
                            "&lt;p class=\"a\" id=\"b\"&gt;Hi&lt;/p&gt;</description></item></channel></rss>"});
  done({"refresh", world.http.url("/class")}, {{"FEEDMILL_HTML_KEEP_CLASS", "true"}});
  EXPECT_EQ(entry("summary", "Entry:3"), "<p class=\"a\">Hi</p>");
  // Back to the default policy, which takes effect when the document next changes.
  done({"set", world.http.url("/raw"), "html_policy="});
  world.http.serve("/raw",
                   {.body = "<rss version=\"2.0\"><channel><title>New</title><item><guid>/raw</guid><description>" +
                            escaped + "</description></item></channel></rss>"});
  done({"refresh", world.http.url("/raw"), "--ignore-floor"});
  EXPECT_EQ(entry("summary", "Entry:2"), "<p>Hi</p>");
  EXPECT_EQ(entry("san_ver", "Entry:2"), "3");
}

// SECURITY S13, S14: one feed has its own policy, the other had it from the configuration.
TEST_F(Overrides, PostsOfARemovedPolicyAreStoredAgainWithoutNews) {
  const std::string markup =
      "<!-- c --><p title=\"t\" class=\"a\" lang=\"de\" style=\"color:red\">Hi&nbsp;you<img "
      "src=\"http://a.example/1.png\" "
      "alt=\"One\"></p><summary>S</summary><iframe src=\"http://v.example/1?a=1&amp;b=2\"></iframe>";
  // As earlier builds stored it: with comments, styles and ids, attributes sorted, references unchanged.
  const std::string classic =
      "<!-- c --><p class=\"a\" lang=\"de\" style=\"color: red;\" title=\"t\">Hi&nbsp;you<img alt=\"One\" "
      "src=\"http://a.example/1.png\" /></p>S";
  const std::string strict =
      "<p title=\"t\" lang=\"de\">Hi\u00a0you<img src=\"http://a.example/1.png\" alt=\"One\" /></p><summary>S</summary>"
      "<a href=\"http://v.example/1?a=1&amp;b=2\">http://v.example/1?a=1&amp;b=2</a>";
  const auto document = [&](const std::string& more) {
    const std::string item =
        "<item><guid isPermaLink=\"false\">old</guid><description><![CDATA[" + markup + "]]></description></item>";
    return "<rss version=\"2.0\"><channel><title>T</title>" + more + item + "</channel></rss>";
  };
  for (const std::string id : {"1", "2"}) {
    const std::string url = world.http.url("/" + id), post = "Entry:" + id, digest(16, '0');
    world.http.serve("/" + id, {.body = document("")});
    done({"add", url});
    done({"refresh", url});
    EXPECT_EQ(entry("summary", post), strict);
    world.redis_text({"HSET", post, "summary", classic, "san_ver", "2", "digest", digest});
    world.redis_text({"HSET", "Feed:" + url, "san_ver", "2"});
    world.redis_text({"DEL", "state:items:" + url});
    if (id == "1") world.redis_text({"HSET", "state:feed:" + url, "settings", R"({"html_policy":"classic"})"});
    world.http.serve("/" + id,
                     {.body = document("<item><guid isPermaLink=\"false\">new</guid><title>New</title></item>")});
    world.redis_text({"ZADD", "schedule", "0", url});
  }
  const std::string ignored = "html_policy=classic (expected one of strict raw)";
  EXPECT_NE(done({"explain", world.http.url("/1")}).out.find("ignored: " + ignored), std::string::npos);
  const Finished read = done({"run", "--once"});
  EXPECT_NE(read.err.find(ignored), std::string::npos) << read.err;
  for (const std::string post : {"Entry:1", "Entry:2"}) {
    EXPECT_EQ(entry("summary", post), strict);
    EXPECT_EQ(entry("san_ver", post), "3");
    EXPECT_EQ(entry("rev", post), "2");
  }
  EXPECT_EQ(world.count("post_mended"), 2U);
  EXPECT_EQ(world.count("post_modified"), 0U);
  EXPECT_EQ(world.count("post_created"), 4U);
  EXPECT_EQ(feedmill({"set", world.http.url("/1"), "html_policy=classic"}).exit, 64);
  const Finished refused = feedmill({"run", "--once"}, {{"FEEDMILL_HTML_POLICY", "classic"}});
  EXPECT_EQ(refused.exit, 78);
  EXPECT_NE(refused.err.find("expected one of strict"), std::string::npos) << refused.err;
  done({"set", world.http.url("/1"), "html_policy="});
  EXPECT_EQ(done({"explain", world.http.url("/1")}).out.find("ignored"), std::string::npos);
}

TEST_F(Overrides, SettingsOfHostsAreStoredWhenAWorkerStarts) {
  configure(
      "[host.\"a.example\"]\nspacing = \"30s\"\nmin_interval = \"6h\"\n[host_group.family]\n"
      "hosts = [\"a.example\", \"b.example\"]\n[host.\"c.example\"]\nhttp_version = \"1.1\"\n");
  done({"run", "--once"});
  EXPECT_EQ(world.redis_text({"HGET", "conf:hosts", "a.example"}), "- 30000 21600000 family");
  EXPECT_EQ(world.redis_text({"HGET", "conf:hosts", "b.example"}), "- - - family");
  configure("");
  done({"run", "--once"});
  EXPECT_EQ(world.redis_text({"EXISTS", "conf:hosts"}), "0");
}

TEST_F(Overrides, AHostsLeastIntervalReachesTheSchedule) {
  configure("[host.\"127.0.0.1\"]\nmin_interval = \"6h\"\n");
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  done({"add", url});
  done({"run", "--once"});
  const json::object shown = json::parse(done({"show", url, "--json"}).out).as_object();
  const auto score = std::stoll(world.redis_text({"ZSCORE", "schedule", url}));
  const auto last = std::stoll(world.redis_text({"HGET", "state:feed:" + url, "last_at"}));
  EXPECT_GE(score - last, 6 * 3600 * 1000);
  EXPECT_EQ(shown.at("won").as_string(), "override");
  const Finished again = feedmill({"refresh", url});
  EXPECT_EQ(again.exit, 75) << "put off";
  EXPECT_EQ(again.out.find("too early"), 0U) << again.out;
  EXPECT_EQ(world.http.count("/feed.xml"), 1U);
}

TEST_F(Overrides, ProxyRequiresProxyEnforcesEgress) {
  ProxyServer proxy;
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("feeds.example", "/feed.xml");
  done({"add", url});
  const Finished refused = feedmill({"run", "--once"}, {{"FEEDMILL_FETCH_PROXY", proxy.url()}});
  EXPECT_EQ(refused.exit, 78);
  EXPECT_NE(refused.err.find("fetch.proxy_enforces_egress"), std::string::npos) << refused.err;
  EXPECT_EQ(proxy.heads().size(), 0U);
  done({"run", "--once"}, {{"FEEDMILL_FETCH_PROXY", proxy.url()}, {"FEEDMILL_FETCH_PROXY_ENFORCES_EGRESS", "true"}});
  EXPECT_EQ(proxy.heads().size(), 1U);
  EXPECT_EQ(entry("title"), "First");
}

TEST_F(Overrides, ProxiesOfTheEnvironmentAreNotUsed) {
  ProxyServer proxy;
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  done({"add", world.http.url("/feed.xml")});
  done({"run", "--once"}, {{"http_proxy", proxy.url()}, {"ALL_PROXY", proxy.url()}});
  EXPECT_EQ(proxy.heads().size(), 0U);
  EXPECT_EQ(world.http.count("/feed.xml"), 1U);
}

// HTTP P19
TEST_F(Overrides, ManyFeedsNeedAContact) {
  std::string list;
  for (int i = 0; i < 1001; ++i) list += "http://127.0.0.1:1/" + std::to_string(i) + "\n";
  done({"import", file("list.txt", list)});
  const Finished refused = feedmill({"run"});
  EXPECT_EQ(refused.exit, 78);
  EXPECT_NE(refused.err.find("fetch.contact"), std::string::npos) << refused.err;
  Program contacted({"run", "--contact", "https://op.example/bot", "--config", config}, world.environment);
  EXPECT_TRUE(eventually([&] { return contacted.err().find("event=ready") != std::string::npos; })) << contacted.err();
}

// SECURITY K1: output about a feed hides secret parameter values; output that names a feed to act on shows its full
// URL.
TEST_F(Overrides, SecretParametersAppearOnlyWhereAFeedIsNamed) {
  const std::string canary = "c4nary-parameter";
  const auto secret = [&](const std::string& path) { return world.http.url(path) + "?api_key=" + canary; };
  const std::string url = secret("/feed"), broken = secret("/broken");
  const std::string document = "<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:base=\"" + secret("/base") +
                               "\"><title>T</title>" + "<id>" + url + "</id><link rel=\"self\" href=\"" + url +
                               "\"/><link rel=\"hub\" href=\"" + secret("/hub") + "\"/><link href=\"" +
                               secret("/site") + "\"/><entry><id>" + secret("/1") +
                               "</id><title>First</title></entry></feed>";
  world.http.serve("/feed", {.status = 302, .headers = {{"Location", secret("/moved")}}});
  world.http.serve("/moved", {.headers = {{"Set-Cookie", "session=" + canary}}, .body = document});
  world.http.serve("/broken", {.status = 302, .headers = {{"Location", "http://10.1.2.3/?token=" + canary}}});
  const auto times = [&](const std::string& text) {
    std::size_t count = 0;
    for (auto at = text.find(canary); at != std::string::npos; at = text.find(canary, at + 1)) ++count;
    return count;
  };
  done({"add", url});
  feedmill({"add", broken});
  Program worker({"run", "--config", config},
                 world.with({{"FEEDMILL_LOG_LEVEL", "debug"}, {"FEEDMILL_ADMIN_LISTEN", "127.0.0.1:0"}}));
  ASSERT_TRUE(eventually([&] {
    const auto last = [&](const std::string& feed) { return world.redis_text({"HGET", "state:feed:" + feed, "last"}); };
    return world.count("post_created") == 1U && last(broken).find("failed") != std::string::npos;
  })) << worker.err();
  std::string pages = get(listening_at(worker), "/metrics");
  for (const std::string page : {"/status", "/status.json", "/status/feeds"}) pages += get(listening_at(worker), page);
  EXPECT_EQ(times(pages), 0U) << pages;
  const std::string atom = file("feed.atom", document);
  for (const std::string& feed : {url, broken}) {
    for (const std::vector<std::string>& verb :
         std::vector<std::vector<std::string>>{{"explain", feed},
                                               {"trace", feed},
                                               {"plan"},
                                               {"stats"},
                                               {"notices"},
                                               {"parse", atom, "--explain", "--url", url},
                                               {"parse", atom, "--explain", "--url", url, "--json"}}) {
      const Finished told = feedmill(verb);
      EXPECT_EQ(times(told.out + told.err), 0U) << verb[0] << "\n" << told.out << told.err;
    }
    for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
             {"check", feed}, {"check", feed, "--json"}, {"explain", feed, "--json"}}) {
      const Finished told = feedmill(verb);
      EXPECT_EQ(times(told.out + told.err), 1U) << "the URL that was given\n" << told.out << told.err;
    }
  }
  for (const char* verb : {"list", "export"}) EXPECT_GE(times(feedmill({verb}).out), 2U) << verb;
  EXPECT_GE(times(feedmill({"show", url}).out), 1U);
  worker.signal(SIGTERM);
  EXPECT_EQ(times(worker.wait().err), 0U);
}

// SECURITY K1–K3: canaries in every place that may hold a secret.
TEST_F(Overrides, SecretsReachOnlyTheirOrigin) {
  const std::string password = "c4nary-password", key = "c4nary-key-value", proxied = "c4nary-proxy";
  const std::string basic = "bWU6YzRuYXJ5LXBhc3N3b3Jk";  // me:c4nary-password
  HttpServer other;
  ProxyServer proxy;
  configure("[feed_auth.basic]\nuser = \"me\"\npassword_file = \"" + file("password", password + "\n") +
            "\"\norigin = \"" + world.http.url("") + "\"\n[feed_auth.key]\nheader = \"X-Api-Key\"\nvalue_file = \"" +
            file("key", key + "\n") + "\"\norigin = \"" + world.http.url("") + "\"\n");
  const Environment environment = {
      {"FEEDMILL_LOG_LEVEL", "debug"},
      {"FEEDMILL_ADMIN_LISTEN", "127.0.0.1:0"},
      {"FEEDMILL_FETCH_PROXY_FILE",
       file("proxy", "http://me:" + proxied + "@127.0.0.1:" + std::to_string(proxy.port()))},
      {"FEEDMILL_FETCH_PROXY_ENFORCES_EGRESS", "true"}};
  world.http.serve("/good", {.body = rss({{"a", "First"}})});
  world.http.serve("/denied", {.status = 401});
  world.http.serve("/broken", {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<rss"});
  world.http.serve("/nonsense", {.raw = "nonsense\r\n\r\n"});
  world.http.serve("/away", {.status = 302, .headers = {{"Location", other.url("/feed")}}});
  other.serve("/feed", {.body = rss({{"b", "Second"}})});
  std::string seen;  // all output of the program
  const auto note = [&seen](const Finished& finished) { seen += finished.out + finished.err; };
  for (const std::string path : {"/good", "/denied", "/broken", "/nonsense", "/away"}) {
    note(feedmill({"add", world.http.url(path), "--auth", path == "/good" ? "basic" : "key"}, environment));
    if (path == "/broken") note(feedmill({"set", world.http.url(path), "proxy=none"}, environment));
    if (path == "/nonsense") note(feedmill({"set", world.http.url(path), "proxy=http://127.0.0.1:1"}, environment));
  }
  Program worker({"run", "--config", config}, world.with(environment));
  // The add verb has requested each URL once, too.
  const auto requests_done = [&] { return world.count("feed_created") == 2U && world.http.count("/denied") == 2U; };
  ASSERT_TRUE(eventually(requests_done)) << worker.err();
  const auto failed = [&](const std::string& path) {
    return world.redis_text({"HGET", "state:feed:" + world.http.url(path), "last"}).find("failed") != std::string::npos;
  };
  ASSERT_TRUE(eventually([&] { return failed("/denied") && failed("/broken") && failed("/nonsense"); }))
      << worker.err();
  const std::string process = "/proc/" + std::to_string(worker.pid());
  const std::string arguments = content_of(process + "/cmdline"), variables = content_of(process + "/environ");
  seen += arguments + variables + get(listening_at(worker), "/metrics") + get(listening_at(worker), "/readyz?verbose");
  for (const std::string page : {"/status", "/status.json", "/status/feeds"}) seen += get(listening_at(worker), page);
  for (const std::string path : {"/good", "/denied", "/broken", "/nonsense", "/away"}) {
    for (const std::string page : {"/status/feed", "/explain"})
      seen += get(listening_at(worker), page + "?url=" + world.http.url(path));
    note(feedmill({"show", world.http.url(path)}, environment));
    note(feedmill({"show", world.http.url(path), "--json"}, environment));
    note(feedmill({"entries", world.http.url(path), "--json"}, environment));
  }
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"list"}, {"export"}, {"config", "show", "--origin"}, {"config", "show", "--json"}}) {
    note(feedmill(verb, environment));
  }
  worker.signal(SIGTERM);
  note(worker.wait());
  world.redis_text({"CONFIG", "SET", "rdbcompression", "no"});
  world.redis_text({"SAVE"});
  const std::string stored = content_of(world.redis.directory() / "dump.rdb");

  // Controls: the collected output is not empty, and the secrets were in use.
  EXPECT_NE(arguments.find("feedmill.toml"), std::string::npos);
  EXPECT_NE(stored.find(world.http.url("/denied")), std::string::npos);
  EXPECT_NE(seen.find("status.auth"), std::string::npos);
  EXPECT_NE(seen.find("feed_auth.\"basic\""), std::string::npos);
  EXPECT_NE(seen.find("http://me:<set>@127.0.0.1"), std::string::npos);
  EXPECT_EQ(world.http.requests().at(0).head.find("c4nary-proxy"), std::string::npos);
  bool basic_sent = false, key_sent = false;
  for (const ServedRequest& request : world.http.requests()) {
    basic_sent = basic_sent || request.header("Authorization") == "Basic " + basic;
    key_sent = key_sent || request.header("X-Api-Key") == key;
  }
  EXPECT_TRUE(basic_sent && key_sent);
  ASSERT_EQ(other.requests().size(), 2U);

  const std::vector<std::pair<const char*, std::string>> places = {
      {"output", seen}, {"store", stored}, {"other origin", other.requests()[0].head + other.requests()[1].head}};
  for (const auto& [place, text] : places) {
    for (const std::string& secret : {password, key, proxied, basic}) {
      EXPECT_EQ(text.find(secret), std::string::npos) << secret << " in " << place;
    }
  }
}

}  // namespace
}  // namespace feedmill::test::overrides_test
