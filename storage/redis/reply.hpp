// Replies of a server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"

struct redisReader;
struct redisReply;

namespace feedmill {

// Memory for replies: each has its own arena, freed at once, instead of two allocations per element.

/// The memory of one reply. Not movable: elements point into it.
class ReplyArena {
 public:
  ReplyArena() = default;
  ReplyArena(const ReplyArena&) = delete;
  ReplyArena& operator=(const ReplyArena&) = delete;

  /// Builds the next reply of `reader` here. A reply that announces more than 16.7 million elements, or does not fit in
  /// memory, fails with REDIS_ERR_OOM: hiredis 0.14 would allocate for any announced number before the first element
  /// arrives.
  void build_for(redisReader& reader);

  /// Null if out of memory.
  void* allocate(std::size_t bytes) noexcept;

 private:
  std::array<std::byte, 512> first_;  // enough for most replies
  std::pmr::monotonic_buffer_resource memory_{first_.data(), first_.size()};
};

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

// Checks the shape of server replies before they are read.

/// The outer shape of a reply: its type, and the minimum size of an array.
struct ReplyShape {
  enum class Type { array, array_or_nil, integer, text, text_or_nil, text_or_integer };
  Type type{};
  std::size_t least = 0;
};

/// `bug` if the shape of `reply` is impossible for `what`, a command or script; absent otherwise.
std::optional<StoreError> misshapen(std::string_view what, const ReplyShape& shape, const ReplyView& reply);

/// misshapen() for a plain command, by its name. Commands whose replies are not used are not checked.
std::optional<StoreError> misshapen(std::string_view command, const ReplyView& reply);

}  // namespace feedmill
