// A decision in the making: what an attempt means for a feed however it ended, whatever it brought (HTTP §3, §4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "worker/config/feed_settings.hpp"
#include "worker/policy/answers.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// What is kept of a feed: as configured, or as its operator set (RELIABILITY L7).
Retention retention_of(Retention retention, const FeedSettings& settings);

/// Keeps the feed's state and failures, when it is due next, its pushes, and what is told of it and of its host. What
/// was read is decide.cpp's: it says how the attempt ended, once, and takes the decision. All that it is given outlives
/// it.
class DecisionDraft {
 public:
  DecisionDraft(const Claim& claim, const Exchange& exchange, const PolicyOptions& options, Milliseconds now);

  Commit& commit() { return decision.commit; }
  FeedState& state() { return decision.commit.state; }

  // --- how it ended -------------------------------------------------------------------------------------------------

  /// `created`: entries that are new; `first`: it is the feed's first document.
  void succeed(Outcome outcome, std::uint32_t created, bool first);
  /// `created`: entries of a document that broke off.
  void fail(const Failure& failure, std::string detail, std::uint32_t created = 0);
  /// The server says that the feed is gone for good.
  void end_as_gone();
  /// HTTP H6: the chain led to a host that may not be asked now. Nobody's failure; the first hop was asked all the
  /// same.
  void put_off(std::string detail);
  /// A push has brought `created` entries, at a time that is no answer's: `wrote` is false when it brought nothing.
  void end_push(std::uint32_t created, bool wrote);

  // --- asked on the way ---------------------------------------------------------------------------------------------

  /// A second 410 at least 24 h after the first of them.
  bool is_confirmed_gone() const;
  /// HTTP H11: whether a failure is one of the host's storm, and none of the feed.
  bool is_of_storm(Reason reason) const;
  /// HTTP §4, row 403: it gave some feed a 200 within 7 days.
  bool host_serves_others() const;

  /// After it has ended.
  Decision take();

  Decision decision;
  DueContext context;
  const FeedSettings settings;
  bool overdue = false;  ///< a push should have brought one of the new posts

 private:
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
  /// A push has been dealt with, and the poll that was planned before it stays.
  void explain_kept_due();

  const Claim& claim_;
  const Exchange& exchange_;
  const PolicyOptions& options_;
  const Milliseconds now_;
};

}  // namespace feedmill
