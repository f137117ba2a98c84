#include "worker/identity.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <boost/json.hpp>

#include "parsers/url.hpp"
#include "storage/fields.hpp"
#include "storage/identity.hpp"
#include "storage/rekey.hpp"

namespace feedmill {
namespace {

constexpr std::uint32_t documents_to_switch = 3;  // in a row, with stored posts under new guids

bool is_unknown(const Known::Guid& guid) {
  return guid.is == Known::Is::unknown;
}

std::size_t count_unknown(const Known& known) {
  return static_cast<std::size_t>(std::count_if(known.guids.begin(), known.guids.end(), is_unknown));
}

/// 3, 6, 12, 24 …
bool is_turn(std::uint32_t documents) {
  const std::uint32_t turn = documents / documents_to_switch;
  return documents % documents_to_switch == 0 && turn != 0 && (turn & (turn - 1)) == 0;
}

/// One document against what is stored.
class Comparison {
 public:
  Comparison(const FeedState& state, Document& document, Known& known, const std::vector<StoredPost>& stored)
      : document_(document), known_(known), stored_(stored) {
    known.compared = true;
    switching_ = document.identified_by != state.identified_by;
    unknown_ = count_unknown(known);
    if (!stored.empty()) {
      oldest_ = std::min_element(stored.begin(), stored.end(), [](const StoredPost& a, const StoredPost& b) {
                  return a.timestamp < b.timestamp;
                })->timestamp;
    }
    match();
    known.replaced = !switching_ && are_many(matches_.size(), document.entries.size());
    if (document.cut_short || switching_) return;
    if (known.replaced && state.replaced_documents + 1 >= documents_to_switch) {
      switch_identity(better_identity(state.identified_by));
    } else if (state.identified_by == IdentifiedBy::guid && names_places(document.entries, known.guids)) {
      std::vector<Known::Guid> before = known.guids;
      forget_tombstones();
      switch_identity(IdentifiedBy::link);
      if (!switching_) switch_identity(IdentifiedBy::digest);
      if (!switching_) known.guids = std::move(before);
    }
  }

  Recognised take() {
    Recognised recognised;
    std::vector<bool> used(stored_.size());
    std::unordered_set<std::string_view> guids;
    for (const EntryRecord& record : document_.entries) guids.insert(record.guid);
    for (const Match& match : matches_) {
      const StoredPost& post = stored_[match.stored];
      Known::Guid& guid = known_.guids[match.read];
      used[match.stored] = true;
      guid.id = post.id;
      if (post.guid != document_.entries[match.read].guid) guid.stored_guid = post.guid;
      if (match.by == Match::By::guid) continue;  // its mark and fields are there
      recognised.places.push_back(match.read);
      recognised.look_up.push_back({post.guid, document_.entries[match.read].digest, {}, {}, {}});
    }
    if (switching_) {
      forget_unmatched();
      rekey_unlisted(used, guids);
    }
    bury();
    return recognised;
  }

 private:
  void match() {
    std::vector<bool> wanted;
    for (const Known::Guid& guid : known_.guids) {
      wanted.push_back(switching_ ? guid.is != Known::Is::tombstoned : is_unknown(guid));
    }
    matches_ = match_posts(document_.entries, wanted, stored_);
    last_match_ = 0;
    for (const Match& match : matches_) last_match_ = std::max(last_match_, match.read);
    if (switching_) return;
    const auto sure = static_cast<std::size_t>(
        std::count_if(matches_.begin(), matches_.end(), [](const Match& match) { return match.sure; }));
    std::vector<bool> matched(document_.entries.size());
    for (const Match& match : matches_) matched[match.read] = true;
    std::size_t news = 0;
    for (std::size_t i = 0; i < matched.size(); ++i) {
      if (is_unknown(known_.guids[i]) && !matched[i] && !is_older_than_stored(i)) ++news;
    }
    most_ = 2 * unknown_ > matched.size() && matches_.size() > news && (matches_.size() > 1 || sure == 1);
    if (most_) return;
    // Single posts: a link may be shared by posts of different days.
    std::erase_if(matches_, [](const Match& match) { return !match.sure; });
    if (!are_many(matches_.size(), document_.entries.size())) matches_.clear();
  }

