#include "worker/command_line/operation_verb.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "worker/base/terminal.hpp"

namespace feedmill {
namespace {

using Kind = OperationField::Kind;

std::string called(const OperationField& field) {
  return std::string(field.flag.empty() ? field.unit : field.flag);
}

void put(OperationValues& given, const OperationField& field, const std::string& name, std::string_view text) {
  const std::string wrong = given.take_text(field, text);
  if (!wrong.empty()) refuse(name + ": " + visible(wrong));
}

void complete(const OperationField& field, Arguments& line) {
  line.among(field.choices);
  if (field.kind == Kind::channel) line.among_channels();
}

}  // namespace

OperationVerb::OperationVerb(const OperationFamily& its_family, const Operation& its_operation)
    : family(&its_family),
      operation(&its_operation),
      row{its_operation.verb, its_operation.about, its_operation.example, its_operation.exits} {}

void OperationVerb::take(Arguments& line) {
  for (const OperationField& field : operation->fields) {
    if (operation->assigns && !field.is_key) continue;
    field.flag.empty() ? take_argument(field, line) : take_flag(field, line);
  }
  if (operation->assigns) take_assignments(line);
  if (!operation->question.empty()) line.flag("--yes", yes, "Do not ask");
  line.check([this] {
    if (const auto wrong = objection_to(*operation, given, called); !wrong.text.empty()) refuse(wrong.text);
  });
}

void OperationVerb::take_argument(const OperationField& field, Arguments& line) {
  std::string& text = arguments_[field.name];
  const std::string unit(field.unit);
  if (field.required && !field.either)
    line.required(unit, text, field.about);
  else
    line.optional(unit, text, field.about);
  line.check([this, &field, &text] {
    if (!text.empty()) put(given, field, called(field), text);
  });
}

void OperationVerb::take_flag(const OperationField& field, Arguments& line) {
  const std::string flag(field.flag), unit(field.unit), about(field.about);
  if (field.kind == Kind::truth) {
    line.flag(
        flag, [this, &field] { given.take_text(field, "yes"); }, about);
    return;
  }
  const auto read = [this, &field](const std::string& text) {
    if (text.empty()) refuse(called(field) + " is empty");  // an unset variable of a shell must not mean "all"
    put(given, field, called(field), text);
  };
  if (field.repeats)
    line.values(flag, unit, read, about);
  else
    line.value(flag, unit, read, about);
  complete(field, line);
}

void OperationVerb::take_assignments(Arguments& line) {
  std::vector<std::string> keys;
  for (const OperationField& field : operation->fields) {
    if (!field.is_key) keys.push_back(field.key());
  }
  line.required("KEY=VALUE", assignments_, fmt::format("Keys: {}", fmt::join(keys, " ")), "no change is given");
  const std::vector<std::string_view> words(keys.begin(), keys.end());
  line.among(words, "=");
  line.check([this] {
    for (const std::string& assignment : assignments_) assign(assignment);
  });
}

void OperationVerb::assign(const std::string& assignment) {
  const std::size_t sign = assignment.find('=');
  const std::string key = assignment.substr(0, sign);
  const auto field = std::ranges::find_if(operation->fields,
                                          [&](const OperationField& one) { return !one.is_key && one.key() == key; });
  if (sign == std::string::npos || field == operation->fields.end())
    refuse(fmt::format("\"{}\" cannot be set: write key=value", visible(key.substr(0, 100))));
  put(given, *field, key, std::string_view(assignment).substr(sign + 1));
}

}  // namespace feedmill
