// Deployments with several partitions, which separate workers or one worker serve (RELIABILITY L27).
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "parsers/text/strings.hpp"
#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/store/partition.hpp"
#include "storage/timelines/notifications.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/end_to_end/truth_world.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/clustered_redis.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/http_ask.hpp"
#include "tests/support/websub_hub.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill::test::partitions_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace json = boost::json;

constexpr unsigned partitions = 4;

/// A publisher with its own IP address, which is also its host name.
class Host {
 public:
  explicit Host(unsigned number)
      : address(boost::asio::ip::address_v4(0x7f000002U + number).to_string()),
        server(std::uint16_t{0}, boost::asio::ip::make_address_v4(address)) {}
  std::string url(const std::string& path) const {
    return "http://" + address + ":" + std::to_string(server.port()) + path;
  }

  /// Makes every feed list `posts` posts, as of each request. `link`: a Link header.
  void list(const std::atomic<int>& posts, const std::string& link = "") {
    server.serve_rest([&posts, link](const ServedRequest& request) {
      std::vector<std::pair<std::string, std::string>> written;
      for (int post = posts; post > 0; --post) written.emplace_back(request.target + std::to_string(post), "Post");
      Response answer{.body = rss(written)};
      if (!link.empty()) answer.headers.emplace_back("Link", link);
      return answer;
    });
  }

  const std::string address;
  HttpServer server;
};

/// A worker that serves all partitions, and a client of its API.
class Reader {
 public:
  explicit Reader(const World& world)
      : worker({"run", "--config", config_of(world), "--listen", "127.0.0.1:0"}, world.environment),
        address_(listening_at(worker)) {}

  /// The JSON response, with the HTTP status added as `code`.
  json::object call(const std::string& method, const std::string& path, const std::string& body = "",
                    const std::string& key = "") const {
    std::vector<std::pair<std::string, std::string>> headers{
        {"Authorization", "Bearer " + token}, {"Content-Type", "application/json"}, {"Prefer", "wait=10"}};
    if (!key.empty()) headers.emplace_back("Idempotency-Key", key);
    const HttpAnswer answer = ask({method, "http://" + address_ + "/api/v1" + path, headers, body});
    json::object object = json::parse(answer.body).as_object();
    object["code"] = answer.status;
    return object;
  }
  /// The raw response body.
  std::string text(const std::string& path) const {
    return ask({"GET", "http://" + address_ + "/api/v1" + path, {{"Authorization", "Bearer " + token}}}).body;
  }
  void stop() {
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait().exit, 0);
  }

  Program worker;

 private:
  static inline const std::string token = "token-of-the-reader";
  static std::string config_of(const World& world) {
    const std::string secret = (world.redis.directory() / "token").string(),
                      config = (world.redis.directory() / "feedmill.toml").string();
    std::ofstream(secret) << token;
    std::ofstream(config) << "[api.token.reader]\nasks = true\nfile = \"" + secret + "\"\n";
    return config;
  }

  const std::string address_;
};

class Partitions : public testing::Test {
 protected:
  Partitions() {
    world.environment["FEEDMILL_REDIS_URL"] = redis.url();
    world.environment["FEEDMILL_REDIS_PARTITIONS"] = std::to_string(partitions);
    world.environment["FEEDMILL_SCHEDULE_CATCH_UP_RATE"] = "0";
    world.environment["FEEDMILL_HOST_SPACING"] = "0ms";
    world.environment["FEEDMILL_SCHEDULE_FLOOR"] = world.environment["FEEDMILL_SCHEDULE_CEILING"] = "1s";
    world.environment["FEEDMILL_WORKER_LANES"] = "8";
    for (const auto& [name, value] : lease(6000)) world.environment[name] = value;
  }

  Finished run_at(unsigned partition, const std::vector<std::string>& arguments) const {
    return world.run(arguments, {{"FEEDMILL_REDIS_PARTITION", std::to_string(partition)}});
  }
  std::unique_ptr<Program> worker_of(unsigned partition) const {
    return std::make_unique<Program>(std::vector<std::string>{"run"},
                                     world.with({{"FEEDMILL_REDIS_PARTITION", std::to_string(partition)}}));
  }
  Store store_of(unsigned partition) const {
    return Store(StoreOptions{.url = redis.url(), .partition = {partition, partitions}, .timeout = 2000ms});
  }
  RedisServer& node_of(unsigned partition) {
    const std::string its = *store_of(partition).node();
    std::size_t node = 0;
    while (its != "127.0.0.1:" + std::to_string(redis.port(node))) ++node;
    return redis.node(node);
  }
  void stop(std::array<std::unique_ptr<Program>, partitions>& workers) {
    for (const auto& worker : workers) worker->signal(SIGTERM);
    for (const auto& worker : workers) EXPECT_EQ(worker->wait().exit, 0);
  }

  ClusteredRedis redis;
  World world;
};

