#include "storage/redis/reply_shape.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace feedmill {
namespace {

using Type = ReplyShape::Type;

struct Row {
  std::string_view command;
  ReplyShape shape;
};

constexpr std::array rows{
    Row{"GET", {Type::text_or_nil}},    Row{"HGET", {Type::text_or_nil}},    Row{"HGETALL", {Type::array}},
    Row{"HMGET", {Type::array}},        Row{"INFO", {Type::text}},           Row{"LRANGE", {Type::array}},
    Row{"SCARD", {Type::integer}},      Row{"SCRIPT", {Type::text}},         Row{"SISMEMBER", {Type::integer}},
    Row{"SMEMBERS", {Type::array}},     Row{"TIME", {Type::array, 2}},       Row{"TYPE", {Type::text}},
    Row{"WAIT", {Type::integer}},       Row{"WAITAOF", {Type::array, 2}},    Row{"XLEN", {Type::integer}},
    Row{"XRANGE", {Type::array}},       Row{"XREAD", {Type::array_or_nil}},  Row{"XREADGROUP", {Type::array_or_nil}},
    Row{"XREVRANGE", {Type::array}},    Row{"ZCARD", {Type::integer}},       Row{"ZCOUNT", {Type::integer}},
    Row{"ZRANGE", {Type::array}},       Row{"ZRANGEBYSCORE", {Type::array}}, Row{"ZREVRANGE", {Type::array}},
    Row{"ZSCORE", {Type::text_or_nil}},
};

bool fits(const ReplyShape& shape, const ReplyView& reply) {
  switch (shape.type) {
    case Type::array:
      return reply.is_array() && reply.size() >= shape.least;
    case Type::array_or_nil:
      return reply.is_array() || reply.is_nil();
    case Type::integer:
      return reply.is_integer();
    case Type::text:
      return reply.is_text();
    case Type::text_or_nil:
      return reply.is_text() || reply.is_nil();
    case Type::text_or_integer:
      return reply.is_text() || reply.is_integer();
  }
  return false;
}

std::string description(const ReplyView& reply) {
  if (reply.is_array()) return "an array of " + std::to_string(reply.size());
  if (reply.is_integer()) return "an integer";
  return reply.is_nil() ? "nothing" : "a text";
}

}  // namespace

std::optional<StoreError> misshapen(std::string_view what, const ReplyShape& shape, const ReplyView& reply) {
  if (fits(shape, reply)) return {};
  return StoreError{StoreError::Code::bug, "the server's answer to " + std::string(what) + " is " + description(reply) +
                                               ", which it cannot be; is something between us and Redis?"};
}

std::optional<StoreError> misshapen(std::string_view command, const ReplyView& reply) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.command == command; });
  if (row == rows.end()) return {};
  return misshapen(command, row->shape, reply);
}

}  // namespace feedmill
