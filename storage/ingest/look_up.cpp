// Looks up a document's stored posts with plain read commands, in as few round trips as possible.
#include <algorithm>
#include <array>
#include <limits>
#include <list>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "parsers/markup/sanitise.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/resanitise.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_compared = 5000;  // posts of a feed to compare for new guids
constexpr std::size_t max_a_second = 4;     // posts of one second that are candidates; more are ambiguous

using Is = StoredSnapshot::Is;

/// The commands of one round trip, and their replies in order.
class Trip {
 public:
  /// Adds a command; its words must live until ask() returns.
  void add(Words words) { commands_.push_back(std::move(words)); }
  std::string_view keep(std::string key) { return *keys_.emplace(keys_.end(), std::move(key)); }

  void ask(Store::Impl& impl) {
    if (commands_.empty()) return;
    replies_ = impl.pipeline_each(commands_);
    server_ = impl.failovers();
  }
  /// Whether the server that replied knows of fewer failovers than `failovers`.
  bool is_older_than(std::uint64_t failovers) const { return server_ && *server_ < failovers; }
  /// The next reply; stores the first error in `failed`.
  ReplyView take(std::optional<StoreError>& failed) {
    const StoreResult<Reply>& reply = replies_[next_++];
    if (reply) return reply->view();
    if (!failed) failed = reply.error();
    return ReplyView(nullptr);
  }
  std::vector<StoreResult<Reply>> take_replies() { return std::move(replies_); }

 private:
  std::vector<Words> commands_;
  std::list<std::string> keys_;
  std::vector<StoreResult<Reply>> replies_;
  std::optional<std::uint64_t> server_;  // failover count of the server that replied
  std::size_t next_ = 0;
};

/// Applies the current rules to posts stored by older ones.
void mend(StoredSnapshot& known, const GivenMarkup& markup) {
  const std::string today = std::to_string(sanitiser_version);
  const auto mend_post = [&](StoredSnapshot::Guid& guid) {
    if (guid.fields.empty() || value_of(guid.fields, "san_ver") == today) return;
    guid.mended = resanitised(guid.fields, markup);
    std::erase_if(guid.mended, [](const auto& field) { return field.first == "bytes" || field.first == "digest"; });
    guid.fields = with_changes(std::move(guid.fields), guid.mended);
  };
  std::ranges::for_each(known.guids, mend_post);
  std::ranges::for_each(known.same_second, mend_post);
  if (known.other_rules) known.feed_mended = resanitised_feed(known.feed, markup);
}

const std::string& asked_guid(const EntryRecord& entry) {
  return entry.former_guid.empty() ? entry.guid : entry.former_guid;
}

/// Sorted like the fields of a parsed record, because digests depend on the order; Redis returns a hash in any order.
Fields sorted(Fields fields) {
  std::ranges::sort(fields);
  return fields;
}

/// One document's look-up through both round trips.
class Search {
 public:
  Search(const LookUp& wanted, const StoredFeed& stored) : wanted_(wanted), stored_(stored) {
    known_.feed = stored.feed;
    known_.items = stored.items_text;
    known_.stored = stored.stored;
    known_.textless = stored.textless.size();
    known_.texts_from = stored.texts_from;
    known_.newest = stored.newest;
    known_.trimmed = !stored.tombs.empty();
    known_.volatile_parts = stored.volatile_parts;
    known_.compares_all = wanted.compares_all;
    mark_guids();
    const bool any_new = !(stored_.posts.empty() && stored_.tombs.empty()) &&
                         std::ranges::find(known_.guids, Is::unknown, &StoredSnapshot::Guid::is) != known_.guids.end();
    if (any_new || !stored_.tombs.empty()) {
      listed_.reserve(wanted_.entries.size());
      for (const EntryRecord& entry : wanted_.entries) listed_.push_back(asked_guid(entry));
      std::ranges::sort(listed_);
    }
    mark_tombs();
    if (!any_new) return;
    asks_oldest_ = static_cast<std::size_t>(std::ranges::count(known_.guids, Is::unknown, &StoredSnapshot::Guid::is)) >
                   StoredSnapshot::usual_news;
    find_aliases();
    find_departed();
  }

