#include <gtest/gtest.h>

#include "worker/listener/request_head.hpp"

namespace feedmill::bearer_test {
namespace {

constexpr std::string_view token = "a-token-of-our-own";

TEST(Bearer, TakesTheTokenAsBearerOrAsPassword) {
  EXPECT_TRUE(shows_token("Bearer a-token-of-our-own", token));
  EXPECT_TRUE(shows_token("bearer  a-token-of-our-own ", token));
  EXPECT_TRUE(shows_token("Basic bWU6YS10b2tlbi1vZi1vdXItb3du", token));  // me:a-token-of-our-own
  EXPECT_TRUE(shows_token("Basic OmEtdG9rZW4tb2Ytb3VyLW93bg==", token));  // :a-token-of-our-own
}

TEST(Bearer, TakesNothingElse) {
  for (const char* const header : {"",
                                   " ",
                                   "Bearer",
                                   "Bearer ",
                                   "a-token-of-our-own",
                                   "Bearer a-token-of-our-ow",
                                   "Bearer a-token-of-our-own2",
                                   "Bearer A-token-of-our-own",
                                   "Digest a-token-of-our-own",
                                   "Basic a-token-of-our-own",
                                   "Basic",
                                   "Basic =",
                                   "Basic ====",
                                   "Basic ========",
                                   "Basic =AAA",
                                   "Basic bWU6",
                                   "Basic YS10b2tlbi1vZi1vdXItb3du",  // no colon
                                   "Basic bWU6YS10b2tlbi1vZi1vdXItb3duMg==",
                                   "Basic !!!!",
                                   "Bearer a-token-of-our-own, Bearer x"})
    EXPECT_FALSE(shows_token(header, token)) << header;
}

boost::beast::http::request_header<> head(std::initializer_list<std::pair<const char*, const char*>> fields) {
  boost::beast::http::request_header<> made;
  for (const auto& [name, value] : fields) made.insert(name, value);
  return made;
}

// SECURITY T33
TEST(Host, IsAnAddressOrANameOfOurs) {
  const std::vector<std::string> names{"feedmill.example"};
  for (const char* host : {"localhost", "LOCALHOST:9810", "127.0.0.1", "127.0.0.1:9810", "10.1.2.3:80", "[::1]",
                           "[::1]:9810", "[fe80::1]", "feedmill.example", "Feedmill.Example:443"})
    EXPECT_TRUE(is_called_by(host, names)) << host;
  for (const char* host :
       {"", ":", ":9810", "evil.example", "localhost.evil.example", "evil.localhost", "127.0.0.1.evil.example", "127.1",
        "2130706433", "0x7f000001", "[::1", "[::1]x", "127.0.0.1:x", "::1", "feedmill.example.evil",
        "localhost@evil.example", "localhost, evil.example"})
    EXPECT_FALSE(is_called_by(host, names)) << host;
}

TEST(Site, IsForeignIfTheBrowserSendsSuchHeaders) {
  EXPECT_FALSE(is_of_another_site(head({{"Host", "localhost:9810"}})));
  EXPECT_FALSE(is_of_another_site(
      head({{"Host", "localhost:9810"}, {"Origin", "http://localhost:9810"}, {"Sec-Fetch-Site", "same-origin"}})));
  EXPECT_FALSE(is_of_another_site(head({{"Host", "localhost"}, {"Sec-Fetch-Site", "none"}})));
  for (const char* site : {"cross-site", "same-site", "", "anything"})
    EXPECT_TRUE(is_of_another_site(head({{"Host", "localhost"}, {"Sec-Fetch-Site", site}}))) << site;
  for (const char* origin : {"null", "", "https://evil.example", "http://localhost:9811", "http://localhost.evil:9810"})
    EXPECT_TRUE(is_of_another_site(head({{"Host", "localhost:9810"}, {"Origin", origin}}))) << origin;
  EXPECT_TRUE(is_of_another_site(
      head({{"Host", "localhost"}, {"Origin", "http://localhost"}, {"Origin", "https://evil.example"}})));
}

TEST(Near, IsALoopbackClientWithoutProxyHeaders) {
  const auto here = boost::asio::ip::make_address("127.0.0.1"), there = boost::asio::ip::make_address("192.0.2.1");
  EXPECT_TRUE(is_near(here, head({{"Host", "localhost"}})));
  EXPECT_FALSE(is_near(there, head({{"Host", "localhost"}})));
  for (const char* field : {"X-Forwarded-For", "x-forwarded-proto", "Forwarded", "X-Real-IP", "Via"})
    EXPECT_FALSE(is_near(here, head({{field, "x"}}))) << field;
}

}  // namespace
}  // namespace feedmill::bearer_test
