// check: one fetch without storing, and everything that can be said about it.
#pragma once

#include "worker/base/terminal.hpp"
#include "worker/command_line/cli.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

/// Fetches once, as a worker does that sees the feed for the first time; no Redis. Exit 1 when it is not usable as a
/// feed.
int run_verb(const CheckVerb& verb, const Config& config, Terminal& terminal);

}  // namespace feedmill
