// Replies of a server.
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
  bool is_integer() const;                        ///< false for a string of digits
  bool is_text() const;                           ///< a string or a status
  std::string_view text() const;                  ///< of a string, status or error; "" otherwise
  std::int64_t integer() const;                   ///< of an integer, or of a string of digits; 0 otherwise
  std::size_t size() const;                       ///< of an array; 0 otherwise
  ReplyView operator[](std::size_t index) const;  ///< nil past the end
  Fields pairs() const;                           ///< of an array of name, value, name, value …
  std::vector<std::string> texts() const;

 private:
  const redisReply* reply_;
};

/// A reply from the server; never an error reply (that is a StoreError).
class Reply : public ReplyView {
 public:
  /// `arena`: the memory of `reply`.
  Reply(const redisReply* reply, std::shared_ptr<const ReplyArena> arena)
      : ReplyView(reply), arena_(std::move(arena)) {}

  const ReplyView& view() const { return *this; }

 private:
  std::shared_ptr<const ReplyArena> arena_;
};

/// The words of a command. Long ones are not copied, so all must stay valid until the reply.
using Words = std::vector<std::string_view>;

/// The StoreError for an error reply (RELIABILITY §6).
StoreError redis_error(std::string_view text);

/// Adds the key in `words` to an error about a key of the wrong type.
StoreError with_key(StoreError error, const Words& words);

/// Whether the error means that another server must be asked: this one has become a replica, has lost its required
/// replicas, or no longer holds the slot.
bool leads_elsewhere(const StoreError& error);

/// The value of `name:` in a reply to INFO, "" if absent.
std::string_view info_value(std::string_view info, std::string_view name);

}  // namespace feedmill
