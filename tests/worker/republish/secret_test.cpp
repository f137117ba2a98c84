#include <set>

#include <gtest/gtest.h>

#include "worker/republish/webhook_message.hpp"

namespace feedmill::webhook_secret_test {
namespace {

// Test vectors of the Standard Webhooks libraries.
const std::string content = R"(msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314})";
const std::string shared = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string signing = "whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=";

// RFC 8032 §7.1, test 1: seed, public key, both.
const std::string rfc_seed = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
const std::string rfc_public = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const std::string rfc_both =
    "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGg==";

TEST(WebhookSecrets, SignAsTheStandardsLibrariesDo) {  // OPERATIONS B2
  EXPECT_EQ(signature_by(shared, content), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  EXPECT_EQ(signature_by(signing, content),
            "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==");
  EXPECT_EQ(signature_by(rfc_seed, ""),
            "v1a,5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc+bRr0lv18FlbviRlUUFDjnoQCw==")
      << "RFC 8032 §7.1 has this of nothing";
}

TEST(WebhookSecrets, HavePublicKeys) {
  EXPECT_EQ(public_key_of(rfc_seed), rfc_public);
  EXPECT_EQ(public_key_of(rfc_both), rfc_public);
  EXPECT_EQ(signature_by(rfc_both, content), signature_by(rfc_seed, content));
  EXPECT_EQ(public_key_of(shared), "");
  EXPECT_EQ(public_key_of(rfc_public), "");
}

TEST(WebhookSecrets, AreNewEachTimeAndAsTheStandardWantsThem) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string one = new_shared_secret(), other = new_signing_key();
    EXPECT_NE(signature_by(one, content), "") << one.size();
    EXPECT_NE(signature_by(other, content), "") << other.size();
    EXPECT_EQ(one.substr(0, 6) + other.substr(0, 5), "whsec_whsk_");
    EXPECT_TRUE(seen.insert(one).second);
    EXPECT_TRUE(seen.insert(public_key_of(other)).second);
  }
}

struct Secret {
  const char* name;
  std::string text;
  bool good;
};
class WebhookSecretTexts : public testing::TestWithParam<Secret> {};

TEST_P(WebhookSecretTexts, AreSecretsOrNot) {
  EXPECT_EQ(signature_by(GetParam().text, content).empty(), !GetParam().good);
}

INSTANTIATE_TEST_SUITE_P(All, WebhookSecretTexts,
                         testing::Values(Secret{"OfLeast", shared, true},                                  // 24 bytes
                                         Secret{"OfMost", "whsec_" + std::string(85, 'A') + "A==", true},  // 64
                                         Secret{"TooShort", "whsec_" + std::string(32 - 4, 'A') + "AAA=", false},  // 23
                                         Secret{"TooLong", "whsec_" + std::string(86, 'A') + "A=", false},         // 65
                                         Secret{"FarTooLong", "whsec_" + std::string(1U << 20U, 'A'), false},      //
                                         Secret{"Empty", "", false}, Secret{"OfNothing", "whsec_", false},         //
                                         Secret{"Bare", shared.substr(6), false},
                                         Secret{"Public", rfc_public, false},  //
                                         Secret{"SpaceBehind", shared + " ", false},
                                         Secret{"LineBehind", shared + "\n", false},
                                         Secret{"Unpadded", rfc_seed.substr(0, rfc_seed.size() - 1), false},
                                         Secret{"PaddedInside", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La=aSw", false},
                                         Secret{"UrlAlphabet", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La-_Sw", false},
                                         Secret{"SeedOf31Bytes", "whsk_" + std::string(41, 'A') + "A==", false},
                                         Secret{"SeedAndPublic", rfc_both, true},
                                         Secret{"PublicOfAnother", "whsk_" + std::string(86, 'A') + "==", false}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace feedmill::webhook_secret_test
