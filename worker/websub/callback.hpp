// What hubs send to a callback in the request target, and what we send to hubs (WEBSUB §3). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "storage/queues/pushes.hpp"

namespace feedmill {

/// A parsed request target: the token in its path, if it is a callback's.
struct CallbackTarget {
  std::string token;                     ///< "" = not a callback's path
  std::optional<std::size_t> partition;  ///< named in the path
  std::string_view query;                ///< points into the target; without the question mark
  bool has_query = false;
};

/// Parses "/w/<token>", with a partition "/p3/w/<token>". `base`: the path of websub.public_url, which a proxy in front
/// of us may have removed. The path is decoded once and matched exactly (SECURITY O5).
CallbackTarget read_callback_target(std::string_view target, std::string_view base);

/// The parameters of a verification, or of a denial.
struct Verification {
  std::string mode, topic, challenge, lease_seconds, reason;  ///< challenge: not for a denial
};

/// Empty if a required parameter is missing, a known one is repeated, an escape is invalid, or the challenge is not 1
/// to 1024 visible characters (WEBSUB S7). Ignores unknown parameters. Linear time.
std::optional<Verification> read_verification(std::string_view query);

/// The form that requests or ends a subscription (WEBSUB §3).
std::string subscription_form(const PushRecord& record, std::string_view mode, std::string_view callback);

/// Untrusted text as one visible line of at most `most` bytes, cut between characters (SECURITY O2).
std::string one_line(std::string_view text, std::size_t most);

/// A hub's reason for a refusal or failure, fit for storing: one_line() of at most 500 bytes, without secrets,
/// including those of `record`, which it may repeat (WEBSUB S4, L2; SECURITY K1).
std::string reason_of_hub(std::string text, const PushRecord& record);

}  // namespace feedmill
