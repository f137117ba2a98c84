#include <gtest/gtest.h>

#include "parsers/text/url.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/post_change.hpp"

namespace feedmill::settled_test {
namespace {

std::string settled(std::string_view html) {
  std::string buffer;
  return std::string(settled_markup(html, buffer, append_canonical_url, append_steady_url));
}

TEST(SettledMarkup, IsTheTextItselfWhenNothingIsVolatile) {
  std::string buffer;
  const std::string html = "<p>why? <a href=\"http://h/a?id=1\">so</a> a < b</p>";
  EXPECT_EQ(settled(html), html);
  const std::string plain = "no markup at all, 1 < 2 ? yes";
  EXPECT_EQ(settled_markup(plain, buffer, append_canonical_url, append_steady_url).data(), plain.data())
      << "nothing was copied";
}

TEST(SettledMarkup, HasNoTrackingPixels) {
  EXPECT_EQ(settled("<p>a</p><img src=\"http://t/1.gif\" width=\"1\" height=\"1\" /><p>b</p>"), "<p>a</p><p>b</p>");
  EXPECT_EQ(settled("<IMG WIDTH='0' HEIGHT='0px' SRC='x'>"), "");
  const std::string picture = "<img src=\"http://h/a.png\" width=\"1\" height=\"100\" />";
  EXPECT_EQ(settled(picture), picture) << "a line is seen";
}

TEST(SettledMarkup, HasAddressesThatStay) {
  EXPECT_EQ(settled("<img src=\"http://h/a.png?cb=1&amp;id=2\" alt=\"b?\" />"),
            "<img src=\"http://h/a.png?id=2 \" alt=\"b?\" />");
  EXPECT_EQ(settled("<img srcset=\"http://h/a?ts=1 1x, http://h/b?ts=2 2x\" />"),
            settled("<img srcset=\"http://h/a?ts=8 1x, http://h/b?ts=9 2x\" />"));
  EXPECT_EQ(settled("<a href=\"http://h/a?utm_source=x\">a</a>"), "<a href=\"http://h/a\">a</a>");
  EXPECT_NE(settled("<a href=\"http://h/a?ts=1\">a</a>"), settled("<a href=\"http://h/a?ts=2\">a</a>"))
      << "a page may hang on it";
}

TEST(SettledMarkup, EndsWhereMarkupIsBroken) {
  for (const char* html :
       {"<", "<img", "<img width=\"1\" height=\"1\"", "<a href=\"?", "<a href=\"?>", "<img width=>"}) {
    EXPECT_LE(settled(html).size(), std::string_view(html).size() + 2) << html;
  }
}

TEST(SettledJson, HasAddressesThatStay) {
  std::string buffer;
  EXPECT_EQ(settled_json(R"([{"url":"http://h/a.mp3?token=1&id=2","length":5},{"url":"http://h/b?token=3"}])", buffer,
                         append_steady_url),
            R"([{"url":"http://h/a.mp3?id=2","length":5},{"url":"http://h/b"}])");
  EXPECT_EQ(settled_json(R"([{"url":"http://h/a?token=1)", buffer, append_steady_url), R"([{"url":"http://h/a")");
}

// DESIGN §5: a difference in volatile parts is not a change.
struct VolatileCase {
  const char* name;
  Fields before, after;
  bool same;
};
void PrintTo(const VolatileCase& test, std::ostream* out) {
  *out << test.name;
}
class Volatile : public testing::TestWithParam<VolatileCase> {};
TEST_P(Volatile, DoesNotCountAsChange) {
  EXPECT_EQ(reader_digest(GetParam().before) == reader_digest(GetParam().after), GetParam().same);
}
INSTANTIATE_TEST_SUITE_P(
    All, Volatile,
    testing::Values(
        VolatileCase{"Pixel",
                     {{"content", "<p>a</p>"}},
                     {{"content", "<p>a</p><img src=\"http://t/x\" width=\"1\" height=\"1\" />"}},
                     true},
        VolatileCase{"Picture", {{"content", "<p>a</p>"}}, {{"content", "<p>a</p><img src=\"http://t/x\" />"}}, false},
        VolatileCase{"CacheBusting",
                     {{"summary", "<img src=\"http://t/x?v=1\" />"}},
                     {{"summary", "<img src=\"http://t/x?v=2\" />"}},
                     true},
        VolatileCase{"AnotherPicture",
                     {{"summary", "<img src=\"http://t/x\" />"}},
                     {{"summary", "<img src=\"http://t/y\" />"}},
                     false},
        VolatileCase{
            "TrackedLink", {{"link", "http://h/a?utm_campaign=1"}}, {{"link", "http://h/a?utm_campaign=2"}}, true},
        VolatileCase{"OtherLink", {{"link", "http://h/a?id=1"}}, {{"link", "http://h/a?id=2"}}, false},
        VolatileCase{"SignedEnclosure",
                     {{"enclosures", R"([{"url":"http://h/a?Expires=1"}])"}},
                     {{"enclosures", R"([{"url":"http://h/a?Expires=2"}])"}},
                     true},
        VolatileCase{"OtherEnclosure",
                     {{"enclosures", R"([{"url":"http://h/a"}])"}},
                     {{"enclosures", R"([{"url":"http://h/b"}])"}},
                     false},
        VolatileCase{"WhiteSpace", {{"title", "a  b"}}, {{"title", " a b\n"}}, true},
        VolatileCase{"CommentCount",
                     {{"extensions", R"({"slash":{"comments":"1"}})"}},
                     {{"extensions", R"({"slash":{"comments":"2"}})"}},
                     true},
        VolatileCase{"BuildDate",
                     {{"date_published", "2026-03-01T12:00:00Z"}},
                     {{"date_published", "2026-03-02T12:00:00Z"}},
                     true}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace feedmill::settled_test
