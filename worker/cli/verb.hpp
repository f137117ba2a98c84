// Verbs of the command line as rows: parser, help, manual, completions and reference page loop over them (OPERATIONS
// §1).
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "worker/base/terminal.hpp"
#include "worker/cli/command_tree.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill {

struct Config;
struct ConfigSources;
class Terminal;
struct VerbContext;

/// How a verb uses the store.
enum class StoreUse {
  change,   ///< writes; an empty store becomes one of ours: a key is written
  inspect,  ///< runs scripts, but leaves an empty store empty
  read      ///< reads plain keys; needs no other permission (SECURITY §10)
};
inline StoreUse changes(const OperationValues&) {
  return StoreUse::change;
}
inline StoreUse inspects(const OperationValues&) {
  return StoreUse::inspect;
}
inline StoreUse reads(const OperationValues&) {
  return StoreUse::read;
}

/// Functions of verbs, by their requirements. They return the exit code and throw VerbFailure.
using RunAlone = int (*)(const OperationValues& given, Terminal& terminal);
using RunUnconfigured = int (*)(const OperationValues& given, const ConfigSources& sources, Terminal& terminal);
using RunConfigured = int (*)(const OperationValues& given, const Config& config, Terminal& terminal);
using RunWorker = int (*)(const OperationValues& given, const Config& config, const ConfigSources& sources);
/// Uses one store; with several partitions, the one that has the feeds or entries named on the command line.
using RunInStore = int (*)(const OperationValues& given, const VerbContext& context);
/// Uses the stores of all partitions, in order, or the only store.
using RunInStores = int (*)(const OperationValues& given, std::span<const VerbContext> stores);

/// A verb: its texts, fields and function.
struct VerbRow {
  std::string_view name;   ///< "entry put"
  std::string_view about;  ///< one line without a full stop
  std::string_view example{};
  std::string_view exits{};     ///< exit codes with a special meaning: "1 when a fetch failed"
  std::string_view fails_as{};  ///< name in errors; "" = `name`
  std::span<const OperationField> fields{};
  /// Checks the values together; may refuse() them. Null: no check.
  void (*check)(const OperationValues& given) = nullptr;
  /// Extra lines of help; null: none.
  CommandNotes (*notes)() = nullptr;
  /// Of a list: all its columns; it also takes --limit, --columns and --header.
  std::span<const Columns::Column> columns{};
  StoreUse (*use)(const OperationValues& given) = changes;
  bool wants_known_feeds = false;  ///< changes nothing if one of its feeds is unknown, in any partition
  bool is_of_all = false;          ///< without a selected partition, uses the merged stream of all (RELIABILITY L28)
  bool is_of_deployment = false;   ///< any partition can answer
  /// Whether to run it in each partition if it names no feed and no entry; null: never.
  bool (*is_of_each)(const OperationValues& given) = nullptr;
  bool fetches = false;  ///< may fetch in this process, with the options of a worker
  /// A null operation: the row is only a heading.
  std::variant<const Operation*, RunAlone, RunUnconfigured, RunConfigured, RunWorker, RunInStore, RunInStores> run{};

  /// The operation it runs; null for a function or a heading.
  const Operation* operation() const;
  /// Whether it only groups other verbs.
  bool is_heading() const { return std::holds_alternative<const Operation*>(run) && operation() == nullptr; }
  /// Whether it only uses a store, so that options of the worker have no effect.
  bool uses_only_stores() const;
  /// Whether it changes or removes stored data without further flags, or after asking.
  bool changes_something() const;
};

/// Verbs under one heading of the help, in the order of the help.
struct VerbGroup {
  std::string_view name;
  std::vector<VerbRow> verbs;
};

/// The columns of a list that the command line asks for.
Columns::Choice chosen_columns(const OperationValues& given);

/// Throws CLI::ValidationError with `text` as the error message.
[[noreturn]] void refuse(std::string text);

/// Fields of verbs. An argument is named by its unit, an option by its flag: "URL", "dry-run".
namespace fields {

/// Limit of a text's bytes and a list's elements: about the system's limit of a command line.
inline constexpr std::int64_t most = std::int64_t{2} << 20U;

constexpr OperationField flag(std::string_view name, std::string_view about) {
  return {.name = name.substr(2), .kind = OperationField::Kind::truth, .flag = name, .about = about};
}
constexpr OperationField option(std::string_view name, std::string_view unit, std::string_view about,
                                OperationField::Kind kind = OperationField::Kind::opaque) {
  return {
      .name = name.substr(2), .kind = kind, .flag = name, .unit = unit, .about = about, .is_key = true, .most = most};
}
constexpr OperationField argument(std::string_view unit, std::string_view about,
                                  OperationField::Kind kind = OperationField::Kind::opaque) {
  return {.name = unit, .kind = kind, .unit = unit, .about = about, .required = true, .is_key = true, .most = most};
}
constexpr OperationField number(std::string_view name, std::string_view unit, std::string_view about,
                                std::int64_t least, std::int64_t greatest) {
  OperationField field = option(name, unit, about, OperationField::Kind::number);
  field.least = least;
  field.most = greatest;
  return field;
}
constexpr OperationField duration(std::string_view name, std::string_view about, std::chrono::milliseconds least,
                                  std::chrono::milliseconds longest) {
  OperationField field = option(name, "DURATION", about, OperationField::Kind::duration);
  field.least = least.count();
  field.most = longest.count();
  return field;
}
/// Restricts the value to `choices`.
constexpr OperationField one_of(OperationField field, std::span<const std::string_view> choices) {
  field.kind = OperationField::Kind::choice;
  field.choices = choices;
  return field;
}
/// Offers `words` as completions; other values are allowed.
constexpr OperationField completed(OperationField field, std::span<const std::string_view> words) {
  field.choices = words;
  return field;
}
constexpr OperationField many(OperationField field) {
  field.repeats = true;
  return field;
}
constexpr OperationField optional(OperationField field) {
  field.required = false;
  return field;
}
/// Exactly one of the fields marked with this is required.
constexpr OperationField either(OperationField field) {
  field.required = field.either = true;
  return field;
}

inline constexpr OperationField url = argument("URL", "Address of a feed", OperationField::Kind::address);
inline constexpr OperationField urls = many(argument("URL", "Addresses of feeds", OperationField::Kind::address));
inline constexpr OperationField only_feeds =
    many(option("--feed", "URL", "Only this feed; may be repeated", OperationField::Kind::address));
inline constexpr OperationField yes = flag("--yes", "Do not ask");
inline constexpr OperationField header = flag("--header", "Print the column names also in a pipe");
inline constexpr OperationField rows = number("--limit", "N", "At most N", 1, 1'000'000'000);

}  // namespace fields

}  // namespace feedmill
