#include "worker/egress/address_guard.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/resource.h>
#include <sys/un.h>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "worker/http/http_shared.hpp"

namespace feedmill::address_guard_test {
namespace {

using Strings = std::vector<std::string>;

EgressPolicy policy(const Strings& allow, const Strings& deny = {}, const Strings& ports = {},
                    const Strings& nat64 = {}) {
  auto parsed = EgressPolicy::parse(allow, deny, ports, nat64);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error());
  return parsed ? *parsed : EgressPolicy();
}

// Checks an address both as text and as a sockaddr, as the socket callback does; the results must agree.
Egress ask(const EgressPolicy& rules, const std::string& address, std::uint16_t port) {
  const Egress by_text = rules.check(address, port);
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  Egress by_socket = Egress::blocked_address;
  if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    by_socket = rules.check(reinterpret_cast<const sockaddr*>(&v4), port);
  } else if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
    by_socket = rules.check(reinterpret_cast<const sockaddr*>(&v6), port);
  }
  EXPECT_EQ(by_text, by_socket) << address;
  return by_socket;
}

TEST(EgressPolicy, LetsPublicAddressesPass) {
  for (const char* address : {"1.0.0.0",         "1.1.1.1",          "8.8.8.8",
                              "9.255.255.255",   "11.0.0.0",         "93.184.216.34",
                              "100.63.255.255",  "100.128.0.0",      "126.255.255.255",
                              "128.0.0.0",       "168.63.129.15",    "168.63.129.17",
                              "169.253.255.255", "169.255.0.0",      "172.15.255.255",
                              "172.32.0.0",      "191.255.255.255",  "192.0.1.0",
                              "192.0.3.0",       "192.88.98.255",    "192.88.100.0",
                              "192.167.255.255", "192.169.0.0",      "198.17.255.255",
                              "198.20.0.0",      "198.51.99.255",    "198.51.101.0",
                              "203.0.112.255",   "203.0.114.0",      "223.255.255.255",
                              "2000::",          "2001:200::",       "2001:4860:4860::8888",
                              "2001:db7:ffff::", "2001:db9::",       "2003::1",
                              "2606:4700::1111", "2a00::1",          "3ffe::1",
                              "3fff:1000::",     "64:ff9b::8.8.8.8", "64:ff9b::5db8:d822"}) {
    EXPECT_EQ(ask(EgressPolicy(), address, 80), Egress::allowed) << address;
    EXPECT_EQ(ask(EgressPolicy(), address, 443), Egress::allowed) << address;
    EXPECT_EQ(ask(EgressPolicy(), address, 22), Egress::blocked_port) << address;
  }
}

