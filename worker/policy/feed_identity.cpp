#include "worker/policy/feed_identity.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <boost/json.hpp>

#include "parsers/feed/formats.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/post_identity.hpp"

namespace feedmill {
namespace {

bool is_unknown(const StoredSnapshot::Guid& guid) {
  return guid.is == StoredSnapshot::Is::unknown;
}

std::size_t count_unknown(const StoredSnapshot& known) {
  return static_cast<std::size_t>(std::count_if(known.guids.begin(), known.guids.end(), is_unknown));
}

/// Whether `documents` is 3, 6, 12, 24 …
bool is_turn(std::uint32_t documents) {
  const std::uint32_t turn = documents / documents_to_switch;
  return documents % documents_to_switch == 0 && turn != 0 && (turn & (turn - 1)) == 0;
}

/// Similarity of a post of a document to a stored one.
int likeness(const Fields& read, const Fields& stored) {
  const std::string link = link_key(value_of(read, "link")), text = text_key(read);
  const bool same_link = !link.empty() && link == link_key(value_of(stored, "link"));
  const bool same_text = !text.empty() && text == text_key(stored);
  const bool same_title = value_of(read, "title") == value_of(stored, "title");
  return (same_link ? 4 : 0) + (same_text ? 2 : 0) + (same_title ? 1 : 0);
}

bool has_permalinks(const std::vector<EntryRecord>& entries) {
  std::size_t named = 0, links = 0;
  for (const EntryRecord& record : entries) {
    if (!is_named(record)) continue;
    ++named;
    if (record.guid == value_of(record.fields, "link")) ++links;
  }
  return 2 * links > named;
}

/// Whether a post differs from the one stored under its guid: an edit does not change link, date and title at once.
bool is_another(const EntryRecord& record, const StoredSnapshot::Guid& guid) {
  if (guid.is != StoredSnapshot::Is::different || !is_named(record)) return false;
  const Fields &now = record.fields, &before = guid.fields;
  const std::string link = link_key(value_of(now, "link")), old_link = link_key(value_of(before, "link"));
  const std::string_view date = value_of(now, "date_published"), old_date = value_of(before, "date_published");
  const bool same_link = !link.empty() && link == old_link, same_date = !date.empty() && date == old_date;
  return !same_link && !same_date && value_of(now, "title") != value_of(before, "title");
}

Naming naming(bool given, bool substitutes) {
  if (!substitutes) return Naming::given;
  return given ? Naming::mixed : Naming::substitutes;
}

/// Whether an unknown post may be stored under a substitute, or under a guid that it no longer has.
bool may_be_renamed(const PostIdentity& identity, const EntryRecord& record) {
  if (!record.shared_guid.empty() && record.guid != record.shared_guid) return true;
  if (identity.by != IdentifiedBy::guid) return false;
  return identity.naming != (is_named(record) ? Naming::given : Naming::substitutes);
}

/// Compares one document with the stored posts.
class Comparison {
 public:
  Comparison(const PostIdentity& identity, Document& document, StoredSnapshot& known,
             const std::vector<StoredPost>& stored)
      : document_(document), known_(known), stored_(stored) {
    known.compared = true;
    switching_ = document.identified_by != identity.by;
    permalinks_ = has_permalinks(document.entries);
    for (std::size_t i = 0; i < stored.size(); ++i) by_guid_.emplace(stored[i].guid, i);
    const bool returns = known.stored <= stored.size() && may_return(identity, document, known);
    if (!switching_ && !returns) {
      choose_holders();
      follow_others();
    }
    unknown_ = count_unknown(known);
    if (!stored.empty()) {
      oldest_ = std::min_element(stored.begin(), stored.end(), [](const StoredPost& a, const StoredPost& b) {
                  return a.timestamp < b.timestamp;
                })->timestamp;
    }
    if (returns)
      return_to_guids();
    else
      match();
    if (document.cut_short || switching_) return;
    if (known.replaced && identity.replaced_documents + 1 >= documents_to_switch) {
      switch_identity(better_identity(identity.by));
    } else if (identity.by == IdentifiedBy::guid && names_places(document.entries, known.guids)) {
      std::vector<StoredSnapshot::Guid> before = known.guids;
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
      StoredSnapshot::Guid& guid = known_.guids[match.read];
      used[match.stored] = true;
      guid.id = post.id;
      const bool keeps = post.guid == document_.entries[match.read].guid;
      if (!keeps) guid.stored_guid = post.guid;
      if (match.by == Match::By::guid) continue;  // its mark and fields are already known
      if (keeps && document_.cut_short) {
        guid.is = StoredSnapshot::Is::same;  // the post with that guid may follow after its end
        continue;
      }
      recognised.places.push_back(match.read);
      recognised.look_up.push_back({post.guid, document_.entries[match.read].digest, {}, {}, {}});
    }
    for (const std::size_t place : renamed_) {  // their guids were not looked up
      if (!switching_ && std::ranges::find(recognised.places, place) == recognised.places.end()) {
        recognised.places.push_back(place);
        recognised.look_up.push_back({document_.entries[place].guid, document_.entries[place].digest, {}, {}, {}});
      }
    }
    if (switching_) {
      forget_unmatched();
      rekey_unlisted(used, guids);
    }
    bury();
    name(used);
    return recognised;
  }

