// `feedmill move`: another URL is requested for a feed, and back (HTTP R8).
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int run_verb(const MoveVerb& verb, const VerbContext& context);

}  // namespace feedmill
