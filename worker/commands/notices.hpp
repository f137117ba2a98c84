// `feedmill notify …`, `notices`: what users and operators asked to be told of.
#pragma once

#include "worker/commands/cli.hpp"
#include "worker/commands/store.hpp"

namespace feedmill {

int carry_out(const NotifyVerb& verb, const VerbContext& context);
int carry_out(const NoticesVerb& verb, const VerbContext& context);

}  // namespace feedmill
