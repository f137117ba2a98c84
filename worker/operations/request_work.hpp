// Executes requests of programs in order, one at a time, with the code of the verbs. RequestLoop drives this in a
// running process.
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

// The order of requests: two requests with a feed, channel or ref in common take effect in order; others do not wait
// for each other (RELIABILITY Q3). Pure.

/// The names in a request, as hashes; 0 = none. Requests with the same hash for different names needlessly wait for
/// each other, which is harmless.
using RequestNames = std::array<std::uint64_t, 4>;
/// `entry_feed`: the feed of the post that an entry_remove removes, "" = unknown.
RequestNames names_of(const Request& request, const std::string& entry_feed = {});

/// The unfinished requests in stream order: those in progress, and those that wait for them. Keeps the id and the names
/// of each.
class RequestOrder {
 public:
  static constexpr std::size_t most = 100'000;

  struct Waiting {
    std::string id;
    RequestNames names{};
    bool needs_memory = false;  ///< of Redis
    bool is_page = false;       ///< adds the feed of a web page, which must be found first
  };

  bool empty() const { return waiting_.empty(); }
  bool full() const { return waiting_.size() >= most; }
  /// Whether a request with these names must wait for one that is in here.
  bool comes_before(const RequestNames& names) const;
  /// Adds a request at the end.
  void put(Waiting request);
  void clear();

  /// The next request in the current round that need not wait for an earlier one and for which `can_go` is true; null
  /// at the end of the round, and then the next call starts a new round. Valid until ended() or stays() is called, and
  /// returned again until then.
  const Waiting* next(const std::function<bool(const Waiting&)>& can_go);
  /// Call when the request returned by next() has been finished.
  void ended();
  /// Call when the request returned by next() is not finished yet.
  void stays();

 private:
  std::list<Waiting> waiting_;
  std::list<Waiting>::iterator at_ = waiting_.end();
  bool in_round_ = false;
  std::unordered_set<std::uint64_t> passed_;              // names of requests before at_ that are not finished
  std::unordered_map<std::uint64_t, std::size_t> names_;  // how often each name occurs
};

/// A page to be searched for the feed that a request adds.
struct SoughtPage {
  std::string request;  ///< id of the request
  std::string url;      ///< canonical
};

/// The result of one step.
struct RequestStep {
  bool waiting = false;                 ///< another worker has the lease
  bool idle = false;                    ///< there are no requests
  bool resting = false;                 ///< no request can be executed now
  std::uint64_t answered = 0;           ///< answers sent, including repeated ones
  std::uint64_t poison = 0;             ///< requests set aside: they crashed workers, or have ids from the future
  std::optional<StoreError> no_memory;  ///< some requests wait because of this error; others continue
  std::vector<SoughtPage> pages;        ///< to be probed and passed to found(); their requests only wait for that
};

/// Not thread-safe. May be killed at any point, and several may run at once: each request is executed once and
/// answered.
class RequestWork {
 public:
  RequestWork(const StoreOptions& store, Requests::Options options);
  RequestWork(const RequestWork&) = delete;  // its parts refer to its store
  RequestWork& operator=(const RequestWork&) = delete;

  /// Takes a bounded batch of requests and continues a bounded part of those in progress; ends early if `cancelled`.
  /// Can be repeated after an error: nothing is lost.
  StoreResult<RequestStep> step(const RequestRules& rules);
  /// After a step that was `idle`: waits for a request, see Requests::begin_to_wait().
  StoreResult<ServerWait> begin_to_wait(Milliseconds longest) { return requests_.begin_to_wait(longest); }
  StoreResult<bool> has_come() { return requests_.has_come(); }
  /// From any thread: makes the current wait, or else the next one, fail.
  void break_wait() { store_.break_wait(); }
  /// Passes the result for a page in RequestStep::pages. Call between steps.
  void found(const std::string& request, FoundPage page);
  /// Releases the lease for taking requests.
  StoreResult<void> let_go();
  /// Polled between requests and parts of them, on the thread that runs step().
  std::function<bool()> cancelled = [] { return false; };
  /// Time slice of a request with many steps; at least one step is always executed.
  Milliseconds part{20};

  void set_signals_caps(std::uint64_t records, std::uint64_t bytes) { store_.set_signals_caps(records, bytes); }
  std::uint64_t reconnects() const { return store_.reconnects(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// Where work on a request stopped.
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

  RequestOrder order_;                        // the unfinished requests
  std::string last_;                          // id of the last request taken
  std::map<std::string, InParts> under_way_;  // progress of long requests, by id
  /// The page of a request that adds the feed of a page.
  struct Page {
    std::string url;
    std::optional<FoundPage> found;  // empty while the page is sought
  };
  std::map<std::string, Page> pages_;  // by id; for requests in hand
  Clock::time_point memory_again_{};   // Redis is assumed to be out of memory until then
};

// Executes requests in a running process: drives a RequestWork off the loop (RELIABILITY Q3).

/// All members are called on the loop's thread.
class RequestLoop {
 public:
  /// `looks`, `metrics` and `log` must outlive this. `wait`: the length of one wait in Redis for a request; the next
  /// wait follows at once.
  RequestLoop(const boost::asio::any_io_executor& executor, const StoreOptions& store, Requests::Options options,
              RequestRules rules, Milliseconds wait, Looks& looks, Metrics& metrics, Log& log);
  RequestLoop(const RequestLoop&) = delete;
  RequestLoop& operator=(const RequestLoop&) = delete;

  /// Runs until stop() takes effect. With `once`, also ends when no request is waiting, or when those that are belong
  /// to another worker or cannot be executed now. Throws only std::bad_alloc.
  boost::asio::awaitable<void> run(bool once);
  /// Stops after the current step; the next owner of the lease executes the rest.
  void stop();
  /// Looks for requests now, because one was made.
  void look() { timer_.cancel(); }
  /// Interrupts a wait in Redis if the server may be down.
  void break_wait() { work_.break_wait(); }
  /// Whether another process takes requests first: this one then leaves it a second, except after look() (RELIABILITY
  /// L30).
  void set_yields(bool yields) { yields_ = yields; }
  /// Sets the rules for requests begun later.
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
  std::shared_ptr<const RequestRules> rules_;                       // shared with the current step
  std::map<std::string, std::unique_ptr<LookUnderWay>> under_way_;  // by the request's id
  const Milliseconds wait_;
  boost::asio::steady_timer timer_;
  bool yields_ = false;
  std::atomic<bool> stopping_ = false;  // also read off the loop
  RefusedWork refused_;
  int attempts_ = 0;
  std::uint64_t reconnects_ = 0;
  BlockingCalls calls_;
};

}  // namespace feedmill
