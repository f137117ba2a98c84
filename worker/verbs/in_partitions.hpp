// A verb where the store has several partitions and none of them is named (RELIABILITY L27).
#pragma once

#include <functional>

#include "worker/base/terminal.hpp"
#include "worker/command_line/verb.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

/// Calls `work` for the partitions of the named feeds and entries with their share of the values, or for each partition
/// if the verb is_of_each(). Otherwise with `config` as it is: the store refuses an unnamed partition. Returns the
/// highest exit code. Throws VerbFailure.
int in_partitions(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
                  const std::function<int(const OperationValues& share, const Config& config)>& work);

}  // namespace feedmill
