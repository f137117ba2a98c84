// Members of JSON objects that others wrote.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace feedmill {

/// The text of a member, "" when there is none or it is no text. It lives as long as `object` is not changed.
inline std::string_view text_member(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

}  // namespace feedmill
