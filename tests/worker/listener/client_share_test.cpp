// The client of a request, with and without proxies, and the share of each network (SECURITY W8).
#include "worker/listener/client_share.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace feedmill::client_share_test {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::make_address;
using Head = http::request_header<>;

/// The client's address; "" if it is unknown.
std::string client(const std::string& peer, const Head& head, const std::vector<std::string>& trusted = {}) {
  const auto proxies = TrustedProxies::parse(trusted);
  const auto found = proxies->client_of(make_address(peer), head);
  return found ? found->to_string() : "";
}

Head with(const std::vector<std::pair<std::string, std::string>>& fields) {
  Head head;
  for (const auto& [name, value] : fields) head.insert(name, value);
  return head;
}

TEST(ClientAddress, IsThePeersWithoutATrustedProxy) {
  const Head forged = with({{"X-Forwarded-For", "203.0.113.9"}, {"Forwarded", "for=203.0.113.9"}});
  EXPECT_EQ(client("198.51.100.7", {}), "198.51.100.7");
  EXPECT_EQ(client("198.51.100.7", forged), "198.51.100.7");
  EXPECT_EQ(client("198.51.100.7", forged, {"10.0.0.0/8"}), "198.51.100.7");
  EXPECT_EQ(client("10.1.2.3", {}), "10.1.2.3");
}

TEST(ClientAddress, OfAnUntrustedProxyIsUnknown) {
  EXPECT_EQ(client("127.0.0.1", {}), "");
  EXPECT_EQ(client("::1", {}), "");
  EXPECT_EQ(client("10.1.2.3", with({{"X-Forwarded-For", "203.0.113.9"}})), "");
  EXPECT_EQ(client("fd00::3", with({{"Forwarded", "for=203.0.113.9"}})), "");
}

TEST(ClientAddress, IsTheRightMostThatIsNotTrusted) {
  const std::vector<std::string> trusted{"127.0.0.1", "10.0.0.0/8", "fd00::/64"};
  const auto listed = [&](const std::string& value) {
    return client("127.0.0.1", with({{"X-Forwarded-For", value}}), trusted);
  };
  EXPECT_EQ(listed("203.0.113.9"), "203.0.113.9");
  EXPECT_EQ(listed("203.0.113.1, 203.0.113.9, 10.0.0.5"), "203.0.113.9") << "what is further left may be forged";
  EXPECT_EQ(listed("203.0.113.9:4711"), "203.0.113.9");
  EXPECT_EQ(listed("[2001:db8::1]:4711, fd00::9"), "2001:db8::1");
  EXPECT_EQ(listed("::ffff:203.0.113.9"), "203.0.113.9");
  EXPECT_EQ(listed("203.0.113.9, unknown"), "127.0.0.1") << "cannot be read";
  EXPECT_EQ(listed("10.0.0.5"), "127.0.0.1");
  EXPECT_EQ(client("127.0.0.1", {}, trusted), "127.0.0.1");
  EXPECT_EQ(
      client("127.0.0.1", with({{"X-Forwarded-For", "203.0.113.1"}, {"X-Forwarded-For", "203.0.113.9"}}), trusted),
      "203.0.113.9");
  const auto forwarded = [&](const std::string& value) {
    return client("10.0.0.1", with({{"Forwarded", value}}), trusted);
  };
  EXPECT_EQ(forwarded("for=203.0.113.1, for=203.0.113.9;proto=https"), "203.0.113.9");
  EXPECT_EQ(forwarded("proto=https;For=\"[2001:db8::1]:80\""), "2001:db8::1");
  EXPECT_EQ(forwarded("for=_hidden"), "10.0.0.1");
  EXPECT_EQ(client("127.0.0.1", with({{"X-Forwarded-For", "203.0.113.9"}, {"Forwarded", "for=198.51.100.1"}}), trusted),
            "127.0.0.1")
      << "a proxy writes one of the two, and its client may have written the other";
}

TEST(TrustedProxyLists, RejectEntriesThatAreNotNetworks) {
  for (const char* wrong : {"", "x", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.1:80", "[::1]"}) {
    const auto parsed = TrustedProxies::parse(std::vector<std::string>{wrong});
    EXPECT_FALSE(parsed) << wrong;
  }
}

TEST(NetworkBuckets, AFloodOfOneNetworkTakesNothingOfOthers) {
  NetworkBuckets buckets(0.001, 5);
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(buckets.take(make_address("203.0.113." + std::to_string(i))), i < 5) << "one /24";
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(buckets.take(make_address("2001:db8::" + std::to_string(i))), i < 5) << "one /64";
  EXPECT_TRUE(buckets.take(make_address("203.0.114.1")));
  EXPECT_TRUE(buckets.take(make_address("2001:db8:0:1::1")));
  EXPECT_FALSE(buckets.take(make_address("::ffff:203.0.113.1")));
}

TEST(NetworkBuckets, AreBoundedAndForgetNoneThatIsUsedUp) {
  NetworkBuckets buckets(0.001, 2, 100);
  const auto flooder = make_address("203.0.113.1");
  for (int i = 0; i < 5; ++i) buckets.take(flooder);
  for (int i = 0; i < 1'000; ++i)
    buckets.take(make_address("10." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ".1"));
  EXPECT_EQ(buckets.size(), 100U);
  EXPECT_FALSE(buckets.take(flooder)) << "others do not make it a newcomer";

  NetworkBuckets quick(1e9, 2, 100);
  for (int i = 0; i < 1'000; ++i)
    EXPECT_TRUE(quick.take(make_address("10." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ".1")));
  EXPECT_LE(quick.size(), 100U);
}

}  // namespace
}  // namespace feedmill::client_share_test
