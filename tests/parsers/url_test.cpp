#include "parsers/text/url.hpp"

#include <gtest/gtest.h>

#include "parsers/feed/entry_values.hpp"
#include "parsers/feed/read_feed.hpp"

namespace feedmill::url_test {
namespace {

struct ResolveCase {
  const char* name;
  const char* reference;
  const char* url;
};

// The cases of RFC 3986 §5.4, and others that feeds contain.
class Resolving : public testing::TestWithParam<ResolveCase> {};

TEST_P(Resolving, FollowsRfc3986) {
  EXPECT_EQ(resolve_url("http://a/b/c/d;p?q", GetParam().reference), GetParam().url);
}

INSTANTIATE_TEST_SUITE_P(
    Normal, Resolving,
    testing::Values(
        ResolveCase{"Absolute", "g:h", "g:h"}, ResolveCase{"Sibling", "g", "http://a/b/c/g"},
        ResolveCase{"Dot", "./g", "http://a/b/c/g"}, ResolveCase{"Folder", "g/", "http://a/b/c/g/"},
        ResolveCase{"Root", "/g", "http://a/g"}, ResolveCase{"Host", "//g", "http://g"},
        ResolveCase{"Query", "?y", "http://a/b/c/d;p?y"}, ResolveCase{"Fragment", "#s", "http://a/b/c/d;p?q#s"},
        ResolveCase{"Empty", "", "http://a/b/c/d;p?q"}, ResolveCase{"Here", ".", "http://a/b/c/"},
        ResolveCase{"Up", "..", "http://a/b/"}, ResolveCase{"UpTwice", "../../g", "http://a/g"},
        ResolveCase{"AboveRoot", "../../../g", "http://a/g"}, ResolveCase{"DotsInside", "g/../h", "http://a/b/c/h"},
        ResolveCase{"DotsInQuery", "g?y/../x", "http://a/b/c/g?y/../x"},
        ResolveCase{"Spaces", " a b ", "http://a/b/c/a%20b"}, ResolveCase{"LineBreak", "g\n/h", "http://a/b/c/g/h"},
        ResolveCase{"Idn", "http://www.詹姆斯.com/feed", "http://www.詹姆斯.com/feed"}),
    [](const auto& test) { return test.param.name; });

struct LinkCase {
  const char* name;
  const char* attributes;  // attributes of the feed element
  const char* href;
  const char* link;
};

// An entry's link in a document: nested xml:base, bad spellings, forbidden schemes.
class Links : public testing::TestWithParam<LinkCase> {};

TEST_P(Links, AreAbsoluteAndSafe) {
  const std::string document = "<feed xmlns='http://www.w3.org/2005/Atom' " + std::string(GetParam().attributes) +
                               "><id>f</id><entry xml:base='sub/'><id>e</id><link href=\"" + GetParam().href +
                               "\"/></entry></feed>";
  DocumentHints hints;
  hints.url = "http://doc.example/dir/feed.xml";
  const auto feed = read_feed(document, hints);
  ASSERT_TRUE(feed.has_value());
  EXPECT_EQ(feed.value().entries.at(0).link, GetParam().link);
}

INSTANTIATE_TEST_SUITE_P(
    All, Links,
    testing::Values(LinkCase{"Document", "", "a", "http://doc.example/dir/sub/a"},
                    LinkCase{"NestedBase", "xml:base='http://base.example/x/'", "a", "http://base.example/x/sub/a"},
                    LinkCase{"RelativeBases", "xml:base='../up/'", "a", "http://doc.example/up/sub/a"},
                    LinkCase{"UnsafeBase", "xml:base='javascript:x'", "a", "http://doc.example/dir/sub/a"},
                    LinkCase{"DataBase", "xml:base='data:text/html,x'", "a", "http://doc.example/dir/sub/a"},
                    LinkCase{"UnsafeLink", "", "javascript:alert(1)", ""},
                    LinkCase{"UnsafeInReferences", "", "&#106;avascript&#58;alert(1)", ""},
                    LinkCase{"NoSchemeAnyMore", "", "java&#9;script:alert(1)",
                             "http://doc.example/dir/sub/java%20script:alert(1)"},
                    LinkCase{"Vbscript", "", " vbscript:x", ""}, LinkCase{"Data", "", "DATA:text/html,x", ""},
                    LinkCase{"Spaces", "", "a b", "http://doc.example/dir/sub/a%20b"},
                    LinkCase{"BadEscape", "", "a%zz%", "http://doc.example/dir/sub/a%25zz%25"},
                    LinkCase{"Idn", "xml:base='http://例え.example/'", "a", "http://%E4%BE%8B%E3%81%88.example/sub/a"},
                    LinkCase{"Ampersand", "", "a?b=1&amp;c=2", "http://doc.example/dir/sub/a?b=1&c=2"},
                    LinkCase{"Port", "xml:base='http://h.example:8080'", "a", "http://h.example:8080/sub/a"},
                    LinkCase{"SchemeRelative", "", "//cdn.example/a", "http://cdn.example/a"},
                    LinkCase{"AboveRoot", "", "../../../../a", "http://doc.example/a"}),
    [](const auto& test) { return test.param.name; });

TEST(Url, InMarkupResolvesAgainstTheNearestBase) {
  const auto feed = read_feed(
      "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='http://a.example/1/'><id>f</id><entry "
      "xml:base='2/'><id>e</id>"
      "<content type='xhtml' xml:base='3/'><div xmlns='http://www.w3.org/1999/xhtml'><a href='x'>x</a>"
      "<p xml:base='4/'><img src='y'/></p><a href='javascript:z'>z</a></div></content></entry></feed>",
      {});
  EXPECT_EQ(feed.value().entries.at(0).content.at(0).value,
            "<a href=\"http://a.example/1/2/3/x\">x</a><p><img src=\"http://a.example/1/2/3/4/y\" /></p><a>z</a>");
}

TEST(Url, StaysAsItIsWithoutAnAbsoluteBase) {
  EXPECT_EQ(resolve_url("", "/x"), "/x");
  EXPECT_EQ(resolve_url("mailto:a@b", "x"), "x");
}

TEST(Url, IsShownOfAClosedListOfSchemes) {
  for (const char* url : {"javascript:alert(1)",
                          " JaVaScRiPt:alert(1)",
                          "java\nscript:alert(1)",
                          "\x01javascript:x",
                          "data:text/html,x",
                          "vbscript:x",
                          "file:///etc/passwd",
                          "about:blank",
                          "unknown:x",
                          "\xC2\xA0javascript:x",
                          "java\xE2\x80\x8Bscript:x",
                          "a b:c",
                          "%6aavascript:x",
                          ":x",
                          "ssh://-oProxyCommand=x/",
                          "svn+ssh://a/",
                          "telnet://a/",
                          "afp://a/",
                          "nfs://a/",
                          "sftp://a/",
                          "feed:javascript:x",
                          "feed:http://a/",
                          "itpc://a/",
                          "tag:a,2004:b",
                          "sip:a@b",
                          "rtsp://a/"}) {
    EXPECT_FALSE(is_safe_url(url)) << url;
    EXPECT_FALSE(is_safe_file_url(url)) << url;
  }
  for (const char* url : {"http://a", "HTTPS://a", "/a:b", "a?b:c", "magnet:?x", "./a:b", "#a:b",
                          "a-name-of-more-than-sixty-four-characters-is-no-scheme-but-a-path.html"}) {
    EXPECT_TRUE(is_safe_url(url)) << url;
    EXPECT_TRUE(is_safe_file_url(url)) << url;
  }
  for (const char* url : {"mailto:a@b", "tel:1", "ftp://a", "gopher://a/", "gemini://a/", "bitcoin:a"}) {
    EXPECT_TRUE(is_safe_url(url)) << url;
    EXPECT_FALSE(is_safe_file_url(url)) << url << " is nothing that a program should load by itself";
  }
}

TEST(Url, OfTheFeedSchemeIsUnwrapped) {
  EXPECT_EQ(resolve_safe_url("http://b/", "feed:https://a/x"), "https://a/x");
  EXPECT_EQ(resolve_safe_url("http://b/", "Feed://a/x"), "http://a/x");
  for (const char* url : {"feed:javascript:x", "feed:feed:http://a/", "feed:x", "feed:/x", "feed:ssh://a/", "feed:"}) {
    EXPECT_EQ(resolve_safe_url("http://b/", url), "") << url;
  }
}

TEST(Url, HasNoCredentialsWhenAskedTo) {
  EXPECT_EQ(without_credentials("http://u:p@h/x@y"), "http://h/x@y");
  EXPECT_EQ(without_credentials("http://h/x@y"), "http://h/x@y");
}

TEST(Url, IsCanonicalWithoutTrackingAndFragment) {
  EXPECT_EQ(canonical_url("http://h/a?utm_source=x&id=1&fbclid=y#top"), "http://h/a?id=1");
  EXPECT_EQ(canonical_url("http://h/a?utm_source=x"), "http://h/a");
}

struct KeyCase {
  const char* name;
  const char* url;
  const char* key;
};
void PrintTo(const KeyCase& test, std::ostream* out) {
  *out << test.url;
}

class LinkKeys : public testing::TestWithParam<KeyCase> {};
TEST_P(LinkKeys, NameAPage) {
  EXPECT_EQ(link_key(GetParam().url), GetParam().key);
}
INSTANTIATE_TEST_SUITE_P(
    All, LinkKeys,
    testing::Values(KeyCase{"Http", "http://example.org/a", "example.org/a"},
                    KeyCase{"Https", "https://example.org/a", "example.org/a"},
                    KeyCase{"CaseOfTheHost", "HTTPS://Example.ORG/A", "example.org/A"},
                    KeyCase{"Www", "https://www.example.org/a", "example.org/a"},
                    KeyCase{"NoHostButWww", "https://www.a/b", "a/b"}, KeyCase{"Port", "https://h:443/a", "h/a"},
                    KeyCase{"OtherPort", "https://h:8080/a", "h:8080/a"}, KeyCase{"User", "http://u:p@h/a", "h/a"},
                    KeyCase{"Tracking", "http://h/a?utm_source=x&id=1&fbclid=y", "h/a?id=1"},
                    KeyCase{"Slash", "http://h/a/", "h/a"}, KeyCase{"Home", "http://h/", "h"},
                    KeyCase{"Fragment", "http://h/a#part-2", "h/a#part-2"},
                    KeyCase{"FragmentOfParameters", "http://h/a#xtor=RSS-1", "h/a"},
                    KeyCase{"NoWebAddress", "tag:example.org,2020:1", ""}, KeyCase{"Empty", "", ""}),
    [](const auto& test) { return test.param.name; });

class UrlAliases : public testing::TestWithParam<KeyCase> {};
TEST_P(UrlAliases, AreOneForAllSpellings) {
  std::string out = "=";
  append_url_alias(out, GetParam().url);
  EXPECT_EQ(out, "=" + std::string(GetParam().key));
}
INSTANTIATE_TEST_SUITE_P(
    All, UrlAliases,
    testing::Values(KeyCase{"Http", "http://example.org/a", "example.org/a"},
                    KeyCase{"Https", "https://example.org/a", "example.org/a"},
                    KeyCase{"CaseOfTheHost", "HTTPS://WWW.Example.ORG/A", "example.org/A"},
                    KeyCase{"Port", "https://u:p@h:443/a", "h/a"}, KeyCase{"OtherPort", "https://h:8080/a", "h:8080/a"},
                    KeyCase{"Slash", "http://h/a//", "h/a"},
                    KeyCase{"SlashBeforeParameters", "http://h/a/?p=1", "h/a?p=1"},
                    KeyCase{"Home", "http://www.h.org/", "h.org"},
                    KeyCase{"Parameters", "http://h/?p=1&q=2", "h?p=1&q=2"},
                    KeyCase{"Tracking", "http://h/a?utm_source=x&id=1&fbclid=y", "h/a?id=1"},
                    KeyCase{"TrackingAlone", "http://h/a?utm_source=x#utm_medium=y", "h/a"},
                    KeyCase{"Escapes", "http://h/%e4%B8%ad?q=%c3%a4#%5b", "h/%E4%B8%AD?q=%C3%A4#%5B"},
                    KeyCase{"NoEscapes", "http://h/100%ab%zz%a%", "h/100%AB%zz%a%"},
                    KeyCase{"Fragment", "http://h/a#id=2", "h/a#id=2"}, KeyCase{"Ipv6", "http://[::1]:80/a", "[::1]/a"},
                    KeyCase{"Urn", "urn:uuid:1225c695", ""}, KeyCase{"Opaque", "post/17/", ""},
                    KeyCase{"Empty", "", ""}, KeyCase{"NoHost", "http:///a", ""}),
    [](const auto& test) { return test.param.name; });

class SteadyUrls : public testing::TestWithParam<KeyCase> {};
TEST_P(SteadyUrls, LeaveOutWhatPasses) {
  std::string out = "=";
  append_steady_url(out, GetParam().url);
  EXPECT_EQ(out, "=" + std::string(GetParam().key));
}
INSTANTIATE_TEST_SUITE_P(
    All, SteadyUrls,
    testing::Values(KeyCase{"Nothing", "http://h/a.png", "http://h/a.png"},
                    KeyCase{"Version", "http://h/a.png?ver=1.20", "http://h/a.png"},
                    KeyCase{"Number", "http://h/a.png?1690000000", "http://h/a.png"},
                    KeyCase{"ShortNumber", "http://h/show?12", "http://h/show?12"},
                    KeyCase{"Signed", "http://h/a.mp3?id=7&Expires=1&Signature=x&Key-Pair-Id=y", "http://h/a.mp3?id=7"},
                    KeyCase{"Amazon", "http://h/a?X-Amz-Date=1&X-Amz-Signature=2", "http://h/a"},
                    KeyCase{"InMarkup", "http://h/a?id=1&amp;cb=99", "http://h/a?id=1"},
                    KeyCase{"AThing", "http://h/watch?v=dQw4w9WgXcQ", "http://h/watch?v=dQw4w9WgXcQ"},
                    KeyCase{"AnotherThing", "http://h/image.php?id=5", "http://h/image.php?id=5"},
                    KeyCase{"Fragment", "http://h/a?ts=1#t=5", "http://h/a#t=5"},
                    KeyCase{"QuestionInFragment", "http://h/a#b?ts=1", "http://h/a#b?ts=1"}),
    [](const auto& test) { return test.param.name; });

TEST(Url, OfTheWebHasAHost) {
  EXPECT_TRUE(is_http_url("HTTP://h"));
  EXPECT_FALSE(is_http_url("http:///x"));
  EXPECT_FALSE(is_http_url("ftp://h"));
}

/// SECURITY X5.
TEST(Uri, IsWhatAnIriBecomes) {
  const std::pair<std::string, std::string> cases[] = {
      {"https://example.org/a?b=c&d[]=e#f", "https://example.org/a?b=c&d%5B%5D=e#f"},
      {"http://[::1]:80/[x]", "http://[::1]:80/%5Bx%5D"},
      {"https://example.org/f\xC3\xBCr?q=\xE2\x80\xAE", "https://example.org/f%C3%BCr?q=%E2%80%AE"},
      {"https://b\xC3\xBC"
       "cher.example/",
       "https://b%C3%BC"
       "cher.example/"},
      {"http://x/\"<a href='y'>\\ \x7f", "http://x/%22%3Ca%20href='y'%3E%5C%20%7F"},
      {"http://x/100%/%zz/%41", "http://x/100%25/%25zz/%41"},
      {"http://x/#a#b", "http://x/#a%23b"},
      {"mailto:j\xC3\xB6@example.org", "mailto:j%C3%B6@example.org"},
      {"http://u:p@x:80/", "http://u:p@x:80/"},
      {"http://u@[::1]:/", "http://u@[::1]:/"},
      {"mailto:[x]@y:z", "mailto:%5Bx%5D@y:z"},
      {"http://x y/", ""},
      {"http://x<script>/", ""},
      {"http://x:port/", ""},
      {"ftp://x:y/", ""},
      {"http://x:1:2/", ""},
      {"http://a@b@x/", ""},
      {"http://[zz]/", ""},
      {"http://[::::::]/", ""},
      {"http://[1.2.3]/", ""},
      {"http://[::ffff:192.0.2.1]/", "http://[::ffff:192.0.2.1]/"},
      {"http://[1:2:3:4:5:6:7:8]/", "http://[1:2:3:4:5:6:7:8]/"},
      {"http://[1:2:3:4:5:6:192.0.2.1]/", "http://[1:2:3:4:5:6:192.0.2.1]/"},
      {"http://[1::]/", "http://[1::]/"},
      {"http://[::]/", "http://[::]/"},
      {"http://[1::2::3]/", ""},
      {"http://[1:]/", ""},
      {"http://[:1::]/", ""},
      {"http://[1:2:3:4:5:6:7:8:9]/", ""},
      {"http://[1:2:3:4:5:6:7]/", ""},
      {"http://[1:2:3:4:5:6:7::8]/", ""},
      {"http://[12345::]/", ""},
      {"http://[::192.0.2.256]/", ""},
      {"http://[::192.0.2]/", ""},
      {"http:foo", ""},
      {"HTTPS:", ""},
      {"http:///path", ""},
      {"http://@/", ""},
      {"http://:80/", ""},
      {"foo:", "foo:"},
      {"mailto:", "mailto:"},
      {"http://[]/", ""},
      {"http://[::1/", ""},
      {"http://[::1]x/", ""},
      {"http://x]y/", ""},
      {"http://x[y/", ""}};
  for (const auto& [iri, uri] : cases) {
    EXPECT_EQ(uri_of(iri), uri) << iri;
    EXPECT_EQ(uri_of(uri), uri) << "again";
  }
}

TEST(Uri, NamesThePageThatItsIriNames) {
  EXPECT_EQ(link_key("https://example.org/f\xC3\xBCr"), link_key("https://example.org/f%C3%BCr"));
}

TEST(LanguageTag, IsOfBcp47OrNone) {
  for (const char* tag :
       {"de", "en-US", "zh-Hant-TW", "x-klingon", "de-CH-1996", "es-419", "zh-cmn-Hans-CN", "i-navajo",
        "sl-rozaj-biske", "en-u-ca-gregory-x-a", "en-US-POSIX", "english", "de-1901-a-bbb-t-cc"})
    EXPECT_EQ(language_tag(tag), tag);
  EXPECT_EQ(language_tag("en_US"), "en-US");
  for (const char* none : {"", "en US", "en-", "-en", "en--US", "en_US.UTF-8", "1a", "de\"onclick", "nonsenselong",
                           "en-US-US", "en-a", "x", "en-a-bb-a-cc", "en-x", "de-CH-Latn", "en-1", "a-de",
                           "\xE2\x80\xAE"
                           "en"}) {
    EXPECT_EQ(language_tag(none), "") << none;
  }
}

TEST(Uri, IsWhatEveryStoredAddressIs) {
  const std::string iri = "http://example.org/\xE2\x80\xAE&quot;&lt;b&gt;",
                    uri = "http://example.org/%E2%80%AE%22%3Cb%3E";
  const std::string item = "<title xml:lang='d&quot;e'>t</title><link>" + iri +
                           "</link><language>en_US</language><enclosure url=\"" + iri +
                           "\" type='image/png'/><comments>" + iri + "</comments>";
  const std::string document = "<rss version='2.0'><channel>" + item + "<image><url>" + iri + "</url></image><item>" +
                               item + "</item><item>" + item + "<guid>1</guid></item></channel></rss>";
  DocumentHints hints;
  hints.url = "http://example.org/feed";
  const auto feed = read_feed(document, hints);
  ASSERT_TRUE(feed);
  EXPECT_EQ(feed->link, uri);
  EXPECT_EQ(feed->image->url, uri);
  EXPECT_EQ(feed->language, "en-US");
  const Entry& entry = feed->entries.at(0);
  EXPECT_EQ(entry.link, uri);
  EXPECT_EQ(entry.enclosures.at(0).url, uri);
  EXPECT_EQ(entry.comments, uri);
  EXPECT_EQ(*entry.title.language, "");
  EXPECT_EQ(entry.guid, "http://example.org/\xE2\x80\xAE\"<b>") << "what identifies it stays as it is written";
}

TEST(Uri, IsWhatThePictureOfAPodcastIs) {
  const auto picture = [](const std::string& images) {
    DocumentHints hints;
    hints.url = "http://example.org/feed";
    const auto feed = read_feed(
        "<rss version='2.0' xmlns:podcast='https://podcastindex.org/namespace/1.0'><channel>"
        "<title>t</title><item><title>t</title>" +
            images + "</item></channel></rss>",
        hints);
    return feed ? picture_address(feed->entries.at(0)) : "unread";
  };
  EXPECT_EQ(picture("<podcast:images srcset='http://x.test/a\xE2\x80\xAE"
                    "b 1w'/>"),
            "http://x.test/a%E2%80%AEb");
  EXPECT_EQ(picture("<podcast:image href='http://ex\xE2\x80\xAE"
                    "ample.test/i.png'/>"),
            "http://ex%E2%80%AEample.test/i.png");
  for (const char* const none : {"http://[zz]/", "http://[fe80::1%eth0]/"})
    EXPECT_EQ(picture("<podcast:image href='" + std::string(none) + "'/>"), "") << none;
}

// A base that cannot resolve anything is ignored.
TEST(Uri, IsWhatABaseHasToBe) {
  for (const char* const base : {"mailto:a@b.test", "tel:1", "magnet:?x", "http:foo", "http:/foo", "javascript:1"}) {
    const std::string document = "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='" + std::string(base) +
                                 "'><title>t</title><link href='page'/><entry><id>1</id><title>t</title>"
                                 "<link href='e1'/><link rel='enclosure' href='//y.test/2'/></entry></feed>";
    DocumentHints hints;
    hints.url = "http://example.org/a/feed";
    const auto feed = read_feed(document, hints);
    ASSERT_TRUE(feed) << base;
    EXPECT_EQ(feed->link, "http://example.org/a/page") << base;
    EXPECT_EQ(feed->entries.at(0).link, "http://example.org/a/e1") << base;
    EXPECT_EQ(feed->entries.at(0).enclosures.at(0).url, "http://y.test/2") << base;
  }
}

TEST(Uri, IsWhatAFileOrALinkWithoutOneLacks) {
  const auto feed = read_feed(
      "<rss version='2.0'><channel><title>t</title><item><title>t</title>"
      "<enclosure url='http://[zz]/' type='audio/mpeg' length='5'/>"
      "<enclosure url='http://x.test/a.mp3' type='audio/mpeg'/></item></channel></rss>",
      {});
  ASSERT_TRUE(feed);
  ASSERT_EQ(feed->entries.at(0).enclosures.size(), 1U);
  EXPECT_EQ(feed->entries.at(0).enclosures.at(0).url, "http://x.test/a.mp3");
}

}  // namespace
}  // namespace feedmill::url_test
