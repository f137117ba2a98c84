#include <gtest/gtest.h>

#include "worker/admin/page_parts.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill::html_test {
namespace {

struct EscapingCase {
  std::string_view text, html;
};

TEST(HtmlText, LeavesNothingThatIsMarkup) {
  using namespace std::string_view_literals;
  for (const auto& [text, html] : {
           EscapingCase{"", ""},
           EscapingCase{"plain, with spaces\tand\nlines", "plain, with spaces\tand\nlines"},
           EscapingCase{"<script>alert('1')</script>", "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"},
           EscapingCase{"\" onload=\"x", "&quot; onload=&quot;x"},
           EscapingCase{"` onload=`x", "&#96; onload=&#96;x"},
           EscapingCase{"a & b &amp; &#60;", "a &amp; b &amp;amp; &amp;#60;"},
           EscapingCase{"Ünï 日本 👩‍💻", "Ünï 日本 👩‍💻"},
           EscapingCase{"a\0b\x01\x1b[31m\x7f"sv,
                        "a\xef\xbf\xbd"
                        "b\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbd"},
           EscapingCase{"\xc2\x85\xc2\x9b", "\xef\xbf\xbd\xef\xbf\xbd"},  // C1 controls
           EscapingCase{"\xff\xc0\xaf\xed\xa0\x80",
                        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
           EscapingCase{"\xe2\x80", "\xef\xbf\xbd\xef\xbf\xbd"},  // truncated UTF-8
           EscapingCase{"a\xe2\x80\xae"
                        "b\xe2\x81\xa6"
                        "c\xe2\x80\x8b"
                        "d\xef\xbb\xbf",
                        "abcd"},  // bidi controls and invisible characters are dropped
           EscapingCase{"https://a.example/?token=abc&x=1", "https://a.example/?token=&lt;redacted&gt;&amp;x=1"},
           EscapingCase{"https://me:word@a.example/", "https://&lt;redacted&gt;@a.example/"},
       })
    EXPECT_EQ(html_text(text), html) << text;
}

TEST(Html, PutsEveryValueInEscaped) {
  Html inner;
  inner.add("<b>{}</b>", "<i>");
  Html outer;
  outer.add("<p title=\"{}\">{} {} {}</p>", "\"><script>", inner, 1'234'567, std::string("{}"));
  EXPECT_EQ(outer.text(),
            "<p title=\"&quot;&gt;&lt;script&gt;\"><b>&lt;i&gt;</b> 1\xe2\x80\xaf"
            "234\xe2\x80\xaf"
            "567 {}</p>");
  EXPECT_TRUE(Html().empty());
}

TEST(PageParts, LinkOutOfHereToTheWebAlone) {
  const auto link = [](std::string_view url) { return outside_link(url, "text").text(); };
  EXPECT_EQ(
      link("https://a.example/?a=1&b=\"2"),
      "<a href=\"https://a.example/?a=1&amp;b=&quot;2\" rel=\"noopener noreferrer nofollow\"><bdi>text</bdi></a>");
  for (const char* const url :
       {"", "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "data:text/html,x",
        "ftp://a.example/", "//a.example/", "/status", "https:a", "http://a.example/ b",
        "http://a.example\\@b.example/", "http://a\tb/", "HTTP://a.example/", "vbscript:x",
        "https://user:word@a.example/", "https://a.example/?apikey=1"})
    EXPECT_EQ(link(url), "<bdi>text</bdi>") << url;
}

TEST(PageParts, ShowNoSecretOfAFeedsAddress) {
  EXPECT_EQ(feed_link("https://a.example/ä?b", "<t>").text(),
            "<a href=\"/status/feed?url=https%3A%2F%2Fa.example%2F%C3%A4%3Fb\"><bdi>&lt;t&gt;</bdi></a>");
  EXPECT_EQ(feed_link("https://a.example/?token=canary", "title").text(), "<bdi>title</bdi>");
}

TEST(PageParts, DrawBarsAsHighAsTheirValues) {
  const double values[] = {0, 1, 4, 0.0001};
  const std::string svg = bars(values, "a \"label\"").text();
  EXPECT_NE(svg.find("aria-label=\"a &quot;label&quot;\" viewBox=\"0 0 4 24\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("<rect x=\"1.1\" y=\"18.00\" width=\"0.8\" height=\"6.00\"/>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("<rect x=\"2.1\" y=\"0.00\" width=\"0.8\" height=\"24.00\"/>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("<rect x=\"3.1\" y=\"23.20\""), std::string::npos) << "what is there can be seen: " << svg;
  EXPECT_EQ(svg.find("x=\"0.1\""), std::string::npos) << svg;
  EXPECT_EQ(bars({}, "").text().find("<rect"), std::string::npos);
}

TEST(Query, DecodesOnce) {
  EXPECT_EQ(percent_decoded("/a%20b%2fc"), "/a b/c");
  EXPECT_EQ(percent_decoded("%2541"), "%41");
  for (const char* const broken : {"%", "%4", "%zz", "a%4g"})
    EXPECT_EQ(percent_decoded(broken), std::nullopt) << broken;
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(percent_decoded(percent_encoded(all)), all);
}

TEST(Query, FindsAParameter) {
  EXPECT_EQ(parameter("a=1&b=2&b=3", "b"), "2");
  EXPECT_EQ(parameter("verbose", "verbose"), "");
  EXPECT_EQ(parameter("a&b=c+d%26e", "b"), "c d&e");
  EXPECT_EQ(parameter("ab=1", "a"), std::nullopt);
  EXPECT_EQ(parameter("a=%zz", "a"), std::nullopt);
  EXPECT_EQ(parameter("", "a"), std::nullopt);
  EXPECT_EQ(parameter("&&=x&a==", "a"), "=");
}

}  // namespace
}  // namespace feedmill::html_test