TEST(EgressPolicy, BlocksEverythingElse) {
  for (const char* address : {"0.0.0.0",
                              "0.0.0.1",
                              "0.255.255.255",
                              "10.0.0.0",
                              "10.1.2.3",
                              "10.255.255.255",
                              "100.64.0.0",
                              "100.100.100.200",
                              "100.127.255.255",
                              "127.0.0.0",
                              "127.0.0.1",
                              "127.255.255.255",
                              "168.63.129.16",
                              "169.254.0.0",
                              "169.254.169.254",
                              "169.254.255.255",
                              "172.16.0.0",
                              "172.17.0.1",
                              "172.31.255.255",
                              "192.0.0.0",
                              "192.0.0.170",
                              "192.0.0.255",
                              "192.0.2.0",
                              "192.0.2.255",
                              "192.88.99.0",
                              "192.88.99.1",
                              "192.88.99.255",
                              "192.168.0.0",
                              "192.168.1.1",
                              "192.168.255.255",
                              "198.18.0.0",
                              "198.19.255.255",
                              "198.51.100.0",
                              "198.51.100.255",
                              "203.0.113.0",
                              "203.0.113.255",
                              "224.0.0.0",
                              "224.0.0.251",
                              "239.255.255.255",
                              "240.0.0.0",
                              "255.255.255.254",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::2",
                              "::127.0.0.1",
                              "::8.8.8.8",
                              "::ffff:127.0.0.1",
                              "::ffff:8.8.8.8",
                              "::ffff:0:8.8.8.8",
                              "64:ff9b::127.0.0.1",
                              "64:ff9b::10.0.0.1",
                              "64:ff9b::169.254.169.254",
                              "64:ff9b::0.0.0.0",
                              "64:ff9b:1::8.8.8.8",
                              "64:ff9b:0:0:0:1:808:808",
                              "100::1",
                              "1fff:ffff::",
                              "2001::",
                              "2001::1",
                              "2001:0:53aa:64c::1",
                              "2001:1ff:ffff::",
                              "2001:10::1",
                              "2001:20::1",
                              "2001:db8::",
                              "2001:db8:ffff::1",
                              "2002::",
                              "2002:7f00:1::",
                              "2002:808:808::1",
                              "3fff::",
                              "3fff:fff:ffff::1",
                              "4000::",
                              "5f00::1",
                              "fc00::1",
                              "fd00::1",
                              "fd00:ec2::254",
                              "fe80::1",
                              "fec0::1",
                              "febf::1",
                              "ff00::1",
                              "ff02::1",
                              "ffff::"}) {
    for (const int port : {80, 443, 8080, 22}) {
      EXPECT_EQ(ask(EgressPolicy(), address, static_cast<std::uint16_t>(port)), Egress::blocked_address) << address;
    }
  }
}

// The boundaries of each blocked network of SECURITY §1: its first and last addresses are blocked; their neighbours
// follow the networks they belong to.
TEST(EgressPolicy, BlocksWholeNetworks) {
  struct Network {
    const char* address;
    unsigned bits;
  };
  const Network networks[] = {{"0.0.0.0", 8},      {"10.0.0.0", 8},     {"100.64.0.0", 10}, {"127.0.0.0", 8},
                              {"169.254.0.0", 16}, {"172.16.0.0", 12},  {"192.0.0.0", 24},  {"192.0.2.0", 24},
                              {"192.88.99.0", 24}, {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24},
                              {"203.0.113.0", 24}, {"224.0.0.0", 4},    {"240.0.0.0", 4},   {"168.63.129.16", 32}};
  for (const Network& network : networks) {
    in_addr first{};
    ASSERT_EQ(inet_pton(AF_INET, network.address, &first), 1);
    const std::uint32_t base = ntohl(first.s_addr);
    const std::uint32_t size_less_one = network.bits == 32 ? 0 : 0xffffffffu >> network.bits;
    for (std::uint32_t step = 0; step <= 16; ++step) {
      const auto offset = static_cast<std::uint32_t>(std::uint64_t{size_less_one} * step / 16);
      in_addr inside{htonl(base + offset)};
      char text[INET_ADDRSTRLEN];
      inet_ntop(AF_INET, &inside, text, sizeof text);
      EXPECT_EQ(ask(EgressPolicy(), text, 80), Egress::blocked_address) << text;
      EXPECT_EQ(ask(EgressPolicy(), std::string("64:ff9b::") + text, 80), Egress::blocked_address) << text;
      EXPECT_EQ(ask(EgressPolicy(), std::string("::ffff:") + text, 80), Egress::blocked_address) << text;
    }
  }
}

// SECURITY E2
TEST(EgressPolicy, RejectsUnparsableEntries) {
  const EgressPolicy open = policy({"0.0.0.0/0", "::/0"});
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  EXPECT_EQ(open.check(reinterpret_cast<const sockaddr*>(&local), 80), Egress::blocked_address);
  EXPECT_EQ(open.check(nullptr, 80), Egress::blocked_address);
  sockaddr_in6 scoped{};
  scoped.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "2606:4700::1111", &scoped.sin6_addr);
  scoped.sin6_scope_id = 2;
  EXPECT_EQ(open.check(reinterpret_cast<const sockaddr*>(&scoped), 80), Egress::blocked_address);
  for (const char* text : {"", "localhost", "127.1", "0x7f.0.0.1", "1.2.3.4.5", "fe80::1%eth0", "::1 ", "1.2.3.4/8",
                           "0000:0000:0000:0000:0000:ffff:1111:2222:3333:4444:5555:6666"}) {
    EXPECT_EQ(open.check(text, 80), Egress::blocked_address) << text;
  }
}

