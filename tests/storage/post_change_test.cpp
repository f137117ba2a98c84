#include "storage/records/post_change.hpp"

#include <gtest/gtest.h>

namespace feedmill::post_change_test {
namespace {

struct ChangeCase {
  const char* name;
  Fields before, after;
  bool noticed;
  std::set<std::string> parts{};
};
void PrintTo(const ChangeCase& test, std::ostream* out) {
  *out << test.name;
}

class Changes : public testing::TestWithParam<ChangeCase> {};

TEST_P(Changes, AreNoticedOrNamed) {
  const ChangeCase& test = GetParam();
  const PostChange change = change_between(test.before, test.after);
  EXPECT_EQ(change.noticed, test.noticed);
  if (!test.noticed) {
    EXPECT_EQ(change.parts, test.parts);
  }
}

Fields link(const char* url) {
  return {{"link", url}};
}
Fields text(const char* html) {
  return {{"content", html}};
}
Fields files(const char* json) {
  return {{"enclosures", json}};
}
Fields extensions(const char* json) {
  return {{"extensions", json}};
}

INSTANTIATE_TEST_SUITE_P(
    All, Changes,
    testing::Values(
        ChangeCase{"Nothing", link("https://e.org/1"), link("https://e.org/1"), false},
        ChangeCase{"ATitle", {{"title", "a"}}, {{"title", "b"}}, true},
        ChangeCase{"SpacesInATitle", {{"title", "a  b"}}, {{"title", " a b"}}, false},
        ChangeCase{"ATitleThatGoes", {{"title", "a"}}, {}, true},
        ChangeCase{"AFieldThatNobodyReads", {{"language", "de"}}, {{"language", "en"}}, false},
        ChangeCase{"TheSpellingOfALink", link("http://www.e.org/1/"), link("https://e.org/1"), false},
        ChangeCase{"TheTrackingOfALink", link("https://e.org/1?utm_source=a"), link("https://e.org/1?utm_source=b"),
                   false},
        ChangeCase{"AnIriToItsUri", link("https://e.org/\xC3\xBC\" #a"), link("https://e.org/%C3%BC%22%20#a"), false},
        ChangeCase{"AnIriOfAFileToItsUri", files(R"([{"url":"https://e.org/ü[1].mp3"}])"),
                   files(R"([{"url":"https://e.org/%C3%BC%5B1%5D.mp3"}])"), false},
        ChangeCase{"ATypeOfAFileToItsMediaType",
                   files(R"([{"url":"https://e.org/1","type":"Audio/MPEG; x=\"y\"","length":5}])"),
                   files(R"([{"url":"https://e.org/1","type":"audio/mpeg","length":5}])"), false},
        ChangeCase{"ATypeOfAFileThatIsNone", files(R"([{"url":"https://e.org/1","type":"mp3"}])"),
                   files(R"([{"url":"https://e.org/1"}])"), false},
        ChangeCase{"TheTypeOfAFile", files(R"([{"url":"https://e.org/1","type":"audio/mpeg"}])"),
                   files(R"([{"url":"https://e.org/1","type":"video/mp4"}])"), true},
        ChangeCase{"AnIriToAnother", link("https://e.org/\xC3\xBC"), link("https://e.org/%C3%B6"), true},
        ChangeCase{"ThePathOfALink", link("https://e.org/1"), link("https://e.org/2"), true},
        ChangeCase{"AParameterOfALink", link("https://e.org/1?s=a"), link("https://e.org/1?s=b"), false, {"?s"}},
        ChangeCase{"TheHostOfALink", link("https://a.org/1"), link("https://b.org/1"), false, {"@host"}},
        ChangeCase{"TheFragmentOfALink", link("https://a.org/1#a"), link("https://a.org/1#b"), true},
        ChangeCase{"AnotherKindOfLink", link("https://a.org/1"), link("mailto:a@b"), true},
        ChangeCase{"ATokenInThePathOfAPicture",
                   text("<img src=\"https://c.org/x/1.png\" />"),
                   text("<img src=\"https://c.org/y/1.png\" />"),
                   false,
                   {"/c.org/1"}},
        ChangeCase{"APictureMore", text("<img src=\"https://c.org/1.png\" />"),
                   text("<img src=\"https://c.org/1.png\" /><img src=\"https://c.org/2.png\" />"), true},
        ChangeCase{"ASignatureInALink", text("<a href=\"https://c.org/f?Expires=1&amp;Signature=a\">f</a>"),
                   text("<a href=\"https://c.org/f?Expires=2&amp;Signature=b\">f</a>"), false},
        ChangeCase{"ATrackingPixel", text("<p>a</p><img src=\"https://t/1\" width=\"1\" height=\"1\" />"),
                   text("<p>a</p>"), false},
        ChangeCase{"ASourceSet",
                   text("<img srcset=\"https://c.org/a?k=1 1x, https://c.org/b 2x\" />"),
                   text("<img srcset=\"https://c.org/a?k=2 1x, https://c.org/b 2x\" />"),
                   false,
                   {"?k"}},
        ChangeCase{"WordsOfTheText", text("<p>a</p>"), text("<p>b</p>"), true},
        ChangeCase{"TheSizeOfAFile",
                   files(R"([{"url":"https://e.org/1.mp3","length":5}])"),
                   files(R"([{"url":"https://e.org/1.mp3","length":6}])"),
                   false,
                   {"#length"}},
        ChangeCase{"ThePathOfAFile", files(R"([{"url":"https://e.org/1.mp3"}])"),
                   files(R"([{"url":"https://e.org/2.mp3"}])"), true},
        ChangeCase{"AnAuthor", {{"authors", R"([{"name":"a"}])"}}, {{"authors", R"([{"name":"b"}])"}}, true},
        ChangeCase{"AnAddressOfAnAuthor",
                   {{"authors", R"([{"name":"a"}])"}},
                   {{"authors", R"([{"name":"a","uri":"https://a.org/"}])"}},
                   false},
        ChangeCase{"WhatReadersMadeOfAVideo",
                   {{"media", R"({"title":"t","community":{"views":1}})"}},
                   {{"media", R"({"title":"t","community":{"views":2}})"}},
                   false},
        ChangeCase{"ATypeOfAPictureThatIsNone",
                   {{"media", R"({"thumbnails":[{"type":"jpg","url":"https://e.org/1"}]})"}},
                   {{"media", R"({"thumbnails":[{"url":"https://e.org/1"}]})"}},
                   false},
        ChangeCase{"TheTitleOfAVideo", {{"media", R"({"title":"t"})"}}, {{"media", R"({"title":"u"})"}}, true},
        ChangeCase{"AnEpisode", extensions(R"({"itunes":{"episode":1}})"), extensions(R"({"itunes":{"episode":2}})"),
                   true},
        ChangeCase{"AParameterOfATranscript",
                   extensions(R"({"podcast":{"transcript":[{"value":"","attrs":{"url":"https://e.org/1?k=1"}}]}})"),
                   extensions(R"({"podcast":{"transcript":[{"value":"","attrs":{"url":"https://e.org/1?k=2"}}]}})"),
                   true},
        ChangeCase{"AVocabularyThatGoes", extensions(R"({"cap":{"severity":[{"value":"Minor"}]}})"), {}, true},
        ChangeCase{"AnythingElse", extensions(R"({"x":{"y":[{"value":"1"}]}})"),
                   extensions(R"({"x":{"y":[{"value":"2"}]}})"), false},
        ChangeCase{"BrokenValues",
                   {{"extensions", "{\"a"}, {"media", "{"}, {"enclosures", "[\"\\"}},
                   {{"extensions", "{\"a\":"}, {"media", "{\"a\":{"}, {"enclosures", "[\"\\"}},
                   false}),
    [](const auto& test) { return test.param.name; });

TEST(PostChange, NamesAtMostAsManyPartsAsCanBeLearned) {
  std::string before = "https://e.org/1?", after = before;
  for (int i = 0; i < 100'000; ++i) {
    before.append("p").append(std::to_string(i)).append("=1&");
    after.append("p").append(std::to_string(i)).append("=2&");
  }
  const PostChange change = change_between(link(before.c_str()), link(after.c_str()));
  EXPECT_TRUE(change.noticed);
  EXPECT_LE(change.parts.size(), 32U);
}

TEST(PostChange, CountsOnlyWordsOfMarkupThatOtherRulesMade) {
  const Fields before =
      text("<p id=\"i\" class=\"c\"><!-- c -->Hi &amp;copy <a href=\"http://a.example/\">you</a> all</p>");
  const Fields after = text(
      "<main><p>Hi \u00a9 <a href=\"http://b.example/\">you</a> <mark>all</mark></p></main>"
      "<a href=\"http://v.example/?a&amp;b\">http://v.example/?a&amp;b</a>");
  EXPECT_TRUE(change_between(before, after).noticed);
  const PostChange change = change_between(before, after, true);
  EXPECT_FALSE(change.noticed);
  EXPECT_TRUE(change.parts.empty());
  EXPECT_TRUE(change_between(before, text("<p>Hi \u00a9 <a href=\"http://a.example/\">all</a></p>"), true).noticed);
  EXPECT_TRUE(change_between(text(""), text("<a href=\"http://a.example/\">More</a>"), true).noticed);
  EXPECT_FALSE(change_between(text(""), text("<a href=\"http://a.example/"), true).noticed);
}

TEST(VolatileParts, AreLearnedInThreeDocumentsAndForgottenInTen) {
  VolatileParts parts;
  for (int document = 1; document <= 3; ++document) {
    EXPECT_FALSE(parts.contains("?k"));
    parts.count({"?k"}, {"?k"});
    parts = VolatileParts(parts.text());
  }
  EXPECT_TRUE(parts.contains("?k"));
  EXPECT_EQ(parts.parts(), std::vector<std::string>{"?k"});
  for (int document = 1; document < 10; ++document) parts.count({}, {});
  EXPECT_TRUE(parts.contains("?k"));
  parts.count({}, {"?k"});
  for (int document = 1; document < 10; ++document) parts.count({}, {});
  EXPECT_TRUE(parts.contains("?k")) << "it changed again, though on few posts";
  parts.count({}, {});
  EXPECT_EQ(parts.text(), "");
}

TEST(VolatileParts, FitIn512Bytes) {
  VolatileParts parts;
  std::set<std::string> all;
  for (int i = 0; i < 1000; ++i) all.insert("?" + std::string(40, 'a') + std::to_string(i));
  for (int document = 0; document < 5; ++document) parts.count(all, all);
  EXPECT_LE(parts.text().size(), VolatileParts::most_bytes);
  EXPECT_GT(parts.parts().size(), 8U);
}

TEST(VolatileParts, IgnoreForeignRows) {
  EXPECT_EQ(VolatileParts("xx ?a\n30\n\n30 ?b\n3 0 ?c").text(), "30 ?b\n");
}

}  // namespace
}  // namespace feedmill::post_change_test
