// Checks a feed: its state, index, map, digests and tombstones, and the texts and events of its entries.
#include <algorithm>
#include <charconv>

#include "parsers/text/strings.hpp"
#include "storage/records/diff.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/resanitise.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/upkeep/verify_work.hpp"

namespace feedmill {
namespace {

constexpr std::string_view entries_per_look = "2500";  // one script for a feed at the usual hard cap
constexpr std::string_view walked_per_step = "500";
constexpr std::size_t texts_per_trip = 32;               // an entry has at most 2 MiB
constexpr std::uint64_t most_markup_bytes = 16U << 20U;  // the rest of the feed is checked after repairing these

}  // namespace

StoreResult<Verifier::Work::Violations> Verifier::Work::walk(const std::string& url, std::string_view what) {
  Violations all;
  for (std::string cursor = "0"; !cursor.empty();) {
    const auto reply = ask(Script::verify_feed, {url, what, cursor, walked_per_step});
    if (!reply) return reply.error();
    for (Violation& violation : read_findings((*reply)[0])) all.push_back(std::move(violation));
    cursor = (*reply)[1].text();
  }
  return all;
}

Verifier::Work::Names Verifier::Work::look_at_markup(const std::string& id, const std::string& url,
                                                     const Fields& fields, Violations& all) {
  if (markup_bytes_ > most_markup_bytes) return {};
  const bool is_feed = id == impl_.keys.feed(url);
  const Fields wanted = is_feed ? resanitised_feed(fields, markup_) : resanitised(fields, markup_);
  if (wanted.empty()) return {};
  Names stored_anew;
  Violation violation{"S13", is_feed ? "feed.markup" : "entry.markup", url, {id}, "", {}};
  for (const auto& [name, value] : wanted) {
    const std::string* const before = find_field(fields, name);
    const std::string gone, &old = before == nullptr ? gone : *before;
    stored_anew.insert(name);
    if (name != "bytes" && name != "digest") violation.detail += (violation.detail.empty() ? "" : ", ") + name;
    if (!options_.journal) continue;  // without repairs the values are not kept
    markup_bytes_ += old.size() + value.size();
    violation.changes.push_back({value.empty() ? "hdel" : "hset", id, name,
                                 before == nullptr ? std::nullopt : std::optional(old),
                                 value.empty() ? std::nullopt : std::optional(value)});
    if (name == "digest") violation.changes.push_back({"digests", impl_.keys.items(url), url, {}, {}});
  }
  if (!options_.journal) violation.changes.push_back({"hset", id, wanted.front().first, {}, {}});  // repairable
  violation.detail += " would be stored differently today";
  all.push_back(std::move(violation));
  return stored_anew;
}

StoreResult<Verifier::Work::Violations> Verifier::Work::look_at_texts(std::span<const std::string> ids,
                                                                      const std::string& url) {
  Violations all;
  while (!ids.empty()) {
    const auto batch = ids.first(std::min(texts_per_trip, ids.size()));
    std::vector<Words> commands;
    for (const std::string& id : batch) commands.push_back({"HGETALL", id});
    const auto replies = impl_.pipeline(commands);
    if (!replies) return replies.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Fields fields = (*replies)[i].pairs();
      const bool is_entry = batch[i] != impl_.keys.feed(url) && !fields.empty();
      Names stored_anew;  // other violations in these fields, and a wrong size, are repaired with them
      if (options_.markup && !fields.empty()) stored_anew = look_at_markup(batch[i], url, fields, all);
      const std::string* const said = find_field(fields, "bytes");
      const std::string bytes = std::to_string(entry_bytes(fields));
      if (is_entry && stored_anew.empty() && (said == nullptr || *said != bytes)) {
        const std::string claimed = said == nullptr ? "missing" : *said;
        all.push_back({"statistics",
                       "entry.bytes",
                       url,
                       {batch[i]},
                       std::string("bytes is ").append(claimed).append(", its fields have ").append(bytes),
                       {{"hset", batch[i], "bytes", said == nullptr ? std::nullopt : std::optional(*said), bytes}}});
      }
      for (const auto& [name, value] : fields) {
        if (is_clean_text(value) || name == "guid" || stored_anew.contains(name)) continue;
        const bool is_text = !is_utf8(value);
        all.push_back({"DESIGN 3.1",
                       "text",
                       url,
                       {batch[i]},
                       "field " + name + (is_text ? " is not valid UTF-8" : " holds a control character"),
                       {{"hset", batch[i], name, value, cleaned_text(value)}}});
      }
    }
    ids = ids.subspan(batch.size());
  }
  return all;
}

