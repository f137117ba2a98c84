#include "worker/operations/operation.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parsers/text/strings.hpp"
#include "storage/records/notice.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/json_text.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/config/config.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/operations/families.hpp"
#include "worker/words/record_text.hpp"

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

std::string name_objection(const OperationField& field, const std::string& name) {
  const bool is_user = field.kind == Kind::user || field.kind == Kind::new_user;
  std::string_view wrong = field.kind == Kind::new_channel ? unfit_new_channel(name)
                           : field.is_key                  ? unfit_name(name)
                                                           : unfit_text_name(name);
  if (wrong.empty() && field.kind == Kind::new_user) wrong = objection_to_user(name);
  if (wrong.empty()) return {};
  return fmt::format("invalid {} name \"{}\": {}", is_user ? "user" : "channel", name.substr(0, longest_shown), wrong);
}

bool is_notice_id(std::string_view id) {
  return id.size() <= 64 && std::ranges::all_of(id, [](char c) { return is_alnum(c) || c == '-'; });
}

/// The error in one id of a list; "" if it is valid.
std::string id_objection(const OperationField& field, std::string_view id) {
  if (field.kind == Kind::notices)
    return is_notice_id(id) ? std::string() : "expected a notice id such as 1795398540945-1";
  if (is_entry_id(id)) return {};
  return fmt::format("expected an entry id such as Entry:17 or 17, not {}", id.substr(0, longest_shown));
}

/// The error in a text; "" if it is valid. Changes the text to its canonical form.
std::string text_objection(const OperationField& field, std::string& text) {
  switch (field.kind) {
    case Kind::url:
    case Kind::feed:
      return url_objection(field, text);
    case Kind::channel:
    case Kind::new_channel:
    case Kind::user:
    case Kind::new_user:
      return name_objection(field, text);
    case Kind::entry:
      return id_objection(field, text);
    case Kind::webhook:
      return is_webhook_id(text) ? "" : "expected a webhook id, as webhook list shows it";
    case Kind::choice:
      if (std::ranges::find(field.choices, text) != field.choices.end()) return {};
      return fmt::format("\"{}\" is not one of {}{}", text.substr(0, longest_shown), fmt::join(field.choices, " "),
                         did_you_mean(text, field.choices));
    case Kind::duration: {
      const auto span = read_duration(text);
      const std::chrono::milliseconds least(field.least), most(field.most);
      if (span && *span >= least && *span <= most) return {};
      return field.least == 0
                 ? fmt::format("expected a duration of at most {}, such as 24h", format_duration(most))
                 : fmt::format("expected a duration from {} to {}", format_duration(least), format_duration(most));
    }
    case Kind::size:
      return read_size(text) ? "" : "expected a size with its unit, such as 512KiB";
    case Kind::place:
      if (read_cursor(text)) return {};
      return fmt::format("\"{}\" is not a SCORE:ID such as 1763689990:Entry:17", text.substr(0, longest_shown));
    case Kind::address:
      return {};
    case Kind::opaque:
      if (field.repeats || text.size() <= static_cast<std::size_t>(field.most)) return {};
      return fmt::format("expected at most {} bytes", field.most);
    default:
      if (text.size() <= static_cast<std::size_t>(field.most) && is_clean_text(text)) return {};
      return fmt::format("expected at most {} bytes of valid UTF-8 without control characters", field.most);
  }
}

/// The ids in a text, separated by spaces.
json::array ids_in(std::string_view text) {
  json::array ids;
  while (!text.empty()) {
    const std::string_view id = take_until(text, ' ');
    if (!id.empty()) ids.emplace_back(json::string(id));
  }
  return ids;
}

/// OperationValues::take_json() for ids.
std::string take_ids(const OperationField& field, const json::value& value, json::object& values) {
  json::array ids;
  const bool all = value.is_string() && value.get_string() == "all";
  if (value.is_array()) {
    for (const json::value& one : value.get_array()) {
      if (!one.is_string() && !one.is_int64()) return "expected ids, or all";
      ids.emplace_back(json::string(one.is_string() ? std::string(one.get_string()) : json_text(one)));
    }
  }
  if (!all && (ids.empty() || ids.size() > static_cast<std::size_t>(field.most)))
    return fmt::format("expected 1 to {} ids, or all", field.most);
  for (const json::value& id : ids) {
    if (std::string wrong = id_objection(field, id.get_string()); !wrong.empty()) return wrong;
  }
  values[field.name] = std::move(ids);
  return {};
}