TEST(EgressPolicy, OpensTheUsualPorts) {
  for (const int port : {80, 443, 8000, 8080, 8443, 8999}) {
    EXPECT_EQ(ask(EgressPolicy(), "1.1.1.1", static_cast<std::uint16_t>(port)), Egress::allowed) << port;
  }
  for (const int port : {0, 1, 22, 25, 79, 81, 442, 444, 3000, 6379, 7999, 9000, 9200, 65535}) {
    EXPECT_EQ(ask(EgressPolicy(), "1.1.1.1", static_cast<std::uint16_t>(port)), Egress::blocked_port) << port;
  }
  const EgressPolicy other = policy({}, {}, {"443", "9000-9001"});
  EXPECT_EQ(ask(other, "1.1.1.1", 80), Egress::blocked_port);
  EXPECT_EQ(ask(other, "1.1.1.1", 443), Egress::allowed);
  EXPECT_EQ(ask(other, "1.1.1.1", 9001), Egress::allowed);
}

TEST(EgressPolicy, NeverOpensBadPorts) {
  const EgressPolicy open = policy({"127.0.0.0/8:1-65535", "1.1.1.1:1-65535"}, {}, {"1-65535"});
  for (const int port : {22, 25, 110, 143, 587, 993, 2049, 6000, 6667, 10080}) {
    EXPECT_EQ(ask(open, "127.0.0.1", static_cast<std::uint16_t>(port)), Egress::blocked_port) << port;
    EXPECT_EQ(ask(open, "1.1.1.1", static_cast<std::uint16_t>(port)), Egress::blocked_port) << port;
    EXPECT_EQ(ask(open, "8.8.8.8", static_cast<std::uint16_t>(port)), Egress::blocked_port) << port;
  }
  EXPECT_EQ(ask(open, "127.0.0.1", 6379), Egress::allowed);
}

// SECURITY E6
TEST(EgressPolicy, OpensWhatTheOperatorAllows) {
  const EgressPolicy rules =
      policy({"10.20.0.0/16:443", "192.168.1.10", "[fd00:1::]/64:8000-8999", "fd00:2::/32", "1.2.3.0/24:9000"});
  EXPECT_EQ(ask(rules, "10.20.255.255", 443), Egress::allowed);
  EXPECT_EQ(ask(rules, "10.20.0.1", 80), Egress::blocked_port);
  EXPECT_EQ(ask(rules, "10.21.0.1", 443), Egress::blocked_address);
  EXPECT_EQ(ask(rules, "192.168.1.10", 8080), Egress::allowed);
  EXPECT_EQ(ask(rules, "192.168.1.10", 9000), Egress::blocked_port);
  EXPECT_EQ(ask(rules, "192.168.1.11", 80), Egress::blocked_address);
  EXPECT_EQ(ask(rules, "fd00:1::ffff", 8000), Egress::allowed);
  EXPECT_EQ(ask(rules, "fd00:1::1", 443), Egress::blocked_port);
  EXPECT_EQ(ask(rules, "fd00:1:0:1::1", 8000), Egress::blocked_address);
  EXPECT_EQ(ask(rules, "fd00:2:ffff::1", 443), Egress::allowed);
  EXPECT_EQ(ask(rules, "1.2.3.4", 9000), Egress::allowed);
  EXPECT_EQ(ask(rules, "1.2.3.4", 80), Egress::allowed);
  EXPECT_EQ(ask(rules, "64:ff9b::192.168.1.10", 80), Egress::allowed);
  EXPECT_EQ(ask(rules, "::ffff:192.168.1.10", 80), Egress::blocked_address);
}