/// A worker and another partition's node are killed: no post is missing, duplicated or renumbered, and the merged
/// stream has every post.
TEST_F(Partitions, SurviveAKilledWorkerAndNode) {
  world.environment["FEEDMILL_SIGNALS_MERGED"] = "true";
  constexpr std::size_t hosts = 12, feeds_of_each = 3;
  std::vector<std::unique_ptr<Host>> all;
  std::string list;
  std::map<unsigned, std::size_t> expected;
  std::atomic<int> posts = 2;
  for (unsigned i = 0; i < hosts; ++i) {
    const auto& host = all.emplace_back(std::make_unique<Host>(i));
    host->list(posts);
    for (unsigned feed = 0; feed < feeds_of_each; ++feed) {
      const std::string url = host->url("/" + std::to_string(feed));
      list += url + "\n";
      ++expected[partition_of(url, partitions)];
    }
  }
  ASSERT_EQ(expected.size(), partitions) << "each has some";
  const std::string file = (world.redis.directory() / "feeds.txt").string();
  std::ofstream(file) << list;

  std::array<std::unique_ptr<Program>, partitions> workers;
  for (unsigned i = 0; i < partitions; ++i) {
    const Finished imported = run_at(i, {"import", file});
    EXPECT_EQ(imported.exit, 0) << imported.err;
    EXPECT_NE(imported.out.find("added " + std::to_string(expected[i]) + ","), std::string::npos) << imported.out;
    EXPECT_NE(imported.out.find(std::to_string(hosts * feeds_of_each - expected[i]) + " of other partitions"),
              std::string::npos)
        << imported.out;
    workers[i] = worker_of(i);
  }
  const auto stored = [&](unsigned partition) {
    Store store = store_of(partition);
    std::size_t entries = 0;
    const auto urls = Feeds(store).urls_after("", 1000);
    if (!urls || !Feeds(store).wake(*urls, 0ms, true)) return entries;
    for (const std::string& url : *urls) {
      const auto some = Entries(store).all_by_order(url, 100);
      entries += some ? some->size() : 0;
    }
    return entries;
  };
  const auto is_complete = [&](unsigned partition) {
    return stored(partition) == expected[partition] * static_cast<std::size_t>(posts);
  };
  for (unsigned i = 0; i < partitions; ++i)
    EXPECT_TRUE(eventually([&] { return is_complete(i); })) << workers[i]->err();

  workers[0]->signal(SIGKILL);
  // A killed worker's delivery lock would last 30 s.
  redis_command(node_of(0), {"DEL", store_of(0).prefix() + "lock:delivery:000"});
  workers[0] = worker_of(0);
  redis.await_replicas();
  const std::string lost_node = *store_of(1).node();
  node_of(1).kill();
  posts = 5;
  for (unsigned i = 0; i < partitions; ++i)
    EXPECT_TRUE(eventually([&] { return is_complete(i); })) << workers[i]->err();
  for (unsigned i = 0; i < partitions; ++i) {
    const bool is_there = lost_node != *store_of(i).node();
    const std::string log = workers[i]->err();
    if (i != 1 && is_there) continue;
    EXPECT_NE(log.find("Redis is available again"), std::string::npos) << log;
  }
  Store all_events(StoreOptions{.url = redis.url(), .of_all = true, .timeout = 2000ms, .reads_only = true});
  const auto merged = [&] {
    const auto events = EventStream(all_events).read("0-0", 100'000, 0ms);
    return events ? *events : std::vector<EventRecord>();
  };
  const auto number_of = [](const EventRecord& record) {
    const std::string id(json::parse(record.json).as_object().at("entity_id").as_string());
    return record.type == "post_created" ? std::stoull(id.substr(id.rfind(':') + 1)) : 0;
  };
  EXPECT_TRUE(eventually([&] {
    std::set<std::uint64_t> told;
    for (const EventRecord& record : merged()) told.insert(number_of(record));
    return told.size() > hosts * feeds_of_each * 5;  // includes 0, the number of all other events
  }));
  stop(workers);

  std::set<std::uint64_t> numbers;
  for (unsigned i = 0; i < partitions; ++i) {
    const Finished verified = run_at(i, {"verify"});
    EXPECT_EQ(verified.exit, 0) << verified.out << verified.err;
    Store store = store_of(i);
    for (const std::string& url : *Feeds(store).urls_after("", 1000)) {
      for (const StoredEntry& entry : *Entries(store).all_by_order(url, 100)) {
        const std::uint64_t number = std::stoull(entry.id.substr(entry.id.rfind(':') + 1));
        EXPECT_EQ(number % partitions, i) << entry.id;
        EXPECT_TRUE(numbers.insert(number).second) << entry.id;
      }
    }
  }
  EXPECT_EQ(numbers.size(), hosts * feeds_of_each * 5);

  // The merged stream has an event for each post, with its current number.
  for (const EventRecord& record : merged()) numbers.erase(number_of(record));
  EXPECT_EQ(numbers.size(), 0U);
  std::string last = "0-0";
  for (const EventRecord& record : merged()) {
    EXPECT_EQ(json::parse(record.json).as_object().at("prev").as_string(), last);
    last = record.id;
  }
  Program tail({"tail", "--json", "--from", "0"}, world.environment);
  EXPECT_TRUE(eventually([&] { return tail.out().find(last) != std::string::npos; })) << tail.err();
}

/// Two processes serve all partitions; one is killed, and so is a node. One page, one API and one scrape cover all
/// partitions.
TEST_F(Partitions, AreServedByOneProcess) {
  constexpr unsigned hosts = 12;
  std::vector<std::unique_ptr<Host>> all;
  std::vector<std::string> add{"add"};
  std::map<unsigned, std::vector<std::string>> theirs;
  std::atomic<int> posts = 2;
  for (unsigned i = 0; i < hosts; ++i) {
    const auto& host = all.emplace_back(std::make_unique<Host>(i));
    host->list(posts);
    add.push_back(host->url("/feed"));
    theirs[partition_of(add.back(), partitions)].push_back(add.back());
  }
  ASSERT_EQ(theirs.size(), partitions);
  const std::string last = theirs[partitions - 1].front();
  ASSERT_EQ(world.run(add).exit, 0);

  const Finished once = world.run({"run", "--once"});
  EXPECT_EQ(once.exit, 0) << once.err;
  const Finished listed_once = world.run({"list", "--json"});
  EXPECT_EQ(count_of(listed_once.out, "\"healthy\""), hosts) << listed_once.out;

  const std::string config = (world.redis.directory() / "feedmill.toml").string(), token = "token-of-the-reader";
  std::ofstream((world.redis.directory() / "token").string()) << token;
  std::ofstream(config) << "[api.token.reader]\nasks = true\nfile = \"" + (world.redis.directory() / "token").string() +
                               "\"\n";
  const std::vector<std::string> run{"run", "--config", config, "--listen", "127.0.0.1:0"};
  Program killed(run, world.environment), worker(run, world.environment);
  std::map<unsigned, std::chrono::steady_clock::time_point> woken;
  const auto stored = [&](unsigned partition) {
    Store store = store_of(partition);
    std::size_t entries = 0;
    // Seldom: a feed overdue by a second is also claimed by workers that leave the partition to another worker.
    if (const auto now = std::chrono::steady_clock::now(); now - woken[partition] > 3s) {
      if (!Feeds(store).wake(theirs[partition], 0ms, true)) return entries;
      woken[partition] = now;
    }
    for (const std::string& url : theirs[partition]) {
      const auto some = Entries(store).all_by_order(url, 100);
      entries += some ? some->size() : 0;
    }
    return entries;
  };
  const auto are_complete = [&] {
    for (unsigned i = 0; i < partitions; ++i) {
      if (stored(i) != theirs[i].size() * static_cast<std::size_t>(posts)) return false;
    }
    return true;
  };
  EXPECT_TRUE(eventually(are_complete)) << worker.err();
  const std::string address = listening_at(worker);
  EXPECT_TRUE(eventually([&] { return get(address, "/readyz").starts_with("HTTP/1.1 200"); })) << worker.err();

  for (unsigned i = 0; i < partitions; ++i) {
    const std::string ready = "feedmill_ready{partition=\"" + std::to_string(i) + "\"} 1\n";
    EXPECT_TRUE(eventually([&] { return get(address, "/metrics").find(ready) != std::string::npos; })) << ready;
  }
  const std::string figures = get(address, "/metrics");
  EXPECT_EQ(count_of(figures, "# TYPE feedmill_refreshes_total "), 1U);
  EXPECT_NE(get(address, "/").find("Location: status"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return get(address, "/status").find("All is well") != std::string::npos; }))
      << get(address, "/status");
  const std::string overview = get(address, "/status");
  EXPECT_NE(overview.find("This worker serves 4 partitions"), std::string::npos) << overview;
  EXPECT_NE(overview.find("<a href=\"/p3/status\">3</a>"), std::string::npos) << overview;
  EXPECT_NE(get(address, "/status/style.css").find("text/css"), std::string::npos);
  EXPECT_NE(get(address, "/p3/status").find("<a href=\"../status\">all</a>"), std::string::npos);
  EXPECT_NE(get(address, "/status/feed?url=" + last).find("Location: ../p3/status/feed?url=http"), std::string::npos);
  const std::string page = get(address, "/p3/status/feeds");
  EXPECT_NE(page.find("\"/p3/status/feed?url="), std::string::npos) << page;
  EXPECT_EQ(page.find("\"/status"), std::string::npos) << "leads to another partition";
  EXPECT_NE(page.find("<a href=\"../../p2/status\">2</a>"), std::string::npos) << page;
  const Finished top = world.run({"top", "--once", "--json", "--partition", "3"}, {{"FEEDMILL_ADMIN_LISTEN", address}});
  EXPECT_EQ(top.exit, 0) << top.err;

  const auto call = [&](const std::string& method, const std::string& path, const std::string& body = "") {
    return ask({method,
                "http://" + address + "/api/v1" + path,
                {{"Authorization", "Bearer " + token}, {"Content-Type", "application/json"}, {"Prefer", "wait=10"}},
                body});
  };
  for (unsigned i = 0; i < hosts; ++i) {
    const std::string url = all[i]->url("/feed"), another = all[i]->url("/another");
    EXPECT_EQ(call("GET", "/feed?url=" + url).status, 200) << url;
    EXPECT_EQ(call("POST", "/feeds", R"({"url":")" + another + R"("})").status, 201) << another;
    theirs[partition_of(another, partitions)].push_back(another);
  }
  Store its = store_of(partitions - 1);
  const std::string id = Entries(its).all_by_order(last, 1)->front().id;
  EXPECT_EQ(call("GET", "/entries/" + percent_encoded(id)).status, 200) << id;
  EXPECT_EQ(call("POST", "/channels?partition=2", R"({"channel":"anna/news"})").status, 201);
  EXPECT_NE(call("GET", "/channels?user=anna&partition=2").body.find("anna/news"), std::string::npos);
  const HttpAnswer webhook = call("POST", "/webhooks?partition=2", R"({"url":"https://hooks.example/"})");
  ASSERT_EQ(webhook.status, 201) << webhook.body;
  const std::string there = webhook.header("location").substr(std::string("/api/v1").size());
  EXPECT_EQ(call("GET", there).status, 200) << there;
  EXPECT_EQ(call("GET", "/webhooks").status, 400) << "which of them is not said";
  const std::string login = R"({"origin":"https://paper.example","user":"me","secret":"s3cret"})";
  EXPECT_EQ(call("PUT", "/logins/paper", login).status, 200) << "they are the same everywhere";
  EXPECT_NE(call("GET", "/logins?partition=3").body.find("reader/paper"), std::string::npos);
  EXPECT_EQ(call("GET", "/feeds?partition=4").status, 400);
  const HttpAnswer listed = call("GET", "/feeds?partition=3");
  EXPECT_EQ(count_of(listed.body, "\"url\":"), theirs[3].size()) << listed.body;
  EXPECT_TRUE(eventually(are_complete)) << worker.err();

  killed.signal(SIGKILL);
  for (unsigned i = 0; i < partitions; ++i)
    redis_command(node_of(i), {"DEL", store_of(i).prefix() + "lock:delivery:000"});
  redis.await_replicas();
  worker.signal(SIGHUP);
  const auto set_all = [&](const std::string& name, const std::string& value) {
    for (std::size_t i = 0; i < redis.nodes(); ++i) {
      if (redis.node(i).pid() > 0) redis_command(redis.node(i), {"CONFIG", "SET", name, value});
    }
  };
  // A worker that left its partition to the dead one looks again after 10 s; until then no replica may replace the
  // node.
  set_all("cluster-require-full-coverage", "no");
  set_all("cluster-replica-validity-factor", "0");
  set_all("cluster-replica-no-failover", "yes");
  node_of(1).kill();
  EXPECT_TRUE(eventually([&] {
    const std::string answer = get(address, "/readyz?verbose");
    return answer.starts_with("HTTP/1.1 200") && answer.find("partition 1: ") != std::string::npos;
  })) << "the others are served: "
      << worker.err();
  set_all("cluster-replica-no-failover", "no");
  posts = 5;
  EXPECT_TRUE(eventually(are_complete)) << worker.err();
  EXPECT_TRUE(eventually([&] { return get(address, "/readyz").starts_with("HTTP/1.1 200"); })) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_EQ(worker.err().find("needs_restart\":\"r"), std::string::npos) << worker.err();
  const Finished verified = world.run({"verify", "--json"});
  EXPECT_EQ(verified.exit, 0) << verified.out << verified.err;
  EXPECT_EQ(count_of(verified.out, "\"violations\":0,"), partitions) << "of each";
  EXPECT_EQ(world.run({"verify", "--feed", last}).exit, 0);
  EXPECT_EQ(world.run({"verify", "--repair", "--journal", "/dev/null"}).exit, 78) << "of which?";
}

/// Hubs and subscribers reach partition 3 under /p3 of one address, whichever worker answers.
TEST_F(Partitions, AreReachedFromOutsideAtOneAddress) {
  Authority authority;
  HttpServer hub_server(authority.issue({.names = {"IP:127.0.0.1"}})), subscriber;
  WebSubHub hub(hub_server);
  std::atomic<int> posts = 1;
  std::vector<std::unique_ptr<Host>> hosts;
  std::map<unsigned, std::string> feeds;
  while (feeds.size() < partitions) {
    const Host& host = *hosts.emplace_back(std::make_unique<Host>(static_cast<unsigned>(hosts.size())));
    if (feeds.emplace(partition_of(host.url("/feed"), partitions), host.url("/feed")).second)
      hosts.back()->list(posts, "<" + hub.url() + ">; rel=\"hub\", <" + host.url("/feed") + ">; rel=\"self\"");
  }
  for (const auto& [partition, feed] : feeds) {
    ASSERT_EQ(world.run({"add", feed}).exit, 0);
    ASSERT_EQ(world.run({"set", feed, "republish=yes", "ca_file=" + authority.file()}).exit, 0);
  }
  const std::string callbacks = "127.0.0.1:" + std::to_string(free_port()),
                    outside = "127.0.0.1:" + std::to_string(free_port()), others = "http://" + outside + "/posts";
  // No poll is due during the test.
  world.environment["FEEDMILL_SCHEDULE_FLOOR"] = world.environment["FEEDMILL_SCHEDULE_CEILING"] = "1h";
  for (const auto& [name, value] : Environment{{"FEEDMILL_WEBSUB_PUBLIC_URL", "http://" + callbacks + "/hooks"},
                                               {"FEEDMILL_WEBSUB_LISTEN", callbacks},
                                               {"FEEDMILL_WEBSUB_ALLOW_HTTP", "true"},
                                               {"FEEDMILL_WEBSUB_HUB_SPACING", "0ms"},
                                               {"FEEDMILL_PUSH_OUT_PUBLIC_URL", others},
                                               {"FEEDMILL_PUSH_OUT_LISTEN", outside}})
    world.environment[name] = value;
  subscriber.serve_rest([](const ServedRequest& request) {
    const auto fields = form_fields(request.target.substr(std::min(request.target.find('?'), request.target.size())));
    for (const auto& [name, value] : fields) {
      if (name == "hub.challenge") return Response{.body = value};
    }
    return Response{.status = 202};
  });

  const auto worker = std::make_unique<Program>(std::vector<std::string>{"run", "--push-out"}, world.environment);
  const auto path = [](unsigned partition) { return "/p" + std::to_string(partition); };
  for (const auto& [partition, feed] : feeds) {
    ASSERT_TRUE(hub.await_subscribers(feed, 1)) << worker->err();
    EXPECT_TRUE(
        hub.subscribers(feed)[0].callback.starts_with("http://" + callbacks + "/hooks" + path(partition) + "/w/"));
  }
  std::map<unsigned, json::object> topics;
  for (const auto& [partition, feed] : feeds) {
    topics[partition] = json::parse(world.run({"topic", "add", feed, "--json"}).out).as_object();
    const std::string atom(topics[partition].at("atom").as_string());
    EXPECT_TRUE(atom.starts_with(others + path(partition) + "/t/")) << atom;
    EXPECT_EQ(ask({.url = atom}).status, 200) << atom;
  }
  const auto subscribe = [&](const std::string& at, unsigned partition, const std::string& callback) {
    const std::string topic(topics[partition].at("atom").as_string());
    return ask({"POST",
                at,
                {{"Content-Type", "application/x-www-form-urlencoded"}},
                "hub.mode=subscribe&hub.topic=" + percent_encoded(topic) +
                    "&hub.callback=" + percent_encoded(callback)})
        .status;
  };
  for (const auto& [partition, feed] : feeds) {
    const std::string mine = others + path(partition), callback = subscriber.url(path(partition));
    EXPECT_EQ(subscribe(mine + "/hub", (partition + 1) % partitions, callback), 404) << "a topic of another partition";
    EXPECT_EQ(subscribe(mine + "/hub", partition, others + path((partition + 1) % partitions) + "/hub"), 400);
    EXPECT_EQ(subscribe(mine + "/hub", partition, callback), 202);
    Store store = store_of(partition);
    EXPECT_TRUE(eventually([&] { return Subscribers(store).counts()->hub_active == 1; })) << partition;
    EXPECT_EQ(ask({.url = mine + "/events"}).status, 401);
  }
  for (const char* none : {"/hub", "/events", "/p4/hub", "/p4/events", "/p04/hub", "/p/hub"})
    EXPECT_EQ(subscribe(others + none, 0, subscriber.url("/p0")), std::string(none).ends_with("/events") ? 405 : 404);

  posts = 2;
  const auto brings = [&](unsigned partition, std::size_t expected) {
    for (const HttpAnswer& answer : hub.publish(feeds[partition], "")) EXPECT_EQ(answer.status, 202) << answer.body;
    Store store = store_of(partition);
    return eventually([&] { return Entries(store).all_by_order(feeds[partition], 10)->size() == expected; });
  };
  for (const auto& [partition, feed] : feeds) EXPECT_TRUE(brings(partition, 2)) << feed << worker->err();
  const auto told = [&](unsigned partition) {
    return std::ranges::any_of(subscriber.requests(), [&](const ServedRequest& request) {
      return request.method == "POST" && request.target == path(partition) &&
             request.header("Link").find(others + path(partition) + "/hub") != std::string::npos;
    });
  };
  for (const auto& feed : feeds) EXPECT_TRUE(eventually([&] { return told(feed.first); })) << worker->err();
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().exit, 0);

  const auto of_one = worker_of(2);
  EXPECT_TRUE(eventually([&] { return of_one->err().find("ready") != std::string::npos; })) << of_one->err();
  posts = 3;
  EXPECT_TRUE(brings(2, 3)) << of_one->err();
  for (const HttpAnswer& answer : hub.publish(feeds[1], "")) EXPECT_EQ(answer.status, 404) << "nobody serves it here";
}

