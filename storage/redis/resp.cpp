#include "storage/redis/resp.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>

#include <hiredis/hiredis.h>

#include "parsers/text/strings.hpp"

namespace feedmill {

bool ReplyView::is_nil() const {
  return reply_ == nullptr || reply_->type == REDIS_REPLY_NIL;
}
bool ReplyView::is_error() const {
  return reply_ != nullptr && reply_->type == REDIS_REPLY_ERROR;
}
bool ReplyView::is_array() const {
  return reply_ != nullptr && reply_->type == REDIS_REPLY_ARRAY;
}

bool ReplyView::is_integer() const {
  return reply_ != nullptr && reply_->type == REDIS_REPLY_INTEGER;
}
bool ReplyView::is_text() const {
  return reply_ != nullptr && (reply_->type == REDIS_REPLY_STRING || reply_->type == REDIS_REPLY_STATUS);
}

std::string_view ReplyView::text() const {
  if (reply_ == nullptr) return {};
  switch (reply_->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
      return {reply_->str, static_cast<std::size_t>(reply_->len)};
    default:
      return {};
  }
}

std::int64_t ReplyView::integer() const {
  if (reply_ != nullptr && reply_->type == REDIS_REPLY_INTEGER) return reply_->integer;
  return leading_number<std::int64_t>(text());
}

std::size_t ReplyView::size() const {
  return is_array() ? reply_->elements : 0;
}

ReplyView ReplyView::operator[](std::size_t index) const {
  return ReplyView(index < size() ? reply_->element[index] : nullptr);
}

Fields ReplyView::pairs() const {
  Fields fields;
  fields.reserve(size() / 2);
  for (std::size_t i = 0; i + 1 < size(); i += 2) fields.emplace_back((*this)[i].text(), (*this)[i + 1].text());
  return fields;
}

std::vector<std::string> ReplyView::texts() const {
  std::vector<std::string> all;
  all.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) all.emplace_back((*this)[i].text());
  return all;
}

StoreError redis_error(std::string_view text) {
  struct Row {
    std::string_view start;
    StoreError::Code code;
  };
  using Code = StoreError::Code;
  static constexpr std::array rows{
      Row{"LOADING", Code::loading},
      Row{"BUSY ", Code::loading},
      Row{"NOSCRIPT", Code::loading},  // dropped again right after loading
      Row{"TRYAGAIN", Code::loading},
      Row{"CLUSTERDOWN", Code::loading},
      Row{"MASTERDOWN", Code::loading},
      Row{"OOM", Code::out_of_memory},
      Row{"MISCONF", Code::misconfigured},
      Row{"NOREPLICAS", Code::misconfigured},
      Row{"READONLY", Code::read_only},
      Row{"NOAUTH", Code::auth},
      Row{"WRONGPASS", Code::auth},
      Row{"NOPERM", Code::auth},
      Row{"DENIED", Code::auth},  // protected mode
      Row{"ERR unknown command", Code::auth},
      Row{"ERR Protocol error: unauthenticated", Code::auth},  // for a long command before any login
      Row{"ERR ACL failure in script", Code::auth},
      Row{"ERR The user executing the script", Code::auth},  // before 7.2
      Row{"MOVED", Code::loading},
      Row{"CROSSSLOT", Code::unsupported},  // from a cluster node to a client that does not know the cluster
      Row{"ASK ", Code::loading},           // slot is migrating: wait as for TRYAGAIN
      Row{"UNBLOCKED", Code::loading},      // sent to a waiting client: the server became a replica, or the key moved
      Row{"ERR AUTH", Code::auth},
      Row{"ERR invalid password", Code::auth},
      Row{"WRONGTYPE", Code::refused},
      Row{"ANSWERED", Code::refused},  // another worker has the request now (storage/queues)
      Row{"QUEUE", Code::refused},     // requests wait that a call must not overtake (storage/queues)
      Row{"ERR max number of clients", Code::unavailable},
  };
  for (const Row& row : rows) {
    if (text.starts_with(row.start)) return {row.code, std::string(text)};
  }
  return {Code::bug, std::string(text)};
}

