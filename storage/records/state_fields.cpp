#include "storage/records/state_fields.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <tuple>
#include <type_traits>
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

void read_counts(const std::string& text, FeedState& s) {
  Unpacked words(text);
  std::apply([&](auto&... count) { (words.take(count), ...); }, counts_of(s));
}

/// A field of the hash, both ways: "" for no value, which removes it.
struct Row {
  std::string_view name;
  std::string (*write)(const FeedState& state);
  void (*read)(const std::string& value, FeedState& state);
};

// Rows of one value: how to reach it, as a pointer to a member of FeedState or of its part Part.
template <auto Member, auto Part = nullptr>
auto& value_in(auto& state) {
  if constexpr (std::is_null_pointer_v<decltype(Part)>)
    return state.*Member;
  else
    return state.*Part.*Member;
}

template <auto... Path>
constexpr Row text(std::string_view name) {
  return {name, [](const FeedState& s) { return value_in<Path...>(s); },
          [](const std::string& value, FeedState& s) { value_in<Path...>(s) = value; }};
}

template <auto... Path>
constexpr Row time(std::string_view name) {
  return {name, [](const FeedState& s) { return number_or_nothing(value_in<Path...>(s)); },
          [](const std::string& value, FeedState& s) { Unpacked(value).take(value_in<Path...>(s)); }};
}

template <auto... Path>
constexpr Row count(std::string_view name) {
  return {name, [](const FeedState& s) { return count_text(value_in<Path...>(s)); },
          [](const std::string& value, FeedState& s) { Unpacked(value).take(value_in<Path...>(s)); }};
}

template <auto... Path>
constexpr Row flag(std::string_view name) {
  return {name, [](const FeedState& s) { return std::string(value_in<Path...>(s) ? "1" : ""); },
          [](const std::string& value, FeedState& s) { value_in<Path...>(s) = !value.empty(); }};
}

/// Values that change together, packed; none while `is_there` says so.
template <auto is_there, auto... Members>
constexpr Row packed(std::string_view name) {
  return {name,
          [](const FeedState& s) {
            if (!is_there(s)) return std::string();
            Packed text;
            (text.add(s.*Members), ...);
            return text.take();
          },
          [](const std::string& value, FeedState& s) {
            Unpacked text(value);
            (text.take(s.*Members), ...);
          }};
}

using S = FeedState;

constexpr bool always(const FeedState&) {
  return true;
}
bool ever(const FeedState& s) {
  return s.last_at.count() != 0;
}

