#include "worker/words/record_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parsers/markup/text.hpp"
#include "parsers/text/strings.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/story.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/moments.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// For a paused feed, state_since is not when it was paused: the store keeps its previous state.
bool is_paused(const FeedState& state) {
  return state.state == "paused";
}

/// Whether a feed's field holds a Unix time.
bool is_time(std::string_view name) {
  return name == "updated" || name == "published";
}

json::value field_json(std::string_view name, const std::string& value) {
  using Holds = EntryField::Holds;
  const EntryField* const field = find_entry_field(name);
  const Holds holds = field == nullptr ? Holds::text : field->holds;
  if (holds == Holds::json) return embedded_json(value);
  std::int64_t number = 0;
  if ((holds != Holds::number && holds != Holds::time) || !read_number(value, number)) return json::value(value);
  return holds == Holds::number ? json::value(number) : time_json(Milliseconds(number * 1000));
}

HubAdvert hubs_of(const FeedRecord& record) {
  return chosen_hubs(read_settings(record.state.settings), record.state, record.feed_url);
}

}  // namespace

json::value text_or_null(std::string_view text) {
  return text.empty() ? json::value() : json::value(text);
}

json::value time_json(Milliseconds time) {
  return time.count() == 0 ? json::value() : json::value(rfc3339(time));
}

json::object subscriber_counts_json(const SubscriberCounts& counts) {
  return {{"webhooks_active", counts.webhooks_active},
          {"webhooks_suspended", counts.webhooks_suspended},
          {"hub_pending", counts.hub_pending},
          {"hub_active", counts.hub_active},
          {"due", counts.due ? json::value(*counts.due) : json::value()}};
}

json::value embedded_json(std::string_view text) {
  if (text.empty()) return {};
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value(text) : value;
}

json::object embedded_object(std::string_view text) {
  json::value value = embedded_json(text);
  return value.is_object() ? std::move(value.as_object()) : json::object();
}

