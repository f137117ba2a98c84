// Requests of programs: ordered, carried out one at a time by the code that verbs call, in a loop beside the worker's.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/entries/entries.hpp"
#include "storage/queues/requests.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/store.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/log.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/operations/discover.hpp"
#include "worker/operations/request.hpp"

namespace feedmill {

// The order of requests: two with a feed, channel or ref in common take effect in turn; others do not wait (RELIABILITY
// Q3). Pure.

/// What a request names, as hashes, 0 = nothing. Different things that have one hash wait for each other; that is all.
using RequestNames = std::array<std::uint64_t, 4>;
/// `entry_feed`: the feed of the post that entry_remove is about, "" = not known.
RequestNames names_of(const Request& request, const std::string& entry_feed = {});

/// The unfinished requests in stream order: running ones, and those waiting for them. Keeps the id and the names of
/// each.
class RequestOrder {
 public:
  static constexpr std::size_t most = 100'000;

  struct Waiting {
    std::string id;
    RequestNames names{};
    bool needs_memory = false;  ///< of Redis
    bool is_page = false;       ///< its feed is looked for behind its address
  };

  bool empty() const { return waiting_.empty(); }
  bool full() const { return waiting_.size() >= most; }
  /// Whether one of these names what such a request names.
  bool comes_before(const RequestNames& names) const;
  /// Behind all others.
  void put(Waiting request);
  void clear();

  /// The next that waits for none before it and `can_go`; nullptr once behind the last, then from the first again. What
  /// is returned lives until one of the two below is called; until then it is the next again.
  const Waiting* next(const std::function<bool(const Waiting&)>& can_go);
  /// It has come to its end.
  void ended();
  /// It has not.
  void stays();

 private:
  void pass();

  std::list<Waiting> waiting_;
  std::list<Waiting>::iterator at_ = waiting_.end();
  bool in_round_ = false;
  std::unordered_set<std::uint64_t> passed_;              // names of what stays before at_
  std::unordered_map<std::uint64_t, std::size_t> names_;  // of all, how often
};

/// An address behind which the feed is looked for that a request wants added.
struct SoughtPage {
  std::string request;  ///< its id
  std::string url;      ///< canonical
};

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
  /// Time slice of a request with many steps; it takes at least one step.
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
  Came ended(const std::string& id);
  std::size_t sought() const;
  const RequestOrder::Waiting* next();
  const FoundPage* page_of(const Request& request);

  Store store_;
  Requests requests_;
  Entries entries_{store_};
  bool holding_ = false;

  RequestOrder order_;                        // the unfinished ones
  std::string last_;                          // id of the last one taken
  std::map<std::string, InParts> under_way_;  // progress by id
  struct Page {
    std::string url;
    std::optional<FoundPage> found;  // nothing: it is still sought
  };
  std::map<std::string, Page> pages_;  // by id, of requests in hand
  Clock::time_point memory_again_{};   // Redis has none until then, as far as is known
};

// Requests of programs in a running process: a RequestWork beside the loop, driven from it (RELIABILITY Q3).

/// All members are called on the loop's thread.
class RequestLoop {
 public:
  /// `looks`, `metrics` and `log` outlive this. `wait`: how long one wait in Redis for a request lasts, which another
  /// one follows; a request ends it.
  RequestLoop(const boost::asio::any_io_executor& executor, const StoreOptions& store, Requests::Options options,
              RequestRules rules, Milliseconds wait, Looks& looks, Metrics& metrics, Log& log);
  RequestLoop(const RequestLoop&) = delete;
  RequestLoop& operator=(const RequestLoop&) = delete;

  /// Until stop() was called and heeded; `once`: or until nothing waits, or what waits is another worker's or cannot be
  /// carried out now. Does not throw but for want of memory.
  boost::asio::awaitable<void> run(bool once);
  /// Ends behind the step under way; what is left is done by the next.
  void stop();
  /// Looks for requests now: one was made.
  void look() { timer_.cancel(); }
  /// Gives up a wait for a server that may not answer any more, and looks.
  void break_wait() { work_.break_wait(); }
  /// Whether another process takes requests first: this one leaves it a second then, but for look() (RELIABILITY L30).
  void set_yields(bool yields) { yields_ = yields; }
  /// For requests that are begun from now on.
  void set_rules(RequestRules rules);

 private:
  bool look_behind(const std::vector<SoughtPage>& pages);
  boost::asio::awaitable<void> wait_for_request();
  boost::asio::awaitable<void> pause(Milliseconds time);
  void note(const StoreError& error);

  Looks& looks_;
  Metrics& metrics_;
  Log& log_;
  RequestWork work_;
  std::shared_ptr<const RequestRules> rules_;                       // shared with the step under way
  std::map<std::string, std::unique_ptr<LookUnderWay>> under_way_;  // by the request's id
  const Milliseconds wait_;
  boost::asio::steady_timer timer_;
  bool yields_ = false;
  std::atomic<bool> stopping_ = false;  // read beside the loop as well
  RefusedWork refused_;
  int attempts_ = 0;
  std::uint64_t reconnects_ = 0;
  BlockingCalls calls_;
};

}  // namespace feedmill
