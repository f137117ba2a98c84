#include "worker/websub/signature.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "storage/records/tokens.hpp"

namespace feedmill::signature_test {
namespace {

// RFC 2202 test 2 and RFC 4231 test case 2.
const std::string secret = "Jefe", body = "what do ya want for nothing?";
const std::string sha1 = "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79";
const std::string sha256 = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
const std::string sha384 =
    "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649";
const std::string sha512 =
    "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b63"
    "6e070a38bce737";

Signed check(const std::vector<std::string_view>& headers, std::string_view by = secret, std::string_view of = body) {
  return check_signature(headers, by, of);
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

TEST(Signatures, OfTheStrongMethodsAreGood) {
  EXPECT_EQ(check({"sha256=" + sha256}), Signed::good);
  EXPECT_EQ(check({"sha384=" + sha384}), Signed::good);
  EXPECT_EQ(check({"sha512=" + sha512}), Signed::good);
}

TEST(Signatures, MayBeInUpperCaseHex) {
  const std::string header = "sha256=" + upper(sha256);
  EXPECT_EQ(check({header}), Signed::good);
}

TEST(Signatures, OfSha1AreWeak) {
  const std::string header = "sha1=" + sha1;
  EXPECT_EQ(check({header}), Signed::weak);
}

struct Bad {
  const char* name;
  std::vector<std::string> headers;
};
class BadSignatures : public testing::TestWithParam<Bad> {};

TEST_P(BadSignatures, AreBad) {
  const std::vector<std::string_view> headers(GetParam().headers.begin(), GetParam().headers.end());
  EXPECT_EQ(check(headers), Signed::bad);
}

std::string flipped(std::string hex) {
  hex.back() = hex.back() == '0' ? '1' : '0';
  return hex;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSignatures,
    testing::Values(Bad{"Missing", {}}, Bad{"Empty", {""}}, Bad{"Twice", {"sha256=" + sha256, "sha256=" + sha256}},
                    Bad{"TwoMethods", {"sha1=" + sha1, "sha256=" + sha256}}, Bad{"NoMethod", {sha256}},
                    Bad{"NoEquals", {"sha256" + sha256}}, Bad{"EqualsAlone", {"="}}, Bad{"EmptyDigest", {"sha256="}},
                    Bad{"UpperCaseMethod", {"SHA256=" + sha256}}, Bad{"Md5", {"md5=" + sha1.substr(0, 32)}},
                    Bad{"Sha224", {"sha224=" + sha256.substr(0, 56)}}, Bad{"Unknown", {"none=" + sha256}},
                    Bad{"Short", {"sha256=" + sha256.substr(0, 62)}},
                    Bad{"OddLength", {"sha256=" + sha256.substr(0, 63)}}, Bad{"Long", {"sha256=" + sha256 + "00"}},
                    Bad{"NotHex", {"sha256=" + std::string(64, 'g')}},
                    Bad{"OfAnotherMethod", {"sha256=" + sha512.substr(0, 64)}},
                    Bad{"OneDigitOff", {"sha256=" + flipped(sha256)}}, Bad{"SpaceBefore", {" sha256=" + sha256}},
                    Bad{"SpaceBehind", {"sha256=" + sha256 + " "}}, Bad{"SpaceInside", {"sha256= " + sha256}},
                    Bad{"TwoInOne", {"sha256=" + sha256 + ",sha1=" + sha1}},
                    Bad{"Sha1OneDigitOff", {"sha1=" + flipped(sha1)}}, Bad{"Quoted", {"sha256=\"" + sha256 + "\""}},
                    Bad{"Nul", {std::string("sha256=\0", 8) + sha256}}),
    [](const auto& test) { return test.param.name; });

TEST(Signatures, HoldForOneSecretAndOneBody) {
  const std::string header = "sha256=" + sha256;
  EXPECT_EQ(check({header}, "jefe"), Signed::bad);
  EXPECT_EQ(check({header}, ""), Signed::bad);
  EXPECT_EQ(check({header}, secret, ""), Signed::bad);
  for (std::size_t bit = 0; bit < body.size() * 8; ++bit) {
    std::string changed = body;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_EQ(check({header}, secret, changed), Signed::bad) << bit;
  }
}

TEST(Tokens, AreLongAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = random_token();
    ASSERT_EQ(token.size(), 26U);
    ASSERT_EQ(token.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567"), std::string::npos);
    ASSERT_TRUE(seen.insert(token).second);
  }
  EXPECT_EQ(random_secret().size(), 64U);
  EXPECT_NE(random_secret(), random_secret());
}

TEST(Tokens, AreKnownByTheirHash) {
  EXPECT_EQ(hash_of_token("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace feedmill::signature_test
