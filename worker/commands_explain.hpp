// explain: why a feed is due when it is (HTTP E2).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/pushes.hpp"
#include "worker/cli.hpp"
#include "worker/commands_store.hpp"

namespace feedmill {

/// Reads the feed's record and its host's state, and writes nothing. Exit 1 when there is no such feed.
int carry_out(const ExplainVerb& verb, const VerbContext& context);

/// A feed's host at one moment.
struct HostView {
  std::string name;
  HostState state;
  HostLimits limits;  ///< of the operator
};

/// What `explain` says to people: names and values in the order to show, not cleaned.
std::vector<std::pair<std::string, std::string>> explain_lines(const FeedRecord& record, const HostView& host,
                                                               Milliseconds now,
                                                               const std::optional<PushRecord>& subscription = {});

}  // namespace feedmill
