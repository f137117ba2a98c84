#include "worker/command_line/values.hpp"

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "parsers/text/numbers.hpp"
#include "storage/records/given_entry.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/config/config.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {
namespace {

constexpr std::array<std::string_view, 9> states = {"new",     "never_read", "healthy",     "degraded", "failing",
                                                    "blocked", "gone",       "quarantined", "paused"};
constexpr std::array<std::string_view, 19> types = {
    "feed_created", "feed_modified", "feed_mended",  "feed_moved",   "feed_removed",  "feed_failing",  "feed_recovered",
    "feed_gone",    "feed_rekeyed",  "feed_gap",     "feed_paused",  "post_created",  "post_modified", "post_mended",
    "post_deleted", "post_trimmed",  "post_same_as", "request_done", "request_failed"};

}  // namespace

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names) {
  const std::string_view nearest = nearest_name(name, names);
  return nearest.empty() ? std::string() : fmt::format(", did you mean {}?", nearest);
}

void refuse(std::string text) {
  throw CLI::ValidationError(std::move(text));
}

std::uint64_t number(std::string_view flag, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  if (!read_number(text, value) || value < least || value > most) {
    refuse(fmt::format("{}: \"{}\" is not a number from {} to {}", flag, visible(text), least, most));
  }
  return value;
}

void one_of(std::string_view flag, const std::string& text, std::span<const std::string_view> names) {
  if (std::find(names.begin(), names.end(), text) != names.end()) return;
  const std::string hint = did_you_mean(text, names);
  refuse(fmt::format("{}: \"{}\" is not one of {}{}", flag, visible(text), fmt::join(names, " "), hint));
}

EntryCursor cursor(const std::string& text) {
  EntryCursor before;
  const std::size_t colon = text.find(':');
  const bool has_score = read_number(std::string_view(text).substr(0, colon), before.score);
  if (colon == std::string::npos || !has_score || colon + 1 == text.size()) {
    refuse(fmt::format("--before: \"{}\" is not a SCORE:ID such as 1763689990:Entry:17", visible(text)));
  }
  before.id = text.substr(colon + 1);
  return before;
}

void check_stream_id(const std::string& text) {
  if (text == "$") return;
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.size() <= 19 && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::string_view view = text;
  const std::size_t dash = view.find('-');
  if (digits(view.substr(0, dash)) && (dash == std::string_view::npos || digits(view.substr(dash + 1)))) return;
  refuse(fmt::format("--from: \"{}\" is not a stream id such as 1763690000000-3, 0 or $", visible(text)));
}

std::chrono::milliseconds duration(std::string_view flag, const std::string& text, std::chrono::milliseconds least,
                                   std::chrono::milliseconds most, std::string_view such) {
  const auto span = read_duration(text);
  if (!span || *span < least || *span > most) {
    refuse(fmt::format("{}: expected a duration from {} to {}, such as {}", flag, format_duration(least),
                       format_duration(most), such));
  }
  return *span;
}

std::pair<std::string, std::string> header(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) {
    refuse(fmt::format("--header: \"{}\" is not a \"Name: value\"", visible(text)));
  }
  std::string value = text.substr(colon + 1);
  value.erase(0, value.find_first_not_of(" \t"));
  value.erase(value.find_last_not_of(" \t") + 1);
  return {text.substr(0, colon), value};
}

std::pair<std::string, std::string> assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse("write NAME=VALUE, or NAME= to remove a field");
  const std::string name = text.substr(0, equals);
  const auto known = given_fields();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    refuse(fmt::format("unknown field \"{}\"{}", visible(name), did_you_mean(name, known)));
  }
  return {name, text.substr(equals + 1)};
}

void check_name(std::string_view what, const std::string& name, std::string_view (*unfit)(std::string_view)) {
  if (const std::string_view wrong = unfit(name); !wrong.empty()) {
    refuse(fmt::format("invalid {} name \"{}\": {}", what, visible(name), wrong));
  }
}

void check_entries(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    if (!is_entry_id(id)) refuse(fmt::format("expected an entry id such as Entry:17 or 17, not \"{}\"", visible(id)));
  }
}

/// Values are not repeated: one may be a secret in the wrong place.
void check_changes(const std::vector<std::string>& changes) {
  FeedSettings scratch;
  for (const std::string& change : changes) {
    const std::string remedy = change_setting(scratch, change);
    if (remedy.empty()) continue;
    const std::string key = visible(change.substr(0, change.find('=')));
    // Quoted, so that what follows "header.Cookie" is not taken for the value of a cookie and hidden.
    const bool quoted = key.starts_with("header.") && key.find(':') == std::string::npos;
    refuse(fmt::format("{}{}{}: {}", quoted ? "\"" : "", key, quoted ? "\"" : "", remedy));
  }
  const std::string contradiction = check_settings(scratch);
  if (!contradiction.empty()) refuse(contradiction);
}

std::vector<std::string_view> feed_setting_keys() {
  std::vector<std::string_view> keys;
  for (const FeedSetting& setting : feed_setting_table()) keys.push_back(setting.key);
  return keys;
}

std::span<const std::string_view> feed_states() {
  return states;
}
std::span<const std::string_view> event_types() {
  return types;
}

}  // namespace feedmill
