#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "worker/config/config.hpp"
#include "worker/config/config_named.hpp"
#include "worker/config/config_values.hpp"

namespace feedmill::config_reference_test {
namespace {

namespace fs = std::filesystem;

// The reference and the sample, made from the table of options.

template <class Value>
bool holds(const Option& option) {
  return std::holds_alternative<Value& (*)(Config&)>(option.field);
}

/// Whether the default depends on the machine and is described in words.
bool is_told_in_words(const Option& option) {
  return option.fallback.find(' ') != std::string_view::npos;
}

std::string toml_list(std::string_view items) {
  std::string text = "[";
  while (!items.empty()) {
    const std::size_t end = std::min(items.find(','), items.size());
    text += fmt::format("{}\"{}\"", text.size() > 1 ? ", " : "", items.substr(0, end));
    items.remove_prefix(std::min(end + 1, items.size()));
  }
  return text + "]";
}

/// The default as written in the file; an example if it is described in words.
std::string toml_value(const Option& option) {
  const bool number = holds<std::uint32_t>(option);
  if (is_told_in_words(option))
    return number ? "4" : fmt::format("\"/path/to/{}\"", option.key.substr(option.key.find('.') + 1));
  if (number || holds<bool>(option)) return std::string(option.fallback);
  if (holds<std::vector<std::string>>(option)) return toml_list(option.fallback);
  return fmt::format("\"{}\"", option.fallback);
}

std::string sentence(const Option& option) {
  std::string text = fmt::format("# {} ({}).", option.meaning, option.unit);
  if (is_told_in_words(option)) text += fmt::format(" Default: {}.", option.fallback);
  return text + (option.reloads ? " SIGHUP.\n" : "\n");
}

/// Escapes bars for cells of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

/// feedmill.toml with every option, commented out at its default, and a sentence about each.
std::string sample_config() {
  std::string text =
      "# feedmill: every option with its default. Remove the # to change a value.\n"
      "# Durations: 500ms 90s 15min (or 15m) 24h 7d; sizes: 64KiB 16MiB. SIGHUP: reloaded without a restart.\n"
      "# The environment (FEEDMILL_…) and flags override this file; `feedmill config show --origin` shows the values "
      "in force.\n";
  std::string_view group;
  for (const Option& option : option_table()) {
    const std::string_view own = option.key.substr(0, option.key.find('.'));
    if (own != group) text += fmt::format("\n[{}]\n", group = own);
    text += sentence(option) + fmt::format("#{} = {}\n", option.key.substr(own.size() + 1), toml_value(option));
  }
  for (const NamedTable& table : named_tables()) {
    text += fmt::format("\n# One such table for each{}.\n#[{}.\"{}\"]\n", table.reloads ? ". SIGHUP" : "", table.path,
                        table.example);
    for (const NamedColumn& column : table.columns) {
      text += fmt::format("# {} ({}).\n#{} = {}\n", column.meaning, column.unit, column.name, column.example);
    }
  }
  return text;
}

/// All options as Markdown.
std::string config_reference() {
  std::string text =
      "# Configuration\n"
      "\n"
      "Generated from the program's option table; a test compares the two. `feedmill config show --origin` shows the "
      "values in force and where they come from; `feedmill config check` reports errors.\n"
      "\n"
      "Later ones win: default, file, environment, flag. The file is the one given by `--config`, else the first "
      "`feedmill.toml` in `$CONFIGURATION_DIRECTORY`, `$XDG_CONFIG_HOME/feedmill`, `/etc/feedmill`; "
      "`deploy/feedmill.toml.example` lists every option. An option's variable is `FEEDMILL_`, its table and its key; "
      "old names are still read. With `_FILE` appended, a variable names a file that holds the value. Secrets are "
      "never shown or logged. Durations: `500ms 90s 15min 24h 7d`, where `m` is `min`; sizes: `64KiB 16MiB`; lists are "
      "separated by commas in the environment.\n"
      "\n"
      "SIGHUP (`systemctl reload feedmill`) reloads the file. Options marked below take effect at once. For all other "
      "changes, the log names the keys; they need a restart. An invalid file changes nothing.\n"
      "\n"
      "| key | environment | flag | default | value | SIGHUP | meaning |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Option& option : option_table()) {
    const auto code = [](std::string_view word) { return word.empty() ? std::string() : fmt::format("`{}`", word); };
    std::string variables = code(variable_of(option));
    if (option.secret != nullptr) variables += fmt::format("; its content: `{}`", secret_variable_of(option));
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", option.key, variables, code(option.flag),
                        option.fallback.empty()    ? "empty"
                        : is_told_in_words(option) ? cell(option.fallback)
                                                   : code(option.fallback),
                        cell(option.unit), option.reloads ? "yes" : "", cell(option.meaning));
  }
  text +=
      "\n"
      "Tables of the file with named rows. In variables, `NAME` is in upper case, with `_` for `.` and `-`; a row that "
      "is "
      "not in the file gets the name in lower case.\n"
      "\n"
      "| table | key | environment | value | SIGHUP | meaning |\n"
      "|---|---|---|---|---|---|\n";
  for (const NamedTable& table : named_tables()) {
    const std::string variable = fmt::format("FEEDMILL_{}_NAME", variable_part(table.path));
    for (const NamedColumn& column : table.columns) {
      std::string variables;
      if (table.set_secret != nullptr) variables = fmt::format("`{}_{}`", variable, variable_part(column.name));
      if (table.set_secret != nullptr && column.name == "file")
        variables += fmt::format("; its content: `{}`", variable);
      text += fmt::format("| `[{}.\"NAME\"]` | `{}` | {} | {} | {} | {} |\n", table.path, column.name, variables,
                          cell(column.unit), table.reloads ? "yes" : "", cell(column.meaning));
    }
  }
  return text;
}

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
