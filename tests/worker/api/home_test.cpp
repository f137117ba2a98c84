// Which partition a call goes to.
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "storage/store/partition.hpp"
#include "worker/api/routes.hpp"

namespace feedmill::test::home_test {
namespace {

constexpr unsigned count = 16;

const ApiRoute& route_of(boost::beast::http::verb method, std::string_view path) {
  for (const ApiRoute& route : api_routes()) {
    if (route.method == method && route.path == path) return route;
  }
  throw std::invalid_argument(std::string(path));
}

std::optional<unsigned> home(const ApiRoute& route, const ApiCall& call, const std::string& feed = "") {
  OperationValues given;
  if (!feed.empty()) given.put("url", boost::json::string(feed));
  return partition_of_call(route, call, given, count);
}

using boost::beast::http::verb;
using Parameters = std::map<std::string, std::string, std::less<>>;

ApiCall with(Parameters parameters, std::string item = "") {
  ApiCall call;
  call.parameters = std::move(parameters);
  call.item = std::move(item);
  return call;
}

TEST(HomeOfACall, IsWhereTheFeedOrTheEntryIs) {
  const std::string url = "https://example.org/feed.xml";
  const unsigned its = partition_of(url, count);
  EXPECT_EQ(home(route_of(verb::get, "/feed"), with({{"url", "HTTPS://Example.org:443/feed.xml"}})), its)
      << "as the feed is written";
  EXPECT_EQ(home(route_of(verb::put, "/channel/feed"), ApiCall(), url), its);
  EXPECT_EQ(home(route_of(verb::post, "/feeds"), ApiCall(), url), its);
  const std::string tag = tag_of({.index = 7, .count = count});
  EXPECT_EQ(home(route_of(verb::get, "/entries/{id}"), with({}, "{" + tag + "}:Entry:23")), 7U);
  EXPECT_EQ(home(route_of(verb::get, "/entries/{id}"), with({}, "Entry:23")), 7U) << "numbers are shared out";
  EXPECT_EQ(home(route_of(verb::delete_, "/entries/{id}"), with({}, "23")), 7U);
}

TEST(HomeOfACall, MustBeNamedWhereTheCallDoesNotImplyIt) {
  const ApiRoute& feeds = route_of(verb::get, "/feeds");
  EXPECT_EQ(home(feeds, ApiCall()), std::nullopt);
  EXPECT_EQ(home(feeds, with({{"partition", "3"}})), 3U);
  for (const char* text : {"16", "4294967295", "99999999999", "-1", "x", ""}) {
    EXPECT_EQ(home(feeds, with({{"partition", text}})), count) << text << " is none";
  }
  EXPECT_EQ(home(route_of(verb::get, "/channels"), with({{"user", "anna"}})), std::nullopt);
  EXPECT_EQ(home(route_of(verb::delete_, "/rules/{id}"), with({{"user", "anna"}}, "1")), std::nullopt);
  EXPECT_EQ(home(route_of(verb::get, "/openapi.json"), ApiCall()), 0U) << "of all";
}

/// Any partition can report the error of such a call.
TEST(HomeOfACall, IsAnyPartitionForInvalidCalls) {
  EXPECT_EQ(home(route_of(verb::get, "/feed"), with({{"url", "nonsense"}})), 0U);
}

}  // namespace
}  // namespace feedmill::test::home_test
