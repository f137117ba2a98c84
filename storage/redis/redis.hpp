// One blocking connection to Redis or Valkey: commands in, replies out. hiredis connects and reads; what is sent is
// written here. Knows no keys and no scripts.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/system/result.hpp>

#include "storage/redis/redis_address.hpp"
#include "storage/redis/reply.hpp"
#include "storage/redis/reply_arena.hpp"
#include "storage/redis/resp_writer.hpp"
#include "storage/redis/server_wait.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"

struct redisContext;
struct ssl_st;

namespace feedmill {

class Sentinels;

/// Not thread-safe. With TLS SIGPIPE must be ignored by the process. Connects on first use and after a lost connection,
/// where there are sentinels or a cluster to whom these name at that moment; every call may block up to the timeout,
/// one that connects by way of them for twice as long. With TLS nothing is sent before the server has shown that it is
/// the one named, by a certificate of an authority that is trusted: else StoreError::Code::tls.
class Redis {
 public:
  template <class T>
  using Result = boost::system::result<T, StoreError>;

  Redis(RedisAddress address, Milliseconds timeout);
  ~Redis();
  Redis(Redis&&) noexcept;
  Redis& operator=(Redis&&) noexcept;

  /// Connects and authenticates unless connected to who still is the primary, as far as sentinels know. True when the
  /// connection is new.
  Result<bool> connect();
  void disconnect();
  /// Gives up a connection that the server has closed while nobody used it: it fails nothing then, and is no outage
  /// where the server is there again. All replies were taken. Not between steps that stand on each other: the next
  /// connection may be one to another server, or to one that was started again.
  void leave_closed();
  bool connected() const { return context_ != nullptr; }
  /// Connections made so far.
  std::uint64_t connections() const { return connections_; }
  /// Whether another server takes its place when it is lost, as far as the URL says.
  bool is_stood_by_for() const { return !address_.service.empty() || is_clustered(); }
  bool is_clustered() const { return !address_.cluster.empty(); }
  /// "127.0.0.1:6379" or a path, of a connection that is there.
  std::string address() const;
  /// As ServerFacts::link. Of a connection that is there.
  std::string link() const;
  /// To another server with the same login, database and TLS; not made yet.
  Redis beside(NodeAddress server, Milliseconds timeout) const;
  /// To whom holds another slot of the same cluster, and where it is none to the same server; likewise.
  Redis at_slot(unsigned slot) const;

  /// One command, one reply. A server is let go of when its answer says that another one is to be asked.
  Result<Reply> command(const Words& words);
  /// The same of one that waits at the server for something to happen, for `longest` at most, in two steps, and nothing
  /// else in between: it is sent; and its answer is taken, until the timeout behind `longest` is over. One that comes
  /// to more than `most` bytes is not: the connection is given up instead.
  Result<ServerWait> begin_wait(const Words& words, Milliseconds longest);
  Result<Reply> end_wait(std::size_t most = any_size);
  /// From any thread: the wait under way ends with an error, else the next one that begins.
  void break_wait();

  /// Pipelining: append commands, then take as many replies, in order. A lost connection fails all that are left. What
  /// is appended waits for next(), but not more than 64 KiB of it. A word must live until next() has answered for its
  /// command: one over 4 KiB is not copied, and may wait until then.
  void append(const Words& words) { append({}, words); }
  /// The same, of a command in two pieces.
  void append(std::initializer_list<std::string_view> head, std::span<const std::string_view> rest = {});
  Result<Reply> next() { return next(any_size); }

 private:
  static constexpr std::size_t any_size = std::numeric_limits<std::size_t>::max();

  Result<Reply> answer_to(std::string_view command, std::size_t most = any_size);
  Result<Reply> next(std::size_t most);
  std::optional<StoreError> send();
  std::optional<StoreError> send_encrypted();
  void before_transfer();
  StoreError lost();
  StoreError lost(int kind, int number, const std::string& words);
  std::string where() const;
  Result<bool> greet();

  struct Free {
    void operator()(redisContext* context) const;
  };
  RedisAddress address_;
  Milliseconds timeout_;
  std::unique_ptr<redisContext, Free> context_;
  ssl_st* tls_ = nullptr;              // context_ owns it; null without TLS
  bool answered_ = false;              // on this connection
  std::optional<StoreError> lost_;     // while appending
  RespWriter out_;                     // appended and not sent
  std::shared_ptr<ReplyArena> arena_;  // of the next answer
  std::uint64_t connections_ = 0;
  std::unique_ptr<Sentinels> sentinels_;  // null where the address names none
  std::string waits_for_;                 // the command that was begun
  ServerWait begun_;
  // A duplicate of the socket of the wait under way, which whoever takes it from here closes; or one of these two.
  static constexpr int no_wait = -1, next_is_broken = -2;
  std::unique_ptr<std::atomic<int>> wait_ = std::make_unique<std::atomic<int>>(no_wait);
};

}  // namespace feedmill
