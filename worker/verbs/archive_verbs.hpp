// feedmill store export, store import: the store as a file, and back.
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int run_verb(const StoreExportVerb& verb, const VerbContext& context);
int run_verb(const StoreImportVerb& verb, const VerbContext& context);

}  // namespace feedmill
