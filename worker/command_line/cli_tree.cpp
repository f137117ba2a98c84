// CLI11's tree as plain values.
#include "worker/command_line/cli_verb.hpp"

namespace feedmill {

CommandNode describe(const CLI::App& app) {
  CommandNode node{app.get_name(), app.get_description(), app.get_footer(), {}, {}, {}};
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_group().empty()) continue;  // not shown
    if (!option->nonpositional()) {
      node.arguments.push_back({option->get_name(true), option->get_description()});
      continue;
    }
    CommandFlag& flag = node.flags.emplace_back();
    for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
    if (option->get_items_expected_max() > 0) flag.value = option->get_type_name();
    flag.about = option->get_description();
  }
  for (const CLI::App* const verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    node.verbs.push_back(describe(*verb));
  }
  return node;
}

}  // namespace feedmill
