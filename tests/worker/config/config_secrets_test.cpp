// Secrets given by variables of the environment (SECURITY K3).
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"
#include "worker/config/config.hpp"

namespace feedmill::config_secrets_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace fs = std::filesystem;

class ConfigSecrets : public testing::Test {
 protected:
  ConfigSecrets() { sources.environment["HOME"] = home_directory.path().string(); }

  std::string write(const std::string& name, const std::string& text) {
    const fs::path file = home_directory.path() / name;
    std::ofstream(file) << text;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    return file.string();
  }
  void file(const std::string& text) { sources.file = write("feedmill.toml", text); }
  void env(const std::string& name, const std::string& value) { sources.environment["FEEDMILL_" + name] = value; }

  Config load() { return load_config(sources).value(); }
  std::vector<std::string> problems() {
    const auto loaded = load_config(sources);
    std::vector<std::string> lines;
    if (loaded) return lines;
    for (const auto& problem : loaded.error()) lines.push_back(to_string(problem));
    return lines;
  }
  /// Everything that `config show --origin` prints.
  std::string shown() {
    std::string text;
    for (const auto& option : show(load())) text += option.key + "=" + option.value + " " + option.origin + "\n";
    return text;
  }

  test::TemporaryDirectory home_directory;
  ConfigSources sources;
};

TEST_F(ConfigSecrets, AreTakenFromVariablesAndNeverShown) {
  file("[redis]\npassword_file = \"" + write("password", "from a file") + "\"\n");
  env("REDIS_PASSWORD", "swordfish");
  env("REDIS_SENTINEL_PASSWORD", "swordfish of sentinels");
  env("ADMIN_TOKEN", "swordfish-of-operators");
  env("PUSH_OUT_TOKEN", "swordfish-of-browsers");
  const Config config = load();
  EXPECT_EQ(config.redis.password, "swordfish") << "the environment overrides the file";
  EXPECT_EQ(config.redis.sentinel_password, "swordfish of sentinels");
  EXPECT_EQ(config.admin.token, "swordfish-of-operators");
  EXPECT_EQ(config.push_out.token, "swordfish-of-browsers");
  EXPECT_THAT(config.warnings, IsEmpty());
  EXPECT_THAT(shown(), AllOf(HasSubstr("redis.password_file= environment FEEDMILL_REDIS_PASSWORD\n"),
                             Not(HasSubstr("swordfish"))));
}

TEST_F(ConfigSecrets, AreRefusedWithoutRepeatingThem) {
  env("REDIS_PASSWORD", "swordfish");
  env("REDIS_PASSWORD_FILE", write("password", "from a file"));
  EXPECT_THAT(problems(), ElementsAre("redis.password_file (environment FEEDMILL_REDIS_PASSWORD): set twice: unset "
                                      "FEEDMILL_REDIS_PASSWORD or FEEDMILL_REDIS_PASSWORD_FILE"));
  sources.environment.erase("FEEDMILL_REDIS_PASSWORD_FILE");
  env("REDIS_PASSWORD", "");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("empty: set it to the secret, or unset it")));
  sources.environment.erase("FEEDMILL_REDIS_PASSWORD");
  env("ADMIN_TOKEN", "swordfish");
  EXPECT_THAT(problems(), ElementsAre("admin.token_file (environment FEEDMILL_ADMIN_TOKEN): a token has 16 bytes or "
                                      "more"));
  sources.environment.erase("FEEDMILL_ADMIN_TOKEN");
  env("REDIS_PASWORD", "swordfish");
  EXPECT_THAT(problems(), ElementsAre("FEEDMILL_REDIS_PASWORD (environment): no such option; did you mean "
                                      "FEEDMILL_REDIS_PASSWORD?"));
}

TEST_F(ConfigSecrets, FilesHoldOneLineAndNothingElse) {
  for (const auto& [content, problem] : {std::pair("", "the file is empty: write"),
                                         {"\n", "the file is empty: write"},
                                         {"\xEF\xBB\xBFswordfish\n", "byte order mark: save it as UTF-8 without one"},
                                         {"\xFF\xFEs", "byte order mark"},
                                         {"swordfish\nsecond\n", "must hold one line: remove the others"},
                                         {"swordfish\n\n", "must hold one line"},
                                         {"\nswordfish", "must hold one line"}}) {
    for (const char* const name :
         {"REDIS_PASSWORD_FILE", "ADMIN_TOKEN_FILE", "API_TOKEN_READER_FILE", "REDIS_URL_FILE"}) {
      sources.environment.clear();
      env(name, write("secret", content));
      EXPECT_THAT(problems(), ElementsAre(AllOf(HasSubstr(problem), Not(HasSubstr("swordfish"))))) << name;
    }
  }
  sources.environment.clear();
  env("REDIS_PASSWORD_FILE", write("secret", "sword fish\r\n"));
  EXPECT_EQ(load().redis.password, "sword fish");
}

TEST_F(ConfigSecrets, ANewFileIsNotNoticedWhereAVariableHasTheSecret) {
  env("ADMIN_TOKEN", "swordfish-of-operators");
  const Config running = load();
  const Reload read = reload_config(sources, running).value();
  EXPECT_THAT(read.restart, IsEmpty());
  EXPECT_EQ(read.config.admin.token, "swordfish-of-operators");
}