 private:
  bool by_guid() const { return document_.identified_by == IdentifiedBy::guid; }

  bool has_substitute(const StoredPost& post) const {
    return is_substitute(post.guid, value_of(post.fields, "link"), permalinks_);
  }

  /// Among posts that share a guid, the stored one keeps it, wherever it is listed; the others have substitutes.
  void choose_holders() {
    std::unordered_map<std::string_view, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < document_.entries.size(); ++i) {
      const std::string& guid = document_.entries[i].shared_guid;
      if (!guid.empty()) groups[guid].push_back(i);
    }
    for (const auto& [guid, places] : groups) {
      const auto found = by_guid_.find(guid);
      if (found == by_guid_.end()) continue;
      const StoredPost& post = stored_[found->second];
      std::optional<std::size_t> holder, best;
      int most = 0;
      for (const std::size_t place : places) {
        const EntryRecord& record = document_.entries[place];
        if (record.guid == guid) holder = place;
        const int like = 2 * likeness(record.fields, post.fields);
        if (like > 0 && like + (record.guid == guid ? 1 : 0) > most) {
          most = like + (record.guid == guid ? 1 : 0);
          best = place;
        }
      }
      if (!best || best == holder) continue;
      if (holder) give_substitute(*holder);
      document_.entries[*best].guid = guid;
      known_.guids[*best] = {StoredSnapshot::Is::different, post.id, {}, {}};
      renamed_.push_back(*best);
    }
  }

  void give_substitute(std::size_t place) {
    EntryRecord& record = document_.entries[place];
    const std::string_view link = value_of(record.fields, "link");
    record.guid = is_named(record) && !link.empty() ? guid_beside(record.guid, std::string(link))
                                                    : record.guid + ' ' + text_key(record.fields);
    const auto own = by_guid_.find(record.guid);
    known_.guids[place] = {};
    if (own != by_guid_.end()) known_.guids[place] = {StoredSnapshot::Is::different, stored_[own->second].id, {}, {}};
    renamed_.push_back(place);
  }

  /// A post under another one's guid keeps its own entry if its link or text identifies that beyond doubt.
  void follow_others() {
    if (!by_guid() || document_.cut_short || names_places(document_.entries, known_.guids)) return;
    std::vector<bool> wanted(document_.entries.size());
    std::vector<EntryRecord> unnamed;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = is_another(document_.entries[i], known_.guids[i]);
      EntryRecord& record = unnamed.emplace_back();
      if (!wanted[i]) record.guid = document_.entries[i].guid;
      record.fields = document_.entries[i].fields;
    }
    if (std::ranges::find(wanted, true) == wanted.end()) return;
    std::vector<Match> followed = match_posts(unnamed, wanted, stored_);
    // The link alone suffices if the guid of its entry went to another such post: the two were exchanged.
    for (bool all_sure = false; !all_sure;) {
      std::unordered_set<std::string_view> exchanged;
      for (const Match& match : followed) exchanged.insert(document_.entries[match.read].guid);
      all_sure = std::erase_if(followed, [&](const Match& match) {
                   return !match.sure && !exchanged.contains(stored_[match.stored].guid);
                 }) == 0;
    }
    for (const Match& match : followed) left_.insert(document_.entries[match.read].guid);
    for (const Match& match : followed) {
      document_.entries[match.read].guid = stored_[match.stored].guid;
      known_.guids[match.read] = {StoredSnapshot::Is::different, stored_[match.stored].id, {}, {}};
      renamed_.push_back(match.read);
    }
  }

