// `feedmill notify …`, `notices`: what users and operators asked to be told of.
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int carry_out(const NotifyVerb& verb, const VerbContext& context);
int carry_out(const NoticesVerb& verb, const VerbContext& context);

}  // namespace feedmill
