#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/records/json_members.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/config.hpp"
#include "worker/observe/store_failure.hpp"
#include "worker/verbs/admin_client.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill {
namespace {

/// The checks in /readyz?verbose; empty if the response is not a worker's.
boost::json::array checks_of(const std::string& body) {
  boost::system::error_code error;
  const boost::json::value answer = boost::json::parse(body, error);
  const boost::json::object* const object = error ? nullptr : answer.if_object();
  const boost::json::value* const checks = object == nullptr ? nullptr : object->if_contains("checks");
  return checks != nullptr && checks->is_array() ? checks->as_array() : boost::json::array();
}

void tell(const boost::json::value& check, Terminal& terminal) {
  const auto text = [&](const char* field) {
    return std::string(check.is_object() ? string_member(check.get_object(), field) : "");
  };
  const boost::json::value* const ok = check.is_object() ? check.as_object().if_contains("ok") : nullptr;
  const bool passed = ok != nullptr && ok->is_bool() && ok->as_bool();
  const std::string detail = text("detail");
  terminal.line(fmt::format("  {:<14}{}{}{}", visible(text("name")), passed ? "ok" : "failed",
                            detail.empty() ? "" : ": ", visible(detail)));
}

int check_health(const OperationValues& given, const Config& config, Terminal& terminal) {
  const AdminClient client = AdminClient::open(config);
  const std::string path = given.truth("ready") ? "/readyz" : "/livez";
  const AdminAnswer answer = client.get(path + "?verbose");
  const bool healthy = answer.status == 200;
  if (terminal.json()) {
    boost::json::object row = json_row();
    row["probe"] = path.substr(1);
    row["healthy"] = healthy;
    row["status"] = answer.status == 0 ? boost::json::value() : boost::json::value(answer.status);
    row["checks"] = checks_of(answer.body);
    terminal.line(row);
  } else if (answer.status != 0) {
    terminal.line(fmt::format("{} {}", path.substr(1), healthy ? "ok" : fmt::format("failed ({})", answer.status)));
    for (const boost::json::value& check : checks_of(answer.body)) tell(check, terminal);
  }
  if (healthy) return exits::done;
  terminal.flush();
  if (answer.status == 0) throw VerbFailure{exits::no, visible(client.nobody(answer))};
  return exits::no;
}

}  // namespace

VerbRow health_verb() {
  static constexpr std::array taken{fields::flag("--ready", "Also check whether it is ready to work")};
  return {.name = "health",
          .about = "Check whether the running worker on this machine is alive",
          .example = "feedmill health --ready",
          .exits = "1 when it is not, or does not answer",
          .fields = taken,
          .run = check_health};
}

}  // namespace feedmill
