// Stored posts, Entry:<n>, and the result of a request to change one (DESIGN §3.2).
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

/// Whether `given` looks like a post's id: its number, or a key that ends in one.
bool is_entry_id(std::string_view given);

/// Result of saving a given post.
struct Saved {
  enum class Result {
    created,
    modified,
    unchanged,     ///< no difference: nothing written or sent
    unknown_feed,  ///< no such feed: nothing written
    unfit          ///< a field cannot be stored; `detail` names it and the expected form
  };
  Result result{};
  std::string id;  ///< Entry:<n>
  std::int64_t rev = 0;
  std::string detail;
};

/// Limits of an operator's expire command, applied oldest first; absent = no such limit.
struct Expiry {
  std::optional<std::uint64_t> limit;  ///< number of newest posts to keep
  std::optional<Milliseconds> age;     ///< maximum age by timestamp
  std::optional<std::uint64_t> bytes;  ///< maximum total size; the newest post always stays
};

/// A position in a feed's order: entries after it are older (DESIGN §3.2).
struct EntryCursor {
  std::int64_t score = 0;
  std::string id;
};

std::vector<std::string> ids_of(std::span<const StoredEntry> entries);
std::vector<std::string> ids_of(std::span<const EntryCursor> places);

}  // namespace feedmill
