#include "worker/base/json_text.hpp"

#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace feedmill {
namespace {

namespace json = boost::json;

void write(const json::value& value, std::string& out);

/// Recursion is safe: the JSON is our own and a few levels deep.
void write(const json::object& object, std::string& out) {
  out += '{';
  for (const auto& member : object) {
    if (out.back() != '{') out += ',';
    out += json::serialize(member.key());
    out += ':';
    write(member.value(), out);
  }
  out += '}';
}

void write(const json::value& value, std::string& out) {
  if (const json::object* const object = value.if_object()) {
    write(*object, out);
  } else if (const json::array* const array = value.if_array()) {
    out += '[';
    for (const json::value& one : *array) {
      if (out.back() != '[') out += ',';
      write(one, out);
    }
    out += ']';
  } else if (value.is_double()) {
    const double number = value.get_double();
    out += std::isfinite(number) ? fmt::format("{}", number) : "null";
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string json_text(const boost::json::value& value) {
  std::string out;
  write(value, out);
  return out;
}

std::string json_text(const boost::json::object& object) {
  std::string out;
  write(object, out);
  return out;
}

}  // namespace feedmill
