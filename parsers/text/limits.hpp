// The caps of SECURITY §3 on one entry: bytes, or how many. Values over them are cut or dropped and named in
// Entry::truncated. And what a whole document may cost.
#pragma once

#include <cstddef>
#include <cstdint>

namespace feedmill::limits {

inline constexpr std::size_t guid = std::size_t{1} << 10;  ///< longer ones are hashed
inline constexpr std::size_t url = 2048;                   ///< longer ones are dropped
inline constexpr std::size_t title = std::size_t{8} << 10;
inline constexpr std::size_t description = std::size_t{8} << 10;  ///< of a feed
inline constexpr std::size_t author = std::size_t{1} << 10;
inline constexpr std::size_t category = 256;
inline constexpr std::size_t word = 128;  ///< a media type, a language
inline constexpr std::size_t categories = 64, enclosures = 32, links = 32, people = 64;
inline constexpr std::size_t deletions = 1000;  ///< of one document
inline constexpr std::size_t trail = 16;        ///< stores that a post may have passed
inline constexpr std::size_t summary = std::size_t{64} << 10;
inline constexpr std::size_t content = std::size_t{1} << 20;
inline constexpr std::size_t json = std::size_t{256} << 10;  ///< of one field that holds JSON
inline constexpr std::size_t entry = std::size_t{2} << 20;   ///< all fields together

// SECURITY M2: one and the same bound is reserved and proven. What is live at most while a document is read, itself
// included: so much, and so many times its bytes after content-encoding was removed.
inline constexpr std::uint64_t reading_base = std::uint64_t{4} << 20;
inline constexpr std::uint64_t reading_multiple = 16;

/// What bytes decode to: so many times as many at most, which is a byte for each character of three. A few charsets
/// make more of a byte; a document of such bytes alone is not in that charset.
inline constexpr std::size_t decoded_multiple = 3;

/// In bytes of live memory, for read_feed and for read_opml. Bytes decode to up to decoded_multiple times as many, and
/// XML's tree takes 64 bytes for an element or a run of text, 40 for an attribute, JSON's 14 for each byte of the text:
/// a document that is too dense for this is read up to what fits.
constexpr std::uint64_t reading_cost(std::uint64_t decoded_bytes) {
  return reading_base + reading_multiple * decoded_bytes;
}

// SECURITY T18: the steps that reading may take (allowance.hpp). The documents of the corpus take at most
// a fiftieth of it.
inline constexpr std::uint64_t steps_base = 1'000'000;
inline constexpr std::uint64_t steps_multiple = 32;

constexpr std::uint64_t reading_steps(std::uint64_t decoded_bytes) {
  return steps_base + steps_multiple * decoded_bytes;
}

}  // namespace feedmill::limits
