// What an operator or a program does to posts beside the feed's document: save, remove, expire.
#include <algorithm>
#include <array>
#include <functional>

#include "storage/records/diff.hpp"
#include "storage/records/find_field.hpp"
#include "storage/records/signals.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

bool changes_nothing(const EntryWrite& write) {
  constexpr std::array<std::string_view, 4> counted{"last_changed", "rev", "san_ver", saved_field};
  return write.unset.empty() && std::all_of(write.set.begin(), write.set.end(), [&](const auto& field) {
           return std::find(counted.begin(), counted.end(), field.first) != counted.end();
         });
}

std::string limit_text(const std::optional<std::int64_t>& limit) {
  return limit ? std::to_string(*limit) : "-";
}

/// Calls the script that saves, with these arguments.
using SaveScript = std::function<StoreResult<Reply>(const Args&)>;

/// Saves until nobody has changed the post between reading and writing it. All it is given outlives it.
class Saving {
 public:
  Saving(Store& store, const StoreOptions& options, const GivenEntry& entry, const GivenMarkup& markup, bool replace)
      : store_(store), options_(options), entry_(entry), markup_(markup), replace_(replace) {}

  StoreResult<Saved> run(const SaveScript& script) {
    for (int tries = 0; tries < 20; ++tries) {
      auto done = attempt(script);
      if (!done || !again_) return done;
    }
    return StoreError{StoreError::Code::refused,
                      "nothing was written: guid map and entry do not agree, or others change it all the time"};
  }

 private:
  StoreResult<Saved> attempt(const SaveScript& script) {
    again_ = false;
    const auto now = store_.now();
    if (!now) return now.error();
    // What a guid is stored as is known only once it has been cleaned.
    const auto unread = given_record(entry_, {}, true, markup_);
    if (!unread) return unfit(unread.error());
    const auto stored = store_.get_by_guid(entry_.feed_url, unread->guid);
    if (!stored) return stored.error();
    const Fields old = *stored ? (*stored)->fields : Fields();
    auto record = given_record(entry_, old, replace_, markup_);
    if (!record) return unfit(record.error());
    record->fields.emplace_back(saved_field, std::to_string(now->count() / 1000));

    Known known;
    Known::Guid& guid = known.guids.emplace_back();
    guid.is = *stored ? Known::Is::different : Known::Is::unknown;
    if (*stored) guid.id = (*stored)->id;
    guid.fields = old;
    const EntryDiff diff = diff_entries({*record}, known, *now);
    const EntryWrite& write = diff.writes.front();
    if (*stored && changes_nothing(write)) {
      Saved same;
      same.result = Saved::Result::unchanged;
      same.id = write.id;
      same.rev = write.rev - 1;
      return same;
    }
    const std::string* const rev = find_field(old, "rev");
    return send(script, write, rev == nullptr ? "" : *rev, now->count() / 1000);
  }

  StoreResult<Saved> send(const SaveScript& script, const EntryWrite& write, const std::string& rev,
                          std::int64_t now_seconds) {
    Commit commit;
    commit.feed_url = entry_.feed_url;
    Args args;
    args.add(std::string_view(options_.key_prefix));
    args.add(std::string_view(entry_.feed_url));
    args.own(json_string(entry_.feed_url));
    args.add(options_.signals_max_len);
    args.add(std::string_view(write.guid));
    args.add(std::string_view(write.id));
    args.add(std::string_view(rev));
    args.add(std::string_view(write.digest));
    args.add(write.timestamp);
    args.add(write.bytes);
    args.own(post_signal(commit, write, now_seconds));
    args.add(write.set);
    args.add(std::span<const std::string>(write.unset));
    const auto reply = script(args);
    if (!reply) return reply.error();
    const std::string_view word = (*reply)[0].text();
    Saved saved;
    if (word == "ok") {
      saved.result = write.id.empty() ? Saved::Result::created : Saved::Result::modified;
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

  Store& store_;
  const StoreOptions& options_;
  const GivenEntry& entry_;
  const GivenMarkup& markup_;
  const bool replace_;
  bool again_ = false;
};

}  // namespace

StoreResult<Saved> Store::save(const GivenEntry& entry, const GivenMarkup& markup) {
  const SaveScript script = [this](const Args& args) { return impl_->run(Script::entry_save, args); };
  return Saving(*this, impl_->options, entry, markup, true).run(script);
}

StoreResult<Saved> Store::update_or_create(const GivenEntry& entry, const GivenMarkup& markup) {
  const SaveScript script = [this](const Args& args) { return impl_->run(Script::entry_save, args); };
  return Saving(*this, impl_->options, entry, markup, false).run(script);
}

StoreResult<bool> Store::remove(const std::string& id) {
  if (!id.starts_with(impl_->keys.entries())) return false;  // an id is a full key: only those of entries are touched
  Args args;
  args.add(std::string_view(impl_->keys.channel_prefix()));
  args.add(impl_->options.signals_max_len);
  args.add(std::string_view(id));
  const auto reply = impl_->run(Script::entry_remove, args);
  if (!reply) return reply.error();
  return reply->integer() == 1;
}

StoreResult<std::optional<std::uint64_t>> Store::expire(const std::string& feed_url, const Expiry& expiry) {
  std::optional<std::int64_t> limit, oldest, bytes;
  if (expiry.limit) limit = static_cast<std::int64_t>(*expiry.limit);
  if (expiry.bytes) bytes = static_cast<std::int64_t>(*expiry.bytes);
  if (expiry.age) {
    const auto at = now();
    if (!at) return at.error();
    oldest = (*at - *expiry.age).count() / 1000;
  }
  Args args;
  args.add(std::string_view(impl_->keys.channel_prefix()));
  args.add(std::string_view(feed_url));
  args.own(json_string(feed_url));
  args.add(impl_->options.signals_max_len);
  args.add(impl_->options.signals_deleted ? 1 : 0);
  for (const auto& each : {limit, oldest, bytes}) args.own(limit_text(each));
  for (std::uint64_t trimmed = 0;;) {
    const auto reply = impl_->run(Script::expire, args);
    if (!reply) return reply.error();
    const std::int64_t step = (*reply)[0].integer();
    if (step < 0) return std::optional<std::uint64_t>();
    trimmed += static_cast<std::uint64_t>(step);
    if ((*reply)[1].integer() == 0) return std::optional(trimmed);
  }
}

StoreResult<std::optional<std::uint64_t>> Store::expire(const std::string& feed_url, std::uint64_t limit) {
  Expiry expiry;
  expiry.limit = limit;
  return expire(feed_url, expiry);
}

}  // namespace feedmill
