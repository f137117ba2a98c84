// `feedmill notify …`, `notices`: what users and operators asked to be told of.
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int run_verb(const NotifyVerb& verb, const VerbContext& context);
int run_verb(const NoticesVerb& verb, const VerbContext& context);

}  // namespace feedmill