  /// What the matches were recognised by, or else what comes after `by` in the chain.
  IdentifiedBy better_identity(IdentifiedBy by) const {
    const auto links = static_cast<std::size_t>(std::count_if(
        matches_.begin(), matches_.end(), [](const Match& match) { return match.by == Match::By::link; }));
    const IdentifiedBy next = 2 * links >= matches_.size() ? IdentifiedBy::link : IdentifiedBy::digest;
    return next <= by ? IdentifiedBy::digest : next;
  }

  /// Unless that tells less apart.
  void switch_identity(IdentifiedBy next) {
    if (next <= document_.identified_by) return;
    std::unordered_set<std::string> guids;
    for (const EntryRecord& record : document_.entries) guids.insert(guid_by(next, record.fields, record.guid));
    if (are_many(document_.entries.size() - guids.size(), document_.entries.size())) return;
    document_.identified_by = next;
    std::vector<Match> recognised = std::move(matches_);
    identify(document_.entries, next);
    switching_ = true;
    match();
    std::vector<bool> read(document_.entries.size()), used(stored_.size());
    for (const Match& match : matches_) read[match.read] = used[match.stored] = true;
    for (const Match& match : recognised) {  // by what was agreed to before
      if (!read[match.read] && !used[match.stored]) matches_.push_back(match);
    }
    drop_unnamed();
  }

  /// Where guids name places, tombstones do: what stands there now is another post.
  void forget_tombstones() {
    for (Known::Guid& guid : known_.guids) {
      if (guid.is == Known::Is::tombstoned) guid = {};
    }
  }

  /// What its identity does not tell from an earlier post of the document.
  void drop_unnamed() {
    std::vector<std::size_t> places(document_.entries.size());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (document_.entries[i].guid.empty()) continue;
      places[i] = kept;
      if (kept != i) {
        document_.entries[kept] = std::move(document_.entries[i]);
        known_.guids[kept] = std::move(known_.guids[i]);
      }
      ++kept;
    }
    if (kept == places.size()) return;
    std::erase_if(matches_, [&](const Match& match) { return places[match.read] == 0 && match.read != 0; });
    for (Match& match : matches_) match.read = places[match.read];
    document_.entries.resize(kept);
    known_.guids.resize(kept);
  }

  /// Several posts may have had one guid before: those that are not the stored one are new.
  void forget_unmatched() {
    std::vector<bool> matched(known_.guids.size());
    for (const Match& match : matches_) matched[match.read] = true;
    for (std::size_t i = 0; i < matched.size(); ++i) {
      if (!matched[i] && known_.guids[i].is != Known::Is::tombstoned) known_.guids[i] = {};
    }
  }

  void rekey_unlisted(const std::vector<bool>& used, std::unordered_set<std::string_view>& guids) {
    std::vector<Rekey>& rekeys = known_.rekeys;
    rekeys.reserve(stored_.size());  // `guids` refers into it
    for (std::size_t i = 0; i < stored_.size(); ++i) {
      if (used[i]) continue;
      const StoredPost& post = stored_[i];
      std::string guid = guid_by(document_.identified_by, post.fields, post.guid);
      if (guid == post.guid || guids.contains(guid)) continue;
      rekeys.push_back({post.id, post.guid, std::move(guid), post.digest, {}});
      guids.insert(rekeys.back().to);
    }
  }

  /// Posts that were trimmed do not come back under new guids. Their own cannot be known any more; but a trim takes the
  /// oldest, so that what is older than all that is stored was trimmed, or would be at once.
  void bury() {
    const bool renamed = switching_ || most_;
    std::unordered_set<std::string> gone;  // pages of posts that went while they were listed
    if (renamed) {
      for (const std::string& guid : known_.left) {
        std::string key = link_key(guid.starts_with("link:") ? "http://" + guid.substr(5) : guid);
        if (key.find_first_of("/?#") != std::string::npos) gone.insert(std::move(key));
      }
    }
    for (std::size_t i = 0; i < known_.guids.size(); ++i) {
      Known::Guid& guid = known_.guids[i];
      const EntryRecord& record = document_.entries[i];
      if (guid.is == Known::Is::tombstoned && !record.former_guid.empty() && record.former_guid != record.guid) {
        known_.tombs_new.push_back(record.guid);
        known_.left.push_back(record.former_guid);
      } else if (renamed && is_unknown(guid) && guid.id.empty() &&
                 (is_older_than_stored(i) || gone.contains(link_key(record.guid)) ||
                  gone.contains(link_key(value_of(record.fields, "link"))))) {
        guid.is = Known::Is::tombstoned;
        known_.tombs_new.push_back(record.guid);
      }
    }
  }

