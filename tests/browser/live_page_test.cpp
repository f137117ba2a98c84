// The live stream's example page, deploy/examples/live.html, in a real browser with a worker that pushes out.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/browser/chromium.hpp"
#include "tests/browser/devtools.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/support/free_port.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill::test::live_page_test {
namespace {

namespace json = boost::json;
using Posts = std::vector<std::pair<std::string, std::string>>;

class LivePageInBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (chromium.empty() && std::getenv("FEEDMILL_BROWSER_WANTED") != nullptr)
      FAIL() << "no Chromium: scripts/install-packages --browser";
    if (chromium.empty()) GTEST_SKIP() << "no Chromium here: scripts/install-packages --browser installs it";
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    world.environment["FEEDMILL_PUSH_OUT_LISTEN"] = address;
    world.environment["FEEDMILL_PUSH_OUT_PUBLIC_URL"] = "http://" + address;
    feed = world.http.url("/feed");
    publish({{"1", "first"}});
    ASSERT_EQ(world.run({"add", feed}).exit, 0);
    ASSERT_EQ(world.run({"set", feed, "republish=yes"}).exit, 0);
    ASSERT_EQ(world.run({"refresh", feed, "--ignore-floor"}).exit, 0);
    const Finished shared = world.run({"topic", "add", feed, "--json"});
    ASSERT_EQ(shared.exit, 0) << shared.err;
    const auto atom = json::value_to<std::string>(json::parse(shared.out).at("atom"));
    const std::size_t token = atom.find("/t/") + 3;
    stream = "http://" + address + "/events?topic=" + atom.substr(token, atom.rfind('.') - token);
    start();
    browser = std::make_unique<DevTools>(chromium);
  }

  void start() {
    worker = std::make_unique<Program>(
        std::vector<std::string>{"run", "--push-out", "--no-ingest", "--listen", "127.0.0.1:0"}, world.environment);
    ASSERT_TRUE(eventually([&] { return worker->err().find("event=ready") != std::string::npos; })) << worker->err();
  }
  void kill() {
    worker->signal(SIGKILL);
    worker->wait();
  }
  void publish(const Posts& posts) {
    world.http.serve("/feed", Response{.headers = {{"Content-Type", "application/rss+xml"}}, .body = rss(posts)});
  }
  void bring(const Posts& posts) {
    publish(posts);
    EXPECT_EQ(world.run({"refresh", feed, "--ignore-floor"}).exit, 0);
  }

  std::string text(const std::string& expression) { return json::value_to<std::string>(browser->evaluate(expression)); }
  /// Titles on the page, newest first, separated by commas.
  std::string titles() {
    return text("[...document.querySelectorAll('#posts a')].map(title => title.textContent).join()");
  }
  bool comes_to(const std::string& wanted) {
    return eventually([&] { return titles() == wanted; });
  }
  bool is_connected() {
    return eventually([&] { return text("document.getElementById('state').textContent") == "Connected."; });
  }

  const std::filesystem::path chromium = find_chromium();
  const std::filesystem::path page = FEEDMILL_LIVE_PAGE;
  World world;
  std::string feed, stream;
  std::unique_ptr<Program> worker;
  std::unique_ptr<DevTools> browser;
};

// The page and the stream are on different servers; posts are shown as text.
TEST_F(LivePageInBrowser, ShowsPostsAsTheyComeAndNothingOfThemRuns) {
  std::ifstream file(page);
  HttpServer site;
  site.serve("/live.html", Response{.headers = {{"Content-Type", "text/html"}},
                                    .body = std::string(std::istreambuf_iterator<char>(file), {})});
  browser->open(site.url("/live.html?events=" + percent_encoded(stream)));
  ASSERT_TRUE(is_connected());
  bring({{"2", "second"}, {"1", "first"}});
  ASSERT_TRUE(comes_to("second")) << titles();
  const std::string poison = "&lt;img src=x onerror=window.ran=1>&lt;script>window.ran=2&lt;/script>";
  bring({{"3", "third " + poison}, {"2", "second"}, {"1", "first"}});
  ASSERT_TRUE(eventually([&] { return titles().find("third") != std::string::npos; }));
  EXPECT_TRUE(browser->evaluate("window.ran === undefined && document.images.length === 0").as_bool());
  EXPECT_TRUE(titles().ends_with(",second")) << titles();
}

// Opened as a file, as scripts/run --push-out suggests: posts that came while the worker was away are shown, none
// twice.
TEST_F(LivePageInBrowser, ContinuesAfterItsLastEventWhenTheServerIsBack) {
  browser->open("file://" + page.string() + "?events=" + percent_encoded(stream));
  ASSERT_TRUE(is_connected());
  bring({{"2", "second"}, {"1", "first"}});
  ASSERT_TRUE(comes_to("second")) << titles();
  kill();
  bring({{"3", "third"}, {"2", "second"}, {"1", "first"}});
  ASSERT_TRUE(eventually([&] { return text("document.getElementById('state').textContent") != "Connected."; }));
  start();
  ASSERT_TRUE(comes_to("third,second")) << titles();
  bring({{"4", "fourth"}, {"3", "third"}, {"2", "second"}, {"1", "first"}});
  ASSERT_TRUE(comes_to("fourth,third,second")) << titles();
}

// The server answers 410 for the page's position.
TEST_F(LivePageInBrowser, RestartsWithANoteIfPostsWereMissed) {
  browser->open("file://" + page.string() + "?events=" + percent_encoded(stream));
  ASSERT_TRUE(is_connected());
  bring({{"2", "second"}, {"1", "first"}});
  ASSERT_TRUE(comes_to("second")) << titles();
  kill();
  bring({{"3", "third"}, {"2", "second"}, {"1", "first"}});
  bring({{"4", "fourth"}, {"3", "third"}, {"2", "second"}, {"1", "first"}});
  world.redis_text({"XTRIM", "stream:signals", "MAXLEN", "1"});
  start();
  ASSERT_TRUE(eventually([&] { return text("posts.firstChild.textContent") == "Some posts were missed."; }));
  ASSERT_TRUE(is_connected());
  bring({{"5", "fifth"}, {"4", "fourth"}, {"3", "third"}, {"2", "second"}, {"1", "first"}});
  EXPECT_TRUE(comes_to("fifth,second")) << titles();
}

}  // namespace
}  // namespace feedmill::test::live_page_test