  /// First trip: ids of posts to read that their guids do not tell.
  void ask_ids(Trip& trip, const Keys& keys) {
    if (wanted_.seconds.empty() && !asks_oldest_) return;
    const std::string_view sort = trip.keep(keys.sort(wanted_.feed_url));
    if (asks_oldest_) trip.add({"ZRANGE", sort, "0", "0", "WITHSCORES"});
    const std::string_view most = trip.keep(std::to_string(max_a_second + 1));
    for (const std::int64_t second : wanted_.seconds) {
      const std::string_view score = trip.keep(std::to_string(second));
      trip.add({"ZRANGE", sort, score, score, "BYSCORE", "LIMIT", "0", most});
    }
  }
  void take_ids(Trip& trip) {
    if (asks_oldest_) known_.oldest = trip.take(failed_)[1].integer();
    for (std::size_t i = 0; i < wanted_.seconds.size(); ++i) {
      const ReplyView row = trip.take(failed_);
      for (std::size_t post = 0; row.size() <= max_a_second && post < row.size(); ++post) {
        known_.same_second.push_back({Is::different, std::string(row[post].text()), {}});
      }
    }
  }

  /// Second trip: the posts.
  void ask_entries(Trip& trip) {
    for (const std::size_t place : unsettled_) trip.add({"HGETALL", known_.guids[place].id});
    for (const std::string& id : deleted_) {
      if (!id.empty()) trip.add({"HMGET", id, "date_updated", "date_published"});
    }
    for (const StoredSnapshot::Guid& post : known_.same_second) trip.add({"HGETALL", post.id});
  }
  void take_entries(Trip& trip) {
    for (const std::size_t place : unsettled_) {
      known_.guids[place].fields = sorted(trip.take(failed_).pairs());
      if (stored_.post(asked_guid(wanted_.entries[place]))->mark.empty()) recognise(place);
    }
    for (const std::string& id : deleted_) {
      std::string& date = known_.deletable.emplace_back();
      if (id.empty()) continue;
      const ReplyView dates = trip.take(failed_);
      date = dates[dates[0].is_nil() ? 1 : 0].text();
      if (date.empty()) date = "0";
    }
    for (StoredSnapshot::Guid& post : known_.same_second) post.fields = sorted(trip.take(failed_).pairs());
  }

  StoreResult<StoredSnapshot> take() {
    if (failed_) return *failed_;
    if (wanted_.markup) mend(known_, *wanted_.markup);
    return std::move(known_);
  }

 private:
  void mark_guids() {
    const bool sanitised = wanted_.markup && wanted_.markup->policy != HtmlPolicy::raw;
    known_.other_rules = sanitised && value_of(stored_.feed, "san_ver") != std::to_string(sanitiser_version);
    known_.guids.resize(wanted_.entries.size());
    for (std::size_t i = 0; i < known_.guids.size(); ++i) {
      const std::string& guid = asked_guid(wanted_.entries[i]);
      const StoredGuid* const post = stored_.post(guid);
      Is& is = known_.guids[i].is;
      if (post == nullptr) {
        is =
            std::ranges::binary_search(stored_.tombs, guid, {}, &StoredFeed::Tomb::guid) ? Is::tombstoned : Is::unknown;
        continue;
      }
      const DigestMark mark = digest_mark(wanted_.entries[i].digest);
      is = post->mark == std::string_view(mark.data(), mark.size()) ? Is::same : Is::different;
      known_.guids[i].wants_texts = std::ranges::binary_search(stored_.textless, guid);
      if (is == Is::same && !reads_anyway(i)) continue;
      known_.guids[i].id = post->id;
      unsettled_.push_back(i);
    }
    for (const Deletion& deletion : wanted_.deleted) {
      const StoredGuid* const post = stored_.post(deletion.guid);
      deleted_.emplace_back(post == nullptr ? std::string_view() : post->id);
    }
  }

  /// Whether a post is read even if its digest is the same.
  bool reads_anyway(std::size_t place) const {
    return known_.other_rules || wanted_.compares_all || known_.guids[place].wants_texts;
  }

  /// The post's row is lost: its entry has the whole digest.
  void recognise(std::size_t place) {
    StoredSnapshot::Guid& guid = known_.guids[place];
    if (value_of(guid.fields, "digest") != wanted_.entries[place].digest) return;
    guid.is = Is::same;
    if (reads_anyway(place)) return;
    guid.id.clear();
    guid.fields.clear();
  }

