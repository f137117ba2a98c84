// The digests in a value of state:items:<feed_url>, read without the code under test.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace feedmill::test {

/// What the store keeps of a digest.
inline std::string packed_mark(const std::string& digest) {
  if (digest.size() > 10 && digest.starts_with("cut:"))
    return "!" + (std::string(9, '\0') + digest).substr(digest.size());
  return (std::string(10, '\0') + digest).substr(digest.size());
}

/// Marks by entry id, without a prefix; none if the value is malformed or has a number twice.
inline std::map<std::string, std::string> packed_digests(const std::string& value) {
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t all = 0;
    for (std::size_t i = bytes; i > 0; --i) all = all << 8U | static_cast<unsigned char>(value[at + i - 1]);
    return all;
  };
  std::map<std::string, std::string> marks;
  if (value.size() < 4) return marks;
  const std::size_t count = number(0, 4), end = 4 + 16 * count;
  if (value.size() < end || (value.size() > end && (value.size() - end) % 16 != 8)) return marks;
  for (std::size_t at = 4; at < end; at += 16) {
    marks["Entry:" + std::to_string(number(at, 6))] = value.substr(at + 6, 10);
  }
  return marks.size() == count ? marks : std::map<std::string, std::string>();
}

/// For EVAL with 0 keys: writes the store as builds before schema 2 left it, with a hash of digests for each feed.
inline const char* const written_by_schema_1 = R"(
local urls = redis.call('SMEMBERS', 'feeds')
for _, key in ipairs({'state:removals', 'state:imports'}) do
  local set = redis.call('TYPE', key)['ok'] == 'set'
  for _, url in ipairs(set and redis.call('SMEMBERS', key) or redis.call('ZRANGE', key, 0, -1)) do urls[#urls + 1] = url end
end
for _, url in ipairs(urls) do
  local map = redis.call('HGETALL', url .. ':guidmap')
  for i = 1, #map, 2 do
    redis.call('HSET', url .. ':digests', map[i], redis.call('HGET', map[i + 1], 'digest'))
  end
  local items = redis.call('GET', 'state:items:' .. url)
  if items then
    items = string.sub(items, 5 + 16 * struct.unpack('<I4', items))
    if items == '' then redis.call('DEL', 'state:items:' .. url) else redis.call('SET', 'state:items:' .. url, items) end
  end
end
redis.call('HSET', 'meta:store', 'schema', '1')
redis.call('HDEL', 'meta:store', 'migrating')
return #urls)";

}  // namespace feedmill::test
