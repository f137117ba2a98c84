#include "storage/entries/entries.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "storage/records/diff.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/event_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

std::string limit_text(const std::optional<std::int64_t>& limit) {
  return limit ? std::to_string(*limit) : "-";
}

}  // namespace

std::string Entries::id_of(const std::string& given) const {
  const std::string entries = impl_.keys.entries();
  const std::string_view name = std::string_view(entries).substr(impl_.keys.prefix().size());
  const std::string_view number = std::string_view(given).substr(given.starts_with(name) ? name.size() : 0);
  const bool is_one = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  return is_one ? entries + std::string(number) : given;
}

bool Entries::is_id(std::string_view id) const {
  return id.starts_with(impl_.keys.entries());
}

StoreResult<std::optional<StoredEntry>> Entries::get(const std::string& id) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  // An id is a full key; never read keys other than entries.
  if (!is_id(id)) return std::optional<StoredEntry>();
  const auto reply = impl_.redis.command({"HGETALL", id});
  if (!reply) return reply.error();
  if (reply->size() == 0) return std::optional<StoredEntry>();
  return std::optional(StoredEntry{id, reply->pairs()});
}

StoreResult<std::vector<bool>> Entries::are_there(std::span<const std::string> names) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  std::vector<std::string> ids;
  for (const std::string& name : names) ids.push_back(is_id(id_of(name)) ? id_of(name) : impl_.keys.none());
  std::vector<Words> commands;
  commands.reserve(ids.size());
  for (const std::string& id : ids) commands.push_back({"EXISTS", id});
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  std::vector<bool> there;
  for (const Reply& reply : *replies) there.push_back(reply.integer() == 1);
  return there;
}

StoreResult<std::optional<StoredEntry>> Entries::get_by_guid(const std::string& feed_url, const std::string& guid) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto id = impl_.redis.command({"HGET", impl_.keys.guidmap(feed_url), guid});
  if (!id) return id.error();
  if (id->is_nil()) return std::optional<StoredEntry>();
  return get(std::string(id->text()));
}

StoreResult<std::vector<StoredEntry>> Entries::get_all(std::span<const std::string> ids) {
  std::vector<std::string> wanted;
  const std::string beginning = impl_.keys.entries();
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(wanted),
               [&](const std::string& id) { return id.starts_with(beginning); });
  return impl_.entries(wanted);
}

StoreResult<std::vector<StoredEntry>> Entries::all_by_order(const std::string& feed_url, std::size_t limit,
                                                            const std::optional<EntryCursor>& before) {
  const auto places = impl_.newest(impl_.keys.sort(feed_url), limit, before);
  if (!places) return places.error();
  return impl_.entries(ids_of(*places));
}

StoreResult<std::optional<EntryCursor>> Entries::place_at(const std::string& feed_url, const EntryCursor& cursor) {
  return impl_.place_at(impl_.keys.sort(feed_url), cursor);
}

StoreResult<bool> Entries::remove(const std::string& id) {
  if (!is_id(id)) return false;  // an id is a full key; never change keys other than entries
  Args args;
  args.add(std::string_view(impl_.keys.channel_prefix()));
  args.own(impl_.options.stream_cap());
  args.add(std::string_view(id));
  const auto reply = impl_.run(Script::entry_remove, args);
  if (!reply) return reply.error();
  return reply->integer() == 1;
}

StoreResult<std::optional<std::uint64_t>> Entries::expire(const std::string& feed_url, const Expiry& expiry) {
  std::optional<std::int64_t> limit, oldest, bytes;
  if (expiry.limit) limit = static_cast<std::int64_t>(*expiry.limit);
  if (expiry.bytes) bytes = static_cast<std::int64_t>(*expiry.bytes);
  if (expiry.age) {
    const auto at = impl_.now();
    if (!at) return at.error();
    oldest = (*at - *expiry.age).count() / 1000;
  }
  Args args;
  args.add(std::string_view(impl_.keys.channel_prefix()));
  args.add(std::string_view(feed_url));
  args.own(json_string(feed_url));
  args.own(impl_.options.stream_cap());
  args.add(impl_.options.signals_deleted ? 1 : 0);
  for (const auto& each : {limit, oldest, bytes}) args.own(limit_text(each));
  for (std::uint64_t trimmed = 0;;) {
    const auto reply = impl_.run(Script::expire, args);
    if (!reply) return reply.error();
    const std::int64_t step = (*reply)[0].integer();
    if (step < 0) return std::optional<std::uint64_t>();
    trimmed += static_cast<std::uint64_t>(step);
    if ((*reply)[1].integer() == 0) return std::optional(trimmed);
  }
}

StoreResult<std::optional<std::uint64_t>> Entries::expire(const std::string& feed_url, std::uint64_t limit) {
  Expiry expiry;
  expiry.limit = limit;
  return expire(feed_url, expiry);
}

// Posts given by an operator or a program.

