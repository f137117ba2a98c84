// A decision under construction: those consequences of an attempt that do not depend on its content (HTTP §3, §4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "worker/config/feed_settings.hpp"
#include "worker/policy/answers.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// A feed's retention: as configured, or as its operator set it (RELIABILITY L7). It keeps at most as many texts as
/// after the last commit (`trim`) until a whole document brings back others (RELIABILITY L34).
Retention retention_of(Retention retention, const FeedSettings& settings, const LastTrim& trim);

/// The number of newest posts of a feed that keep their texts, as configured or as its operator set it.
std::uint64_t texts_kept(const Retention& configured, const FeedSettings& settings);

/// Maintains the feed's state and failures, its next due time, its pushes, and the events about it and its host.
/// decide.cpp handles the content, calls one function for the end of the attempt, and takes the decision. All
/// constructor arguments must outlive this.
class DecisionDraft {
 public:
  DecisionDraft(const Claim& claim, const Exchange& exchange, const PolicyOptions& options, Milliseconds now);

  Commit& commit() { return decision.commit; }
  FeedState& state() { return decision.commit.state; }

  // --- ends of an attempt -------------------------------------------------------------------------------------------

  /// `created`: new entries; `first`: this is the feed's first document.
  void succeed(Outcome outcome, std::uint32_t created, bool first);
  /// `created`: new entries of a truncated document.
  void fail(const Failure& failure, std::string detail, std::uint32_t created = 0);
  /// Ends a feed that its server reported as gone for good.
  void end_as_gone();
  /// HTTP H6: a redirect led to a host that must not be fetched from now. Not a failure; the first hop was sent.
  void put_off(std::string detail);
  /// A push brought `created` entries, independently of polls; `wrote`: it changed something.
  void end_push(std::uint32_t created, bool wrote);

  // --- queries before the end ---------------------------------------------------------------------------------------

  /// Whether this is another 410 at least 24 h after the first.
  bool is_confirmed_gone() const;
  /// HTTP H11: whether a failure belongs to the host's storm and not to the feed.
  bool is_of_storm(Reason reason) const;
  /// HTTP §4, row 403: whether the host answered 200 for any feed within 7 days.
  bool host_serves_others() const;

  /// Takes the decision, after the attempt has ended.
  Decision take();

  Decision decision;
  DueContext context;
  const FeedSettings settings;
  bool overdue = false;  ///< a push should have delivered one of the new posts

 private:
  void note(Outcome outcome, Reason reason, std::string detail);
  NextDue after_success() const;
  std::optional<Milliseconds> least_interval() const;
  void count_unconditional();
  void tell_host();
  void tell_transition();
  void watch(std::uint32_t created, bool barren, bool payload);
  void weather_storm();
  bool may_look_again() const;
  NextDue with_second_look(NextDue next) const;
  void quarantine();
  std::string_view failing_state(const Failure& failure) const;
  void set_state(std::string_view name);
  void plan(const NextDue& next);

  const Claim& claim_;
  const Exchange& exchange_;
  const PolicyOptions& options_;
  const Milliseconds now_;
};

/// Plans the next due time for one reason.
void plan_at(Commit& commit, Milliseconds due, std::string_view code, std::string from, Milliseconds now);

// Pages of older posts (older_pages.cpp).

/// Starts a walk after `document`, fetched from `url`, if it states or shows where older posts are on the same host.
/// Ends a current walk: its pages are older than the new one's. `back_to`: see PageWalk.
void begin_walk(OlderPosts& older, PageWalk::For purpose, const Document& document, const std::string& url,
                std::int64_t back_to, Milliseconds now);

/// Continues a walk after a poll of the feed. `commit` has the poll's due time and reason: the next page is due before
/// that time, or at it if the poll `failed`.
void go_on_with_pages(Commit& commit, const Claim& claim, bool failed, Milliseconds now);

}  // namespace feedmill
