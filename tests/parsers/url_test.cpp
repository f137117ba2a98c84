#include "parsers/url.hpp"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

struct ResolveCase {
  const char* name;
  const char* reference;
  const char* url;
};

// RFC 3986 §5.4 and what feeds contain.
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

TEST(Url, StaysAsItIsWithoutAnAbsoluteBase) {
  EXPECT_EQ(resolve_url("", "/x"), "/x");
  EXPECT_EQ(resolve_url("mailto:a@b", "x"), "x");
}

TEST(Url, IsUnsafeWhenItsSchemeMayRun) {
  for (const char* url : {"javascript:alert(1)", " JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "\x01javascript:x",
                          "data:text/html,x", "vbscript:x", "file:///etc/passwd", "about:blank", "unknown:x",
                          "\xC2\xA0javascript:x", "java\xE2\x80\x8Bscript:x", "a b:c", "%6aavascript:x"}) {
    EXPECT_FALSE(is_safe_url(url)) << url;
  }
  for (const char* url :
       {"http://a", "HTTPS://a", "mailto:a@b", "ftp://a", "/a:b", "a?b:c", "tag:a,2004:b", "magnet:?x", "./a:b", "#a:b",
        "a-name-of-more-than-sixty-four-characters-is-no-scheme-but-a-path.html"}) {
    EXPECT_TRUE(is_safe_url(url)) << url;
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

TEST(Url, OfTheWebHasAHost) {
  EXPECT_TRUE(is_http_url("HTTP://h"));
  EXPECT_FALSE(is_http_url("http:///x"));
  EXPECT_FALSE(is_http_url("ftp://h"));
}

}  // namespace
}  // namespace feedmill
