// What a server answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/redis/reply_arena.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"

struct redisReply;

namespace feedmill {

/// A view into a reply that a Reply owns. Cheap to copy; must not outlive it.
class ReplyView {
 public:
  explicit ReplyView(const redisReply* reply) : reply_(reply) {}

  bool is_nil() const;
  bool is_error() const;
  bool is_array() const;
  bool is_integer() const;                        ///< not a string of digits
  bool is_text() const;                           ///< a string or a status
  std::string_view text() const;                  ///< of a string, status or error; "" otherwise
  std::int64_t integer() const;                   ///< of an integer, or of a string of digits; 0 otherwise
  std::size_t size() const;                       ///< of an array; 0 otherwise
  ReplyView operator[](std::size_t index) const;  ///< nil past the end
  Fields pairs() const;                           ///< of an array name, value, name, value …
  std::vector<std::string> texts() const;

 private:
  const redisReply* reply_;
};

/// A reply from the server; never an error reply (that is a StoreError).
class Reply : public ReplyView {
 public:
  /// `arena`: what `reply` was built in.
  Reply(const redisReply* reply, std::shared_ptr<const ReplyArena> arena)
      : ReplyView(reply), arena_(std::move(arena)) {}

  const ReplyView& view() const { return *this; }

 private:
  std::shared_ptr<const ReplyArena> arena_;
};

/// A command: its words. Long ones are sent from where they lie, so all must live until the command was answered.
using Words = std::vector<std::string_view>;

/// The error an error reply means (RELIABILITY §6).
StoreError redis_error(std::string_view text);

/// The same with the key that `words` were refused for, where that is of another type.
StoreError with_key(StoreError error, const Words& words);

/// Whether it says that another server is to be asked: this one is a replica by now, has lost the replicas that it must
/// have, or does not hold the slot any more.
bool leads_elsewhere(const StoreError& error);

/// The value of `name:` in an answer to INFO, "" when it is not there.
std::string_view info_value(std::string_view info, std::string_view name);

}  // namespace feedmill
