#include "storage/records/state_fields.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "storage/records/packed.hpp"

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
/// <returns> <sound documents> <sample>" without trailing values that are 0 or empty; "" if all are default.
std::string identity_text(const FeedState& s) {
  const PostIdentity& identity = s.identity;
  std::string text = Packed()
                         .add(std::string(to_string(identity.by)))
                         .add(identity.since)
                         .add(identity.fresh_documents)
                         .add(identity.replaced_documents)
                         .add(s.document.listed_none ? 1 : 0)
                         .add(identity.unfit_documents)
                         .add(static_cast<int>(identity.naming))
                         .add(identity.returns)
                         .add(identity.sound_documents)
                         .take();
  if (!identity.guid_sample.empty()) return text + ' ' + identity.guid_sample;
  while (text.ends_with(" 0")) text.resize(text.size() - 2);
  return text == "guid" ? "" : text;
}

void read_identity(const std::string& text, FeedState& s) {
  PostIdentity& identity = s.identity;
  std::string word;
  int listed_none = 0, naming = 0;
  Unpacked(text)
      .take(word)
      .take(identity.since)
      .take(identity.fresh_documents)
      .take(identity.replaced_documents)
      .take(listed_none)
      .take(identity.unfit_documents)
      .take(naming)
      .take(identity.returns)
      .take(identity.sound_documents)
      .take(identity.guid_sample);
  identity.by = read_identified_by(word);
  identity.naming = naming == 1 ? Naming::mixed : naming == 2 ? Naming::substitutes : Naming::given;
  s.document.listed_none = listed_none != 0;
}

/// "<purpose> <by> <back to> <pages> <posts> <failures> <known archive> <since ms> <last ms> <poll due ms> <poll
/// reason> <URL>"
std::string walk_text(const PageWalk& walk) {
  if (walk.next.empty()) return "";
  return Packed()
      .add(static_cast<int>(walk.purpose))
      .add(static_cast<int>(walk.by))
      .add(walk.back_to)
      .add(walk.pages)
      .add(walk.posts)
      .add(walk.failures)
      .add(walk.known_archive)
      .add(walk.since)
      .add(walk.last)
      .add(walk.poll_due)
      .add(walk.poll_reason)
      .add(walk.next)
      .take();
}

PageWalk read_walk(const std::string& text) {
  PageWalk walk;
  int purpose = 0, by = 0;
  Unpacked(text)
      .take(purpose)
      .take(by)
      .take(walk.back_to)
      .take(walk.pages)
      .take(walk.posts)
      .take(walk.failures)
      .take(walk.known_archive)
      .take(walk.since)
      .take(walk.last)
      .take(walk.poll_due)
      .take(walk.poll_reason)
      .take(walk.next);
  walk.purpose = purpose == 1 ? PageWalk::For::backfill : PageWalk::For::gap;
  walk.by = by == 1 ? PageWalk::By::archive : by == 2 ? PageWalk::By::number : PageWalk::By::next;
  return walk;
}

std::string numbers_text(OlderPosts::Numbers numbers) {
  return numbers == OlderPosts::Numbers::work ? "work" : numbers == OlderPosts::Numbers::fail ? "fail" : "";
}

OlderPosts::Numbers read_numbers(std::string_view text) {
  return text == "work"   ? OlderPosts::Numbers::work
         : text == "fail" ? OlderPosts::Numbers::fail
                          : OlderPosts::Numbers::untried;
}

std::string exposure_text(Exposure exposure) {
  return exposure == Exposure::open_to_all ? "public" : exposure == Exposure::opened_by_allow ? "allowed" : "";
}

Exposure read_exposure(std::string_view text) {
  return text == "public" ? Exposure::open_to_all : text == "allowed" ? Exposure::opened_by_allow : Exposure::unknown;
}

/// Converts a field of the hash in both directions: "" for no value, which removes it.
struct Row {
  std::string_view name;
  std::string (*write)(const FeedState& state);
  void (*read)(const std::string& value, FeedState& state);
  bool (*same)(const FeedState& a, const FeedState& b);  ///< true only if both are written alike
};

using S = FeedState;

