// docs/openapi.json as a file that tests read and, with FEEDMILL_WRITE_REFERENCE=1 in the environment, write.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <boost/json.hpp>

#include "worker/base/json_text.hpp"

namespace feedmill::test {

namespace json = boost::json;

inline bool writes_reference() {
  return std::getenv("FEEDMILL_WRITE_REFERENCE") != nullptr;
}

inline std::string inline_text(const json::value& value) {
  std::string text;
  if (const json::object* const object = value.if_object()) {
    for (const auto& [name, one] : *object)
      text += (text.empty() ? "" : ", ") + json_text(json::string(name)) + ": " + inline_text(one);
    return "{" + text + "}";
  }
  if (const json::array* const array = value.if_array()) {
    for (const json::value& one : *array) text += (text.empty() ? "" : ", ") + inline_text(one);
    return "[" + text + "]";
  }
  return json_text(value);
}

/// Prints on one line if that fits, else with each member on its own line.
inline std::string printed(const json::value& value, std::size_t indent, std::size_t column) {
  const std::string line = inline_text(value);
  if (column + line.size() <= 160 || !value.is_structured()) return line;
  const std::string margin(indent + 1, ' ');
  std::string text;
  if (const json::object* const object = value.if_object()) {
    for (const auto& [name, one] : *object) {
      const std::string head = margin + json_text(json::string(name)) + ": ";
      text += (text.empty() ? "\n" : ",\n") + head + printed(one, indent + 1, head.size());
    }
    return "{" + text + "\n" + std::string(indent, ' ') + "}";
  }
  for (const json::value& one : value.get_array())
    text += (text.empty() ? "\n" : ",\n") + margin + printed(one, indent + 1, margin.size());
  return "[" + text + "\n" + std::string(indent, ' ') + "]";
}

inline std::string document_text(const std::string& name) {
  std::ifstream in(std::filesystem::path(FEEDMILL_SOURCE_DIR) / "docs" / name);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string openapi_text() {
  return document_text("openapi.json");
}

inline std::string openapi_text_of(const json::object& description) {
  return printed(description, 0, 0) + "\n";
}

inline void write_openapi(const json::object& description) {
  std::ofstream(std::filesystem::path(FEEDMILL_SOURCE_DIR) / "docs/openapi.json") << openapi_text_of(description);
}

}  // namespace feedmill::test
