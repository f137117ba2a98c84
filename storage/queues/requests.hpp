// Requests that programs append to stream:requests: taken by one worker at a time, answered by events
// (RELIABILITY Q1–Q4).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/fleet_records.hpp"
#include "storage/redis/redis.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

struct RequestInHand;

/// Operations of requests, named as in the field `op`.
enum class RequestOp {
  add,
  remove,
  set,
  pause,
  resume,
  refresh,
  move,
  channel_follow,
  channel_unfollow,
  channel_mark,
  entry_put,
  entry_remove,
  channel_add,
  channel_remove,
  channel_order,
  notice_mark,
  watch_add,
  watch_remove
};
std::optional<RequestOp> request_op(std::string_view word);
std::string_view request_word(RequestOp op);

inline constexpr std::uint64_t longest_request = std::uint64_t{512} << 10U;  ///< bytes of names and values together

/// A record of the stream. If it is too long, only short values of op, app and ref are included.
struct RequestRecord {
  std::string id;
  bool too_long = false;
  Fields fields;
};

/// Result of taking requests.
struct TakenRequests {
  bool waiting = false;  ///< another worker has the right to take requests
  std::vector<RequestRecord> records;
};

/// A request as its answer describes it.
struct Asked {
  std::string id;        ///< of the record; "" if called without the stream, which needs a ref
  std::string app, ref;  ///< valid in keys and JSON; "" = no ref, and no answer is remembered
  std::string op;        ///< valid in keys and JSON
  std::string feed_url;  ///< "" if it is not about a feed
  std::string members;   ///< JSON members for the answer's `data`, each followed by a comma
  std::string hash;      ///< content_hash() of the request; "" = unknown: no answer is remembered
};

/// Result of beginning a request.
struct Begun {
  enum class State { go, gone, repeated, reused, poison };
  State state{};     ///< go: execute it; any other request is already answered or gone
  std::string note;  ///< go: resume note of an earlier attempt, "" = nothing was begun
};

/// 32 hex digits, equal for equal fields in any order; `ref` does not count.
std::string content_hash(const Fields& fields);

/// Makes requests, as any Redis client may do by itself. Over a Store's connection.
class RequestStream {
 public:
  /// A remembered answer.
  struct Answer {
    std::string hash;  ///< content_hash() of the request
    bool done = false;
    std::string data;  ///< of the event
  };

  /// `store` must outlive this object.
  explicit RequestStream(Store& store) : impl_(store.impl()) {}

  /// Appends a request and returns its id; absent if `most` requests are waiting. Renews a stream that has no ids left.
  StoreResult<std::optional<std::string>> ask(const Fields& fields, std::uint64_t most);
  /// Deletes the stream if it is empty and its last id is more than an hour ahead of Redis' clock, so that programs can
  /// append again (RELIABILITY Q5).
  StoreResult<void> renew();
  /// Absent until the request is answered, and after the answer has expired (requests.keep).
  StoreResult<std::optional<Answer>> answer(const std::string& app, const std::string& ref);
  /// Remembers for `keep` that this request comes from the API's token `asked.app`: any client may write an `app` into
  /// the stream (SECURITY K7).
  StoreResult<void> vouch(const Asked& asked, Milliseconds keep);
  StoreResult<bool> is_vouched(const Asked& asked);
  /// Whether request `id` is still waiting, and has this app and ref.
  StoreResult<bool> waits(const std::string& id, const std::string& app, const std::string& ref);

 private:
  Store::Impl& impl_;
};

/// Takes requests from the stream and answers them, over a Store's connection.
class Requests {
 public:
  struct Options {
    std::string token;                               ///< the worker's: 32 hex digits
    Milliseconds lease{30'000};                      ///< of the right to take requests
    Milliseconds keep = std::chrono::hours(24 * 7);  ///< how long an answered ref is remembered
    std::uint64_t batch_bytes = std::uint64_t{1} << 20U;
    std::uint64_t batch_records = 256;
    /// Workers that may die executing a request before it is set aside.
    int most_deaths = 3;
  };

  /// `store` must outlive this object.
  Requests(Store& store, Options options);

  /// Number of requests in the stream; one cheap command.
  StoreResult<std::uint64_t> waiting();
  /// Waits up to `longest` for a request if there are none, in two steps; only Store::break_wait() may be called in
  /// between. has_come() returns whether there is one, or an error if it is too long.
  StoreResult<ServerWait> begin_to_wait(Milliseconds longest);
  StoreResult<bool> has_come();
  StoreResult<RequestFigures> figures();

  /// The oldest requests after request `after` ("" = from the first), in a bounded batch. Acquires or renews the right
  /// to take requests.
  StoreResult<TakenRequests> take(const std::string& after = {});
  /// Request `id` alone; empty if it is gone. Also renews the right to take requests.
  StoreResult<TakenRequests> take_again(const std::string& id);
  /// Acquires or renews the right to take requests, without taking any.
  StoreResult<TakenRequests> hold();
  /// Releases the right to take requests.
  StoreResult<void> let_go();

  /// Begins a request, or answers it at once if it is a repetition or has killed too many workers.
  StoreResult<Begun> begin(const Asked& asked);
  /// Releases request `id` unfinished; not counted as a crash.
  StoreResult<void> release(const std::string& id);
  /// Answers a request that was begun. `members`: more members of the answer, as in Asked::members.
  StoreResult<void> done(const Asked& asked, std::string_view result, const std::string& members = {});
  StoreResult<void> fail(const Asked& asked, std::string_view reason, std::string_view detail = {});
  /// During its lifetime, script calls over the store's connection are steps of this request: a step does nothing if
  /// another worker has the request, and the script of `op` answers the request in the same call. An operation of
  /// several steps stores a resume note with its first step (see Begun::note). `note`: the content of that note if
  /// there is any: for a channel_mark of all posts, the highest score to mark.
  class Step {
   public:
    Step(Requests& requests, const Asked& asked, RequestOp op, const std::string& note = {});
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    friend class Requests;
    Step(Requests& requests, const Asked& asked, std::string end);

    Store::Impl& impl_;
    std::unique_ptr<RequestInHand> in_hand_;
  };
  /// Whether one script executes the whole operation, so that it can be called without the stream: a crash leaves
  /// nothing to resume. For channel_mark only with ids, for add only without a page.
  static bool is_one_step(RequestOp op);
  /// Whether a Redis that is out of memory rejects the script that ends the operation.
  static bool needs_memory(RequestOp op);
  /// Whether the error means that a step did nothing because another worker has the request, or it was answered.
  static bool is_in_other_hands(const StoreError& error);
  /// Whether the error of a call without the stream means that requests are waiting in the stream: it must queue, too.
  static bool must_queue(const StoreError& error);

 private:
  StoreResult<TakenRequests> take_from(const std::string& place, std::uint64_t most);
  StoreResult<void> end(Asked asked, const std::string& how, const std::string& members);
  std::vector<std::string> words_of(const Asked& asked) const;

  Store::Impl& impl_;
  Options options_;
};

}  // namespace feedmill