StoreResult<Verifier::Work::Violations> Verifier::Work::look_at_feed(const std::string& url) {
  Violations all;
  bool walk_all = false;
  markup_bytes_ = 0;
  if (options_.markup) {
    const auto markup = options_.markup(url);
    if (!markup) return markup.error();
    markup_ = *markup;
  }
  struct Unheard {
    std::string id;
    std::int64_t rev, changed;
  };
  std::vector<Unheard> unheard;
  for (std::string rank = "0"; !rank.empty();) {
    const auto reply = ask(Script::verify_feed, {url, "feed", rank, entries_per_look});
    if (!reply) return reply.error();
    for (Violation& violation : read_findings((*reply)[0])) all.push_back(std::move(violation));
    walk_all = walk_all || (*reply)[3].integer() == 1;
    rank = (*reply)[1].text();
    state_seen_ = (*reply)[2].text();
    std::vector<std::string> ids;
    const ReplyView facts = (*reply)[4];
    for (std::size_t i = 0; i + 3 < facts.size(); i += 4) {
      const std::string& id = ids.emplace_back(facts[i].text());
      const std::uint64_t entry = entry_number(impl_.keys, id);
      const std::int64_t rev = leading_number<std::int64_t>(facts[i + 1].text());
      const std::int64_t changed = std::max(leading_number<std::int64_t>(facts[i + 2].text()),
                                            leading_number<std::int64_t>(facts[i + 3].text()));
      highest_ = std::max(highest_, entry);
      if (rev > 0 && changed > 0 && signals_.lacks(entry, rev, changed)) unheard.push_back({id, rev, changed});
    }
    entries_seen_ += ids.size();
    if (rank.empty() && !state_seen_.empty()) ids.push_back(impl_.keys.feed(url));
    auto texts = look_at_texts(ids, url);
    if (!texts) return texts.error();
    for (Violation& violation : *texts) all.push_back(std::move(violation));
  }
  for (const std::string_view what : {"guidmap", "digests"}) {
    // A digest without a map entry may be one that the map lacks.
    const bool maps_are_wrong = std::any_of(
        all.begin(), all.end(), [](const Violation& violation) { return violation.kind.starts_with("map."); });
    if (!walk_all || (what == "digests" && maps_are_wrong)) break;
    auto more = walk(url, what);
    if (!more) return more.error();
    for (Violation& violation : *more) all.push_back(std::move(violation));
  }
  // With other violations the sum is meaningless: check it after they are repaired.
  const auto is_sum = [](const Violation& violation) { return violation.kind == "bytes.sum"; };
  if (!std::ranges::all_of(all, is_sum)) std::erase_if(all, is_sum);
  if (unheard.empty()) return all;
  // The record may have been added since the stream was read, or trimmed at its beginning.
  if (const auto read = read_signals(); !read) return read.error();
  for (const Unheard& one : unheard) {
    if (!signals_.lacks(entry_number(impl_.keys, one.id), one.rev, one.changed)) continue;
    all.push_back({"I5",
                   "signal.missing",
                   url,
                   {impl_.keys.signals(), one.id},
                   "no record of revision " + std::to_string(one.rev),
                   {}});
  }
  return all;
}

StoreResult<void> Verifier::Work::look_again(const std::string& url) {
  return settle([&] { return look_at_feed(url); });
}

