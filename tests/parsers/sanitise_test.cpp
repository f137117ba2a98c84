#include "parsers/markup/sanitise.hpp"

#include <gtest/gtest.h>

#include "tests/support/sanitized.hpp"

namespace feedmill::sanitise_test {
namespace {

std::string strict(std::string_view markup, std::string_view base = "http://h/d/") {
  SanitiseOptions options;
  options.base = base;
  return sanitise(markup, options).html;
}

std::string classic(std::string_view markup) {
  SanitiseOptions options;
  options.policy = HtmlPolicy::classic;
  return sanitise(markup, options).html;
}

TEST(Sanitise, KeepsClassesWhenTold) {
  SanitiseOptions options;
  EXPECT_EQ(sanitise("<p class=\"a b\" id=\"c\">x</p>", options).html, "<p>x</p>");
  options.keep_class = true;
  const std::string kept = "<p class=\"a &lt;b\">x</p>";
  EXPECT_EQ(sanitise("<p class='a <b' id=\"c\" style='x'>x</p>", options).html, kept);
  EXPECT_EQ(sanitise(kept, options).html, kept);
}

struct MarkupCase {
  const char* name;
  const char* markup;
  const char* clean;
};

class Strict : public testing::TestWithParam<MarkupCase> {};

TEST_P(Strict, KeepsOnlyAllowedMarkup) {
  EXPECT_EQ(strict(GetParam().markup), GetParam().clean);
  EXPECT_EQ(strict(GetParam().clean), GetParam().clean);  // SECURITY S8
}

INSTANTIATE_TEST_SUITE_P(
    Elements, Strict,
    testing::Values(MarkupCase{"Kept", "<P>a <B>b</B></P>", "<p>a <b>b</b></p>"},
                    MarkupCase{"Unknown", "<blink>a</blink><o:p>b</o:p>", "ab"},
                    MarkupCase{"Script", "a<script>alert('<b>')</script>b", "ab"},
                    MarkupCase{"ScriptUnclosed", "a<script>alert(1)", "a"},
                    MarkupCase{"ScriptSpaced", "a<script\n>x</script\n>b", "ab"},
                    MarkupCase{"Style", "<style>*{}</style>a", "a"},
                    MarkupCase{"Textarea", "<textarea><b>x</b></textarea>a", "a"},
                    MarkupCase{"Svg", "<svg><g><a href='javascript:x'>y</a></g></svg>a", "a"},
                    MarkupCase{"NestedSvg", "<svg><svg></svg>x</svg>a", "a"},
                    MarkupCase{"Math", "<math><mi//xlink:href=\"data:x\">y</math>a", "a"},
                    MarkupCase{"Comment", "a<!-- <b> -->c", "ac"},
                    MarkupCase{"ConditionalComment", "a<!--[if IE]><script>x</script><![endif]-->b", "ab"},
                    MarkupCase{"Doctype", "<!DOCTYPE html>a", "a"},
                    MarkupCase{"Form", "<form action=x><input><button>go</button></form>", "go"},
                    MarkupCase{"Iframe", "<iframe src='http://v.example/1?a=1&b=2'></iframe>",
                               "<a href=\"http://v.example/1?a=1&amp;b=2\">http://v.example/1?a=1&amp;b=2</a>"},
                    MarkupCase{"IframeWithScript", "a<iframe src='javascript:x'></iframe>b", "ab"},
                    MarkupCase{"ObjectAroundEmbed", "<object><param name=x><embed src='//v.example/f'></object>",
                               "<a href=\"http://v.example/f\">http://v.example/f</a>"},
                    MarkupCase{"Void", "a<br>b<br/>c<hr></br>", "a<br />b<br />c<hr />"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Nesting, Strict,
    testing::Values(MarkupCase{"Unclosed", "<div><b>a", "<div><b>a</b></div>"},
                    MarkupCase{"StrayEnd", "a</b></p></div>b", "ab"},
                    MarkupCase{"Crossed", "<b><i>x</b>y</i>", "<b><i>x</i></b>y"},
                    MarkupCase{"ImpliedParagraph", "<p>a<p>b", "<p>a</p><p>b</p>"},
                    MarkupCase{"ImpliedItem", "<ul><li>a<li>b</ul>", "<ul><li>a</li><li>b</li></ul>"},
                    MarkupCase{"ParagraphInItem", "<dl><dt><p>a<dt>b</dl>", "<dl><dt><p>a</p></dt><dt>b</dt></dl>"},
                    MarkupCase{"InnerList", "<ul><li>a<ul><li>b</ul><li>c</ul>",
                               "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"},
                    MarkupCase{"Cells", "<table><tr><td>a<td>b<tr><td>c</table>",
                               "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>"},
                    MarkupCase{"EndTagInCell", "<b><table><tr><td>a</b>b</table></b>",
                               "<b><table><tr><td>ab</td></tr></table></b>"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Attributes, Strict,
    testing::Values(MarkupCase{"Handlers", "<p onclick=x ONLOAD='y' title=z>a", "<p title=\"z\">a</p>"},
                    MarkupCase{"Style", "<p style='x:y' id=a class=b name=c>a", "<p>a</p>"},
                    MarkupCase{"Namespaced", "<a xlink:href='http://x' xml:base='javascript:'>a", "<a>a</a>"},
                    MarkupCase{"Escapes", "<p title='&quot;><script>`&#39;&amp;'>a",
                               "<p title=\"&quot;&gt;&lt;script&gt;&#96;&#39;&amp;\">a</p>"},
                    MarkupCase{"WithoutValue", "<video controls src=v.mp4></video>",
                               "<video controls=\"\" src=\"http://h/d/v.mp4\"></video>"},
                    MarkupCase{"Twice", "<a href='http://a' href='javascript:b'>x", "<a href=\"http://a\">x</a>"},
                    MarkupCase{"NoSpace", "<img/src='a.png'/alt=b onerror=x/alt=c>",
                               "<img src=\"http://h/d/a.png\" alt=\"b\" />"},
                    MarkupCase{"ReadsLikeAUrl",
                               "<p lang='javascript:x' dir='da&#9;ta:x' title='a:b'>x<time datetime='x:y'>z</time>",
                               "<p title=\"a:b\">x<time>z</time></p>"},
                    MarkupCase{"Values", "<time datetime='2020-01-01T10:00:00Z'>x</time><source media='(width:1px)'>",
                               "<time datetime=\"2020-01-01T10:00:00Z\">x</time><source media=\"(width:1px)\" />"},
                    MarkupCase{"OtherElements", "<p href='http://a' src='b'>x", "<p>x</p>"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Urls, Strict,
    testing::Values(MarkupCase{"Relative", "<a href='../x?a=1'>y", "<a href=\"http://h/x?a=1\">y</a>"},
                    MarkupCase{"Javascript", "<a href='javascript:alert(1)'>y", "<a>y</a>"},
                    MarkupCase{"Disguised", "<a href=' jav&#x09;ascript:alert(1)'>y", "<a>y</a>"},
                    MarkupCase{"References", "<a href='&#106;&#97;vascript&colon;x'>y", "<a>y</a>"},
                    MarkupCase{"ControlsInFront", "<a href='&#1;javascript:x'>y", "<a>y</a>"},
                    MarkupCase{"Data", "<img src='data:image/png;base64,x'>", "<img />"},
                    MarkupCase{"Mailto", "<a href='mailto:a@b.example'>y", "<a href=\"mailto:a@b.example\">y</a>"},
                    MarkupCase{"MailtoImage", "<img src='mailto:a@b.example'>", "<img />"},
                    MarkupCase{"Credentials", "<a href='http://u:p@h/'>y", "<a href=\"http://h/\">y</a>"},
                    MarkupCase{"Iri", "<a href='http://h/\u202e\"b\">\u00fc'>y",
                               "<a href=\"http://h/%E2%80%AE%22b%22%3E%C3%BC\">y</a>"},
                    MarkupCase{"Language", "<p lang='en_US'>a<p lang='en\u202e'>b", "<p lang=\"en-US\">a</p><p>b</p>"},
                    MarkupCase{
                        "TypeOfASource", "<video><source src='/v' type='Video/MP4;x'><source src='/w' type='<b>'>",
                        "<video><source src=\"http://h/v\" type=\"video/mp4\" /><source src=\"http://h/w\" /></video>"},
                    MarkupCase{"Srcset", "<img srcset='a.png 1x, javascript:x 2x, b.png 3x'>",
                               "<img srcset=\"http://h/d/a.png 1x, http://h/d/b.png 3x\" />"}),
    [](const auto& test) { return test.param.name; });

TEST(Sanitise, LinksToHostsThatEveryBrowserTakes) {  // SECURITY S5
  for (const char* host : {"[::1]:8080", "[2001:db8::1]", "[1:2:3:4:5:6:7:8]", "[::]", "[::ffff:1.2.3.4]", "1.2.3.4:80",
                           "b\u00fccher.example.:", "a_b-c", "H:65535", "xn--bcher-kva.example"}) {
    const std::string link = std::string("<a href=\"http://") + host + "/\">x</a>";
    EXPECT_EQ(strict(link), link);
  }
  for (const char* host : {"[::1",      "[::1]x", "[1::2::3]",  "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]",
                           "[12345::]", "[::g]",  "[:1]",       "[::1.2.3]",       "[1.2.3.4::]",
                           "[]",        "%00",    "a%41",       "h:99999",         "h:8x",
                           ":80",       ".",      "a..",        "1.2.3.4.5",       "256.1.1.1",
                           "127.1",     "a.0x7f", "4294967296", "u\\@h",           "h\\",
                           "a^b",       "a|b",    "a&lt;b",     "\u202ea",         "a\u2066.b"}) {
    EXPECT_EQ(strict(std::string("<a href=\"http://") + host + "/\">x</a>"), "<a>x</a>") << host;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Text, Strict,
    testing::Values(MarkupCase{"References", "&eacute;&nbsp;&#8364;&lt;b&gt;&amp;amp;", "é\xC2\xA0€&lt;b&gt;&amp;amp;"},
                    MarkupCase{"Bare", "a & b < c > d &unknown; &", "a &amp; b &lt; c &gt; d &amp;unknown; &amp;"},
                    MarkupCase{"Legacy", "&copy 2020", "© 2020"},
                    MarkupCase{"NoTag", "a <3 b <= c", "a &lt;3 b &lt;= c"},
                    MarkupCase{"Windows1252", "&#147;x&#148;", "“x”"}, MarkupCase{"Control", "a&#0;b&#7;c", "abc"}),
    [](const auto& test) { return test.param.name; });

class Classic : public testing::TestWithParam<MarkupCase> {};

TEST_P(Classic, KeepsWhatFeedparserKept) {
  EXPECT_EQ(classic(GetParam().markup), GetParam().clean);
  EXPECT_EQ(classic(GetParam().clean), GetParam().clean);
}

INSTANTIATE_TEST_SUITE_P(
    All, Classic,
    testing::Values(MarkupCase{"ReferencesStay", "&eacute;&#38;&lt;", "&eacute;&#38;&lt;"},
                    MarkupCase{"SortedAttributes", "<a title=x href='http://a' class=c onclick=y>b</a>",
                               "<a class=\"c\" href=\"http://a\" title=\"x\">b</a>"},
                    MarkupCase{"Style", "<p style='color: red; position: absolute; margin: 5px'>a</p>",
                               "<p style=\"color: red; margin: 5px;\">a</p>"},
                    MarkupCase{"Comments", "a<!-- <b> -->c<!--[if IE]>d<![endif]--><!-->e", "a<!-- <b> -->ce"},
                    MarkupCase{"CommentsInText",
                               "<noscript><!--</noscript><img src=x onerror=y>--></noscript>"
                               "<textarea><!--</textarea><script>x</script>--></textarea>"
                               "<select><!-- <template> --></select>",
                               "<noscript></noscript><textarea></textarea><select></select>"},
                    MarkupCase{"TextInText", "<noscript>a<noscript>b</noscript><!-- c --></noscript>",
                               "<noscript>ab</noscript><!-- c -->"},
                    MarkupCase{
                        "FormsKeepTheirMembers",
                        "<form id='attributes'><input name='nodeName' /><input name='elements' /><input "
                        "name='contains' /><input name='q' /></form><h2 id=attributes>a</h2>",
                        "<form><input /><input /><input /><input name=\"q\" /></form><h2 id=\"attributes\">a</h2>"},
                    MarkupCase{"HiddenScheme", "<a href='\xC2\xA0javascript:x'>a</a>", "<a href=\"\">a</a>"},
                    MarkupCase{"Frames", "<iframe src=x></iframe><svg><b>y</b></svg>a", "a"},
                    MarkupCase{"UnsafeUrl", "<a href='javascript:x'>a</a>", "<a href=\"\">a</a>"}),
    [](const auto& test) { return test.param.name; });

TEST(Style, IsDroppedWholeWhenItLooksHostile) {
  for (const char* style : {"width: expression(alert(1))", "background: url(javascript:x)", "color: red; x", "a: b: c",
                            "color: re\\64", "behavior: url(x.htc)", "color: red /* x */"}) {
    EXPECT_EQ(sanitise_style(style).find("expression"), std::string::npos) << style;
    EXPECT_EQ(sanitise_style(style).find("url"), std::string::npos) << style;
  }
  EXPECT_EQ(sanitise_style("width: expression(alert(1))"), "");
  EXPECT_EQ(sanitise_style("margin: 99999em"), "");
  EXPECT_EQ(sanitise_style("font-family: 'Comic Sans'"), "font-family: 'Comic Sans';");
}

TEST(Sanitise, KeepsTheTextOfMarkupNestedTooDeep) {
  std::string markup;
  for (int i = 0; i < 200; ++i) markup += "<i>";
  markup += "x";
  for (int i = 0; i < 200; ++i) markup += "</i>";
  const std::string clean = strict(markup + "y");
  EXPECT_EQ(clean.find("x"), 3U * 128U);
  EXPECT_TRUE(clean.ends_with("</i>y"));
}

TEST(Sanitise, IsBounded) {  // SECURITY S10
  std::string markup;
  for (int i = 0; i < 10000; ++i) markup += "<img src=a>";
  const std::string base = "http://h/" + std::string(2048, 'x') + "/";
  SanitiseOptions options;
  options.base = base;
  const Sanitised result = sanitise(markup, options);
  EXPECT_TRUE(result.truncated);
  EXPECT_LE(result.html.size(), 8 * markup.size() + 4096 + 2048);
  options.max_bytes = 100;
  EXPECT_LE(sanitise(std::string(1000, 'x') + "<b>", options).html.size(), 100U);
}

TEST(Sanitise, EndsWithinItsCapWithAllItsEndTags) {  // SECURITY S10
  std::string nested, quoted, embeds, many;
  for (int i = 0; i < 200; ++i) nested += "<blockquote>&lt;&amp;x\xC3\xA9";
  for (int i = 0; i < 200; ++i) quoted += "<b title='\"&<>`'>&nbsp;&#xE9;&#000000000000000000000000000000000000000065;";
  for (int i = 0; i < 100; ++i) embeds += "<div><iframe src='http://h/" + std::to_string(i) + "'></iframe><!-- c -->";
  for (int i = 0; i < 100; ++i) many += "<p><![CDATA[<a> &amp; b]]>";
  for (const std::string& markup : {nested, quoted, embeds, many, std::string(5000, '<'), std::string(5000, '&')}) {
    for (const HtmlPolicy policy : {HtmlPolicy::strict, HtmlPolicy::classic}) {
      for (const bool xhtml : {false, true}) {
        SanitiseOptions options;
        options.policy = policy;
        options.xhtml = xhtml;
        // A sanitizer makes this ten times slower.
        const std::size_t step = test::is_sanitized ? 13 : 1;
        for (options.max_bytes = 0; options.max_bytes < 1500; options.max_bytes += step) {
          const Sanitised cut = sanitise(markup, options);
          ASSERT_LE(cut.html.size(), options.max_bytes) << markup.substr(0, 60);
          ASSERT_TRUE(cut.truncated);
          ASSERT_EQ(sanitise(cut.html, options).html, cut.html) << markup.substr(0, 60);  // SECURITY S8
        }
      }
    }
  }
}

TEST(Sanitise, ReadsXhtmlAsXml) {
  SanitiseOptions options;
  options.xhtml = true;
  EXPECT_EQ(sanitise("<x:p>a<x:br/><x:b/>c</x:p>", options).html, "<p>a<br /><b></b>c</p>");
  EXPECT_EQ(sanitise("<![CDATA[<b>]]>", options).html, "&lt;b&gt;");
}

TEST(Sanitise, FollowsXmlBaseInsideOfXhtml) {
  SanitiseOptions options;
  options.xhtml = true;
  options.base = "http://h/";
  EXPECT_EQ(
      sanitise("<div xml:base='a/'><p xml:base='b/'><a href='x'>1</a></p><a href='y'>2</a></div><a href='z'>3</a>",
               options)
          .html,
      "<div><p><a href=\"http://h/a/b/x\">1</a></p><a href=\"http://h/a/y\">2</a></div><a href=\"http://h/z\">3</a>");
  EXPECT_EQ(sanitise("<p xml:base='javascript:x'><a href='y'>2</a></p>", options).html,
            "<p><a href=\"http://h/y\">2</a></p>");
}

TEST(Html, IsRecognisedByItsTagsAndReferences) {
  for (const char* text : {"a <b>bold</b>", "AT&amp;T", "&#8364;", "<p>x</p>"})
    EXPECT_TRUE(looks_like_html(text)) << text;
  for (const char* text :
       {"plain", "a < b", "AT&T", "vector<int> x</int>", "<blink>x</blink>", "a <br> b", "&unknown;"}) {
    EXPECT_FALSE(looks_like_html(text)) << text;
  }
}

}  // namespace
}  // namespace feedmill::sanitise_test