/// Webhooks, the live stream and the event cursor cover all partitions unless one is named. A worker and a node with
/// some of the partitions are killed, and no client misses an event.
TEST_F(Partitions, PushOutEventsOfAllPartitions) {
  HttpServer receiver;
  receiver.serve_rest([](const ServedRequest&) { return Response{.status = 204}; });
  std::atomic<int> posts = 1;
  std::vector<std::unique_ptr<Host>> hosts;
  std::map<unsigned, std::string> feeds;
  while (feeds.size() < partitions) {
    const Host& host = *hosts.emplace_back(std::make_unique<Host>(static_cast<unsigned>(hosts.size())));
    if (feeds.emplace(partition_of(host.url("/feed"), partitions), host.url("/feed")).second) hosts.back()->list(posts);
  }
  for (const auto& [partition, feed] : feeds) {
    ASSERT_EQ(world.run({"add", feed}).exit, 0);
    ASSERT_EQ(world.run({"set", feed, partition == 3 ? "republish=no" : "republish=yes"}).exit, 0);
  }
  const std::string token = "token-of-the-reader", file = (world.redis.directory() / "token").string();
  const std::string config = (world.redis.directory() / "feedmill.toml").string(), port = std::to_string(free_port());
  std::ofstream(file) << token;
  std::ofstream(config) << "[api.token.reader]\nasks = true\nfile = \"" + file + "\"\n";
  for (const auto& [name, value] : Environment{{"FEEDMILL_SIGNALS_MERGED", "true"},
                                               {"FEEDMILL_PUSH_OUT_LISTEN", "127.0.0.1:" + port},
                                               {"FEEDMILL_PUSH_OUT_TOKEN_FILE", file}})
    world.environment[name] = value;
  const std::vector<std::string> run{"run", "--push-out", "--config", config, "--listen", "127.0.0.1:0"};
  auto worker = std::make_unique<Program>(run, world.environment);
  const std::string address = listening_at(*worker);
  const auto call = [&](const std::string& method, const std::string& path, const std::string& body = "") {
    return ask({method,
                "http://" + address + "/api/v1" + path,
                {{"Authorization", "Bearer " + token}, {"Content-Type", "application/json"}},
                body});
  };
  ASSERT_TRUE(eventually([&] { return get(address, "/readyz").starts_with("HTTP/1.1 200"); })) << worker->err();

  const Finished added = world.run({"webhook", "add", receiver.url("/open"), "--json"});
  ASSERT_EQ(added.exit, 0) << added.err;
  ASSERT_EQ(world.run({"webhook", "add", receiver.url("/private"), "--private"}).exit, 0);
  const Finished of_none = world.run({"webhook", "add", receiver.url("/none"), "--channel", "anna/none"});
  EXPECT_NE(of_none.err.find("no channel anna/none yet"), std::string::npos) << of_none.err;
  EXPECT_EQ(world.run({"webhook", "add", receiver.url("/none"), "--feed", "http://none.example/"}).exit, 1);
  const HttpAnswer of_two =
      call("POST", "/webhooks",
           R"({"url":")" + receiver.url("/two") + R"(","feeds":[")" + feeds[0] + R"(",")" + feeds[1] + R"("]})");
  ASSERT_EQ(of_two.status, 201) << of_two.body;
  const std::string there = of_two.header("location").substr(std::string("/api/v1").size());
  EXPECT_EQ(call("GET", there).status, 200) << there;
  EXPECT_EQ(call("GET", there + "&partition=0").status, 404) << "it is of all of them";
  EXPECT_EQ(count_of(call("GET", "/webhooks").body, "\"created\":"), 4U);
  EXPECT_EQ(count_of(world.run({"webhook", "list", "--json"}).out, "\"created\":"), 4U);
  EXPECT_EQ(count_of(run_at(0, {"webhook", "list", "--json"}).out, "\"created\":"), 0U);

  std::set<std::string> were_there;
  for (const auto& [partition, feed] : feeds) {
    Store store = store_of(partition);
    for (const StoredEntry& entry : *Entries(store).all_by_order(feed, 100)) were_there.insert(entry.id);
  }
  /// The posts that the receiver got at `path`.
  const auto told = [&](const std::string& path) {
    std::vector<std::string> guids;
    for (const ServedRequest& request : receiver.requests()) {
      if (request.target != path) continue;
      const json::object message = json::parse(request.body).as_object();
      if (message.at("type").as_string() == "post_created")
        guids.emplace_back(message.at("data").as_object().at("entity_id").as_string());
    }
    return guids;
  };
  const auto tells = [&](const std::string& path, std::initializer_list<unsigned> whom, int upto) {
    const auto has_all = [&] {
      const std::vector<std::string> guids = told(path);
      const std::set<std::string> each(guids.begin(), guids.end());
      for (const unsigned partition : whom) {
        Store store = store_of(partition);
        if (!Feeds(store).wake(std::array{feeds[partition]}, 0ms, true)) return false;
        const auto entries = Entries(store).all_by_order(feeds[partition], 100);
        if (!entries || entries->size() != static_cast<std::size_t>(upto)) return false;
        for (const StoredEntry& entry : *entries) {
          if (!were_there.contains(entry.id) && !each.contains(entry.id)) return false;
        }
      }
      return true;
    };
    EXPECT_TRUE(eventually(has_all)) << path << " " << upto << worker->err();
  };
  posts = 3;
  tells("/open", {0, 1, 2}, 3);
  tells("/private", {0, 1, 2, 3}, 3);
  tells("/two", {0, 1}, 3);

  const std::string stream =
      ask_raw(static_cast<std::uint16_t>(std::stoi(port)),
              "GET /events?last_event_id=0-0 HTTP/1.1\r\nHost: me\r\nAuthorization: Bearer " + token + "\r\n\r\n", 2s)
          .body;
  for (unsigned i = 0; i < partitions; ++i)
    EXPECT_EQ(stream.find("\"feed_url\":\"" + feeds[i]) == stream.npos, i == 3) << i << stream;
  EXPECT_EQ(ask({.url = "http://127.0.0.1:" + port + "/p1/events?feed=" + percent_encoded(feeds[2]),
                 .headers = {{"Authorization", "Bearer " + token}}})
                .status,
            400);
  const std::string events = call("GET", "/events?limit=200").body;
  for (const auto& [partition, feed] : feeds) EXPECT_NE(events.find(feed), events.npos) << events;
  const std::string figures = get(address, "/metrics");
  EXPECT_NE(figures.find("feedmill_subscribers{state=\"webhook_active\",partition=\"all\"}"), figures.npos);
  EXPECT_EQ(figures.find("feedmill_ready{partition=\"all\"}"), figures.npos) << "it is that of the partitions";
  const Finished doctor = world.run({"doctor"});
  EXPECT_NE((doctor.out + doctor.err).find("4 webhooks"), std::string::npos) << doctor.out << doctor.err;
  const std::size_t once = doctor.out.find("written and removed (all " + std::to_string(partitions) + " partitions)");
  EXPECT_NE(once, std::string::npos) << doctor.out;
  EXPECT_EQ(doctor.out.find("written and removed", once + 1), std::string::npos) << "what is so of all is told once";
  const std::string rows = world.run({"doctor", "--json"}).out;
  for (unsigned i = 0; i < partitions; ++i)
    EXPECT_NE(rows.find("\"partition\":" + std::to_string(i)), std::string::npos) << rows;

  worker->signal(SIGKILL);
  redis.await_replicas();
  worker = std::make_unique<Program>(run, world.environment);
  posts = 4;
  for (unsigned i = 0; i < partitions; ++i)
    redis_command(node_of(i), {"DEL", store_of(i).prefix() + "lock:delivery:000"});
  redis.await_replicas();
  const std::string lead = "{stream:signals}:lock:push_out";  // the dead worker's lock, valid for 10 s more
  for (unsigned i = 0; i < partitions; ++i) redis_command(node_of(i), {"DEL", lead});
  node_of(1).kill();
  posts = 5;
  tells("/private", {0, 1, 2, 3}, 5);
  tells("/open", {0, 1, 2}, 5);
  tells("/two", {0, 1}, 5);
  for (const std::string& id : told("/open")) EXPECT_NE(partition_of_key(id, partitions), 3U) << "it is private";
  for (const std::string& id : told("/two")) EXPECT_LE(partition_of_key(id, partitions), 1U) << id;
  const std::string id(json::parse(added.out).as_object().at("id").as_string());
  EXPECT_EQ(world.run({"webhook", "remove", id, "--yes"}).exit, 0);
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().exit, 0) << worker->err();
}

