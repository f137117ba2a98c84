#include "storage/records/state_fields.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "storage/records/packed.hpp"
#include "storage/records/state_pieces.hpp"

namespace feedmill {
namespace {

/// "<sightings> <since ms> <same feed> <by document> <URL>"
std::string probation_text(const PendingRedirect& moving) {
  if (moving.to.empty()) return "";
  return Packed()
      .add(moving.sightings)
      .add(moving.since)
      .add(moving.same_feed ? 1 : 0)
      .add(moving.by_document ? 1 : 0)
      .add(moving.to)
      .take();
}

PendingRedirect read_probation(const std::string& text) {
  PendingRedirect moving;
  int same_feed = 0, by_document = 0;
  Unpacked(text).take(moving.sightings).take(moving.since).take(same_feed).take(by_document).take(moving.to);
  moving.same_feed = same_feed != 0;
  moving.by_document = by_document != 0;
  return moving;
}

std::vector<Move> read_moves(const std::string& text) {
  std::vector<Move> moves;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Move& move = moves.emplace_back();
    Unpacked(line).take(move.at).take(move.from).take(move.to);
  }
  return moves;
}

/// "<missing> <topic> <hub> …"
std::string advert_text(const HubAdvert& advert) {
  if (advert.hubs.empty()) return "";
  Packed text;
  text.add(advert.missing).add(advert.topic);
  for (const std::string& hub : advert.hubs) text.add(hub);
  return text.take();
}

std::string words_text(const std::vector<std::string>& words) {
  Packed text;
  for (const std::string& word : words) text.add(word);
  return text.take();
}

std::vector<std::string> read_words(Unpacked text) {
  std::vector<std::string> words;
  for (;;) {
    std::string word;
    text.take(word);
    if (word.empty()) return words;
    words.push_back(std::move(word));
  }
}

HubAdvert read_advert(const std::string& text) {
  HubAdvert advert;
  Unpacked words(text);
  words.take(advert.missing).take(advert.topic);
  advert.hubs = read_words(words);
  return advert;
}

std::string push_health_text(const PushHealth& health) {
  if (health == PushHealth()) return "";
  return Packed()
      .add(health.of)
      .add(health.pushed_first)
      .add(health.poll_first)
      .add(health.near)
      .add(health.recent)
      .add(health.recent_count)
      .add(health.good_row)
      .add(health.bad_row)
      .add(health.fallback)
      .add(health.suspect)
      .add(health.last_entry)
      .take();
}

PushHealth read_push_health(const std::string& text) {
  PushHealth health;
  Unpacked(text)
      .take(health.of)
      .take(health.pushed_first)
      .take(health.poll_first)
      .take(health.near)
      .take(health.recent)
      .take(health.recent_count)
      .take(health.good_row)
      .take(health.bad_row)
      .take(health.fallback)
      .take(health.suspect)
      .take(health.last_entry);
  return health;
}

std::string count_text(std::uint32_t count) {
  return count == 0 ? "" : std::to_string(count);
}

std::string number_or_nothing(Milliseconds time) {
  return time.count() == 0 ? "" : std::to_string(time.count());
}

IdentifiedBy read_identified_by(std::string_view word) {
  if (word == "link") return IdentifiedBy::link;
  return word == "digest" ? IdentifiedBy::digest : IdentifiedBy::guid;
}

/// "<guid, link or digest> <since ms> <fresh documents> <replaced documents> <listed none> <unfit documents> <naming>
/// <returns> <sound documents> <sample>" without what is 0 or empty at its end, "" when nothing is odd.
std::string identity_text(const FeedState& s) {
  std::string text = Packed()
                         .add(std::string(to_string(s.identified_by)))
                         .add(s.identified_since)
                         .add(s.fresh_documents)
                         .add(s.replaced_documents)
                         .add(s.listed_none ? 1 : 0)
                         .add(s.unfit_documents)
                         .add(static_cast<int>(s.naming))
                         .add(s.returns)
                         .add(s.sound_documents)
                         .take();
  if (!s.guid_sample.empty()) return text + ' ' + s.guid_sample;
  while (text.ends_with(" 0")) text.resize(text.size() - 2);
  return text == "guid" ? "" : text;
}

void read_identity(const std::string& text, FeedState& s) {
  std::string word;
  int listed_none = 0, naming = 0;
  Unpacked(text)
      .take(word)
      .take(s.identified_since)
      .take(s.fresh_documents)
      .take(s.replaced_documents)
      .take(listed_none)
      .take(s.unfit_documents)
      .take(naming)
      .take(s.returns)
      .take(s.sound_documents)
      .take(s.guid_sample);
  s.identified_by = read_identified_by(word);
  s.naming = naming == 1 ? Naming::mixed : naming == 2 ? Naming::substitutes : Naming::given;
  s.listed_none = listed_none != 0;
}

Milliseconds read_time(const std::string& text) {
  Milliseconds time{};
  Unpacked(text).take(time);
  return time;
}

void read_standing(PushStanding& push, std::string_view name, const std::string& value) {
  if (name == "push_state")
    push.state = value;
  else if (name == "push_since")
    push.since = read_time(value);
  else if (name == "push_verified")
    push.verified = read_time(value);
  else if (name == "push_at")
    push.last_push = read_time(value);
  else if (name == "push_hub")
    push.hub = value;
  else if (name == "push_token")
    push.subscription = value;
  else if (name == "push_note")
    push.note = value;
  else if (name == "push_tries")
    Unpacked(value).take(push.tries);
  else if (name == "push_denials")
    Unpacked(value).take(push.denials);
  else if (name == "push_fell")
    push.fell = read_time(value);
}

/// All that is counted, in the order of the field `counts`.
auto counts_of(auto& s) {
  return std::tie(s.polls, s.polls_not_modified, s.polls_same_body, s.polls_unconditional, s.polls_failed,
                  s.polls_with_new, s.total_wire_bytes, s.total_body_bytes, s.total_new, s.unconditional_first,
                  s.unconditional_none, s.unconditional_target, s.unconditional_probe, s.early_polls);
}

std::string counts_text(const FeedState& s) {
  Packed packed;
  std::apply([&](auto... count) { (packed.add(count), ...); }, counts_of(s));
  return packed.take();
}

struct Field {
  std::string_view name;
  std::string value;
};

/// All of them, "" for those without a value.
auto all_fields(const FeedState& s) {
  const bool ever = s.last_at.count() != 0;
  return std::array{
      Field{"state", s.state},
      Field{"fetch_url", s.fetch_url},
      Field{"moving", probation_text(s.moving)},
      Field{"moves", moves_text(s.moves)},
      Field{"no_move_to", s.no_move_to},
      Field{"etag", s.etag},
      Field{"last_modified", s.last_modified},
      Field{"validators_url", s.validators_url},
      Field{"hashes", s.wire_hash + s.body_hash},  // 32 hex digits each
      Field{"sizes", s.wire_bytes == 0 ? "" : Packed().add(s.wire_bytes).add(s.body_bytes).take()},
      Field{"ends_early", s.ends_early ? "1" : ""},
      Field{"refused",
            s.refused_hash.empty() ? "" : Packed().add(s.refused_hash).add(s.refused_reason).add(s.refused_by).take()},
      Field{"probe",
            s.not_modified_since.count() == 0 && s.last_probe.count() == 0
                ? ""
                : Packed().add(s.not_modified_since).add(s.last_probe).add(s.validators_broken ? 1 : 0).take()},
      Field{"last", ever ? Packed().add(s.last_status).add(s.last_outcome).add(s.last_error).take() : ""},
      Field{"last_detail", s.last_detail},
      Field{"last_at", number_or_nothing(s.last_at)},
      Field{"times", Packed().add(s.state_since).add(s.last_success).add(s.last_new).add(s.imported).take()},
      Field{"failures",
            s.failures == 0
                ? ""
                : Packed().add(s.failures).add(s.failure_group).add(s.failing_since).add(s.group_since).take()},
      Field{"quarantines", s.quarantines == 0 ? "" : std::to_string(s.quarantines)},
      Field{"quarantined_at", number_or_nothing(s.quarantined_at)},
      Field{"strikes", s.strikes == 0 ? "" : std::to_string(s.strikes)},
      Field{"rate", ever ? Packed().add(s.new_per_week).take() : ""},
      Field{"counts", ever ? counts_text(s) : ""},
      Field{"identity", identity_text(s)},
      Field{"withdrawn", words_text(s.withdrawn)},
      Field{"won", s.due_reason},
      Field{"why", s.why},
      Field{"not_before", number_or_nothing(s.not_before)},
      Field{"hints", s.hints},
      Field{"retention", s.listed == 0 && s.kept == 0 ? "" : Packed().add(s.listed).add(s.kept).take()},
      Field{"untrimmed", s.untrimmed ? "1" : ""},
      Field{"settings", s.settings},
      Field{"advert", advert_text(s.advert)},
      Field{"push_state", s.push.state},
      Field{"push_since", number_or_nothing(s.push.since)},
      Field{"push_verified", number_or_nothing(s.push.verified)},
      Field{"push_at", number_or_nothing(s.push.last_push)},
      Field{"push_hub", s.push.hub},
      Field{"push_token", s.push.subscription},
      Field{"push_note", s.push.note},
      Field{"push_tries", count_text(s.push.tries)},
      Field{"push_denials", count_text(s.push.denials)},
      Field{"push_fell", number_or_nothing(s.push.fell)},
      Field{"push", push_health_text(s.push_health)},
      Field{"push_barren", count_text(s.consecutive_empty_pushes)},
  };
}

void read_counts(const std::string& text, FeedState& s) {
  Unpacked words(text);
  std::apply([&](auto&... count) { (words.take(count), ...); }, counts_of(s));
}

/// Others are short, or scripts read them.
bool is_cut(std::string_view name) {
  return name == "why" || name == "last_detail" || name == "counts";
}

}  // namespace

