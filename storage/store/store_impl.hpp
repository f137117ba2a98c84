// The inside of Store, shared by the store*.cpp files: connection, scripts, keys.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "storage/lua/scripts.hpp"
#include "storage/records/notice.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/keys.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// The arguments of one script call. add() refers to what it is given, own() keeps a copy.
class Args {
 public:
  Args() = default;
  Args(Args&&) noexcept = default;  // a copy's words would point into the original
  Args& operator=(Args&&) noexcept = default;

  void add(std::string_view text) { words_.push_back(text); }
  void own(std::string text) { words_.push_back(owned_.emplace_back(std::move(text))); }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void add(Number number) { own(std::to_string(number)); }
  void add(Milliseconds duration) { add(duration.count()); }
  void add(const Fields& fields) {
    add(fields.size());
    for (const auto& [name, value] : fields) {
      add(std::string_view(name));
      add(std::string_view(value));
    }
  }
  /// The same, keeping copies.
  void own_all(Fields&& fields) {
    add(fields.size());
    for (auto& [name, value] : fields) {
      own(std::move(name));
      own(std::move(value));
    }
  }
  void add(const Notice& notice) {
    add(std::string_view(notice.user));
    add(std::string_view(notice.id));
    own("{\"read\":false," + notice.json.substr(1));
    own(notice_message(notice));
    add(std::span<const std::string>(notice.topics));
  }
  void add(std::span<const std::string> texts) {
    add(texts.size());
    for (const std::string& text : texts) add(std::string_view(text));
  }
  const Words& words() const { return words_; }

 private:
  Words words_;
  std::deque<std::string> owned_;  // stay put while it grows and when it is moved
};

/// A time or duration that a script answers with.
inline Milliseconds milliseconds(ReplyView reply) {
  return Milliseconds(reply.integer());
}
/// "redis 7.0.15" of an answer to INFO server.
std::string server_name(std::string_view info);
/// The records in an answer to XREAD, XREADGROUP or XRANGE.
std::vector<EventRecord> read_event_records(ReplyView rows);

/// A request that is carried out over a connection: scripts that may answer one (ScriptRow::answers_requests) do
/// nothing unless it is still in hand, and that which ends it answers it in the same step
/// (storage/lua/shared/requests.lua).
struct RequestInHand {
  std::vector<std::string> words;  ///< what the scripts are told of it
  Script ended_by{};
  std::string outcomes;  ///< what the answers of that script mean
};

class Store::Impl {
 public:
  Impl(StoreOptions options, RedisAddress address);

  /// Connected, and where another server serves the store than the last time, its numbers go on behind all that the
  /// last one may have given out (RELIABILITY L24). Scripts are loaded by run() and run_all().
  StoreResult<void> ready();
  StoreResult<std::string> open(bool create);
  /// What open() checks, each on its own: an error says what the operator must change.
  StoreResult<void> check_kind(std::string_view info);  // an answer to INFO server
  StoreResult<void> check_eviction();
  StoreResult<void> check_rights();
  /// Whether the user may look into every key, as feedmill_admin may; the error names what it may not.
  StoreResult<void> check_scan_rights();
  StoreResult<void> check_durability(std::string_view version);
  /// Whether this store, which is not there yet, is one of a deployment that has as many partitions; a first one says
  /// how many there are when `create`.
  StoreResult<void> check_layout(bool create);
  /// Waits until what this connection has written is as durable as asked for. `marked`: its last write is one that must
  /// be waited for.
  StoreResult<void> settle(bool marked);

  /// How often another server had taken over the store when this one was met; 0 where nobody writes.
  std::uint64_t failovers() const { return failovers_; }
  /// Gives up a connection to a server that another has taken over from; what to say instead of what it answered.
  StoreError leave_older_server();

  /// Redis' clock.
  StoreResult<Milliseconds> now();
  /// The same in decimal. Needs a connection.
  StoreResult<std::string> now_text();
  /// Store::id().
  StoreResult<std::string> id();

  StoreResult<Reply> run(Script script, const Args& args);
  /// Calls one script several times in one round trip; loads it when the server has not got it.
  std::vector<StoreResult<Reply>> run_all(Script script, std::span<const Args> calls);
  /// Calls a script on another server than this store's. `arguments`: how many keys, these, and what it is told.
  StoreResult<Reply> run_at(Redis& server, Script script, const Words& arguments);
  /// The newest first of a sorted set of entry ids, at most `limit`, after `before` when given (DESIGN §3.2).
  StoreResult<std::vector<EntryCursor>> newest(const std::string& key, std::size_t limit,
                                               const std::optional<EntryCursor>& before);
  /// The oldest place in a sorted set of entry ids that is not after `cursor`: what follows the one follows the other.
  /// Absent: all are after it.
  StoreResult<std::optional<EntryCursor>> place_at(const std::string& key, const EntryCursor& cursor);
  /// The first `most` members of a set behind `after` in their order that begin with `beginning`; "" = from the first,
  /// any. In steps that keep nobody waiting; looks at every member, holds `most`. What is there all the while is among
  /// them.
  StoreResult<std::vector<std::string>> members_after(const std::string& key, const std::string& after,
                                                      std::size_t most, std::string_view beginning);
  /// The members of a set in pages, as SSCAN has them: in no order, one that is there all the while at least once.
  /// `take` says whether to go on; it may remove what it was given.
  StoreResult<void> each_page(const std::string& key,
                              const std::function<StoreResult<bool>(std::vector<std::string> page)>& take);
  /// The entries of these ids in their order, those that have gone left out.
  StoreResult<std::vector<StoredEntry>> entries(std::span<const std::string> ids);
  /// Whether `token` holds the lock for the next `ttl`; 0 lets it go. `name` as keys have it behind "lock:".
  StoreResult<bool> hold_lock(std::string_view name, const std::string& token, Milliseconds ttl);
  /// Plain commands in one round trip, with the answer to each.
  std::vector<StoreResult<Reply>> pipeline_each(std::span<const Words> commands);
  /// The same where the first error is that of all.
  StoreResult<std::vector<Reply>> pipeline(std::span<const Words> commands);

  StoreOptions options;
  Keys keys;
  const RequestInHand* request = nullptr;  // set for as long as one is carried out
  std::optional<StoreError> bad_address;   // the URL could not be read; every call answers with it
  Redis redis;

 private:
  StoreResult<void> meet_server();
  StoreResult<void> check_work(std::string_view version);
  StoreResult<void> check_partitions(ReplyView there) const;
  StoreResult<void> give_id();
  const std::string& hash_of(Script script);
  StoreResult<void> load(Script script);
  StoreResult<Reply> answer(Script script);
  void leave_if_another_leads(std::span<const StoreResult<Reply>> replies);

  std::array<std::string, std::tuple_size_v<decltype(script_rows)>> hashes_;  // by Script, "" until one is needed
  std::optional<bool> waitaof_;  // whether the connected server knows it, once asked
  std::string replication_id_;   // of the connected server, "" where nobody writes
  std::uint64_t failovers_ = 0;  // as failovers()
  std::uint64_t met_ = 0;        // Redis::connections() when meet_server() looked at it
};

}  // namespace feedmill