  bool is_older_than_stored(std::size_t place) const {
    if (!known_.trimmed || !oldest_) return false;
    const std::optional<std::int64_t>& date = document_.entries[place].timestamp;
    return date ? *date < *oldest_ : place > last_match_ && !matches_.empty();
  }

  Document& document_;
  Known& known_;
  const std::vector<StoredPost>& stored_;
  std::vector<Match> matches_;
  std::optional<std::int64_t> oldest_;
  std::size_t unknown_ = 0, last_match_ = 0;
  bool switching_ = false, most_ = false;
};

}  // namespace

bool must_compare(const FeedState& state, const Document& document, const Known& known) {
  if (known.stored == 0 || document.entries.empty()) return false;
  if (document.identified_by != state.identified_by) return true;
  const bool by_guid = state.identified_by == IdentifiedBy::guid && !document.cut_short;
  if (by_guid && names_places(document.entries, known.guids)) return true;
  const std::size_t unknown = count_unknown(known), listed = document.entries.size();
  if (2 * unknown > listed) return true;
  return are_many(unknown, listed) && (state.replaced_documents > 0 || is_turn(state.fresh_documents + 1));
}

Recognised recognise(const FeedState& state, Document& document, Known& known, const std::vector<StoredPost>& stored) {
  return Comparison(state, document, known, stored).take();
}

void add_recognised(Known& known, const Recognised& recognised, Known found) {
  for (std::size_t i = 0; i < recognised.places.size() && i < found.guids.size(); ++i) {
    Known::Guid& guid = known.guids[recognised.places[i]];
    Known::Guid& stored = found.guids[i];
    guid.is = stored.is;
    guid.fields = std::move(stored.fields);
    if (is_unknown(guid)) guid.stored_guid.clear();  // removed meanwhile
  }
}

void count_document(FeedState& state, const Document& document, const Known& known, Milliseconds now) {
  const std::size_t listed = document.entries.size();
  state.listed_none = listed == 0;
  if (document.identified_by != state.identified_by) {
    state.identified_by = document.identified_by;
    state.identified_since = now;
    state.fresh_documents = state.replaced_documents = 0;
    return;
  }
  const auto fresh =
      static_cast<std::size_t>(std::count_if(known.guids.begin(), known.guids.end(), [](const auto& guid) {
        return is_unknown(guid) || !guid.stored_guid.empty();
      }));
  const bool many = state.imported.count() != 0 && are_many(fresh, listed);
  state.fresh_documents = many ? state.fresh_documents + 1 : 0;
  if (!many)
    state.replaced_documents = 0;
  else if (known.compared)
    state.replaced_documents = known.replaced ? state.replaced_documents + 1 : 0;
}

bool is_gap(const FeedState& before, const Document& document, const Known& known) {
  if (before.imported.count() == 0 || before.listed_none || known.stored == 0 || document.entries.size() < 2)
    return false;
  return std::all_of(known.guids.begin(), known.guids.end(), is_unknown);
}

FeedSignal gap_signal(const Document& document, const Known& known, Milliseconds now) {
  std::int64_t oldest = now.count() / 1000;
  for (const EntryRecord& record : document.entries) oldest = std::min(oldest, record.timestamp.value_or(oldest));
  const boost::json::object data{{"from", known.newest}, {"to", oldest}};
  return {"feed_gap", "updated", boost::json::serialize(data), ""};
}

FeedSignal rekeyed_signal(const std::vector<Rekey>& rekeys, IdentifiedBy by) {
  constexpr std::size_t shown = 3, longest = 200;
  boost::json::array examples;
  for (const Rekey& rekey : rekeys) {
    if (examples.size() == shown) break;
    examples.push_back(boost::json::object{
        {"id", rekey.id}, {"from", cut_text(rekey.from, longest)}, {"to", cut_text(rekey.to, longest)}});
  }
  const boost::json::object data{
      {"count", rekeys.size()}, {"identified_by", to_string(by)}, {"examples", std::move(examples)}};
  return {"feed_rekeyed", "updated", boost::json::serialize(data), ""};
}

}  // namespace feedmill
