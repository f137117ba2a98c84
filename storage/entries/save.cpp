// Posts given by an operator or a program.
#include <algorithm>
#include <array>

#include "storage/entries/entries.hpp"
#include "storage/records/diff.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/event_json.hpp"
#include "storage/records/find_field.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

bool changes_nothing(const EntryWrite& write) {
  constexpr std::array<std::string_view, 5> counted{"last_changed", "rev", "san_ver", saved_field, saved_over_field};
  return write.unset.empty() && std::all_of(write.set.begin(), write.set.end(), [&](const auto& field) {
           return std::find(counted.begin(), counted.end(), field.first) != counted.end();
         });
}

/// Retries a save until the post is not changed concurrently between read and write. All arguments must outlive it.
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
