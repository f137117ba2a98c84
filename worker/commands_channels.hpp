// `feedmill channel …`: timelines.
#pragma once

#include "worker/cli.hpp"
#include "worker/commands_store.hpp"

namespace feedmill {

int carry_out(const ChannelVerb& verb, const VerbContext& context);

}  // namespace feedmill
