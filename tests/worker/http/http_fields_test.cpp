#include "worker/http/http_fields.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace feedmill::http_fields_test {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using Headers = std::vector<Header>;

const sys_seconds now{seconds(1772366400)};  // Sun, 01 Mar 2026 12:00:00 GMT

struct DateCase {
  const char* text;
  std::int64_t seconds;  // -1: refused
};

TEST(HttpDate, IsReadInItsThreeForms) {
  const DateCase cases[] = {
      {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
      {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
      {"Sun Nov  6 08:49:37 1994", 784111777},
      {"Sun Nov 16 08:49:37 1994", 784975777},
      {"sun, 06 nov 1994 08:49:37 gmt", 784111777},
      {"Sun, 6 Nov 1994 08:49:37 GMT", 784111777},
      {"Sun, 06 Nov 1994 08:49:37 UTC", 784111777},
      {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
      {"Sat, 29 Feb 2020 00:00:00 GMT", 1582934400},
      {"Sun, 01-Mar-26 12:00:00 GMT", 1772366400},
      {"Friday, 31-Dec-76 23:59:59 GMT", 3376684799},  // 2076: at most 50 years ahead
      {"Friday, 31-Dec-77 23:59:59 GMT", 252460799},   // 1977
      {"Wed, 31 Dec 9999 23:59:59 GMT", 253402300799},
      {"Sun, 06 Nov 1994 23:59:60 GMT", 784166400},
      {"", -1},
      {"0", -1},
      {"-1", -1},
      {"now", -1},
      {"Sun, 06 Nov 1994 08:49:37", -1},
      {"Sun, 06 Nov 1994 08:49:37 CET", -1},
      {"Sun, 06 Nov 1994 08:49:37 +0000", -1},
      {"Sun, 31 Feb 1994 08:49:37 GMT", -1},
      {"Sun, 00 Nov 1994 08:49:37 GMT", -1},
      {"Sun, 06 Foo 1994 08:49:37 GMT", -1},
      {"Sun, 06 Nov 1994 24:49:37 GMT", -1},
      {"Sun, 06 Nov 1994 08:60:37 GMT", -1},
      {"Sun, 06 Nov 1994 8:49:37 GMT", -1},
      {"Sun, 06 Nov 19940 08:49:37 GMT", -1},
      {"1994-11-06T08:49:37Z", -1},
      {"06 Nov 1994 08:49:37 GMT", -1},
      {"Sun, 06 Nov 1994 08:49:37 GMT GMT GMT GMT GMT", -1},
  };
  for (const DateCase& c : cases) {
    const auto read = parse_http_date(c.text, now);
    EXPECT_EQ(read ? read->time_since_epoch().count() : -1, c.seconds) << c.text;
  }
}

// HTTP P9
TEST(RetryAfterField, IsSecondsOrADate) {
  struct Case {
    const char* value;
    std::int64_t wait;  // -1: nothing
    bool clamped = false;
  };
  const Case cases[] = {
      {"0", 0},
      {"120", 120},
      {" 120 ", 120},
      {"604800", 604800},
      {"604801", 604800, true},
      {"9999999999", 604800, true},
      {"99999999999999999999999999", 604800, true},
      {"Sun, 01 Mar 2026 12:01:00 GMT", 60},
      {"Sunday, 01-Mar-26 12:01:00 GMT", 60},
      {"Sun Mar  1 12:01:00 2026", 60},
      {"Sun, 01 Mar 2026 11:00:00 GMT", 0},
      {"Fri, 01 Jan 2100 00:00:00 GMT", 604800, true},
      {"-1", -1},
      {"1.5", -1},
      {"soon", -1},
      {"", -1},
      {"120s", -1},
      {"1 2", -1},
      {"+5", -1},
      {"0x10", -1},
      {"\"60\"", -1},
  };
  for (const Case& c : cases) {
    const auto read = retry_after(Headers{{"retry-after", c.value}}, now);
    EXPECT_EQ(read ? read->wait.count() : -1, c.wait) << c.value;
    EXPECT_EQ(read && read->clamped, c.clamped) << c.value;
  }
  EXPECT_FALSE(retry_after(Headers{}, now));
  EXPECT_EQ(retry_after(Headers{{"retry-after", "5"}, {"retry-after", "50"}}, now)->wait, seconds(5));
}

struct FreshCase {
  Headers headers;
  std::int64_t fresh;
  const char* code;
  const char* from;
};

// HTTP P7
TEST(FreshnessOfAnswers, IsReadFromTheHeaders) {
  const std::int64_t most = (std::int64_t{1} << 31) - 1;
  const auto cache = [](const char* value) { return Headers{{"cache-control", value}}; };
  const std::string date = "Sun, 01 Mar 2026 12:00:00 GMT", later = "Sun, 01 Mar 2026 13:00:00 GMT";
  const FreshCase cases[] = {
      {{}, 0, "", ""},
      {cache("max-age=60"), 60, "max_age", "max-age=60"},
      {cache("max-age=\"60\""), 60, "max_age", "max-age=60"},
      {cache("Max-Age=60"), 60, "max_age", "max-age=60"},
      {cache("max-age = 60"), 60, "max_age", "max-age=60"},
      {cache(" public , max-age=60 "), 60, "max_age", "max-age=60"},
      {cache("public,max-age=60,must-revalidate,s-maxage=99"), 60, "max_age", "max-age=60"},
      {cache("s-maxage=60"), 0, "", ""},
      {cache("private, immutable, stale-while-revalidate=60"), 0, "", ""},
      {cache("max-age=31536000"), 31536000, "max_age", "max-age=31536000"},
      {cache("max-age=2147483647"), most, "max_age", "max-age=2147483647"},
      {cache("max-age=2147483648"), most, "max_age", "max-age=2147483647"},
      {cache("max-age=99999999999999999999999"), most, "max_age", "max-age=2147483647"},
      {cache("max-age=0"), 0, "", ""},
      {cache("max-age=-1"), 0, "", ""},
      {cache("max-age=1.5"), 0, "", ""},
      {cache("max-age=60s"), 0, "", ""},
      {cache("max-age="), 0, "", ""},
      {cache("max-age"), 0, "", ""},
      {cache("max-age=\"\""), 0, "", ""},
      {cache("max-age=\"60"), 0, "", ""},
      {cache("max-age=0x10"), 0, "", ""},
      {cache("max-age=60, max-age=90"), 60, "max_age", "max-age=60"},
      {cache("max-age=x, max-age=90"), 90, "max_age", "max-age=90"},
      {{{"cache-control", "public"}, {"cache-control", "max-age=60"}}, 60, "max_age", "max-age=60"},
      {cache("max-age=60;public"), 0, "", ""},
      {cache("no-cache"), 0, "", ""},
      {cache("no-store"), 0, "", ""},
      {cache("No-Cache, max-age=60"), 0, "", ""},
      {cache("max-age=60, no-store"), 0, "", ""},
      {cache("no-cache=\"set-cookie\", max-age=60"), 0, "", ""},
      {cache("ext=\"a, no-store, b\", max-age=60"), 60, "max_age", "max-age=60"},
      {cache("ext=\"a\\\", no-store\", max-age=60"), 60, "max_age", "max-age=60"},
      {cache(",,,max-age=60,,"), 60, "max_age", "max-age=60"},
      {cache("xmax-age=60"), 0, "", ""},
      {{{"cache-control", "max-age=4000"}, {"age", "100"}}, 3900, "max_age", "max-age=4000, Age 100"},
      {{{"cache-control", "max-age=60"}, {"age", "60"}}, 0, "max_age", "max-age=60, Age 60"},
      {{{"cache-control", "max-age=60"}, {"age", "900"}}, 0, "max_age", "max-age=60, Age 900"},
      {{{"cache-control", "max-age=60"}, {"age", "-5"}}, 60, "max_age", "max-age=60"},
      {{{"cache-control", "max-age=60"}, {"age", "old"}}, 60, "max_age", "max-age=60"},
      {{{"expires", later}, {"date", date}}, 3600, "expires", later.c_str()},
      {{{"expires", later}}, 3600, "expires", later.c_str()},
      {{{"expires", later}, {"date", "bad"}}, 3600, "expires", later.c_str()},
      {{{"expires", later}, {"date", "Sun, 01 Mar 2026 12:59:00 GMT"}}, 60, "expires", later.c_str()},
      {{{"expires", date}, {"date", later}}, 0, "", ""},
      {{{"expires", date}, {"date", date}}, 0, "", ""},
      {{{"expires", "0"}, {"date", date}}, 0, "", ""},
      {{{"expires", "-1"}, {"date", date}}, 0, "", ""},
      {{{"expires", "Thu, 01 Jan 1970 00:00:00 GMT"}}, 0, "", ""},
      {{{"expires", "Fri, 31 Dec 9999 23:59:59 GMT"}}, most, "expires", "Fri, 31 Dec 9999 23:59:59 GMT"},
      {{{"expires", "Sunday, 01-Mar-26 13:00:00 GMT"}}, 3600, "expires", "Sunday, 01-Mar-26 13:00:00 GMT"},
      {{{"cache-control", "max-age=60"}, {"expires", later}}, 60, "max_age", "max-age=60"},
      {{{"cache-control", "max-age=0"}, {"expires", later}}, 0, "", ""},
      {{{"cache-control", "no-cache"}, {"expires", later}}, 0, "", ""},
      {{{"cache-control", "max-age=bad"}, {"expires", later}}, 3600, "expires", later.c_str()},
      {{{"cache-control", "public"}, {"expires", later}}, 3600, "expires", later.c_str()},
  };
  for (const FreshCase& c : cases) {
    const Freshness read = freshness(c.headers, now);
    EXPECT_EQ(read, (Freshness{seconds(c.fresh), c.code, c.from}))
        << (c.headers.empty() ? "no headers" : c.headers[0].second) << ": " << read.fresh.count() << " " << read.from;
  }
}

TEST(FreshnessOfAnswers, SurvivesNonsense) {
  std::string value;
  for (int i = 0; i < 5000; ++i) {
    value += static_cast<char>("ma-x=ge,\"\\ 09"[(i * 7919 + i / 3) % 13]);
    const Freshness read = freshness(Headers{{"cache-control", value}, {"expires", value}, {"age", value}}, now);
    ASSERT_GE(read.fresh.count(), 0);
  }
}

TEST(Validator, IsKeptWhenItCanBeSentBack) {
  for (const std::string value : {"\"abc\"", "W/\"abc\"", "\"\xe9\"", "x", " "})
    EXPECT_EQ(usable_validator(value), value);
  EXPECT_EQ(usable_validator(std::string(1024, 'x')).size(), 1024u);
  EXPECT_EQ(usable_validator(std::string(1025, 'x')), "");
  EXPECT_EQ(usable_validator("\"a\tb\""), "");
  EXPECT_EQ(usable_validator("\"a\r\n\""), "");
  EXPECT_EQ(usable_validator("\"a\x7f\""), "");
  EXPECT_EQ(usable_validator(std::string_view("\"a\0b\"", 5)), "");
}

TEST(Fields, AreFoundByName) {
  const Headers headers = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(field(headers, "a"), "1");
  EXPECT_EQ(field(headers, "c"), "");
  EXPECT_EQ(joined_field(headers, "a"), "1, 3");
  EXPECT_EQ(joined_field(headers, "c"), "");
}

StatedQuota left(double remaining, std::optional<std::chrono::milliseconds> reset) {
  return {remaining, reset, {}};
}
StatedQuota paced(std::chrono::milliseconds pace) {
  return {{}, {}, pace};
}

// HTTP H10
TEST(StatedQuotas, AreReadInAllTheirForms) {
  using namespace std::chrono_literals;
  const auto stated = [](std::vector<Header> headers) {
    return stated_quotas(headers, std::chrono::sys_seconds(1'772'366'400s));
  };
  using Quotas = std::vector<StatedQuota>;
  EXPECT_EQ(stated({}), Quotas());
  EXPECT_EQ(stated({{"ratelimit", "\"default\";r=0;t=30"}, {"ratelimit-policy", "\"default\";q=1;w=60"}}),
            (Quotas{left(0, 30s), paced(60s)}));
  EXPECT_EQ(stated({{"ratelimit", "\"a, b\";r=9;t=1, \"c\"; r=99 ; t=60"}}), (Quotas{left(9, 1s), left(99, 60s)}));
  EXPECT_EQ(stated({{"ratelimit", "limit=100, remaining=50, reset=5"}, {"ratelimit-policy", "100;w=10"}}),
            (Quotas{left(50, 5s), paced(100ms)}));
  EXPECT_EQ(
      stated({{"ratelimit-limit", "10, 10;w=1, 50;w=100"}, {"ratelimit-remaining", "9"}, {"ratelimit-reset", "1"}}),
      (Quotas{paced(100ms), paced(2s), left(9, 1s)}));
  EXPECT_EQ(stated({{"x-ratelimit-remaining", "0.0"}, {"x-ratelimit-reset", "57"}, {"x-ratelimit-used", "1"}}),
            Quotas{left(0, 57s)});
  EXPECT_EQ(stated({{"x-ratelimit-remaining", "4"}, {"x-ratelimit-reset", "1772366430"}}), Quotas{left(4, 30s)});
  EXPECT_EQ(stated({{"x-rate-limit-remaining", "4"}, {"x-rate-limit-reset", "1772366430000"}}), Quotas{left(4, 30s)});
  EXPECT_EQ(stated({{"x-ratelimit-remaining", "4"}, {"x-ratelimit-reset", "1772366399"}}), Quotas{left(4, 0s)});
  EXPECT_EQ(stated({{"x-ratelimit-remaining", "1.5"}, {"x-ratelimit-reset", "0.25"}}), Quotas{left(1.5, 250ms)});
}

TEST(StatedQuotas, AreIgnoredWhenUnreadable) {
  const auto stated = [](std::string name, std::string value) {
    return stated_quotas(std::vector<Header>{{std::move(name), std::move(value)}},
                         std::chrono::sys_seconds(std::chrono::seconds(1'772'366'400)));
  };
  for (const char* value :
       {"", "-1", "+1", "1e3", "1.", ".5", "0x10", "1 2", "one", "nan", "9999999999999999", "1;2", "0.1234567890"}) {
    EXPECT_TRUE(stated("x-ratelimit-remaining", value).empty()) << value;
    EXPECT_TRUE(stated("x-ratelimit-reset", value).empty()) << value;
  }
  for (const char* value : {"604801", "1773366400", "1772000000", "99999999999"}) {
    EXPECT_TRUE(stated("x-ratelimit-reset", value).empty()) << value << " is too far away";
  }
  for (const char* value : {"\"a\"", "\"a\";q=0;w=60", "\"a\";q=1;w=-60", "\"a\";q=1;w=9999999", "\"a\";w=60",
                            "\"a\";q=1;w=60;qu=\"content-bytes\"", ";;;===", "\"a"}) {
    EXPECT_TRUE(stated("ratelimit-policy", value).empty()) << value;
  }
  EXPECT_TRUE(stated("ratelimit", "\"a\";r=5;t=1;qu=content-bytes").empty());
  std::string many;
  for (int i = 0; i < 100; ++i) many += "\"a\";q=1;w=60,";
  EXPECT_LE(stated("ratelimit-policy", many).size(), 16U);
  EXPECT_TRUE(stated("ratelimit-policy", many + many).empty()) << "nobody needs so many words for it";
}

}  // namespace
}  // namespace feedmill::http_fields_test
