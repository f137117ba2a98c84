// How a verb stands in the tree of the command line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "worker/command_line/cli.hpp"
#include "worker/command_line/cli_values.hpp"

namespace feedmill {

/// Adds a verb whose arguments live in a `Kind`; this becomes `chosen` when the verb was named and `check`, which
/// throws CLI::ValidationError, finds nothing wrong. `chosen` outlives the tree.
template <class Kind, class Check>
std::pair<CLI::App*, std::shared_ptr<Kind>> add_verb_named(CLI::App& parent, std::optional<Verb>& chosen,
                                                           const std::string& name, const char* about,
                                                           const char* example, Check check) {
  auto arguments = std::make_shared<Kind>();
  CLI::App* const app = parent.add_subcommand(name, about);
  app->group("Verbs");
  app->fallthrough();
  app->footer(
      fmt::format("Example:\n  {}\n\nOptions of every verb (--json, -q, -v, --config …): feedmill -h", example));
  app->callback([&chosen, arguments, check] {
    check(*arguments);
    chosen = *arguments;
  });
  return {app, arguments};
}

/// The same under the last word of Kind::name.
template <class Kind, class Check>
std::pair<CLI::App*, std::shared_ptr<Kind>> add_verb(CLI::App& parent, std::optional<Verb>& chosen, const char* about,
                                                     const char* example, Check check) {
  const std::string name(Kind::name.substr(Kind::name.rfind(' ') + 1));
  return add_verb_named<Kind>(parent, chosen, name, about, example, check);
}

/// One whose arguments are all well as they are.
template <class Kind>
std::pair<CLI::App*, std::shared_ptr<Kind>> add_verb(CLI::App& parent, std::optional<Verb>& chosen, const char* about,
                                                     const char* example) {
  return add_verb<Kind>(parent, chosen, about, example, [](const Kind&) {});
}

/// --limit and --before of a verb that lists entries a page at a time.
template <class Kind>
void add_page(CLI::App& app, const std::shared_ptr<Kind>& arguments) {
  app.add_option_function<std::string>(
         "--limit", [arguments](const std::string& text) { arguments->limit = number("--limit", text, 1, 1'000'000); },
         "At most so many (20)")
      ->type_name("N");
  app.add_option_function<std::string>(
         "--before", [arguments](const std::string& text) { arguments->before = cursor(text); },
         "Only those after this one in the order: SCORE:ID as the last line tells it")
      ->type_name("SCORE:ID");
}

/// The verbs of feeds: add, remove, move, refresh, trace, show, set, pause, resume, list, import, export.
void add_feed_verbs(CLI::App& root, std::optional<Verb>& chosen);

/// The verbs that answer and change nothing: parse, explain, check, discover, plan, doctor.
void add_question_verbs(CLI::App& root, std::optional<Verb>& chosen);

/// The verbs of stored posts: entries, entry, entry put, entry remove, expire.
void add_entry_verbs(CLI::App& root, std::optional<Verb>& chosen);

/// A verb with its flags, and the verbs below it, in their order.
CommandNode describe(const CLI::App& app);

/// The verbs of timelines and notices: channel …, notify …, notices, stats.
void add_delivery_verbs(CLI::App& root, std::optional<Verb>& chosen);

/// The verbs of the store itself: verify, store ….
void add_store_verbs(CLI::App& root, std::optional<Verb>& chosen);

/// The verbs that ask the worker which runs on this machine: health, top.
void add_watch_verbs(CLI::App& root, std::optional<Verb>& chosen);

}  // namespace feedmill
