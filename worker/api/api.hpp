// /api/v1: the HTTP API for other programs (docs/API.md; OPERATIONS A1–A7, O6).
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include "storage/store/deployment.hpp"
#include "worker/api/routes.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/config/config.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/listener/connection.hpp"
#include "worker/operations/discover.hpp"
#include "worker/operations/request.hpp"
#include "worker/operations/subscriptions.hpp"

namespace feedmill {

/// Has its own connections to the store and makes one call at a time on each desk, so that clients never delay a
/// refresh. All members are called on the loop's thread.
class Api {
 public:
  struct Options {
    StoreOptions store;                         ///< `patience` caps its timeout
    std::chrono::milliseconds patience{1'000};  ///< longest wait for one store command
    std::chrono::milliseconds wait{10'000};     ///< longest wait for the answer to a request
    std::size_t at_once = 8;                    ///< running calls; one of several tokens gets at most three quarters
    std::size_t waiting = 4;  ///< calls that wait for an answer without counting in `at_once`; further ones do count.
                              ///< Both leave connections of the listener free for probes
    double a_second = 50, burst = 200;                  ///< rate limit of a token that has none of its own
    std::size_t most_untaken = std::size_t{64} << 20U;  ///< bytes of answers not yet read; beyond it, calls get `busy`
    std::chrono::nanoseconds call_time =
        std::chrono::milliseconds(5);  ///< store time charged as one call; longer calls count as several
  };

  /// `config`: tokens, host rules and more (see set_config()). `looks` probes URLs for clients; it and `memory` must
  /// outlive this. `asked` is called when a request was stored (false) or answered at once (true), `bug` with a
  /// description of an internal error.
  Api(boost::asio::any_io_executor executor, Options options, const Config& config, Looks& looks, MemoryBudget& memory,
      std::function<void(bool answered)> asked, std::function<void(const char*)> bug);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// For a process that serves several partitions: the Api of each, in their order, including this one (RELIABILITY
  /// L29). Clients call the first; its limits apply to all. A call is answered by the partition of the feed or entry
  /// it names, or by the one in its parameter `partition`. All must outlive this. `of_all`: the Api of the merged
  /// stream, which answers routes with ApiRoute::of_all; or null.
  void set_partitions(std::vector<Api*> partitions, Api* of_all) {
    partitions_ = std::move(partitions);
    of_all_ = of_all;
  }

  /// Applies a new configuration; running calls keep the request rules they started with.
  void set_config(const Config& config);

  /// Answers a request to /api, or to any path on the API's own listener.
  boost::asio::awaitable<HttpReply> answer(Visit& visit);

 private:
  using Clock = std::chrono::steady_clock;

  /// Rate limit of a token: calls left at a point in time.
  struct Bucket {
    double left = 0;
    Clock::time_point at;
  };
  static constexpr std::size_t most_looks = 2;  // concurrent probes of URLs
  /// A token's running probe; ends with the object.
  struct Looking {
    Looking(Api& the_api, std::string the_app) : api(the_api), app(std::move(the_app)) { api.looking_.insert(app); }
    ~Looking() { api.looking_.erase(app); }
    Looking(const Looking&) = delete;
    Looking& operator=(const Looking&) = delete;

    Api& api;
    const std::string app;
  };
  class Place;
  class Waiting;
  /// The arguments of a call; `key` and `wait` only matter to requests.
  struct Given {
    const Operation* operation;  ///< null: the route has none
    OperationValues values;
    std::string key;                 ///< Idempotency-Key, "" = none
    std::chrono::milliseconds wait;  ///< longest wait for the answer
  };
  /// Connections to one store, or to all; used by one call at a time.
  struct Desk {
    explicit Desk(std::span<const StoreOptions> options);

    std::vector<std::unique_ptr<Store>> stores;
    Deployment deployment;
    std::vector<NameStretches> stretches;    ///< for each store
    std::optional<StoreError> last_error{};  ///< the last transient error
    Clock::time_point last_error_at{};
    BlockingCalls calls{};
  };

  const std::pair<const std::string, ApiToken>* token_of(const Visit::Header& head) const;
  /// Calls a second of a token, and at once.
  double rate_of(const std::string& app) const;
  double burst_of(const std::string& app) const;
  bool may_call(const std::string& app);
  boost::asio::awaitable<ApiReply> call(Visit& visit);
  boost::asio::awaitable<ApiReply> lead(const ApiRoute& route, ApiCall call, const Given& given, Visit& visit,
                                        std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> carry_out(const ApiRoute& route, const ApiCall& call, const Given& given,
                                             Visit& visit, std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> read(const ApiRoute& route, const ApiCall& call, Desk& desk);
  /// Whether each partition has the channel named in the call.
  boost::asio::awaitable<StoreResult<std::vector<bool>>> parts_with_channel(const ApiCall& call);
  boost::asio::awaitable<ApiReply> ask_of_channel(const Given& given, const ApiCall& call, std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> mark_channel(const Given& given, const ApiCall& call, std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> follow(const Given& given, const ApiCall& call, std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> unfollow(const Given& given, const ApiCall& call, std::optional<Place>& place);
  boost::asio::awaitable<StoreResult<std::vector<unsigned>>> partitions_with(const ApiCall& call,
                                                                             const std::vector<std::string>& entries);
  boost::asio::awaitable<ApiReply> unless_known(const ApiCall& call, const ApiReply& unknown,
                                                boost::json::object instead);
  boost::asio::awaitable<ApiReply> ask_of_user(const Given& given, const ApiCall& call, std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> add_rule(const Given& given, const ApiCall& call, std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> remove_rule(const Given& given, const ApiCall& call, std::optional<Place>& place);
  /// Refuses to move a feed of `partition` to the URL of a feed in another partition.
  boost::asio::awaitable<std::optional<ApiReply>> refuse_taken(const Given& given, const ApiCall& call,
                                                               unsigned partition);
  using PartGiven = std::pair<unsigned, Given>;
  /// Asks the partitions concurrently and merges their answers; 200 without a body if there are no `parts`.
  boost::asio::awaitable<ApiReply> ask_parts(const std::vector<PartGiven>& parts, const ApiCall& call,
                                             std::optional<Place>& place);
  /// Adds channels that exist only in other partitions to the user's home partition, so that they can be ordered there.
  boost::asio::awaitable<StoreResult<void>> give_places(const ApiCall& call, const std::vector<std::string>& uids);
  boost::asio::awaitable<ApiReply> import(const ApiCall& call, Visit& visit, Desk& desk);
  boost::asio::awaitable<ApiReply> export_list(const ApiCall& call, Visit& visit, Desk& desk);
  /// Reads the arguments of a call into `given`. Returns the problem, or an empty reply if the client is gone.
  boost::asio::awaitable<std::optional<ApiReply>> read_values(const Operation& operation, const ApiCall& call,
                                                              Visit& visit, OperationValues& given);
  boost::asio::awaitable<ApiReply> operate(const Operation& operation, const ApiCall& call,
                                           const OperationValues& given);
  boost::asio::awaitable<ApiReply> discover(const ApiCall& call, Visit& visit);
  boost::asio::awaitable<std::optional<ApiReply>> read_body(Visit& visit, std::uint64_t most);
  boost::asio::awaitable<std::optional<ApiReply>> read_object(Visit& visit, boost::json::object& body);
  boost::asio::awaitable<ApiReply> ask(const Given& given, const ApiCall& call, std::optional<Place>& place);
  /// Runs ask() in a partition. If the request is still waiting, Location names the partition.
  boost::asio::awaitable<ApiReply> ask_partition(unsigned partition, const Given& given, const ApiCall& call,
                                                 std::optional<Place>& place);
  ApiReply store_is_away(const StoreError& error);

  StoreOptions options_of_desk() const;
  /// The desk of all partitions; created on first use.
  Desk& all_desk();

  /// Runs `work(deployment)` at a desk, unless a store failed there less than `patience` ago. Charges the time to the
  /// token named `app`: repeated lists of everything would keep Redis busy. `work` returns a StoreResult and may throw
  /// StoreFailure.
  template <class Work, class Result = std::invoke_result_t<Work, const Deployment&>>
  boost::asio::awaitable<Result> ask_desk(Desk& desk, const std::string& app, Work work) {
    if (desk.last_error && Clock::now() - desk.last_error_at < options_.patience) co_return *desk.last_error;
    Clock::duration took{};
    auto task = [&desk, &work, &took]() -> Result {                 // all live on this suspended frame
      for (const auto& store : desk.stores) store->leave_closed();  // connections may have been idle for hours
      const auto begun = Clock::now();
      try {
        Result result = work(desk.deployment);
        took = Clock::now() - begun;
        return result;
      } catch (const StoreFailure& failure) {
        return failure.error;
      }
    };
    Result result = co_await run_on(desk.calls, task);
    if (result.has_error())
      note_error(desk, result.error());
    else
      charge(app, took);
    co_return result;
  }
  /// Runs `work(store)` on this partition's store; otherwise like ask_desk().
  template <class Work, class Result = std::invoke_result_t<Work, Store&>>
  boost::asio::awaitable<Result> with_store(const std::string& app, Work work) {
    const auto ask = [&work](const Deployment& alone) { return work(alone.front()); };
    co_return co_await ask_desk(own_, app, ask);
  }
  /// Runs `work(store)` in each partition. Returns the results by partition, or the first error.
  template <class Work, class Found = typename std::invoke_result_t<Work, Store&>::value_type>
  boost::asio::awaitable<StoreResult<std::vector<Found>>> of_each(const ApiCall& call, Work work) {
    const auto ask = [&work](const Deployment& all) { return all.each(work); };
    co_return co_await ask_desk(all_desk(), call.app, ask);
  }
  void charge(const std::string& app, Clock::duration took);
  std::int64_t rest_of(const std::string& app) const;
  void note_error(Desk& desk, const StoreError& error);

  boost::asio::any_io_executor executor_;
  Options options_;
  Named<ApiToken> tokens_;
  HostRules hosts_;
  std::shared_ptr<const RequestRules> rules_;  // a running call keeps the rules it started with
  std::function<void(bool answered)> asked_;
  std::function<void(const char*)> bug_;
  std::map<std::string, Bucket, std::less<>> buckets_;  // by token name
  std::size_t calls_ = 0, waiting_ = 0;                 // with a slot; waiting without one
  std::map<std::string, std::size_t> calls_of_;         // calls with a slot, by token name
  bool importing_ = false;                              // one at a time: a list takes memory
  bool exporting_ = false;                              // one at a time: it takes long
  std::uint64_t import_rate_ = 0;
  std::string public_url_;  // base URL of topics that others subscribe to
  std::chrono::milliseconds receiver_patience_{};
  std::vector<Api*> partitions_;  // empty: this is the only one
  Api* of_all_ = nullptr;
  Looks& looks_;
  MemoryBudget& memory_;
  OutgoingMemory answers_;         // not yet read by clients
  std::set<std::string> looking_;  // tokens with a running probe
  Desk own_;
  std::unique_ptr<Desk> all_;  // null until a call needs all partitions
};

}  // namespace feedmill
