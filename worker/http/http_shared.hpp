// What all transfers of a client share: limits, connections, sessions, and the egress policy.
#pragma once

#include <chrono>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>

#include "worker/egress/network_limit.hpp"
#include "worker/http/http_engine.hpp"
#include "worker/http/http_exchange.hpp"
#include "worker/http/tls_sessions.hpp"

namespace feedmill {

struct HttpShared {
  /// `finished`: told of each transfer that ended.
  HttpShared(boost::asio::any_io_executor executor, HttpClientOptions given, HttpEngine::Finished finished);

  /// The policy, this machine's own addresses up to date.
  const EgressPolicy& egress();

  HttpClientOptions options;
  NetworkLimit networks, posts;
  TlsSessions sessions;                               ///< outlives the connections
  const bool resumes;                                 ///< libcurl's TLS library is the one that `sessions` speaks to
  std::chrono::steady_clock::time_point own_until;    ///< this machine's addresses are believed
  std::chrono::steady_clock::time_point nat64_until;  ///< what is known of NAT64 prefixes is believed
  HttpEngine engine;
};

/// Why nothing may be sent to `address`: for any verdict but Egress::allowed.
Refusal refusal_of(Egress verdict, std::string_view address, unsigned port);

}  // namespace feedmill
