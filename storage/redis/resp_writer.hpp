// Commands in Redis' protocol (RESP), from the first word until they are sent.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <sys/uio.h>
#include <vector>

namespace feedmill {

/// Arrays of bulk strings, one behind another. Short words are copied into one buffer, which is kept for the next
/// commands; long ones are referred to where they lie. Not thread-safe.
class RespWriter {
 public:
  /// A longer word is not copied: it must live until all of it was sent or clear() was called.
  static constexpr std::size_t longest_copied = 4U << 10U;
  /// A buffer that grew beyond this is given back once it is empty.
  static constexpr std::size_t most_kept = 1U << 20U;

  /// Begins a command; add() has to be called `words` times behind it.
  void begin(std::size_t words);
  void add(std::string_view word);

  /// Bytes that are not sent.
  std::size_t waiting() const { return waiting_; }
  /// What is to be sent next, in order: at least one piece where bytes wait, at most as many as `room` has. They point
  /// into the buffer and into words; only sent() may follow before they are used.
  std::span<const iovec> pieces(std::span<iovec> room) const;
  /// The first `bytes` of what waits have gone, at most waiting().
  void sent(std::size_t bytes);
  /// Forgets what waits.
  void clear();

 private:
  struct Reference {
    std::size_t at;  // in buffer_: before this byte
    std::string_view rest;
  };

  char* room_for(std::size_t bytes);
  void end_at(const char* end);

  std::string buffer_;  // its size is room, of which used_ are filled
  std::size_t used_ = 0;
  std::size_t gone_ = 0;  // of these, sent
  std::size_t waiting_ = 0;
  std::vector<Reference> references_;
  std::size_t next_ = 0;  // reference that is not sent as a whole
};

}  // namespace feedmill
