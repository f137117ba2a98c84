#include <utility>

#include <gtest/gtest.h>

#include "parsers/markup/salvage.hpp"

namespace feedmill::json_salvage_test {
namespace {

struct JsonCase {
  const char* name;
  const char* text;
  const char* repaired;
};

class JsonSalvage : public testing::TestWithParam<JsonCase> {};

TEST_P(JsonSalvage, Repairs) {
  EXPECT_EQ(salvage_json(GetParam().text, 4).text, GetParam().repaired);
}

INSTANTIATE_TEST_SUITE_P(
    All, JsonSalvage,
    testing::Values(JsonCase{"TrailingComma", "{\"a\":[1,2,],}", "{\"a\":[1,2]}"},
                    JsonCase{"MissingComma", "{\"a\":1 \"b\":2}", "{\"a\":1,\"b\":2}"},
                    JsonCase{"Comments", "{/* x */\"a\":1 // y\n}", "{\"a\":1}"},
                    JsonCase{"SingleQuotes", "{'a':'b\"c'}", "{\"a\":\"b\\\"c\"}"},
                    JsonCase{"BareNames", "{a:b}", "{\"a\":\"b\"}"},
                    JsonCase{"Truncated", "{\"a\":[{\"b\":\"c", "{\"a\":[{\"b\":\"c\"}]}"},
                    JsonCase{"TruncatedAtKey", "{\"a\"", "{\"a\":null}"},
                    JsonCase{"RawControls", "{\"a\":\"x\ty\nz\"}", "{\"a\":\"x\\ty\\nz\"}"},
                    JsonCase{"LoneSurrogate", "{\"a\":\"\\ud83d x\"}", "{\"a\":\"\\ufffd x\"}"},
                    JsonCase{"BadEscape", "{\"a\":\"\\q\"}", "{\"a\":\"\\\\q\"}"},
                    JsonCase{"LeadingZero", "{\"a\":012}", "{\"a\":\"012\"}"},
                    JsonCase{"BeyondADouble", "[1e3,99E999999999999999]", "[1e3,\"99E999999999999999\"]"},
                    JsonCase{"BeyondAnInteger", "[18446744073709551615,99999999999999999999,-9e30]",
                             "[18446744073709551615,\"99999999999999999999\",-9e30]"},
                    JsonCase{"JunkBehind", "{\"a\":1} trailing", "{\"a\":1}"},
                    JsonCase{"TooDeep", "[[[[[1]]],2]]", "[[[[null]],2]]"}),
    [](const auto& test) { return test.param.name; });

TEST(SalvagedJsonText, ReportsWhereItWasCut) {
  const auto ends = [](const char* text) {
    const SalvagedJson salvaged = salvage_json(text, 63);
    return std::pair(salvaged.cut_short, salvaged.in_item);
  };
  EXPECT_EQ(ends(R"({"items":[{"id":1},]})"), std::pair(false, false));
  EXPECT_EQ(ends(R"({"items":[{"id":1}])"), std::pair(true, false));
  EXPECT_EQ(ends(R"({"items":[{"id":1},{"id":2,"tags":["a)"), std::pair(true, true));
  EXPECT_EQ(ends(R"({items:[{id:1},{)"), std::pair(true, true));
  EXPECT_EQ(ends(R"({"items":[{"id":1}],"authors":[{"name":"x)"), std::pair(true, false));
}

TEST(SalvagedJsonText, SaysWhetherItEndedInWhatNamesOrDatesAnItem) {
  const auto in_name = [](const char* text) { return salvage_json(text, 63).in_name; };
  EXPECT_TRUE(in_name(R"({"items":[{"id":"htt)"));
  EXPECT_TRUE(in_name(R"({"items":[{"id":"a\)"));
  EXPECT_TRUE(in_name(R"({"items":[{"id":12)")) << "or 123";
  EXPECT_FALSE(in_name(R"({"items":[{"id":12,)"));
  EXPECT_FALSE(in_name(R"({"items":[{"id":"1")"));
  EXPECT_FALSE(in_name(R"({"items":[{"id":"1","title":"a)"));
  EXPECT_FALSE(in_name(R"({"items":[{"id":"1","author":{"id":"a)")) << "another's";
  EXPECT_TRUE(in_name(R"({"items":[{"id":"1","date_published":"2026-01-0)"));
  EXPECT_TRUE(in_name(R"({"items":[{"id":"1","date_modified":"2026-01-0)"));
  EXPECT_FALSE(in_name(R"({"items":[{"id":"1","date_modified":"2026-01-01T00:00:00Z",)"));
}

}  // namespace
}  // namespace feedmill::json_salvage_test
