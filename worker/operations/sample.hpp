// Trying a webhook: one signed sample, sent now (OPERATIONS B5).
#pragma once

#include <chrono>

#include <boost/asio/awaitable.hpp>

#include "storage/push_out/subscribers.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill {

/// Sends it by the rules of `fetcher`, which outlives this: its egress policy holds, redirects are not followed. `now`:
/// by Redis' clock, for the time and the secrets that it is signed with. `patience`: with the answer. The outcome is
/// `taken` or `not_taken`, and has no secret in it.
boost::asio::awaitable<OperationOutcome> send_sample(Fetcher& fetcher, Subscriber webhook, Milliseconds now,
                                                     std::chrono::milliseconds patience);

}  // namespace feedmill
