// Sends a signed sample to a webhook (OPERATIONS B5).
#pragma once

#include <chrono>

#include <boost/asio/awaitable.hpp>

#include "storage/push_out/subscribers.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill {

/// Sends it through `fetcher`, which outlives the call: its egress policy applies, redirects are not followed. `now`:
/// Redis' clock, for the timestamp and the secrets in use. `patience`: time limit of the response. The outcome is
/// `taken` or `not_taken` and contains no secret.
boost::asio::awaitable<OperationOutcome> send_sample(Fetcher& fetcher, Subscriber webhook, Milliseconds now,
                                                     std::chrono::milliseconds patience);

}  // namespace feedmill
