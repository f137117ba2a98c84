#include <filesystem>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "worker/config/config.hpp"
#include "worker/config/config_named.hpp"
#include "worker/config/config_values.hpp"

namespace feedmill {
namespace {

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

}  // namespace

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
    if (!option.old_env.empty()) variables += fmt::format(", before: `FEEDMILL_{}`", option.old_env);
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

}  // namespace feedmill
