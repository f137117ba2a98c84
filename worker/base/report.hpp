// Result of a refresh, for metrics and logs. Names follow HTTP §11 and OPERATIONS §3.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/feed/feed.hpp"

namespace feedmill {

/// How a refresh ended.
enum class Outcome { updated, unchanged, not_modified, failed, deferred, aborted };
inline constexpr std::array all_outcomes{Outcome::updated, Outcome::unchanged, Outcome::not_modified,
                                         Outcome::failed,  Outcome::deferred,  Outcome::aborted};

/// Why a refresh failed. One enum, one spelling: metric label, log field, state field and JSON (HTTP §11).
enum class Reason {
  none,
  dns_not_found,
  dns_timeout,
  dns_failed,
  egress_blocked,
  egress_port,
  url_invalid,
  connect_refused,
  connect_timeout,
  connect_failed,
  tls_verify,
  tls_handshake,
  http_timeout,
  http_stalled,
  http_truncated,
  http_malformed,
  http_stream,
  http_unexpected,
  limit_body,
  limit_header,
  limit_ratio,
  limit_coding,
  redirect_invalid,
  redirect_loop,
  redirect_limit,
  redirect_downgrade,
  status_auth,
  status_forbidden,
  status_challenge,
  status_not_found,
  status_gone,
  status_rate_limited,
  status_legal,
  status_client,
  status_server,
  parse_empty,
  parse_not_a_feed,
  parse_malformed,
  parse_charset,
  parse_limit,
  store_unavailable,
  store_refused,
  store_stale,
  worker_memory,
  worker_host_wait,
  worker_cancelled,
  worker_bug,
};
inline constexpr std::size_t reason_count = static_cast<std::size_t>(Reason::worker_bug) + 1;

/// "updated", "unchanged", …
std::string_view to_string(Outcome outcome);
/// "dns.not_found", …; "" for Reason::none.
std::string_view to_string(Reason reason);
/// "encoding", …, "other".
std::string_view to_string(Flaw flaw);

/// Why a request carried no validators (OPERATIONS §3, unconditional_requests_total).
enum class Unconditional { no, first, no_validators, target_changed, probe };

/// Everything worth counting about one refresh, filled in as it runs.
struct Report {
  std::string feed_url;
  Outcome outcome = Outcome::failed;
  Reason reason = Reason::none;
  std::string detail;         ///< for people, "" on success
  std::string ignored;        ///< FeedSettings::ignored
  std::vector<int> statuses;  ///< HTTP status of each hop
  std::uint32_t permanent_redirects = 0, temporary_redirects = 0;
  bool moved = false;       ///< future requests use another URL
  bool move_taken = false;  ///< not moved because the new URL is already a feed (HTTP R8)
  std::string moved_from, moved_to;
  bool early = false;  ///< fetched before it was due; must not happen (HTTP N2)
  Unconditional unconditional = Unconditional::no;
  std::uint64_t wire_bytes = 0, body_bytes = 0;  ///< received, decoded
  std::uint64_t saved_not_modified = 0, saved_hash = 0, saved_compression = 0;
  std::uint32_t connections_new = 0, connections_reused = 0, connections_resumed = 0;
  std::chrono::duration<double> took{}, connect{}, first_byte{}, parse{}, commit{}, lateness{};
  std::uint32_t created = 0, modified = 0, unchanged = 0, trimmed = 0;
  std::vector<std::pair<std::string, std::uint32_t>> events;  ///< stream records by type
  std::size_t backlog = 0;  ///< created posts that are older than all stored ones: a back catalogue
  std::vector<std::pair<Flaw, std::uint32_t>> flaws;
  std::vector<double> publish_delays;   ///< seconds from publication to storage; dated posts, no first import
  std::chrono::milliseconds next_in{};  ///< until the next due time
  std::string due_reason;               ///< what determined the due time
  bool claim_release_pending = false;   ///< the store has not yet been asked to release the claim
  std::string state_from, state_to;     ///< feed states, equal when nothing changed
  std::string host;  ///< host with a circuit opened or closed by this refresh for all its feeds (HTTP H4, H5); "": none
  bool circuit_opened = false;  ///< false: closed
  bool storm = false;           ///< the circuit opened for a storm (HTTP H11)
  std::string host_cause;       ///< if opened: rate_limited, unavailable, forbidden, or a storm's reason
  std::chrono::milliseconds circuit_open_for{};
  bool pushed_first = false, poll_first = false;  ///< what delivered new content first, for feeds that support push
  std::string push_from, push_to;                 ///< the subscription's state, both "" if unchanged
  std::string push_hub;                           ///< the subscription's hub, if its state changed
  bool push_fell = false;                         ///< PushNews::fell
  bool hub_in_trouble = false;                    ///< now five feeds of this hub have trouble
};

}  // namespace feedmill
