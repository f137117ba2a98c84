// Attacks on a subscriber, against the program: each row leaves the store unchanged, causes no request, and is counted
// (WEBSUB S7; SECURITY W2, W4). For the content and number of genuine deliveries see websub_content_test.cpp.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "tests/end_to_end/push_world.hpp"
#include "tests/support/coders.hpp"
#include "tests/support/dns_server.hpp"

namespace feedmill::test::websub_negative_test {
namespace {

using Headers = PushWorld::Headers;

class SubscribingNever : public testing::Test {
 protected:
  static std::string whole(const HttpAnswer& answer) { return answer.head + answer.body; }
  static std::string token_of(const std::string& callback) { return callback.substr(callback.rfind('/') + 1); }
  HttpAnswer ask_worker(const std::string& method, const std::string& target, const std::string& body = "") {
    return ask(
        {.method = method, .url = "http://127.0.0.1:" + std::to_string(world.worker().port()) + target, .body = body});
  }
  std::string feed_at(const std::string& path, const std::string& hub_url = "") {
    return world.add_feed(path, {{"1", "first"}}, world.hub_links(world.http.url(path), hub_url));
  }
  static std::string question(const std::string& topic, const std::string& mode = "subscribe") {
    return "?hub.mode=" + mode + "&hub.topic=" + percent_encoded(topic) + "&hub.challenge=abc";
  }

