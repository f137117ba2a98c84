// Fetches URLs once without storing anything, for check, discover, add and the API. Blocking, without Redis.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "parsers/feed/feed.hpp"
#include "parsers/lists/discovery.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/http/fetch.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill {

/// The result of fetching a URL. The response in `fetched` no longer has its body.
struct Look {
  FetchRequest request;
  FetchResult fetched;
  Reading reading;           ///< as a worker would parse it for the first time
  std::optional<Feed> feed;  ///< set for a 200 with a feed
  PageLinks page;            ///< from Link headers, and from the markup of a 200 that is not a feed

  /// The response, or null.
  const FetchResponse* response() const { return std::get_if<FetchResponse>(&fetched); }
  /// Whether this is a 200 with markup that is not a feed.
  bool is_page() const { return !feed && page.is_html; }
  /// Whether our egress policy refuses the URL.
  bool is_refused() const;
  /// Whether the URL may answer differently after a while.
  bool may_answer_later() const;
  /// Why this is not a feed, one unescaped line; "" if it is.
  std::string trouble() const;
};

/// The times of the last requests to hosts, shared by concurrent probes. On any thread.
class HostTurns {
 public:
  using Clock = std::chrono::steady_clock;

  /// Reserves the next time for a request to `host`, at least `spacing` after the previous one.
  Clock::time_point next(const std::string& host, std::chrono::milliseconds spacing);

 private:
  std::mutex mutex_;
  std::map<std::string, Clock::time_point> last_;
};

struct ProbeOptions {
  FetchOptions fetch;
  ReadingOptions reading;
  std::chrono::milliseconds spacing{};  ///< delay between two requests to a host
  /// Whether to cancel; polled every interrupt_interval.
  std::function<bool()> gives_up = interrupted;
  std::shared_ptr<HostTurns> turns = std::make_shared<HostTurns>();
};

/// Fetches one URL at a time with the worker's egress policy and limits. Waits `spacing` between requests to a host
/// (HTTP P15); the limits of the whole fleet are in Redis and do not apply.
class Probe {
 public:
  explicit Probe(ProbeOptions options);

  /// Fetches and parses `url` (canonical). Blocks. Throws Interrupted when no transfer is left running.
  Look look(const std::string& url);

 private:
  FetchResult fetch(const FetchRequest& request);
  void wait_for_turn(const std::string& host);
  void stop_if_given_up() const;

  ProbeOptions options_;
  boost::asio::io_context loop_{1};
  Fetcher fetcher_;
};

}  // namespace feedmill