// Rows of one value; the path is a member pointer into FeedState, one into that member …
template <auto Member, auto... Inner>
auto& value_in(auto& whole) {
  if constexpr (sizeof...(Inner) == 0)
    return whole.*Member;
  else
    return value_in<Inner...>(whole.*Member);
}

template <auto... Path>
bool same(const S& a, const S& b) {
  return value_in<Path...>(a) == value_in<Path...>(b);
}

template <auto... Path>
constexpr Row text(std::string_view name) {
  return {name, [](const FeedState& s) { return value_in<Path...>(s); },
          [](const std::string& value, FeedState& s) { value_in<Path...>(s) = value; }, same<Path...>};
}

template <auto... Path>
constexpr Row time(std::string_view name) {
  return {name, [](const FeedState& s) { return number_or_nothing(value_in<Path...>(s)); },
          [](const std::string& value, FeedState& s) { Unpacked(value).take(value_in<Path...>(s)); }, same<Path...>};
}

template <auto... Path>
constexpr Row count(std::string_view name) {
  return {name, [](const FeedState& s) { return count_text(value_in<Path...>(s)); },
          [](const std::string& value, FeedState& s) { Unpacked(value).take(value_in<Path...>(s)); }, same<Path...>};
}

template <auto... Path>
constexpr Row flag(std::string_view name) {
  return {name, [](const FeedState& s) { return std::string(value_in<Path...>(s) ? "1" : ""); },
          [](const std::string& value, FeedState& s) { value_in<Path...>(s) = !value.empty(); }, same<Path...>};
}

/// Values that change together, packed; "" unless `is_there`. `values_in`: references to them, in order.
template <auto is_there, auto values_in>
constexpr Row packed(std::string_view name) {
  return {name,
          [](const FeedState& s) {
            if (!is_there(s)) return std::string();
            Packed text;
            std::apply([&](const auto&... value) { (text.add(value), ...); }, values_in(s));
            return text.take();
          },
          [](const std::string& value, FeedState& s) {
            Unpacked text(value);
            std::apply([&](auto&... word) { (text.take(word), ...); }, values_in(s));
          },
          [](const FeedState& a, const FeedState& b) {
            return is_there(a) == is_there(b) && values_in(a) == values_in(b);
          }};
}

constexpr bool always(const FeedState&) {
  return true;
}
bool ever(const FeedState& s) {
  return s.last.at.count() != 0;
}

