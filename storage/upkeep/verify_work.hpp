// Implementation of Verifier, shared by the verify*.cpp files.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/store/store_impl.hpp"
#include "storage/upkeep/verify.hpp"
#include "storage/upkeep/verify_events.hpp"

namespace feedmill {

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
  /// Checks a feed again that is already counted.
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

  // verify_derived.cpp
  StoreResult<void> channel(const std::string& uid);
  /// `behind`: as returned by verify_channel.lua.
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
  bool uncompared_ = false;         // delivery has more left to apply than is examined
};

/// Parses the findings in a verify script's reply.
std::vector<Violation> read_findings(ReplyView findings);

}  // namespace feedmill
