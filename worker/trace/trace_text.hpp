// A refresh told step by step, as `feedmill trace` shows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "worker/trace/refresh_observer.hpp"

namespace feedmill {

/// Puts each step into words; secrets are left out, text from outside is cleaned (SECURITY K1, O2).
class TraceText final : public RefreshTrace {
 public:
  /// `ms` since this was made; several lines in a row may have the same `step`.
  using Tell = std::function<void(std::int64_t ms, std::string_view step, const std::string& text)>;

  /// `max_body_bytes`: what a document may have.
  TraceText(std::uint64_t max_body_bytes, Tell tell) : max_body_bytes_(max_body_bytes), tell_(std::move(tell)) {}

  /// The feed could be claimed.
  bool began() const { return began_; }
  /// A step that the refresh itself does not tell of.
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
