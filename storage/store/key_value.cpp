#include "storage/store/key_value.hpp"

#include <cmath>
#include <cstdint>

#include "parsers/text/numbers.hpp"
#include "storage/redis/redis.hpp"

namespace feedmill {

std::string score_text(std::string_view score) {
  double value = 0;
  if (!read_number(score, value)) return std::string(score);
  if (std::abs(value) < 9e15 && value == std::floor(value)) return std::to_string(static_cast<std::int64_t>(value));
  return std::string(score);
}

StoreResult<KeyValue> read_key(Redis& redis, const std::string& key) {
  const auto type = redis.command({"TYPE", key});
  if (!type) return type.error();
  KeyValue value{key, std::string(type->text()), {}};
  if (value.type == "none") return value;
  Words words{"GET", key};
  if (value.type == "hash") words = {"HGETALL", key};
  if (value.type == "list") words = {"LRANGE", key, "0", "-1"};
  if (value.type == "set") words = {"SMEMBERS", key};
  if (value.type == "zset") words = {"ZRANGE", key, "0", "-1", "WITHSCORES"};
  if (value.type == "stream") words = {"XRANGE", key, "-", "+"};
  const auto reply = redis.command(words);
  if (!reply) return reply.error();
  if (value.type == "string") {
    value.words.emplace_back(reply->text());
  } else if (value.type == "stream") {
    for (std::size_t i = 0; i < reply->size(); ++i) {
      const std::vector<std::string> fields = (*reply)[i][1].texts();
      value.words.emplace_back((*reply)[i][0].text());
      value.words.push_back(std::to_string(fields.size()));
      value.words.insert(value.words.end(), fields.begin(), fields.end());
    }
  } else {
    value.words = reply->texts();
    for (std::size_t i = 1; value.type == "zset" && i < value.words.size(); i += 2) {
      value.words[i] = score_text(value.words[i]);
    }
  }
  return value;
}

}  // namespace feedmill