std::string take_channels(const OperationField& field, const json::value& value, json::object& values) {
  std::vector<std::string> names;
  for (const json::value& one : value.is_array() ? value.get_array() : json::array()) {
    names.emplace_back(one.is_string() ? one.get_string() : json::string());
  }
  const bool are_names = std::ranges::all_of(names, [](const auto& name) { return unfit_text_name(name).empty(); });
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (!names.empty() && names.size() <= static_cast<std::size_t>(field.most) && are_names &&
      std::ranges::adjacent_find(sorted) == sorted.end()) {
    values[field.name] = json::array(names.begin(), names.end());
    return {};
  }
  return fmt::format("expected a JSON array of 1 to {} channels, each once", field.most);
}

std::string take_settings(const OperationField& field, const json::value& value, json::object& values) {
  if (!value.is_object()) return "expected an object";
  json::object settings;
  for (const auto& [name, wanted] : value.get_object()) {
    if (wanted.is_structured()) return "expected strings, numbers, true, false or null";
    settings[name] = wanted.is_string() ? wanted : wanted.is_null() ? json::value("") : json::value(json_text(wanted));
  }
  if (!settings.empty()) values[field.name] = std::move(settings);
  return {};
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

std::optional<std::uint64_t> OperationValues::bytes(std::string_view name) const {
  return has(name) ? read_size(text(name)) : std::nullopt;
}

std::optional<EntryCursor> OperationValues::place(std::string_view name) const {
  return has(name) ? read_cursor(text(name)) : std::nullopt;
}

json::object OperationValues::object(std::string_view name) const {
  const json::value* const value = values_.if_contains(name);
  return value == nullptr ? json::object() : value->as_object();
}

std::string OperationValues::take_text(const OperationField& field, std::string_view text) {
  if (field.kind == Kind::entries || field.kind == Kind::notices) {
    return take_json(field, text == "all" ? json::value("all") : json::value(ids_in(text)));
  }
  if (field.kind == Kind::channels || field.kind == Kind::object) {
    boost::system::error_code error;
    const json::value value = json::parse(text, error);
    return error ? "not valid JSON: " + error.message() : take_json(field, value);
  }
  if (field.kind == Kind::truth) {
    if (text != "yes" && text != "no") return "expected yes or no";
    values_[field.name] = text == "yes";
    return {};
  }
  if (field.kind == Kind::number) {
    std::int64_t number = 0;
    if (read_number(text, number) && take_number(field, number).empty()) return {};
    return fmt::format("\"{}\" is not a number from {} to {}", text.substr(0, longest_shown), field.least, field.most);
  }
  std::string kept(text);
  if (!field.repeats) {
    std::string wrong = text_objection(field, kept);
    if (wrong.empty()) values_[field.name] = kept;
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
  if (!field.is_key && std::ranges::find(all, json::value(kept)) != all.end()) return {};
  if (all.size() == static_cast<std::size_t>(field.most)) return fmt::format("expected at most {}", field.most);
  all.emplace_back(json::string(kept));
  return {};
}

std::string OperationValues::take_number(const OperationField& field, std::int64_t number) {
  if (number < field.least || number > field.most)
    return fmt::format("expected a number from {} to {}", field.least, field.most);
  values_[field.name] = number;
  return {};
}

std::string OperationValues::take_json(const OperationField& field, const json::value& value) {
  if (field.kind == Kind::entries || field.kind == Kind::notices) return take_ids(field, value, values_);
  if (field.kind == Kind::channels) return take_channels(field, value, values_);
  if (field.kind == Kind::settings) return take_settings(field, value, values_);
  if (field.kind == Kind::object) {
    if (!value.is_object()) return "expected an object";
    values_[field.name] = value;
    return {};
  }
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
  if (field.kind == Kind::choice && value.is_bool()) return take_text(field, value.get_bool() ? "yes" : "no");
  if (field.kind == Kind::truth) {
    if (!value.is_bool()) return "expected true or false";
    values_[field.name] = value;
    return {};
  }
  if (field.kind == Kind::number) return take_number(field, value.is_int64() ? value.get_int64() : field.least - 1);
  if (!value.is_string()) return "expected a string";
  return take_text(field, value.get_string());
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names) {
  const std::string_view nearest = nearest_name(name, names);
  return nearest.empty() ? std::string() : fmt::format(", did you mean {}?", nearest);
}

OperationObjection objection_to(std::span<const OperationField> fields, const OperationValues& given,
                                const std::function<std::string(const OperationField&)>& called) {
  std::vector<std::string> choice;
  std::size_t chosen = 0;
  bool needs_one = false;
  for (const OperationField& field : fields) {
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

Fields request_fields(const Operation& operation, const OperationValues& given) {
  Fields fields;
  for (const OperationField& field : operation.fields) {
    if (!given.has(field.name)) continue;
    const std::string name(field.name);
    if (field.kind == Kind::settings) {
      for (const auto& [setting, value] : given.object(name)) {
        fields.emplace_back("set." + std::string(setting), value.as_string());
      }
    } else if (field.kind == Kind::entries || field.kind == Kind::notices) {
      const std::vector<std::string> ids = given.texts(name);
      fields.emplace_back(name, ids.empty() ? "all" : fmt::format("{}", fmt::join(ids, " ")));
    } else if (field.kind == Kind::channels) {
      const std::vector<std::string> names = given.texts(name);
      fields.emplace_back(name, json::serialize(json::array(names.begin(), names.end())));
    } else if (field.kind == Kind::object) {
      fields.emplace_back(name, json::serialize(given.object(name)));
    } else if (field.kind == Kind::truth) {
      fields.emplace_back(name, given.truth(name) ? "yes" : "no");
    } else if (field.kind == Kind::number) {
      fields.emplace_back(name, std::to_string(given.number(name, 0)));
    } else {
      fields.emplace_back(name, given.text(name));
    }
  }
  return fields;
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
  static const std::array families{feed_family(),  entry_family(),   channel_family(), user_family(),
                                   login_family(), webhook_family(), topic_family()};
  return families;
}

namespace {

struct ReasonStatus {
  std::string_view reason;
  unsigned status;
  std::string_view text{};  ///< sentence for refusals without a detail
};

constexpr std::array reason_statuses{
    ReasonStatus{"bad_parameter", 400},
    ReasonStatus{"missing_parameter", 400},
    ReasonStatus{"unknown_parameter", 400},
    ReasonStatus{"bad_json", 400},
    ReasonStatus{"bad_key", 400},
    ReasonStatus{"unauthorized", 401},
    ReasonStatus{"read_only", 403},
    ReasonStatus{"no_such_resource", 404},
    ReasonStatus{"no_such_feed", 404, "no feed has this URL; add it first"},
    ReasonStatus{"no_such_channel", 404, "no such channel; create it first, or name it when you add a feed"},
    ReasonStatus{"no_such_entry", 404, "no such entry; it may have been removed"},
    ReasonStatus{"no_such_request", 404},
    ReasonStatus{"no_such_rule", 404, "this user has no rule with this id"},
    ReasonStatus{"no_such_webhook", 404},
    ReasonStatus{"no_such_topic", 404},
    ReasonStatus{"no_such_login", 404},
    ReasonStatus{"method_not_allowed", 405},
    ReasonStatus{"paused", 409, "the feed is paused; resume it first"},
    ReasonStatus{"taken", 409, "the new URL is a feed of its own; remove one of the two"},
    ReasonStatus{"too_many", 409, "the user has as many rules as allowed; remove one first"},
    ReasonStatus{"not_moved", 409, "the feed has no earlier URL to return to"},
    ReasonStatus{"not_republished", 409},
    ReasonStatus{"too_old", 410},
    ReasonStatus{"too_long", 413},
    ReasonStatus{"unsupported_media_type", 415},
    ReasonStatus{"unknown_op", 422},
    ReasonStatus{"unknown_field", 422},
    ReasonStatus{"missing_field", 422},
    ReasonStatus{"bad_value", 422},
    ReasonStatus{"refused_address", 422},
    ReasonStatus{"no_feed", 422},
    ReasonStatus{"many_feeds", 422},
    ReasonStatus{"unreachable", 422},
    ReasonStatus{"ref_reused", 422},
    ReasonStatus{"too_early", 429},
    ReasonStatus{"too_fast", 429},
    ReasonStatus{"busy", 429},
    ReasonStatus{"queue_full", 429},
    ReasonStatus{"poison", 500, "three workers crashed while they executed it; report it, do not repeat it"},
    ReasonStatus{"store_away", 503},
    ReasonStatus{"not_ready", 503},
};

}  // namespace

unsigned status_of(std::string_view reason) {
  const auto row = std::ranges::find(reason_statuses, reason, &ReasonStatus::reason);
  return row == reason_statuses.end() ? 500 : row->status;
}

std::string_view text_of(std::string_view reason) {
  const auto row = std::ranges::find(reason_statuses, reason, &ReasonStatus::reason);
  return row == reason_statuses.end() ? std::string_view() : row->text;
}

int exit_of(std::string_view reason) {
  switch (status_of(reason)) {
    case 404:
    case 409:
    case 410:
      return exits::no;
    case 429:
      return exits::unfinished;
    case 500:
      return exits::bug;
    case 503:
      return exits::unavailable;
    default:
      return exits::bad_input;
  }
}

}  // namespace feedmill