  void match() {
    std::vector<bool> wanted;
    for (const StoredSnapshot::Guid& guid : known_.guids) {
      wanted.push_back(switching_ ? guid.is != StoredSnapshot::Is::tombstoned : is_unknown(guid));
    }
    matches_ = match_posts(document_.entries, wanted, stored_);
    last_match_ = 0;
    for (const Match& match : matches_) last_match_ = std::max(last_match_, match.read);
    if (switching_) return;
    std::vector<bool> matched(document_.entries.size());
    for (const Match& match : matches_) matched[match.read] = true;
    std::size_t news = 0;
    for (std::size_t i = 0; i < matched.size(); ++i) {
      if (is_unknown(known_.guids[i]) && !matched[i] && !is_older_than_stored(i)) ++news;
    }
    std::vector<Match> certain = take_certain();
    const auto sure = static_cast<std::size_t>(
        std::count_if(matches_.begin(), matches_.end(), [](const Match& match) { return match.sure; }));
    const std::size_t unknown = unknown_ - certain.size();
    most_ = 2 * unknown > matched.size() && matches_.size() > news && (matches_.size() > 1 || sure == 1);
    if (!most_) {
      take_unnamed(certain);
      // For single posts: posts of different days may share a link.
      std::erase_if(matches_, [this](const Match& match) { return !match.sure || has_other_files(match); });
      if (!are_many(matches_.size(), document_.entries.size())) matches_.clear();
    }
    known_.replaced = are_many(matches_.size(), document_.entries.size());
    for (const Match& match : certain) {
      EntryRecord& record = document_.entries[match.read];
      if (!is_named(record)) record.guid = stored_[match.stored].guid;
    }
    matches_.insert(matches_.end(), certain.begin(), certain.end());
  }

  /// Posts with different enclosures are always different posts.
  bool has_other_files(const Match& match) const {
    const std::string now = media_key(document_.entries[match.read].fields);
    const std::string before = media_key(stored_[match.stored].fields);
    return !now.empty() && !before.empty() && now != before;
  }

  /// Takes matches of posts known both by a guid and by its substitute, or listed under another post's guid before.
  std::vector<Match> take_certain() {
    std::vector<Match> certain;
    if (!by_guid()) return certain;
    std::erase_if(matches_, [&](const Match& match) {
      const StoredPost& post = stored_[match.stored];
      const bool left = match.sure && left_.contains(post.guid);  // another post of the document has its guid
      if (!left && is_named(document_.entries[match.read]) != has_substitute(post)) return false;
      certain.push_back(match);
      return true;
    });
    return certain;
  }

  /// Takes matches of posts known only by their links.
  void take_unnamed(std::vector<Match>& certain) {
    if (!by_guid()) return;
    std::erase_if(matches_, [&](const Match& match) {
      if (is_named(document_.entries[match.read])) return false;
      certain.push_back(match);
      return true;
    });
  }

  /// A post without its own guid keeps its substitute.
  void return_to_guids() {
    std::unordered_map<std::string_view, std::size_t> given;
    for (const EntryRecord& record : document_.entries) ++given[record.given_guid];
    for (EntryRecord& record : document_.entries) {
      record.former_guid = record.guid;
      if (!record.given_guid.empty() && given[record.given_guid] == 1) record.guid = record.given_guid;
      record.shared_guid.clear();
    }
    document_.identified_by = IdentifiedBy::guid;
    permalinks_ = has_permalinks(document_.entries);
    switching_ = true;
    match();
  }

  /// The identity that the matches were recognised by, or else the next one after `by`.
  IdentifiedBy better_identity(IdentifiedBy by) const {
    const auto links = static_cast<std::size_t>(std::count_if(
        matches_.begin(), matches_.end(), [](const Match& match) { return match.by == Match::By::link; }));
    const IdentifiedBy next = 2 * links >= matches_.size() ? IdentifiedBy::link : IdentifiedBy::digest;
    return next <= by ? IdentifiedBy::digest : next;
  }

