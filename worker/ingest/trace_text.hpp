// Describes the steps of a refresh as text, for `feedmill trace`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "storage/events/traces.hpp"
#include "storage/redis/store_error.hpp"
#include "worker/base/report.hpp"
#include "worker/http/fetch.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// Describes each step in one or more lines; omits secrets and cleans text from outside (SECURITY K1, O2).
class TraceText {
 public:
  /// Receives one line. `ms`: since construction; consecutive lines may have the same `step`.
  using Tell = std::function<void(std::int64_t ms, std::string_view step, const std::string& text)>;

  /// `max_body_bytes`: the size limit of a document.
  TraceText(std::uint64_t max_body_bytes, Tell tell) : max_body_bytes_(max_body_bytes), tell_(std::move(tell)) {}

  /// Whether the feed was claimed.
  bool began() const { return began_; }
  /// Adds a line about a step that is not part of the refresh itself.
  void tell(std::string_view step, const std::string& outside);

  // The steps of a refresh, on the loop's thread.

  void claimed(const Claim& claim);
  /// Called again if the fetch is repeated without content coding.
  void answered(const FetchRequest& request, const FetchResult& fetched);
  void read(const Reading& reading);
  void decided(const Claim& claim, const StoredSnapshot& known, const Decision& decision);
  /// Called for each attempt to commit.
  void committed(const StoreResult<Committed>& done);

 private:
  void tell_request(const FetchRequest& request);
  void tell_reading(const Document& document);
  void tell_reading(const SameBody& same);
  void tell_reading(const NotModified& same);
  void tell_reading(const HttpStatus& answer);
  void tell_reading(const FetchError& error);
  void tell_reading(const Unreadable& unreadable);
  void tell_known(const StoredSnapshot& known);

  const std::uint64_t max_body_bytes_;
  const Tell tell_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::uint64_t wire_bytes_ = 0;
  bool began_ = false;
};

/// Collects the steps of a refresh that another process traces (storage/events/traces.hpp), to be written when it ends.
class FollowedRefresh {
 public:
  FollowedRefresh(const Claim& claim, std::uint64_t max_body_bytes);
  FollowedRefresh(const FollowedRefresh&) = delete;
  FollowedRefresh& operator=(const FollowedRefresh&) = delete;

  TraceText& trace() { return text_; }
  void ended(const Report& report);
  /// Records an unexpected failure.
  void failed(std::string_view what);

  const std::string& feed_url() const { return feed_url_; }
  const std::vector<TraceLine>& lines() const { return lines_; }

 private:
  std::string feed_url_;
  std::vector<TraceLine> lines_;
  TraceText text_;
};

// Formats the result of a fetch for people and programs.

/// Names and values in display order; the text is not cleaned.
using NamedLines = std::vector<std::pair<std::string, std::string>>;

/// A view of a FetchResult, which must outlive it: the common parts of a response and a failure.
class Answered {
 public:
  explicit Answered(const FetchResult& fetched) : fetched_(fetched) {}

  const FetchTotals& totals() const;
  const std::vector<Header>& headers() const;
  /// "public", "opened by egress.allow", "refused", or "unknown" if no connection was made.
  std::string_view egress() const;
  /// As "[2001:db8::1]:443"; "" without a response.
  std::string peer() const;

  /// Adds hops, headers, address and time.
  void add_to(NamedLines& lines) const;
  /// Adds hops, headers, egress and seconds; the text is cleaned.
  void add_to(boost::json::object& row) const;

 private:
  const FetchResponse* response() const { return std::get_if<FetchResponse>(&fetched_); }
  const FetchError& error() const { return std::get<FetchError>(fetched_); }

  const FetchResult& fetched_;
};

/// As "1 234 bytes received; body 900 on the wire, 4 096 decoded of at most 16 777 216".
std::string size_text(std::uint64_t wire_bytes, const BodyPrint& print, std::uint64_t most);

}  // namespace feedmill
