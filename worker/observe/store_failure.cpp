#include "worker/observe/store_failure.hpp"

#include <string_view>

#include <fmt/format.h>

#include "worker/base/exits.hpp"
#include "worker/base/terminal.hpp"

namespace feedmill {
namespace {

/// The remedy, after a semicolon. Failed logins and missing permissions need different remedies.
std::string remedy_of_refusal(std::string_view detail) {
  if (detail.find("redis.sentinel_") != std::string_view::npos) return "";  // the message has its own remedy
  for (const std::string_view start :
       {"NOAUTH", "WRONGPASS", "DENIED", "ERR AUTH", "ERR invalid password", "ERR Protocol error: unauthenticated"}) {
    if (detail.find(start) != std::string_view::npos) return "; check redis.url and redis.password_file";
  }
  return "; use a Redis user with the required permissions: feedmill_viewer reads, feedmill works, feedmill_admin "
         "verifies and exports";
}

/// The remedy, unless the message has its own.
std::string_view remedy_of_no_write(std::string_view detail) {
  if (detail.starts_with("NOREPLICAS")) return "; check its replicas and its log";
  return detail.starts_with("MISCONF") ? "; check its disk and its log" : "";
}

/// Keys that are temporarily on two nodes (RELIABILITY L26).
bool is_being_moved(std::string_view detail) {
  return detail.starts_with("ASK ") || detail.starts_with("TRYAGAIN");
}

}  // namespace

VerbFailure failure_of(const StoreError& error) {
  const std::string detail = visible(error.detail);
  switch (error.code) {
    case StoreError::Code::unavailable:
    case StoreError::Code::timeout:
      return {exits::unavailable, fmt::format("Redis does not answer: {}; is it running, is redis.url right?", detail)};
    case StoreError::Code::loading:
      if (is_being_moved(error.detail)) {
        return {exits::unavailable,
                fmt::format("the slot of these keys is moving to another cluster node: {}; retry when it has moved",
                            detail)};
      }
      return {exits::unavailable, fmt::format("Redis is not ready yet: {}; retry in a moment", detail)};
    case StoreError::Code::out_of_memory:
      return {exits::unfinished, fmt::format("Redis is out of memory: {}; {}", detail, remedy_of_full_server)};
    case StoreError::Code::misconfigured:
      return {exits::unfinished, fmt::format("Redis cannot write: {}{}", detail, remedy_of_no_write(detail))};
    case StoreError::Code::read_only:
      return {exits::unfinished, fmt::format("Redis is a replica: {}; point redis.url at the primary", detail)};
    case StoreError::Code::auth:
      return {exits::configuration, fmt::format("Redis refuses us: {}{}", detail, remedy_of_refusal(error.detail))};
    case StoreError::Code::tls:
    case StoreError::Code::unsupported:
      return {exits::configuration, detail};
    case StoreError::Code::refused:
      return {exits::unfinished, fmt::format("the store refused: {}", detail)};
    case StoreError::Code::bug:
      break;
  }
  return {exits::bug, fmt::format("a bug, please report it: {}", detail)};
}

}  // namespace feedmill
