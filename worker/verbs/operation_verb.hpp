// Operations as verbs.
#pragma once

#include "worker/operations/operation.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Runs an operation and prints its outcome; `yes` among the values skips the question. Returns the exit code; throws
/// VerbFailure and Interrupted.
int run_operation(const Operation& operation, const OperationValues& given, const VerbContext& context);

}  // namespace feedmill
