// How a verb stands in the tree of the command line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "worker/commands/cli.hpp"

namespace feedmill {

/// Adds a verb whose arguments live in a `Kind`; this becomes `chosen` when the verb was named and `check`, which
/// throws CLI::ValidationError, finds nothing wrong. `chosen` outlives the tree.
template <class Kind, class Check>
std::pair<CLI::App*, std::shared_ptr<Kind>> add_verb(CLI::App& parent, std::optional<Verb>& chosen, const char* name,
                                                     const char* about, const char* example, Check check) {
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
