// `feedmill channel …`: timelines.
#pragma once

#include "worker/commands/cli.hpp"
#include "worker/commands/store.hpp"

namespace feedmill {

int carry_out(const ChannelVerb& verb, const VerbContext& context);

}  // namespace feedmill