constexpr std::array rows{
    text<&S::state>("state"),
    text<&S::address, &FeedAddress::fetch_url>("fetch_url"),
    Row{"moving", [](const S& s) { return probation_text(s.address.moving); },
        [](const std::string& value, S& s) { s.address.moving = read_probation(value); },
        same<&S::address, &FeedAddress::moving>},
    Row{"moves", [](const S& s) { return moves_text(s.address.moves); },
        [](const std::string& value, S& s) { s.address.moves = read_moves(value); },
        same<&S::address, &FeedAddress::moves>},
    text<&S::address, &FeedAddress::no_move_to>("no_move_to"),
    Row{"exposure", [](const S& s) { return exposure_text(s.exposure); },
        [](const std::string& value, S& s) { s.exposure = read_exposure(value); }, same<&S::exposure>},
    text<&S::validators, &KnownValidators::etag>("etag"),
    text<&S::validators, &KnownValidators::last_modified>("last_modified"),
    text<&S::validators, &KnownValidators::url>("validators_url"),
    Row{"hashes", [](const S& s) { return s.document.wire_hash + s.document.body_hash; },  // 32 characters each
        [](const std::string& value, S& s) {
          s.document.wire_hash = value.substr(0, 32);
          s.document.body_hash = value.size() > 32 ? value.substr(32) : "";
        },
        [](const S& a, const S& b) {
          return a.document.wire_hash == b.document.wire_hash && a.document.body_hash == b.document.body_hash;
        }},
    packed<[](const S& s) { return s.document.wire_bytes != 0; },
           [](auto& s) { return std::tie(s.document.wire_bytes, s.document.body_bytes); }>("sizes"),
    flag<&S::document, &NewestDocument::ends_early>("ends_early"),
    time<&S::document, &NewestDocument::compared_at>("compared_at"),
    flag<&S::document, &NewestDocument::holds_back>("holds_back"),
    packed<[](const S& s) { return !s.refused.hash.empty(); },
           [](auto& s) { return std::tie(s.refused.hash, s.refused.reason, s.refused.by); }>("refused"),
    Row{"probe",
        [](const S& s) {
          const KnownValidators& known = s.validators;
          if (known.not_modified_since.count() == 0 && known.last_probe.count() == 0) return std::string();
          return Packed().add(known.not_modified_since).add(known.last_probe).add(known.broken ? 1 : 0).take();
        },
        [](const std::string& value, S& s) {
          int broken = 0;
          Unpacked(value).take(s.validators.not_modified_since).take(s.validators.last_probe).take(broken);
          s.validators.broken = broken != 0;
        },
        same<&S::validators>},
    packed<ever, [](auto& s) { return std::tie(s.last.status, s.last.outcome, s.last.error); }>("last"),
    text<&S::last, &LastRefresh::detail>("last_detail"),
    time<&S::last, &LastRefresh::at>("last_at"),
    packed<always,
           [](auto& s) { return std::tie(s.state_since, s.last.success, s.rhythm.last_new, s.rhythm.imported); }>(
        "times"),
    packed<[](const S& s) { return s.failures.count != 0; },
           [](auto& s) {
             return std::tie(s.failures.count, s.failures.group, s.failures.since, s.failures.group_since);
           }>("failures"),
    count<&S::quarantine, &QuarantineRun::count>("quarantines"),
    time<&S::quarantine, &QuarantineRun::since>("quarantined_at"),
    count<&S::quarantine, &QuarantineRun::strikes>("strikes"),
    packed<ever, [](auto& s) { return std::tie(s.rhythm.new_per_week); }>("rate"),
    packed<ever,
           [](auto& s) {
             auto& all = s.counts;
             return std::tie(all.polls, all.polls_not_modified, all.polls_same_body, all.polls_unconditional,
                             all.polls_failed, all.polls_with_new, all.total_wire_bytes, all.total_body_bytes,
                             all.total_new, all.unconditional_first, all.unconditional_none, all.unconditional_target,
                             all.unconditional_probe, all.early_polls);
           }>("counts"),
    Row{"identity", identity_text, read_identity,
        [](const S& a, const S& b) {
          return a.identity == b.identity && a.document.listed_none == b.document.listed_none;
        }},
    Row{"withdrawn", [](const S& s) { return words_text(s.identity.withdrawn); },
        [](const std::string& value, S& s) { s.identity.withdrawn = read_words(Unpacked(value)); },
        same<&S::identity, &PostIdentity::withdrawn>},
    text<&S::due, &DueTime::reason>("won"),
    text<&S::due, &DueTime::why>("why"),
    time<&S::due, &DueTime::not_before>("not_before"),
    text<&S::document, &NewestDocument::hints>("hints"),
    packed<[](const S& s) { return s.document.listed != 0 || s.trim.kept != 0; },
           [](auto& s) { return std::tie(s.document.listed, s.trim.kept); }>("retention"),
    flag<&S::trim, &LastTrim::unfinished>("untrimmed"),
    Row{"texts", [](const S& s) { return s.trim.texts ? std::to_string(*s.trim.texts) : std::string(); },
        [](const std::string& value, S& s) {
          s.trim.texts.reset();
          if (!value.empty()) s.trim.texts = leading_number<std::uint64_t>(value);
        },
        same<&S::trim, &LastTrim::texts>},
    text<&S::settings>("settings"),
    Row{"walk", [](const S& s) { return walk_text(s.older.walk); },
        [](const std::string& value, S& s) { s.older.walk = read_walk(value); }, same<&S::older, &OlderPosts::walk>},
    text<&S::older, &OlderPosts::newest_archive>("archive"),
    Row{"page_numbers", [](const S& s) { return numbers_text(s.older.numbers); },
        [](const std::string& value, S& s) { s.older.numbers = read_numbers(value); },
        same<&S::older, &OlderPosts::numbers>},
    Row{"advert", [](const S& s) { return advert_text(s.push.advert); },
        [](const std::string& value, S& s) { s.push.advert = read_advert(value); },
        same<&S::push, &FeedPushes::advert>},
    text<&S::push, &FeedPushes::standing, &PushStanding::state>("push_state"),
    time<&S::push, &FeedPushes::standing, &PushStanding::since>("push_since"),
    time<&S::push, &FeedPushes::standing, &PushStanding::verified>("push_verified"),
    time<&S::push, &FeedPushes::standing, &PushStanding::last_push>("push_at"),
    text<&S::push, &FeedPushes::standing, &PushStanding::hub>("push_hub"),
    text<&S::push, &FeedPushes::standing, &PushStanding::subscription>("push_token"),
    text<&S::push, &FeedPushes::standing, &PushStanding::note>("push_note"),
    count<&S::push, &FeedPushes::standing, &PushStanding::tries>("push_tries"),
    count<&S::push, &FeedPushes::standing, &PushStanding::denials>("push_denials"),
    time<&S::push, &FeedPushes::standing, &PushStanding::fell>("push_fell"),
    Row{"push", [](const S& s) { return push_health_text(s.push.health); },
        [](const std::string& value, S& s) { s.push.health = read_push_health(value); },
        same<&S::push, &FeedPushes::health>},
    count<&S::push, &FeedPushes::empty_in_a_row>("push_barren"),
    flag<&S::push, &FeedPushes::looks_again>("push_again"),
    Row{"push_claimed", nullptr, flag<&S::push, &FeedPushes::hinted>("").read, nullptr},
    Row{"trace_until", nullptr, time<&S::trace_until>("").read, nullptr},  // traces.hpp writes it
};

