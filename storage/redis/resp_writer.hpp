// Formats commands in Redis' protocol (RESP) and buffers them until they are sent.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <sys/uio.h>
#include <vector>

namespace feedmill {

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

  std::string buffer_;  // its size is capacity, of which used_ bytes are filled
  std::size_t used_ = 0;
  std::size_t gone_ = 0;  // how many of them are sent
  std::size_t waiting_ = 0;
  std::vector<Reference> references_;
  std::size_t next_ = 0;  // first reference not sent completely
};

}  // namespace feedmill
