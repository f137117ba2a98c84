// Reads whole keys of any type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/store/store.hpp"

namespace feedmill {

class Redis;

/// The value of one key. `words`: string: the value; list and set: the members; hash: field, value …; sorted set:
/// member, score …; stream: id, number of words, field, value ….
struct KeyValue {
  std::string key;
  std::string type;  ///< as in TYPE; "none" if the key does not exist
  std::vector<std::string> words;
};

/// A score in our notation: whole numbers without exponent, "inf", "-inf".
std::string score_text(std::string_view score);

/// Reads a key with the commands for its type: sets and sorted sets in pages, as they may be as large as a channel;
/// others in one reply.
StoreResult<KeyValue> read_key(Redis& redis, const std::string& key);

}  // namespace feedmill