TEST(EgressPolicy, NeverOpensAddressesThatAreNotHosts) {
  const EgressPolicy open = policy({"0.0.0.0/0:1-65535", "[::]/0:1-65535"});
  for (const char* address : {"0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.250", "255.255.255.255", "::", "ff02::1",
                              "::ffff:10.0.0.1", "64:ff9b::224.0.0.1"}) {
    EXPECT_EQ(ask(open, address, 80), Egress::blocked_address) << address;
  }
  EXPECT_EQ(ask(open, "127.0.0.1", 80), Egress::allowed);
  EXPECT_EQ(ask(open, "::1", 80), Egress::allowed);
}

TEST(EgressPolicy, DenyWins) {
  const EgressPolicy rules = policy({"10.0.0.0/8"}, {"10.1.0.0/16", "8.8.8.0/24", "9.9.9.9:443", "2606:4700::/32"});
  EXPECT_EQ(ask(rules, "10.0.0.1", 80), Egress::allowed);
  EXPECT_EQ(ask(rules, "10.1.0.1", 80), Egress::blocked_address);
  EXPECT_EQ(ask(rules, "8.8.8.8", 80), Egress::blocked_address);
  EXPECT_EQ(ask(rules, "64:ff9b::8.8.8.8", 80), Egress::blocked_address);
  EXPECT_EQ(ask(rules, "9.9.9.9", 443), Egress::blocked_port);
  EXPECT_EQ(ask(rules, "9.9.9.9", 80), Egress::allowed);
  EXPECT_EQ(ask(rules, "2606:4700::1111", 80), Egress::blocked_address);
}

// A rule for IPv6 applies to the IPv6 form, whatever it maps to; a rule for IPv4 applies to every form of the address.
TEST(EgressPolicy, DeniesNat64InEitherForm) {
  struct Row {
    const char* deny;
    const char* address;
    std::uint16_t port;
    Egress expected;
  };
  const Row rows[] = {
      {"64:ff9b::/96", "64:ff9b::8.8.8.8", 80, Egress::blocked_address},
      {"64:ff9b::/96", "8.8.8.8", 80, Egress::allowed},
      {"64:ff9b::808:808", "64:ff9b::8.8.8.8", 80, Egress::blocked_address},
      {"64:ff9b::808:808", "64:ff9b::8.8.8.9", 80, Egress::allowed},
      {"64:ff9b::808:800/120", "64:ff9b::8.8.8.8", 443, Egress::blocked_address},
      {"[64:ff9b::]/96:443", "64:ff9b::8.8.8.8", 443, Egress::blocked_port},
      {"[64:ff9b::]/96:443", "64:ff9b::8.8.8.8", 80, Egress::allowed},
      {"::/0", "64:ff9b::8.8.8.8", 80, Egress::blocked_address},
      {"::/0", "2606:4700::1111", 80, Egress::blocked_address},
      {"::/0", "8.8.8.8", 80, Egress::allowed},
      {"0.0.0.0/0", "64:ff9b::8.8.8.8", 80, Egress::blocked_address},
      {"8.8.8.8:443", "64:ff9b::8.8.8.8", 443, Egress::blocked_port},
      {"2001:db8:64::/48", "2001:db8:64::8.8.8.8", 80, Egress::blocked_address},
      {"8.8.8.0/24", "2001:db8:64::8.8.8.8", 80, Egress::blocked_address},
      {"8.8.8.0/24", "2001:db8:64::8.8.9.8", 80, Egress::allowed},
  };
  for (const Row& row : rows) {
    const EgressPolicy rules = policy({}, {row.deny}, {}, {"2001:db8:64::/96"});
    EXPECT_EQ(ask(rules, row.address, row.port), row.expected) << row.deny << " " << row.address << " " << row.port;
  }
}

