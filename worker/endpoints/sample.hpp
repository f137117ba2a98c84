// Trying a webhook: one signed sample, sent now (OPERATIONS B5).
#pragma once

#include <chrono>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include "storage/push_out/subscribers.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {

struct SampleAnswer {
  std::string id;      ///< webhook-id of what was sent
  int status = 0;      ///< 0: none came
  std::string reason;  ///< then: as a failed refresh would name it, "egress.blocked"
  std::string detail;  ///< then: for people, not cleaned
  std::chrono::milliseconds took{};

  /// Why none came or it was not whole, for people: cleaned, without secrets; "" when it was.
  std::string trouble() const;
  bool taken() const { return status >= 200 && status < 300; }
};

/// For programs: `id` of the webhook, webhook_id, status, trouble, took_ms. No secret stands in it.
boost::json::object sample_json(const std::string& id, const SampleAnswer& answer);

/// Sends it by the rules of `fetcher`, which outlives this: its egress policy holds, redirects are not followed. `now`:
/// by Redis' clock, for the time and the secrets that it is signed with. `patience`: with the answer.
boost::asio::awaitable<SampleAnswer> send_sample(Fetcher& fetcher, Subscriber webhook, Milliseconds now,
                                                 std::chrono::milliseconds patience);

/// The same for who may block. Throws Interrupted.
SampleAnswer send_sample_now(const FetchOptions& options, const Subscriber& webhook, Milliseconds now,
                             std::chrono::milliseconds patience);

}  // namespace feedmill