namespace {

/// Whether a save would change no value. Dropping a field that others imply is not a change.
bool changes_nothing(const EntryWrite& write) {
  constexpr std::array<std::string_view, 5> counted{"last_changed", "rev", "san_ver", saved_field, saved_over_field};
  const bool unsets_nothing = std::ranges::all_of(write.unset, [&](const std::string& name) {
    return std::ranges::find(implied_names, name) != implied_names.end() && find_field(write.old, name) == nullptr;
  });
  return unsets_nothing && std::all_of(write.set.begin(), write.set.end(), [&](const auto& field) {
           return std::find(counted.begin(), counted.end(), field.first) != counted.end();
         });
}

/// Saves a post; retries if the post changes between read and write. All arguments must outlive it.
class Saving {
 public:
  Saving(Entries& entries, Store::Impl& impl, const GivenEntry& entry, const GivenMarkup& markup, bool replace)
      : entries_(entries), impl_(impl), entry_(entry), markup_(markup), replace_(replace) {}

  StoreResult<Saved> run() {
    for (int tries = 0; tries < 20; ++tries) {
      auto done = attempt();
      if (!done || !again_) return done;
    }
    return StoreError{StoreError::Code::refused,
                      "nothing was written: guid map and entry do not agree, or others change it all the time"};
  }

 private:
  StoreResult<Saved> attempt() {
    again_ = false;
    const auto now = impl_.now();
    if (!now) return now.error();
    // The stored guid is known only after cleaning.
    const auto unread = given_record(entry_, {}, true, markup_);
    if (!unread) return unfit(unread.error());
    const auto stored = entries_.get_by_guid(entry_.feed_url, unread->guid);
    if (!stored) return stored.error();
    const Fields old = *stored ? (*stored)->fields : Fields();
    auto record = given_record(entry_, old, replace_, markup_);
    if (!record) return unfit(record.error());
    record->fields.emplace_back(saved_field, std::to_string(now->count() / 1000));
    if (*stored) {
      const bool again = find_field(old, saved_field) != nullptr;
      record->fields.emplace_back(saved_over_field, again ? saved_over(old) : reader_digest(old));
    }

    StoredSnapshot known;
    StoredSnapshot::Guid& guid = known.guids.emplace_back();
    guid.is = *stored ? StoredSnapshot::Is::different : StoredSnapshot::Is::unknown;
    if (*stored) guid.id = (*stored)->id;
    guid.fields = old;
    const EntryDiff diff = diff_entries({*record}, known, *now, impl_.options.events.shown_up_to());
    const EntryWrite& write = diff.writes.front();
    if (*stored && changes_nothing(write)) {
      Saved same;
      same.result = Saved::Result::unchanged;
      same.id = write.id;
      same.rev = write.rev - 1;
      return same;
    }
    const std::string* const rev = find_field(old, "rev");
    return send(write, rev == nullptr ? "" : *rev, now->count() / 1000);
  }

  StoreResult<Saved> send(const EntryWrite& write, const std::string& rev, std::int64_t now_seconds) {
    Commit commit;
    commit.feed_url = entry_.feed_url;
    Args args;
    args.add(std::string_view(impl_.options.key_prefix));
    args.add(std::string_view(entry_.feed_url));
    args.own(json_string(entry_.feed_url));
    args.own(impl_.options.stream_cap());
    args.add(std::string_view(write.guid));
    args.add(std::string_view(write.id));
    args.add(std::string_view(rev));
    args.add(std::string_view(write.digest));
    args.add(write.timestamp);
    args.add(write.bytes);
    args.own(post_event(commit, write, now_seconds, impl_.options.events));
    args.add(write.set);
    args.add(std::span<const std::string>(write.unset));
    const auto reply = impl_.run(Script::entry_save, args);
    if (!reply) return reply.error();
    const std::string_view word = (*reply)[0].text();
    Saved saved;
    if (word == "created" || word == "modified") {
      saved.result = word == "created" ? Saved::Result::created : Saved::Result::modified;
      saved.id = (*reply)[1].text();
      saved.rev = write.rev;
    } else if (word == "unknown") {
      saved.result = Saved::Result::unknown_feed;
    } else if (word == "changed") {
      again_ = true;
    } else {
      return StoreError{StoreError::Code::refused, "nothing was written: " + std::string(word)};
    }
    return saved;
  }

  static Saved unfit(std::string why) {
    Saved refused;
    refused.result = Saved::Result::unfit;
    refused.detail = std::move(why);
    return refused;
  }

  Entries& entries_;
  Store::Impl& impl_;
  const GivenEntry& entry_;
  const GivenMarkup& markup_;
  const bool replace_;
  bool again_ = false;
};

}  // namespace

StoreResult<Saved> Entries::save(const GivenEntry& entry, const GivenMarkup& markup) {
  return Saving(*this, impl_, entry, markup, true).run();
}

StoreResult<Saved> Entries::update_or_create(const GivenEntry& entry, const GivenMarkup& markup) {
  return Saving(*this, impl_, entry, markup, false).run();
}

}  // namespace feedmill
