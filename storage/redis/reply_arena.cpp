#include "storage/redis/reply_arena.hpp"

#include <cstdint>
#include <cstring>
#include <new>

#include <hiredis/hiredis.h>

namespace feedmill {
namespace {

// Limit per reply. Our largest reply lists all feeds of a store.
constexpr std::uint64_t max_elements = 1U << 24U;

/// Creates an element and links it into its parent.
redisReply* put(const redisReadTask& task) {
  void* const memory = static_cast<ReplyArena*>(task.privdata)->allocate(sizeof(redisReply));
  if (memory == nullptr) return nullptr;
  auto* const reply = new (memory) redisReply{};
  reply->type = task.type;
  if (task.parent != nullptr) static_cast<redisReply*>(task.parent->obj)->element[task.idx] = reply;
  return reply;
}

void* put_string(const redisReadTask* task, char* text, std::size_t length) {
  redisReply* const reply = put(*task);
  auto* const copy =
      reply == nullptr ? nullptr : static_cast<char*>(static_cast<ReplyArena*>(task->privdata)->allocate(length + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text, length);
  copy[length] = '\0';
  reply->str = copy;
  reply->len = length;
  return reply;
}

void* put_array(const redisReadTask* task, std::uint64_t count) {
  redisReply* const reply = count > max_elements ? nullptr : put(*task);
  if (reply == nullptr) return nullptr;
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(redisReply*);
  void* const places = static_cast<ReplyArena*>(task->privdata)->allocate(bytes);
  if (places == nullptr) return nullptr;
  std::memset(places, 0, bytes);
  reply->elements = static_cast<std::size_t>(count);
  reply->element = static_cast<redisReply**>(places);
  return reply;
}

void* put_integer(const redisReadTask* task, long long value) {
  redisReply* const reply = put(*task);
  if (reply != nullptr) reply->integer = value;
  return reply;
}

void* put_nil(const redisReadTask* task) {  // the type of an absent value
  redisReply* const reply = put(*task);
  if (reply != nullptr) reply->type = REDIS_REPLY_NIL;
  return reply;
}

template <class Functions>
Functions building() {
  Functions functions{};
  functions.createString = put_string;
  // The type of the count differs between the versions of hiredis.
  functions.createArray = [](const redisReadTask* task, auto count) {
    return put_array(task, static_cast<std::uint64_t>(count));
  };
  functions.createInteger = put_integer;
  functions.createNil = put_nil;
  functions.freeObject = [](void*) {};  // the arena does
  // RESP3 types, which we never request.
  if constexpr (requires { functions.createDouble; }) {
    functions.createDouble = [](const redisReadTask*, double, char*, std::size_t) -> void* { return nullptr; };
    functions.createBool = [](const redisReadTask*, int) -> void* { return nullptr; };
  }
  return functions;
}

}  // namespace

void ReplyArena::build_for(redisReader& reader) {
  static auto functions = building<redisReplyObjectFunctions>();
  reader.fn = &functions;
  reader.privdata = this;
}

void* ReplyArena::allocate(std::size_t bytes) noexcept {
  try {
    return memory_.allocate(bytes, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace feedmill
