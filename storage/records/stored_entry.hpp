// Stored posts, Entry:<n>, and what became of a wish to change one (DESIGN §3.2).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

/// A stored post.
struct StoredEntry {
  std::string id;  ///< Entry:<n>
  Fields fields;
  /// Value of a field, "" when absent.
  const std::string& get(const std::string& field) const;
};

/// Whether it may name a post: its number, or a key that ends in one.
bool is_entry_id(std::string_view given);

/// What became of a given post.
struct Saved {
  enum class Result {
    created,
    modified,
    unchanged,     ///< it was like that already: nothing written, nothing sent
    unknown_feed,  ///< no such feed: nothing written
    unfit          ///< a field cannot be stored; `detail` says which and what to write
  };
  Result result{};
  std::string id;  ///< Entry:<n>
  std::int64_t rev = 0;
  std::string detail;
};

/// What an operator lets go of a feed's posts, oldest first; absent = no such limit.
struct Expiry {
  std::optional<std::uint64_t> limit;  ///< how many of the newest stay
  std::optional<Milliseconds> age;     ///< those whose timestamp is older go
  std::optional<std::uint64_t> bytes;  ///< of all together; the newest stays
};

/// A place in a feed's order: entries after it are older (DESIGN §3.2).
struct EntryCursor {
  std::int64_t score = 0;
  std::string id;
};

std::vector<std::string> ids_of(std::span<const StoredEntry> entries);
std::vector<std::string> ids_of(std::span<const EntryCursor> places);

}  // namespace feedmill
