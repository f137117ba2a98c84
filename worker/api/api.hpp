// /api/v1: what programs read and ask for over HTTP (docs/API.md; OPERATIONS A1–A7).
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

/// Asks the store over a connection of its own, one question at a time, so that nothing that a program asks
/// delays a refresh. All members are called on the loop's thread.
class Api {
 public:
  struct Options {
    StoreOptions store;                         ///< its timeout is cut to `patience`
    std::chrono::milliseconds patience{1'000};  ///< with one command of the store
    std::chrono::milliseconds wait{10'000};     ///< for the answer to a request
    std::size_t at_once = 8;            ///< calls; of these three quarters of one token, where there are several
    std::size_t waiting = 4;            ///< calls that wait for a request to be done, before they take places of
                                        ///< these; both leave places at the listener to probes
    double a_second = 50, burst = 200;  ///< calls of one token
    std::size_t most_untaken = std::size_t{64} << 20U;  ///< bytes of unread answers; beyond them calls are busy
    std::chrono::nanoseconds call_time =
        std::chrono::milliseconds(5);  ///< of the store; a call that takes more counts as several
  };

  /// `config` has the tokens and host rules. `looks` runs probes for programs; it and `memory` must outlive this.
  /// `asked` is called after a request was stored (false) or answered (true), `bug` with a description of an internal
  /// error.
  Api(boost::asio::any_io_executor executor, Options options, const Config& config, Looks& looks, MemoryBudget& memory,
      std::function<void(bool answered)> asked, std::function<void(const char*)> bug);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// Those of all partitions, in their order, this among them, where the process serves several (RELIABILITY L29).
  /// Programs call the first of them, whose limits hold for all; a call is answered by the one that has the feed or the
  /// entry that it names, or that its parameter `partition` names. They live as long as this.
  /// `of_all`: answers for all of them by the one stream of their events what can be (is_of_all); null: nobody.
  void set_partitions(std::vector<Api*> partitions, Api* of_all) {
    partitions_ = std::move(partitions);
    of_all_ = of_all;
  }

  /// Of `config` as it is now.
  void set_config(const Config& config);

  /// The answer to whatever is asked under /api, or on a listener of the API's own.
  boost::asio::awaitable<HttpReply> answer(Visit& visit);

 private:
  using Clock = std::chrono::steady_clock;

  /// What a token may still call.
  struct Bucket {
    double left = 0;
    Clock::time_point at;
  };
  static constexpr std::size_t most_looks = 2;  // at addresses, at once
  /// One of these; given up with the object.
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
  /// The arguments of a call; the last two matter to requests.
  struct Given {
    const Operation* operation;  ///< null: a call without one
    OperationValues values;
    std::string key;                 ///< Idempotency-Key, "" = none
    std::chrono::milliseconds wait;  ///< longest, for the answer
  };
  /// Stores that are asked over connections of their own, one call after another.
  struct Desk {
    explicit Desk(std::span<const StoreOptions> options);

    std::vector<std::unique_ptr<Store>> stores;
    Deployment deployment;
    std::vector<NameStretches> stretches;    ///< of each store
    std::optional<StoreError> last_error{};  ///< that may pass
    Clock::time_point last_error_at{};
    BlockingCalls calls{};
  };

  const std::pair<const std::string, ApiToken>* token_of(const Visit::Header& head) const;
  bool may_call(const std::string& app);
  boost::asio::awaitable<ApiReply> call(Visit& visit);
  boost::asio::awaitable<ApiReply> lead(const ApiRoute& route, ApiCall call, const Given& given, Visit& visit,
                                        std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> carry_out(const ApiRoute& route, const ApiCall& call, const Given& given,
                                             Visit& visit, std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> read(const ApiRoute& route, const ApiCall& call, Desk& desk);
  /// Which partitions have the channel that the call names.
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
  /// Refuses to move a feed of `partition` to the URL of a feed of another.
  boost::asio::awaitable<std::optional<ApiReply>> refuse_taken(const Given& given, const ApiCall& call,
                                                               unsigned partition);
  using PartGiven = std::pair<unsigned, Given>;
  /// Asks partitions at once and merges their answers; without partitions 200 without a body.
  boost::asio::awaitable<ApiReply> ask_parts(const std::vector<PartGiven>& parts, const ApiCall& call,
                                             std::optional<Place>& place);
  /// Gives channels of one user that have parts elsewhere alone a place among the others.
  boost::asio::awaitable<StoreResult<void>> give_places(const ApiCall& call, const std::vector<std::string>& uids);
  boost::asio::awaitable<ApiReply> import(const ApiCall& call, Visit& visit, Desk& desk);
  boost::asio::awaitable<ApiReply> export_list(const ApiCall& call, Visit& visit, Desk& desk);
  /// Reads the arguments of a call; the problem, if any, or an empty reply if the client is gone.
  boost::asio::awaitable<std::optional<ApiReply>> read_values(const Operation& operation, const ApiCall& call,
                                                              Visit& visit, OperationValues& given);
  boost::asio::awaitable<ApiReply> operate(const Operation& operation, const ApiCall& call,
                                           const OperationValues& given);
  boost::asio::awaitable<ApiReply> discover(const ApiCall& call, Visit& visit);
  boost::asio::awaitable<std::optional<ApiReply>> read_body(Visit& visit, std::uint64_t most);
  boost::asio::awaitable<std::optional<ApiReply>> read_object(Visit& visit, boost::json::object& body);
  boost::asio::awaitable<ApiReply> ask(const Given& given, const ApiCall& call, std::optional<Place>& place);
  /// ask() in a partition. If the request still waits, Location names the partition.
  boost::asio::awaitable<ApiReply> ask_partition(unsigned partition, const Given& given, const ApiCall& call,
                                                 std::optional<Place>& place);
  ApiReply store_is_away(const StoreError& error);

  StoreOptions options_of_desk() const;
  /// The desk of all partitions.
  Desk& all_desk();

  /// Runs `work(deployment)` at a desk for the token of that name, unless it was away a moment ago. What takes long is
  /// charged: lists of everything, one after the other, would keep Redis from its work. `work` returns a StoreResult
  /// and may throw StoreFailure.
  template <class Work, class Result = std::invoke_result_t<Work, const Deployment&>>
  boost::asio::awaitable<Result> ask_desk(Desk& desk, const std::string& app, Work work) {
    if (desk.last_error && Clock::now() - desk.last_error_at < options_.patience) co_return *desk.last_error;
    Clock::duration took{};
    auto task = [&desk, &work, &took]() -> Result {                 // all live on this frame meanwhile
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
  /// The same with the only store.
  template <class Work, class Result = std::invoke_result_t<Work, Store&>>
  boost::asio::awaitable<Result> with_store(const std::string& app, Work work) {
    const auto ask = [&work](const Deployment& alone) { return work(alone.front()); };
    co_return co_await ask_desk(own_, app, ask);
  }
  /// What `work(store)` finds in each partition; the first error.
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
  std::shared_ptr<const RequestRules> rules_;  // a call under way keeps those it began with
  std::function<void(bool answered)> asked_;
  std::function<void(const char*)> bug_;
  std::map<std::string, Bucket, std::less<>> buckets_;  // by token's name
  std::size_t calls_ = 0, waiting_ = 0;                 // under way
  std::map<std::string, std::size_t> calls_of_;         // of these, by token's name
  bool importing_ = false;                              // one at a time: a list takes memory
  bool exporting_ = false;                              // likewise: it takes long
  std::uint64_t import_rate_ = 0;
  std::string public_url_;  // of what others subscribe to
  std::chrono::milliseconds receiver_patience_{};
  std::vector<Api*> partitions_;  // empty: there is but this
  Api* of_all_ = nullptr;
  Looks& looks_;
  MemoryBudget& memory_;
  OutgoingMemory answers_;         // until clients have read them
  std::set<std::string> looking_;  // tokens for which an address is looked at
  Desk own_;
  std::unique_ptr<Desk> all_;  // null until something of all partitions is asked
};

}  // namespace feedmill
