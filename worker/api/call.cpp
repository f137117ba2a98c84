#include "worker/api/call.hpp"

#include <algorithm>

#include <boost/beast/http/status.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "storage/redis/utf8.hpp"
#include "worker/base/json_text.hpp"
#include "worker/base/terminal.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill {
namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

constexpr std::size_t most_parameters = 16, longest_parameter = 8192;

/// Whether `known` lists `name`, as "name" or "name!".
bool is_known(std::string_view name, std::string_view known) {
  while (!known.empty()) {
    const std::size_t end = std::min(known.find(' '), known.size());
    std::string_view one = known.substr(0, end);
    if (one.ends_with('!')) one.remove_suffix(1);
    if (one == name) return true;
    known.remove_prefix(std::min(end + 1, known.size()));
  }
  return false;
}

/// The first required parameter that is missing; "" if none is.
std::string_view missing(const ApiCall& call, std::string_view known) {
  while (!known.empty()) {
    const std::size_t end = std::min(known.find(' '), known.size());
    std::string_view one = known.substr(0, end);
    if (one.ends_with('!')) {
      one.remove_suffix(1);
      if (call.get(one).empty()) return one;
    }
    known.remove_prefix(std::min(end + 1, known.size()));
  }
  return {};
}

}  // namespace

ApiReply resource(const json::object& members, unsigned status) {
  json::object object = json_row();
  for (const auto& [name, value] : members) object[name] = value;
  ApiReply reply;
  reply.status = status;
  reply.body = json_text(object) + "\n";
  return reply;
}

ApiReply problem(unsigned status, std::string_view reason, std::string_view detail, const json::object& more) {
  json::object object{{"title", http::obsolete_reason(http::int_to_status(status))},
                      {"status", status},
                      {"reason", reason},
                      {"detail", detail}};
  for (const auto& [name, value] : more) object.emplace(name, value);
  ApiReply reply;
  reply.status = status;
  reply.type = "application/problem+json";
  reply.body = json_text(object) + "\n";
  if (status == 429 || status == 503) reply.headers.emplace_back("Retry-After", status == 429 ? "1" : "5");
  return reply;
}

ApiReply problem(std::string_view reason, std::string_view detail, const json::object& more) {
  return problem(status_of(reason), reason, detail, more);
}

const std::string& ApiCall::get(std::string_view name) const {
  static const std::string none;
  const auto found = parameters.find(name);
  return found == parameters.end() ? none : found->second;
}

std::optional<ApiReply> read_parameters(ApiCall& call, std::string_view query, std::string_view known) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (one.empty()) continue;
    const std::size_t sign = std::min(one.find('='), one.size());
    const auto name = percent_decoded(one.substr(0, sign), Plus::space);
    const auto value = percent_decoded(one.substr(std::min(sign + 1, one.size())), Plus::space);
    if (!name || !value || !is_utf8(*name) || !is_utf8(*value) || value->size() > longest_parameter) {
      return problem("bad_parameter", "the query is not percent-encoded UTF-8, or is longer than 8 KiB");
    }
    const std::string shown = visible(name->substr(0, 100));
    if (!is_known(*name, known)) {
      return problem("unknown_parameter",
                     fmt::format("unknown parameter {}; one of: {}", shown, known.empty() ? "none" : known));
    }
    if (call.parameters.size() == most_parameters || !call.parameters.emplace(*name, *value).second) {
      return problem("bad_parameter", shown + " is given twice");
    }
  }
  const std::string_view needed = missing(call, known);
  if (!needed.empty()) return problem("missing_parameter", fmt::format("give {} in the query", needed));
  return std::nullopt;
}

}  // namespace feedmill
