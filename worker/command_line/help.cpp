#include <array>

#include <fmt/format.h>

#include "worker/command_line/command_tree.hpp"

namespace feedmill {
namespace {

/// What stands on the left, and from a column on what it is about; on a line of its own where there is no room.
void add_row(std::string& text, const std::string& name, const std::string& about) {
  constexpr std::size_t column = 30;
  text += fmt::format("  {:<{}}", name, column - 2);
  if (name.size() + 2 >= column) text += "\n" + std::string(column, ' ');
  text += about + "\n";
}

void add_lines(std::string& text, const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  text += "\n" + title + ":\n";
  for (const std::string& line : lines) text += "  " + line + "\n";
}

}  // namespace

std::span<const ExitCode> exit_codes() {
  static constexpr std::array<ExitCode, 10> codes = {{{"0", "done; the answer is yes"},
                                                      {"1", "ran successfully; the answer is no"},
                                                      {"64", "wrong usage"},
                                                      {"65", "unusable input"},
                                                      {"69", "Redis or the private server's program is not available"},
                                                      {"70", "a bug"},
                                                      {"73", "a directory is not usable"},
                                                      {"75", "could not finish, or a port is in use; try again"},
                                                      {"78", "invalid configuration"},
                                                      {"130", "interrupted (not run)"}}};
  return codes;
}

std::string help_text(const CommandNode& node, std::string_view path) {
  std::string text = fmt::format("{}\nUsage: feedmill{}{} [OPTIONS]", node.about, path.empty() ? "" : " ", path);
  for (const CommandArgument& argument : node.arguments) text += " " + argument.usage();
  text += node.verbs.empty() ? "\n" : " [VERB]\n";
  if (!node.arguments.empty()) text += "\nArguments:\n";
  for (const CommandArgument& argument : node.arguments) {
    add_row(text, argument.name + (argument.many ? " ..." : ""), argument.about);
  }
  std::string group;
  const auto begin_group = [&](const std::string& name) {
    if (name != group) text += "\n" + name + ":\n";
    group = name;
  };
  for (const CommandNode& verb : node.verbs) {
    begin_group(path.empty() ? verb.group : "Verbs");
    add_row(text, verb.name, verb.about);
  }
  for (const CommandFlag& flag : node.flags) {
    begin_group(flag.group);
    add_row(text, fmt::format("{}{}{}", fmt::join(flag.names, ","), flag.value.empty() ? "" : " ", flag.value),
            flag.about);
  }
  add_lines(text, node.notes.title, node.notes.lines);
  if (!node.exits.empty()) text += fmt::format("\nExit code: {}\n", node.exits);
  add_lines(text, node.example.size() > 1 ? "Examples" : "Example", node.example);
  if (!path.empty()) text += "\nOptions of every verb (--json, -q, -v, --config …): feedmill -h\n";
  return text;
}

}  // namespace feedmill
