// Text of a refresh's steps, as shown by `feedmill trace`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "worker/trace/refresh_observer.hpp"

namespace feedmill {

/// Describes each step; omits secrets and cleans outside text (SECURITY K1, O2).
class TraceText final : public RefreshTrace {
 public:
  /// `ms` since construction; consecutive lines may have the same `step`.
  using Tell = std::function<void(std::int64_t ms, std::string_view step, const std::string& text)>;

  /// `max_body_bytes`: the limit of a document.
  TraceText(std::uint64_t max_body_bytes, Tell tell) : max_body_bytes_(max_body_bytes), tell_(std::move(tell)) {}

  /// Whether the feed was claimed.
  bool began() const { return began_; }
  /// Adds a step that is not part of the refresh itself.
  void tell(std::string_view step, const std::string& outside);

  void claimed(const Claim& claim) override;
  void answered(const FetchRequest& request, const FetchResult& fetched) override;
  void read(const Reading& reading) override;
  void decided(const Claim& claim, const StoredSnapshot& known, const Decision& decision) override;
  void committed(const StoreResult<Committed>& done) override;

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

}  // namespace feedmill
