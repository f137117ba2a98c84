// All verbs and their order in the help, and how a verb is run. Each row is defined next to its function.
#pragma once

#include <string>
#include <vector>

#include "storage/records/stream_records.hpp"
#include "worker/base/terminal.hpp"
#include "worker/cli/cli.hpp"
#include "worker/cli/verb.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// All verbs, grouped as in the help.
std::vector<VerbGroup> verb_groups();

/// Runs the verb; reads the configuration and opens the store if the verb needs them. Prints errors on stderr, one line
/// each. Returns the exit code; throws Interrupted and OutputClosed.
int run_command(const CommandLine& line, Terminal& terminal);

/// Prints requested help on stdout, errors and other help on stderr. Returns the exit code.
int tell(const NoCommand& nothing, Terminal& terminal);

// The rows of single verbs.
VerbRow add_verb();
VerbRow import_verb();
VerbRow run_verb();
VerbRow list_verb();
VerbRow show_verb();
VerbRow refresh_verb();
VerbRow set_verb();
VerbRow pause_verb();
VerbRow resume_verb();
VerbRow move_verb();
VerbRow remove_verb();
VerbRow export_verb();
VerbRow entries_verb();
VerbRow entry_verb();
VerbRow entry_put_verb();
VerbRow entry_remove_verb();
VerbRow expire_verb();
VerbRow tail_verb();
VerbRow explain_verb();
VerbRow trace_verb();
VerbRow check_verb();
VerbRow discover_verb();
VerbRow parse_verb();
VerbRow plan_verb();
VerbRow doctor_verb();
VerbRow health_verb();
VerbRow top_verb();
VerbRow stats_verb();
VerbRow notices_verb();
VerbRow verify_verb();
VerbRow where_verb();
VerbRow store_export_verb();
VerbRow store_import_verb();
VerbRow config_check_verb();
VerbRow config_show_verb();
VerbRow completion_verb();
VerbRow man_verb();
VerbRow help_verb();
VerbRow version_verb();

/// `channel` or `notify`, and the verbs below it.
std::vector<VerbRow> channel_verbs();
std::vector<VerbRow> notify_verbs();

/// Runs an operation and prints its outcome, after asking unless `yes` is among the values. Returns the exit code;
/// throws VerbFailure and Interrupted.
int run_operation(const Operation& operation, const OperationValues& given, const VerbContext& context);

// Outputs of single verbs, for tests.

/// Answers a request of `parse --pipe`: {"argv":[…]} gets {"rc":…,"out":…,"err":…}, without a final newline.
std::string answer_request(const std::string& request);

/// An event of `tail` as one line of text: time, type, feed or post.
std::string signal_line(const EventRecord& record);

/// An event of `tail` as JSON: the record's object with `schema` first.
std::string signal_json(const EventRecord& record);

}  // namespace feedmill
