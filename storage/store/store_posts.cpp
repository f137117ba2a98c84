// Reads shared by several parts of the store: ordered posts, members of sets, records of the stream.
#include <algorithm>
#include <iterator>
#include <set>

#include "parsers/text/strings.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {

StoreResult<void> Store::Impl::each_page(const std::string& key,
                                         const std::function<StoreResult<bool>(std::vector<std::string> page)>& take) {
  std::string cursor = "0";
  return each_page(key, take, cursor);
}

StoreResult<void> Store::Impl::each_page(const std::string& key,
                                         const std::function<StoreResult<bool>(std::vector<std::string> page)>& take,
                                         std::string& cursor) {
  do {
    if (auto connected = ready(); !connected) return connected.error();
    const auto reply = redis.command({"SSCAN", key, cursor, "COUNT", "1000"});
    if (!reply) return reply.error();
    std::string next((*reply)[0].text());
    const auto goes_on = take((*reply)[1].texts());
    if (!goes_on) return goes_on.error();
    if (!*goes_on) return {};
    cursor = std::move(next);
  } while (cursor != "0");
  return {};
}

StoreResult<std::vector<std::string>> Store::Impl::members_after(const std::string& key, const std::string& after,
                                                                 std::size_t most, std::string_view beginning) {
  if (auto connected = ready(); !connected) return connected.error();
  std::set<std::string> first;  // SSCAN may return a member twice
  std::string cursor = "0";
  do {
    const auto reply = redis.command({"SSCAN", key, cursor, "COUNT", "1000"});
    if (!reply) return reply.error();
    cursor = (*reply)[0].text();
    const ReplyView members = (*reply)[1];
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::string_view member = members[i].text();
      if (member <= after || !member.starts_with(beginning)) continue;
      if (first.size() == most && member >= *first.rbegin()) continue;
      first.emplace(member);
      if (first.size() > most) first.erase(std::prev(first.end()));
    }
  } while (cursor != "0");
  return std::vector<std::string>(first.begin(), first.end());
}

StoreResult<std::vector<EntryCursor>> Store::Impl::newest(const std::string& key, std::size_t limit,
                                                          const std::optional<EntryCursor>& before) {
  if (auto connected = ready(); !connected) return connected.error();
  std::vector<EntryCursor> places;
  const auto add = [&](ReplyView reply) {
    for (const auto& [id, its] : reply.pairs()) {
      if (places.size() < limit) places.push_back({leading_number<std::int64_t>(its), id});
    }
  };
  if (limit == 0) return places;
  if (!before) {
    const auto reply = redis.command({"ZREVRANGE", key, "0", std::to_string(limit - 1), "WITHSCORES"});
    if (!reply) return reply.error();
    add(reply->view());
    return places;
  }
  // The order is (score, member), descending: of equal scores only members below the cursor's come after it.
  const std::string score = std::to_string(before->score);
  const auto equal = redis.command({"ZRANGEBYSCORE", key, score, score});
  if (!equal) return equal.error();
  std::vector<std::string> ids = equal->texts();
  std::reverse(ids.begin(), ids.end());
  for (std::string& id : ids) {
    if (id < before->id && places.size() < limit) places.push_back({before->score, std::move(id)});
  }
  if (places.size() == limit) return places;
  const auto older = redis.command({"ZRANGE", key, "(" + score, "-inf", "BYSCORE", "REV", "LIMIT", "0",
                                    std::to_string(limit - places.size()), "WITHSCORES"});
  if (!older) return older.error();
  add(older->view());
  return places;
}

StoreResult<std::optional<EntryCursor>> Store::Impl::place_at(const std::string& key, const EntryCursor& cursor) {
  if (auto connected = ready(); !connected) return connected.error();
  const std::string score = std::to_string(cursor.score);
  const auto equal = redis.command({"ZRANGEBYSCORE", key, score, score});
  if (!equal) return equal.error();
  const std::vector<std::string> ids = equal->texts();  // sorted
  const auto found = std::lower_bound(ids.begin(), ids.end(), cursor.id);
  if (found != ids.end()) return std::optional(EntryCursor{cursor.score, *found});
  const auto newer = redis.command({"ZRANGEBYSCORE", key, "(" + score, "+inf", "WITHSCORES", "LIMIT", "0", "1"});
  if (!newer) return newer.error();
  std::optional<EntryCursor> place;
  for (const auto& [id, its] : newer->pairs()) place = EntryCursor{leading_number<std::int64_t>(its), id};
  return place;
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

std::vector<EventRecord> read_event_records(ReplyView rows) {
  std::vector<EventRecord> records;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EventRecord& record = records.emplace_back();
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

}  // namespace feedmill
