#include "storage/records/resanitise.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "storage/records/diff.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"

namespace feedmill::resanitise_test {
namespace {

/// A stored post with correct digest and bytes.
Fields post(Fields fields) {
  fields.insert(fields.end(), {{"guid", "g"}, {"feed_url", "https://a.example/"}, {"rev", "3"}});
  std::sort(fields.begin(), fields.end());
  fields.emplace_back("bytes", std::to_string(entry_bytes(fields)));
  fields.emplace_back("digest", reader_digest(fields));
  return fields;  // not sorted, as from a server
}

Fields with(Fields fields, const Fields& changes) {
  for (const auto& [name, value] : changes) {
    std::erase_if(fields, [&, key = name](const auto& field) { return field.first == key; });
    if (!value.empty()) fields.emplace_back(name, value);
  }
  return fields;
}

TEST(Resanitised, FindsNothingInWhatTodaysPolicyMade) {
  EXPECT_EQ(resanitised(post({{"title", "1 < 2 & <b>"}, {"summary", "plain <script>"}}), {}), Fields());
  EXPECT_EQ(resanitised(post({{"content", "<p>Hello <em>you</em></p>"},
                              {"content_type", "text/html"},
                              {"summary_text", "Hello you"}}),
                        {}),
            Fields());
}

TEST(Resanitised, ChangesMarkupAndWhatFollowsFromIt) {
  const Fields stored = post({{"content", "<p onclick=\"x()\">Hello</p><script>1</script>"},
                              {"content_type", "text/html"},
                              {"summary_text", "Hello 1"},
                              {"title", "<b style=\"x\">T</b>"},
                              {"title_type", "text/html"}});
  const Fields changes = resanitised(stored, {});
  EXPECT_EQ(value_of(changes, "content"), "<p>Hello</p>");
  EXPECT_EQ(value_of(changes, "title"), "<b>T</b>");
  EXPECT_EQ(value_of(changes, "summary_text"), "Hello");
  Fields after = with(stored, changes);
  EXPECT_EQ(value_of(after, "bytes"), std::to_string(entry_bytes(after)));
  std::sort(after.begin(), after.end());
  EXPECT_EQ(value_of(after, "digest"), reader_digest(after));
  EXPECT_EQ(find_field(changes, "rev"), nullptr);
  EXPECT_EQ(resanitised(after, {}), Fields()) << "once is enough";
}

// RELIABILITY L34
TEST(Resanitised, KeepsTheExcerptOfTextsThatWereDropped) {
  const Fields stored = with(post({{"title", "<b style=\"x\">T</b>"}, {"title_type", "text/html"}}),
                             {{"summary_text", "What it said"}, {"truncated", "texts"}, {"digest", "1-of-it-all"}});
  const Fields changes = resanitised(stored, {});
  EXPECT_EQ(value_of(changes, "title"), "<b>T</b>");
  for (const char* name : {"summary_text", "truncated", "digest"})
    EXPECT_EQ(find_field(changes, name), nullptr) << name;
}

TEST(Resanitised, TakesAwayWhatNothingIsLeftOf) {
  const Fields changes =
      resanitised(post({{"summary", "<script>1</script>"}, {"summary_type", "text/html"}, {"summary_text", "1"}}), {});
  EXPECT_EQ(value_of(changes, "summary"), "");
  EXPECT_NE(find_field(changes, "summary"), nullptr);
  EXPECT_NE(find_field(changes, "summary_type"), nullptr);
  EXPECT_NE(find_field(changes, "summary_text"), nullptr);
}

TEST(Resanitised, LeavesTheDigestOfAnotherVersionAlone) {
  const Fields saved = with(post({{"content", "<p onclick=x>Hello</p>"}, {"content_type", "text/html"}}),
                            {{"digest", "0123456789abcdef"}, {"saved", "1"}});
  const Fields changes = resanitised(saved, {});
  EXPECT_EQ(value_of(changes, "content"), "<p>Hello</p>");
  EXPECT_EQ(find_field(changes, "digest"), nullptr) << "it is that of the publisher's version";
}

// SECURITY S14
TEST(Resanitised, SkipsRawFeedsAndLeavesNoMark) {
  const Fields raw = post({{"content", "<p onclick=x>Hello</p>"}, {"content_type", "text/html"}, {"san_ver", "0"}});
  EXPECT_EQ(resanitised(raw, {HtmlPolicy::raw, false}), Fields());
  const Fields changes = resanitised(raw, {HtmlPolicy::strict, false});
  EXPECT_EQ(value_of(changes, "san_ver"), "3");
}

TEST(Resanitised, TakesAnyTypeForOneOfThree) {
  const std::string live = "<p>Hello</p><script>1</script>";
  for (const char* type : {"text/html; charset=utf-8", "html;", "TEXT/HTML,x", "text/html/", "text/html\xC2\xA0"}) {
    const Fields changes =
        resanitised(post({{"content", live}, {"content_type", type}, {"summary", live}, {"summary_type", type}}), {});
    EXPECT_EQ(value_of(changes, "content"), "<p>Hello</p>") << type;
    EXPECT_EQ(value_of(changes, "content_type"), "text/html") << type;
    EXPECT_EQ(value_of(changes, "summary"), "<p>Hello</p>") << type;
    EXPECT_EQ(value_of(changes, "summary_type"), "text/html") << type;
    EXPECT_EQ(value_of(changes, "summary_text"), "Hello") << type;
    EXPECT_EQ(value_of(changes, "san_ver"), "3") << type;
  }
  for (const char* type : {"image/svg+xml", "message/rfc822", "application/xml", "invalid"}) {
    const Fields changes =
        resanitised(post({{"content", live}, {"content_type", type}, {"title", live}, {"title_type", type}}), {});
    EXPECT_EQ(value_of(changes, "content_type"), "text/plain") << type;
    EXPECT_NE(find_field(changes, "title_type"), nullptr) << "it goes: what has no type is text";
    EXPECT_EQ(value_of(changes, "title_type"), "");
    EXPECT_EQ(find_field(changes, "content"), nullptr) << "shown as it is written";
    EXPECT_EQ(find_field(changes, "digest"), nullptr) << "no reader sees a difference";
  }
}

TEST(Resanitised, DropsAddressesOfRefusedSchemes) {
  const Fields stored = post(
      {{"link", "ssh://-oProxyCommand=x/"},
       {"comments", "feed://a.example/c"},
       {"authors", R"([{"name":"A","uri":"telnet://a/"},{"name":"B","uri":"https://b/"}])"},
       {"enclosures", R"([{"url":"javascript:1","type":"a/b"},{"url":"https://a/b.mp3","length":7,"duration":1}])"},
       {"media", R"({"content":[{"url":"nfs://a/"},{"url":"https://a/"}],"player":{"url":"afp://a/","width":1}})"},
       {"extensions",
        R"({"itunes":{"image":"gopher://a/","title":"T"},"psc":{"chapters":[{"href":"ssh://a/","title":"C"}]},)"
        R"("other":{"x":[{"value":"ssh://a/","attrs":{"url":"ssh://a/"}}]}})"}});
  const Fields changes = resanitised(stored, {});
  EXPECT_NE(find_field(changes, "link"), nullptr);
  EXPECT_EQ(value_of(changes, "link"), "");
  EXPECT_EQ(value_of(changes, "comments"), "http://a.example/c");
  EXPECT_EQ(value_of(changes, "authors"), R"([{"name":"A"},{"name":"B","uri":"https://b/"}])");
  EXPECT_EQ(value_of(changes, "enclosures"), R"([{"url":"https://a/b.mp3","length":7,"duration":1}])");
  EXPECT_EQ(value_of(changes, "media"), R"({"content":[{},{"url":"https://a/"}],"player":{"width":1}})");
  EXPECT_EQ(value_of(changes, "extensions"), R"({"itunes":{"title":"T"},"psc":{"chapters":[{"title":"C"}]},)"
                                             R"("other":{"x":[{"value":"ssh://a/","attrs":{"url":"ssh://a/"}}]}})");
  Fields after = with_changes(stored, changes);
  EXPECT_EQ(value_of(after, "digest"), reader_digest(after));
  EXPECT_EQ(resanitised(after, {}), Fields()) << "once is enough";
  const Fields only = resanitised(post({{"enclosures", R"([{"url":"javascript:1"}])"}}), {});
  EXPECT_NE(find_field(only, "enclosures"), nullptr);
  EXPECT_EQ(value_of(only, "enclosures"), "");
}

TEST(Resanitised, DropsRefusedAddressesFromEveryFieldThatHasOne) {
  const Fields stored =
      post({{"banner_image", "ssh://a/"},
            {"comment_api", "javascript:1"},
            {"comments_feed", "feed://a.example/c"},
            {"contributors", R"([{"name":"A","uri":"telnet://a/"}])"},
            {"external_url", "nfs://a/"},
            {"image", "gopher://a/"},
            {"license", "https://c.example/by"},
            {"links", R"([{"href":"javascript:1","rel":"via"},{"href":"mailto:a@b.example","rel":"related"}])"},
            {"publisher", R"({"name":"P","uri":"ssh://a/"})"},
            {"source", R"({"title":"S","link":"ssh://a/","url":"https://s.example/","authors":[{"name":"A",)"
                       R"("uri":"afp://a/"}],"icon":"ftp://a/i","logo":"https://s.example/l"})"}});
  const Fields changes = resanitised(stored, {});
  const Fields after = with_changes(stored, changes);
  EXPECT_EQ(value_of(after, "comments_feed"), "http://a.example/c");
  EXPECT_EQ(value_of(after, "contributors"), R"([{"name":"A"}])");
  EXPECT_EQ(value_of(after, "license"), "https://c.example/by");
  EXPECT_EQ(value_of(after, "links"), R"([{"href":"mailto:a@b.example","rel":"related"}])");
  EXPECT_EQ(value_of(after, "publisher"), R"({"name":"P"})");
  EXPECT_EQ(value_of(after, "source"),
            R"({"title":"S","logo":"https://s.example/l","url":"https://s.example/","authors":[{"name":"A"}]})");
  for (const char* name : {"banner_image", "comment_api", "external_url", "image"}) {
    EXPECT_EQ(find_field(after, name), nullptr) << name;
  }
  EXPECT_EQ(resanitised(after, {}), Fields()) << "once is enough";
}

TEST(ResanitisedFeed, DropsRefusedAddressesFromEveryFieldThatHasOne) {
  const Fields changes = resanitised_feed({{"icon", "ssh://a/"},
                                           {"license", "javascript:1"},
                                           {"links", R"([{"href":"ssh://a/","rel":"related"}])"},
                                           {"extensions", R"({"itunes":{"image":"ssh://a/","type":"serial"}})"}},
                                          {});
  EXPECT_EQ(changes,
            (Fields{{"extensions", R"({"itunes":{"type":"serial"}})"}, {"icon", ""}, {"license", ""}, {"links", ""}}));
}

TEST(ResanitisedFeed, KnowsMarkupThatHasBeenThroughTheSanitiser) {
  const auto mended = [](const std::string& description) {
    return resanitised_feed({{"description", description}, {"title", "T & U"}}, {});
  };
  const std::string cut = "<p>a &amp; b</p><a href=\"https://h/bbbb";
  EXPECT_EQ(value_of(mended(cut), "description"), "<p>a &amp; b</p>");
  EXPECT_EQ(value_of(mended(cut), "description_type"), "text/html");
  EXPECT_EQ(value_of(mended("<p>whole</p>"), "description_type"), "text/html");
  EXPECT_EQ(value_of(mended("<p>open <b>still"), "description"), "<p>open <b>still</b></p>");
  for (const char* text : {"plain", "a < b && c", "<img src=x onerror=alert(1)>", "<b onclick=\"x\">y</b>"}) {
    EXPECT_EQ(mended(text), Fields()) << text << " is text, and stays so";
  }
  const Fields typed{{"description", "<p>x</p><a href=\"b"}, {"description_type", "text/html"}, {"san_ver", "3"}};
  EXPECT_EQ(resanitised_feed(typed, {}), (Fields{{"description", "<p>x</p>"}}));
  EXPECT_EQ(resanitised_feed({{"description", "&amp;"}, {"san_ver", "3"}}, {}), Fields()) << "text, it says";
  const Fields links = resanitised_feed({{"image", "ftp://a/b.png"}, {"link", "ssh://a/"}}, {});
  EXPECT_EQ(links, (Fields{{"image", ""}, {"link", ""}}));
  EXPECT_EQ(resanitised_feed({{"description", cut}}, {HtmlPolicy::raw, false}), Fields());
}

}  // namespace
}  // namespace feedmill::resanitise_test