std::string_view field_of(const Fields& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

std::string readable_field(const Fields& fields, const std::string& name) {
  return readable_text(field_of(fields, name), field_of(fields, name + "_type"));
}

json::object list_json(const FeedRecord& record) {
  json::object row = json_row();
  row["url"] = record.feed_url;
  row["title"] = text_or_null(readable_field(record.feed, "title"));
  row["state"] = record.state.state;
  row["entries"] = record.entries;
  row["bytes"] = record.bytes;
  row["due"] = record.due ? time_json(*record.due) : json::value();
  row["claimed"] = !record.claim.empty();
  row["last_at"] = time_json(record.state.last.at);
  row["last_outcome"] = text_or_null(record.state.last.outcome);
  row["last_status"] = record.state.last.status == 0 ? json::value() : json::value(record.state.last.status);
  row["last_error"] = text_or_null(record.state.last.error);
  row["last_detail"] = text_or_null(record.state.last.detail);
  row["failures"] = record.state.failures.count;
  return row;
}

json::object show_json(const FeedRecord& record) {
  const FeedState& state = record.state;
  json::object row = list_json(record);
  json::object& feed = row["feed"].emplace_object();
  for (const auto& [name, value] : record.feed)
    feed[name] = holds_json(name) ? embedded_json(value) : json::value(is_time(name) ? unix_time_text(value) : value);
  row["claim"] = text_or_null(record.claim);
  row["state_since"] = is_paused(state) ? json::value() : time_json(state.state_since);
  row["fetch_url"] = text_or_null(state.address.fetch_url);
  row["moving_to"] = text_or_null(state.address.moving.to);
  row["moving_sightings"] = state.address.moving.sightings;
  row["moving_since"] = time_json(state.address.moving.since);
  row["no_move_to"] = text_or_null(state.address.no_move_to);
  json::array& moves = row["moves"].emplace_array();
  for (const Move& move : state.address.moves) {
    moves.push_back(json::object{{"at", time_json(move.at)}, {"from", move.from}, {"to", move.to}});
  }
  row["identified_by"] = to_string(state.identity.by);
  row["identified_since"] = time_json(state.identity.since);
  row["etag"] = text_or_null(state.validators.etag);
  row["last_modified"] = text_or_null(state.validators.last_modified);
  row["validators_url"] = text_or_null(state.validators.url);
  row["wire_hash"] = text_or_null(state.document.wire_hash);
  row["body_hash"] = text_or_null(state.document.body_hash);
  row["wire_bytes"] = state.document.wire_bytes;
  row["body_bytes"] = state.document.body_bytes;
  row["last_success"] = time_json(state.last.success);
  row["failure_group"] = text_or_null(state.failures.group);
  row["failing_since"] = time_json(state.failures.since);
  row["new_per_week"] = state.rhythm.new_per_week;
  row["last_new"] = time_json(state.rhythm.last_new);
  row["imported"] = time_json(state.rhythm.imported);
  row["strikes"] = state.quarantine.strikes;
  row["quarantines"] = state.quarantine.count;
  row["validators_broken"] = state.validators.broken;
  row["polls"] = state.counts.polls;
  row["polls_not_modified"] = state.counts.polls_not_modified;
  row["polls_same_body"] = state.counts.polls_same_body;
  row["polls_unconditional"] = state.counts.polls_unconditional;
  json::object& unconditional = row["unconditional"].emplace_object();
  unconditional["first"] = state.counts.unconditional_first;
  unconditional["no_validators"] = state.counts.unconditional_none;
  unconditional["target_changed"] = state.counts.unconditional_target;
  unconditional["probe"] = state.counts.unconditional_probe;
  row["early_polls"] = state.counts.early_polls;
  row["polls_failed"] = state.counts.polls_failed;
  row["polls_with_new"] = state.counts.polls_with_new;
  row["total_wire_bytes"] = state.counts.total_wire_bytes;
  row["total_body_bytes"] = state.counts.total_body_bytes;
  row["total_new"] = state.counts.total_new;
  row["won"] = text_or_null(state.due.reason);
  row["why"] = due_inputs_json(state.due.why);
  row["not_before"] = time_json(state.due.not_before);
  row["hints"] = embedded_json(state.document.hints);
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
  for (const auto& [name, value] : record.feed) {
    if (name == "title_type" || holds_json(name)) continue;  // shown without markup; --json has the lists
    add(name.c_str(), name == "title" ? readable_field(record.feed, name)
                      : is_time(name) ? unix_time_text(value)
                                      : value);
  }
  add("entries", fmt::format("{}, {}", grouped(std::int64_t(record.entries)), bytes_text(record.bytes)));
  const bool dated = state.state_since.count() != 0 && !is_paused(state);
  add("state", dated ? fmt::format("{} since {}", state.state, rfc3339(state.state_since)) : state.state);
  add_time("due", record.due.value_or(Milliseconds(0)));
  if (!state.due.reason.empty() && record.due) add("due because of", state.due.reason);
  add("being fetched by", record.claim);
  add("fetched from", state.address.fetch_url);
  if (!state.address.moving.to.empty()) {
    add("may be moving to", fmt::format("{}, seen {} times since {}", state.address.moving.to,
                                        state.address.moving.sightings, rfc3339(state.address.moving.since)));
  }
  if (state.identity.by != IdentifiedBy::guid) {
    add("posts identified by", fmt::format("{} since {}", to_string(state.identity.by), rfc3339(state.identity.since)));
  }
  add_time("last refresh", state.last.at);
  if (!state.last.outcome.empty()) {
    add("outcome", fmt::format("{}{}{}", state.last.outcome, state.last.status == 0 ? "" : ", status ",
                               state.last.status == 0 ? "" : std::to_string(state.last.status)));
  }
  add("reason", state.last.error);
  add("detail", state.last.detail);
  add_time("last success", state.last.success);
  if (state.failures.count > 0) add("failures in a row", std::to_string(state.failures.count));
  add_time("not before", state.due.not_before);
  add("etag", state.validators.etag);
  add("last-modified", state.validators.last_modified);
  if (state.document.body_bytes > 0)
    add("document", fmt::format("{}, {} on the wire", bytes_text(state.document.body_bytes),
                                bytes_text(state.document.wire_bytes)));
  if (state.counts.polls > 0) {
    add("polls", fmt::format("{}, {} not modified, {} same body, {} with new entries, {} failed", state.counts.polls,
                             state.counts.polls_not_modified, state.counts.polls_same_body, state.counts.polls_with_new,
                             state.counts.polls_failed));
    add("hit rate",
        fmt::format("{} % of polls found a new entry", state.counts.polls_with_new * 100 / state.counts.polls));
    add("new entries", fmt::format("{} so far, {:.1f} a week", state.counts.total_new, state.rhythm.new_per_week));
  }
  add("settings", fmt::format("{}", fmt::join(setting_texts(read_settings(state.settings)), " ")));
  return lines;
}

json::object entry_json(const StoredEntry& entry) {
  json::object row = json_row();
  row["id"] = entry.id;
  row["cursor"] = cursor_of(entry);
  for (const auto& [name, value] : with_implied(entry.fields)) row[name] = field_json(name, value);
  return row;
}

json::object entry_json(const StoredEntry& entry, const std::vector<std::string>& same_as) {
  json::object row = entry_json(entry);
  if (same_as.empty()) return row;
  const std::size_t most = std::min(same_as.size(), most_same_as);
  row["same_as"] = json::array(same_as.begin(), same_as.begin() + static_cast<std::ptrdiff_t>(most));
  row["same_count"] = same_as.size();
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

std::optional<EntryCursor> read_cursor(std::string_view text) {
  EntryCursor cursor;
  const std::size_t colon = std::min(text.find(':'), text.size());
  if (!read_number(text.substr(0, colon), cursor.score) || colon + 1 >= text.size()) return std::nullopt;
  cursor.id = text.substr(colon + 1);
  return cursor.id.size() <= 256 ? std::optional(std::move(cursor)) : std::nullopt;
}

std::vector<std::string> entry_cells(const StoredEntry& entry) {
  const std::string title = readable_field(entry.fields, "title");
  return {rfc3339(Milliseconds(place_of(entry).score * 1000)), entry.id, title.empty() ? entry.get("link") : title,
          entry.get("link")};
}

std::string last_result(const LastRefresh& last) {
  if (!last.error.empty()) return last.error;
  if (last.status != 0) return std::to_string(last.status);
  return "-";
}

std::string event_words(const json::object& data) {
  std::string text;
  for (const auto& [name, value] : data) {
    if (!value.is_string()) continue;
    text.append(text.empty() ? "" : ", ").append(name).append(" ");
    text.append(value.get_string().data(), value.get_string().size());
  }
  return text;
}

StoreResult<std::optional<PushRecord>> subscription_of(Store& store, const FeedPushes& pushes) {
  if (pushes.standing.subscription.empty()) return std::optional<PushRecord>();
  auto found = Pushes(store).find(std::span(&pushes.standing.subscription, 1)).front();
  // Some users may not read the subscription with its secrets (SECURITY A1); the state has the rest.
  if (!found && found.error().code == StoreError::Code::auth) return std::optional<PushRecord>();
  return found;
}

std::vector<PushFact> push_facts(const FeedRecord& record, const std::optional<PushRecord>& subscription,
                                 Milliseconds now) {
  const FeedPushes& pushes = record.state.push;
  const PushStanding& push = pushes.standing;
  const HubAdvert hubs = hubs_of(record);
  std::vector<PushFact> facts;
  if (push.state.empty()) {
    if (hubs.hubs.empty()) return facts;
    facts.push_back({"Hub", "", fmt::format("{} for {}, not subscribed", hubs.hubs.front(), hubs.topic)});
    return facts;
  }
  facts.push_back({"State", "", fmt::format("{} since {}", push.state, rfc3339(push.since))});
  facts.push_back({"Hub", ", at ", fmt::format("{} for {}", push.hub.empty() ? "no hub" : push.hub, hubs.topic)});
  if (!push.note.empty()) facts.push_back({"Last error", "; ", push.note});
  if (subscription && subscription->state == "active") {
    std::string lease =
        fmt::format("until {}, {}, {}", rfc3339(subscription->lease_end), from_now(subscription->lease_end, now),
                    subscription->secret.empty() ? "unsigned: pushes are only hints" : "signed");
    if (subscription->bad > 0) lease += fmt::format(", {} with a bad signature ignored", subscription->bad);
    facts.push_back({"Lease", "; lease ", std::move(lease)});
  }
  if (push.last_push.count() != 0) facts.push_back({"Last push", "; last push ", from_now(push.last_push, now)});
  const PushHealth& health = pushes.health;
  if (health.pushed_first + health.poll_first > 0) {
    facts.push_back({"First to arrive", "; ",
                     fmt::format("push first {} times, poll first {} times", health.pushed_first, health.poll_first)});
  }
  if (health.fallback.count() != 0) {
    facts.push_back({"Polling", "; ", "polled every " + format_duration(health.fallback) + " as well"});
  }
  return facts;
}

std::string push_text(const FeedRecord& record, const std::optional<PushRecord>& subscription, Milliseconds now) {
  std::string text;
  for (const PushFact& fact : push_facts(record, subscription, now)) text.append(fact.lead).append(fact.value);
  return text;
}

std::span<const PushStateText> push_state_texts() {
  static constexpr std::array texts{
      PushStateText{"pending", "subscription requested; the hub has not verified it yet"},
      PushStateText{"unproven", "accepted; polled as usual until pushes were first with three posts"},
      PushStateText{"healthy", "pushes arrive first; polled less often"},
      PushStateText{"doubtful", "polls found posts that no push delivered; polled as usual"},
      PushStateText{"failed", "refused, or its lease was lost; retried after a day or more"},
      PushStateText{"denied", "the hub denied the subscription; retried after a week or more"},
  };
  return texts;
}

json::value push_json(const FeedRecord& record, const std::optional<PushRecord>& subscription) {
  const FeedPushes& pushes = record.state.push;
  const HubAdvert advert = hubs_of(record);
  const PushStanding& standing = pushes.standing;
  if (advert.hubs.empty() && standing.state.empty()) return {};
  json::object row;
  row["state"] = standing.state.empty() ? json::value() : json::value(standing.state);
  row["since"] = time_json(standing.since);
  row["hubs"] = json::value_from(advert.hubs);
  row["topic"] = advert.topic;
  row["hub"] = standing.hub;
  row["note"] = standing.note;
  row["verified"] = time_json(standing.verified);
  row["last_push"] = time_json(standing.last_push);
  row["lease_end"] = time_json(subscription ? subscription->lease_end : Milliseconds(0));
  row["renew_at"] = time_json(subscription ? subscription->renew_at : Milliseconds(0));
  row["signed"] = subscription && !subscription->secret.empty();
  row["bad_signatures"] = subscription ? subscription->bad : 0;
  row["tries"] = standing.tries;
  row["denials"] = standing.denials;
  row["pushed_first"] = pushes.health.pushed_first;
  row["poll_first"] = pushes.health.poll_first;
  row["near"] = pushes.health.near;
  row["fallback_s"] = pushes.health.fallback.count() / 1000;
  return row;
}

}  // namespace feedmill
