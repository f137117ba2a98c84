// /api/v1: what programs read and ask for over HTTP (docs/API.md; OPERATIONS A1–A8).
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include "storage/store/store.hpp"
#include "worker/api/routes.hpp"
#include "worker/base/at_once.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/outgoing_memory.hpp"
#include "worker/config/config.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/discovery/looks.hpp"
#include "worker/listener/connection.hpp"
#include "worker/lists/subscriptions.hpp"
#include "worker/operations/request.hpp"

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
  /// Of which stores a list is read: all partitions in their order, or one.
  using Parts = std::span<Api* const>;
  /// A row of a timeline; not wanted where its post went meanwhile, or its story was told before.
  struct Shown {
    bool is_wanted = false;
    StoredEntry entry{};
  };

  const std::pair<const std::string, ApiToken>* token_of(const Visit::Header& head) const;
  bool may_call(const std::string& app);
  boost::asio::awaitable<ApiReply> call(Visit& visit);
  boost::asio::awaitable<ApiReply> lead(const ApiRoute& route, ApiCall call, const Given& given, Visit& visit,
                                        std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> carry_out(const ApiRoute& route, const ApiCall& call, const Given& given,
                                             Visit& visit, std::optional<Place>& place);
  boost::asio::awaitable<ApiReply> read(const ApiRoute& route, const ApiCall& call);
  boost::asio::awaitable<ApiReply> read_list(ApiList list, const ApiCall& call, Parts parts);
  boost::asio::awaitable<ApiReply> list_feeds(const ApiCall& call, Parts parts);
  boost::asio::awaitable<ApiReply> list_channels(const ApiCall& call, Parts parts);
  boost::asio::awaitable<ApiReply> list_channel_feeds(const ApiCall& call, Parts parts);
  boost::asio::awaitable<ApiReply> list_timeline(const ApiCall& call, Parts parts);
  boost::asio::awaitable<ApiReply> list_notices(const ApiCall& call, Parts parts);
  boost::asio::awaitable<ApiReply> list_rules(const ApiCall& call, Parts parts);
  /// Absent where no part has the channel.
  boost::asio::awaitable<StoreResult<std::optional<std::vector<EntryCursor>>>> timeline_places(
      const ApiCall& call, Parts parts, std::size_t most, const std::optional<EntryCursor>& before);
  boost::asio::awaitable<StoreResult<std::vector<Shown>>> shown_entries(const ApiCall& call, Parts parts,
                                                                        std::span<const EntryCursor> places);
  /// Which of the parts have the channel that the call names.
  boost::asio::awaitable<StoreResult<std::vector<bool>>> parts_with_channel(const ApiCall& call, Parts parts);
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
  /// Asks partitions at once, and puts together what they answer: 200 without a body where there are none.
  boost::asio::awaitable<ApiReply> ask_parts(const std::vector<PartGiven>& parts, const ApiCall& call,
                                             std::optional<Place>& place);
  /// Gives channels of one user that have parts elsewhere alone a place among the others.
  boost::asio::awaitable<StoreResult<void>> give_places(const ApiCall& call, const std::vector<std::string>& uids);
  boost::asio::awaitable<ApiReply> import(const ApiCall& call, Visit& visit, Parts parts);
  boost::asio::awaitable<StoreResult<void>> make_channels(const ApiCall& call, const SubscriptionList& list,
                                                          Parts parts);
  boost::asio::awaitable<ApiReply> export_list(const ApiCall& call, Visit& visit, Parts parts);
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

  /// Asks the store for the token of that name, unless it was away a moment ago. What takes long is charged: lists of
  /// everything, one after the other, would keep Redis from its work.
  template <class Work, class Result = std::invoke_result_t<Work, Store&>>
  boost::asio::awaitable<Result> with_store(const std::string& app, Work work) {
    Clock::duration took{};
    Result result = co_await ask_store(std::move(work), took);
    if (!result.has_error()) charge(app, took);
    co_return result;
  }
  /// The same, charged to nobody: `took` is how long it kept the store.
  template <class Work, class Result = std::invoke_result_t<Work, Store&>>
  boost::asio::awaitable<Result> ask_store(Work work, Clock::duration& took) {
    if (last_error_ && Clock::now() - last_error_at_ < options_.patience) co_return *last_error_;
    auto task = [this, &work, &took] {  // both live on this frame meanwhile
      store_.leave_closed();            // nobody may have asked for hours
      const auto begun = Clock::now();
      Result result = work(store_);
      took = Clock::now() - begun;
      return result;
    };
    Result result = co_await run_on(store_calls_, task);
    if (result.has_error()) note_error(result.error());
    co_return result;
  }
  /// What `work(reading, part)` finds in each of the parts, which are asked at once; the first error. The longest of
  /// them is charged: they are of many nodes.
  template <class Found, class Work>
  boost::asio::awaitable<StoreResult<std::vector<Found>>> of_each(Parts parts, const ApiCall& call, Work work) {
    std::vector<StoreResult<Found>> answers;
    for (std::size_t part = 0; part < parts.size(); ++part) answers.emplace_back(Found());
    Clock::duration longest{};
    const auto ask = [&](std::size_t part) -> boost::asio::awaitable<void> {
      Api& its = *parts[part];
      const auto read = [&](Store& store) -> StoreResult<Found> {
        return work(ApiReading{store, its.hosts_, its.stretches_, call}, part);
      };
      Clock::duration took{};
      answers[part] = co_await its.ask_store(read, took);
      longest = std::max(longest, took);
    };
    co_await at_once(executor_, parts.size(), ask);
    charge(call.app, longest);
    std::vector<Found> found;
    for (StoreResult<Found>& answer : answers) {
      if (!answer) co_return answer.error();
      found.push_back(std::move(*answer));
    }
    co_return found;
  }
  void charge(const std::string& app, Clock::duration took);
  std::int64_t rest_of(const std::string& app) const;
  void note_error(const StoreError& error);

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
  OutgoingMemory answers_;                // until clients have read them
  std::set<std::string> looking_;         // tokens for which an address is looked at
  std::optional<StoreError> last_error_;  // that may pass
  Clock::time_point last_error_at_;
  Store store_;              // of store_calls_
  NameStretches stretches_;  // likewise
  BlockingCalls store_calls_;
};

}  // namespace feedmill
