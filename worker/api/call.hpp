// A call of the API as values: what is asked, and the answer (OPERATIONS A1–A6).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

namespace feedmill {

struct ApiReply {
  unsigned status = 200;
  std::string type = "application/json", body;
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// A resource as JSON; `schema` is put before its members.
ApiReply resource(const boost::json::object& members, unsigned status = 200);

/// What cannot be answered (RFC 9457), with a reason that programs go by. `more`: further members.
ApiReply problem(unsigned status, std::string_view reason, std::string_view detail,
                 const boost::json::object& more = {});
/// The same with the status that the reason has everywhere, those of requests among them (docs/REQUESTS.md).
ApiReply problem(std::string_view reason, std::string_view detail, const boost::json::object& more = {});

/// What is asked; all texts are UTF-8.
struct ApiCall {
  std::string app;                                             ///< the token's name
  std::string item;                                            ///< what stands for {…} in the path
  std::map<std::string, std::string, std::less<>> parameters;  ///< of the query, those that are there

  /// "" where it is not there.
  const std::string& get(std::string_view name) const;
};

/// Reads the query of a call into it. `known`: names with spaces between, "!" behind those that are needed. The
/// problem, when there is one.
std::optional<ApiReply> read_parameters(ApiCall& call, std::string_view query, std::string_view known);

}  // namespace feedmill
