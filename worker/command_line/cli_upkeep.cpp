// The verbs of the store itself in the tree of the command line.
#include "worker/command_line/cli_values.hpp"
#include "worker/command_line/cli_verb.hpp"

namespace feedmill {

void add_store_verbs(CLI::App& root, std::optional<Verb>& chosen) {
  auto [verify, verified] = add_verb<VerifyVerb>(
      root, chosen, "Check the invariants of the store beside running workers; exit 1 when any is violated",
      "feedmill verify --repair --journal repair.jsonl", [](const VerifyVerb& arguments) {
        if (!arguments.journal.empty() && !arguments.repair) refuse("--journal needs --repair");
      });
  verify->add_option("--feed", verified->feeds, "Only this feed; may be repeated")
      ->allow_extra_args(false)
      ->type_name("URL");
  verify->add_flag("--repair", verified->repair,
                   "Mend what can be mended without guessing; what is replaced is written to a journal first");
  verify->add_flag("--resanitise", verified->resanitise,
                   "Also find posts whose markup today's policy would store otherwise; with --repair store it so, "
                   "without signals");
  verify->add_option("--journal", verified->journal, "Where to (feedmill-repair-TIME.jsonl here); a new file")
      ->type_name("FILE");

  CLI::App* const group = root.add_subcommand("store", "The store as a file, and back");
  group->group("Verbs");
  group->fallthrough();
  group->require_subcommand(0, 1);
  auto [write, written] =
      add_verb<StoreExportVerb>(*group, chosen, "Write the store, or some feeds, as JSON lines beside running workers",
                                "feedmill store export store.jsonl");
  written->file = "-";
  write->add_option("FILE", written->file, "Where to; it appears when all is written (-: stdout, the default)");
  write->add_option("--feed", written->feeds, "Only this feed; may be repeated")
      ->allow_extra_args(false)
      ->type_name("URL");

  auto [read, was_read] = add_verb<StoreImportVerb>(
      *group, chosen, "Bring back what store export wrote; again is harmless, and goes on where it stopped",
      "feedmill store import store.jsonl --dry-run", [](const StoreImportVerb& arguments) {
        if (arguments.file.empty()) refuse("FILE is missing (- for stdin)");
        if (arguments.yes && !arguments.replace) refuse("--yes needs --replace");
      });
  read->add_option("FILE", was_read->file,
                   "Into an empty store: entries keep their ids. Into another: they get new ones, and read marks and "
                   "notices stay out");
  read->add_flag("--dry-run", was_read->dry_run, "Only check the file and say what would be brought back");
  read->add_flag("--replace", was_read->replace, "Feeds that are there are removed first; else they stay as they are");
  read->add_flag("--yes", was_read->yes, "Do not ask before replacing");
}

}  // namespace feedmill
