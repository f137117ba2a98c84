// Redis' protocol (RESP): replies of a server, and commands formatted and buffered until they are sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/uio.h>
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

/// misshapen() for a plain command, by its name. Commands with unused replies are not checked.
std::optional<StoreError> misshapen(std::string_view command, const ReplyView& reply);

// Formats commands in Redis' protocol (RESP) and buffers them until they are sent.

/// Writes consecutive arrays of bulk strings. Short words are copied into a reusable buffer; long ones are referenced
/// in place. Not thread-safe.
class RespWriter {
 public:
  /// Longer words are not copied: they must stay valid until sent completely or until clear().
  static constexpr std::size_t longest_copied = 4U << 10U;
  /// A larger buffer is freed once it is empty.
  static constexpr std::size_t most_kept = 1U << 20U;

  /// Begins a command; follow with `words` calls of add().
  void begin(std::size_t words);
  void add(std::string_view word);

  /// Bytes not yet sent.
  std::size_t waiting() const { return waiting_; }
  /// The next bytes to send, in order: at least one piece if any wait, at most `room`'s size. They point into the
  /// buffer and into words; call only sent() before using them.
  std::span<const iovec> pieces(std::span<iovec> room) const;
  /// Removes the first `bytes` of the waiting ones, at most waiting().
  void sent(std::size_t bytes);
  /// Drops all waiting bytes.
  void clear();

 private:
  struct Reference {
    std::size_t at;  // insert before this byte of buffer_
    std::string_view rest;
  };

  char* room_for(std::size_t bytes);
  void end_at(const char* end);

  std::string buffer_;  // its size is the capacity; the first used_ bytes are filled
  std::size_t used_ = 0;
  std::size_t gone_ = 0;  // how many of the used_ bytes are sent
  std::size_t waiting_ = 0;
  std::vector<Reference> references_;
  std::size_t next_ = 0;  // first reference not sent completely
};

}  // namespace feedmill
