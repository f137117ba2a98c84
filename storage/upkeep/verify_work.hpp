// Implementation of Verifier, shared by the verify*.cpp files.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/keys.hpp"
#include "storage/store/store_impl.hpp"
#include "storage/upkeep/verify.hpp"

namespace feedmill {

// The post revisions in the event stream, to compare with the entries (RELIABILITY I5).

/// The newest revision of each post in the stream. Bounded by the stream.
class EventLedger {
 public:
  /// Both must outlive this object; `redis` must be connected when it reads.
  EventLedger(Redis& redis, const Keys& keys) : redis_(redis), keys_(keys) {}

  /// Reads the records added since the last call, in bounded steps. Reports malformed ones in `wrong`.
  StoreResult<void> read_on(std::vector<Violation>& wrong);

  struct Revision {
    std::int64_t rev = 0;
    bool gone = false;     ///< trimmed or deleted since
    std::string record{};  ///< id of its record
  };
  /// The event of a record; empty if it was trimmed.
  StoreResult<std::optional<Event>> read_again(const std::string& record);

  /// By entry number.
  const std::unordered_map<std::uint64_t, Revision>& posts() const { return posts_; }

  /// Whether a revision of an entry, written at `changed` (unix seconds), should have a record in the stream but does
  /// not.
  bool lacks(std::uint64_t number, std::int64_t rev, std::int64_t changed) const;
  /// Reads the stream's current beginning, because it may have been trimmed.
  StoreResult<void> find_beginning();

  std::uint64_t records() const { return records_; }
  std::uint64_t highest() const { return highest_; }

 private:
  void read(const EventRecord& record, std::vector<Violation>& wrong);

  Redis& redis_;
  const Keys& keys_;
  std::unordered_map<std::uint64_t, Revision> posts_;
  std::string last_ = "0-0", first_;
  std::int64_t first_ms_ = 0;  // of the oldest record, 0 = none
  std::uint64_t records_ = 0, highest_ = 0;
};

/// The number in an entry's id, 0 if it is not one.
std::uint64_t entry_number(const Keys& keys, std::string_view id);

class Verifier::Work {
 public:
  Work(Store& store, Store::Impl& impl, VerifyOptions options)
      : store_(store), impl_(impl), options_(std::move(options)), signals_(impl.redis, impl.keys) {}

  StoreResult<VerifySummary> run();

 private:
  using Violations = std::vector<Violation>;
  using Names = std::set<std::string, std::less<>>;
  /// One check: returns the current violations.
  using Look = std::function<StoreResult<Violations>()>;

  /// Runs a check twice, reports the violations found both times, and repairs them if requested.
  StoreResult<void> settle(const Look& look);
  StoreResult<bool> repair(Violation& violation);
  void tell(const Violation& violation);
  void stepped() const;

  // verify_feeds.cpp
  StoreResult<void> feed(const std::string& url);
  /// Checks an already counted feed again.
  StoreResult<void> look_again(const std::string& url);
  StoreResult<Violations> look_at_feed(const std::string& url);
  StoreResult<Violations> walk(const std::string& url, std::string_view what);
  StoreResult<Violations> look_at_texts(std::span<const std::string> ids, const std::string& url);
  /// The fields of an entry, or of the feed's record, that the current rules would change.
  Names look_at_markup(const std::string& id, const std::string& url, const Fields& fields, Violations& all);

  // verify.cpp
  StoreResult<Reply> ask(Script script, std::initializer_list<std::string_view> words);
  /// Settles the findings of one script call; `answered` gets each reply.
  StoreResult<void> settle_call(Script script, std::initializer_list<std::string_view> words,
                                const std::function<void(const Reply&)>& answered = {});
  StoreResult<void> read_signals();
  StoreResult<void> whole_store();
  StoreResult<void> scan();
  StoreResult<void> classify(const std::vector<std::string>& keys);
  StoreResult<void> owners(std::span<const std::string> ids, std::span<const std::string> urls);
  StoreResult<void> postponed();
  StoreResult<void> scheduled(std::string_view what);
  StoreResult<void> registered();
  StoreResult<void> told_of();
  StoreResult<void> states(const Fields& before);

  // verify_feeds.cpp
  StoreResult<void> channel(const std::string& uid);
  /// Records how far delivery lags, from the value that verify_channel.lua returns.
  void note_behind(std::string_view behind);
  StoreResult<void> posts_of(const std::string& uid, const std::string& url);
  StoreResult<void> page_through(const std::string& of, std::string_view what);
  StoreResult<void> notices(const std::string& user);
  StoreResult<void> derived();
  StoreResult<void> derived_of(const std::string& url);

  Store& store_;
  Store::Impl& impl_;
  VerifyOptions options_;
  EventLedger signals_;
  VerifySummary summary_;
  std::uint64_t total_feeds_ = 0;
  std::uint64_t highest_ = 0;           // highest entry number
  std::vector<std::string> postponed_;  // entries that seemed to belong to no feed
  std::set<std::string> channels_;      // channels named in keys
  std::map<std::string, std::uint64_t> states_counted_;
  std::string state_seen_;  // of the last feed checked, "" = not registered
  std::uint64_t entries_seen_ = 0;
  GivenMarkup markup_;              // of the current feed
  std::uint64_t markup_bytes_ = 0;  // size of its findings
  std::set<std::string> told_;      // violations already reported in settle()
  bool uncompared_ = false;         // delivery lags too far to compare posts
};

/// Parses the findings in a verify script's reply.
std::vector<Violation> read_findings(ReplyView findings);

}  // namespace feedmill
