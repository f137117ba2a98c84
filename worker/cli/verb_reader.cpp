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
  if (text.empty() && (field.repeats || !field.flag.empty())) refuse(name + " is empty");
  const std::string wrong = given.take_text(field, text);
  if (!wrong.empty()) refuse(name + ": " + visible(wrong));
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

void VerbReader::take(Arguments& line) {
  const Operation* const operation = verb.operation();
  const bool assigns = operation != nullptr && operation->assigns;
  for (const OperationField& field : verb.fields) {
    if (assigns && !field.is_key) continue;
    field.flag.empty() ? take_argument(field, line) : take_flag(field, line);
  }
  if (assigns) take_assignments(*operation, line);
  if (operation != nullptr && !operation->question.empty()) take_flag(fields::yes, line);
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
  const std::string flag(field.flag), unit(field.unit), about(field.about);
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