constexpr std::array rows{
    text<&S::state>("state"),
    text<&S::fetch_url>("fetch_url"),
    Row{"moving", [](const S& s) { return probation_text(s.moving); },
        [](const std::string& value, S& s) { s.moving = read_probation(value); }},
    Row{"moves", [](const S& s) { return moves_text(s.moves); },
        [](const std::string& value, S& s) { s.moves = read_moves(value); }},
    text<&S::no_move_to>("no_move_to"),
    text<&S::etag>("etag"),
    text<&S::last_modified>("last_modified"),
    text<&S::validators_url>("validators_url"),
    Row{"hashes", [](const S& s) { return s.wire_hash + s.body_hash; },  // 32 hex digits each
        [](const std::string& value, S& s) {
          s.wire_hash = value.substr(0, 32);
          s.body_hash = value.size() > 32 ? value.substr(32) : "";
        }},
    packed<[](const S& s) { return s.wire_bytes != 0; }, &S::wire_bytes, &S::body_bytes>("sizes"),
    flag<&S::ends_early>("ends_early"),
    packed<[](const S& s) { return !s.refused_hash.empty(); }, &S::refused_hash, &S::refused_reason, &S::refused_by>(
        "refused"),
    Row{"probe",
        [](const S& s) {
          if (s.not_modified_since.count() == 0 && s.last_probe.count() == 0) return std::string();
          return Packed().add(s.not_modified_since).add(s.last_probe).add(s.validators_broken ? 1 : 0).take();
        },
        [](const std::string& value, S& s) {
          int broken = 0;
          Unpacked(value).take(s.not_modified_since).take(s.last_probe).take(broken);
          s.validators_broken = broken != 0;
        }},
    packed<ever, &S::last_status, &S::last_outcome, &S::last_error>("last"),
    text<&S::last_detail>("last_detail"),
    time<&S::last_at>("last_at"),
    packed<always, &S::state_since, &S::last_success, &S::last_new, &S::imported>("times"),
    packed<[](const S& s) { return s.failures != 0; }, &S::failures, &S::failure_group, &S::failing_since,
           &S::group_since>("failures"),
    count<&S::quarantines>("quarantines"),
    time<&S::quarantined_at>("quarantined_at"),
    count<&S::strikes>("strikes"),
    packed<ever, &S::new_per_week>("rate"),
    Row{"counts", [](const S& s) { return ever(s) ? counts_text(s) : ""; }, read_counts},
    Row{"identity", identity_text, read_identity},
    Row{"withdrawn", [](const S& s) { return words_text(s.withdrawn); },
        [](const std::string& value, S& s) { s.withdrawn = read_words(Unpacked(value)); }},
    text<&S::due_reason>("won"),
    text<&S::why>("why"),
    time<&S::not_before>("not_before"),
    text<&S::hints>("hints"),
    packed<[](const S& s) { return s.listed != 0 || s.kept != 0; }, &S::listed, &S::kept>("retention"),
    flag<&S::untrimmed>("untrimmed"),
    text<&S::settings>("settings"),
    Row{"advert", [](const S& s) { return advert_text(s.advert); },
        [](const std::string& value, S& s) { s.advert = read_advert(value); }},
    text<&PushStanding::state, &S::push>("push_state"),
    time<&PushStanding::since, &S::push>("push_since"),
    time<&PushStanding::verified, &S::push>("push_verified"),
    time<&PushStanding::last_push, &S::push>("push_at"),
    text<&PushStanding::hub, &S::push>("push_hub"),
    text<&PushStanding::subscription, &S::push>("push_token"),
    text<&PushStanding::note, &S::push>("push_note"),
    count<&PushStanding::tries, &S::push>("push_tries"),
    count<&PushStanding::denials, &S::push>("push_denials"),
    time<&PushStanding::fell, &S::push>("push_fell"),
    Row{"push", [](const S& s) { return push_health_text(s.push_health); },
        [](const std::string& value, S& s) { s.push_health = read_push_health(value); }},
    count<&S::consecutive_empty_pushes>("push_barren"),
    Row{"trace_until", nullptr, time<&S::trace_until>("").read},  // traces.hpp writes it
};

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
  for (const Row& row : rows) {
    if (row.write != nullptr) fields.emplace_back(row.name, row.write(state));
  }
  return fields;
}

Fields changed_state_fields(const FeedState& before, const FeedState& state) {
  Fields changed;
  for (const Row& row : rows) {
    if (row.write == nullptr) continue;
    const std::string old_value = row.write(before);
    std::string value = row.write(state);
    if (value == old_value) continue;
    if (is_cut(row.name))
      add_pieces(changed, row.name, old_value, value);
    else
      changed.emplace_back(row.name, std::move(value));
  }
  return changed;
}

FeedState read_state(const Fields& fields) {
  FeedState state;
  std::string pieces;
  for (const auto& [name, first] : fields) {
    const auto row = std::ranges::find(rows, std::string_view(name), &Row::name);
    if (row == rows.end()) continue;
    row->read(has_more_pieces(first) ? (pieces = joined(fields, name, first)) : first, state);
  }
  // Scripts do not pack.
  if (state.state == "quarantined") state.state_since = std::max(state.state_since, state.quarantined_at);
  return state;
}

}  // namespace feedmill