// RFC 6052 §2.4: its example address 192.0.2.33 with each prefix length, and two other addresses in its place.
TEST(EgressPolicy, JudgesOwnNat64PrefixesByTheAddressInside) {
  struct Row {
    const char* prefix;
    const char* documentation;  // 192.0.2.33, which is blocked
    const char* open;           // 8.8.8.8
    const char* loopback;       // 127.0.0.1
  };
  const Row rows[] = {
      {"2001:db8::/32", "2001:db8:c000:221::", "2001:db8:808:808::", "2001:db8:7f00:1::"},
      {"2001:db8:100::/40", "2001:db8:1c0:2:21::", "2001:db8:108:808:8::", "2001:db8:17f:0:1::"},
      {"2001:db8:122::/48", "2001:db8:122:c000:2:2100::", "2001:db8:122:808:8:800::", "2001:db8:122:7f00:0:100::"},
      {"2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::", "2001:db8:122:308:8:808::", "2001:db8:122:37f:0:1::"},
      {"2001:db8:122:344::/64",
       "2001:db8:122:344:c0:2:2100::", "2001:db8:122:344:8:808:800::", "2001:db8:122:344:7f:0:100::"},
      {"2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33", "2001:db8:122:344::8.8.8.8",
       "2001:db8:122:344::127.0.0.1"},
      {"2a00:64::/96", "2a00:64::192.0.2.33", "2a00:64::8.8.8.8", "2a00:64::127.0.0.1"},
      {"fd00:64::/96", "fd00:64::192.0.2.33", "fd00:64::8.8.8.8", "fd00:64::127.0.0.1"},
      {"64:ff9b:1::/48", "64:ff9b:1:c000:2:2100::", "64:ff9b:1:808:8:800::", "64:ff9b:1:7f00:0:100::"},
  };
  for (const Row& row : rows) {
    EgressPolicy rules = policy({}, {}, {}, {row.prefix});
    EXPECT_EQ(ask(rules, row.documentation, 80), Egress::blocked_address) << row.prefix;
    EXPECT_EQ(ask(rules, row.open, 80), Egress::allowed) << row.prefix;
    EXPECT_EQ(ask(rules, row.open, 22), Egress::blocked_port) << row.prefix;
    EXPECT_EQ(ask(rules, row.loopback, 80), Egress::blocked_address) << row.prefix;
    EXPECT_EQ(ask(rules, "64:ff9b::127.0.0.1", 80), Egress::blocked_address) << row.prefix;
    EXPECT_EQ(ask(policy({"127.0.0.0/8"}, {}, {}, {row.prefix}), row.loopback, 80), Egress::allowed) << row.prefix;
    rules.close_own(Strings{row.open});
    EXPECT_EQ(ask(rules, row.open, 80), Egress::blocked_address) << row.prefix;
    rules.close_own(Strings{"8.8.8.8"});
    EXPECT_EQ(ask(rules, row.open, 80), Egress::blocked_address) << row.prefix;
  }
  EXPECT_EQ(ask(EgressPolicy(), "2a00:64::127.0.0.1", 80), Egress::allowed) << "nobody has said what it is";
}

