// Calls of the API and their replies as values (OPERATIONS A1–A6).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

namespace feedmill {

/// A reply before it is converted to an HttpReply.
struct ApiReply {
  unsigned status = 200;
  std::string type = "application/json", body;
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// A reply with a JSON object of `schema` and `members`.
ApiReply resource(const boost::json::object& members, unsigned status = 200);

/// An error reply (RFC 9457); clients rely on `reason`. `more`: additional members.
ApiReply problem(unsigned status, std::string_view reason, std::string_view detail,
                 const boost::json::object& more = {});
/// An error reply with the status that `reason` always has, including the reasons of requests (docs/REQUESTS.md).
ApiReply problem(std::string_view reason, std::string_view detail, const boost::json::object& more = {});

/// An authenticated call; all texts are UTF-8.
struct ApiCall {
  std::string app;                                             ///< the token's name
  std::string item;                                            ///< the value of {…} in the path
  std::map<std::string, std::string, std::less<>> parameters;  ///< those given in the query

  /// The value of a query parameter; "" if it is absent.
  const std::string& get(std::string_view name) const;
};

/// Parses the query into `call.parameters`. `known`: the names allowed, separated by spaces; "!" after a name makes it
/// required. Returns the problem, if any.
std::optional<ApiReply> read_parameters(ApiCall& call, std::string_view query, std::string_view known);

}  // namespace feedmill