  PushWorld world;
};

std::string upper(std::string text, std::size_t from = 0) {
  std::transform(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(),
                 text.begin() + static_cast<std::ptrdiff_t>(from),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string plain_digest(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4U];
    hex += "0123456789abcdef"[digest[i] & 15U];
  }
  return hex;
}

TEST_F(SubscribingNever, BelievesAForgedSignature) {
  const std::string url = world.subscribed_feed(), other_url = world.subscribed_feed("/other");
  const HubSubscriber to = world.subscriber(url), other = world.subscriber(other_url);
  const std::string body = atom({{"2", "forged"}});
  const std::string right = hub_signature("sha256", to.secret, body), hex = right.substr(7);
  const auto one = [](const std::string& value) { return Headers{{"X-Hub-Signature", value}}; };
  std::string flipped = body;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  std::string digit_off = right;
  digit_off.back() = digit_off.back() == '0' ? '1' : '0';
  const std::string packed = gzip(body);
  std::string raw_key;
  for (std::size_t i = 0; i < to.secret.size(); i += 2) {
    raw_key += static_cast<char>(std::stoi(to.secret.substr(i, 2), nullptr, 16));
  }
  struct Row {
    const char* name;
    Headers headers;
    std::string body;
  };
  const std::vector<Row> rows = {
      {"missing", {}, body},
      {"empty", one(""), body},
      {"no method", one(hex), body},
      {"equals alone", one("="), body},
      {"missing equals", one("sha256" + hex), body},
      {"colon in its place", one("sha256:" + hex), body},
      {"two equals", one("sha256==" + hex), body},
      {"empty digest", one("sha256="), body},
      {"unknown method", one("sha999=" + hex), body},
      {"empty method", one("=" + hex), body},
      {"md5", one(hub_signature("md5", to.secret, body)), body},
      {"sha224", one(hub_signature("sha224", to.secret, body)), body},
      {"sha3", one(hub_signature("sha3-256", to.secret, body)), body},
      {"upper-case method", one(upper(right)), body},
      {"capital method", one("Sha256=" + hex), body},
      {"sha-256", one("sha-256=" + hex), body},
      {"hmac-sha256", one("hmac-sha256=" + hex), body},
      {"short", one(right.substr(0, right.size() - 2)), body},
      {"odd length", one(right.substr(0, right.size() - 1)), body},
      {"one digit", one("sha256=0"), body},
      {"long", one(right + "00"), body},
      {"one digit more", one(right + "0"), body},
      {"very long", one("sha256=" + std::string(20'000, '0')), body},
      {"not hex", one("sha256=" + std::string(64, 'g')), body},
      {"one digit off", one(digit_off), body},
      {"zeros", one("sha256=" + std::string(64, '0')), body},
      {"space inside", one("sha256= " + hex), body},
      {"quoted", one("sha256=\"" + hex + "\""), body},
      {"parameter behind", one(right + ";v=1"), body},
      {"list in one", one(right + ", " + right), body},
      {"cut sha512", one(hub_signature("sha512", to.secret, body).substr(0, 7 + 64).replace(3, 3, "256")), body},
      {"sha512 under sha256", one("sha256=" + hub_signature("sha512", to.secret, body).substr(7)), body},
      {"sha256 under sha1", one("sha1=" + hex), body},
      {"wrong sha1", one(hub_signature("sha1", "other", body)), body},
      {"same header twice", {{"X-Hub-Signature", right}, {"X-Hub-Signature", right}}, body},
      {"right one second", {{"X-Hub-Signature", digit_off}, {"X-Hub-Signature", right}}, body},
      {"right one first", {{"x-hub-signature", right}, {"X-HUB-SIGNATURE", digit_off}}, body},
      {"other header", {{"X-Hub-Signature-256", right}}, body},
      {"in the query's place", {{"Authorization", right}}, body},
      {"secret of another subscription", one(hub_signature("sha256", other.secret, body)), body},
      {"delivery of another subscription", one(hub_signature("sha256", other.secret, body)), body},
      {"empty secret", one(hub_signature("sha256", "", body)), body},
      {"no key at all", one("sha256=" + plain_digest(body)), body},
      {"key before the body", one("sha256=" + plain_digest(to.secret + body)), body},
      {"secret as bytes", one(hub_signature("sha256", raw_key, body)), body},
      {"token as secret", one(hub_signature("sha256", token_of(to.callback), body)), body},
      {"one bit of the body", one(right), flipped},
      {"byte more", one(right), body + "\n"},
      {"byte less", one(right), body.substr(0, body.size() - 1)},
      {"empty body", one(right), ""},
      {"signature of the empty body", one(hub_signature("sha256", to.secret, "")), body},
      {"over the decoded body", {{"Content-Encoding", "gzip"}, {"X-Hub-Signature", right}}, packed},
  };
  PushWorker& worker = world.worker();
  const std::string before = world.everything();
  const std::size_t requests = world.requests_made();
  std::string model;
  std::int64_t counted = 0;
  for (const Row& row : rows) {
    const HttpAnswer answer = PushWorld::deliver(to.callback, row.body, row.headers);
    if (model.empty()) model = whole(answer);
    EXPECT_EQ(answer.status, 202) << row.name;
    EXPECT_EQ(whole(answer), model) << row.name;
    EXPECT_EQ(worker.deliveries("bad_signature"), ++counted) << row.name;
    ASSERT_EQ(world.everything(), before) << row.name;
  }
  EXPECT_EQ(world.subscription(url, "bad"), std::to_string(rows.size()));
  EXPECT_EQ(worker.deliveries("fat"), 0);
  EXPECT_EQ(worker.deliveries("thin"), 0);
  EXPECT_EQ(world.requests_made(), requests);
  // The responses do not reveal the difference, and a valid signature is still accepted, even in upper-case hex.
  const HttpAnswer good = PushWorld::deliver(to.callback, body, one("sha256=" + upper(hex)));
  EXPECT_EQ(whole(good), model);
  EXPECT_TRUE(eventually([&] { return world.title(url, "2") == "forged"; }));
  EXPECT_EQ(world.title(other_url, "2"), "");
}

TEST_F(SubscribingNever, ConfirmsAForgedVerification) {
  const std::string active_url = world.subscribed_feed("/active");
  world.hub.behave({.verifies = false});
  const std::string topic = world.http.url("/pending?a=b&c=d");
  const std::string feed =
      world.add_feed("/pending", {{"1", "first"}}, world.hub_links(world.http.url("/pending?a=b&amp;c=d")));
  ASSERT_TRUE(world.hub.await_requests(2));
  const std::string pending = world.target_of(world.hub.requests().back().callback), token = token_of(pending);
  const std::string active = world.target_of(world.subscriber(active_url).callback);
  const std::string mode = "?hub.mode=subscribe", challenge = "&hub.challenge=abc", enc = percent_encoded(topic);
  const std::string named = "&hub.topic=" + enc, good = mode + named + challenge;
  std::string many, other_token = token;
  for (int i = 0; i < 100; ++i) many += "&a=b";
  other_token.front() = other_token.front() == 'a' ? 'b' : 'a';
  const auto of_topic = [&](const std::string& text) {
    return pending + mode + "&hub.topic=" + percent_encoded(text) + challenge;
  };
  const auto of_mode = [&](const std::string& text) { return pending + "?hub.mode=" + text + named + challenge; };
  const auto challenged = [&](const std::string& text) { return pending + mode + named + "&hub.challenge=" + text; };
  struct Row {
    const char* name;
    std::string target;
    std::string body{};
  };
  const std::vector<Row> rows = {
      {"no query", pending},
      {"empty query", pending + "?"},
      {"no mode", pending + "?hub.topic=" + enc + challenge},
      {"empty mode", of_mode("")},
      {"another mode", of_mode("unsubscribe")},
      {"unknown mode", of_mode("publish")},
      {"capital mode", of_mode("Subscribe")},
      {"mode and a space", of_mode("subscribe+")},
      {"mode encoded twice", of_mode("%2573ubscribe")},
      {"mode twice", pending + good + "&hub.mode=subscribe"},
      {"two modes", pending + good + "&hub.mode=unsubscribe"},
      {"escaped twin of the mode", pending + good + "&hub%2emode=subscribe"},
      {"denied for another topic", pending + "?hub.mode=denied&hub.topic=https%3A%2F%2Fa.example%2F"},
      {"denied without a topic", pending + "?hub.mode=denied&hub.reason=no"},
      {"no topic", pending + mode + challenge},
      {"empty topic", of_topic("")},
      {"another topic", of_topic("https://a.example/feed")},
      {"topic of another feed of ours", of_topic(active_url)},
      {"topic cut by one", of_topic(topic.substr(0, topic.size() - 1))},
      {"topic and a slash", of_topic(topic + "/")},
      {"topic and a question mark", of_topic(topic + "?")},
      {"topic and a fragment", of_topic(topic + "#x")},
      {"topic and a space", of_topic(topic + " ")},
      {"topic and a NUL", of_topic(topic + std::string(1, '\0'))},
      {"capital scheme", of_topic("HTTP" + topic.substr(4))},
      {"another spelling of the host", of_topic("http://localhost" + topic.substr(topic.rfind(':')))},
      {"topic encoded twice", of_topic(enc)},
      {"topic not encoded", pending + mode + "&hub.topic=" + topic + challenge},
      {"topic twice", pending + good + named},
      {"two topics", pending + good + "&hub.topic=https%3A%2F%2Fa.example%2F"},
      {"no challenge", pending + mode + named},
      {"empty challenge", challenged("")},
      {"challenge twice", pending + good + challenge},
      {"long challenge", challenged(std::string(1025, 'x'))},
      {"challenge with a space", challenged("a+b")},
      {"challenge with a tab", challenged("a%09b")},
      {"challenge with header lines", challenged("a%0d%0aX-Evil:%201%0d%0a%0d%0a")},
      {"challenge of 8 bits", challenged("%C3%A9")},
      {"challenge with a NUL", challenged("a%00")},
      {"challenge with DEL", challenged("a%7F")},
      {"two leases", pending + good + "&hub.lease_seconds=1&hub.lease_seconds=2"},
      {"broken escape", pending + mode + "&hub.topic=%zz" + challenge},
      {"cut escape", pending + good + "%2"},
      {"broken escape in a name", pending + good + "&%=1"},
      {"semicolons", pending + "?hub.mode=subscribe;hub.topic=" + enc + ";hub.challenge=abc"},
      {"other names", pending + "?mode=subscribe&topic=" + enc + "&challenge=abc"},
      {"capital names", pending + "?HUB.MODE=subscribe&HUB.TOPIC=" + enc + "&HUB.CHALLENGE=abc"},
      {"names encoded twice", pending + "?hub%252Emode=subscribe" + named + challenge},
      {"too many parameters", pending + good + many},
      {"huge", pending + good + "&x=" + std::string(20'000, 'x')},
      {"in a body", pending, good.substr(1)},
      {"other token", "/w/" + other_token + good},
      {"capital token", "/w/" + upper(token) + good},
      {"token and a letter", "/w/" + token + "a" + good},
      {"token cut by one", "/w/" + token.substr(1) + good},
      {"token and a slash", pending + "/" + good},
      {"token and a NUL", pending + "%00" + good},
      {"token and a dot", pending + "." + good},
      {"token and a path parameter", pending + ";a=b" + good},
      {"two slashes", "/w//" + token + good},
      {"slash in front", "/" + pending + good},
      {"capital W", "/W/" + token + good},
      {"path encoded twice", "/%2577/" + token + good},
      {"way up", "/w/../w/" + token + good},
      {"token alone", "/" + token + good},
      {"token in the query", "/w/" + good + "&token=" + token},
      {"root", "/" + good},
      {"not pending", active + question(active_url)},
      {"unsubscription that nobody wanted", active + question(active_url, "unsubscribe")},
      {"denial of another topic on an active one", active + "?hub.mode=denied&hub.topic=" + enc},
      {"pending topic on another path", active + good},
  };
  PushWorker& worker = world.worker();
  const std::string model = whole(ask_worker("GET", "/w/" + std::string(26, 'a')));
  EXPECT_TRUE(model.starts_with("HTTP/1.1 404 ")) << model;
  const std::string before = world.everything();
  std::int64_t refused = worker.verifications("refused");
  for (const Row& row : rows) {
    EXPECT_EQ(whole(ask_worker("GET", row.target, row.body)), model) << row.name;
    EXPECT_EQ(worker.verifications("refused"), ++refused) << row.name;
    ASSERT_EQ(world.everything(), before) << row.name;
  }
  // A POST is a delivery, and none is accepted yet. Other methods get the same refusal on every path.
  EXPECT_EQ(whole(ask_worker("POST", pending + good)), model);
  EXPECT_EQ(whole(ask_worker("POST", pending, good.substr(1))), model);
  EXPECT_EQ(worker.deliveries("unknown"), 2);
  for (const std::string method : {"HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"}) {
    const HttpAnswer elsewhere = ask_worker(method, "/");
    EXPECT_EQ(elsewhere.status, 405) << method;
    EXPECT_EQ(whole(ask_worker(method, pending + good)), whole(elsewhere)) << method;
    EXPECT_EQ(whole(ask_worker(method, active)), whole(elsewhere)) << method;
  }
  EXPECT_EQ(world.everything(), before);
  // Too late: an hour has passed. Then in time, as a control for the whole table.
  const std::string since = world.subscription(feed, "pending_since", true);
  world.redis_text({"HSET", world.callback_key(feed, true), "pending_since", "1"});
  EXPECT_EQ(whole(ask_worker("GET", pending + good)), model);
  world.redis_text({"HSET", world.callback_key(feed, true), "pending_since", since});
  EXPECT_EQ(world.everything(), before);
  EXPECT_EQ(worker.verifications("accepted"), 1);
  const HttpAnswer right = ask_worker("GET", pending + good + "&hub.lease_seconds=86400&x=y");
  EXPECT_EQ(right.status, 200);
  EXPECT_EQ(right.body, "abc");
  EXPECT_EQ(right.header("Content-Type"), "text/plain");
  EXPECT_EQ(whole(ask_worker("GET", pending + good)), model);  // only once
}

TEST_F(SubscribingNever, ConfirmsTwiceWhatSeveralAskAtOnce) {
  world.hub.behave({.verifies = false});
  const std::string topic = feed_at("/feed");
  PushWorker& worker = world.start();
  ASSERT_TRUE(world.hub.await_requests(1));
  const std::string pending = world.target_of(world.hub.requests().back().callback);
  std::array<HttpAnswer, 16> answers;
  {
    std::vector<std::jthread> askers;
    for (HttpAnswer& answer : answers)
      askers.emplace_back([&] { answer = ask_worker("GET", pending + question(topic)); });
  }
  EXPECT_EQ(std::ranges::count(answers, 200, &HttpAnswer::status), 1);
  EXPECT_EQ(std::ranges::count(answers, 404, &HttpAnswer::status), 15);
  EXPECT_EQ(worker.verifications("accepted"), 1);
  EXPECT_EQ(worker.verifications("refused"), 15);
}

TEST_F(SubscribingNever, PlansByAnAbsurdLease) {
  constexpr std::int64_t minute = 60, day = minute * 60 * 24;
  struct Row {
    const char* lease;
    std::int64_t seconds;
  };
  const std::vector<Row> rows = {
      {"&hub.lease_seconds=86401", day + 1},
      {"", day},
      {"&hub.lease_seconds=", day},
      {"&hub.lease_seconds=0", day},
      {"&hub.lease_seconds=-1", day},
      {"&hub.lease_seconds=1", 5 * minute},
      {"&hub.lease_seconds=299", 5 * minute},
      {"&hub.lease_seconds=2592001", 30 * day},
      {"&hub.lease_seconds=2147483647", 30 * day},
      {"&hub.lease_seconds=2147483648", day},
      {"&hub.lease_seconds=1e9", day},
      {"&hub.lease_seconds=forever", day},
      {"&hub.lease_seconds=3600.5", day},
      {"&hub.lease_seconds=+3600", day},
      {"&hub.lease_seconds=0x10", day},
      {"&hub.lease_seconds=99999999999999999999999", day},
  };
  world.hub.behave({.verifies = false});
  for (std::size_t i = 0; i < rows.size(); ++i) feed_at("/feed" + std::to_string(i));
  world.start();
  ASSERT_TRUE(world.hub.await_requests(rows.size()));
  for (const HubRequest& asked : world.hub.requests()) {
    const auto row = static_cast<std::size_t>(std::stoul(asked.topic.substr(asked.topic.rfind("/feed") + 5)));
    const HttpAnswer answer =
        ask_worker("GET", world.target_of(asked.callback) + question(asked.topic) + rows[row].lease);
    EXPECT_EQ(answer.status, 200) << rows[row].lease;
    const std::string now = world.redis_text({"TIME"});
    const auto at = [&](const char* field) {
      return std::stoll(world.subscription(asked.topic, field)) / 1000 - std::stoll(now);
    };
    // It was stored a moment ago.
    EXPECT_LE(at("lease_end"), rows[row].seconds + 1) << rows[row].lease;
    EXPECT_GE(at("lease_end"), rows[row].seconds - 2 * minute) << rows[row].lease;
    EXPECT_LE(at("renew_at"), rows[row].seconds * 6 / 10 + 1) << rows[row].lease;
    EXPECT_GE(at("renew_at"), rows[row].seconds / 2 - 2 * minute) << rows[row].lease;
  }
}

TEST_F(SubscribingNever, IsLedAstrayByAHub) {
  HttpServer trap;  // plain http: must get no signed request
  struct Row {
    const char* name;
    Response response;
    std::string state;      // the subscription's state
    std::size_t requests;   // requests at the hub
    const char* note = "";  // beginning of the subscription's note
    std::size_t more = 0;   // extra requests: retries after a kept connection ended without an answer
  };
  const auto leads = [](int status, const std::string& to) {
    return Response{.status = status, .headers = {{"Location", to}}};
  };
  const std::vector<Row> rows = {
      {"/200", {.status = 200}, "pending", 1},
      {"/204", {.status = 204}, "pending", 1},
      {"/silent", {.status = 202}, "pending", 1},
      {"/301", leads(301, "/hub"), "failed", 1, "answered 301"},
      {"/302", leads(302, "/hub"), "failed", 1, "answered 302"},
      {"/303", leads(303, "/hub"), "failed", 1, "answered 303"},
      {"/304", {.status = 304}, "failed", 1, "answered 304"},
      {"/307", leads(307, "/307"), "failed", 6, "redirects without a usable Location"},
      {"/308", leads(308, "/308"), "failed", 6, "redirects without a usable Location"},
      {"/nowhere", {.status = 307}, "failed", 1, "redirects without a usable Location"},
      {"/file", leads(308, "file:///etc/passwd"), "failed", 1, "redirects without a usable Location"},
      {"/down", leads(307, trap.url("/hub")), "failed", 1, "redirects from https to http"},
      {"/metadata", leads(307, "https://169.254.169.254/latest"), "failed", 1, "egress"},
      {"/private", leads(308, "https://10.0.0.1/hub"), "failed", 1, "egress"},
      {"/400", {.status = 400, .body = "no"}, "failed", 1, "answered 400: no"},
      {"/403", {.status = 403, .body = "\x1b[31mred\r\nline\x07"}, "failed", 1, "answered 403: "},
      {"/404", {.status = 404, .body = std::string(10'000, 'x')}, "failed", 1, "answered 404: xxx"},
      {"/405", {.status = 405, .body = std::string(100'000, 'x')}, "failed", 1, "answered 405: "},
      {"/410", {.status = 410}, "failed", 1, "answered 410"},
      {"/429", {.status = 429, .headers = {{"Retry-After", "10"}}}, "pending", 1, "answered 429"},
      {"/500", {.status = 500}, "pending", 1, "answered 500"},
      {"/503", {.status = 503}, "pending", 1, "answered 503"},
      {"/cut", {.raw = "HTTP/1.1 2"}, "pending", 1, "", 1},
      {"/endless", {.status = 403, .then_forever = std::string(4096, 'y')}, "failed", 1, "answered 403: "},
  };
  for (const Row& row : rows) {
    world.hub_server.serve(row.name, row.response);
    feed_at(std::string("/feed") + row.name, world.hub_server.url(row.name));
  }
  world.start();
  for (const Row& row : rows) {
    const std::string url = world.http.url(std::string("/feed") + row.name);
    const std::string note = row.note;
    EXPECT_TRUE(eventually([&] {
      const std::size_t asked = world.hub_server.count(row.name);
      return world.state(url, "push_state") == row.state && asked >= row.requests && asked <= row.requests + row.more &&
             (note.empty() || world.state(url, "push_note").starts_with(note));
    })) << row.name
        << ": " << world.state(url, "push_state") << ", " << world.state(url, "push_note") << ", asked "
        << world.hub_server.count(row.name) << " times";
    const std::string said = world.state(url, "push_note");
    EXPECT_LE(said.size(), 500U) << row.name;
    EXPECT_TRUE(std::ranges::all_of(said, [](char c) { return c >= ' ' && c <= '~'; })) << row.name << ": " << said;
  }
  EXPECT_EQ(trap.connections(), 0U);
  EXPECT_TRUE(world.hub.requests().empty());
  // Pushes to a failed subscription are handled like pushes to an unknown one.
  const std::string model = whole(ask_worker("POST", "/w/" + std::string(26, 'a')));
  for (const ServedRequest& request : world.hub_server.requests()) {
    const auto fields = form_fields(request.body);
    EXPECT_EQ(whole(ask_worker("POST", world.target_of(fields.at(0).second), "x")), model) << request.target;
  }
}

/// Listens at an address that must not be contacted; connections stay in its queue.
class Canary {
 public:
  Canary(const char* address, std::uint16_t port) : acceptor_(loop_, {boost::asio::ip::make_address(address), port}) {
    acceptor_.non_blocking(true);
  }
  bool heard() {
    boost::asio::ip::tcp::socket visitor(loop_);
    boost::system::error_code nobody;
    acceptor_.accept(visitor, nobody);
    return !nobody;
  }

 private:
  boost::asio::io_context loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
};

// SECURITY §1, WEBSUB S4: whatever a hub or its name servers answer.
TEST_F(SubscribingNever, AsksWhatAHubLeadsToWithinOurNetwork) {
  HttpServer turning{world.authority.issue({.names = {"DNS:turning.example"}})};
  const std::string port = std::to_string(turning.port());
  Canary canary("127.0.0.2", turning.port());
  DnsServer names;
  for (const char* const name : {"inside.example", "127.0.0.2"}) names.serve(name, {.addresses = {"127.0.0.2"}});
  std::atomic<int> asked = 0;  // alternates between two addresses with a TTL of 0
  names.serve("turning.example", [&](const std::string&) {
    return DnsAnswer{.addresses = {asked++ % 4 < 2 ? "127.0.0.1" : "127.0.0.2"}, .ttl = 0};
  });
  world.environment["FEEDMILL_DNS_SERVERS"] = names.address();
  const std::vector<std::string> inside = {"https://127.0.0.2:" + port + "/hub",
                                           "//127.0.0.2:" + port + "/hub",
                                           "https://127.2:" + port + "/hub",
                                           "https://2130706434:" + port + "/hub",
                                           "https://0x7f.0.0.2:" + port + "/hub",
                                           "https://0177.0.0.2:" + port + "/hub",
                                           "https://127.0.0.2.:" + port + "/hub",
                                           "https://127.0.0.1@127.0.0.2:" + port + "/hub",
                                           "https://[::ffff:127.0.0.2]:" + port + "/hub",
                                           "https://[::ffff:7f00:2]:" + port + "/hub",
                                           "https://[::127.0.0.2]:" + port + "/hub",
                                           "https://inside.example:" + port + "/hub"};
  std::vector<std::string> feeds;
  const auto feed = [&](const std::string& hub_url) {
    feeds.push_back(feed_at("/feed" + std::to_string(feeds.size()), hub_url));
  };
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const std::string path = "/" + std::to_string(i);
    for (HttpServer* hub : {&world.hub_server, &world.http}) {  // https, and plain http
      hub->serve("/307" + path, {.status = 307, .headers = {{"Location", inside[i]}}});
      hub->serve("/308" + path, {.status = 308, .headers = {{"Location", inside[i]}}});
      hub->serve("/far" + path, {.status = 307, .headers = {{"Location", "/308" + path}}});
    }
    feed(world.hub_server.url("/307" + path));
  }
  for (HttpServer* hub : {&world.hub_server, &world.http}) {
    for (const char* const way : {"/307/0", "/308/0", "/far/0", "/308/11"}) feed(hub->url(way));
  }
  feed("https://127.0.0.2:" + port + "/hub");
  feed("https://inside.example:" + port + "/hub");
  feed("http://127.0.0.2:" + port + "/hub");
  feed("http://inside.example:" + port + "/hub");
  turning.serve("/hub", {.status = 307, .headers = {{"Location", "/hub?again"}}, .end = Response::End::close});
  const std::string changes = feed_at("/changes", "https://turning.example:" + port + "/hub");
  world.start({{"FEEDMILL_EGRESS_ALLOW", "127.0.0.1/32:1024-65535"}});
  for (const std::string& url : feeds) {
    EXPECT_TRUE(eventually([&] { return world.state(url, "push_state") == "failed"; }))
        << url << ": " << world.state(url, "push_state") << ", " << world.state(url, "push_note");
  }
  EXPECT_TRUE(eventually([&] { return world.state(changes, "push_note") != "(nil)" && asked >= 2; }));
  EXPECT_FALSE(canary.heard());
  // Control: the canary notices allowed connections.
  world.worker().program().signal(SIGTERM);
  EXPECT_EQ(world.worker().program().wait().exit, 0);
  feed_at("/control", world.hub_server.url("/307/0"));
  PushWorker loose(world.environment);
  EXPECT_TRUE(eventually([&] { return canary.heard(); })) << loose.program().err();
}

TEST_F(SubscribingNever, TakesADeliveryThatIsNotItsTime) {
  // Before the verification.
  world.hub.behave({.verifies = false});
  const std::string early = feed_at("/early");
  PushWorker& worker = world.start();
  ASSERT_TRUE(world.hub.await_requests(1));
  const HubRequest asked = world.hub.requests().back();
  const std::string body = atom({{"2", "untimely"}}),
                    model = whole(ask_worker("POST", "/w/" + std::string(26, 'a'), body));
  EXPECT_TRUE(model.starts_with("HTTP/1.1 404 "));
  std::string before = world.everything();
  const auto push = [&](const HubSubscriber& to) {
    return whole(ask({.method = "POST",
                      .url = "http://127.0.0.1:" + std::to_string(worker.port()) + world.target_of(to.callback),
                      .headers = {{"X-Hub-Signature", hub_signature("sha256", to.secret, body)}},
                      .body = body}));
  };
  EXPECT_EQ(push({asked.callback, early, asked.secret, ""}), model);
  EXPECT_EQ(world.everything(), before);
  // After the lease and the following hour.
  world.hub.behave({});
  const std::string late = world.subscribed_feed("/late");
  world.redis_text({"HSET", world.callback_key(late), "lease_end", "1"});
  before = world.everything();
  EXPECT_TRUE(push(world.subscriber(late)).starts_with("HTTP/1.1 410 "));
  EXPECT_EQ(world.everything(), before);
  // After the denial of an accepted subscription.
  const std::string denied = world.subscribed_feed("/denied");
  const HttpAnswer denial =
      WebSubHub::verify(world.subscriber(denied).callback,
                        {{"hub.mode", "denied"}, {"hub.topic", denied}, {"hub.reason", "no\x1b[1m more"}});
  EXPECT_EQ(denial.status, 200);
  EXPECT_EQ(world.state(denied, "push_state"), "denied");
  EXPECT_EQ(world.state(denied, "push_note").find('\x1b'), std::string::npos);
  before = world.everything();
  EXPECT_TRUE(push(world.subscriber(denied)).starts_with("HTTP/1.1 410 "));
  EXPECT_EQ(world.everything(), before);
  // After the end of the subscription.
  const std::string removed = world.subscribed_feed("/removed");
  const HubSubscriber to = world.subscriber(removed);
  ASSERT_EQ(world.run({"remove", removed, "--yes"}).exit, 0);
  EXPECT_TRUE(push(to).starts_with("HTTP/1.1 410 "));
  EXPECT_EQ(world.redis_text({"EXISTS", removed + ":sort"}), "0");
  EXPECT_EQ(worker.deliveries("unknown"), 5);
  EXPECT_EQ(worker.deliveries("fat"), 0);
  for (const std::string& url : {early, late, denied}) EXPECT_EQ(world.title(url, "2"), "") << url;
}

}  // namespace
}  // namespace feedmill::test::websub_negative_test