// RFC 7050: the addresses of ipv4only.arpa reveal the prefix. It only blocks addresses and never allows any.
TEST(EgressPolicy, LearnsNat64PrefixesFromTheNameServer) {
  struct Row {
    const char* answer;
    const char* open;
    const char* loopback;
  };
  const Row rows[] = {
      {"2a00:64::192.0.0.170", "2a00:64::8.8.8.8", "2a00:64::127.0.0.1"},
      {"2a00:64::192.0.0.171", "2a00:64::8.8.8.8", "2a00:64::127.0.0.1"},
      {"2a00:64:0:5:c0:0:aa00::", "2a00:64:0:5:8:808:800::", "2a00:64:0:5:7f:0:100::"},
      {"2a00:64:0:c0:0:aa::", "2a00:64:0:8:8:808::", "2a00:64:0:7f:0:1::"},
      {"2a00:64:9:c000:0:aa00::", "2a00:64:9:808:8:800::", "2a00:64:9:7f00:0:100::"},
      {"2a00:64:c0:0:aa::", "2a00:64:8:808:8::", "2a00:64:7f:0:1::"},
      {"2a00:64:c000:aa::", "2a00:64:808:808::", "2a00:64:7f00:1::"},
  };
  for (const Row& row : rows) {
    EgressPolicy rules;
    EXPECT_EQ(ask(rules, row.loopback, 80), Egress::allowed) << row.answer;
    rules.close_nat64(Strings{"192.0.0.170", row.answer, "no address"});
    EXPECT_EQ(ask(rules, row.loopback, 80), Egress::blocked_address) << row.answer;
    EXPECT_EQ(ask(rules, row.open, 80), Egress::allowed) << row.answer;
    EXPECT_EQ(ask(rules, "2a00:65::1", 80), Egress::allowed) << row.answer;
    EgressPolicy opened = policy({"127.0.0.0/8"});
    opened.close_nat64(Strings{row.answer});
    EXPECT_EQ(ask(opened, row.loopback, 80), Egress::allowed) << row.answer;
    rules.close_nat64({});
    EXPECT_EQ(ask(rules, row.loopback, 80), Egress::allowed) << row.answer;
  }
  EgressPolicy rules = policy({}, {}, {}, {"fd00:64::/96"});
  rules.close_nat64(Strings{"fd00:65::192.0.0.170", "fd00:64::192.0.0.170", "::ffff:192.0.0.170", "2a00::1"});
  EXPECT_EQ(ask(rules, "fd00:65::8.8.8.8", 80), Egress::blocked_address) << "a name server opens nothing";
  EXPECT_EQ(ask(rules, "fd00:64::8.8.8.8", 80), Egress::allowed) << "what the operator lists stays open";
  EXPECT_EQ(ask(rules, "::ffff:8.8.8.8", 80), Egress::blocked_address);
}

TEST(EgressPolicy, KnowsWhatOnlyTheOperatorOpened) {
  const EgressPolicy rules = policy({"127.0.0.0/8:1024-65535", "1.2.3.4"}, {"127.0.0.9"});
  EXPECT_TRUE(rules.opened_by_allow("127.0.0.1", 5000));
  EXPECT_FALSE(rules.opened_by_allow("127.0.0.1", 80));
  EXPECT_FALSE(rules.opened_by_allow("127.0.0.9", 5000));
  EXPECT_FALSE(rules.opened_by_allow("1.1.1.1", 80));
  EXPECT_FALSE(rules.opened_by_allow("1.2.3.4", 80));
  EXPECT_FALSE(rules.opened_by_allow("", 80));
}

// SECURITY E6
TEST(EgressPolicy, BlocksThisMachineUnlessAllowed) {
  EgressPolicy rules = policy({"8.8.4.4:8080"});
  rules.close_own(Strings{"8.8.8.8", "8.8.4.4", "2a00::1", "no address"});
  EXPECT_EQ(ask(rules, "8.8.8.8", 80), Egress::blocked_address);
  EXPECT_EQ(ask(rules, "2a00::1", 80), Egress::blocked_address);
  EXPECT_EQ(ask(rules, "64:ff9b::8.8.8.8", 80), Egress::blocked_address);
  EXPECT_EQ(ask(rules, "8.8.8.9", 80), Egress::allowed);
  EXPECT_EQ(ask(rules, "8.8.4.4", 8080), Egress::allowed);
  EXPECT_TRUE(rules.opened_by_allow("8.8.4.4", 8080));
  EXPECT_EQ(ask(rules, "8.8.4.4", 80), Egress::blocked_port);
  rules.close_own({});
  EXPECT_EQ(ask(rules, "8.8.8.8", 80), Egress::allowed);
  EXPECT_FALSE(rules.opened_by_allow("8.8.4.4", 8080));
}

TEST(OwnAddresses, HoldTheLoopback) {
  const Strings addresses = interface_addresses().value();
  EXPECT_NE(std::ranges::find(addresses, "127.0.0.1"), addresses.end());
}

