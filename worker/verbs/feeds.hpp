// `feedmill add`, `remove`, `list`, `show`: the feeds of the store.
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int run_verb(const AddVerb& verb, const VerbContext& context);
int run_verb(const RemoveVerb& verb, const VerbContext& context);
int run_verb(const ListVerb& verb, const VerbContext& context);
int run_verb(const ShowVerb& verb, const VerbContext& context);

}  // namespace feedmill
