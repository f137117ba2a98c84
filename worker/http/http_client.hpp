// HTTP exchanges, thousands at once: libcurl's multi interface on an Asio event loop.
//
// Knows nothing of feeds, redirects and validators (see fetch.hpp): sends the given lines and returns one response, or
// the reason for its absence. Runs on the executor's thread, which must be a single one.
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

/// Owns the connections. There is one client per egress policy: a connection is used only under the policy it was
/// opened under (HTTP §7). Must outlive all running get() calls; not copyable or movable.
class HttpClient {
 public:
  HttpClient(boost::asio::any_io_executor executor, HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Rereads the system's resolver configuration, this machine's addresses and the network's NAT64 prefixes before
  /// their next use (HTTP D1, SECURITY E6).
  void reload();

  /// Sends a GET, or a POST if `request.post` is set; `request` must outlive the call. Cancellation unwinds with
  /// operation_aborted, after removing the transfer from libcurl.
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
