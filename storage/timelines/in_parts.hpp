// Long work in bounded steps that may be interrupted and resumed.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace feedmill {

/// Interruption and resume state of a long call; by default it runs to completion.
struct InParts {
  /// Polled between bounded steps; false: the call returns early.
  std::function<bool()> go_on = [] { return true; };
  bool ended_early = false;  ///< the call was interrupted, ignore its result; reset it before the next call

  /// Resume state for the next call with the same arguments: the channel being pruned or removed ("" = none), its list
  /// or the stage, the rank or cursor in it, and whether this pass has found something.
  std::string channel, cursor;
  std::size_t list = 0, rank = 0;
  bool found = false;

  bool may_go_on() {
    ended_early = ended_early || !go_on();
    return !ended_early;
  }
};

}  // namespace feedmill
