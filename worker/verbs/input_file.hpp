// Files named on the command line, "-" among them.
#pragma once

#include <cstddef>
#include <string>

#include <boost/system/result.hpp>

namespace feedmill {

/// Why an input could not be read.
struct InputError {
  int code = 0;      ///< errno
  std::string text;  ///< one line for people: the file's name and the reason
};

/// All bytes of `name`, of stdin when it is "-". More than `max_bytes` is an error. Blocks; throws Interrupted.
boost::system::result<std::string, InputError> read_input(const std::string& name, std::size_t max_bytes);

}  // namespace feedmill

namespace boost::system {
[[noreturn]] void throw_exception_from_error(const feedmill::InputError& error, const boost::source_location& where);
}  // namespace boost::system