std::string_view to_string(IdentifiedBy by) {
  switch (by) {
    case IdentifiedBy::link:
      return "link";
    case IdentifiedBy::digest:
      return "digest";
    case IdentifiedBy::guid:
      break;
  }
  return "guid";
}

std::string moves_text(const std::vector<Move>& moves) {
  std::string text;
  for (const Move& move : moves) text += Packed().add(move.at).add(move.from).add(move.to).take() + "\n";
  return text;
}

Fields state_fields(const FeedState& state) {
  Fields fields;
  for (Field& field : all_fields(state)) fields.emplace_back(field.name, std::move(field.value));
  return fields;
}

Fields changed_state_fields(const FeedState& before, const FeedState& state) {
  const auto old_fields = all_fields(before);
  auto fields = all_fields(state);
  Fields changed;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto& [name, value] = fields[i];
    if (value == old_fields[i].value) continue;
    if (is_cut(name))
      add_pieces(changed, name, old_fields[i].value, value);
    else
      changed.emplace_back(name, std::move(value));
  }
  return changed;
}

FeedState read_state(const Fields& fields) {
  FeedState s;
  std::string pieces;
  for (const auto& [name, first] : fields) {
    const std::string& value = has_more_pieces(first) ? (pieces = joined(fields, name, first)) : first;
    if (name == "state")
      s.state = value;
    else if (name == "fetch_url")
      s.fetch_url = value;
    else if (name == "moving")
      s.moving = read_probation(value);
    else if (name == "moves")
      s.moves = read_moves(value);
    else if (name == "no_move_to")
      s.no_move_to = value;
    else if (name == "etag")
      s.etag = value;
    else if (name == "last_modified")
      s.last_modified = value;
    else if (name == "validators_url")
      s.validators_url = value;
    else if (name == "hashes") {
      s.wire_hash = value.substr(0, 32);
      s.body_hash = value.size() > 32 ? value.substr(32) : "";
    } else if (name == "sizes")
      Unpacked(value).take(s.wire_bytes).take(s.body_bytes);
    else if (name == "ends_early")
      s.ends_early = !value.empty();
    else if (name == "refused")
      Unpacked(value).take(s.refused_hash).take(s.refused_reason).take(s.refused_by);
    else if (name == "probe") {
      int broken = 0;
      Unpacked(value).take(s.not_modified_since).take(s.last_probe).take(broken);
      s.validators_broken = broken != 0;
    } else if (name == "last")
      Unpacked(value).take(s.last_status).take(s.last_outcome).take(s.last_error);
    else if (name == "last_detail")
      s.last_detail = value;
    else if (name == "last_at")
      s.last_at = read_time(value);
    else if (name == "times")
      Unpacked(value).take(s.state_since).take(s.last_success).take(s.last_new).take(s.imported);
    else if (name == "failures")
      Unpacked(value).take(s.failures).take(s.failure_group).take(s.failing_since).take(s.group_since);
    else if (name == "quarantines")
      Unpacked(value).take(s.quarantines);
    else if (name == "quarantined_at")
      s.quarantined_at = read_time(value);
    else if (name == "strikes")
      Unpacked(value).take(s.strikes);
    else if (name == "rate")
      Unpacked(value).take(s.new_per_week);
    else if (name == "counts")
      read_counts(value, s);
    else if (name == "identity")
      read_identity(value, s);
    else if (name == "withdrawn")
      s.withdrawn = read_words(Unpacked(value));
    else if (name == "won")
      s.due_reason = value;
    else if (name == "why")
      s.why = value;
    else if (name == "not_before")
      s.not_before = read_time(value);
    else if (name == "hints")
      s.hints = value;
    else if (name == "retention")
      Unpacked(value).take(s.listed).take(s.kept);
    else if (name == "untrimmed")
      s.untrimmed = !value.empty();
    else if (name == "settings")
      s.settings = value;
    else if (name == "trace_until")
      s.trace_until = read_time(value);
    else if (name == "advert")
      s.advert = read_advert(value);
    else if (name == "push")
      s.push_health = read_push_health(value);
    else if (name == "push_barren")
      Unpacked(value).take(s.consecutive_empty_pushes);
    else if (name.starts_with("push_"))
      read_standing(s.push, name, value);
  }
  if (s.state == "quarantined") s.state_since = std::max(s.state_since, s.quarantined_at);  // scripts do not pack
  return s;
}

}  // namespace feedmill
