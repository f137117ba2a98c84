// Parses hubs' requests to a callback and builds our subscription requests to hubs (WEBSUB §3). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "storage/queues/pushes.hpp"

namespace feedmill {

/// A parsed request target; `token` is set if the path belongs to a callback.
struct CallbackTarget {
  std::string token;                     ///< "" = the path does not belong to a callback
  std::optional<std::size_t> partition;  ///< the partition in the path, if any
  std::string_view query;                ///< points into the target; without the question mark
  bool has_query = false;
};

/// Parses "/w/<token>" and, with a partition, "/p3/w/<token>". `base`: the path of websub.public_url, which a proxy in
/// front of us may have removed. Decodes the path once and matches it exactly (SECURITY O5).
CallbackTarget read_callback_target(std::string_view target, std::string_view base);

/// The parameters of a hub's verification or denial.
struct Verification {
  std::string mode, topic, challenge, lease_seconds, reason;  ///< `challenge` is empty in a denial
};

/// Returns nullopt if a required parameter is missing, a known one is repeated, an escape is invalid, or the challenge
/// is not 1 to 1024 visible characters (WEBSUB S7). Ignores unknown parameters. Linear time.
std::optional<Verification> read_verification(std::string_view query);

/// The form body that requests (`mode` "subscribe") or ends ("unsubscribe") a subscription (WEBSUB §3).
std::string subscription_form(const PushRecord& record, std::string_view mode, std::string_view callback);

/// Converts untrusted text to one visible line of at most `most` bytes, cut between characters (SECURITY X3).
std::string one_line(std::string_view text, std::size_t most);

/// A hub's reason for a refusal or failure, made safe for storing: one line of at most 500 bytes, without secrets,
/// including those of `record` if the hub echoes them (WEBSUB S4, L2; SECURITY K1).
std::string reason_of_hub(std::string text, const PushRecord& record);

}  // namespace feedmill