StoreError with_key(StoreError error, const Words& words) {
  static constexpr std::array<std::string_view, 3> of_two{"XGROUP", "XINFO", "MEMORY"};
  if (error.code != StoreError::Code::refused) return error;
  const auto streams = std::ranges::find(words, "STREAMS");
  const auto before =
      streams != words.end() ? streams : words.begin() + (std::ranges::count(of_two, words.front()) > 0 ? 1 : 0);
  if (words.end() - before > 1) error.detail.append(": ").append(before[1]);
  return error;
}

bool leads_elsewhere(const StoreError& error) {
  return error.code == StoreError::Code::read_only || error.detail.starts_with("NOREPLICAS") ||
         error.detail.starts_with("MOVED") || error.detail.starts_with("UNBLOCKED");
}

std::string_view info_value(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; at < info.size();) {
    const std::size_t end = std::min(info.find("\r\n", at), info.size());
    const std::string_view line = info.substr(at, end - at);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
    at = end + 2;
  }
  return {};
}

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

namespace {

constexpr std::size_t line_end = 2;
constexpr std::size_t longest_count = 1 + std::numeric_limits<std::size_t>::digits10 + 1 + line_end;

char* put_line_end(char* to) {
  *to++ = '\r';
  *to++ = '\n';
  return to;
}

/// "$12\r\n"
char* put_count(char* to, char type, std::size_t count) {
  *to++ = type;
  return put_line_end(std::to_chars(to, to + longest_count, count).ptr);
}

}  // namespace

/// The size doubles and is then kept, to avoid filling memory twice.
char* RespWriter::room_for(std::size_t bytes) {
  if (buffer_.size() - used_ < bytes) buffer_.resize(std::max(used_ + bytes, 2 * buffer_.size()));
  return buffer_.data() + used_;
}

void RespWriter::end_at(const char* end) {
  const auto used = static_cast<std::size_t>(end - buffer_.data());
  waiting_ += used - used_;
  used_ = used;
}

void RespWriter::begin(std::size_t words) {
  end_at(put_count(room_for(longest_count), '*', words));
}

void RespWriter::add(std::string_view word) {
  if (word.size() > longest_copied) {
    end_at(put_count(room_for(longest_count), '$', word.size()));
    references_.push_back({used_, word});
    waiting_ += word.size();
    end_at(put_line_end(room_for(line_end)));
  } else {
    char* const to = put_count(room_for(longest_count + word.size() + line_end), '$', word.size());
    end_at(put_line_end(std::copy(word.begin(), word.end(), to)));
  }
}

std::span<const iovec> RespWriter::pieces(std::span<iovec> room) const {
  std::size_t count = 0;
  const auto put = [&](std::string_view piece) {
    if (!piece.empty() && count < room.size()) room[count++] = {const_cast<char*>(piece.data()), piece.size()};
  };
  std::size_t at = gone_;
  for (std::size_t i = next_; i < references_.size() && count < room.size(); ++i) {
    put(std::string_view(buffer_).substr(at, references_[i].at - at));
    put(references_[i].rest);
    at = references_[i].at;
  }
  put(std::string_view(buffer_).substr(at, used_ - at));
  return room.first(count);
}

void RespWriter::sent(std::size_t bytes) {
  waiting_ -= bytes;
  if (waiting_ == 0) {
    clear();
    return;
  }
  while (bytes > 0) {
    const bool is_last = next_ == references_.size();
    const std::size_t copied = std::min(bytes, (is_last ? used_ : references_[next_].at) - gone_);
    gone_ += copied;
    bytes -= copied;
    if (is_last) return;
    std::string_view& rest = references_[next_].rest;
    const std::size_t referred = std::min(bytes, rest.size());
    rest.remove_prefix(referred);
    bytes -= referred;
    if (rest.empty()) ++next_;
  }
}

void RespWriter::clear() {
  if (buffer_.size() > most_kept) std::string().swap(buffer_);
  used_ = gone_ = waiting_ = next_ = 0;
  references_.clear();
}

}  // namespace feedmill
