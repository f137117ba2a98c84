// What programs ask for by XADD on stream:requests: taken by one worker at a time, answered as events (RELIABILITY
// Q1–Q4).
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

/// What may be asked for; the word in `op` is its name here.
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

inline constexpr std::uint64_t longest_request = std::uint64_t{512} << 10U;  ///< names and values together

/// A record of the stream. Of one that is too long only short values of op, app and ref are there.
struct RequestRecord {
  std::string id;
  bool too_long = false;
  Fields fields;
};

struct TakenRequests {
  bool waiting = false;  ///< another worker has the right to take
  std::vector<RequestRecord> records;
};

/// A request as its answer names it.
struct Asked {
  std::string id;        ///< of the record; "" of a request that is called without the stream, which needs a ref
  std::string app, ref;  ///< fit for keys and JSON; an empty ref is none, and nothing is remembered
  std::string op;        ///< likewise
  std::string feed_url;  ///< "" where it is about no feed
  std::string members;   ///< of the answer's `data`, as JSON members with a comma behind each
  std::string hash;      ///< of its content, content_hash(); "" = not known, and nothing is remembered
};

/// What became of taking a request in hand.
struct Begun {
  enum class State { go, gone, repeated, reused, poison };
  State state{};     ///< go: carry it out; all others have been answered
  std::string note;  ///< go: what an earlier try has left to be resumed by, "" = nothing was begun
};

/// 32 hex digits that are equal for equal fields in whatever order, `ref` apart.
std::string content_hash(const Fields& fields);

/// Asking, as any client of Redis may by itself. Over a Store's connection.
class RequestStream {
 public:
  /// What was answered to a ref.
  struct Answer {
    std::string hash;  ///< content_hash() of what was asked
    bool done = false;
    std::string data;  ///< of the event
  };

  /// `store` outlives this.
  explicit RequestStream(Store& store) : impl_(store.impl()) {}

  /// Appends a request; its id, absent where `most` wait already. Renews a stream that has no ids left.
  StoreResult<std::optional<std::string>> ask(const Fields& fields, std::uint64_t most);
  /// Deletes the stream if it is empty and its last id is more than an hour ahead of Redis' clock, so that programs can
  /// append again (RELIABILITY Q5).
  StoreResult<void> renew();
  /// Absent while it was not answered, and once the answer is forgotten (requests.keep).
  StoreResult<std::optional<Answer>> answer(const std::string& app, const std::string& ref);
  /// Whether the request of that id waits, and is of this program and ref.
  StoreResult<bool> waits(const std::string& id, const std::string& app, const std::string& ref);

 private:
  Store::Impl& impl_;
};

/// Over a Store's connection.
class Requests {
 public:
  struct Options {
    std::string token;                               ///< of the worker: 32 hex digits
    Milliseconds lease{30'000};                      ///< of the right to take
    Milliseconds keep = std::chrono::hours(24 * 7);  ///< how long an answered ref is remembered
    std::uint64_t batch_bytes = std::uint64_t{1} << 20U;
    std::uint64_t batch_records = 256;
    int most_deaths = 3;
  };

  /// `store` outlives this.
  Requests(Store& store, Options options);

  /// How many there are; one cheap command.
  StoreResult<std::uint64_t> waiting();
  /// While there are none: waits for one, up to `longest`, in two steps with nothing called in between but
  /// Store::break_wait(): whether there is one now. One that is longer than it may be ends it with an error.
  StoreResult<ServerWait> begin_to_wait(Milliseconds longest);
  StoreResult<bool> has_come();
  StoreResult<RequestFigures> figures();

  /// The oldest requests behind the one of that id, "" = of all: a bounded batch, and the right to take them for
  /// another while.
  StoreResult<TakenRequests> take(const std::string& after = {});
  /// The one of that id again, none when it has gone. Renews the right, too.
  StoreResult<TakenRequests> take_again(const std::string& id);
  /// The right alone.
  StoreResult<TakenRequests> hold();
  /// Gives the right back.
  StoreResult<void> let_go();

  /// Takes a request in hand.
  StoreResult<Begun> begin(const Asked& asked);
  /// Lays the one of that id down again: it did not come to its end, and nobody died of it.
  StoreResult<void> release(const std::string& id);
  /// Answers a request in hand. `members`: more of the answer, as Asked::members.
  StoreResult<void> done(const Asked& asked, std::string_view result, const std::string& members = {});
  StoreResult<void> fail(const Asked& asked, std::string_view reason, std::string_view detail = {});
  /// While it lives, what is called over the store's connection are steps of this request: none does anything once the
  /// request is in another hand, and the one that `op` stands for answers it in the same script. What needs several has
  /// a note left with its first, from which Begun::note is. `note`: that note, where it must say something: of
  /// channel_mark that marks all, up to which score.
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
  /// Whether one script carries the operation out, so that it can be called without the stream: nothing of it is left
  /// to resume after a crash. Of a channel_mark with ids, and an add without a page.
  static bool is_one_step(RequestOp op);
  /// Whether what an operation is ended by is refused by a Redis that is out of memory.
  static bool needs_memory(RequestOp op);
  /// The answer of a step that did nothing because the request is in another hand, or was answered.
  static bool is_in_other_hands(const StoreError& error);
  /// Whether the error of a call without the stream means that requests wait in the stream: it must join them.
  static bool must_queue(const StoreError& error);

 private:
  StoreResult<TakenRequests> take_from(const std::string& place, std::uint64_t most);
  StoreResult<void> end(Asked asked, const std::string& how, const std::string& members);
  std::vector<std::string> words_of(const Asked& asked) const;

  Store::Impl& impl_;
  Options options_;
};

}  // namespace feedmill