/// SECURITY K7: the first partition has them; the worker here serves only the feed's.
TEST_F(Partitions, ShareTheLoginsOfFeeds) {
  const Host host(0);
  std::ofstream(world.redis.directory() / "secret") << "s3cret";
  const std::string url = host.url("/feed"), secret = (world.redis.directory() / "secret").string();
  const unsigned its = partition_of(url, partitions);
  ASSERT_NE(its, 0U);
  const Finished put =
      world.run({"login", "set", "ops/paper", "--origin", host.url(""), "--header", "X-Key", "--file", secret});
  ASSERT_EQ(put.exit, 0) << put.err;
  EXPECT_NE(run_at(3, {"login", "list"}).out.find("ops/paper"), std::string::npos);
  const Finished added = world.run({"add", url, "--auth", "ops/paper"});
  ASSERT_EQ(added.exit, 0) << added.err;
  const auto worker = worker_of(its);
  const auto is_sent = [&] {
    return std::ranges::any_of(host.server.requests(),
                               [](const ServedRequest& request) { return request.header("X-Key") == "s3cret"; });
  };
  EXPECT_TRUE(eventually(is_sent)) << worker->err();
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait().exit, 0);
  EXPECT_EQ(run_at(2, {"login", "remove", "ops/paper", "--yes"}).exit, 0);
}

TEST_F(Partitions, AreNamedWhenTheWrongOneIsAsked) {
  const std::string url = "https://example.org/feed.xml";
  const unsigned its = partition_of(url, partitions), other = (its + 1) % partitions;
  const Finished refused = run_at(other, {"add", url});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_NE(
      refused.err.find("partition " + std::to_string(its) + " has https://example.org/feed.xml: use --partition " +
                       std::to_string(its) + "; nothing was added"),
      std::string::npos)
      << refused.err;
  EXPECT_EQ(run_at(its, {"add", url}).exit, 0);
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"show", url}, {"explain", url}, {"pause", url}, {"refresh", url}, {"entries", url}}) {
    const Finished asked = run_at(other, words);
    EXPECT_EQ(asked.exit, 1) << words[0];
    EXPECT_NE(asked.err.find("use --partition " + std::to_string(its)), std::string::npos) << words[0] << asked.err;
  }
  const Finished where = world.run({"where", url, "--json"});
  ASSERT_EQ(where.exit, 0) << where.err;
  const json::object told = json::parse(where.out).as_object();
  EXPECT_EQ(told.at("partition").as_int64(), its);
  EXPECT_EQ(told.at("node").as_string(), *store_of(its).node());
  EXPECT_EQ(told.at("prefix").as_string(), "{" + tag_of({its, partitions}) + "}:");
  ASSERT_EQ(world.run({"entry", "put", "--feed", url, "--guid", "a", "title=A"}).exit, 0) << "where it belongs";
  Store store = store_of(its);
  const auto posts = Entries(store).all_by_order(url);
  ASSERT_TRUE(posts && posts->size() == 1);
  for (const std::string& id : {posts->front().id, posts->front().id.substr(posts->front().id.find("Entry:"))}) {
    EXPECT_EQ(json::parse(world.run({"where", id, "--json"}).out).as_object().at("partition").as_int64(), its) << id;
  }
  EXPECT_EQ(world.run({"where", "Entry:999999"}).exit, 1);
  EXPECT_EQ(world.run({"where", posts->front().id}, {{"FEEDMILL_REDIS_PARTITIONS", "8"}}).exit, 78)
      << "not: no such entry";
  const Finished of_other_shape = world.run({"list"}, {{"FEEDMILL_REDIS_PARTITIONS", "1"}});
  EXPECT_EQ(of_other_shape.exit, 78);
  EXPECT_NE(of_other_shape.err.find("write redis.partitions = 4"), std::string::npos) << of_other_shape.err;

  const std::filesystem::path directory = world.redis.directory();
  std::ofstream(directory / "token") << "token-of-the-reader";
  std::ofstream(directory / "feedmill.toml")
      << "[api.token.reader]\nfile = \"" << (directory / "token").string() << "\"\n";
  const Program worker({"run", "--config", directory / "feedmill.toml", "--listen", "127.0.0.1:0"},
                       world.with({{"FEEDMILL_REDIS_PARTITION", std::to_string(its)}}));
  const std::string address = listening_at(worker);
  const auto feeds = [&](unsigned partition) {
    return ask({.url = "http://" + address + "/api/v1/feeds?partition=" + std::to_string(partition),
                .headers = {{"Authorization", "Bearer token-of-the-reader"}}});
  };
  EXPECT_TRUE(eventually([&] { return feeds(its).status == 200; })) << feeds(its).body;
  EXPECT_NE(feeds(other).body.find("this worker serves only " + std::to_string(its)), std::string::npos);
}

