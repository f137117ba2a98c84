// Fetches URLs once, for check, discover, add and the API. Blocking. Stores nothing but the slots that it takes at
// hosts.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>

#include "parsers/feed/feed.hpp"
#include "parsers/lists/discovery.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/store/store.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/config/host_rules.hpp"
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
  /// The end of the pause that the answer asked for, if it did (HTTP P9).
  std::optional<std::chrono::system_clock::time_point> not_before;

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

struct ProbeOptions {
  FetchOptions fetch;
  ReadingOptions reading;
  HostLimits host;  ///< those of Ingest::take_slot_for()
  HostRules hosts;
  /// Where requests take slots, like the whole fleet's (HTTP P15). Without it, only this probe's own are spaced.
  std::optional<StoreOptions> store;
  /// Whether to cancel; polled every interrupt_interval.
  std::function<bool()> gives_up = interrupted;
};

/// Fetches one URL at a time with the worker's egress policy and limits. Each request, redirects included, waits up to
/// 10 s until the host may be asked (HTTP P15, H6). A host that asks for a pause is not asked again.
class Probe {
 public:
  explicit Probe(ProbeOptions options);

  /// Fetches and parses `url` (canonical). Blocks. Throws Interrupted when no transfer is left running.
  Look look(const std::string& url);

 private:
  using Clock = std::chrono::steady_clock;

  FetchResult fetch(FetchRequest request);
  FetchResult fetch_in_turn(const FetchRequest& request);
  std::string enter(const std::string& url);
  StoreResult<Milliseconds> take_turn(const std::string& url);
  void leave();
  void note_pause(Look& look);
  Store& store_of(const std::string& server);
  void stop_if_given_up() const;

  ProbeOptions options_;
  boost::asio::io_context loop_{1};
  Fetcher fetcher_;
  std::map<unsigned, Store> stores_;                 // by partition
  Claim claim_;                                      // stands for the URL that is fetched
  std::set<std::string> entered_;                    // servers with a slot
  std::map<std::string, Clock::time_point> starts_;  // by host, without a store
  std::map<std::string, std::string> paused_;        // by host: why it is not asked again
};

}  // namespace feedmill
