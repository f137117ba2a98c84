// One HTTP exchange at a time, thousands at once: libcurl's multi interface on an Asio event loop.
//
// Knows nothing of feeds, redirects or validators (fetch.hpp does): it sends the lines it is given and brings back one
// answer or the reason why there is none. Everything runs on the executor's thread, which must be a single one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "worker/http/address_guard.hpp"
#include "worker/http/http_fields.hpp"
#include "worker/http/proxy.hpp"
#include "worker/http/resolver.hpp"
#include "worker/memory_budget.hpp"
#include "worker/report.hpp"

namespace feedmill {

struct HttpClientOptions {
  EgressPolicy egress;
  ResolverOptions resolver;
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);  ///< TCP and TLS
  /// An answer that has begun ends when less than `stall_bytes_per_second` came from one look at it to the next.
  std::chrono::seconds stall_time{15};
  std::uint32_t stall_bytes_per_second = 200;
  std::uint64_t max_body_bytes = 16u << 20;     ///< on the wire
  std::uint64_t max_header_bytes = 128u << 10;  ///< all lines, 1xx and trailers included
  std::uint32_t max_header_lines = 512;
  std::uint32_t max_header_line_bytes = 16u << 10;
  std::size_t max_connections = 256 + 16;  ///< at once; from RLIMIT_NOFILE
  std::size_t keep_alive = 256;            ///< connections kept for later
  std::size_t max_per_network = 26;        ///< in use at once; not of addresses that `egress` opens by name (HTTP H8)
  std::chrono::milliseconds network_wait = std::chrono::seconds(1);  ///< for a place among these
  std::chrono::milliseconds memory_wait = std::chrono::seconds(10);  ///< for memory to read on (SECURITY M3)
  bool http2 = true;                                                 ///< by ALPN over TLS
  std::string ca_bundle = "/etc/ssl/certs/ca-certificates.crt";
};

struct HttpRequest {
  std::string url;  ///< canonical (web_url.hpp)
  std::string user_agent;
  std::vector<std::string> header_lines;  ///< "Name: value", sent as they are after Host and User-Agent
  std::chrono::steady_clock::time_point deadline;
  bool fresh_connection = false;          ///< do not reuse one
  bool http1 = false;                     ///< do not offer HTTP/2
  MemoryBudget::Share* memory = nullptr;  ///< the body is read as far as it grants; null: as far as the limits go
  std::optional<Proxy> proxy{};           ///< goes through it, and then it is the proxy's to say where to (SECURITY E9)
  std::string ca_file{};                  ///< trusted instead of the client's, "" for none
  std::string pin{};                      ///< as CURLOPT_PINNEDPUBLICKEY has it, "" for none
  std::optional<std::string> post{};      ///< body of a POST; none: a GET
  std::optional<std::uint64_t> max_body_bytes{};  ///< of the answer, on the wire; none: the client's
};

/// What is known of an exchange however it ended.
struct HttpTrace {
  std::chrono::duration<double> total{}, connect{}, first_byte{};  ///< `connect` is TCP and TLS alone
  std::uint64_t wire_bytes = 0;                                    ///< received: headers and body
  bool sent = false;                                               ///< an HTTP byte got out (HTTP P6)
  std::uint32_t connections_new = 0;                               ///< opened for it
  std::uint32_t connections_resumed = 0;                           ///< of these: TLS sessions resumed
  std::string peer;                                                ///< address connected to, "" when none was
  std::uint16_t peer_port = 0;
};

/// A complete answer; `body` as received, content coding still on. Interim answers (1xx) and trailers are left out.
struct HttpResponse {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
  HttpTrace trace;
};

struct HttpFailure {
  Reason reason{};
  std::string detail;
  int status = 0;  ///< 0 when not even a status line came
  HttpTrace trace;
  /// Of a 200 whose body ended early: what had come of it (HTTP §4). "" otherwise.
  std::vector<Header> headers{};
  std::string body{};
};

using HttpResult = std::variant<HttpResponse, HttpFailure>;

/// Owns the connections. One per egress policy: a connection opened under one is never used under another (HTTP §7).
/// Must outlive every get() under way; neither copied nor moved.
class HttpClient {
 public:
  HttpClient(boost::asio::any_io_executor executor, HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Reads the system's resolver configuration and this machine's addresses again before they are next needed (D8, E7).
  void reload();

  /// One GET, or POST when there is something to post. Cancellation unwinds with operation_aborted, the transfer
  /// removed from libcurl first (HTTP X5).
  boost::asio::awaitable<HttpResult> get(HttpRequest request);

  const EgressPolicy& egress() const;

 private:
  struct Shared;
  class Transfer;

  boost::asio::awaitable<HttpResult> exchange(const HttpRequest& request, std::string resolve_line);
  boost::asio::awaitable<HttpResult> transfer(const HttpRequest& request, const std::string& resolve_line,
                                              std::string& crowded);

  Resolver resolver_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace feedmill
