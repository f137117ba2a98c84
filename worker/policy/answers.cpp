#include "worker/policy/answers.hpp"

namespace feedmill {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;

Failure failure_of_status(int status) {
  switch (status) {
    case 401:
    case 407:
      return {Reason::status_auth, hours(4), days(7), "auth", 3};
    case 403:
      return {Reason::status_forbidden, hours(4), days(7), "forbidden", 3};
    case 404:
      return {Reason::status_not_found, minutes(60), days(7), "not_found"};
    case 410:
      return {Reason::status_gone, hours(24), hours(24), "gone"};
    case 408:
    case 425:
      return {Reason::status_server, minutes(60), hours(24)};
    case 429:
      return {Reason::status_rate_limited, hours(4), days(7), "rate_limited"};
    case 431:
      return {Reason::status_client, hours(4), days(7)};
    case 451:
      return {Reason::status_legal, hours(24), days(30), "legal", 1};
    default:
      break;
  }
  if (status >= 500) return {Reason::status_server, minutes(60), hours(24)};
  if (status >= 400) return {Reason::status_client, minutes(60), days(7)};
  return {Reason::http_unexpected, minutes(60), hours(24)};
}

Failure failure_of_challenge() {
  return {Reason::status_challenge, hours(4), days(7), "challenge", 3};
}

Failure failure_of_the_gone() {
  return {Reason::status_gone, days(30), days(30), "gone"};
}

Failure failure_of_error(Reason reason, bool sent) {
  switch (reason) {
    case Reason::dns_not_found:
    case Reason::dns_timeout:
    case Reason::dns_failed:
    case Reason::connect_refused:
    case Reason::connect_timeout:
    case Reason::connect_failed:
    case Reason::tls_verify:
    case Reason::tls_handshake:
      // HTTP P6: if an earlier hop sent an HTTP byte, the 60 min floor applies.
      return {reason, sent ? minutes(60) : minutes(15), hours(24)};
    case Reason::egress_blocked:
    case Reason::egress_port:
    case Reason::url_invalid:
      return {reason, hours(4), days(7)};
    case Reason::status_challenge:
      return failure_of_challenge();
    default:
      return {reason, minutes(60), hours(24)};
  }
}

bool is_like_a_storm(Reason reason) {
  return reason == Reason::status_not_found || reason == Reason::status_server || reason == Reason::parse_not_a_feed ||
         reason == Reason::parse_empty;
}

std::string_view group_of(Reason reason) {
  const std::string_view name = to_string(reason);
  const bool alone = name.starts_with("status.") || reason == Reason::parse_limit;
  return alone ? name : name.substr(0, name.find('.'));
}

bool states_freshness(int status) {
  return status == 200 || status == 304 || status == 404 || status == 410 || status == 429 || status >= 500;
}

}  // namespace feedmill
