// feedmill store export, store import: the store as a file, and back.
#pragma once

#include "worker/commands/cli.hpp"
#include "worker/commands/store.hpp"

namespace feedmill {

int carry_out(const StoreExportVerb& verb, const VerbContext& context);
int carry_out(const StoreImportVerb& verb, const VerbContext& context);

}  // namespace feedmill
