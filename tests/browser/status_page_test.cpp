// The status page of a running worker in a real browser, with markup in every field of outside origin (SECURITY O4):
// nothing runs, nothing is loaded from elsewhere, everything is legible.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/timelines/notifications.hpp"
#include "tests/browser/chromium.hpp"
#include "tests/browser/devtools.hpp"
#include "tests/end_to_end/program.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill::test::status_page_test {
namespace {

namespace json = boost::json;

/// Ends elements, attributes, comments and quotes, runs scripts in several ways, and requests foreign resources.
const std::string poison =
    "x'\"`--></title></bdi></a></p></td></style></svg><script>window.ran=1;fetch('//canary.example/s')</script>"
    "<img src=//canary.example/i onerror=window.ran=2><svg onload=window.ran=3><iframe srcdoc='<script>parent.ran=4"
    "</script>'></iframe><base href=//canary.example/><style>*{background:url(//canary.example/c)}</style>"
    "<link rel=stylesheet href=//canary.example/l><meta http-equiv=refresh content='0;url=//canary.example/m'>"
    "<form action=//canary.example/f><input autofocus onfocus=window.ran=5></form>&lt;b&gt; \xE2\x80\xAE"
    "desrever";
const std::string long_word(400, 'w');

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string hostile_feed() {
  const std::string text = escaped(poison);
  std::string feed =
      "<?xml version=\"1.0\"?><rss version=\"2.0\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><channel><title>" +
      text + "</title><link>javascript:window.ran=6</link><description>" + text + "</description>";
  for (const std::string& link :
       {std::string("javascript:window.ran=7"), std::string("https://canary.example/\"onclick=\"window.ran=8\""),
        std::string("data:text/html,<script>parent.ran=9</script>"), "https://canary.example/" + long_word}) {
    feed += "<item><title>" + text + "</title><link>" + escaped(link) + "</link><guid isPermaLink=\"false\">" + text +
            escaped(link) + "</guid><dc:creator>" + text + "</dc:creator></item>";
  }
  return feed + "<item><title>" + long_word + "</title><guid>" + long_word + "</guid></item></channel></rss>";
}

/// JavaScript that returns the faults found in the open page's elements; "" if there are none.
constexpr const char* inspection = R"js((() => {
  const wrong = [];
  const note = what => { if (wrong.length < 20) wrong.push(what); };
  if (window.ran !== undefined) note(`ran ${window.ran}`);
  const allowed = new Set(('html head meta title link body a header p b bdi nav ul ol li main section h1 h2 h3 span dl div ' +
    'dt dd figure figcaption svg rect table caption thead tbody tr th td details summary code time footer form label input button').split(' '));
  for (const node of document.querySelectorAll('*')) {
    if (!allowed.has(node.localName)) note(`element ${node.localName}`);
    for (const attribute of node.attributes) {
      if (/^on|^style$|^srcdoc$|^src$|action$/i.test(attribute.name) && !(node.localName === 'form' && attribute.name === 'action'))
        note(`attribute ${node.localName} ${attribute.name}`);
    }
    if (node.localName === 'meta' && node.httpEquiv) note('meta http-equiv');
    if (node.localName === 'form' && (node.getAttribute('action') !== '/status/feeds' || node.method !== 'get')) note('form elsewhere');
    if (node.localName === 'input' && node.type !== 'hidden' && !node.labels.length) note('a field without a label');
    if (node.localName === 'link' && node.getAttribute('href') !== '/status/style.css') note('link elsewhere');
    if (node.localName === 'a') {
      if (!/^https?:$/.test(node.protocol)) note(`link ${node.protocol}`);
      if (node.host !== location.host && node.getAttribute('rel') !== 'noopener noreferrer nofollow') note('link without rel');
    }
  }
  if (document.documentElement.scrollWidth > window.innerWidth) {
    const wide = [...document.querySelectorAll('body *')].find(node => node.getBoundingClientRect().right > innerWidth + 1);
    note(`wider than the window: ${document.documentElement.scrollWidth} > ${innerWidth}: ${wide ? wide.outerHTML.slice(0, 200) : ''}`);
  }
  for (const landmark of ['header', 'nav', 'main', 'footer', 'h1'])
    if (!document.querySelector(landmark)) note(`no ${landmark}`);
  if (document.querySelectorAll('h1').length !== 1) note('not one h1');
  for (const table of document.querySelectorAll('table'))
    if (![...table.querySelectorAll('thead th')].every(cell => cell.scope === 'col')) note('a table without headers');
  const ids = [...document.querySelectorAll('[id]')].map(node => node.id);
  if (new Set(ids).size !== ids.length) note('an id twice');
  // Contrast of all text with its background (WCAG 2.1, 1.4.3).
  const channels = text => text.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(value => value / 255)
    .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (; node; node = node.parentElement) {
      const color = channels(getComputedStyle(node).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || node.closest('.skip')) continue;
    ++texts;
    const [a, b] = [light(channels(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) note(`contrast ${contrast.toFixed(2)} of ${node.outerHTML.slice(0, 120)}`);
  }
  if (texts < 5) note('hardly any text');
  return wrong.join('\n');
})())js";

class StatusPageInBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (!chromium.empty()) return;
    if (std::getenv("FEEDMILL_BROWSER_WANTED") != nullptr) FAIL() << "no Chromium: scripts/install-packages --browser";
    GTEST_SKIP() << "no Chromium here: scripts/install-packages --browser installs what this test needs";
  }
  const std::filesystem::path chromium = find_chromium();
};

/// Requests to other origins than `origin`, and everything that a policy blocked.
std::string foreign(DevTools& browser, const std::string& origin) {
  std::string found;
  for (const json::object& event : browser.events()) {
    const std::string method = json::value_to<std::string>(event.at("method"));
    if (method == "Network.requestWillBeSent") {
      const std::string url = json::value_to<std::string>(event.at("params").at("request").at("url"));
      if (!url.starts_with(origin) && url != "about:blank") found += "asked for " + url + "\n";
    }
    const std::string told = json::serialize(event);
    if (told.find("responded with a status of 404") != std::string::npos) continue;  // the page shows this itself
    if (method == "Log.entryAdded" || method == "Audits.issueAdded" || method == "Runtime.exceptionThrown" ||
        method == "Page.javascriptDialogOpening" || method == "Runtime.consoleAPICalled")
      found += told + "\n";
  }
  return found;
}

TEST_F(StatusPageInBrowser, RunsNothingLoadsNothingAndIsLegible) {
  World world;
  world.http.serve("/feed.xml", Response{.body = hostile_feed()});
  world.http.serve("/broken",
                   Response{.raw = "HTTP/1.1 500 " + poison + "\r\nContent-Length: 0\r\nRetry-After: 7200\r\nETag: \"" +
                                   poison + "\"\r\n\r\n"});
  world.http.serve("/moved", Response{.status = 301, .headers = {{"Location", "/" + long_word + "?<script>"}}});
  const std::string odd = "/" + percent_encoded(poison.substr(0, 120)) + "?q='\"><script>window.ran=10</script>";
  const std::string feed = world.http.url("/feed.xml"), broken = world.http.url("/broken");
  std::vector<NewFeed> feeds;
  for (const std::string& url : {feed, broken, world.http.url("/moved"), world.http.url("/" + long_word),
                                 std::string("https://xn--bcher-kva.example/")})
    feeds.push_back({.feed_url = url, .after = {}, .settings = "", .title = poison});
  ASSERT_TRUE(world.store.open());
  ASSERT_TRUE(Feeds(world.store).add(feeds));
  ASSERT_EQ(world.run({"add", world.http.url(odd)}).exit, 0);
  ASSERT_TRUE(Fleet(world.store)
                  .heartbeat(std::string(32, 'b'),
                             {{"host", poison}, {"pid", poison}, {"version", poison}, {"in_flight", poison}},
                             std::chrono::hours(1)));
  std::vector<Notice> notices;
  for (int i = 0; i < 9; ++i) {
    const json::object notice{{"id", std::to_string(i)},
                              {"type", poison},
                              {"feed_url", i == 0 ? "javascript:window.ran=11" : poison},
                              {"timestamp", 1'763'690'000 + i},
                              {"text", poison},
                              {"remedy", poison},
                              {"from", poison},
                              {"to", long_word},
                              {"detail", poison}};
    notices.push_back({std::string(operator_user), std::to_string(i), json::serialize(notice)});
  }
  ASSERT_TRUE(Notifications(world.store).add(notices));
  redis_command(world.redis, {"XGROUP", "CREATE", "stream:signals", poison, "0", "MKSTREAM"});
  for (int i = 0; i < 8; ++i) {
    const std::string host = i == 0 ? poison : "h" + std::to_string(i) + ".example";
    redis_command(world.redis, {"ZADD", "state:hosts:closed", std::to_string(4'000'000'000'000 + i), host});
    redis_command(world.redis, {"HSET", "state:host:" + host, "closed", "1", "not_before", "4000000000000", "cause",
                                poison, "refusals", poison});
  }
  const Program worker({"run", "--listen", "127.0.0.1:0"},
                       world.with({{"FEEDMILL_SCHEDULE_FLOOR", "1h"}, {"FEEDMILL_SCHEDULE_CEILING", "1h"}}));
  const std::string origin = "http://" + listening_at(worker);
  ASSERT_TRUE(eventually([&] { return world.count("post_created") == 5; }));
  ASSERT_TRUE(eventually([&] { return world.run({"show", broken}).out.find("status.server") != std::string::npos; }));
  ASSERT_TRUE(eventually([&] { return get(origin.substr(7), "/status").find("(this one)") != std::string::npos; }));

  DevTools browser(chromium);
  std::vector<std::pair<std::string, std::string>> pages{
      {"overview", "/status"},
      {"feeds", "/status/feeds"},
      {"feeds-new", "/status/feeds?state=new"},
      {"search", "/status/feeds?q=" + percent_encoded(poison) + "&host=" + percent_encoded(poison) +
                     "&state=" + percent_encoded(poison) + "&after=" + percent_encoded(poison)},
      {"raw-search", "/status/feeds?q='><script>window.ran=12</script>&host=%3Cscript%3E"},
      {"long-search", "/status/feeds?q=" + long_word + "&host=" + long_word},
      {"feed", "/status/feed?url=" + percent_encoded(feed)},
      {"broken", "/status/feed?url=" + percent_encoded(broken)},
      {"odd", "/status/feed?url=" + percent_encoded(world.http.url(odd))},
      {"none", "/status/feed?url=" + percent_encoded("http://example.org/" + poison)},
      {"no-address", "/status/feed?url=" + percent_encoded(poison)},
  };
  const char* const pictures = std::getenv("FEEDMILL_SCREENSHOTS");
  for (const auto& [name, path] : pages) {
    for (const bool dark : {false, true}) {
      for (const int width : {360, 1280}) {
        browser.look(width, 900, dark);
        browser.open(origin + path);
        // Check folded details, too.
        browser.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
        const std::string where = name + (dark ? " dark " : " light ") + std::to_string(width);
        EXPECT_EQ(json::value_to<std::string>(browser.evaluate(inspection)), "") << where;
        EXPECT_EQ(foreign(browser, origin), "") << where;
        if (pictures != nullptr)
          browser.screenshot(std::filesystem::path(pictures) /
                             (name + (dark ? "-dark-" : "-light-") + std::to_string(width) + ".png"));
      }
    }
  }
  // Meant for programs, shown as text whatever the content.
  for (const std::string path : {"/status.json", "/explain?url=%3Cscript%3Ewindow.ran=13%3C/script%3E"}) {
    browser.open(origin + path);
    EXPECT_TRUE(browser.evaluate("window.ran === undefined && document.scripts.length === 0").as_bool()) << path;
  }
}

/// The rules of axe-core that the open page violates, each with its elements; "" if there are none.
std::string axe_findings(DevTools& browser, const std::string& axe) {
  browser.evaluate(axe);
  browser.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
  return json::value_to<std::string>(browser.evaluate(R"js(axe.run(document, {resultTypes: ['violations']})
    .then(found => found.violations
      .map(one => `${one.impact} ${one.id}: ${one.nodes.map(node => node.target.join(' ')).join(', ')}`).join('\n')))js"));
}

TEST_F(StatusPageInBrowser, SatisfiesAxe) {
  const std::filesystem::path file = find_axe();
  if (file.empty())
    GTEST_SKIP() << "no axe-core here: npm install --global axe-core, or name axe.min.js in FEEDMILL_AXE";
  std::ostringstream axe;
  axe << std::ifstream(file).rdbuf();
  World world, partitioned;
  const std::string feed = world.http.url("/feed"), broken = world.http.url("/broken");
  world.http.serve("/feed", Response{.body = "<rss version=\"2.0\"><channel><title>News</title><item><title>one</title>"
                                             "<guid>1</guid></item></channel></rss>"});
  world.http.serve("/broken", Response{.status = 500});
  ASSERT_EQ(world.run({"add", feed, broken}).exit, 0);
  const std::vector<std::string> run{"run", "--listen", "127.0.0.1:0"};
  const Program worker(run, world.environment);
  const Program others(run, partitioned.with({{"FEEDMILL_REDIS_PARTITIONS", "3"}}));
  const std::string origin = "http://" + listening_at(worker), of_all = "http://" + listening_at(others);
  ASSERT_TRUE(eventually([&] { return world.run({"show", broken}).out.find("status.server") != std::string::npos; }));
  DevTools browser(chromium);
  for (const std::string& url :
       {origin + "/status", origin + "/status?refresh=1", origin + "/status/feeds", origin + "/status/feeds?q=feed",
        origin + "/status/feeds?state=gone", origin + "/status/feed?url=" + percent_encoded(feed),
        origin + "/status/feed?url=" + percent_encoded(broken), origin + "/status/feed?url=nowhere", of_all + "/status",
        of_all + "/p1/status"}) {
    for (const bool dark : {false, true}) {
      for (const int width : {360, 1280}) {
        browser.look(width, 900, dark);
        browser.open(url);
        EXPECT_EQ(axe_findings(browser, axe.str()), "") << url << (dark ? " dark " : " light ") << width;
      }
    }
  }
}

// The README's pictures: the page with the sample publisher of scripts/run. FEEDMILL_PICTURES=docs/images takes them
// again.
TEST_F(StatusPageInBrowser, IsPicturedWithTheSamplePublisher) {
  World world;
  const std::string scratch = fmt::format("{}/pictures-{}-", testing::TempDir(), getpid());
  const std::string urls = scratch + "urls", authority = scratch + "ca.pem";
  const Program publisher({"--interval", "1s", "--print-urls", urls, "--hub-ca", authority}, {}, "",
                          FEEDMILL_SAMPLE_PUBLISHER);
  ASSERT_TRUE(eventually([&] { return publisher.out().find("ready") != std::string::npos; })) << publisher.err();
  const Environment sample = {{"FEEDMILL_SCHEDULE_FLOOR", "5min"},
                              {"FEEDMILL_SCHEDULE_CEILING", "10min"},
                              {"FEEDMILL_HOST_SPACING", "50ms"},
                              {"FEEDMILL_WEBSUB_PUBLIC_URL", "http://127.0.0.1:9811"},
                              {"FEEDMILL_WEBSUB_ALLOW_HTTP", "true"}};
  ASSERT_EQ(world.run({"import", urls}, sample).exit, 0);
  std::ifstream lines(urls);
  for (std::string feed; std::getline(lines, feed);)
    ASSERT_EQ(world.run({"set", feed, "ca_file=" + authority}, sample).exit, 0);
  const Program worker({"run", "--listen", "127.0.0.1:0"}, world.with(sample));
  const std::string origin = "http://" + listening_at(worker);
  ASSERT_TRUE(eventually([&] { return world.count("post_created") > 76; })) << "seven pushed posts";

  DevTools browser(chromium);
  for (const bool dark : {false, true}) {
    browser.look(1080, 1250, dark);
    browser.open(origin + "/status");
    EXPECT_EQ(json::value_to<std::string>(browser.evaluate(inspection)), "");
    EXPECT_NE(json::value_to<std::string>(browser.evaluate("document.body.innerText")).find("All is well"),
              std::string::npos);
    if (const char* const pictures = std::getenv("FEEDMILL_PICTURES"); pictures != nullptr)
      browser.screenshot(std::filesystem::path(pictures) / (dark ? "status-dark.png" : "status-light.png"), false);
  }
}

}  // namespace
}  // namespace feedmill::test::status_page_test
