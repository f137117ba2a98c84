// Safe access to members of JSON objects that others may have written.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

namespace feedmill {

/// The string member `name`, "" if it is missing or not a string. Valid until `object` changes.
inline std::string_view string_member(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

}  // namespace feedmill
