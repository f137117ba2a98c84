#include "storage/redis/reply.hpp"

#include <algorithm>
#include <array>

#include <hiredis/hiredis.h>

#include "parsers/text/numbers.hpp"

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
      Row{"ANSWERED", Code::refused},  // another worker has the request now (storage/requests)
      Row{"QUEUE", Code::refused},     // requests wait that a call must not overtake (storage/requests)
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

}  // namespace feedmill
