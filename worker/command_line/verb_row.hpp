// What is said of a verb once, for the parser, the help, the manual, completions and the reference page.
#pragma once

#include <string_view>

#include "worker/base/exits.hpp"

namespace feedmill {

// What a verb may need, by the parameters of its run_verb(), which stands in worker/verbs.
struct Config;         ///< a configuration that was read and is legal
struct ConfigSources;  ///< where it would be read from
class Terminal;        ///< to whom it speaks
struct VerbContext;    ///< all of it and an open store; a span of them: of each partition

/// Its group is that of the list it stands in.
struct VerbRow {
  std::string_view name;   ///< the words that lead to it: "entry put"
  std::string_view about;  ///< a line without a full stop
  std::string_view example;
  std::string_view exits{};  ///< what its exit code says besides the usual: "1 when a fetch failed"
};

/// What a verb is called that could not be carried out. Those of a family that fails_as one keep its name.
template <class Kind>
constexpr std::string_view name_in_failures(const Kind&) {
  if constexpr (requires { Kind::fails_as; }) {
    return Kind::fails_as;
  } else {
    return Kind::row.name;
  }
}

/// What a verb does with the store; one whose Kind has no use() changes it. One that is_of_all() is, where no partition
/// is named, about the one stream of all (RELIABILITY L28).
enum class StoreUse {
  change,   ///< writes; an empty store becomes one of ours: a key is written
  inspect,  ///< runs scripts, but leaves an empty store empty
  read      ///< reads plain keys and needs no other right (SECURITY §10)
};

}  // namespace feedmill
