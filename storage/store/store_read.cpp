// What readers read: entries and signals (DESIGN §3.2, §4).
#include <algorithm>

#include "storage/records/find_field.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {

const std::string& StoredEntry::get(const std::string& field) const {
  static const std::string absent;
  const std::string* value = find_field(fields, field);
  return value == nullptr ? absent : *value;
}

StoreResult<std::optional<StoredEntry>> Store::get(const std::string& id) {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  // An id is a full key: only those of entries are looked at, whatever is asked for.
  if (!id.starts_with(impl_->keys.entries())) return std::optional<StoredEntry>();
  const auto reply = impl_->redis.command({"HGETALL", id});
  if (!reply) return reply.error();
  if (reply->size() == 0) return std::optional<StoredEntry>();
  return std::optional(StoredEntry{id, reply->pairs()});
}

StoreResult<std::optional<StoredEntry>> Store::get_by_guid(const std::string& feed_url, const std::string& guid) {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  const auto id = impl_->redis.command({"HGET", impl_->keys.guidmap(feed_url), guid});
  if (!id) return id.error();
  if (id->is_nil()) return std::optional<StoredEntry>();
  return get(std::string(id->text()));
}

StoreResult<std::vector<std::string>> Store::Impl::newest(const std::string& key, std::size_t limit,
                                                          const std::optional<EntryCursor>& before) {
  if (auto connected = ready(); !connected) return connected.error();
  if (limit == 0) return std::vector<std::string>();
  if (!before) {
    const auto reply = redis.command({"ZREVRANGE", key, "0", std::to_string(limit - 1)});
    if (!reply) return reply.error();
    return reply->texts();
  }
  // The order is (score, member), both falling: of equal scores only members below the cursor's come after it.
  const std::string score = std::to_string(before->score);
  const auto equal = redis.command({"ZRANGEBYSCORE", key, score, score});
  if (!equal) return equal.error();
  std::vector<std::string> ids = equal->texts();
  std::erase_if(ids, [&](const std::string& id) { return id >= before->id; });
  std::reverse(ids.begin(), ids.end());
  if (ids.size() < limit) {
    const auto older = redis.command(
        {"ZRANGE", key, "(" + score, "-inf", "BYSCORE", "REV", "LIMIT", "0", std::to_string(limit - ids.size())});
    if (!older) return older.error();
    const std::vector<std::string> more = older->texts();
    ids.insert(ids.end(), more.begin(), more.end());
  }
  if (ids.size() > limit) ids.resize(limit);
  return ids;
}

StoreResult<std::vector<StoredEntry>> Store::Impl::entries(std::span<const std::string> ids) {
  std::vector<Words> commands;
  commands.reserve(ids.size());
  for (const std::string& id : ids) commands.push_back({"HGETALL", id});
  const auto replies = pipeline(commands);
  if (!replies) return replies.error();
  std::vector<StoredEntry> entries;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if ((*replies)[i].size() > 0) entries.push_back({ids[i], (*replies)[i].pairs()});
  }
  return entries;
}

StoreResult<std::vector<StoredEntry>> Store::get_all(std::span<const std::string> ids) {
  std::vector<std::string> wanted;
  const std::string beginning = impl_->keys.entries();
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(wanted),
               [&](const std::string& id) { return id.starts_with(beginning); });
  return impl_->entries(wanted);
}

StoreResult<std::vector<StoredEntry>> Store::all_by_order(const std::string& feed_url, std::size_t limit,
                                                          const std::optional<EntryCursor>& before) {
  const auto ids = impl_->newest(impl_->keys.sort(feed_url), limit, before);
  if (!ids) return ids.error();
  return impl_->entries(*ids);
}

std::vector<SignalRecord> read_records(ReplyView rows) {
  std::vector<SignalRecord> records;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SignalRecord& record = records.emplace_back();
    record.id = rows[i][0].text();
    record.gone = !rows[i][1].is_array();
    for (auto& [name, value] : rows[i][1].pairs()) {
      if (name == "type")
        record.type = std::move(value);
      else if (name == "json")
        record.json = std::move(value);
    }
  }
  return records;
}

StoreResult<std::vector<SignalRecord>> Store::read_signals(const std::string& after, std::size_t count,
                                                           Milliseconds block) {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  const std::string key = impl_->keys.signals(), count_text = std::to_string(count);
  const std::string block_text = std::to_string(block.count());
  Words words{"XREAD", "COUNT", count_text};
  if (block.count() > 0) words.insert(words.end(), {"BLOCK", block_text});
  words.insert(words.end(), {"STREAMS", key, after});
  const auto reply = impl_->redis.command(words);
  if (!reply) return reply.error();
  return read_records((*reply)[0][1]);
}

StoreResult<std::string> Store::last_signal() {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  const auto reply = impl_->redis.command({"XREVRANGE", impl_->keys.signals(), "+", "-", "COUNT", "1"});
  if (!reply) return reply.error();
  return reply->size() == 0 ? std::string("0-0") : std::string((*reply)[0][0].text());
}

}  // namespace feedmill
