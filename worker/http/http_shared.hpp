// State shared by all transfers of a client: limits, connections, sessions, and the egress policy.
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
  /// `finished`: called for each transfer that ended.
  HttpShared(boost::asio::any_io_executor executor, HttpClientOptions given, HttpEngine::Finished finished);

  /// The policy, with this machine's current addresses.
  const EgressPolicy& egress();

  HttpClientOptions options;
  NetworkLimit networks, posts;
  TlsSessions sessions;                               ///< must outlive the connections
  const bool resumes;                                 ///< `sessions` supports libcurl's TLS library
  std::chrono::steady_clock::time_point own_until;    ///< this machine's addresses are current
  std::chrono::steady_clock::time_point nat64_until;  ///< known NAT64 prefixes are current
  HttpEngine engine;
};

/// The refusal for `address`, for any verdict but Egress::allowed.
Refusal refusal_of(Egress verdict, std::string_view address, unsigned port);

}  // namespace feedmill
