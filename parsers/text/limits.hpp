// Caps of SECURITY §3 on one entry (bytes or counts), and limits on the cost of reading a whole document. Values over a
// cap are cut or dropped, and named in Entry::truncated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace feedmill::limits {

inline constexpr std::size_t guid = std::size_t{1} << 10;  ///< longer ones are stored as a hash
inline constexpr std::size_t url = 2048;                   ///< longer ones are dropped
inline constexpr std::size_t title = std::size_t{8} << 10;
inline constexpr std::size_t description = std::size_t{8} << 10;  ///< of a feed
inline constexpr std::size_t author = std::size_t{1} << 10;
inline constexpr std::size_t category = 256;
inline constexpr std::size_t word = 128;  ///< a media type or language
inline constexpr std::size_t categories = 64, enclosures = 32, links = 32, people = 64;
inline constexpr std::size_t deletions = 1000;  ///< per document
inline constexpr std::size_t trail = 16;        ///< stores that a post may have passed through
inline constexpr std::size_t summary = std::size_t{64} << 10;
inline constexpr std::size_t content = std::size_t{1} << 20;
inline constexpr std::size_t json = std::size_t{256} << 10;  ///< one field that contains JSON
inline constexpr std::size_t entry = std::size_t{2} << 20;   ///< all fields together

// SECURITY M2: the bound on memory, which is both reserved and tested. Peak live memory while a document is read,
// itself included, is at most reading_base plus reading_multiple times its size without content-encoding.
inline constexpr std::uint64_t reading_base = std::uint64_t{4} << 20;
inline constexpr std::uint64_t reading_multiple = 16;

/// Decoding makes a text at most this many times longer: one byte can become a character of three bytes. A few
/// charsets yield more for some bytes, but a document of only such bytes is not really in that charset.
inline constexpr std::size_t decoded_multiple = 3;

/// Most live memory that read_feed() and read_opml() may take at once, in bytes. Input decodes to at most
/// decoded_multiple times its size. An XML tree takes 64 bytes per element or run of text and 40 per attribute, a JSON
/// tree 14 per byte of text. Documents too dense for this are read as far as they fit.
constexpr std::uint64_t reading_cost(std::uint64_t decoded_bytes) {
  return reading_base + reading_multiple * decoded_bytes;
}

// SECURITY T18: steps that reading may take (allowance.hpp). Documents of the corpus take at most 1/50 of them.
inline constexpr std::uint64_t steps_base = 1'000'000;
inline constexpr std::uint64_t steps_multiple = 32;

constexpr std::uint64_t reading_steps(std::uint64_t decoded_bytes) {
  return steps_base + steps_multiple * decoded_bytes;
}

}  // namespace feedmill::limits
