#include "worker/words/record_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/numbers.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/words/due_text.hpp"
#include "worker/words/moments.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// Fields of an entry that hold JSON text (DESIGN §3.1).
constexpr std::array<std::string_view, 5> json_fields = {"authors", "categories", "enclosures", "extensions", "media"};

/// What it was before is remembered by the store; since when it is paused is not.
bool is_paused(const FeedState& state) {
  return state.state == "paused";
}

json::value field_json(std::string_view name, const std::string& value) {
  if (std::find(json_fields.begin(), json_fields.end(), name) != json_fields.end()) return embedded_json(value);
  std::int64_t number = 0;
  if (!read_number(value, number)) return json::value(value);
  if (name == "timestamp" || name == "rev" || name == "san_ver" || name == "bytes") return number;
  if (name == "first_seen" || name == "last_changed" || name == "saved") return time_json(Milliseconds(number * 1000));
  return json::value(value);
}

}  // namespace

json::value text_or_null(std::string_view text) {
  return text.empty() ? json::value() : json::value(text);
}

json::value time_json(Milliseconds time) {
  return time.count() == 0 ? json::value() : json::value(rfc3339(time));
}

json::value embedded_json(std::string_view text) {
  if (text.empty()) return {};
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value(text) : value;
}

std::string_view field_of(const Fields& fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == name; });
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

json::object list_json(const FeedRecord& record) {
  json::object row = json_row();
  row["url"] = record.feed_url;
  row["title"] = text_or_null(field_of(record.feed, "title"));
  row["state"] = record.state.state;
  row["entries"] = record.entries;
  row["bytes"] = record.bytes;
  row["due"] = record.due ? time_json(*record.due) : json::value();
  row["claimed"] = !record.claim.empty();
  row["last_at"] = time_json(record.state.last_at);
  row["last_outcome"] = text_or_null(record.state.last_outcome);
  row["last_status"] = record.state.last_status == 0 ? json::value() : json::value(record.state.last_status);
  row["last_error"] = text_or_null(record.state.last_error);
  row["failures"] = record.state.failures;
  return row;
}

json::object show_json(const FeedRecord& record) {
  const FeedState& state = record.state;
  json::object row = list_json(record);
  json::object& feed = row["feed"].emplace_object();
  for (const auto& [name, value] : record.feed) feed[name] = value;
  row["claim"] = text_or_null(record.claim);
  row["state_since"] = is_paused(state) ? json::value() : time_json(state.state_since);
  row["fetch_url"] = text_or_null(state.fetch_url);
  row["moving_to"] = text_or_null(state.moving.to);
  row["moving_sightings"] = state.moving.sightings;
  row["moving_since"] = time_json(state.moving.since);
  row["no_move_to"] = text_or_null(state.no_move_to);
  json::array& moves = row["moves"].emplace_array();
  for (const Move& move : state.moves) {
    moves.push_back(json::object{{"at", time_json(move.at)}, {"from", move.from}, {"to", move.to}});
  }
  row["identified_by"] = to_string(state.identified_by);
  row["identified_since"] = time_json(state.identified_since);
  row["etag"] = text_or_null(state.etag);
  row["last_modified"] = text_or_null(state.last_modified);
  row["validators_url"] = text_or_null(state.validators_url);
  row["wire_hash"] = text_or_null(state.wire_hash);
  row["body_hash"] = text_or_null(state.body_hash);
  row["wire_bytes"] = state.wire_bytes;
  row["body_bytes"] = state.body_bytes;
  row["last_detail"] = text_or_null(state.last_detail);
  row["last_success"] = time_json(state.last_success);
  row["failure_group"] = text_or_null(state.failure_group);
  row["failing_since"] = time_json(state.failing_since);
  row["new_per_week"] = state.new_per_week;
  row["last_new"] = time_json(state.last_new);
  row["imported"] = time_json(state.imported);
  row["strikes"] = state.strikes;
  row["quarantines"] = state.quarantines;
  row["validators_broken"] = state.validators_broken;
  row["polls"] = state.polls;
  row["polls_not_modified"] = state.polls_not_modified;
  row["polls_same_body"] = state.polls_same_body;
  row["polls_unconditional"] = state.polls_unconditional;
  json::object& unconditional = row["unconditional"].emplace_object();
  unconditional["first"] = state.unconditional_first;
  unconditional["no_validators"] = state.unconditional_none;
  unconditional["target_changed"] = state.unconditional_target;
  unconditional["probe"] = state.unconditional_probe;
  row["early_polls"] = state.early_polls;
  row["polls_failed"] = state.polls_failed;
  row["polls_with_new"] = state.polls_with_new;
  row["total_wire_bytes"] = state.total_wire_bytes;
  row["total_body_bytes"] = state.total_body_bytes;
  row["total_new"] = state.total_new;
  row["won"] = text_or_null(state.due_reason);
  row["why"] = due_inputs_json(state.why);
  row["not_before"] = time_json(state.not_before);
  row["hints"] = embedded_json(state.hints);
  row["settings"] = embedded_json(state.settings);
  return row;
}