  bool is_listed(std::string_view guid) const { return std::ranges::binary_search(listed_, guid); }

  void mark_tombs() {
    for (const StoredFeed::Tomb& tomb : stored_.tombs) {
      if (!tomb.listed)
        known_.first_tomb = std::min(known_.first_tomb.value_or(Milliseconds::max()), Milliseconds(tomb.left_at));
      if (tomb.listed != is_listed(tomb.guid)) (tomb.listed ? known_.left : known_.back).emplace_back(tomb.guid);
    }
  }

  /// Finds other spellings of unknown guids among stored and trimmed posts. A home page's URL does not identify a post.
  void find_aliases() {
    constexpr std::size_t ambiguous = static_cast<std::size_t>(-1);
    std::unordered_map<std::string, std::size_t> places;  // index of unknown guids by alias
    std::string alias;
    for (std::size_t i = 0; i < known_.guids.size(); ++i) {
      if (known_.guids[i].is != Is::unknown || !wanted_.entries[i].shared_guid.empty()) continue;
      alias.clear();
      append_url_alias(alias, wanted_.entries[i].guid);
      if (alias.find_first_of("/?#") == std::string::npos) continue;
      const auto [known, is_new] = places.emplace(alias, i);
      if (!is_new) known->second = ambiguous;
    }
    if (places.empty()) return;
    const auto look_at = [&](std::string_view guid, bool trimmed) {
      alias.clear();
      append_url_alias(alias, guid);
      const auto found = alias.empty() ? places.end() : places.find(alias);
      if (found == places.end() || found->second == ambiguous || is_listed(guid)) return;
      StoredSnapshot::Guid& unknown = known_.guids[found->second];
      if (!unknown.alias.empty()) {
        if (trimmed) return;
        unknown.alias.clear();
        found->second = ambiguous;
        return;
      }
      unknown.alias = guid;
      unknown.alias_trimmed = trimmed;
    };
    for (const StoredGuid& post : stored_.posts) look_at(post.guid, false);
    for (const StoredFeed::Tomb& tomb : stored_.tombs) look_at(tomb.guid, true);
  }

  void find_departed() {
    for (const StoredGuid& post : stored_.items.posts()) {
      if (known_.departed.size() > StoredSnapshot::max_departed) return;
      if (!post.mark.empty() && !is_listed(post.guid)) known_.departed.emplace_back(post.guid);
    }
  }

  const LookUp& wanted_;
  const StoredFeed& stored_;
  StoredSnapshot known_;
  std::vector<std::string_view> listed_;  // the document's guids, sorted; filled only if used
  bool asks_oldest_ = false;
  std::vector<std::size_t> unsettled_;  // indices of posts to read: changed, or stored by other rules
  std::vector<std::string> deleted_;    // ids of posts to delete, "" = no such post
  std::optional<StoreError> failed_;
};

/// The entry number in an id after `prefix`, as in a row of PackedItems; "" if it is not one.
std::string_view packed_number(std::string_view id, std::string_view prefix,
                               std::array<char, PackedItems::number_bytes>& buffer) {
  if (!id.starts_with(prefix)) return {};
  std::uint64_t number = leading_number<std::uint64_t>(id.substr(prefix.size()));
  for (char& byte : buffer) {
    byte = static_cast<char>(number & 0xFFU);
    number >>= 8U;
  }
  return {buffer.data(), buffer.size()};
}

/// The feed's posts, by guid, from its map of guids.
std::vector<StoredGuid> stored_posts_of(ReplyView map, std::string_view packed, const std::string& entry_prefix) {
  std::vector<std::string_view> rows;
  rows.reserve(packed.size() / PackedItems::row_bytes);
  for (std::size_t at = 0; at < packed.size(); at += PackedItems::row_bytes) {
    rows.push_back(packed.substr(at, PackedItems::row_bytes));
  }
  std::ranges::sort(rows);
  std::vector<StoredGuid> posts;
  posts.reserve(map.size() / 2);
  std::array<char, PackedItems::number_bytes> buffer{};
  for (std::size_t i = 0; i + 1 < map.size(); i += 2) {
    StoredGuid& post = posts.emplace_back(StoredGuid{map[i].text(), map[i + 1].text(), {}});
    const std::string_view number = packed_number(post.id, entry_prefix, buffer);
    const auto row = number.empty() ? rows.end() : std::ranges::lower_bound(rows, number);
    if (row != rows.end() && row->starts_with(number)) post.mark = row->substr(number.size());
  }
  std::ranges::sort(posts, {}, &StoredGuid::guid);
  return posts;
}

