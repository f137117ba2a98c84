#include "worker/ingest/followed_refresh.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "worker/base/system.hpp"
#include "worker/words/moments.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_lines = 500;  // a document may have a thousand headers

}  // namespace

FollowedRefresh::FollowedRefresh(const Claim& claim, std::uint64_t max_body_bytes)
    : feed_url_(claim.feed_url),
      text_(max_body_bytes, [this](std::int64_t ms, std::string_view step, const std::string& text) {
        if (lines_.size() < most_lines || step == "end") lines_.push_back({ms, std::string(step), text});
      }) {
  text_.tell("worker", fmt::format("process {} on {}, since {}", ::getpid(), host_name(), rfc3339(claim.now)));
}

void FollowedRefresh::ended(const Report& report) {
  std::string text(to_string(report.outcome));
  if (report.reason != Reason::none) text.append(" ").append(to_string(report.reason));
  if (!report.detail.empty()) text.append(": ").append(report.detail);
  text_.tell("end", text);
}

void FollowedRefresh::failed(std::string_view what) {
  text_.tell("end", fmt::format("failed {}: {}", to_string(Reason::worker_bug), what));
}

}  // namespace feedmill
