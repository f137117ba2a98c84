// Work that may stop between two bounded steps and go on another time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace feedmill {

/// Given to a call that may take long; by itself it is done to its end.
struct InParts {
  /// Asked between bounded steps; no: the call returns early.
  std::function<bool()> go_on = [] { return true; };
  bool ended_early = false;  ///< it did; what it returned says nothing. To be taken away before the next call

  /// Where the next call goes on that is for the same: the channel that posts were being taken out of, "" = none, in
  /// which of its lists, at which rank, and whether something was found on this way through it.
  std::string channel;
  std::size_t list = 0, rank = 0;
  bool found = false;

  bool may_go_on() {
    ended_early = ended_early || !go_on();
    return !ended_early;
  }
};

}  // namespace feedmill
