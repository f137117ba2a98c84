// `feedmill add`, `remove`, `list`, `show`: the feeds of the store.
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int carry_out(const AddVerb& verb, const VerbContext& context);
int carry_out(const RemoveVerb& verb, const VerbContext& context);
int carry_out(const ListVerb& verb, const VerbContext& context);
int carry_out(const ShowVerb& verb, const VerbContext& context);

}  // namespace feedmill
