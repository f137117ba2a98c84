// One HTTP exchange at a time, thousands at once: libcurl's multi interface on an Asio event loop.
//
// Knows nothing of feeds, redirects or validators (fetch.hpp does): it sends the lines it is given and brings back one
// answer or the reason why there is none. Everything runs on the executor's thread, which must be a single one.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "worker/http/http_exchange.hpp"
#include "worker/http/resolver.hpp"

namespace feedmill {

struct HttpShared;

/// Owns the connections. One per egress policy: a connection opened under one is never used under another (HTTP §7).
/// Must outlive every get() under way; neither copied nor moved.
class HttpClient {
 public:
  HttpClient(boost::asio::any_io_executor executor, HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Reads the system's resolver configuration, this machine's addresses and the network's NAT64 prefixes again before
  /// they are next needed (HTTP D8, SECURITY E7).
  void reload();

  /// One GET, or POST when there is something to post; the request outlives it. Cancellation unwinds with
  /// operation_aborted, the transfer removed from libcurl first (HTTP X5).
  boost::asio::awaitable<HttpResult> get(const HttpRequest& request);

  const EgressPolicy& egress() const;

  /// An address that get() may connect to for a URL, IPv4 if there is one; "" if none is known. The lookup stays in the
  /// cache for get().
  boost::asio::awaitable<std::string> address_of(const std::string& url,
                                                 std::chrono::steady_clock::time_point deadline);

 private:
  boost::asio::awaitable<void> look_for_nat64(std::chrono::steady_clock::time_point deadline);
  boost::asio::awaitable<HttpResult> exchange(const HttpRequest& request, const std::string& resolve_line);

  Resolver resolver_;
  std::unique_ptr<HttpShared> shared_;
};

}  // namespace feedmill
