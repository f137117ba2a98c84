#include "storage/store/key_value.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "parsers/text/strings.hpp"
#include "storage/redis/redis.hpp"

namespace feedmill {

std::string score_text(std::string_view score) {
  double value = 0;
  if (!read_number(score, value)) return std::string(score);
  if (std::abs(value) < 9e15 && value == std::floor(value)) return std::to_string(static_cast<std::int64_t>(value));
  return std::string(score);
}

namespace {

/// The members of a set, or alternating member and score of a sorted set, read in small steps that do not block others.
/// Members present throughout are included once, ordered by score and then name.
StoreResult<std::vector<std::string>> scan(Redis& redis, const std::string& key, bool has_scores) {
  std::map<std::string, std::string> found;
  std::string cursor = "0";
  do {
    const auto page = redis.command({has_scores ? "ZSCAN" : "SSCAN", key, cursor, "COUNT", "1000"});
    if (!page) return page.error();
    cursor = (*page)[0].text();
    const ReplyView words = (*page)[1];
    for (std::size_t i = 0; i < words.size(); i += has_scores ? 2 : 1) {
      found.insert_or_assign(std::string(words[i].text()), has_scores ? score_text(words[i + 1].text()) : "");
    }
  } while (cursor != "0");
  using Member = std::pair<double, std::map<std::string, std::string>::const_iterator>;
  std::vector<Member> order;
  order.reserve(found.size());
  for (auto member = found.cbegin(); member != found.cend(); ++member) {
    double score = 0;
    if (has_scores && !read_number(member->second, score)) {  // infinite
      score = std::copysign(std::numeric_limits<double>::infinity(), member->second.starts_with('-') ? -1 : 1);
    }
    order.emplace_back(score, member);
  }
  std::ranges::stable_sort(order, {}, &Member::first);
  std::vector<std::string> all;
  for (const auto& [score, member] : order) {
    all.push_back(member->first);
    if (has_scores) all.push_back(member->second);
  }
  return all;
}

}  // namespace

StoreResult<KeyValue> read_key(Redis& redis, const std::string& key) {
  const auto type = redis.command({"TYPE", key});
  if (!type) return type.error();
  KeyValue value{key, std::string(type->text()), {}};
  if (value.type == "none") return value;
  if (value.type == "set" || value.type == "zset") {
    auto members = scan(redis, key, value.type == "zset");
    if (!members) return members.error();
    value.words = std::move(*members);
    return value;
  }
  Words words{"GET", key};
  if (value.type == "hash") words = {"HGETALL", key};
  if (value.type == "list") words = {"LRANGE", key, "0", "-1"};
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
  }
  return value;
}

}  // namespace feedmill
