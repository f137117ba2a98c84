#include "worker/operations/operation.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parsers/text/numbers.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/units.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/operations/families.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;
using Kind = OperationField::Kind;

constexpr std::size_t longest_shown = 200;  // bytes of a wrong value

std::string url_objection(const OperationField& field, std::string& text) {
  const auto canonical = canonical_feed_url(text);
  if (!canonical) {
    return fmt::format("\"{}\" is not a {} URL: {}", redact(text).substr(0, longest_shown),
                       field.kind == Kind::feed ? "feed" : "usable", canonical.error());
  }
  text = *canonical;
  return {};
}

/// The error in a text, "" = none; changes the text to its canonical spelling.
std::string text_objection(const OperationField& field, std::string& text) {
  switch (field.kind) {
    case Kind::url:
    case Kind::feed:
      return url_objection(field, text);
    case Kind::channel: {
      const std::string_view wrong = field.is_key ? unfit_name(text) : unfit_text_name(text);
      return wrong.empty() ? std::string()
                           : fmt::format("invalid channel name \"{}\": {}", text.substr(0, longest_shown), wrong);
    }
    case Kind::webhook:
      return is_webhook_id(text) ? "" : "expected a webhook id, as webhook list shows it";
    case Kind::choice:
      if (std::ranges::find(field.choices, text) != field.choices.end()) return {};
      return fmt::format("unknown {} \"{}\"; one of: {}", field.key(), text.substr(0, longest_shown),
                         fmt::join(field.choices, " "));
    case Kind::duration: {
      const auto span = read_duration(text);
      const std::chrono::milliseconds most(field.most);
      return span && *span <= most
                 ? std::string()
                 : fmt::format("expected a duration of at most {}, such as 24h", format_duration(most));
    }
    default:
      if (text.size() <= static_cast<std::size_t>(field.most) && is_clean_text(text)) return {};
      return fmt::format("expected at most {} bytes of valid UTF-8 without control characters", field.most);
  }
}

std::string number_objection(const OperationField& field, std::int64_t number) {
  if (number >= field.least && number <= field.most) return {};
  return fmt::format("expected a number from {} to {}", field.least, field.most);
}

constexpr std::array pages{
    OperationField{.name = "after", .about = "`next` of the previous page", .most = 1024},
    OperationField{.name = "limit", .kind = Kind::number, .about = "rows of a page", .least = 1, .most = most_page}};

}  // namespace

std::string OperationField::key() const {
  std::string key(flag.empty() ? name : flag.substr(2));
  std::ranges::replace(key, '-', '_');
  return key;
}

std::string OperationValues::text(std::string_view name) const {
  const json::value* const value = values_.if_contains(name);
  return value == nullptr ? std::string() : std::string(value->as_string());
}

std::vector<std::string> OperationValues::texts(std::string_view name) const {
  std::vector<std::string> all;
  if (const json::value* const value = values_.if_contains(name)) {
    for (const json::value& one : value->as_array()) all.emplace_back(one.as_string());
  }
  return all;
}

bool OperationValues::truth(std::string_view name) const {
  const json::value* const value = values_.if_contains(name);
  return value != nullptr && value->as_bool();
}

std::int64_t OperationValues::number(std::string_view name, std::int64_t otherwise) const {
  const json::value* const value = values_.if_contains(name);
  return value == nullptr ? otherwise : value->as_int64();
}

std::chrono::milliseconds OperationValues::duration(std::string_view name, std::chrono::milliseconds otherwise) const {
  const json::value* const value = values_.if_contains(name);
  return value == nullptr ? otherwise : *read_duration(value->as_string());
}

std::string OperationValues::take_text(const OperationField& field, std::string_view text) {
  if (field.kind == Kind::truth) {
    if (text != "yes" && text != "no") return "expected yes or no";
    values_[field.name] = text == "yes";
    return {};
  }
  if (field.kind == Kind::number) {
    std::int64_t number = field.least - 1;
    if (!read_number(text, number)) number = field.least - 1;
    values_[field.name] = number;
    return number_objection(field, number);
  }
  std::string kept(text);
  if (!field.repeats) {
    std::string wrong = text_objection(field, kept);
    values_[field.name] = kept;
    return wrong;
  }
  json::value& list = values_[field.name];
  if (list.is_null()) list.emplace_array();
  if (text.empty()) {
    list.get_array().clear();
    return {};
  }
  std::string wrong = text_objection(field, kept);
  if (!wrong.empty()) return wrong;
  json::array& all = list.get_array();
  if (std::ranges::find(all, json::value(kept)) != all.end()) return {};
  if (all.size() == static_cast<std::size_t>(field.most)) return fmt::format("expected at most {}", field.most);
  all.emplace_back(json::string(kept));
  return {};
}

std::string OperationValues::take_json(const OperationField& field, const json::value& value) {
  if (field.repeats) {
    if (!value.is_null() && !value.is_array()) return "expected a list of non-empty strings";
    std::string wrong = take_text(field, "");
    if (value.is_null()) return wrong;
    for (const json::value& one : value.get_array()) {
      if (!one.is_string() || one.get_string().empty()) return "expected a list of non-empty strings";
      if (wrong.empty()) wrong = take_text(field, one.get_string());
    }
    return wrong;
  }
  if (field.kind == Kind::truth) {
    if (!value.is_bool()) return "expected true or false";
    values_[field.name] = value;
    return {};
  }
  if (field.kind == Kind::number) {
    values_[field.name] = value;
    return number_objection(field, value.is_int64() ? value.get_int64() : field.least - 1);
  }
  if (!value.is_string()) return "expected a string";
  return take_text(field, value.get_string());
}

OperationObjection objection_to(const Operation& operation, const OperationValues& given,
                                const std::function<std::string(const OperationField&)>& called) {
  std::vector<std::string> choice;
  std::size_t chosen = 0;
  bool needs_one = false;
  for (const OperationField& field : operation.fields) {
    if (field.either) {
      choice.push_back(called(field));
      needs_one = needs_one || field.required;
      chosen += given.has(field.name) ? 1 : 0;
    } else if (field.required && !given.has(field.name)) {
      return {called(field) + " is missing", true};
    }
  }
  if (chosen > 1) return {fmt::format("{} exclude each other", fmt::join(choice, " and "))};
  if (chosen == 0 && needs_one) return {fmt::format("{} is missing (or {})", choice.front(), choice.back()), true};
  return {};
}

std::string feed_of(const Operation& operation, const OperationValues& given) {
  for (const OperationField& field : operation.fields) {
    if (field.kind == Kind::feed && !field.repeats && given.has(field.name)) return given.text(field.name);
  }
  return {};
}

std::span<const OperationField> page_fields() {
  return pages;
}

std::span<const OperationFamily> operation_families() {
  static const std::array families{webhook_family(), topic_family()};
  return families;
}

}  // namespace feedmill
