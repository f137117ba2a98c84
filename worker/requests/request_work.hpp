// Carries out what programs ask for by the code that verbs call: one request at a time, of a long one a part at a time,
// so that those behind it do not wait (RELIABILITY Q3). Blocking.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/redis/server_wait.hpp"
#include "storage/requests/requests.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/config/config.hpp"
#include "worker/discovery/discover.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/requests/read_request.hpp"
#include "worker/requests/request_order.hpp"

namespace feedmill {

/// What holds for requests of the configuration, which a reload replaces. A value that nobody changes.
struct RequestRules {
  Config config;
  EgressViewer egress;
};

/// An address behind which the feed is looked for that a request wants added.
struct SoughtPage {
  std::string request;  ///< its id
  std::string url;      ///< canonical
};

/// What was found there.
struct FoundPage {
  std::vector<FoundFeed> feeds;  ///< the surest first
  std::string_view reason;       ///< of the answer where there are none
  std::string detail;            ///< likewise
};
/// `complete`: the time for looking did not end first.
FoundPage found_page(const Discovery& discovery, bool complete);

/// What one step came to.
struct RequestStep {
  bool waiting = false;                 ///< another worker takes the requests
  bool idle = false;                    ///< there are none
  bool resting = false;                 ///< none can be carried out now
  std::uint64_t answered = 0;           ///< of all kinds, repeated answers among them
  std::uint64_t poison = 0;             ///< set aside: workers died of them, or their ids are from the future
  std::optional<StoreError> no_memory;  ///< some wait because of this; the others do not
  std::vector<SoughtPage> pages;        ///< to be looked at and told by found(); these requests wait for nothing else
};

/// Not thread-safe. May be killed anywhere, may run several times at once: each request is done once, and answered.
class RequestWork {
 public:
  RequestWork(const StoreOptions& store, Requests::Options options);
  RequestWork(const RequestWork&) = delete;  // its parts refer to its store
  RequestWork& operator=(const RequestWork&) = delete;

  /// A bounded batch of requests, and a bounded part of what is under way; or as much of it as is done before
  /// `cancelled`. After an error call again: nothing is lost by it.
  StoreResult<RequestStep> step(const RequestRules& rules);
  /// Behind a step that was idle: as Requests has it.
  StoreResult<ServerWait> begin_to_wait(Milliseconds longest) { return requests_.begin_to_wait(longest); }
  StoreResult<bool> has_come() { return requests_.has_come(); }
  /// From any thread: that ends with an error, else the next one that begins.
  void break_wait() { store_.break_wait(); }
  /// What is behind a page that was sought. Between two steps.
  void found(const std::string& request, FoundPage page);
  /// Gives the right to take requests back.
  StoreResult<void> let_go();
  /// Asked between requests and parts of them, on the thread that is in step().
  std::function<bool()> cancelled = [] { return false; };
  /// How long a request of many steps goes on before others have their turn; one step at least.
  Milliseconds part{20};

  void set_signals_caps(std::uint64_t records, std::uint64_t bytes) { store_.set_signals_caps(records, bytes); }
  std::uint64_t reconnects() const { return store_.reconnects(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Came { to_its_end, part_way, short_of_memory, to_a_page };

  StoreResult<void> take_on(const RequestRecord& record, const RequestRules& rules, RequestStep& step);
  StoreResult<void> go_on(const RequestRules& rules, RequestStep& step);
  StoreResult<RequestNames> names(const Request& request);
  void forget();
  bool is_short_of_memory() const { return Clock::now() < memory_again_; }
  StoreResult<Came> work_on(const Request& request, const RequestRules& rules, RequestStep& step);
  /// What is wrong with a feed that another partition has.
  std::optional<RequestProblem> elsewhere(const std::string& feed_url) const;
  bool is_rule_at_home(const Request& request) const;
  StoreResult<void> carry_out(const Request& request, const std::string& note, InParts& parts,
                              const RequestRules& rules);
  Came ended(const std::string& id);
  std::size_t sought() const;
  const RequestOrder::Waiting* next();
  StoreResult<void> add(const Request& request, const RequestRules& rules);
  StoreResult<void> remove(const Request& request, const std::string& note, InParts& parts);
  StoreResult<void> set(const Request& request, const RequestRules& rules);
  StoreResult<void> move(const Request& request, const RequestRules& rules);
  StoreResult<void> follow(const Request& request);
  StoreResult<void> unfollow(const Request& request, const std::string& note, InParts& parts);
  StoreResult<void> remove_channel(const Request& request);
  StoreResult<void> mark(const Request& request, const std::string& note, InParts& parts);
  StoreResult<void> put_entry(const Request& request, const RequestRules& rules);

  Store store_;
  Requests requests_;
  Feeds feeds_{store_};
  Channels channels_{store_};
  Notifications notifications_{store_};
  Entries entries_{store_};
  bool holding_ = false;

  RequestOrder order_;                        // what was taken and has not come to its end
  std::string last_;                          // of those that were taken
  std::map<std::string, InParts> under_way_;  // by id: how far they have come
  struct Page {
    std::string url;
    std::optional<FoundPage> found;  // nothing: it is still sought
  };
  std::map<std::string, Page> pages_;  // by id, of requests in hand
  Clock::time_point memory_again_{};   // Redis has none until then, as far as is known
};

}  // namespace feedmill
