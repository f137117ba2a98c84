// Previews the egress policy's verdict on feed URLs: resolves names, but does not connect (SECURITY §1).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "worker/config/feed_settings.hpp"
#include "worker/http/fetch.hpp"
#include "worker/http/resolver.hpp"

namespace feedmill {

/// The verdict on one feed URL.
struct EgressView {
  enum class Verdict {
    allowed,
    refused,  ///< by the policy: no request is sent
    proxied,  ///< the proxy resolves the name and decides (SECURITY E9)
    unknown,  ///< the name was not resolved
  };
  Verdict verdict = Verdict::unknown;
  std::vector<std::string> addresses;  ///< of the host; for `allowed` only those that may be connected to
  std::string reason;              ///< if refused or unknown: the reason a failed refresh would have, "egress.blocked"
  std::string detail;              ///< if refused or unknown: for people, not cleaned
  bool unusable_settings = false;  ///< if refused: the settings name something not configured or unreadable
};

/// "allowed", "refused", "proxied", "unknown".
std::string_view to_string(EgressView::Verdict verdict);

/// A feed's canonical URL and its operator's settings.
struct EgressQuestion {
  std::string url;
  FeedSettings settings;
};

/// Previews verdicts under a worker's options.
class EgressViewer {
 public:
  /// `options`: those of a worker, including its policies.
  explicit EgressViewer(FetchOptions options);

  /// Verdict without resolving: from the settings and a literal address; `unknown` for a name.
  EgressView of_text(const EgressQuestion& question) const;

  /// One view per question. Resolves all names concurrently for at most `patience`. Blocks; throws Interrupted.
  std::vector<EgressView> of(std::span<const EgressQuestion> questions, std::chrono::milliseconds patience) const;

  /// The policy of feeds that name none, with this machine's own addresses blocked.
  const EgressPolicy& standard() const { return options_.egress; }
  /// The policies that feeds may name, with this machine's own addresses blocked.
  const std::map<std::string, EgressPolicy, std::less<>>& named() const { return options_.policies; }

 private:
  FetchOptions options_;
};

// Blocking name resolution for verbs.

/// Resolves each name to its addresses or an error. Blocks for about `patience` at most; throws Interrupted if the verb
/// is interrupted.
std::map<std::string, LookedUp> look_up(const ResolverOptions& options, const std::set<std::string>& names,
                                        std::chrono::milliseconds patience);

}  // namespace feedmill
