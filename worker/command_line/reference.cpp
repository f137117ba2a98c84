#include "worker/command_line/reference.hpp"

#include <string_view>

#include <fmt/format.h>

namespace feedmill {
namespace {

/// Text in a cell of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

void add_cells(std::string& table, const std::string& left, const std::string& about) {
  if (table.empty()) table = "\n| | |\n|---|---|\n";
  table += fmt::format("| {} | {} |\n", cell(left), cell(about));
}

void add_flag(std::string& table, const CommandFlag& flag) {
  std::string names;
  for (const std::string& name : flag.names) names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
  add_cells(table, flag.value.empty() ? names : fmt::format("{} {}", names, flag.value), flag.about);
}

void add_section(std::string& text, const CommandNode& node, const std::string& path) {
  if (!node.example.empty()) {
    text += fmt::format("\n### {0}\n\n    feedmill {0}", path);
    for (const CommandArgument& argument : node.arguments) text += " " + argument.usage();
    text += fmt::format("\n\n{}.\n", node.about);
    std::string table;
    for (const CommandArgument& argument : node.arguments) add_cells(table, "`" + argument.name + "`", argument.about);
    for (const CommandFlag& flag : node.flags) {
      if (flag.names.front() != "-h") add_flag(table, flag);
    }
    text += table;
    if (!node.notes.lines.empty()) text += fmt::format("\n{}:\n\n", node.notes.title);
    for (const std::string& line : node.notes.lines) text += "    " + line + "\n";
    if (!node.exits.empty()) text += fmt::format("\nExit code: {}.\n", node.exits);
    text += fmt::format("\nExample: `{}`\n", node.example.front());
  }
  for (const CommandNode& verb : node.verbs) add_section(text, verb, path + " " + verb.name);
}

}  // namespace

std::string reference_page(const CommandNode& tree) {
  std::string text =
      "# Command line\n\n"
      "Made by `feedmill man --markdown`; ctest `cli_page` fails where it is not what that prints.\n\n"
      "    feedmill [flags] verb [flags] [arguments]\n\n"
      "Data goes to stdout, talk to stderr; with `--json` stdout is JSON and nothing else, a line for each object. "
      "`feedmill VERB -h` tells what stands here, too.\n\n"
      "## Flags of every verb\n";
  std::string table;
  for (const CommandFlag& flag : tree.flags) add_flag(table, flag);
  text += table + "\n## Exit codes\n";
  table.clear();
  for (const ExitCode& code : exit_codes()) add_cells(table, std::string(code.code), std::string(code.meaning));
  text += table;
  std::string group;
  for (const CommandNode& verb : tree.verbs) {
    if (verb.group != group) text += "\n## " + verb.group + "\n";
    group = verb.group;
    add_section(text, verb, verb.name);
  }
  return text;
}

}  // namespace feedmill
