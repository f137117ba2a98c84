// Internals of Store, shared by the store*.cpp files: connection, scripts, keys.
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

/// The arguments of one script call. add() refers to its argument, own() keeps a copy.
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
  /// Adds the fields, keeping copies.
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
  std::deque<std::string> owned_;  // addresses stay valid when it grows or moves
};

/// A time or duration from a script's reply.
inline Milliseconds milliseconds(ReplyView reply) {
  return Milliseconds(reply.integer());
}
/// "redis 7.0.15" from a reply to INFO server.
std::string server_name(std::string_view info);
/// The records in a reply to XREAD, XREADGROUP or XRANGE.
std::vector<EventRecord> read_event_records(ReplyView rows);

/// A request being executed on a connection. Scripts that may answer requests (ScriptRow::answers_requests) do nothing
/// if this worker no longer has it; the script that ends the request answers it in the same step
/// (storage/lua/shared/requests.lua).
struct RequestInHand {
  std::vector<std::string> words;  ///< the scripts' arguments about it
  Script ended_by{};
  std::string outcomes;  ///< the meaning of that script's replies
};

class Store::Impl {
 public:
  Impl(StoreOptions options, RedisAddress address);

  /// Connects. If another server now serves the store, its numbers continue after all that the previous one may have
  /// assigned (RELIABILITY L24). run() and run_all() load scripts.
  StoreResult<void> ready();
  StoreResult<std::string> open(bool create);
  /// The checks of open(); an error names the change that the operator must make.
  StoreResult<void> check_kind(std::string_view info);  // a reply to INFO server
  StoreResult<void> check_eviction();
  StoreResult<void> check_rights();
  /// Whether the user may read every key, as feedmill_admin may; the error lists the missing rights.
  StoreResult<void> check_scan_rights();
  StoreResult<void> check_durability(std::string_view version);
  /// Whether this store, which does not exist yet, fits the deployment's number of partitions; the first store records
  /// the number if `create`.
  StoreResult<void> check_layout(bool create);
  /// Waits until this connection's writes are as durable as configured. `marked`: its last write is the one to wait
  /// for.
  StoreResult<void> settle(bool marked);

  /// Failover count when this connection was made; 0 on read-only connections.
  std::uint64_t failovers() const { return failovers_; }
  /// Drops the connection to a server that has been superseded; returns the error to report instead of its reply.
  StoreError leave_older_server();

  /// Redis' clock.
  StoreResult<Milliseconds> now();
  /// now() in decimal. Needs a connection.
  StoreResult<std::string> now_text();
  /// Store::id().
  StoreResult<std::string> id();

  /// Calls a script; loads it if the server lacks it.
  StoreResult<Reply> run(Script script, const Args& args);
  /// Calls one script several times in one round trip; loads it if the server lacks it.
  std::vector<StoreResult<Reply>> run_all(Script script, std::span<const Args> calls);
  /// Calls a script on another server. `arguments`: the number of keys, the keys, the other arguments.
  StoreResult<Reply> run_at(Redis& server, Script script, const Words& arguments);
  /// The newest entries of a sorted set of entry ids, at most `limit`, before `before` if given (DESIGN §3.2).
  StoreResult<std::vector<EntryCursor>> newest(const std::string& key, std::size_t limit,
                                               const std::optional<EntryCursor>& before);
  /// The oldest position in a sorted set of entry ids that is not after `cursor`, so that the same entries follow both.
  /// Absent: all are after it.
  StoreResult<std::optional<EntryCursor>> place_at(const std::string& key, const EntryCursor& cursor);
  /// The first `most` members of a set, in sorted order, after `after` and starting with `beginning`; "" = from the
  /// start, any. Scans the whole set in small steps that do not block others and holds `most` members. Members present
  /// throughout are included.
  StoreResult<std::vector<std::string>> members_after(const std::string& key, const std::string& after,
                                                      std::size_t most, std::string_view beginning);
  /// Pages of a set's members as SSCAN returns them: unordered, each member present throughout at least once. `take`
  /// returns whether to continue; it may remove the members it got.
  StoreResult<void> each_page(const std::string& key,
                              const std::function<StoreResult<bool>(std::vector<std::string> page)>& take);
  /// The same from `cursor` on, "0" at first. If `take` returns false, `cursor` is before the page it got.
  StoreResult<void> each_page(const std::string& key,
                              const std::function<StoreResult<bool>(std::vector<std::string> page)>& take,
                              std::string& cursor);
  /// The entries with these ids, in order, without removed ones.
  StoreResult<std::vector<StoredEntry>> entries(std::span<const std::string> ids);
  /// Whether `token` holds the lock for the next `ttl`; 0 releases it. `name` as in keys after "lock:".
  StoreResult<bool> hold_lock(std::string_view name, const std::string& token, Milliseconds ttl);
  /// Plain commands in one round trip, with the reply to each.
  std::vector<StoreResult<Reply>> pipeline_each(std::span<const Words> commands);
  /// pipeline_each(), but fails with the first error.
  StoreResult<std::vector<Reply>> pipeline(std::span<const Words> commands);

  StoreOptions options;
  Keys keys;
  const RequestInHand* request = nullptr;  // set while a request is executed
  std::optional<StoreError> bad_address;   // the URL is invalid; every call returns this
  Redis redis;

 private:
  StoreResult<void> meet_server();
  StoreResult<void> check_work(std::string_view version);
  StoreResult<void> check_partitions(ReplyView there) const;
  StoreResult<void> give_id();
  /// Brings a store of an older schema to the current one, in bounded steps; again after an interruption. `loading`:
  /// workers of an older version are running.
  StoreResult<void> migrate();
  const std::string& hash_of(Script script);
  StoreResult<void> load(Script script);
  StoreResult<Reply> answer(Script script);
  StoreError with_wrong_key(StoreError error, const Args& call);
  void leave_if_another_leads(std::span<const StoreResult<Reply>> replies);

  std::array<std::string, std::tuple_size_v<decltype(script_rows)>> hashes_;  // by Script, "" until first used
  std::optional<bool> waitaof_;  // whether the connected server has it, once asked
  std::string replication_id_;   // of the connected server, "" on read-only connections
  std::uint64_t failovers_ = 0;  // see failovers()
  std::uint64_t met_ = 0;        // Redis::connections() at the last meet_server()
};

}  // namespace feedmill
