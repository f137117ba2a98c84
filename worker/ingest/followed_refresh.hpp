// Collects the steps of a refresh that another process traces (storage/events/traces.hpp), to be written when it ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/events/traces.hpp"
#include "worker/base/report.hpp"
#include "worker/ingest/trace_text.hpp"

namespace feedmill {

class FollowedRefresh {
 public:
  FollowedRefresh(const Claim& claim, std::uint64_t max_body_bytes);
  FollowedRefresh(const FollowedRefresh&) = delete;
  FollowedRefresh& operator=(const FollowedRefresh&) = delete;

  RefreshTrace& trace() { return text_; }
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

}  // namespace feedmill