/// Verbs find the partition of their feed or go to all partitions; otherwise --partition is required.
TEST_F(Partitions, NeedNotBeNamedWhereFeedsAre) {
  std::vector<std::string> urls, add{"add", "--json"};
  std::string list;
  std::size_t listed = 0;
  for (unsigned host = 0; host < 8; ++host) {
    urls.push_back("https://host" + std::to_string(host) + ".example/feed.xml");
    list += urls.back() + "\nhttps://other" + std::to_string(host) + ".example/feed.xml\n";
    listed += 2;
  }
  add.insert(add.end(), urls.begin(), urls.end());
  const Finished added = world.run(add);
  ASSERT_EQ(added.exit, 0) << added.err;
  EXPECT_EQ(count_of(added.out, "\"result\":\"added\""), urls.size()) << added.out;
  for (const std::string& url : urls) {
    Store store = store_of(partition_of(url, partitions));
    EXPECT_TRUE(*Feeds(store).is_registered(url)) << url;
    EXPECT_EQ(world.run({"show", url}).exit, 0) << url;
  }
  std::vector<std::string> pause = {"pause"};
  pause.insert(pause.end(), urls.begin(), urls.end());
  EXPECT_EQ(world.run(pause).exit, 0);
  EXPECT_EQ(world.run({"add", "nonsense", urls[0]}).exit, 65);
  std::vector<std::string> resume = {"resume", "https://unknown.example/feed.xml"};
  resume.insert(resume.end(), urls.begin(), urls.end());
  const Finished lacks = world.run(resume);
  EXPECT_EQ(lacks.exit, 1);
  EXPECT_NE(lacks.err.find("no such feed: https://unknown.example/feed.xml; nothing was resumed"), std::string::npos);
  EXPECT_EQ(count_of(world.run({"list", "--json"}).out, "\"paused\""), urls.size()) << "in no partition";
  const auto elsewhere = std::ranges::find_if(
      urls, [&](const auto& url) { return partition_of(url, partitions) != partition_of(urls[0], partitions); });
  const Finished moved = world.run({"move", urls[0], *elsewhere});
  EXPECT_EQ(moved.exit, 1) << moved.out;
  EXPECT_NE(moved.err.find("is already a feed"), std::string::npos) << moved.err;
  const Finished of_another_shape = world.run({"run"}, {{"FEEDMILL_REDIS_PARTITIONS", "8"}});
  EXPECT_EQ(of_another_shape.exit, 78);
  EXPECT_EQ(count_of(of_another_shape.err, "write redis.partitions = 4"), 1U) << of_another_shape.err;
  EXPECT_EQ(of_another_shape.err.find("Redis does not answer"), std::string::npos) << of_another_shape.err;
  ASSERT_EQ(world.run({"entry", "put", "--feed", urls[0], "--guid", "a", "title=A"}).exit, 0);
  Store its = store_of(partition_of(urls[0], partitions));
  const std::string id = Entries(its).all_by_order(urls[0])->front().id;
  EXPECT_EQ(world.run({"entry", id}).exit, 0) << "the id says where it is";
  EXPECT_EQ(world.run({"entry", id.substr(id.rfind(':') + 1)}).exit, 0) << "and so does its number";
  ASSERT_EQ(world.run({"entry", "put", "--feed", *elsewhere, "--guid", "b", "title=B"}).exit, 0);
  Store another = store_of(partition_of(*elsewhere, partitions));
  const std::string second = Entries(another).all_by_order(*elsewhere)->front().id;
  const Finished lacking = world.run({"entry", "remove", id, second, "1000", "--yes"});
  EXPECT_EQ(lacking.exit, 1) << lacking.out;
  EXPECT_NE(lacking.err.find("nothing was removed"), std::string::npos) << lacking.err;
  EXPECT_EQ(world.run({"entry", "remove", id, second, "--yes"}).exit, 0) << "of two partitions";
  EXPECT_EQ(world.run({"entry", id}).exit, 1);
  EXPECT_EQ(world.run({"entry", second}).exit, 1);
  const std::string nowhere = "redis://127.0.0.1:" + std::to_string(free_port());
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"pause", urls[0], *elsewhere}, {"entry", "51"}, {"entry", "remove", id, second, "--yes"}}) {
    const Finished away = world.run(words, {{"FEEDMILL_REDIS_URL", nowhere}});
    EXPECT_EQ(away.exit, 69) << words[0] << away.err;
  }

  const std::string file = (world.redis.directory() / "feeds.txt").string();
  std::ofstream(file) << list;
  const Finished imported = world.run({"import", file});
  ASSERT_EQ(imported.exit, 0) << imported.err;
  EXPECT_NE(imported.out.find("added 8, present 8,"), std::string::npos) << imported.out;
  EXPECT_EQ(imported.out.find("other partitions"), std::string::npos) << imported.out;
  const Finished shown = world.run({"list", "--json"});
  EXPECT_EQ(count_of(shown.out, "\"url\":"), listed) << shown.out;
  EXPECT_EQ(count_of(shown.out, "\"partition\":"), listed) << shown.out;
  const Finished opml = world.run({"export"});
  EXPECT_EQ(count_of(opml.out, "xmlUrl="), listed) << opml.out << opml.err;
  EXPECT_EQ(count_of(opml.out, "</opml>"), 1U);
  EXPECT_EQ(count_of(world.run({"export", "--json"}).out, "\"url\":"), listed);
  std::ofstream(file) << opml.out;
  EXPECT_NE(world.run({"import", file}).out.find("added 0, present 16,"), std::string::npos) << "as it was";
  std::int64_t feeds = 0;
  std::set<std::int64_t> told;
  std::istringstream rows(world.run({"stats", "--json"}).out);
  for (std::string row; std::getline(rows, row);) {
    const json::object figures = json::parse(row).as_object();
    feeds += figures.at("feeds").as_int64();
    told.insert(figures.at("partition").as_int64());
  }
  EXPECT_EQ(feeds, static_cast<std::int64_t>(listed));
  EXPECT_EQ(told.size(), partitions);
  const std::string together = world.run({"stats"}).out;
  EXPECT_EQ(count_of(together, "being fetched"), 1U) << together;
  EXPECT_NE(together.find(" " + std::to_string(listed) + ": "), std::string::npos) << together;
  std::ofstream(file) << urls[0] << "\n";
  EXPECT_EQ(world.run({"import", file, "--prune", "--yes"}).exit, 0);
  const Finished one = world.run({"list"});
  EXPECT_EQ(count_of(one.out, "http"), 1U) << one.out;
  EXPECT_EQ(one.err, "") << "most partitions have no feed";

  for (const auto& words :
       std::vector<std::vector<std::string>>{{"top"}, {"tail"}, {"topic", "list"}, {"webhook", "list"}}) {
    const Finished asked = world.run(words);
    EXPECT_EQ(asked.exit, 78) << words[0] << asked.out;
    EXPECT_NE(asked.err.find("--partition 0…3"), std::string::npos) << words[0] << asked.err;
  }
}

/// One export holds all partitions. It can be imported into another number of partitions, or into an unpartitioned
/// store, and keeps entry numbers and read marks.
TEST_F(Partitions, AreRestoredIntoAnotherNumber) {
  std::vector<std::string> follow{"channel", "feeds", "anna/news"};
  std::string read_number;
  ASSERT_EQ(world.run({"channel", "add", "anna/news"}).exit, 0);
  for (unsigned host = 0; host < 8; ++host) {
    const std::string url = "https://host" + std::to_string(host) + ".example/feed.xml";
    ASSERT_EQ(world.run({"add", url}).exit, 0);
    follow.insert(follow.end(), {"--add", url});
    const Finished put = world.run({"entry", "put", "--feed", url, "--guid", "a", "title=A", "--json"});
    ASSERT_EQ(put.exit, 0) << put.err;
    read_number = std::to_string(leading_number<unsigned>(put.out.substr(put.out.rfind("Entry:") + 6)));
  }
  ASSERT_EQ(world.run(follow).exit, 0);
  ASSERT_EQ(world.run({"channel", "read", "anna/news", read_number}).exit, 0);
  const auto numbers = [this](const std::map<std::string, std::string>& where) {
    std::set<std::string> all;
    std::istringstream rows(world.run({"channel", "timeline", "anna/news", "--json"}, where).out);
    for (std::string row; std::getline(rows, row);) {
      const std::string id(json::parse(row).as_object().at("id").as_string());
      all.insert(id.substr(id.rfind(':') + 1));
    }
    return all;
  };
  const std::set<std::string> unread = numbers({});
  EXPECT_EQ(unread.size(), 7U);

  const std::string file = (world.redis.directory() / "store.jsonl").string();
  const Finished exported = world.run({"store", "export", file});
  ASSERT_EQ(exported.exit, 0) << exported.err;
  EXPECT_NE(exported.out.find("8 feeds, 8 entries, 1 channels"), std::string::npos) << exported.out;
  const Finished some = world.run({"store", "export", "--feed", follow[4], "--feed", follow[6]});
  EXPECT_EQ(count_of(some.out, "\"t\":\"entry\""), 2U) << some.err;
  EXPECT_EQ(world.run({"store", "export", "--feed", "https://unknown.example/"}).exit, 1);
  for (const char* const count : {"1", "7"}) {
    SCOPED_TRACE(count);
    const std::map<std::string, std::string> where{{"FEEDMILL_REDIS_PARTITIONS", count},
                                                   {"FEEDMILL_REDIS_KEY_PREFIX", std::string("new") + count + ":"}};
    const Finished tried = world.run({"store", "import", file, "--dry-run"}, where);
    EXPECT_NE(tried.out.find("would import 8 feeds, 8 entries"), std::string::npos) << tried.out << tried.err;
    EXPECT_EQ(world.run({"store", "import", "/dev/null"}, where).exit, 65);
    EXPECT_EQ(world.run({"list"}, {{"FEEDMILL_REDIS_PARTITIONS", "3"}, *where.begin()}).exit, 0) << "none is made yet";
    const Finished imported = world.run({"store", "import", file}, where);
    ASSERT_EQ(imported.exit, 0) << imported.err;
    EXPECT_NE(imported.out.find("imported 8 feeds, 8 entries, 1 channels"), std::string::npos) << imported.out;
    EXPECT_NE(imported.out.find("kept their numbers"), std::string::npos) << imported.out;
    EXPECT_EQ(numbers(where), unread);
    EXPECT_EQ(world.run({"verify"}, where).exit, 0);
    for (const std::string& number : unread) {
      EXPECT_EQ(world.run({"entry", number}, where).exit, 0) << number << ", wherever it is now";
      EXPECT_EQ(world.run({"where", number}, where).exit, 0) << number;
    }
    for (const char* const verb : {"entry", "where"}) EXPECT_EQ(world.run({verb, "1000"}, where).exit, 1);
    EXPECT_EQ(world.run({"channel", "unread", "anna/news", read_number}, where).exit, 0);
    EXPECT_EQ(numbers(where).size(), 8U);
    for (const auto& [name, value] : where) world.environment[name] = value;
  }
  // Serve the store of the last import.
  Reader reader(world);
  json::array entries;
  for (const std::string& number : unread) {
    EXPECT_EQ(reader.call("GET", "/entries/" + number).at("code"), 200) << number;
    entries.emplace_back(number);
  }
  EXPECT_EQ(reader.call("GET", "/entries/1000").at("code"), 404);
  const auto marked = reader.call("POST", "/channel/marks?channel=anna/news",
                                  json::serialize(json::object{{"as", "read"}, {"entries", entries}}));
  EXPECT_EQ(marked.at("changed"), 7) << json::serialize(marked);
  EXPECT_EQ(numbers({}), std::set<std::string>{read_number});
  EXPECT_EQ(reader.call("DELETE", "/entries/" + read_number).at("code"), 200);
  EXPECT_TRUE(numbers({}).empty());
  reader.stop();
}