  /// Keeps the identity if the next one distinguishes fewer posts.
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
    for (const Match& match : recognised) {  // matches of the previous identity
      if (!read[match.read] && !used[match.stored]) matches_.push_back(match);
    }
    drop_unnamed();
  }

  /// If guids name positions, so do tombstones: another post is there now.
  void forget_tombstones() {
    for (StoredSnapshot::Guid& guid : known_.guids) {
      if (guid.is == StoredSnapshot::Is::tombstoned) guid = {};
    }
  }

  /// Drops posts that their identity does not distinguish from an earlier one of the document.
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

  /// Several posts may have shared a guid before: all but the stored one are new.
  void forget_unmatched() {
    std::vector<bool> matched(known_.guids.size());
    for (const Match& match : matches_) matched[match.read] = true;
    for (std::size_t i = 0; i < matched.size(); ++i) {
      if (!matched[i] && known_.guids[i].is != StoredSnapshot::Is::tombstoned) known_.guids[i] = {};
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

  /// Keeps trimmed posts from returning under new guids. Their guids are no longer known, but a trim removes the oldest
  /// posts, so a post older than all stored ones was trimmed, or would be at once.
  void bury() {
    const bool renamed = switching_ || most_;
    std::unordered_set<std::string> gone;  // pages of posts that were trimmed while listed
    for (const std::string& guid : known_.left) {
      std::string key = link_key(guid.starts_with("link:") ? "http://" + guid.substr(5) : guid);
      if (key.find_first_of("/?#") != std::string::npos) gone.insert(std::move(key));
    }
    for (std::size_t i = 0; i < known_.guids.size(); ++i) {
      StoredSnapshot::Guid& guid = known_.guids[i];
      const EntryRecord& record = document_.entries[i];
      const bool unnamed = by_guid() && !is_named(record);
      if (guid.is == StoredSnapshot::Is::tombstoned && !record.former_guid.empty() &&
          record.former_guid != record.guid) {
        known_.tombs_new.push_back(record.guid);
        known_.left.push_back(record.former_guid);
      } else if ((renamed || unnamed) && is_unknown(guid) && guid.id.empty() &&
                 ((renamed ? is_older_than_stored(i) : is_among_trimmed(i)) || gone.contains(link_key(record.guid)) ||
                  gone.contains(link_key(value_of(record.fields, "link"))))) {
        guid.is = StoredSnapshot::Is::tombstoned;
        known_.tombs_new.push_back(record.guid);
      }
    }
  }

  /// Records how the feed's posts are named from now on.
  void name(const std::vector<bool>& used) {
    if (!by_guid()) return;
    bool given = false, substitutes = false;
    for (std::size_t i = 0; i < document_.entries.size(); ++i) {
      const EntryRecord& record = document_.entries[i];
      const bool substitute =
          !is_named(record) && is_substitute(record.guid, value_of(record.fields, "link"), permalinks_);
      if (known_.guids[i].is != StoredSnapshot::Is::tombstoned) (substitute ? substitutes : given) = true;
    }
    for (std::size_t i = 0; i < stored_.size(); ++i) {
      if (!used[i]) (has_substitute(stored_[i]) ? substitutes : given) = true;
    }
    known_.naming = naming(given, substitutes);
  }

  /// Whether a post without its own guid was trimmed; for documents that keep their guids.
  bool is_among_trimmed(std::size_t place) const {
    if (!known_.trimmed || !oldest_) return false;
    if (const std::optional<std::int64_t>& date = document_.entries[place].timestamp) return *date < *oldest_;
    const auto is_buried = [&](std::size_t other) { return known_.guids[other].is == StoredSnapshot::Is::tombstoned; };
    const bool last = place + 1 == known_.guids.size();
    return place > 0 && is_buried(place - 1) && (last || is_buried(place + 1));
  }

  bool is_older_than_stored(std::size_t place) const {
    if (!known_.trimmed || !oldest_) return false;
    const std::optional<std::int64_t>& date = document_.entries[place].timestamp;
    return date ? *date < *oldest_ : place > last_match_ && !matches_.empty();
  }

  Document& document_;
  StoredSnapshot& known_;
  const std::vector<StoredPost>& stored_;
  std::unordered_map<std::string_view, std::size_t> by_guid_;  // of stored posts
  std::vector<Match> matches_;
  std::vector<std::size_t> renamed_;
  std::unordered_set<std::string> left_;  // guids of stored posts that the document gives to others
  std::optional<std::int64_t> oldest_;
  std::size_t unknown_ = 0, last_match_ = 0;
  bool switching_ = false, most_ = false, permalinks_ = false;
};

}  // namespace

void settle_repeated(Document& document, StoredSnapshot& known) {
  if (std::ranges::all_of(document.entries, &std::string::empty, &EntryRecord::shared_guid)) return;
  const auto worth = [&](std::size_t place) {
    const StoredSnapshot::Guid& guid = known.guids[place];
    if (guid.is == StoredSnapshot::Is::same) return 100;
    return guid.is == StoredSnapshot::Is::different ? likeness(document.entries[place].fields, guid.fields) : 0;
  };
  std::unordered_map<std::string, std::size_t> kept;  // by guid
  std::vector<bool> goes(document.entries.size());
  for (std::size_t i = 0; i < goes.size() && i < known.guids.size(); ++i) {
    const auto [other, is_new] = kept.emplace(document.entries[i].guid, i);
    if (is_new) continue;
    const std::size_t worse = worth(i) > worth(other->second) ? std::exchange(other->second, i) : i;
    goes[worse] = true;
  }
  std::size_t entry = 0, guid = 0;
  std::erase_if(document.entries, [&](const EntryRecord&) { return goes[entry++]; });
  std::erase_if(known.guids, [&](const StoredSnapshot::Guid&) { return goes[guid++]; });
}

