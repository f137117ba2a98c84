// Formats the result of a fetch for people and programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "worker/http/fetch.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill {

/// Names and values in display order, not cleaned.
using NamedLines = std::vector<std::pair<std::string, std::string>>;

/// A view of a FetchResult, which must outlive it: the common parts of a response and a failure.
class Answered {
 public:
  explicit Answered(const FetchResult& fetched) : fetched_(fetched) {}

  const std::vector<Hop>& hops() const;
  const std::vector<Header>& headers() const;
  const FetchTimings& timings() const;
  std::uint64_t wire_bytes() const;
  /// "public", "opened by egress.allow", "refused", "unknown" (no connection was made).
  std::string_view egress() const;
  /// "[2001:db8::1]:443", "" without a response.
  std::string peer() const;

  /// Adds hops, headers, address and time.
  void add_to(NamedLines& lines) const;
  /// Adds hops, headers, egress and seconds; text is cleaned.
  void add_to(boost::json::object& row) const;

 private:
  const FetchResponse* response() const { return std::get_if<FetchResponse>(&fetched_); }
  const FetchError& error() const { return std::get<FetchError>(fetched_); }

  const FetchResult& fetched_;
};

/// "1 234 bytes received; body 900 on the wire, 4 096 decoded of at most 16 777 216".
std::string size_text(std::uint64_t wire_bytes, const BodyPrint& print, std::uint64_t most);

}  // namespace feedmill
