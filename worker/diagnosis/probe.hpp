// One-off fetches of verbs that store nothing: check, discover, add. Blocking, without Redis.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "parsers/feed/feed.hpp"
#include "parsers/lists/discovery.hpp"
#include "worker/config/config.hpp"
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
  /// Why it is no feed, in one line, not cleaned; "" when it is one.
  std::string trouble() const;
};

/// Looks at addresses, one after the other, with the worker's egress policy and limits. Between two requests to one
/// host it waits for `host.spacing` (HTTP P15); limits of the fleet are Redis' and not known here.
class Probe {
 public:
  /// `config` as load_config gives it: its policies can be read.
  explicit Probe(const Config& config);

  /// Blocks until all is known of `url` (canonical). Throws Interrupted, nothing left under way.
  Look look(const std::string& url);

 private:
  using Clock = std::chrono::steady_clock;

  FetchResult fetch(const FetchRequest& request);
  void wait_for_turn(const std::string& host);

  ReadingOptions reading_;
  std::chrono::milliseconds spacing_;
  std::map<std::string, Clock::time_point> last_start_;  // by host
  boost::asio::io_context loop_{1};
  Fetcher fetcher_;
};

}  // namespace feedmill