StoreResult<void> Verifier::Work::feed(const std::string& url) {
  entries_seen_ = 0;
  std::uint64_t entries = 0;
  bool first = true;
  const auto settled = settle([&] {
    auto found = look_at_feed(url);
    if (first) entries = entries_seen_;
    first = false;
    return found;
  });
  if (!settled) return settled.error();
  if (!state_seen_.empty()) {
    ++summary_.feeds;
    ++states_counted_[state_seen_];
  }
  summary_.entries += entries;
  stepped();
  return {};
}

// Checks data derived from posts: channels, timelines, read marks, notices.

namespace {

constexpr std::string_view members_per_step = "500";

}  // namespace

void Verifier::Work::note_behind(std::string_view behind) {
  Milliseconds::rep ms = 0;
  const auto end = std::from_chars(behind.data(), behind.data() + behind.size(), ms).ptr;
  if (end == behind.data()) return;
  const Milliseconds since(ms);
  summary_.behind_since = std::min(summary_.behind_since.value_or(since), since);
  if (end != behind.data() + behind.size()) uncompared_ = true;
}

StoreResult<void> Verifier::Work::posts_of(const std::string& uid, const std::string& url) {
  return settle_call(Script::verify_channel, {"feed", uid, url},
                     [&](const Reply& reply) { note_behind(reply[1].text()); });
}

StoreResult<void> Verifier::Work::page_through(const std::string& of, std::string_view what) {
  for (std::string cursor = "0"; !cursor.empty();) {
    const std::string here = cursor;
    const auto done = settle_call(Script::verify_channel, {what, of, here, members_per_step}, [&](const Reply& reply) {
      note_behind(reply[1].text());
      cursor = reply[2].text();
    });
    if (!done) return done.error();
    stepped();
  }
  return {};
}

StoreResult<void> Verifier::Work::channel(const std::string& uid) {
  ++summary_.channels;
  if (const auto done = settle_call(Script::verify_channel, {"channel", uid}); !done) return done.error();
  for (std::string cursor = "0"; !cursor.empty();) {
    const std::string here = cursor;
    std::vector<std::string> feeds;
    const auto done =
        settle_call(Script::verify_channel, {"members", uid, here, members_per_step}, [&](const Reply& reply) {
          cursor = reply[2].text();
          feeds = reply[3].texts();
        });
    if (!done) return done.error();
    for (const std::string& url : feeds) {
      if (const auto looked = posts_of(uid, url); !looked) return looked.error();
    }
    stepped();
  }
  for (const std::string_view what : {"titles", "timeline", "index"}) {
    if (const auto looked = page_through(uid, what); !looked) return looked.error();
  }
  return page_through(uid, "read");
}

StoreResult<void> Verifier::Work::notices(const std::string& user) {
  return settle_call(Script::verify_channel, {"notices", user});
}

StoreResult<void> Verifier::Work::derived() {
  const auto known = impl_.each_page(impl_.keys.channels(), [&](std::vector<std::string> page) -> StoreResult<bool> {
    for (std::string& uid : page) channels_.insert(std::move(uid));
    return true;
  });
  if (!known) return known.error();
  for (const std::string& uid : channels_) {
    if (const auto done = channel(uid); !done) return done.error();
  }
  return impl_.each_page(impl_.keys.watchers(), [&](const std::vector<std::string>& page) -> StoreResult<bool> {
    for (const std::string& user : page) {
      if (const auto done = settle_call(Script::verify_channel, {"watcher", user}); !done) return done.error();
    }
    return true;
  });
}

StoreResult<void> Verifier::Work::derived_of(const std::string& url) {
  if (const auto done = page_through(url, "holders"); !done) return done.error();
  return impl_.each_page(impl_.keys.holders(url), [&](const std::vector<std::string>& page) -> StoreResult<bool> {
    for (const std::string& uid : page) {
      if (const auto done = posts_of(uid, url); !done) return done.error();
    }
    return true;
  });
}

}  // namespace feedmill
