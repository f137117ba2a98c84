// Files named on the command line, "-" among them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "worker/base/unique_fd.hpp"

namespace feedmill {

/// A file, or stdin when it is named "-", block by block. Throws VerbFailure, with `consequence` behind what it says,
/// when it cannot be read. Blocks; throws Interrupted.
class InputFile {
 public:
  explicit InputFile(const std::string& name, std::string_view consequence = {});

  /// What comes next, "" at its end; valid until the next call.
  std::string_view next();
  /// `beginning` and all that is left; more than `max_bytes` in all cannot be read: then `remedy` says what to do.
  std::string rest(std::string beginning, std::size_t max_bytes, std::string_view remedy = {});

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  std::string name_, consequence_;
  UniqueFd file_;  // of stdin none
  std::vector<char> block_;
};

/// All bytes of `name`, `max_bytes` at most; as InputFile.
std::string read_input(const std::string& name, std::size_t max_bytes, std::string_view consequence = "");

}  // namespace feedmill