/// A channel with feeds in every partition is one channel to verbs and to API clients of a worker for all partitions.
TEST_F(Partitions, HaveChannelsTogether) {
  constexpr unsigned hosts = 12;
  std::vector<std::unique_ptr<Host>> all;
  std::vector<std::string> urls, add{"add"}, follow{"channel", "feeds", "anna/news"};
  std::set<unsigned> theirs;
  std::atomic<int> posts = 2;
  for (unsigned i = 0; i < hosts; ++i) {
    const auto& host = all.emplace_back(std::make_unique<Host>(i));
    host->list(posts);
    urls.push_back(host->url("/feed"));
    add.push_back(urls.back());
    follow.insert(follow.end(), {"--add", urls.back()});
    theirs.insert(partition_of(urls.back(), partitions));
  }
  ASSERT_EQ(theirs.size(), partitions);
  ASSERT_EQ(world.run(add).exit, 0);
  EXPECT_EQ(world.run(follow).exit, 1) << "no such channel, and none is made";
  EXPECT_EQ(world.run({"channel", "list", "--json"}).out, "");
  EXPECT_EQ(world.run({"channel", "add", "anna/work", "anna/news"}).exit, 0);
  EXPECT_EQ(count_of(world.run({"channel", "add", "anna/news", "--json"}).out, "\"present\""), 1U);
  const Finished followed = world.run(follow);
  EXPECT_EQ(followed.exit, 0) << followed.err;
  EXPECT_EQ(count_of(followed.out, "added "), hosts) << followed.out;
  const Finished once = world.run({"run", "--once"});
  EXPECT_EQ(once.exit, 0) << once.err;

  Reader reader(world);
  const Program& worker = reader.worker;
  const auto call = [&](const std::string& method, const std::string& path, const std::string& body = "") {
    return reader.call(method, path, body);
  };
  const auto unread = [&] {
    const json::object told = call("GET", "/channels?user=anna");
    if (!told.contains("channels")) return std::int64_t{-1};  // the worker has just started
    for (const json::value& row : told.at("channels").as_array()) {
      if (row.at("channel") == "anna/news") return row.at("unread").as_int64();
    }
    return std::int64_t{-1};
  };
  constexpr std::int64_t expected = std::int64_t{hosts} * 2;
  ASSERT_TRUE(eventually([&] { return unread() == expected; })) << worker.err();

  // Many posts share a second: posts of all partitions have one order, and a cursor is valid in each partition.
  const auto rows_of = [](const std::string& lines) {
    std::vector<std::string> ids;
    std::istringstream rows(lines);
    for (std::string row; std::getline(rows, row);) ids.emplace_back(json::parse(row).at("id").as_string());
    return ids;
  };
  const Finished shown = world.run({"channel", "timeline", "anna/news", "--json", "--limit", "100"});
  const std::vector<std::string> timeline = rows_of(shown.out);
  EXPECT_EQ(std::set<std::string>(timeline.begin(), timeline.end()).size(), std::size_t{expected}) << shown.out;
  EXPECT_EQ(rows_of(world.run({"channel", "timeline", "anna/news", "--all", "--json", "--limit", "100"}).out),
            timeline);
  const auto pages = [&](const std::string& path, const std::string& list, const std::string& cursor) {
    std::vector<std::string> found;
    std::string from;
    for (bool more = true; more;) {
      const json::object page = call("GET", path + (from.empty() ? "" : "&" + cursor + "=" + percent_encoded(from)));
      for (const json::value& row : page.at(list).as_array())
        found.emplace_back(row.is_string() ? row.as_string()
                                           : row.at(row.as_object().contains("id") ? "id" : "url").as_string());
      more = page.at("next").is_string();
      if (more) from = page.at("next").as_string();
    }
    return found;
  };
  EXPECT_EQ(pages("/channel/entries?channel=anna/news&limit=5", "entries", "before"), timeline);
  std::vector<std::string> sorted = urls;
  std::ranges::sort(sorted);
  EXPECT_EQ(pages("/channel/feeds?channel=anna/news&limit=5", "feeds", "after"), sorted);
  EXPECT_EQ(pages("/feeds?limit=5", "feeds", "after"), sorted);
  EXPECT_EQ(pages("/channel/entries?channel=anna/news&all=true&limit=5", "entries", "before"), timeline);
  const auto unread_of = [&](const std::string& url) {
    const std::string its = "&url=" + percent_encoded(url);
    return static_cast<std::int64_t>(
        pages("/channel/entries?channel=anna/news&limit=5" + its, "entries", "before").size());
  };
  std::int64_t of_all = 0;
  for (const std::string& url : urls) of_all += unread_of(url);
  EXPECT_EQ(of_all, static_cast<std::int64_t>(timeline.size()));
  EXPECT_EQ(pages("/feeds?user=anna&limit=5", "feeds", "after"), sorted);
  EXPECT_EQ(pages("/feeds?state=healthy&text=/FEED&limit=5", "feeds", "after"), sorted);
  for (const std::string& url : urls)
    EXPECT_EQ(call("POST", "/feed/pause?url=" + percent_encoded(url)).at("result"), "paused");
  auto paused = pages("/feeds?state=paused&limit=5", "feeds", "after");
  std::ranges::sort(paused);
  EXPECT_EQ(paused, sorted);
  for (const std::string& url : urls)
    EXPECT_EQ(call("POST", "/feed/resume?url=" + percent_encoded(url)).at("result"), "resumed");
  const json::object titled{{"url", urls[0]}, {"channel", "anna/news"}, {"title", "Mine"}};
  EXPECT_EQ(call("POST", "/feeds", json::serialize(titled)).at("result"), "present");
  const auto of_anna = call("GET", "/feeds?user=anna&limit=50");
  for (const json::value& row : of_anna.at("feeds").as_array())
    EXPECT_EQ(row.at("custom_title"), row.at("url").as_string() == urls[0] ? json::value("Mine") : json::value());
  EXPECT_EQ(call("GET", "/channel/entries?channel=anna/none").at("reason"), "no_such_channel");

  // Marks reach the posts' partitions, whether posts are named by key or by number.
  const std::string number = timeline[1].substr(timeline[1].rfind(':') + 1);
  const json::object marks{{"as", "read"}, {"entries", {timeline[0], std::stoll(number), timeline.back()}}};
  const json::object marked = call("POST", "/channel/marks?channel=anna/news", json::serialize(marks));
  EXPECT_EQ(marked.at("code"), 200) << json::serialize(marked);
  EXPECT_EQ(marked.at("changed"), 3) << json::serialize(marked);
  EXPECT_EQ(unread(), expected - 3);
  std::int64_t counted = 0;
  const json::value counts = call("GET", "/unread?user=anna").at("channels").at(0);
  for (const json::value& feed : counts.at("feeds").as_array()) counted += feed.at("unread").as_int64();
  EXPECT_EQ(counted, expected - 3);
  EXPECT_EQ(counts.at("unread"), expected - 3);
  EXPECT_EQ(world.run({"channel", "unread", "anna/news", number, timeline[0]}).exit, 0);
  EXPECT_EQ(unread(), expected - 1);
  const std::int64_t of_first = unread_of(urls[0]);
  const json::object of_feed{{"as", "read"}, {"entries", "all"}, {"url", urls[0]}};
  EXPECT_EQ(call("POST", "/channel/marks?channel=anna/news", json::serialize(of_feed)).at("result"), "marked");
  EXPECT_EQ(unread_of(urls[0]), 0);
  EXPECT_EQ(unread(), expected - 1 - of_first);
  EXPECT_EQ(world.run({"channel", "read", "anna/news", "--all"}).exit, 0);
  EXPECT_EQ(unread(), 0);
  EXPECT_EQ(call("GET", "/channel/entries?channel=anna/news").at("entries").as_array().size(), 0U);

  // One invalid entry rejects the whole call. A repeated Idempotency-Key gets the first answer, whatever happened to
  // the channel since.
  EXPECT_EQ(world.run({"channel", "unread", "anna/news", number}).exit, 0);
  const json::object refused =
      call("POST", "/channel/marks?channel=anna/news",
           json::serialize(json::object{{"as", "read"}, {"entries", json::array{std::stoll(number), "nonsense"}}}));
  EXPECT_EQ(refused.at("code"), 422) << json::serialize(refused);
  EXPECT_EQ(unread(), 1);
  EXPECT_EQ(call("POST", "/channels", R"({"channel":"bert/empty"})").at("code"), 201);
  EXPECT_EQ(call("POST", "/channel/marks?channel=bert/empty", json::serialize(marks)).at("changed"), 0);
  EXPECT_EQ(call("POST", "/channel/marks?channel=bert/none", json::serialize(marks)).at("code"), 404);
  EXPECT_EQ(reader.call("DELETE", "/channel?channel=bert/empty", "", "key-1").at("result"), "removed");
  const json::object again = reader.call("DELETE", "/channel?channel=bert/empty", "", "key-1");
  EXPECT_EQ(again.at("result"), "removed") << json::serialize(again);
  EXPECT_TRUE(again.contains("repeated"));
  EXPECT_EQ(reader.call("DELETE", "/channel?channel=bert/late", "", "key-2").at("code"), 404);
  EXPECT_EQ(call("POST", "/channels", R"({"channel":"bert/late"})").at("code"), 201);
  EXPECT_EQ(reader.call("DELETE", "/channel?channel=bert/late", "", "key-2").at("code"), 404) << "as it was answered";
  EXPECT_EQ(world.run({"channel", "remove", "bert/late", "--yes"}).exit, 0);

  // Importing an OPML list keeps the order of its folders, although each partition sees only some of them.
  const std::string opml = (world.redis.directory() / "list.opml").string();
  std::ofstream list(opml);
  list << "<opml version=\"2.0\"><body>";
  for (const char* const folder : {"a", "b", "c", "d", "e", "f"}) {
    list << "<outline text=\"" << folder << "\">";
    list << "<outline type=\"rss\" xmlUrl=\"" << urls[static_cast<std::size_t>(folder[0]) % hosts] << "\"/></outline>";
  }
  list << "</body></opml>";
  list.close();
  EXPECT_EQ(world.run({"import", opml, "--user", "carl"}).exit, 0);
  std::string folders;
  std::istringstream folder_rows(world.run({"channel", "list", "--user", "carl", "--json"}).out);
  for (std::string row; std::getline(folder_rows, row);) {
    folders += std::string(json::parse(row).at("channel").as_string()) + " ";
    EXPECT_EQ(json::parse(row).at("feeds"), 1) << row;
  }
  EXPECT_EQ(folders, "carl/a carl/b carl/c carl/d carl/e carl/f ");
  EXPECT_EQ(world.run({"channel", "remove", "carl/a", "carl/b", "carl/c", "carl/d", "carl/e", "carl/f", "--yes"}).exit,
            0);

  // The API imports and exports lists as the verbs do: each folder is written once, whichever partitions have its
  // feeds.
  std::string subscriptions = "<opml version=\"2.0\"><body><outline text=\"z\">";
  for (const std::string& url : urls) subscriptions += "<outline type=\"rss\" xmlUrl=\"" + url + "\"/>";
  subscriptions +=
      "</outline><outline text=\"y\"><outline type=\"rss\" xmlUrl=\"" + urls[3] + "\"/></outline></body></opml>";
  const json::object brought = call("POST", "/import?user=dora", subscriptions);
  EXPECT_EQ(brought.at("code"), 200) << json::serialize(brought);
  EXPECT_EQ(brought.at("present"), hosts) << json::serialize(brought);
  EXPECT_EQ(brought.at("added"), 0);
  EXPECT_FALSE(brought.contains("elsewhere"));
  const std::string of_program = reader.text("/export?user=dora"),
                    of_verb = world.run({"export", "--user", "dora"}).out;
  for (const std::string& written : {of_program, of_verb}) {
    EXPECT_EQ(count_of(written, "text=\"z\""), 1U) << written;
    EXPECT_EQ(count_of(written, "text=\"y\""), 1U) << written;
    EXPECT_EQ(count_of(written, "xmlUrl="), hosts + 1U);
    EXPECT_EQ(count_of(written, "</opml>"), 1U);
  }
  const std::string dora = world.run({"channel", "list", "--user", "dora"}).out;
  EXPECT_LT(dora.find("dora/z"), dora.find("dora/y")) << "in the order of the list";
  const std::string all_of_them = world.run({"export"}).out;
  EXPECT_EQ(count_of(all_of_them, "text=\"news\""), 1U) << all_of_them;
  EXPECT_EQ(world.run({"channel", "remove", "dora/z", "dora/y", "--yes"}).exit, 0);

  // A feed may join a channel that had no feed in its partition; a channel that exists nowhere is not created.
  const std::string put = "/channel/feed?channel=anna/work&url=" + percent_encoded(urls[0]);
  EXPECT_EQ(call("DELETE", put).at("result"), "not_followed");
  EXPECT_EQ(call("PUT", put).at("result"), "followed");
  EXPECT_EQ(call("PUT", put).at("result"), "followed_already");
  EXPECT_EQ(call("DELETE", put).at("result"), "unfollowed");
  EXPECT_EQ(call("PUT", "/channel/feed?channel=anna/none&url=" + percent_encoded(urls[0])).at("code"), 404);
  EXPECT_EQ(call("POST", "/feeds", R"({"url":")" + all[0]->url("/another") + R"(","channel":"anna/found"})").at("code"),
            201);
  EXPECT_EQ(call("POST", "/channels/order", R"({"channels":["anna/found","anna/news","anna/work"]})").at("result"),
            "ordered");
  EXPECT_EQ(call("POST", "/channels/order", R"({"channels":["anna/found","zoe/news","yan/news","xia/a","wim/b"]})")
                .at("reason"),
            "bad_value");
  const auto elsewhere = std::ranges::find_if(
      urls, [&](const auto& url) { return partition_of(url, partitions) != partition_of(urls[0], partitions); });
  ASSERT_NE(elsewhere, urls.end());
  const std::string move = "/feed/move?url=" + percent_encoded(urls[0]);
  EXPECT_EQ(call("POST", move, R"({"to":")" + *elsewhere + R"("})").at("reason"), "taken");
  EXPECT_EQ(call("POST", move, R"({"undo":true})").at("reason"), "not_moved");
  const auto order = [&] {
    std::string uids;
    std::istringstream rows(world.run({"channel", "list", "--user", "anna", "--json"}).out);
    for (std::string row; std::getline(rows, row);)
      uids += std::string(json::parse(row).at("channel").as_string()) + " ";
    return uids;
  };
  EXPECT_EQ(order(), "anna/found anna/news anna/work ");
  EXPECT_EQ(world.run({"channel", "order", "anna/work"}).exit, 0);
  EXPECT_EQ(order(), "anna/work anna/found anna/news ");

  EXPECT_EQ(call("DELETE", "/channel?channel=anna/news").at("result"), "removed");
  EXPECT_EQ(call("DELETE", "/channel?channel=anna/news").at("code"), 404);
  EXPECT_EQ(world.run({"channel", "remove", "anna/work", "anna/found", "--yes"}).exit, 0);
  EXPECT_EQ(world.run({"channel", "list", "--json"}).out, "");
  reader.stop();
  EXPECT_EQ(world.run({"verify"}).exit, 0);
}