bool must_compare(const PostIdentity& identity, const Document& document, const StoredSnapshot& known) {
  if (known.stored == 0 || document.entries.empty()) return false;
  if (document.identified_by != identity.by || may_return(identity, document, known)) return true;
  for (std::size_t i = 0; i < known.guids.size(); ++i) {
    if (is_unknown(known.guids[i]) && may_be_renamed(identity, document.entries[i])) return true;
  }
  const bool by_guid = identity.by == IdentifiedBy::guid && !document.cut_short;
  for (std::size_t i = 0; by_guid && i < known.guids.size(); ++i) {
    if (is_another(document.entries[i], known.guids[i])) return true;
  }
  if (by_guid && names_places(document.entries, known.guids)) return true;
  const std::size_t unknown = count_unknown(known), listed = document.entries.size();
  if (2 * unknown > listed || are_too_many(identity, document, known)) return true;
  return are_many(unknown, listed) && (identity.replaced_documents > 0 || is_turn(identity.fresh_documents + 1));
}

Recognised recognise(const PostIdentity& identity, Document& document, StoredSnapshot& known,
                     const std::vector<StoredPost>& stored) {
  Recognised recognised = Comparison(identity, document, known, stored).take();
  known.recognised = recognised.look_up.size();
  return recognised;
}

bool is_told_apart_as_ever(const PostIdentity& identity, const StoredSnapshot& known) {
  return !known.compared || (known.recognised == 0 && known.rekeys.empty() && known.naming == identity.naming);
}

void add_recognised(StoredSnapshot& known, const Recognised& recognised, StoredSnapshot found) {
  for (std::size_t i = 0; i < recognised.places.size() && i < found.guids.size(); ++i) {
    StoredSnapshot::Guid& guid = known.guids[recognised.places[i]];
    StoredSnapshot::Guid& stored = found.guids[i];
    guid.is = stored.is;
    if (!stored.id.empty()) guid.id = std::move(stored.id);
    guid.fields = std::move(stored.fields);
    guid.mended = std::move(stored.mended);
    if (is_unknown(guid)) guid.stored_guid.clear();  // removed since the comparison
  }
}

Naming naming_of(const std::vector<EntryRecord>& entries) {
  const bool permalinks = has_permalinks(entries);
  bool given = false, substitutes = false;
  for (const EntryRecord& record : entries) {
    const bool substitute =
        !is_named(record) && is_substitute(record.guid, value_of(record.fields, "link"), permalinks);
    (substitute ? substitutes : given) = true;
  }
  return naming(given, substitutes);
}

bool is_gap(const FeedState& before, const Document& document, const StoredSnapshot& known) {
  if (before.rhythm.imported.count() == 0 || before.document.listed_none || known.stored == 0 ||
      document.entries.size() < 2)
    return false;
  return std::all_of(known.guids.begin(), known.guids.end(), is_unknown);
}

FeedEvent gap_event(const Document& document, const StoredSnapshot& known, Milliseconds now) {
  std::int64_t oldest = now.count() / 1000;
  for (const EntryRecord& record : document.entries) oldest = std::min(oldest, record.timestamp.value_or(oldest));
  const boost::json::object data{{"from", known.newest}, {"to", oldest}};
  return {"feed_gap", "updated", boost::json::serialize(data), ""};
}

FeedEvent rekeyed_event(const std::vector<Rekey>& rekeys, IdentifiedBy by) {
  constexpr std::size_t shown = 3, longest = 200;
  boost::json::array examples;
  for (const Rekey& rekey : rekeys) {
    if (examples.size() == shown) break;
    examples.push_back(boost::json::object{
        {"id", rekey.id}, {"from", utf8_prefix(rekey.from, longest)}, {"to", utf8_prefix(rekey.to, longest)}});
  }
  const boost::json::object data{
      {"count", rekeys.size()}, {"identified_by", to_string(by)}, {"examples", std::move(examples)}};
  return {"feed_rekeyed", "updated", boost::json::serialize(data), ""};
}

}  // namespace feedmill
