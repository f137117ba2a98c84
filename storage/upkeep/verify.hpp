// The checker: whether a live store keeps the invariants of RELIABILITY §2, and mending what does not.
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

/// One write of a repair. It is made only while the old value is still there.
struct Change {
  /// hset hdel zadd zrem sadd srem set del list xtrim: as the commands; `list` replaces a whole list, given as JSON;
  /// remove_feed and remove_channel finish a removal; gone tells the stream that an entry is.
  std::string what;
  std::string key;
  std::string field;  ///< field or member; of del the type
  std::optional<std::string> old_value, new_value;
};

/// An invariant that does not hold.
struct Violation {
  std::string invariant;          ///< "I3" …, "L16", "statistics", "DESIGN 3.1"
  std::string kind;               ///< short and stable: "map.dangling"
  std::string feed_url;           ///< "" when it is no single feed's
  std::vector<std::string> keys;  ///< what it is about
  std::string detail;             ///< what is wrong, for people; may hold bytes from outside
  std::vector<Change> changes;    ///< what mends it; none when that would be guessing

  enum class Outcome {
    found,         ///< repairs were not asked for
    repaired,      ///< its changes were made
    unrepairable,  ///< nobody can tell what was there
    changed        ///< it changed while it was looked at: somebody works on it
  };
  Outcome outcome = Outcome::found;
};

struct VerifyOptions {
  std::vector<std::string> feed_urls{};  ///< only these; none = the whole store
  /// Called before each repair with what is to be written and what the keys hold that go as a whole. The repair is made
  /// only when it says true. None: nothing is repaired.
  std::function<bool(const Violation&, const std::vector<KeyValue>&)> journal{};
  /// How the markup of a feed's posts is treated today: posts that would be stored otherwise are violations, too. None:
  /// they are not asked for.
  std::function<StoreResult<GivenMarkup>(const std::string& feed_url)> markup{};
  std::function<void(const Violation&)> found{};  ///< told at once; none = only counted
  /// Called between bounded steps with the feeds looked at and those there are. May throw to end it.
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
};

struct VerifySummary {
  std::uint64_t feeds = 0, entries = 0, events = 0, channels = 0;  ///< looked at
  std::uint64_t violations = 0, repaired = 0;
  /// When the oldest event was written that timelines do not have yet: posts of such events were not compared.
  std::optional<Milliseconds> behind_since;
  std::vector<std::string> notes;  ///< what could not be decided, and why
};

/// Checks a store while others work on it: each feed is looked at in one read-only script, what looks wrong is looked
/// at again before it is told. Memory: the stream's records and a page of keys, however many feeds there are; 16 MiB of
/// changed posts more with `markup`.
class Verifier {
 public:
  /// `store` outlives this.
  Verifier(Store& store, VerifyOptions options);
  ~Verifier();
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  StoreResult<VerifySummary> run();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// All violations of a store, of a few feeds when given. For tests and small stores: they are kept.
StoreResult<std::vector<Violation>> verify(Store& store, std::vector<std::string> feed_urls = {});

}  // namespace feedmill