/// A user's rule covers posts in every partition, and its notices are one list.
TEST_F(Partitions, ShareUserRulesAndNotices) {
  constexpr unsigned hosts = 12;
  std::vector<std::unique_ptr<Host>> all;
  std::vector<std::string> urls, add{"add"};
  std::atomic<int> posts = 1;
  for (unsigned i = 0; i < hosts; ++i) {
    const auto& host = all.emplace_back(std::make_unique<Host>(i));
    host->list(posts);
    urls.push_back(host->url("/feed"));
    add.push_back(urls.back());
  }
  ASSERT_EQ(world.run(add).exit, 0);
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0) << "what a feed begins with is told to nobody";
  const auto id_of = [](const std::string& rows, const std::string& kind) {
    std::istringstream lines(rows);
    for (std::string row; std::getline(lines, row);) {
      const json::object rule = json::parse(row).as_object();
      if (rule.at("kind").as_string() == kind) return std::string(rule.at("id").as_string());
    }
    return std::string();
  };
  const Finished words = world.run({"notify", "rules", "anna", "--words", "post", "--feed", urls[3], "--json"});
  ASSERT_EQ(words.exit, 0) << words.err;
  EXPECT_EQ(count_of(words.out, "\n"), 2U) << "each once: " << words.out;
  EXPECT_EQ(world.run({"notify", "rules", "anna", "--words", "post", "--json"}).out, words.out) << "there it is";

  Reader reader(world);
  const auto notices = [&](const std::string& user) {
    const json::object told = reader.call("GET", "/notices?user=" + user);
    return told.contains("notices") ? told.at("notices").as_array().size() : 0;
  };
  const auto publish = [&](int number) {
    posts = number;
    for (unsigned i = 0; i < partitions; ++i) {
      Store store = store_of(i);
      EXPECT_TRUE(Feeds(store).wake(*Feeds(store).urls_after("", 1000), 0ms, true));
    }
  };
  publish(2);
  ASSERT_TRUE(eventually([&] { return notices("anna") == hosts; })) << reader.worker.err();
  EXPECT_EQ(count_of(world.run({"notify", "list", "anna", "--unread", "--json"}).out, "\n"), hosts);
  const json::array shown = reader.call("GET", "/notices?user=anna").at("notices").as_array();
  for (std::size_t i = 1; i < shown.size(); ++i)
    EXPECT_GE(shown[i - 1].at("timestamp").as_int64(), shown[i].at("timestamp").as_int64());
  const json::object one{{"as", "read"}, {"notices", json::array{shown[5].at("id")}}};
  EXPECT_GE(reader.call("POST", "/notices/marks?user=anna", json::serialize(one)).at("changed").as_int64(), 1);
  EXPECT_EQ(world.run({"notify", "read", "anna", "--all"}).exit, 0);
  EXPECT_EQ(world.run({"notify", "list", "anna", "--unread", "--json"}).out, "");

  // A rule removed by its id matches no posts in any partition; the feed's rule still does.
  EXPECT_EQ(reader.call("DELETE", "/rules/" + id_of(words.out, "words") + "?user=anna").at("result"), "removed");
  EXPECT_EQ(reader.call("DELETE", "/rules/" + id_of(words.out, "words") + "?user=anna").at("code"), 404);
  EXPECT_EQ(reader.call("POST", "/rules?user=bert", R"({"words":"post"})").at("result"), "watching");
  for (const std::string& url : urls) {  // whichever partition the feed and the user are in
    const json::object watching = reader.call("POST", "/rules?user=dora", json::serialize(json::object{{"url", url}}));
    EXPECT_EQ(watching.at("code"), 200) << json::serialize(watching);
  }
  EXPECT_EQ(reader.call("GET", "/rules?user=dora").at("rules").as_array().size(), hosts);
  const json::array berts = reader.call("GET", "/rules?user=bert").at("rules").as_array();
  ASSERT_EQ(berts.size(), 1U);
  EXPECT_EQ(world.run({"notify", "delete", "anna", "--all"}).out, "deleted " + std::to_string(hosts) + "\n");
  publish(3);
  EXPECT_TRUE(eventually([&] { return notices("bert") == hosts; })) << reader.worker.err();
  EXPECT_EQ(notices("anna"), 1U);
  EXPECT_EQ(world.run({"notify", "rules", "bert", "--remove", std::to_string(berts[0].at("id").as_int64())}).exit, 0);
  for (unsigned i = 0; i < partitions; ++i) {
    Store store = store_of(i);
    EXPECT_EQ(Notifications(store).watches("bert")->size(), 0U) << i;
  }
  EXPECT_EQ(world.run({"notices"}).exit, 0);
  reader.stop();
}

