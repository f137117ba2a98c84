// What an HTTP client is asked and what it answers: values.
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
#include "worker/egress/proxy.hpp"
#include "worker/http/http_fields.hpp"
#include "worker/http/resolver.hpp"

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
  std::size_t max_connections = 256 + 16;  ///< in use at once; from RLIMIT_NOFILE
  std::size_t keep_alive = 1024;           ///< connections kept for later, besides
  std::size_t max_per_network = 26;        ///< in use at once; not of addresses that `egress` opens by name (HTTP H8)
  std::chrono::milliseconds network_wait = std::chrono::seconds(1);  ///< for a place among these
  std::size_t max_posts_per_network = 16;  ///< counted by themselves; one that finds no place does not wait for it
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
  std::string address{};                  ///< of those that the host resolves to, the only one to connect to; "": any
  std::shared_ptr<const std::string> post{};      ///< body of a POST, read while it is sent; null: a GET
  std::optional<std::uint64_t> max_body_bytes{};  ///< of the answer, on the wire; none: the client's.
                                                  ///< If set, the head has at most 32 KiB
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

/// Why we stop an exchange ourselves.
struct Refusal {
  Reason reason{};
  std::string detail;
};

}  // namespace feedmill
