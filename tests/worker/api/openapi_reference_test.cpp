// The request part of each operation in docs/openapi.json is generated from the operation's row (OPERATIONS A5), the
// schemas of posts, feeds and events from their tables and from docs/DATA.md.
// FEEDMILL_WRITE_REFERENCE=1 in the environment rewrites it.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/worker/api/openapi_file.hpp"
#include "tests/worker/api/openapi_schemas.hpp"
#include "worker/api/routes.hpp"

namespace feedmill::test::openapi_reference_test {
namespace {

namespace json = boost::json;
using Kind = OperationField::Kind;

json::object schema_of(const OperationField& field) {
  switch (field.kind) {
    case Kind::settings:
      return {{"$ref", "#/components/schemas/Settings"}};
    case Kind::object:
      return schema_of_any_object();
    case Kind::truth:
      return {{"type", "boolean"}};
    case Kind::number:
      return {{"type", "integer"}, {"minimum", field.least}, {"maximum", field.most}};
    case Kind::choice:
      return {{"enum", json::array(field.choices.begin(), field.choices.end())}};
    case Kind::entries:
    case Kind::notices: {
      const json::object ids{{"type", "array"},
                             {"items", {{"type", json::array{"string", "integer"}}}},
                             {"minItems", 1},
                             {"maxItems", field.most}};
      return {{"oneOf", {ids, {{"enum", json::array{"all"}}}}}};
    }
    case Kind::channels:
      return {{"type", "array"}, {"items", {{"type", "string"}}}, {"maxItems", field.most}};
    default:
      return {{"type", "string"}};
  }
}

json::object described(const OperationField& field) {
  json::object schema = schema_of(field);
  if (field.repeats) schema = {{"type", "array"}, {"items", std::move(schema)}, {"maxItems", field.most}};
  schema["description"] = field.about;
  return schema;
}

/// Parameters of an operation: generated from its row; header and paging parameters are copied from `stated`.
json::array parameters_of(const Operation& operation, const json::array& stated) {
  json::array parameters;
  for (const OperationField& field : operation.fields) {
    const bool in_path = is_in_path(operation, field);
    if (is_in_body(operation, field)) continue;
    parameters.push_back({{"name", field.name},
                          {"in", in_path ? "path" : "query"},
                          {"required", field.required && !field.either},
                          {"schema", schema_of(field)},
                          {"description", field.about}});
  }
  for (const json::value& one : stated) {
    const bool is_page = one.at("name") == "after" || one.at("name") == "limit";
    if (one.at("in") == "header" || is_page) parameters.push_back(one);
  }
  return parameters;
}

/// Request body of an operation; null if it has none.
json::value body_of(const Operation& operation) {
  json::object properties;
  json::array required;
  for (const OperationField& field : operation.fields) {
    if (!is_in_body(operation, field)) continue;
    properties[field.name] = described(field);
    if (field.required && !field.either) required.emplace_back(field.name);
  }
  if (properties.empty()) return nullptr;
  json::object schema{{"type", "object"}};
  const bool is_needed = !required.empty();
  if (is_needed) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  return {{"required", is_needed}, {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(c));
  return result;
}

void describe(json::object& description) {
  for (const OperationFamily& family : operation_families()) {
    for (const Operation& one : family.operations) {
      json::object& documented = description.at("paths").at(one.path).at(lower(one.method)).as_object();
      documented["summary"] = one.about;
      documented["parameters"] = parameters_of(one, documented.at("parameters").as_array());
      const json::value body = body_of(one);
      if (body.is_null())
        documented.erase("requestBody");
      else
        documented["requestBody"] = body;
    }
  }
}

TEST(OpenApiReference, IsMadeFromTheRowsOfOperations) {
  const std::string stands = openapi_text();
  json::object description = json::parse(stands).as_object();
  describe(description);
  describe_schemas(description.at("components").at("schemas").as_object());
  if (writes_reference()) return write_openapi(description);
  EXPECT_EQ(stands, openapi_text_of(description)) << "run this test with FEEDMILL_WRITE_REFERENCE=1";
}

/// Compares the fields that the table of docs/REQUESTS.md lists ("`url` [`channel`]") with the rows.
TEST(OpenApiReference, HasTheFieldsOfRequests) {
  std::ifstream in(std::filesystem::path(FEEDMILL_SOURCE_DIR) / "docs/REQUESTS.md");
  std::map<std::string, std::set<std::string>> documented, known;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find('`', 3), next = line.find(" | ", end);
    const std::string op = line.substr(3, end - 3);
    if (next != end + 1 || !request_op(op)) continue;
    const std::string fields = line.substr(next + 3, line.find(" | ", next + 3) - next - 3);
    for (std::size_t at = fields.find('`'); at != std::string::npos;) {
      const std::size_t close = fields.find('`', at + 1);
      const std::string name = fields.substr(at + 1, close - at - 1);
      documented[op].insert(name.substr(0, name.find(' ')));
      at = fields.find('`', close + 1);
    }
  }
  for (const OperationFamily& family : operation_families()) {
    for (const Operation& one : family.operations) {
      if (!one.is_request()) continue;
      for (const OperationField& field : one.fields)
        known[std::string(request_word(one.request))].insert(field.kind == Kind::settings ? "set.<name>"
                                                                                          : std::string(field.name));
    }
  }
  EXPECT_EQ(documented, known);
}

TEST(OpenApiReference, EachReasonIsInTheGuideWithItsStatus) {
  std::map<std::string, std::string> guide;  // the rows of each status
  std::istringstream lines(document_text("API.md"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| ") && line.find(" | `") == 5) guide[line.substr(2, 3)] += line;
  }
  const json::value description = json::parse(openapi_text());
  for (const auto& [path, methods] : description.at("paths").as_object()) {
    for (const auto& [method, one] : methods.as_object()) {
      for (const auto& [status, response] : one.at("responses").as_object()) {
        const json::value* const reasons = response.as_object().if_contains("x-reasons");
        for (const json::value& reason : reasons == nullptr ? json::array() : reasons->as_array())
          EXPECT_NE(guide[status].find("`" + std::string(reason.as_string()) + "`"), std::string::npos)
              << status << " " << reason << " of " << path;
      }
    }
  }
}

}  // namespace
}  // namespace feedmill::test::openapi_reference_test