/// While it exists, no descriptor can be opened.
struct NoDescriptors {
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{0, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before); }
  rlimit before{};
};

// SECURITY E6
TEST(OwnAddresses, StayClosedWhileTheKernelWillNotSayThem) {
  boost::asio::io_context loop;
  HttpShared shared(loop.get_executor(), HttpClientOptions{}, [](auto&&...) {});
  shared.options.egress.close_own(Strings{"8.8.8.8"});
  ASSERT_LE(shared.own_until, std::chrono::steady_clock::now()) << "it asks anew";
  {
    const NoDescriptors none;
    EXPECT_FALSE(interface_addresses());
    EXPECT_EQ(ask(shared.egress(), "8.8.8.8", 80), Egress::blocked_address);
  }
  EXPECT_EQ(ask(shared.egress(), "8.8.8.8", 80), Egress::allowed) << "it is none of ours";
}

// HTTP H8
TEST(EgressPolicy, NamesTheNetworkOfAnAddress) {
  const EgressPolicy rules = policy({}, {}, {}, {"2001:db8:64::/96"});
  EXPECT_EQ(rules.network_of("203.0.113.77"), "203.0.113.0");
  EXPECT_EQ(rules.network_of("2001:db8:1:2:3::4"), "2001:db8:1::");
  EXPECT_EQ(rules.network_of("64:ff9b::203.0.113.77"), "203.0.113.0");
  EXPECT_EQ(rules.network_of("2001:db8:64::203.0.113.77"), "203.0.113.0");
  EXPECT_EQ(rules.network_of("nowhere"), "");
}

TEST(EgressPolicy, NamesTheEntryThatIsWrong) {
  for (const char* entry : {"",
                            "localhost",
                            "10.0.0",
                            "10.0.0.0/33",
                            "10.0.0.0/",
                            "10.0.0.0/x",
                            "10.0.0.0/-1",
                            "10.0.0.0:",
                            "10.0.0.0:0",
                            "10.0.0.0:70000",
                            "10.0.0.0:90-80",
                            "10.0.0.0:80-",
                            "10.0.0.0:-80",
                            "10.0.0.0:a",
                            "10.0.0.0 ",
                            "[fd00::",
                            "[fd00::]x",
                            "[10.0.0.1",
                            "fd00::/129",
                            "::ffff:10.0.0.1",
                            "10.0.0.0/8/8",
                            "10.0.0.0:80:90",
                            "fe80::1%lo"}) {
    const auto parsed = EgressPolicy::parse(Strings{"10.0.0.1", entry}, {}, {});
    ASSERT_FALSE(parsed) << entry;
    EXPECT_TRUE(parsed.error().starts_with("egress.allow: \"" + std::string(entry) + "\": ")) << parsed.error();
    EXPECT_FALSE(EgressPolicy::parse({}, Strings{entry}, {}));
  }
  EXPECT_EQ(EgressPolicy::parse({}, {}, Strings{"80", "eighty"}).error(),
            "egress.ports: \"eighty\": a port is a number from 1 to 65535, a range two of them: 8000-8999");
  EXPECT_EQ(EgressPolicy::parse({}, Strings{"10.0.0.0/40"}, {}).error(),
            "egress.deny: \"10.0.0.0/40\": after the slash, expected a number from 0 to 32");
  for (const char* prefix : {"", "2001:db8::", "2001:db8::/95", "10.0.0.0/32", "::/96", "ff00::/64", "::ffff:0:0/96",
                             "2001:db8::/96:80", "2001:db8::/"}) {
    const auto parsed = EgressPolicy::parse({}, {}, {}, Strings{prefix});
    ASSERT_FALSE(parsed) << prefix;
    EXPECT_TRUE(parsed.error().starts_with("egress.nat64: \"" + std::string(prefix) + "\": ")) << parsed.error();
  }
}

}  // namespace
}  // namespace feedmill::address_guard_test
