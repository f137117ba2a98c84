// `feedmill set`, `pause`, `resume`: what holds for a feed, and whether it is fetched at all.
#pragma once

#include <string>

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int run_verb(const SetVerb& verb, const VerbContext& context);
int run_verb(const PauseVerb& verb, const VerbContext& context);
int run_verb(const ResumeVerb& verb, const VerbContext& context);

/// What of `settings` that was not in `before` the configuration does not have: names of [feed_auth] and
/// [egress.policy], leave to use a proxy. Says what there is instead, "" when all is well.
std::string unusable_names(const Config& config, const FeedSettings& before, const FeedSettings& settings);

}  // namespace feedmill
