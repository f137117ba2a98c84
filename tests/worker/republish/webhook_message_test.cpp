#include "worker/republish/webhook_message.hpp"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace feedmill::webhook_message_test {
namespace {

namespace json = boost::json;

const std::vector<std::string> of_rotation{new_shared_secret(), new_signing_key()};

/// A directory with the parts of a received message, for programs that verify them.
class Received : public testing::Test {
 protected:
  Received() {
    std::string name = (std::filesystem::temp_directory_path() / "webhook-XXXXXX").string();
    directory = mkdtemp(name.data());
  }
  ~Received() override { std::filesystem::remove_all(directory); }

  void put(const std::string& name, const std::string& text) const {
    std::ofstream(directory / name, std::ios::binary) << text;
  }
  /// Whether `script` succeeds.
  bool run(const std::string& script) const {
    return std::system(("cd " + directory.string() + " && { " + script + "\n} >output 2>&1").c_str()) == 0;
  }
  std::string output() const {
    std::ifstream file(directory / "output");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static bool has(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
  }

  std::filesystem::path directory;
};

std::string content_of(const WebhookMessage& message) {
  return message.id + "." + std::to_string(message.timestamp) + "." + message.body;
}

TEST(WebhookMessages, HaveTypeTimeAndTheEventAsItIs) {  // OPERATIONS B1
  EXPECT_EQ(
      webhook_body("post_created", 1'795'514'400, R"({"v":1, "data" : {"title":"ü\u0000"}})"),
      R"({"type":"post_created","timestamp":"2026-11-24T10:00:00Z","data":{"v":1, "data" : {"title":"ü\u0000"}}})");
}

TEST(WebhookMessages, ReportMissedEvents) {
  EXPECT_EQ(missed_body(1'795'514'400, "5-1", "9-0"),
            R"({"type":"events_missed","timestamp":"2026-11-24T10:00:00Z","data":{"after":"5-1","oldest":"9-0"}})");
}

TEST(WebhookMessages, OfASampleAreMarked) {
  const WebhookMessage one = sample_message(1'795'514'400), other = sample_message(1'795'514'400);
  EXPECT_NE(one.id, other.id);
  EXPECT_EQ(one.body, other.body);
  EXPECT_EQ(one.id.find('.'), std::string::npos) << "it would end the id where it is signed";
  const json::object body = json::parse(one.body).as_object();
  EXPECT_EQ(body.at("type").as_string(), "post_created");
  EXPECT_EQ(body.at("timestamp").as_string(), "2026-11-24T10:00:00Z");
  const json::object& event = body.at("data").as_object();
  EXPECT_EQ(event.at("type").as_string(), "post_created");
  EXPECT_TRUE(event.at("test").as_bool());
  EXPECT_TRUE(event.at("feed_url").as_string().starts_with("https://example.org/"));
}

TEST(WebhookMessages, AreSignedByEachSecret) {  // OPERATIONS B2
  const WebhookMessage message{"msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})"};
  const std::vector<std::string> secrets{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "none of ours",
                                         "whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk="};
  const std::string signature =
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= "
      "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==";
  EXPECT_EQ(webhook_signature(message, secrets), signature);
  EXPECT_EQ(webhook_headers(message, secrets),
            (std::vector<std::string>{"Content-Type: application/json", "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek",
                                      "webhook-timestamp: 1614265330", "webhook-signature: " + signature}));
}

TEST_F(Received, IsVerifiedByOpenssl) {  // OPERATIONS B2
  const WebhookMessage message{"1795398110175-1", 1'795'514'400, webhook_body("post_created", 1'795'514'000, "{}")};
  put("content", content_of(message));
  put("signature", webhook_signature(message, of_rotation));
  put("shared", of_rotation.front());
  put("public", public_key_of(of_rotation.back()));
  EXPECT_TRUE(run(R"sh(set -e
key=$(sed s/whsec_// shared | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
made=$(openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary content | openssl base64 -A)
test "v1,$made" = "$(cut -d ' ' -f 1 signature)")sh"))
      << output();
  // A SubjectPublicKeyInfo of ed25519 is 12 bytes and the key (RFC 8410 §4).
  EXPECT_TRUE(run(R"sh(set -e
{ printf '\060\052\060\005\006\003\053\145\160\003\041\000'; sed s/whpk_// public | openssl base64 -d -A; } > key
cut -d ' ' -f 2 signature | sed s/v1a,// | openssl base64 -d -A > made
openssl pkeyutl -verify -pubin -keyform DER -inkey key -rawin -in content -sigfile made)sh"))
      << output();
  put("content", content_of(message) + " ");
  EXPECT_FALSE(run("openssl pkeyutl -verify -pubin -keyform DER -inkey key -rawin -in content -sigfile made"));
}

/// By the npm package standardwebhooks, installed for node or in $FEEDMILL_STANDARDWEBHOOKS/node_modules.
TEST_F(Received, IsVerifiedByTheStandardsOwnLibrary) {  // OPERATIONS B2
  if (!has("node")) GTEST_SKIP() << "node is not installed";
  const char* const place = std::getenv("FEEDMILL_STANDARDWEBHOOKS");
  const std::string node = place == nullptr ? "node " : "NODE_PATH=\"" + std::string(place) + "/node_modules\" node ";
  if (!run(node + R"(-e 'require.resolve("standardwebhooks")')")) {
    GTEST_SKIP() << "the npm package standardwebhooks is not installed: npm install standardwebhooks in a directory, "
                    "and FEEDMILL_STANDARDWEBHOOKS set to it";
  }
  const WebhookMessage message = sample_message(std::time(nullptr));
  const std::vector<std::string> secrets{of_rotation.back(), of_rotation.front(), new_shared_secret()};
  json::object headers;
  for (const std::string& line : webhook_headers(message, secrets)) {
    headers[line.substr(0, line.find(':'))] = line.substr(line.find(' ') + 1);
  }
  put("message.json",
      json::serialize(json::object{{"secret", secrets[1]}, {"body", message.body}, {"headers", headers}}));
  const std::string verify = R"(
const { Webhook } = require("standardwebhooks");
const message = JSON.parse(require("fs").readFileSync("message.json"));
const event = new Webhook(message.secret).verify(message.body, message.headers);
if (event.type !== "post_created" || !event.data.test) throw new Error("not the event that was sent");
)";
  put("verify.js", verify);
  EXPECT_TRUE(run(node + "verify.js")) << output();
  put("verify.js", verify + "new Webhook(message.secret).verify(message.body + \" \", message.headers);\n");
  EXPECT_FALSE(run(node + "verify.js"));
}

}  // namespace
}  // namespace feedmill::webhook_message_test
