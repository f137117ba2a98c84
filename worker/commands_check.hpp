// check: one fetch without storing, and everything that can be said about it.
#pragma once

#include "worker/address_guard.hpp"
#include "worker/cli.hpp"
#include "worker/config.hpp"
#include "worker/terminal.hpp"

namespace feedmill {

/// Fetches once, as a worker does that sees the feed for the first time; no Redis. Exit 1 when it is not usable as a
/// feed.
int carry_out(const CheckVerb& verb, const Config& config, Terminal& terminal);

/// The egress policy as the configuration says it; load_config has checked that it can be read.
EgressPolicy egress_policy(const Config& config);

}  // namespace feedmill
