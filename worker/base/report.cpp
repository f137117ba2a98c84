#include "worker/base/report.hpp"

#include <iterator>

namespace feedmill {
namespace {

// In the order of the enums.
constexpr std::string_view outcome_names[] = {"updated", "unchanged", "not_modified", "failed", "deferred", "aborted"};
static_assert(std::size(outcome_names) == all_outcomes.size());

constexpr std::string_view reason_names[] = {"",
                                             "dns.not_found",
                                             "dns.timeout",
                                             "dns.failed",
                                             "egress.blocked",
                                             "egress.port",
                                             "url.invalid",
                                             "connect.refused",
                                             "connect.timeout",
                                             "connect.failed",
                                             "tls.verify",
                                             "tls.handshake",
                                             "http.timeout",
                                             "http.stalled",
                                             "http.truncated",
                                             "http.malformed",
                                             "http.stream",
                                             "http.unexpected",
                                             "limit.body",
                                             "limit.header",
                                             "limit.ratio",
                                             "limit.coding",
                                             "redirect.invalid",
                                             "redirect.loop",
                                             "redirect.limit",
                                             "redirect.downgrade",
                                             "status.auth",
                                             "status.forbidden",
                                             "status.challenge",
                                             "status.not_found",
                                             "status.gone",
                                             "status.rate_limited",
                                             "status.legal",
                                             "status.client",
                                             "status.server",
                                             "parse.empty",
                                             "parse.not_a_feed",
                                             "parse.malformed",
                                             "parse.charset",
                                             "parse.limit",
                                             "store.unavailable",
                                             "store.refused",
                                             "store.stale",
                                             "worker.memory",
                                             "worker.host_wait",
                                             "worker.cancelled",
                                             "worker.bug"};
static_assert(std::size(reason_names) == reason_count);

constexpr std::string_view flaw_names[] = {"encoding",       "entity",       "namespace", "structure", "date", "url",
                                           "duplicate_guid", "missing_guid", "truncated", "loop",      "other"};
static_assert(std::size(flaw_names) == static_cast<std::size_t>(Flaw::other) + 1);

}  // namespace

std::string_view to_string(Outcome outcome) {
  return outcome_names[static_cast<std::size_t>(outcome)];
}
std::string_view to_string(Reason reason) {
  return reason_names[static_cast<std::size_t>(reason)];
}
std::string_view to_string(Flaw flaw) {
  return flaw_names[static_cast<std::size_t>(flaw)];
}

}  // namespace feedmill
