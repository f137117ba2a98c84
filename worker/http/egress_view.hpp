// What the egress policy says of addresses of feeds, before anybody asks them: names are looked up, nothing is
// connected to (SECURITY §1).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "worker/config/feed_settings.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {

struct EgressView {
  enum class Verdict {
    allowed,
    refused,  ///< by the policy: no request will be sent
    proxied,  ///< the proxy looks the name up and decides (SECURITY E9)
    unknown,  ///< the name could not be looked up
  };
  Verdict verdict = Verdict::unknown;
  std::vector<std::string> addresses;  ///< of the host; of `allowed` those alone that may be connected to
  std::string reason;                  ///< of refused and unknown: as a failed refresh would name it, "egress.blocked"
  std::string detail;                  ///< of refused and unknown: for people, not cleaned
  bool unusable_settings = false;      ///< of refused: what the feed's settings name is not configured, or unreadable
};

/// "allowed", "refused", "proxied", "unknown".
std::string_view to_string(EgressView::Verdict verdict);

/// A feed's address, canonical, and what its operator has set.
struct EgressQuestion {
  std::string url;
  FeedSettings settings;
};

class EgressViewer {
 public:
  /// `options`: as a worker fetches; its policies stand in them.
  explicit EgressViewer(FetchOptions options);

  /// Without looking a name up: what settings and an address given as numbers say, `unknown` of a name.
  EgressView of_text(const EgressQuestion& question) const;

  /// An answer for each. All names are looked up at once, for `patience` at most. Blocks; throws Interrupted.
  std::vector<EgressView> of(std::span<const EgressQuestion> questions, std::chrono::milliseconds patience) const;

  /// The policy that holds for feeds that name none, this machine's own addresses closed.
  const EgressPolicy& standard() const { return options_.egress; }
  /// Those that feeds may name, likewise.
  const std::map<std::string, EgressPolicy, std::less<>>& named() const { return options_.policies; }

 private:
  FetchOptions options_;
};

}  // namespace feedmill
