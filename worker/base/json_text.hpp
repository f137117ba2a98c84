// Serializes JSON for our output.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

namespace feedmill {

/// One line of UTF-8. Numbers are written as 0 and 89.34, not as Boost.JSON's 0E0 and 8.934E1.
std::string json_text(const boost::json::value& value);
std::string json_text(const boost::json::object& object);

}  // namespace feedmill
