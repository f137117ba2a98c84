#include "worker/doctor.hpp"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/certificates.hpp"
#include "tests/support/dns_server.hpp"

namespace feedmill {
namespace {

using namespace std::chrono_literals;

/// "ok check", "warn check", "fail check".
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

TEST(Doctor, NamesWhatIsWrongWithAServer) {
  ServerFacts facts = good_server();
  facts.write_error = "NOPERM";
  facts.append_only = false;
  facts.used_memory = 95 << 20;
  facts.max_memory = 100 << 20;
  const auto findings = check_server(facts, facts.now + 20s);
  EXPECT_EQ(shown(findings), "fail redis writes, warn redis disk, warn redis memory, warn clock");
  for (const Finding& finding : findings) EXPECT_NE(finding.remedy, "") << finding.check;
  facts.last_save = "err";
  EXPECT_EQ(shown(check_server(facts, facts.now - 10min)),
            "fail redis writes, fail redis disk, warn redis memory, fail clock");
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
  EXPECT_EQ(findings.front().text, "big.example: its 100000 feeds want 104 000 polls a day, 86 400 fit");
  EXPECT_EQ(shown(findings.back()), "warn hosts");
  EXPECT_EQ(findings.back().text, "5 more");
}

TEST(Doctor, WantsDescriptorsForEveryLane) {
  EXPECT_EQ(shown(check_descriptors(20'000, 256)), "ok descriptors");
  const Finding few = check_descriptors(256, 256);
  EXPECT_EQ(shown(few), "warn descriptors");
  EXPECT_NE(few.remedy.find("160"), std::string::npos) << few.remedy;
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
}  // namespace feedmill
