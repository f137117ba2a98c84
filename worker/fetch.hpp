// One refresh's exchange with the origin: redirects, conditional headers, limits. Policy-free: what an answer means is
// decided in decide.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "worker/report.hpp"

namespace feedmill {

/// Byte-exact field values as the server sent them (HTTP P1), "" when unknown; they belong to `url` alone (HTTP P3).
struct Validators {
  std::string etag, last_modified;
  std::string url;

  bool operator==(const Validators&) const = default;
};

struct FetchRequest {
  std::string url;        ///< canonical absolute http(s) URL
  Validators validators;  ///< sent on exactly the hop whose URL equals validators.url
};

/// One answer on the way; `location` as resolved, "" for the last.
struct Hop {
  std::string url;
  int status = 0;
  std::string location;
};

using Header = std::pair<std::string, std::string>;  ///< name in lower case, value without surrounding white space

struct FetchTimings {
  std::chrono::duration<double> total{}, connect{}, first_byte{};
};

/// A complete final answer, any status but a followed redirect. `body` is as received: content coding still on.
struct FetchResponse {
  int status = 0;
  std::string url;  ///< of the last hop
  std::vector<Header> headers;
  std::string body;
  std::vector<Hop> hops;  ///< all, the last included
  FetchTimings timings;
  std::uint32_t connections_new = 0, connections_reused = 0;

  /// First value of that name (lower case), "" when absent.
  std::string_view header(std::string_view name) const;
};

/// No complete answer. `hops` are those that had one.
struct FetchError {
  Reason reason{};
  std::string detail;
  std::vector<Hop> hops;
  FetchTimings timings;
  bool sent = false;  ///< an HTTP byte got out (HTTP P6)
};

using FetchResult = std::variant<FetchResponse, FetchError>;

}  // namespace feedmill
