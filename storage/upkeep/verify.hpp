// Checks a live store against the invariants of RELIABILITY §2, and repairs violations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/records/given_entry.hpp"
#include "storage/store/key_value.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// One write of a repair, applied only if the old value is unchanged.
struct Change {
  /// hset hdel zadd zrem sadd srem set del list xtrim: as the commands, but `list` replaces a whole list, given as
  /// JSON; remove_feed and remove_channel finish a removal; gone reports a lost entry to the stream.
  std::string what;
  std::string key;
  std::string field;  ///< field or member; for del the key's type
  std::optional<std::string> old_value, new_value;
};

/// A violated invariant.
struct Violation {
  std::string invariant;          ///< "I3" …, "L16", "statistics", "DESIGN 3.1"
  std::string kind;               ///< short, stable code: "map.dangling"
  std::string feed_url;           ///< "" if not about a single feed
  std::vector<std::string> keys;  ///< keys involved
  std::string detail;             ///< description for people; may contain untrusted bytes
  std::vector<Change> changes;    ///< the repair; empty if it would be a guess

  enum class Outcome {
    found,         ///< repairs were not requested
    repaired,      ///< its changes were applied
    unrepairable,  ///< the correct value is unknown
    changed        ///< changed concurrently: another client is writing
  };
  Outcome outcome = Outcome::found;
};

struct VerifyOptions {
  std::vector<std::string> feed_urls{};  ///< only these; none = the whole store
  /// Called before each repair with its changes and the contents of keys it deletes or replaces as a whole; the repair
  /// is made only if it returns true. None: no repairs.
  std::function<bool(const Violation&, const std::vector<KeyValue>&)> journal{};
  /// Current treatment of the markup of a feed's posts; posts that it would change are violations, too. None: not
  /// checked.
  std::function<StoreResult<GivenMarkup>(const std::string& feed_url)> markup{};
  std::function<void(const Violation&)> found{};  ///< called for each violation; none = only counted
  /// Called between bounded steps with feeds checked and total feeds. May throw to abort.
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
};

struct VerifySummary {
  std::uint64_t feeds = 0, entries = 0, events = 0, channels = 0;  ///< checked
  std::uint64_t violations = 0, repaired = 0;
  /// Time of the oldest event not yet delivered to timelines; posts of such events were not compared.
  std::optional<Milliseconds> behind_since;
  std::vector<std::string> notes;  ///< checks that were not possible, and why
};

/// Checks a store in use: each feed in one read-only script; a suspected violation is reported only if a second check
/// confirms it. Memory: the stream's records and one page of keys, regardless of the number of feeds; with `markup`
/// another 16 MiB of changed posts.
class Verifier {
 public:
  /// `store` must outlive this object.
  Verifier(Store& store, VerifyOptions options);
  ~Verifier();
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  StoreResult<VerifySummary> run();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// All violations of a store, or of the given feeds. Keeps them in memory: for tests and small stores.
StoreResult<std::vector<Violation>> verify(Store& store, std::vector<std::string> feed_urls = {});

}  // namespace feedmill
