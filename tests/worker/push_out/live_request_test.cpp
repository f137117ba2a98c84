// What a client of the live stream may ask for (OPERATIONS V1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/push_out/outside_requests.hpp"

namespace feedmill::live_request_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LiveRequest read(std::string_view query, std::string_view header = "") {
  const auto request = read_live_request(query, header);
  EXPECT_TRUE(request) << query << ": " << request.error();
  return request ? *request : LiveRequest();
}

TEST(LiveRequests, AskForAllFromNowOn) {
  const LiveRequest request = read("");
  EXPECT_EQ(request.filter, EventFilter());
  EXPECT_FALSE(request.after);
  EXPECT_EQ(read("&&"), request);
}

TEST(LiveRequests, NameFeedsChannelsAndTypesOnceEach) {
  const EventFilter filter =
      read(
          "feed=https%3A%2F%2Fa.example%2F%3Fx%3D1%26y&channel=u%2Fnews&feed=http%3A%2F%2Fb&feed=HTTP%3A%2F%2FB%2F&"
          "channel=c"
          "&type=post_created,post_deleted&type=feed_gone&type=feed_gone&initial=1&topic=t&token=secret")
          .filter;
  EXPECT_THAT(filter.feeds, ElementsAre("https://a.example/?x=1&y", "http://b/"));
  EXPECT_THAT(filter.channels, ElementsAre("u/news", "c"));
  EXPECT_THAT(filter.types, ElementsAre("post_created", "post_deleted", "feed_gone"));
  EXPECT_TRUE(filter.initial);
  EXPECT_THAT(read("initial=0").filter.types, IsEmpty());
}

TEST(LiveRequests, ContinueAfterAnIdAndPreferTheHeader) {
  EXPECT_EQ(read("last_event_id=7-1").after, (EventPlace{7, 1}));
  EXPECT_EQ(read("last_event_id=7-1", "9-2").after, (EventPlace{9, 2}));
  EXPECT_EQ(read("last_event_id=", "").after, std::nullopt);
  EXPECT_EQ(read("last_event_id=nonsense", "9-2").after, (EventPlace{9, 2}));
  EXPECT_EQ(to_string(EventPlace{1795437223358, 12}), "1795437223358-12");
  EXPECT_LT((EventPlace{9, 7}), (EventPlace{10, 0}));
}

struct WrongCase {
  const char *name, *query, *header, *said;
};
class WrongLiveRequests : public testing::TestWithParam<WrongCase> {};
TEST_P(WrongLiveRequests, AreRejectedWithAReason) {
  const auto request = read_live_request(GetParam().query, GetParam().header);
  ASSERT_FALSE(request);
  EXPECT_THAT(request.error(), HasSubstr(GetParam().said));
}
INSTANTIATE_TEST_SUITE_P(
    All, WrongLiveRequests,
    testing::Values(WrongCase{"AnotherParameter", "feeds=x", "", "allowed parameters"},
                    WrongCase{"ABrokenEscape", "feed=%4", "", "not percent-encoded"},
                    WrongCase{"NoUtf8", "feed=%ff", "", "UTF-8"}, WrongCase{"NoFeed", "feed=", "", "not a feed URL"},
                    WrongCase{"NoFeedAddress", "feed=b", "", "not a feed URL"},
                    WrongCase{"NoChannel", "channel", "", "empty"},
                    WrongCase{"ATypeThatStaysInside", "type=post_mended", "", "type"},
                    WrongCase{"NoType", "type=", "", "type"},
                    WrongCase{"OneWrongTypeOfSeveral", "type=post_created,x", "", "type"},
                    WrongCase{"InitialMaybe", "initial=yes", "", "0 or 1"},
                    WrongCase{"NoId", "last_event_id=7", "", "id of an event"},
                    WrongCase{"NoIdInTheHeader", "", "7-", "id of an event"},
                    WrongCase{"ANegativeId", "", "-7-1", "id of an event"},
                    WrongCase{"AnIdBeyondAll", "", "18446744073709551616-0", "id of an event"},
                    WrongCase{"AnIdWithNothingBehindIt", "", "7-18446744073709551615", "id of an event"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(LiveRequests, AreBoundedInNumberAndLength) {
  std::string many;
  for (int i = 0; i <= 1'000; ++i) many += "&feed=http://" + std::to_string(i) + ".example/";
  EXPECT_FALSE(read_live_request(many, ""));
  EXPECT_FALSE(read_live_request("channel=" + std::string(5'000, 'x'), ""));
  std::string types = "type=post_created";
  for (int i = 0; i < 10'000; ++i) types += ",t" + std::to_string(i);
  EXPECT_FALSE(read_live_request(types, ""));
}

}  // namespace
}  // namespace feedmill::live_request_test
