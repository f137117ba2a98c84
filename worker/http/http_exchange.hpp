// Requests and results of the HTTP client: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "worker/base/memory_budget.hpp"
#include "worker/base/report.hpp"
#include "worker/egress/address_guard.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/http_fields.hpp"
#include "worker/http/resolver.hpp"

namespace feedmill {

/// Configuration and limits of an HttpClient.
struct HttpClientOptions {
  EgressPolicy egress;
  ResolverOptions resolver;
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);  ///< TCP and TLS
  /// A response stalls if less than `stall_bytes_per_second` arrived between two checks.
  std::chrono::seconds stall_time{15};
  std::uint32_t stall_bytes_per_second = 200;
  std::uint64_t max_body_bytes = 16u << 20;     ///< on the wire
  std::uint64_t max_header_bytes = 128u << 10;  ///< all lines, including 1xx and trailers
  std::uint32_t max_header_lines = 512;
  std::uint32_t max_header_line_bytes = 16u << 10;
  std::size_t max_connections = 256 + 16;  ///< in use at once; from RLIMIT_NOFILE
  std::size_t keep_alive = 1024;           ///< idle connections kept in addition
  std::size_t max_per_network = 26;        ///< in use at once; excludes addresses that `egress` opens by name (HTTP H8)
  std::chrono::milliseconds network_wait = std::chrono::seconds(1);  ///< for a slot in its network
  std::size_t max_posts_per_network = 16;  ///< counted separately; without a free slot, a post fails at once
  std::chrono::milliseconds memory_wait = std::chrono::seconds(10);  ///< for memory to continue reading (SECURITY M3)
  bool http2 = true;                                                 ///< negotiated by ALPN over TLS
  std::string ca_bundle = "/etc/ssl/certs/ca-certificates.crt";      ///< PEM file of trusted CAs
};

/// A single request; redirects are not followed.
struct HttpRequest {
  std::string url;  ///< canonical (web_url.hpp)
  std::string user_agent;
  std::vector<std::string> header_lines;  ///< "Name: value", sent unchanged after Host and User-Agent
  std::chrono::steady_clock::time_point deadline;
  bool fresh_connection = false;              ///< do not reuse a connection
  bool http1 = false;                         ///< do not offer HTTP/2
  MemoryBudget::Share* memory = nullptr;      ///< limits the body to granted memory; null: only the size limits apply
  std::optional<Proxy> proxy{};               ///< if set, the proxy decides where to connect (SECURITY E9)
  std::string ca_file{};                      ///< CAs trusted instead of the client's; "": none
  std::string pin{};                          ///< as in CURLOPT_PINNEDPUBLICKEY; "": none
  std::string address{};                      ///< the only address to connect to; "": any of the host's
  std::shared_ptr<const std::string> post{};  ///< body of a POST, read while sending; null: a GET
  /// Limit of the response's body on the wire; empty: the client's. If set, the header is limited to 32 KiB.
  std::optional<std::uint64_t> max_body_bytes{};
};

/// Facts about an exchange, whatever its result.
struct HttpTrace {
  std::chrono::duration<double> total{}, connect{}, first_byte{};  ///< `connect` is TCP and TLS only
  std::uint64_t wire_bytes = 0;                                    ///< received: headers and body
  bool sent = false;                                               ///< an HTTP byte was sent (HTTP P6)
  std::uint32_t connections_new = 0;                               ///< connections opened for it
  std::uint32_t connections_resumed = 0;                           ///< resumed TLS sessions among these
  std::string peer;                                                ///< address connected to, "" if none
  std::uint16_t peer_port = 0;
};

/// A complete response; `body` is still encoded. Excludes interim responses (1xx) and trailers.
struct HttpResponse {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
  HttpTrace trace;
};

/// An exchange without a complete response.
struct HttpFailure {
  Reason reason{};
  std::string detail;
  int status = 0;  ///< 0 if no status line arrived
  HttpTrace trace;
  /// If the body of a 200 ended early, the part received (HTTP §4); otherwise empty.
  std::vector<Header> headers{};
  std::string body{};
};

using HttpResult = std::variant<HttpResponse, HttpFailure>;

/// Why we abort the exchange.
struct Refusal {
  Reason reason{};
  std::string detail;
};

}  // namespace feedmill
