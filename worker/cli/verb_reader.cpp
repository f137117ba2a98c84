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

/// The name without "=VALUE", because CLI11 accepts only letters.
std::string plain(const std::string& name) {
  return name.substr(0, name.find('='));
}

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

Arguments::Arguments(CLI::App& app, CommandNode& node) : app_(app), node_(node) {
  add_flag("-h,--help", "", "Show help; after a verb, help for that verb");  // for the texts; CLI11 parses it
}

void Arguments::argument(const OperationField& field, std::vector<std::string>& to) {
  const std::string name(field.unit);
  CLI::Option* const option = app_.add_option(plain(name), to);
  if (!field.repeats) option->expected(1)->allow_extra_args(false);
  const bool required = field.required && !field.either;
  last_ = &node_.arguments.emplace_back(CommandArgument{name, std::string(field.about), required, field.repeats, {}})
               .values;
}

void Arguments::flag(const std::string& names, bool& to, const std::string& about) {
  app_.add_flag(names, to);
  add_flag(names, "", about);
}

void Arguments::flag(const std::string& names, std::function<void()> given, const std::string& about) {
  app_.add_flag_callback(names, std::move(given));
  add_flag(names, "", about);
}

void Arguments::value(const std::string& name, const std::string& unit, const Read& read, const std::string& about) {
  app_.add_option_function<std::string>(name, read)->type_name(unit);
  add_flag(name, unit, about);
}

void Arguments::values(const std::string& name, const std::string& unit, Read each, const std::string& about) {
  const auto all = [each = std::move(each)](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) each(text);
  };
  app_.add_option_function<std::vector<std::string>>(name, all)->allow_extra_args(false)->type_name(unit);
  add_flag(name, unit, about);
}

void Arguments::among(std::span<const std::string_view> words, std::string_view suffix) {
  for (const std::string_view word : words) last_->words.push_back(std::string(word).append(suffix));
}

void Arguments::among_channels() {
  last_->channels = true;
}

void Arguments::add_flag(const std::string& names, const std::string& unit, const std::string& about) {
  CommandFlag& flag = node_.flags.emplace_back();
  flag.names = CLI::detail::split(names, ',');
  flag.value = unit;
  flag.about = about;
  flag.group = group_;
  last_ = &flag.values;
}

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
    if (!field.flag.empty()) {
      take_flag(field, line);
    } else {
      line.argument(field, arguments_[field.name]);
      complete(field, line);
    }
  }
  if (assigns) take_assignments(*operation, line);
  if (operation != nullptr && !operation->question.empty()) take_flag(fields::yes, line);
  take_columns(line);
  if (verb.notes != nullptr) line.notes(verb.notes());
}

void VerbReader::finish() {
  for (const OperationField& field : verb.fields) {
    const auto texts = arguments_.find(field.name);
    if (texts == arguments_.end()) continue;
    for (const std::string& text : texts->second) {
      if (!text.empty() || field.repeats) put(given, field, called(field), text);
    }
  }
  const Operation* const operation = verb.operation();
  for (const std::string& assignment : assignments_) assign(*operation, assignment);
  if (const auto wrong = objection_to(verb.fields, given, called); !wrong.text.empty()) refuse(wrong.text);
  if (verb.check != nullptr) verb.check(given);
  if (operation != nullptr && operation->assigns && assignments_.empty()) refuse("no change is given");
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
