// What is said to who sets up pushing out.
#pragma once

#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Tells that nobody pushes out yet, where no living worker does.
void note_without_push_out(const VerbContext& context);

}  // namespace feedmill
