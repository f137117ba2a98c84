// Input files of the command line, including "-".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "worker/base/system.hpp"

namespace feedmill {

/// Reads a file, or stdin for "-", block by block. Throws VerbFailure, with `consequence` appended, if it cannot be
/// read. Blocks; throws Interrupted.
class InputFile {
 public:
  explicit InputFile(const std::string& name, std::string_view consequence = {});

  /// The next block, "" at the end; valid until the next call.
  std::string_view next();
  /// `beginning` and the rest of the file; fails beyond `max_bytes` in total, with `remedy` in the error.
  std::string rest(std::string beginning, std::size_t max_bytes, std::string_view remedy = {});

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  std::string name_, consequence_;
  UniqueFd file_;  // none for stdin
  std::vector<char> block_;
};

/// All bytes of `name`, at most `max_bytes`; errors as InputFile.
std::string read_input(const std::string& name, std::size_t max_bytes, std::string_view consequence = "");

}  // namespace feedmill
