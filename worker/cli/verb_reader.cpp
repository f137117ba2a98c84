#include "worker/cli/verb_reader.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "worker/base/terminal.hpp"

namespace feedmill {

void refuse(std::string text) {
  throw CLI::ValidationError(std::move(text));
}

namespace {

using Kind = OperationField::Kind;

std::string called(const OperationField& field) {
  return std::string(field.flag.empty() ? field.unit : field.flag);
}

void put(OperationValues& given, const OperationField& field, const std::string& name, std::string_view text) {
  // An unset variable of a shell must not mean "all".
  if (text.empty() && !field.clears && (field.repeats || !field.flag.empty())) refuse(name + " is empty");
  std::string value(text);
  if (field.kind == Kind::choice) std::ranges::replace(value, ' ', '_');  // as pages print them: "never read"
  const std::string wrong = given.take_text(field, value);
  if (!wrong.empty()) refuse(name + ": " + visible(wrong));
}

/// The text of a field's help, with the choices that it does not name.
std::string about_of(const OperationField& field) {
  const auto is_named = [&](std::string_view choice) { return field.about.find(choice) != std::string_view::npos; };
  if (field.kind != Kind::choice || std::ranges::all_of(field.choices, is_named)) return std::string(field.about);
  return fmt::format("{}: {}", field.about, fmt::join(field.choices, ", "));
}

void complete(const OperationField& field, Arguments& line) {
  line.among(field.choices, field.unit.ends_with("=VALUE") ? "=" : "");
  if (field.kind == Kind::channel || field.kind == Kind::new_channel) line.among_channels();
}

}  // namespace

const Operation* VerbRow::operation() const {
  const auto* const its = std::get_if<const Operation*>(&run);
  return its == nullptr ? nullptr : *its;
}

bool VerbRow::uses_only_stores() const {
  return !fetches && (operation() != nullptr || std::holds_alternative<RunInStore>(run) ||
                      std::holds_alternative<RunInStores>(run));
}

bool VerbRow::changes_something() const {
  if (const Operation* const its = operation()) return its->access == Operation::Access::change;
  const bool in_store = std::holds_alternative<RunInStore>(run) || std::holds_alternative<RunInStores>(run);
  return std::holds_alternative<RunWorker>(run) ||
         std::ranges::find(fields, "yes", &OperationField::name) != fields.end() ||
         (in_store && use({}) == StoreUse::change);
}

Columns::Choice chosen_columns(const OperationValues& given) {
  return {given.texts("columns"), given.truth("header")};
}

void VerbReader::take(Arguments& line) {
  const Operation* const operation = verb.operation();
  const bool assigns = operation != nullptr && operation->assigns;
  for (const OperationField& field : verb.fields) {
    if (assigns && !field.is_key) continue;
    field.flag.empty() ? take_argument(field, line) : take_flag(field, line);
  }
  if (assigns) take_assignments(*operation, line);
  if (operation != nullptr && !operation->question.empty()) take_flag(fields::yes, line);
  take_columns(line);
  line.check([this] {
    if (const auto wrong = objection_to(verb.fields, given, called); !wrong.text.empty()) refuse(wrong.text);
    if (verb.check != nullptr) verb.check(given);
  });
  if (assigns) {
    line.check([this] {
      if (assignments_.empty()) refuse("no change is given");
    });
  }
  if (verb.notes != nullptr) line.notes(verb.notes());
}

void VerbReader::take_argument(const OperationField& field, Arguments& line) {
  std::vector<std::string>& texts = arguments_[field.name];
  line.argument(field, texts);
  complete(field, line);
  line.check([this, &field, &texts] {
    for (const std::string& text : texts) {
      if (!text.empty() || field.repeats) put(given, field, called(field), text);
    }
  });
}

void VerbReader::take_flag(const OperationField& field, Arguments& line) {
  const std::string flag(field.flag), unit(field.unit), about = about_of(field);
  if (field.kind == Kind::truth) {
    line.flag(
        flag, [this, &field] { given.take_text(field, "yes"); }, about);
    return;
  }
  const auto read = [this, &field](const std::string& text) { put(given, field, called(field), text); };
  if (field.repeats)
    line.values(flag, unit, read, about);
  else
    line.value(flag, unit, read, about);
  complete(field, line);
}

void VerbReader::take_columns(Arguments& line) {
  for (const Columns::Column& column : verb.columns) column_names_.push_back(column.name);
  if (const Operation* const its = verb.operation()) {
    for (const OperationColumn& column : its->columns) column_names_.push_back(column.member);
  }
  if (column_names_.empty()) return;
  const bool has_limit = std::ranges::find(verb.fields, "limit", &OperationField::name) != verb.fields.end();
  if (!has_limit) take_flag(fields::rows, line);
  columns_field_ = fields::many(
      fields::one_of(fields::option("--columns", "NAME,...", "Columns to print, in the given order"), column_names_));
  const auto read = [this](const std::string& text) {
    std::string_view rest = text;
    do {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      put(given, columns_field_, called(columns_field_), rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    } while (!rest.empty());
  };
  line.value("--columns", "NAME,...", read, about_of(columns_field_));
  complete(columns_field_, line);
  take_flag(fields::header, line);
}

void VerbReader::take_assignments(const Operation& operation, Arguments& line) {
  std::vector<std::string> keys;
  for (const OperationField& field : operation.fields) {
    if (!field.is_key) keys.push_back(field.key());
  }
  const std::string about = fmt::format("Keys: {}", fmt::join(keys, " "));
  line.argument(fields::many(fields::argument("KEY=VALUE", about)), assignments_);
  const std::vector<std::string_view> words(keys.begin(), keys.end());
  line.among(words, "=");
  line.check([this, &operation] {
    for (const std::string& assignment : assignments_) assign(operation, assignment);
  });
}

void VerbReader::assign(const Operation& operation, const std::string& assignment) {
  const std::size_t sign = assignment.find('=');
  const std::string key = assignment.substr(0, sign);
  const auto field = std::ranges::find_if(operation.fields,
                                          [&](const OperationField& one) { return !one.is_key && one.key() == key; });
  if (sign == std::string::npos || field == operation.fields.end())
    refuse(fmt::format("\"{}\" cannot be set: write key=value", visible(key.substr(0, 100))));
  const std::string wrong = given.take_text(*field, std::string_view(assignment).substr(sign + 1));
  if (!wrong.empty()) refuse(called(*field) + ": " + visible(wrong));
}

}  // namespace feedmill