/// Whether long values of a field are split. Other fields are short, or read by scripts.
bool is_cut(std::string_view name) {
  return name == "why" || name == "last_detail" || name == "counts" || name == "advert";
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
    if (row.write == nullptr || row.same(before, state)) continue;
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
  // Scripts cannot write the packed time.
  if (state.state == "quarantined") state.state_since = std::max(state.state_since, state.quarantine.since);
  return state;
}

namespace {

constexpr std::size_t piece_bytes = 64;
constexpr std::size_t most_pieces = 10;  // longer values stay in one piece
constexpr std::string_view no_piece("\0", 1);

std::string piece_name(std::string_view name, std::size_t piece) {
  std::string text(name);
  if (piece > 0) (text += '.') += static_cast<char>('0' + piece);
  return text;
}

std::size_t pieces_of(const std::string& value) {
  if (value.empty() || value.size() > most_pieces * piece_bytes) return 1;
  return (value.size() + piece_bytes - 1) / piece_bytes;
}

std::string_view piece_of(std::string_view value, std::size_t pieces, std::size_t piece) {
  return pieces == 1 ? value : value.substr(piece * piece_bytes, piece_bytes);
}

}  // namespace

void add_pieces(Fields& changed, std::string_view name, const std::string& before, const std::string& value) {
  const std::size_t pieces = pieces_of(value);
  for (std::size_t i = 0; i < pieces; ++i) changed.emplace_back(piece_name(name, i), piece_of(value, pieces, i));
  if (value.empty()) {
    for (std::size_t i = 1; i < pieces_of(before); ++i) changed.emplace_back(piece_name(name, i), "");
  } else if (value.size() % piece_bytes == 0 && pieces < most_pieces) {
    // Removing the next piece would exclude the commit from its fast path.
    changed.emplace_back(piece_name(name, pieces), no_piece);
  }
}

bool has_more_pieces(const std::string& first) {
  return first.size() == piece_bytes;
}

std::string joined(const Fields& fields, const std::string& name, const std::string& first) {
  std::string value = first;
  for (std::size_t i = 1; i < most_pieces; ++i) {
    const std::string wanted = piece_name(name, i);
    const auto next = std::ranges::find(fields, wanted, &Fields::value_type::first);
    if (next == fields.end() || next->second == no_piece) break;
    value += next->second;
    if (next->second.size() != piece_bytes) break;
  }
  return value;
}

}  // namespace feedmill
