#include "worker/verbs/doctor.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/certificates.hpp"
#include "tests/support/dns_server.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/process/run_options.hpp"

namespace feedmill::doctor_test {
namespace {

using namespace std::chrono_literals;

/// Verdict and check: "ok clock", "warn clock", "fail clock".
std::string shown(const Finding& finding) {
  return std::string(to_string(finding.verdict)) + " " + finding.check;
}

std::string shown(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += (text.empty() ? "" : ", ") + shown(finding);
  return text;
}

ServerFacts good_server() {
  ServerFacts facts;
  facts.server = "redis 7.0.15";
  facts.role = "master";
  facts.policy = "noeviction";
  facts.append_only = true;
  facts.last_save = "ok";
  facts.now = 1'772'370'432'000ms;
  return facts;
}

TEST(Doctor, FindsNothingWrongWithAGoodServer) {
  const auto findings = check_server(good_server(), 1'772'370'434'000ms);
  EXPECT_EQ(shown(findings), "ok redis writes, ok redis disk, ok redis memory, ok clock");
  for (const Finding& finding : findings) EXPECT_EQ(finding.remedy, "");
}

TEST(Doctor, NamesAServerThatStoresPostsAsHashTables) {
  MemoryUse use;
  EXPECT_EQ(shown(check_packing(use, 1'000)), "ok redis packing") << "no posts yet";
  use.posts = 6;
  use.posts_a_feed = 10;
  use.post_bytes = 4'000;
  use.packed_post_bytes = 2'700;
  const Finding found = check_packing(use, 1'000);
  EXPECT_EQ(shown(found), "warn redis packing");
  EXPECT_NE(found.text.find("32 % less"), std::string::npos) << found.text;
  EXPECT_NE(found.remedy.find("hash-max-listpack-value 65536"), std::string::npos);
  EXPECT_EQ(shown(check_packing(use, 999)), "ok redis packing") << "too few posts to matter";
  use.packed_post_bytes = 3'900;
  EXPECT_EQ(shown(check_packing(use, 1'000)), "ok redis packing");
}

TEST(Doctor, NamesTheFaultsOfAServer) {
  ServerFacts facts = good_server();
  facts.write_error = "NOPERM";
  facts.append_only = false;
  facts.used_memory = 95 << 20;
  facts.max_memory = 100 << 20;
  facts.clients = 9'500;
  facts.max_clients = 10'000;
  facts.replicas = 0;
  const auto findings = check_server(facts, facts.now + 20s);
  EXPECT_EQ(
      shown(findings),
      "fail redis writes, warn redis disk, warn redis memory, warn redis connections, warn redis replicas, warn clock");
  for (const Finding& finding : findings) EXPECT_NE(finding.remedy, "") << finding.check;
  facts.last_save = "err";
  facts.clients = 9'000;
  facts.replicas = 1;
  EXPECT_EQ(shown(check_server(facts, facts.now - 10min)),
            "fail redis writes, fail redis disk, warn redis memory, fail clock");
}

TEST(Doctor, NamesWhatWouldBeWrongOnceAnotherIsThePrimary) {
  ServerFacts facts = good_server();
  facts.replicas = 1;
  facts.standbys = {{.address = "10.0.0.2:6379",
                     .trouble = "",
                     .policy = "noeviction",
                     .append_only = true,
                     .now = facts.now + 1s,
                     .then = facts.now}};
  const std::string server = "ok redis writes, ok redis disk, ok redis memory, ";
  EXPECT_EQ(shown(check_server(facts, facts.now)), server + "ok redis replicas, ok clock");
  facts.standbys[0].policy = "allkeys-lru";
  facts.standbys[0].append_only = false;
  facts.standbys[0].now += 10s;
  EXPECT_EQ(shown(check_server(facts, facts.now)),
            server + "warn redis replicas, warn redis replicas, warn redis replicas, ok clock");
  facts.standbys[0].policy = "";  // unknown: no finding
  facts.standbys[0].now = facts.now;
  facts.append_only = false;  // the primary lacks it too
  EXPECT_EQ(shown(check_server(facts, facts.now)),
            "ok redis writes, warn redis disk, ok redis memory, ok redis replicas, ok clock");
  facts.standbys[0].trouble = "WRONGPASS";
  const auto findings = check_server(facts, facts.now);
  EXPECT_EQ(shown(findings), "ok redis writes, warn redis disk, ok redis memory, warn redis replicas, ok clock");
  EXPECT_EQ(findings[3].text, "10.0.0.2:6379 cannot be reached: WRONGPASS");
}

TEST(Doctor, ShowsPartitionPlacementAndCrowding) {
  EXPECT_TRUE(check_partitions({{0, "a:1", 1'000'000}}).empty());
  std::vector<PlacedPartition> all;
  for (std::uint32_t i = 0; i < 8; ++i) all.push_back({i, i < 4 ? "a:1" : "b:1", 1'000});
  EXPECT_EQ(shown(check_partitions(all)), "ok partitions");
  EXPECT_EQ(check_partitions(all)[0].text, "4 at a:1, 4 at b:1");
  all[2].feeds = 1'600;  // of 4,600
  const auto findings = check_partitions(all);
  EXPECT_EQ(shown(findings), "warn partitions, ok partitions");
  EXPECT_EQ(findings[0].text, "partition 2 has 1 600 of the 4 600 feeds at a:1: a host, or a few, with many feeds");
  all[3].node = "c:1";
  EXPECT_EQ(shown(check_partitions(all)), "ok partitions") << "of three each has a third";
  for (PlacedPartition& one : all) one.feeds /= 10;
  all[3].node = "a:1";
  EXPECT_EQ(shown(check_partitions(all)), "ok partitions") << "few are nowhere many";
}

TEST(Doctor, NamesIdleFleetsFeedsThatCannotBeReadAndReadersThatLag) {
  FleetFigures fleet;
  StreamFigures stream;
  EXPECT_EQ(shown(check_fleet(fleet, stream)), "ok workers, ok feeds, ok consumers") << "nothing is there yet";
  fleet.feeds = 100;
  fleet.workers = 2;
  fleet.states = {{"new", 40}, {"healthy", 50}, {"degraded", 4}, {"paused", 1}, {"never_read", 3}, {"gone", 2}};
  stream.now = 1'772'370'432'000ms;
  stream.groups = {{"search", 3, stream.now - 4min}};
  EXPECT_EQ(shown(check_fleet(fleet, stream)), "ok workers, ok feeds, ok consumers") << "5 of 100 fail";
  fleet.workers = 0;
  fleet.states.back().second = 3;
  stream.groups = {{"search", 31'000, stream.now - 6min}, {"mail", 0, {}}};
  const auto findings = check_fleet(fleet, stream);
  EXPECT_EQ(shown(findings), "warn workers, warn feeds, warn consumers");
  EXPECT_EQ(findings.back().text, "search lags by 31 000 records, the oldest 6 min old");
  for (const Finding& finding : findings) EXPECT_NE(finding.remedy, "") << finding.check;
}

TEST(Doctor, CountsAllWorkersAndComparesTheirConfigurations) {
  FleetFigures fleet;
  fleet.feeds = fleet.workers = 1;
  fleet.other_workers = 2;
  EXPECT_EQ(check_fleet(fleet, {}).front().text, "3 running (fetching: 1)");
  fleet.differing = {"egress.allow", "retention.entries"};
  const auto findings = check_fleet(fleet, {});
  EXPECT_EQ(shown(findings), "ok workers, warn configuration, ok feeds, ok consumers");
  EXPECT_EQ(findings[1].text, "workers differ in egress.allow, retention.entries");
  fleet.workers = 0;
  EXPECT_EQ(check_fleet(fleet, {}).front().text, "2 running, but none fetches");
}

TEST(Doctor, ReportsReceiversWithoutAPushingWorker) {
  Config config;
  SubscriberCounts counts;
  EXPECT_EQ(shown(check_push_out(config, counts, false)), "ok push out") << "nobody is to be told";
  counts.webhooks_active = 2;
  counts.hub_active = 1;
  auto findings = check_push_out(config, counts, true);
  EXPECT_EQ(shown(findings), "ok push out");
  EXPECT_EQ(findings.front().text, "2 webhooks, 1 subscriber of the hub");
  findings = check_push_out(config, counts, false);
  EXPECT_EQ(shown(findings), "warn push out");
  EXPECT_NE(findings.front().remedy.find("feedmill run --push-out"), std::string::npos);
  counts = {};
  counts.hub_pending = 1;
  EXPECT_EQ(shown(check_push_out(config, counts, false)), "warn push out") << "nobody asks it whether it meant it";
}

TEST(Doctor, SaysWhichWebhooksAreSuspended) {
  SubscriberCounts counts;
  counts.webhooks_suspended = 1;
  auto findings = check_push_out(Config(), counts, false);
  EXPECT_EQ(shown(findings), "warn push out") << "a worker would not help it";
  EXPECT_EQ(findings.front().text, "1 of 1 webhook is suspended after failing for push_out.give_up");
  EXPECT_NE(findings.front().remedy.find("feedmill webhook list"), std::string::npos);
  counts.webhooks_active = 1000;
  findings = check_push_out(Config(), counts, true);
  EXPECT_EQ(shown(findings), "warn push out");
  EXPECT_EQ(findings.front().text, "1 of 1 001 webhooks are suspended after failing for push_out.give_up");
}

TEST(Doctor, WantsAPublicAddressForTheListenerOfPushingOut) {
  Config config;
  config.push_out.listen = boost::asio::ip::tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"), 9812);
  const auto findings = check_push_out(config, {}, false);
  EXPECT_EQ(shown(findings), "warn push out");
  EXPECT_NE(findings.front().remedy.find("push_out.public_url"), std::string::npos);
  config.push_out.public_url = "https://posts.example";
  EXPECT_EQ(shown(check_push_out(config, {}, false)), "ok push out");
}

TEST(Doctor, AsksForAContactAboveAThousandFeeds) {
  EXPECT_EQ(shown(check_contact(1000, "")), "ok fetch.contact");
  EXPECT_EQ(shown(check_contact(1001, "")), "fail fetch.contact");
  EXPECT_EQ(shown(check_contact(1001, "https://example.org/bot")), "ok fetch.contact");
}

TEST(Doctor, WarnsOfHostsThatCannotFit) {
  EXPECT_EQ(shown(check_hosts({}, 7)), "ok hosts");
  const std::vector<HostLoad> unfit(25, HostLoad{"big.example", 100'000, 0, 104'000, 86'400});
  const auto findings = check_hosts(unfit, 40);
  EXPECT_EQ(findings.size(), 21U);
  EXPECT_EQ(findings.front().text, "big.example: its 100000 feeds need 104 000 polls a day, but only 86 400 fit");
  EXPECT_EQ(shown(findings.back()), "warn hosts");
  EXPECT_EQ(findings.back().text, "5 more");
}

TEST(Doctor, WantsDescriptorsForEveryLane) {
  Config config;
  config.worker.lanes = 256;
  config.worker.threads = 1;
  config.store.connections = 1;
  EXPECT_EQ(shown(check_descriptors(20'000, config)), "ok descriptors");
  const Finding few = check_descriptors(256, config);
  EXPECT_EQ(shown(few), "warn descriptors");
  EXPECT_NE(few.remedy.find("160"), std::string::npos) << few.remedy;
  config.worker.threads = 4;
  EXPECT_NE(check_descriptors(1024, config).remedy.find("worker.lanes to 160"), std::string::npos);
  const Finding none = check_descriptors(60, config);
  EXPECT_EQ(shown(none), "fail descriptors");
  EXPECT_EQ(none.text, "60 files may be open, and a worker needs 78");
  config.worker.threads = 16;
  EXPECT_EQ(shown(check_descriptors(20'000, config)), "ok descriptors");
  EXPECT_GT(descriptor_limit(), 0U);
}

TEST(Doctor, CountsTheAuthorities) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("roots-" + std::to_string(getpid()));
  EXPECT_EQ(shown(check_tls_roots(file.string())), "fail tls roots");
  std::ofstream(file) << "no certificate\n";
  EXPECT_EQ(shown(check_tls_roots(file.string())), "fail tls roots");
  const test::Authority authority;
  const std::string one = authority.issue({.names = {"DNS:a.example"}}).certificate;
  std::ofstream(file) << one << one;
  EXPECT_EQ(check_tls_roots(file.string()).text, "2 authorities in " + file.string());
  std::filesystem::remove(file);
}

TEST(Doctor, LooksAtTheDataDirectoryOfAPrivateServerOnly) {
  Config config;
  config.redis.url = "redis://localhost";
  EXPECT_EQ(shown(check_data_directory(config)), "ok data directory");
  config.redis.url.clear();
  config.store.data_dir = "/etc/passwd/feedmill";
  EXPECT_EQ(shown(check_data_directory(config)), "fail data directory");
  config.store.data_dir = std::filesystem::temp_directory_path() / "not-there-yet" / "feedmill";
  EXPECT_NE(check_data_directory(config).verdict, Verdict::fail);
}

TEST(Doctor, WantsAPlaceForDocumentsThatMeetABug) {
  Config config;
  EXPECT_EQ(shown(check_poison_directory(config)), "ok keep_poison") << "none are kept";
  config.debug.keep_poison = "/nowhere/poison";
  EXPECT_EQ(check_poison_directory(config).text, "/nowhere/poison does not exist");
  config.debug.keep_poison = "/etc/passwd";
  EXPECT_EQ(check_poison_directory(config).text, "/etc/passwd is not a directory");
  EXPECT_EQ(shown(check_poison_directory(config)), "fail keep_poison");
  config.debug.keep_poison = std::filesystem::temp_directory_path();
  EXPECT_EQ(shown(check_poison_directory(config)), "ok keep_poison");
}

TEST(Doctor, ShowsTheEgressPolicyAndItsRisks) {
  const auto check = [](std::vector<std::string> allow, std::vector<std::string> deny) {
    Config config;
    config.egress.allow = std::move(allow);
    config.egress.deny = std::move(deny);
    config.egress.ports = {"80", "443"};
    return check_egress_policy(config,
                               *EgressPolicy::parse(config.egress.allow, config.egress.deny, config.egress.ports));
  };
  EXPECT_EQ(check({}, {}).text, "public addresses, ports 80, 443");
  const Finding opened = check({"10.0.0.0/8"}, {"10.0.0.1"});
  EXPECT_EQ(shown(opened), "ok egress");
  EXPECT_EQ(opened.text, "public addresses, ports 80, 443; opened: 10.0.0.0/8; closed: 10.0.0.1");
  EXPECT_EQ(shown(check({"0.0.0.0/0"}, {})), "warn egress") << "the metadata of a cloud machine is in it";
  EXPECT_EQ(shown(check({"0.0.0.0/0"}, {"169.254.0.0/16", "168.63.129.16"})), "ok egress");
  EXPECT_EQ(shown(check({"10.0.0.0/8"}, {"0.0.0.0/0", "::/0"})), "warn egress") << "nothing public is left";
}

TEST(Doctor, NamesServersThatThePolicyRefuses) {
  using Seen = EgressView::Verdict;
  const EgressView open{Seen::allowed, {"192.0.2.1"}, "", ""}, unknown{Seen::unknown, {}, "dns.timeout", "no"};
  const EgressView shut{Seen::refused, {"10.0.0.1"}, "egress.blocked", "10.0.0.1 is not a public address"};
  EXPECT_EQ(check_feed_servers({{"a.example", 2, open}, {"b.example", 1, unknown}}, 2).front().text,
            "2 feed hosts allowed; 1 could not be looked up");
  EXPECT_EQ(check_feed_servers({{"a.example", 2, open}}, 700).front().text, "1 feed host allowed, sampled from 700");
  const auto findings = check_feed_servers(std::vector<FeedServer>(25, {"in.example", 3, shut}), 25);
  EXPECT_EQ(findings.size(), 21U);
  EXPECT_EQ(findings.front().text,
            "in.example: its 3 feeds will not be fetched: egress.blocked: 10.0.0.1 is not a public address");
  EXPECT_EQ(findings.back().text, "5 more");

  const auto some = check_feed_servers({{"in.example", 3, shut}, {"a.example", 2, open}, {"b.example", 1, unknown}}, 9);
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some.back().text, "1 of 3 are refused, sampled from 9; 1 could not be looked up");
  EXPECT_EQ(shown(some.back()), "ok feeds' servers");
}

TEST(Doctor, SeparatesFeedsWhoseSettingsNameMissingEntries) {
  Config config;
  config.egress.ports = {"80", "443"};
  FeedSettings policy, auth;
  policy.policy = "gone";
  auth.auth = "gone";
  const std::vector<EgressQuestion> questions{{"http://93.184.216.34/", policy}, {"http://93.184.216.34/", auth}};
  std::vector<FeedServer> asked;
  for (EgressView& view : EgressViewer(look_options(config)).of(questions, 5s))
    asked.push_back({"a.example", 1, std::move(view)});
  for (const Finding& finding : check_feed_servers(asked, 2)) {
    EXPECT_EQ(shown(finding), "warn feeds' servers");
    EXPECT_NE(finding.text.find("is not configured"), std::string::npos) << finding.text;
    EXPECT_EQ(finding.remedy.find(
                  "restore it in the configuration, or remove it from the feed with feedmill set URL policy="),
              0U)
        << finding.remedy;
  }
}

TEST(Doctor, LooksAtThePoliciesThatFeedsMayName) {
  std::map<std::string, EgressPolicy, std::less<>> policies;
  const std::vector<std::string> inside{"10.0.0.0/8"}, all{"0.0.0.0/0"}, ports{"80"};
  policies.emplace("intranet", *EgressPolicy::parse(inside, {}, ports));
  EXPECT_TRUE(check_named_policies(policies).empty());
  policies.emplace("wide", *EgressPolicy::parse(all, {}, ports));
  const auto findings = check_named_policies(policies);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(shown(findings[0]), "warn egress");
  EXPECT_EQ(findings[0].text.find("egress.policy.\"wide\": 169.254.169.254"), 0U) << findings[0].text;
}

TEST(Doctor, NamesTheRemedyForAServerThatRejectsWrites) {
  ServerFacts facts;
  facts.role = "master";
  facts.last_save = "ok";
  facts.write_error = "OOM command not allowed when used memory > 'maxmemory'.";
  EXPECT_EQ(check_server(facts, facts.now).front().remedy, remedy_of_full_server);
  EXPECT_EQ(remedy_of_full_server.find(';'), std::string_view::npos) << "the last one leads the remedy in";
  facts.write_error = "NOPERM no permissions";
  EXPECT_NE(check_server(facts, facts.now).front().remedy.find("ACL"), std::string::npos);
  facts.write_error = "CLUSTERDOWN Hash slot not served";
  EXPECT_NE(check_server(facts, facts.now).front().remedy.find("redis-cli --cluster check"), std::string::npos);
}

/// A read-only directory, as most are for the service.
TEST(Doctor, TellsAReadOnlyPlaceForDocumentsFromOneOfAnotherUser) {
  std::ifstream mounts("/proc/mounts");
  Config config;
  for (std::string device, place, rest; mounts >> device >> place && std::getline(mounts, rest);) {
    if (access(place.c_str(), W_OK) != 0 && errno == EROFS && std::filesystem::is_directory(place)) {
      config.debug.keep_poison = place;
    }
  }
  if (config.debug.keep_poison.empty()) GTEST_SKIP() << "nothing here is read-only";
  const Finding found = check_poison_directory(config);
  EXPECT_EQ(shown(found), "fail keep_poison");
  EXPECT_NE(found.remedy.find("ReadWritePaths="), std::string::npos) << found.remedy;
}

TEST(Egress, IsSeenAsARefreshWouldMeetIt) {
  test::DnsServer dns;
  dns.serve("open.example", {.addresses = {"93.184.216.34"}});
  dns.serve("mixed.example", {.addresses = {"10.0.0.5", "93.184.216.34"}});
  dns.serve("inside.example", {.addresses = {"10.0.0.5"}});
  Config config;
  config.dns.servers = {dns.address()};
  config.egress.ports = {"80", "443"};
  config.egress_policies["intranet"].allow = {"10.0.0.0/8"};
  FeedSettings intranet, nowhere;
  intranet.policy = "intranet";
  nowhere.policy = "nowhere";
  const EgressViewer viewer(look_options(config));
  const std::vector<EgressQuestion> questions{
      {"http://open.example/", {}},         {"http://mixed.example/", {}},     {"http://inside.example/", {}},
      {"http://inside.example/", intranet}, {"http://open.example:22/", {}},   {"http://[fd00::1]/", {}},
      {"http://unknown.example/", {}},      {"http://open.example/", nowhere}, {"http://unknown.example:22/", {}}};
  std::vector<std::string> seen;
  for (const EgressView& view : viewer.of(questions, 5s)) {
    seen.push_back(std::string(to_string(view.verdict)) + " " + view.reason);
    for (const std::string& address : view.addresses) seen.back() += " " + address;
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"allowed  93.184.216.34", "allowed  93.184.216.34",
                                            "refused egress.blocked 10.0.0.5", "allowed  10.0.0.5",
                                            "refused egress.port 93.184.216.34", "refused egress.blocked fd00::1",
                                            "unknown dns.not_found", "refused egress.blocked", "refused egress.port"}));
}

TEST(Doctor, AsksANameServer) {
  test::DnsServer dns;
  dns.serve("good.example", {.addresses = {"192.0.2.7"}});
  dns.serve("dead.example", {.silent = true});
  ResolverOptions options;
  options.servers = dns.address();
  options.timeout = 100ms;
  options.tries = 1;
  EXPECT_EQ(check_dns(options, "good.example").text, "good.example is 192.0.2.7");
  EXPECT_EQ(shown(check_dns(options, "unknown.example")), "ok dns") << "it answers";
  const Finding dead = check_dns(options, "dead.example");
  EXPECT_EQ(shown(dead), "fail dns");
  EXPECT_NE(dead.text.find("dns.timeout"), std::string::npos) << dead.text;
}

}  // namespace
}  // namespace feedmill::doctor_test