std::vector<std::pair<std::string, std::string>> show_lines(const FeedRecord& record, Milliseconds now) {
  const FeedState& state = record.state;
  std::vector<std::pair<std::string, std::string>> lines;
  const auto add = [&](const char* name, std::string_view value) {
    if (!value.empty()) lines.emplace_back(name, value);
  };
  const auto add_time = [&](const char* name, Milliseconds time) {
    if (time.count() != 0) add(name, fmt::format("{} ({})", rfc3339(time), from_now(time, now)));
  };
  add("url", record.feed_url);
  for (const auto& [name, value] : record.feed) add(name.c_str(), value);
  add("entries", fmt::format("{}, {} bytes", record.entries, record.bytes));
  const bool dated = state.state_since.count() != 0 && !is_paused(state);
  add("state", dated ? fmt::format("{} since {}", state.state, rfc3339(state.state_since)) : state.state);
  add_time("due", record.due.value_or(Milliseconds(0)));
  if (!state.due_reason.empty() && record.due) add("due because of", state.due_reason);
  add("being fetched by", record.claim);
  add("fetched from", state.fetch_url);
  if (!state.moving.to.empty()) {
    add("may be moving to", fmt::format("{}, seen {} times since {}", state.moving.to, state.moving.sightings,
                                        rfc3339(state.moving.since)));
  }
  if (state.identified_by != IdentifiedBy::guid) {
    add("posts told apart by",
        fmt::format("{} since {}", to_string(state.identified_by), rfc3339(state.identified_since)));
  }
  add_time("last refresh", state.last_at);
  if (!state.last_outcome.empty()) {
    add("outcome", fmt::format("{}{}{}", state.last_outcome, state.last_status == 0 ? "" : ", status ",
                               state.last_status == 0 ? "" : std::to_string(state.last_status)));
  }
  add("reason", state.last_error);
  add("detail", state.last_detail);
  add_time("last success", state.last_success);
  if (state.failures > 0) add("failures in a row", std::to_string(state.failures));
  add_time("not before", state.not_before);
  add("etag", state.etag);
  add("last-modified", state.last_modified);
  if (state.body_bytes > 0)
    add("document", fmt::format("{} bytes, {} on the wire", state.body_bytes, state.wire_bytes));
  if (state.polls > 0) {
    add("polls",
        fmt::format("{}, {} not modified, {} same body, {} with new entries, {} failed", state.polls,
                    state.polls_not_modified, state.polls_same_body, state.polls_with_new, state.polls_failed));
    add("hit rate", fmt::format("{} % of polls brought a new entry", state.polls_with_new * 100 / state.polls));
    add("new entries", fmt::format("{} so far, {:.1f} a week", state.total_new, state.new_per_week));
  }
  std::string settings;
  for (const std::string& text : setting_texts(read_settings(state.settings))) {
    settings.append(settings.empty() ? "" : " ").append(text);
  }
  add("settings", settings);
  return lines;
}

json::object entry_json(const StoredEntry& entry) {
  json::object row = json_row();
  row["id"] = entry.id;
  row["cursor"] = cursor_of(entry);
  for (const auto& [name, value] : entry.fields) row[name] = field_json(name, value);
  return row;
}

std::string cursor_of(const StoredEntry& entry) {
  const std::string_view score = field_of(entry.fields, "timestamp");
  return fmt::format("{}:{}", score.empty() ? "0" : score, entry.id);
}

EntryCursor place_of(const StoredEntry& entry) {
  std::int64_t score = 0;
  read_number(field_of(entry.fields, "timestamp"), score);
  return {score, entry.id};
}

std::vector<std::string> entry_cells(const StoredEntry& entry) {
  const std::string& title = entry.get("title");
  return {rfc3339(Milliseconds(place_of(entry).score * 1000)), entry.id, title.empty() ? entry.get("link") : title};
}

std::string last_result(const FeedState& state) {
  if (!state.last_error.empty()) return state.last_error;
  if (state.last_status != 0) return std::to_string(state.last_status);
  return "-";
}

}  // namespace feedmill