TEST_F(ConfigSecrets, ApiTokensComeFromVariables) {
  env("API_TOKEN_READER", "swordfish-of-reader");
  env("API_TOKEN_WEB_APP", "swordfish-of-web-app");
  env("API_TOKEN_WEB_APP_ASKS", "true");
  env("API_TOKEN_OTHER_FILE", write("token", "swordfish-of-other\n"));
  const Config config = load();
  ASSERT_EQ(config.api_tokens.size(), 3U);
  EXPECT_EQ(config.api_tokens.at("reader").token, "swordfish-of-reader");
  EXPECT_FALSE(config.api_tokens.at("reader").asks);
  EXPECT_EQ(config.api_tokens.at("web_app").token, "swordfish-of-web-app");
  EXPECT_TRUE(config.api_tokens.at("web_app").asks);
  EXPECT_EQ(config.api_tokens.at("other").token, "swordfish-of-other");
  EXPECT_THAT(shown(), AllOf(HasSubstr("api.token.\"reader\".file= environment FEEDMILL_API_TOKEN_READER\n"),
                             HasSubstr("api.token.\"web_app\".asks=true environment FEEDMILL_API_TOKEN_WEB_APP_ASKS\n"),
                             Not(HasSubstr("swordfish"))));
  EXPECT_EQ(reload_config(sources, config).value().config.api_tokens.at("reader").token, "swordfish-of-reader");
}

TEST_F(ConfigSecrets, AVariableReplacesTheTokenOfTheFile) {
  file("[api.token.\"Web.app\"]\nfile = \"/nowhere\"\nasks = true\n");
  env("API_TOKEN_WEB_APP", "swordfish-of-web-app");
  const Config config = load();
  ASSERT_EQ(config.api_tokens.size(), 1U);
  EXPECT_EQ(config.api_tokens.at("Web.app").token, "swordfish-of-web-app");
  EXPECT_TRUE(config.api_tokens.at("Web.app").asks);
}

struct TokenCase {
  const char* name;
  std::vector<std::pair<std::string, std::string>> variables;
  const char* problem;
};
class BadToken : public ConfigSecrets, public testing::WithParamInterface<TokenCase> {};
TEST_P(BadToken, IsRefusedWithoutRepeatingIt) {
  file("[api.token.\"a.b\"]\nfile = \"" + write("one", "swordfish-of-the-one") + "\"\n[api.token.\"a-b\"]\nfile = \"" +
       write("two", "swordfish-of-the-two") + "\"\n");
  const std::string other = write("other", "swordfish-of-another");
  for (const auto& [name, value] : GetParam().variables) env(name, value == "FILE" ? other : value);
  EXPECT_THAT(problems(), AllOf(ElementsAre(HasSubstr(GetParam().problem)), Each(Not(HasSubstr("swordfish")))));
}
INSTANTIATE_TEST_SUITE_P(
    All, BadToken,
    testing::Values(
        TokenCase{"Short",
                  {{"API_TOKEN_READER", "swordfish"}},
                  "api.token.\"reader\" (environment FEEDMILL_API_TOKEN_READER): the token must hold one line of 16"},
        TokenCase{"Lines", {{"API_TOKEN_READER", "swordfish\nof many lines"}}, "the token must hold one line"},
        TokenCase{"Empty", {{"API_TOKEN_READER", ""}}, "FEEDMILL_API_TOKEN_READER (environment): empty: set it"},
        TokenCase{"NoName",
                  {{"API_TOKEN", "swordfish-without-name"}},
                  "FEEDMILL_API_TOKEN (environment): end it with a name: FEEDMILL_API_TOKEN_READER is the secret of"},
        TokenCase{"EmptyName", {{"API_TOKEN_", "swordfish-without-name"}}, "end it with a name"},
        TokenCase{"Twice",
                  {{"API_TOKEN_READER", "swordfish-of-reader"}, {"API_TOKEN_READER_FILE", "FILE"}},
                  "set twice: unset FEEDMILL_API_TOKEN_READER or FEEDMILL_API_TOKEN_READER_FILE"},
        TokenCase{"FileOfAFile",
                  {{"API_TOKEN_READER_FILE_FILE", "FILE"}},
                  "FEEDMILL_API_TOKEN_READER_FILE_FILE (environment): one _FILE is enough: "
                  "FEEDMILL_API_TOKEN_READER_FILE names the file"},
        TokenCase{"Ambiguous", {{"API_TOKEN_A_B", "swordfish-of-either"}}, "this may mean a-b or a.b: rename either"},
        TokenCase{"NoToken", {{"API_TOKEN_READER_ASKS", "true"}}, "api.token.\"reader\" (environment "},
        TokenCase{"NotABool",
                  {{"API_TOKEN_READER_ASKS", "swordfish"}, {"API_TOKEN_READER", "a-token-of-16-bytes"}},
                  "FEEDMILL_API_TOKEN_READER_ASKS (environment): "},
        TokenCase{"LongName", {{"API_TOKEN_" + std::string(65, 'A'), "swordfish-of-reader"}}, "a name has only"},
        TokenCase{"SameToken", {{"API_TOKEN_READER", "swordfish-of-the-one"}}, "same token as a.b"}),
    [](const auto& test) { return test.param.name; });

/// Everyone may guess what Kubernetes puts into the environment for a Service named "feedmill-api-token".
TEST_F(ConfigSecrets, NoAddressOfAKubernetesServiceBecomesAToken) {
  env("API_TOKEN_SERVICE_HOST", "10.111.112.113.example");
  env("API_TOKEN_PORT", "tcp://10.111.112.113:9810");
  env("API_TOKEN_PORT_9810_TCP", "tcp://10.111.112.113:9810");
  env("API_TOKEN_PORT_9810_TCP_ADDR", "10.111.112.113");
  EXPECT_THAT(load().api_tokens, IsEmpty());
}

}  // namespace
}  // namespace feedmill::config_secrets_test
