// What requests of programs do: the code that verbs call, and the answer (RELIABILITY Q1). Blocking.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/requests/requests.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/notifications.hpp"
#include "worker/config/config.hpp"
#include "worker/discovery/discover.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/requests/read_request.hpp"

namespace feedmill {

/// The configuration of requests, replaced as a whole on reload.
struct RequestRules {
  Config config;
  EgressViewer egress;
};

/// The feeds that a page offers.
struct FoundPage {
  std::vector<FoundFeed> feeds;  ///< the surest first
  std::string_view reason;       ///< of the answer if there are none
  std::string detail;            ///< likewise
};
/// `complete`: the probe ended before its timeout.
FoundPage found_page(const Discovery& discovery, bool complete);

/// The page of an add; null while it is being probed: the request is not answered then.
using PageOf = std::function<const FoundPage*(const Request& request)>;

/// Whether one script carries a request out: it can be called without the stream (Requests::is_one_step).
bool is_one_step(const Request& request);

/// Why the egress policy refuses a URL; names are resolved when they are fetched, not here.
std::optional<RequestProblem> refusal_of(const std::string& url, const FeedSettings& settings,
                                         const RequestRules& rules);

class RequestActions {
 public:
  /// Both outlive this.
  RequestActions(Store& store, Requests& requests) : store_(store), requests_(requests) {}

  /// Carries out a request in hand, or one that is_one_step() and has no id, and answers it; of a long one a part, as
  /// `parts` has it. `note`: Begun::note.
  StoreResult<void> carry_out(const Request& request, const std::string& note, InParts& parts,
                              const RequestRules& rules, const PageOf& page = {});

 private:
  /// The problem with a feed of another partition.
  std::optional<RequestProblem> elsewhere(const std::string& feed_url) const;
  bool is_rule_at_home(const Request& request) const;
  StoreResult<void> change(const Request& request, const std::string& note, InParts& parts, const RequestRules& rules,
                           const PageOf& page);
  StoreResult<void> add(const Request& request, const RequestRules& rules, const PageOf& page);
  StoreResult<void> remove(const Request& request, const std::string& note, InParts& parts);
  StoreResult<void> set(const Request& request, const RequestRules& rules);
  StoreResult<void> move(const Request& request, const RequestRules& rules);
  StoreResult<void> follow(const Request& request);
  StoreResult<void> unfollow(const Request& request, const std::string& note, InParts& parts);
  StoreResult<void> remove_channel(const Request& request);
  StoreResult<void> mark(const Request& request, const std::string& note, InParts& parts);
  StoreResult<void> put_entry(const Request& request, const RequestRules& rules);

  Store& store_;
  Requests& requests_;
  Feeds feeds_{store_};
  Channels channels_{store_};
  Notifications notifications_{store_};
  Entries entries_{store_};
};

}  // namespace feedmill
