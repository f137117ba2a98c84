#include "storage/entries/entries.hpp"

#include <algorithm>
#include <iterator>

#include "storage/records/event_json.hpp"
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

}  // namespace feedmill
