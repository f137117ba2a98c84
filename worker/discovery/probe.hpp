// One-off fetches that store nothing: of check, discover, add, and of programs that discover. Blocking, without Redis.
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
#include "worker/base/interrupt.hpp"
#include "worker/http/fetch.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill {

/// What an address turned out to be. The answer in `fetched` has given up its body.
struct Look {
  FetchRequest request;
  FetchResult fetched;
  Reading reading;           ///< what a worker makes of it that sees it for the first time
  std::optional<Feed> feed;  ///< of a 200 that is one
  PageLinks page;            ///< Link headers, and of a 200 that is no feed what its markup names

  /// The answer, nullptr when none came.
  const FetchResponse* response() const { return std::get_if<FetchResponse>(&fetched); }
  /// A 200 with markup that is no feed.
  bool is_page() const { return !feed && page.is_html; }
  /// Whether our own policy closes the address.
  bool is_refused() const;
  /// Whether the same address may answer otherwise in a while.
  bool may_answer_later() const;
  /// Why it is no feed, in one line, not cleaned; "" when it is one.
  std::string trouble() const;
};

/// When hosts were asked last, by all who look beside one another. On any thread.
class HostTurns {
 public:
  using Clock = std::chrono::steady_clock;

  /// Reserves the next moment at which `host` may be asked, `spacing` after the one before.
  Clock::time_point next(const std::string& host, std::chrono::milliseconds spacing);

 private:
  std::mutex mutex_;
  std::map<std::string, Clock::time_point> last_;
};

struct ProbeOptions {
  FetchOptions fetch;
  ReadingOptions reading;
  std::chrono::milliseconds spacing{};  ///< between two requests to one host
  /// Whether to give up; asked every interrupt_interval.
  std::function<bool()> gives_up = interrupted;
  std::shared_ptr<HostTurns> turns = std::make_shared<HostTurns>();
};

/// Looks at addresses, one after the other, with the worker's egress policy and limits. Between two requests to one
/// host it waits for `host.spacing` (HTTP P15); limits of the fleet are Redis' and not known here.
class Probe {
 public:
  explicit Probe(ProbeOptions options);

  /// Blocks until all is known of `url` (canonical). Throws Interrupted, nothing left under way.
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
