#include "worker/verbs/table.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "worker/operations/operation.hpp"

namespace feedmill {
namespace {

VerbRow row_of(const OperationFamily& family, const Operation& operation) {
  return {.name = operation.verb,
          .about = operation.about,
          .example = operation.example,
          .exits = operation.exits,
          .fails_as = family.verb,
          .fields = operation.fields,
          .use = operation.access == Operation::Access::change ? changes : reads,
          .is_of_all = family.of_all,
          .is_of_deployment = family.of_deployment,
          .run = &operation};
}

std::vector<VerbRow> together(std::vector<VerbRow> first, std::vector<VerbRow> second) {
  std::ranges::move(second, std::back_inserter(first));
  return first;
}

/// Adds the operations that are verbs, under the headings of their families.
void add_operations(std::vector<VerbGroup>& groups) {
  for (const OperationFamily& family : operation_families()) {
    if (family.verb.empty()) continue;
    const auto known = std::ranges::find(groups, family.group, &VerbGroup::name);
    VerbGroup& group = known != groups.end() ? *known : groups.emplace_back(VerbGroup{family.group, {}});
    group.verbs.push_back({.name = family.verb, .about = family.about});
    for (const Operation& operation : family.operations) {
      if (!operation.verb.empty()) group.verbs.push_back(row_of(family, operation));
    }
  }
}

}  // namespace

std::vector<VerbGroup> verb_groups() {
  std::vector<VerbGroup> groups{
      {"Feeds",
       {add_verb(), import_verb(), run_verb(), list_verb(), show_verb(), refresh_verb(), set_verb(), pause_verb(),
        resume_verb(), move_verb(), remove_verb(), export_verb()}},
      {"Posts", {entries_verb(), entry_verb(), entry_put_verb(), entry_remove_verb(), expire_verb(), tail_verb()}},
      {"Users", together(channel_verbs(), notify_verbs())}};
  add_operations(groups);
  groups.push_back(
      {"Why and what if", {explain_verb(), trace_verb(), check_verb(), discover_verb(), parse_verb(), plan_verb()}});
  groups.push_back({"Operation",
                    {doctor_verb(),
                     health_verb(),
                     top_verb(),
                     stats_verb(),
                     notices_verb(),
                     verify_verb(),
                     where_verb(),
                     {.name = "store", .about = "Export and import the store"},
                     store_export_verb(),
                     store_import_verb(),
                     {.name = "config", .about = "The configuration in force"},
                     config_check_verb(),
                     config_show_verb(),
                     completion_verb(),
                     man_verb(),
                     help_verb(),
                     version_verb()}});
  return groups;
}

}  // namespace feedmill
