// JSON as our output has it.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

namespace feedmill {

/// One line, UTF-8. Numbers as people write them: 0 and 89.34, where Boost.JSON has 0E0 and 8.934E1.
std::string json_text(const boost::json::value& value);
std::string json_text(const boost::json::object& object);

}  // namespace feedmill