/// All but `items`, `textless` and `texts_from`. `newest`: gets the ids of the `feed.texts` newest posts.
StoreResult<StoredFeed> read_stored(Trip& trip, const FeedToRead& feed, const Keys& keys,
                                    std::vector<std::string>& newest) {
  std::optional<StoreError> failed;
  StoredFeed stored;
  const ReplyView packed = trip.take(failed), learned = trip.take(failed), map = trip.take(failed),
                  tombs = trip.take(failed);
  stored.feed = trip.take(failed).pairs();
  stored.stored = static_cast<std::uint64_t>(trip.take(failed).integer());
  stored.newest = trip.take(failed)[1].integer();
  if (feed.texts.value_or(0) > 0) newest = trip.take(failed).texts();
  if (failed) return *failed;
  const PackedItems items(packed.text());
  stored.posts = stored_posts_of(map, items.digests, keys.entries());
  for (std::size_t i = 0; i + 1 < tombs.size(); i += 2) {
    const std::string_view left_at = tombs[i + 1].text();
    stored.tombs.push_back({tombs[i].text(), left_at == "inf", leading_number<std::int64_t>(left_at)});
  }
  std::ranges::sort(stored.tombs, {}, &StoredFeed::Tomb::guid);
  stored.items_text = items.items;
  stored.volatile_parts = learned.text();
  return stored;
}

/// Finds the posts without texts among the newest ones: their items must be read. `kept`: FeedToRead::texts.
void find_textless(StoredFeed& stored, Trip& trip, std::size_t posts, std::optional<std::uint64_t> kept,
                   std::optional<StoreError>& failed) {
  if (kept == 0U) stored.texts_from = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < posts; ++i) {
    const ReplyView post = trip.take(failed);
    if (!failed && i + 1 == kept) stored.texts_from = leading_number<std::int64_t>(post[2].text());
    if (failed || !lacks_texts({{"truncated", std::string(post[1].text())}})) continue;
    stored.textless.emplace_back(post[0].text());
  }
  std::ranges::sort(stored.textless);
}

/// The items of the last document that need not be read.
StoredItems items_of(const StoredFeed& stored) {
  std::vector<StoredGuid> known;
  known.reserve(stored.posts.size());
  for (const StoredGuid& post : stored.posts) {
    if (!post.mark.empty() && !std::ranges::binary_search(stored.textless, post.guid)) known.push_back(post);
  }
  for (const StoredFeed::Tomb& tomb : stored.tombs) {
    if (tomb.listed) known.push_back({tomb.guid, {}, {}});
  }
  return {stored.items_text, known};
}

}  // namespace

const StoredGuid* StoredFeed::post(std::string_view guid) const {
  const auto found = std::ranges::lower_bound(posts, guid, {}, &StoredGuid::guid);
  return found != posts.end() && found->guid == guid ? &*found : nullptr;
}

