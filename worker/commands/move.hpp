// `feedmill move`: another URL is requested for a feed, and back (HTTP R8).
#pragma once

#include "worker/commands/cli.hpp"
#include "worker/commands/store.hpp"

namespace feedmill {

int carry_out(const MoveVerb& verb, const VerbContext& context);

}  // namespace feedmill