/// Two workers serve all partitions: each partition's due feeds go to its primary worker, and to the other one once the
/// primary is dead.
TEST_F(Partitions, AreLeftToTheirPrimaryWorker) {
  constexpr unsigned hosts = 12;
  std::mutex mutex;
  std::map<unsigned, std::vector<std::string>> urls;
  std::map<unsigned, std::string> polls;  // by partition: which worker made each poll
  std::vector<std::unique_ptr<Host>> all;
  std::vector<std::string> add{"add"};
  for (unsigned i = 0; i < hosts; ++i) {
    all.push_back(std::make_unique<Host>(i));
    add.push_back(all.back()->url("/feed"));
    const unsigned partition = partition_of(add.back(), partitions);
    urls[partition].push_back(add.back());
    all.back()->server.serve_rest([&, partition](const ServedRequest& request) {
      const std::lock_guard lock(mutex);
      polls[partition] += request.header("User-Agent").find("//one.") == std::string::npos ? 'o' : '1';
      return Response{.body = rss({{request.target, "Post"}})};
    });
  }
  ASSERT_EQ(world.run(add).exit, 0);
  Program one({"run", "--listen", "127.0.0.1:0"}, world.with({{"FEEDMILL_FETCH_CONTACT", "http://one.example"}}));
  Program other({"run"}, world.with({{"FEEDMILL_FETCH_CONTACT", "http://other.example"}}));
  const auto made_in_all = [&] {
    const std::lock_guard lock(mutex);
    std::size_t sum = 0;
    for (const auto& [partition, made] : polls) sum += made.size();
    return sum;
  };
  const auto is_of = [&](const std::string& whose, std::size_t rounds) {
    const std::size_t before = made_in_all();
    for (const auto& [partition, feeds] : urls) {
      Store store = store_of(partition);
      if (!Feeds(store).wake(feeds, 0ms, true)) return false;
    }
    if (!eventually([&] { return made_in_all() > before; })) return false;
    const std::lock_guard lock(mutex);
    return std::ranges::all_of(urls, [&](const auto& its) {
      const std::string& made = polls[its.first];
      const std::size_t last = rounds * its.second.size();
      return made.size() >= last && whose.find(made.back()) != whose.npos &&
             made.find_first_not_of(made.back(), made.size() - last) == made.npos;
    });
  };
  const auto shared_out = [&] { return is_of("1o", 10); };  // they discover each other within 20 s
  EXPECT_TRUE(eventually(shared_out) || eventually(shared_out)) << testing::PrintToString(polls);
  const std::string address = listening_at(one);
  for (unsigned i = 0; i < partitions; ++i) {
    const std::string status = get(address, "/p" + std::to_string(i) + "/status.json");
    EXPECT_EQ(count_of(status, "\"stands_first\":true"), 1U) << status;
    EXPECT_EQ(count_of(status, "\"stands_first\":false"), 1U) << status;
    EXPECT_EQ(count_of(get(address, "/p" + std::to_string(i) + "/status"), ", primary"), 1U);
  }
  one.signal(SIGKILL);
  const auto taken_over = [&] { return is_of("o", 1); };
  EXPECT_TRUE(eventually(taken_over)) << other.err();
  other.signal(SIGTERM);
  const Finished ended = other.wait();
  EXPECT_EQ(ended.exit, 0) << ended.err;
}

/// One host that feeds in all partitions lead to, by a redirect or because they moved there.
TEST_F(Partitions, ShareTheGateOfAHost) {
  constexpr unsigned hosts = 12;
  constexpr auto answer_takes = 40ms;
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1";
  for (const auto& [name, value] : lease(20'000)) world.environment[name] = value;  // no worker is killed, and all wait
  Host target(100);
  std::mutex mutex;
  std::vector<Clock::time_point> starts;
  std::map<std::string, int> polls;
  target.server.serve_rest([&](const ServedRequest& request) {
    const std::lock_guard lock(mutex);
    starts.push_back(Clock::now());
    ++polls[request.target];
    return Response{.body = rss({{request.target, "Post"}}), .delay = answer_takes};
  });
  std::vector<std::unique_ptr<Host>> all;
  std::set<unsigned> theirs;
  for (unsigned i = 0; i < hosts; ++i) {
    const auto& host = all.emplace_back(std::make_unique<Host>(i));
    const std::string path = "/" + std::to_string(i);
    host->server.serve(path, Response{.status = 302, .headers = {{"Location", target.url(path)}}});
    const std::string url = host->url(path);
    const unsigned partition = partition_of(url, partitions);
    theirs.insert(partition);
    ASSERT_EQ(run_at(partition, {"add", url}).exit, 0);
    if (i % 2 == 0) {
      const Finished moved = run_at(partition, {"move", url, target.url(path)});
      ASSERT_EQ(moved.exit, 0) << moved.err;
    }
  }
  ASSERT_EQ(theirs.size(), partitions);
  std::array<std::unique_ptr<Program>, partitions> workers;
  for (unsigned i = 0; i < partitions; ++i) workers[i] = worker_of(i);
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return polls.size() == hosts && std::ranges::all_of(polls, [](const auto& one) { return one.second >= 2; });
  })) << workers[0]->err();
  stop(workers);
  const std::lock_guard lock(mutex);
  for (std::size_t i = 1; i < starts.size(); ++i) EXPECT_GE(starts[i] - starts[i - 1], answer_takes) << i;
}

/// One hub that feeds in all partitions name, and two workers serving them.
TEST_F(Partitions, ShareTheGateOfAHub) {
  constexpr unsigned hosts = 12;
  constexpr auto answer_takes = 60ms;
  Authority authority;
  HttpServer hub(authority.issue({.names = {"IP:127.0.0.1"}}));
  std::mutex mutex;
  std::map<std::string, Clock::time_point> asked;  // by callback
  hub.serve_rest([&](const ServedRequest& request) {
    const std::lock_guard lock(mutex);
    for (const auto& [name, value] : form_fields(request.body)) {
      if (name == "hub.callback") asked.emplace(value, Clock::now());
    }
    return Response{.status = 202, .delay = answer_takes};
  });
  std::atomic<int> posts = 1;
  std::vector<std::unique_ptr<Host>> all;
  std::vector<std::string> add{"add"};
  for (unsigned i = 0; i < hosts; ++i) {
    all.push_back(std::make_unique<Host>(i));
    add.push_back(all.back()->url("/feed"));
    all.back()->list(posts, "<" + hub.url("/") + ">; rel=\"hub\", <" + add.back() + ">; rel=\"self\"");
  }
  ASSERT_EQ(world.run(add).exit, 0);
  for (unsigned i = 0; i < hosts; ++i) ASSERT_EQ(world.run({"set", add[i + 1], "ca_file=" + authority.file()}).exit, 0);
  for (const auto& [name, value] : Environment{{"FEEDMILL_WEBSUB_PUBLIC_URL", "http://127.0.0.1"},
                                               {"FEEDMILL_WEBSUB_LISTEN", "127.0.0.1:0"},
                                               {"FEEDMILL_WEBSUB_ALLOW_HTTP", "true"},
                                               {"FEEDMILL_WEBSUB_HUB_SPACING", "0ms"},
                                               {"FEEDMILL_WEBSUB_HUB_CONCURRENCY", "1"}})
    world.environment[name] = value;
  Program one({"run"}, world.environment), other({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return asked.size() == hosts;
  })) << one.err();
  for (Program* const worker : {&one, &other}) worker->signal(SIGTERM);
  EXPECT_EQ(one.wait().exit, 0);
  EXPECT_EQ(other.wait().exit, 0);
  std::vector<Clock::time_point> starts;
  for (const auto& [callback, at] : asked) starts.push_back(at);
  std::ranges::sort(starts);
  for (std::size_t i = 1; i < starts.size(); ++i) EXPECT_GE(starts[i] - starts[i - 1], answer_takes) << i;
}

}  // namespace
}  // namespace feedmill::test::partitions_test
