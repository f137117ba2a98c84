#include "worker/base/redact.hpp"

#include <gtest/gtest.h>

namespace feedmill::redact_test {
namespace {

struct TextCase {
  const char* text;
  const char* expected;
};

class Redact : public testing::TestWithParam<TextCase> {};
TEST_P(Redact, HidesSecrets) {
  EXPECT_EQ(redact(GetParam().text), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, Redact,
    testing::Values(
        TextCase{"https://example.org/feed?page=2", "https://example.org/feed?page=2"},
        TextCase{"https://me:hunter2@example.org/", "https://<redacted>@example.org/"},
        TextCase{"got redis://:p@ss@host/0 and http://u@h", "got redis://<redacted>@host/0 and http://<redacted>@h"},
        TextCase{"https://example.org/@someone", "https://example.org/@someone"},
        TextCase{"https://example.org/?a=1&token=abc&b=2", "https://example.org/?a=1&token=<redacted>&b=2"},
        TextCase{"?API_KEY=abc#x", "?API_KEY=<redacted>#x"}, TextCase{"hub.secret=abc", "hub.secret=<redacted>"},
        TextCase{"?monkey=1&keys=2", "?monkey=1&keys=2"}, TextCase{"?key=", "?key="},
        TextCase{"Authorization: Basic Zm9v\r\nAccept: x", "Authorization: <redacted>\r\nAccept: x"},
        TextCase{"cookie:a=b; c=d", "cookie:<redacted>"},
        TextCase{"/w/abcdefghijklmnopqrstuvwxyz?x", "/w/<redacted>?x"}, TextCase{"/w/index.xml", "/w/index.xml"},
        TextCase{"password=a token=b", "password=<redacted> token=<redacted>"},
        TextCase{"write key=value, or auth=NAME", "write key=value, or auth=NAME"},
        TextCase{"?key=values&auth=Name&key=value1", "?key=<redacted>&auth=<redacted>&key=<redacted>"},
        TextCase{"token=token=a key=key=", "token=<redacted> key=<redacted>"},
        TextCase{"://://a@b ://c@d", "://://<redacted>@b ://<redacted>@d"},
        TextCase{"https://u@h/?key=a=b;key=c,key=d",
                 "https://<redacted>@h/?key=<redacted>;key=<redacted>,key=<redacted>"},
        TextCase{"/w//w/abcdefghijklmnopqrstuvwxyz/w/abcdefghijklmnopqrstuvwxyz", "/w//w/<redacted>/w/<redacted>"}));

TEST(SecretParameters, AreThoseThatTheConfigurationNames) {
  set_secret_parameters({"sid"});
  const std::string shown = redact("https://a.example/?sid=1&token=2 hub.secret=3");
  set_secret_parameters(
      {"token", "key", "apikey", "api_key", "auth", "secret", "sig", "signature", "password", "access_token"});
  EXPECT_EQ(shown, "https://a.example/?sid=<redacted>&token=2 hub.secret=<redacted>");
}

}  // namespace
}  // namespace feedmill::redact_test
