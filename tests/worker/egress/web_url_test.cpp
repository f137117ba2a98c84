#include "worker/egress/web_url.hpp"

#include <cctype>
#include <cstdlib>

#include <curl/curl.h>
#include <gtest/gtest.h>

namespace feedmill::web_url_test {
namespace {

struct UrlCase {
  const char* given;
  const char* canonical;  // "": refused
};

std::string canonical_or_empty(std::string_view text) {
  const auto url = canonical_feed_url(text);
  return url ? *url : "";
}

TEST(CanonicalFeedUrl, HasOneSpelling) {
  const UrlCase cases[] = {
      {"http://example.org/feed.xml", "http://example.org/feed.xml"},
      {"HTTPS://Example.ORG/Feed", "https://example.org/Feed"},
      {"  http://example.org/\n", "http://example.org/"},
      {"http://example.org", "http://example.org/"},
      {"http://example.org:80/", "http://example.org/"},
      {"https://example.org:443/", "https://example.org/"},
      {"https://example.org:80/", "https://example.org:80/"},
      {"http://example.org:08080/", "http://example.org:8080/"},
      {"http://example.org/a#b", "http://example.org/a"},
      {"http://example.org/a?b=c#d", "http://example.org/a?b=c"},
      {"http://example.org?b", "http://example.org/?b"},
      {"http://example.org/a/../b/./c", "http://example.org/b/c"},
      {"http://example.org/a b?c d", "http://example.org/a%20b?c%20d"},
      {"http://example.org/\xc3\xa4?\xc3\xa4", "http://example.org/%C3%A4?%C3%A4"},
      {"http://example.org/%c3%a4", "http://example.org/%c3%a4"},
      {"http://example.org/%7euser", "http://example.org/%7euser"},
      {"http://example.org/{tag}", "http://example.org/{tag}"},
      {"http://example.org/x}:http?{a}:b", "http://example.org/x%7D:http?{a%7D:b"},  // SECURITY A1
      {"http://b\xc3\xbc"
       "cher.example/",
       "http://xn--bcher-kva.example/"},
      {"http://B\xc3\x9c"
       "CHER.example/",
       "http://xn--bcher-kva.example/"},
      {"http://Example.org./feed", "http://example.org/feed"},
      {"http://example.org.:8080/", "http://example.org:8080/"},
      {"http://127.1./", "http://127.0.0.1/"},
      {"http://%34/", "http://0.0.0.4/"},
      {"http://0x7f.1/", "http://127.0.0.1/"},
      {"http://2130706433/", "http://127.0.0.1/"},
      {"http://0177.0.0.1/", "http://127.0.0.1/"},
      {"http://[::FFFF:1.2.3.4]:8080/", "http://[::ffff:1.2.3.4]:8080/"},
      {"http:/example.org/", "http://example.org/"},
      {"http://example.org/feed:sorted", "http://example.org/feed:sorted"},
      {"http://example.org/%C3%A4/\xc3\xa4", "http://example.org/%C3%A4/%C3%A4"},
  };
  for (const UrlCase& c : cases) {
    const auto url = canonical_feed_url(c.given);
    ASSERT_TRUE(url) << c.given << ": " << url.error();
    EXPECT_EQ(*url, c.canonical);
    EXPECT_EQ(canonical_or_empty(*url), *url);
  }
}

TEST(CanonicalFeedUrl, RejectsInvalidUrls) {
  for (const std::string text : {"",
                                 " ",
                                 "feed.xml",
                                 "/feed.xml",
                                 "//example.org/feed.xml",
                                 "example.org/feed.xml",
                                 "feed://example.org/",
                                 "file:///etc/passwd",
                                 "ftp://example.org/",
                                 "gopher://example.org/",
                                 "javascript:alert(1)",
                                 "http://",
                                 "http:",
                                 "http://./",
                                 "http://example.org../",
                                 "http://user@example.org/",
                                 "http://user:pw@example.org/",
                                 "http://:pw@example.org/",
                                 "http://exa mple.org/",
                                 "http://example.org:99999/",
                                 "http://example.org:x/",
                                 "http://example.org:-1/",
                                 "http:\\\\example.org\\",
                                 "http://[::1",
                                 "http://[fe80::1%25eth0]/",
                                 "http://[x]/",
                                 "http://example.org/\x01",
                                 "http://example.org/\x7f",
                                 "http://example.org/a\nb",
                                 "http://example.org/feed:sort",
                                 "http://example.org/feed:guidmap",
                                 "http://example.org/feed:digests",
                                 "http://example.org/?:tombs",
                                 "http://example.org/:sort?",
                                 "http://example.org/:sort#x",
                                 "http://\xff\xfe.example/"}) {
    const auto url = canonical_feed_url(text);
    EXPECT_FALSE(url) << text << " became " << *url;
    if (url) continue;
    EXPECT_FALSE(url.error().empty());
  }
}

TEST(CanonicalFeedUrl, KnowsHowLongIsTooLong) {
  const std::string start = "http://example.org/";
  EXPECT_TRUE(canonical_feed_url(start + std::string(max_url_bytes - start.size(), 'x')));
  EXPECT_FALSE(canonical_feed_url(start + std::string(max_url_bytes - start.size() + 1, 'x')));
  EXPECT_FALSE(canonical_feed_url(start + std::string(1000, '\xc3')));  // grows to three times the length
}

TEST(CanonicalFeedUrl, SaysWhy) {
  EXPECT_EQ(canonical_feed_url("http://u:p@example.org/").error(),
            "it contains credentials; they belong in the configuration");
  EXPECT_EQ(canonical_feed_url("example.org").error(), "it must begin with http:// or https://");
}

TEST(ResolveLocation, LeadsSomewhere) {
  const std::string base = "https://example.org/blog/feed?x=1";
  const UrlCase cases[] = {
      {"https://other.example/", "https://other.example/"},
      {"/feed.xml", "https://example.org/feed.xml"},
      {"feed.xml", "https://example.org/blog/feed.xml"},
      {"../feed.xml", "https://example.org/feed.xml"},
      {"//cdn.example/feed", "https://cdn.example/feed"},
      {"?page=2", "https://example.org/blog/feed?page=2"},
      {"HTTP://Example.org:80/a#b", "http://example.org/a"},
      {"/with space", "https://example.org/with%20space"},
      {"/\xe4", "https://example.org/%E4"},
      {"/feed:sort", "https://example.org/feed:sort"},
      {"http://other.example./", "http://other.example/"},
  };
  for (const UrlCase& c : cases) {
    const auto url = resolve_location(base, c.given);
    ASSERT_TRUE(url) << c.given << ": " << url.error();
    EXPECT_EQ(*url, c.canonical);
  }
}

TEST(ResolveLocation, RefusesTraps) {
  for (const std::string location :
       {"", "file:///etc/passwd", "gopher://x/", "ftp://x/", "\\\\evil.example\\", "/\\evil.example", "http:\\\\x\\",
        "http://u:p@example.org/", "//u@example.org/", "/a\r\nX: y", "/\x01", "http://[::1", "data:,x"}) {
    EXPECT_FALSE(resolve_location("http://example.org/", location)) << location;
  }
  EXPECT_FALSE(resolve_location("http://example.org/", "/" + std::string(2048, 'x')));
}

TEST(HostOf, IsTheNameOnly) {
  EXPECT_EQ(host_of("https://Example.org:8443/x"), "example.org");
  EXPECT_EQ(host_of("http://[::1]:8080/"), "[::1]");
  EXPECT_EQ(host_of("nonsense"), "");
  EXPECT_EQ(origin_of("https://example.org/x"), (Origin{"https", "example.org", 443}));
  EXPECT_EQ(origin_of("http://example.org:8080/x"), (Origin{"http", "example.org", 8080}));
}

/// How libcurl, which connects, parses a URL.
Origin origin_by_libcurl(const std::string& text) {
  CURLU* const url = curl_url();
  Origin origin;
  if (curl_url_set(url, CURLUPART_URL, text.c_str(), 0) == CURLUE_OK) {
    const auto part = [&](CURLUPart which) {
      char* value = nullptr;
      curl_url_get(url, which, &value, CURLU_DEFAULT_PORT);
      std::string copy = value == nullptr ? "" : value;
      curl_free(value);
      for (char& c : copy) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      return copy;
    };
    origin = {part(CURLUPART_SCHEME), part(CURLUPART_HOST),
              static_cast<unsigned>(std::atoi(part(CURLUPART_PORT).c_str()))};
  }
  curl_url_cleanup(url);
  return origin;
}

// SECURITY E3: limits and secrets apply to the origin that libcurl connects to.
TEST(OriginOf, IsWhatLibcurlConnectsTo) {
  for (const char* const scheme : {"http://", "https://", "HTTP://", "http:/", "ftp://", ""}) {
    for (const char* const host : {"example.org",  "a",
                                   "EXAMPLE.org",  "a.example",
                                   "a-b.c-d",      "xn--bcher-kva.example",
                                   "1.2.3.4",      "255.255.255.255",
                                   "256.1.1.1",    "01.2.3.4",
                                   "1.2.3.4.",     "1.2.3.4.5",
                                   "127.1",        "0x7f.1",
                                   "a.0x7f",       "a.1",
                                   "2130706433",   "[::1]",
                                   "a.org.",       ".a.org",
                                   "a..b",         "",
                                   "user@a.org",   "u:p@a.org",
                                   "a.org@b.org",  "a.org\\@b.org",
                                   "a%2eorg",      "a_b.org",
                                   "a b.org",      "a.org\t",
                                   "b\xc3\xbc.de", "a;b.org"}) {
      for (const char* const port :
           {"", ":", ":80", ":8080", ":0", ":080", ":65535", ":65536", ":123456", ":x", ":80x"}) {
        for (const char* const rest : {"", "/", "/x?y#z", "?q", "#f", "/a b", "/\x01", "/\xff", "//@b.org", "\\"}) {
          const std::string url = std::string(scheme) + host + port + rest;
          const Origin is = origin_of(url), expected = origin_by_libcurl(url);
          EXPECT_TRUE(is == expected) << url << ": " << is.scheme << ' ' << is.host << ' ' << is.port
                                      << ", libcurl: " << expected.scheme << ' ' << expected.host << ' '
                                      << expected.port;
        }
      }
    }
  }
}

TEST(CanonicalFeedUrl, RefusesEncodedControlCharactersInHosts) {
  EXPECT_FALSE(canonical_feed_url("http://a.%7f.example/"));
  EXPECT_FALSE(canonical_feed_url("http://a%0ab.example/"));
}

// SECURITY E3: an address has one spelling, whatever script its digits come from.
TEST(CanonicalFeedUrl, ReadsAddressesInOtherDigits) {
  const auto url = canonical_feed_url("http://\xe2\x82\x82/");  // subscript two
  ASSERT_TRUE(url);
  EXPECT_EQ(*url, "http://0.0.0.2/");
  EXPECT_EQ(*canonical_feed_url(*url), *url);
}

}  // namespace
}  // namespace feedmill::web_url_test
