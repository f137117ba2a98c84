// What hubs send to a callback, as far as it stands in the request's target; and what we send to hubs (WEBSUB §3).
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "storage/websub/pushes.hpp"

namespace feedmill {

/// A request's target taken apart: the token of its path when it is one of a callback.
struct CallbackTarget {
  std::string token;                     ///< "" = the path is no callback's
  std::optional<std::size_t> partition;  ///< that the path names
  std::string_view query;                ///< of the target that was read; without the question mark
  bool has_query = false;
};

/// "/w/<token>", of a partition "/p3/w/<token>". `base`: the path of websub.public_url, which a proxy before us may
/// have taken off or not. The path is decoded once and matched exactly (SECURITY O5).
CallbackTarget read_callback_target(std::string_view target, std::string_view base);

/// The parameters of a verification, or of a denial.
struct Verification {
  std::string mode, topic, challenge, lease_seconds, reason;  ///< challenge: not of a denial
};

/// Nothing when one that is needed is missing, one of ours stands twice, an escape is broken, or the challenge is not 1
/// to 1024 visible characters (WEBSUB S7). Others are passed over. Linear.
std::optional<Verification> read_verification(std::string_view query);

/// The form that asks for a subscription, or for its end (WEBSUB S1).
std::string subscription_form(const PushRecord& record, std::string_view mode, std::string_view callback);

/// Text of a stranger on one line of at most `most` bytes, visible, cut between characters (SECURITY §5).
std::string one_line(std::string_view text, std::size_t most);

/// Why a hub will not, or cannot, fit to be kept: one_line() of 500 bytes at most, without secrets, those of `record`
/// among them, which it may repeat (WEBSUB S4, L3; SECURITY K1).
std::string reason_of_hub(std::string text, const PushRecord& record);

}  // namespace feedmill