std::vector<StoreResult<StoredFeed>> Ingest::stored_feeds(std::span<const FeedToRead> feeds) {
  Trip trip;
  const Keys& keys = impl_.keys;
  for (const FeedToRead& feed : feeds) {
    const std::string_view url = feed.feed_url, sort = trip.keep(keys.sort(url));
    trip.add({"GET", trip.keep(keys.items(url))});
    trip.add({"GET", trip.keep(keys.volatile_parts(url))});
    trip.add({"HGETALL", trip.keep(keys.guidmap(url))});
    trip.add({"ZRANGE", trip.keep(keys.tombs(url)), "0", "-1", "WITHSCORES"});
    trip.add({"HGETALL", trip.keep(keys.feed(url))});
    trip.add({"ZCARD", sort});
    trip.add({"ZRANGE", sort, "0", "0", "REV", "WITHSCORES"});
    if (feed.texts.value_or(0) == 0) continue;
    const std::uint64_t most = std::numeric_limits<std::int32_t>::max();
    trip.add({"ZRANGE", sort, "0", trip.keep(std::to_string(std::min(*feed.texts, most) - 1)), "REV"});
  }
  trip.ask(impl_);
  std::vector<StoreResult<StoredFeed>> all;
  Trip posts;
  std::vector<std::size_t> newest;  // posts that are asked about, of each feed
  for (const FeedToRead& feed : feeds) {
    std::vector<std::string> ids;
    StoreResult<StoredFeed>& stored = all.emplace_back(read_stored(trip, feed, keys, ids));
    if (stored && trip.is_older_than(feed.failovers)) stored = impl_.leave_older_server();
    if (!stored) ids.clear();
    for (std::string& id : ids) posts.add({"HMGET", posts.keep(std::move(id)), "guid", "truncated", "timestamp"});
    newest.push_back(ids.size());
  }
  posts.ask(impl_);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    std::optional<StoreError> failed;
    find_textless(*all[i], posts, newest[i], feeds[i].texts, failed);
    all[i]->items = items_of(*all[i]);
    if (failed) all[i] = *failed;
  }
  const auto texts = std::make_shared<const std::vector<StoreResult<Reply>>>(trip.take_replies());
  for (StoreResult<StoredFeed>& stored : all) {
    if (stored) stored->texts = texts;
  }
  return all;
}

std::vector<StoreResult<StoredSnapshot>> Ingest::look_up(std::span<const LookUp> wanted) {
  std::vector<FeedToRead> unread;
  for (const LookUp& one : wanted) {
    if (one.stored == nullptr) unread.push_back({one.feed_url, one.failovers, one.texts});
  }
  const std::vector<StoreResult<StoredFeed>> read = stored_feeds(unread);
  std::vector<StoreResult<StoredSnapshot>> known;
  std::vector<std::optional<Search>> searches;
  std::size_t next = 0;
  for (const LookUp& one : wanted) {
    std::optional<Search>& search = searches.emplace_back();
    if (one.stored != nullptr) {
      search.emplace(one, *one.stored);
    } else if (const StoreResult<StoredFeed>& stored = read[next++]; stored) {
      search.emplace(one, *stored);
    }
  }
  Trip ids, entries;
  const auto each = [&](auto work) {
    for (std::optional<Search>& search : searches) {
      if (search) work(*search);
    }
  };
  each([&](Search& search) { search.ask_ids(ids, impl_.keys); });
  ids.ask(impl_);
  each([&](Search& search) { search.take_ids(ids); });
  each([&](Search& search) { search.ask_entries(entries); });
  entries.ask(impl_);
  each([&](Search& search) { search.take_entries(entries); });
  next = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const StoreResult<StoredFeed>* const own = wanted[i].stored == nullptr ? &read[next++] : nullptr;
    if (!searches[i]) {
      known.emplace_back(own->error());
      continue;
    }
    StoreResult<StoredSnapshot>& found = known.emplace_back(searches[i]->take());
    const std::uint64_t failovers = wanted[i].failovers;
    if (found && (ids.is_older_than(failovers) || entries.is_older_than(failovers))) found = impl_.leave_older_server();
  }
  return known;
}

StoreResult<std::vector<StoredPost>> Ingest::stored_posts(const std::string& feed_url) {
  Args args;
  args.add(std::string_view(feed_url));
  args.add(max_compared);
  const auto reply = impl_.run(Script::posts, args);
  if (!reply) return reply.error();
  std::vector<StoredPost> posts;
  posts.reserve(reply->size());
  for (std::size_t i = 0; i < reply->size(); ++i) {
    const ReplyView row = (*reply)[i];
    StoredPost& post = posts.emplace_back();
    post.id = row[0].text();
    post.timestamp = row[1].integer();
    post.guid = row[2].text();
    post.digest = row[3].text();
    std::size_t column = 4;
    for (const char* name : {"date_published", "enclosures", "link", "summary_text", "title"}) {
      const std::string_view value = row[column++].text();
      if (!value.empty()) post.fields.emplace_back(name, value);
    }
  }
  return posts;
}

}  // namespace feedmill
