#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "worker/config/config.hpp"
#include "worker/config/config_named.hpp"

namespace feedmill::config_reference_test {
namespace {

namespace fs = std::filesystem;

/// The file in the tree equals the text generated from the table. FEEDMILL_WRITE_REFERENCE=1 in the environment
/// rewrites it.
void expect_file(const fs::path& name, const std::string& text) {
  const fs::path file = fs::path(FEEDMILL_SOURCE_DIR) / name;
  if (getenv("FEEDMILL_WRITE_REFERENCE") != nullptr) std::ofstream(file) << text;
  std::ifstream in(file);
  const std::string stands((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(stands, text) << name << ": run this test with FEEDMILL_WRITE_REFERENCE=1";
}

TEST(ConfigReference, IsUpToDateInTheTree) {
  expect_file("docs/CONFIGURATION.md", config_reference());
  expect_file("deploy/feedmill.toml.example", sample_config());
}

TEST(ConfigReference, HoldsEveryOption) {
  for (const Option& option : option_table()) {
    EXPECT_NE(config_reference().find("| `" + std::string(option.key) + "` |"), std::string::npos) << option.key;
  }
  for (const NamedTable& table : named_tables()) {
    EXPECT_NE(config_reference().find("[" + std::string(table.path) + "."), std::string::npos) << table.path;
  }
}

/// The sample with all options active: "#key = value" → "key = value"; sentences begin with "# ".
std::string uncommented(const std::string& sample) {
  std::istringstream lines(sample);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#[feed_auth")) break;  // refers to files that do not exist here
    text += line.starts_with("#") && !line.starts_with("# ") ? line.substr(1) : line;
    text += "\n";
  }
  return text;
}

TEST(ConfigReference, TheSampleParsesToTheDefaults) {
  std::string pattern = (fs::temp_directory_path() / "feedmill-sample-XXXXXX").string();
  const fs::path home = mkdtemp(pattern.data());
  ConfigSources sources;
  sources.environment["HOME"] = home.string();
  const Config defaults = load_config(sources).value();

  std::string text = uncommented(sample_config());
  // Replaces the placeholder by the path of an existing file.
  const std::size_t at = text.find("/path/to/password_file");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 22, (home / "password").string());
  std::ofstream(home / "password") << "x";
  sources.file = home / "feedmill.toml";
  std::ofstream(sources.file) << text;
  const auto sample = load_config(sources);
  if (sample.has_error()) {
    for (const auto& problem : sample.error()) ADD_FAILURE() << to_string(problem);
  } else {
    const auto expected = show(defaults), found = show(*sample);
    for (std::size_t i = 0; i < option_table().size(); ++i) {
      const Option& option = option_table()[i];
      EXPECT_TRUE(found[i].origin.starts_with("file ")) << option.key;
      const bool told_in_words = option.fallback.find(' ') != std::string_view::npos;
      EXPECT_TRUE(told_in_words || found[i].value == expected[i].value) << option.key << ": " << found[i].value;
    }
  }
  fs::remove_all(home);
}

}  // namespace
}  // namespace feedmill::config_reference_test
