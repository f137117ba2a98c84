// One blocking connection to Redis or Valkey: commands in, replies out. hiredis connects and reads; RespWriter formats
// the commands. Knows neither keys nor scripts.
#pragma once

#include <atomic>
#include <chrono>
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
#include "storage/redis/resp.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"

struct redisContext;
struct ssl_st;

namespace feedmill {

/// A command that was sent, with its reply not yet taken.
struct ServerWait {
  int socket = -1;  ///< readable once the reply is there; owned by the connection; -1 if it failed
  std::chrono::steady_clock::time_point until;  ///< the server's deadline: taking the reply after it does not block
};

class Sentinels;

/// Not thread-safe. With TLS the process must ignore SIGPIPE. Connects on first use and after a connection loss, to the
/// server that the sentinels or the cluster currently name, if there are any; each call may block for the timeout, or
/// twice that if it connects through them. With TLS nothing is sent before a trusted certificate has proved the
/// server's name: else StoreError::Code::tls.
class Redis {
 public:
  template <class T>
  using Result = boost::system::result<T, StoreError>;

  Redis(RedisAddress address, Milliseconds timeout);
  ~Redis();
  Redis(Redis&&) noexcept;
  Redis& operator=(Redis&&) noexcept;

  /// Connects and authenticates unless connected to a server that is still the primary, as far as the sentinels know.
  /// True if the connection is new.
  Result<bool> connect();
  void disconnect();
  /// Drops an idle connection that the server has closed, so that the next call does not fail and no outage is counted.
  /// All replies must have been taken. Not between steps that depend on each other: the next connection may be to
  /// another or a restarted server.
  void leave_closed();
  bool connected() const { return context_ != nullptr; }
  /// Connections made so far.
  std::uint64_t connections() const { return connections_; }
  /// Whether the URL provides for failover to another server.
  bool is_stood_by_for() const { return !address_.service.empty() || is_clustered(); }
  bool is_clustered() const { return !address_.cluster.empty(); }
  /// "127.0.0.1:6379" or a path; requires a connection.
  std::string address() const;
  /// As in ServerFacts::link; requires a connection.
  std::string link() const;
  /// A connection, not yet made, to another server with the same login, database and TLS.
  Redis beside(NodeAddress server, Milliseconds timeout) const;
  /// A connection, not yet made, to the holder of another slot in this cluster; without a cluster, to this server.
  Redis at_slot(unsigned slot) const;

  /// One command, one reply. Disconnects if the reply means that another server must be asked.
  Result<Reply> command(const Words& words);
  /// command() in two steps for one that waits at the server, for at most `longest`; no other call in between.
  /// begin_wait() sends it, end_wait() takes the reply within the timeout after `longest`. A reply of more than `most`
  /// bytes is not read: the connection is dropped instead.
  Result<ServerWait> begin_wait(const Words& words, Milliseconds longest);
  Result<Reply> end_wait(std::size_t most = any_size);
  /// Thread-safe: ends the current wait with an error, else the next one.
  void break_wait();

  /// Pipelining: append commands, then take as many replies, in order. A lost connection fails all remaining ones.
  /// Appended commands are buffered until next(), up to 64 KiB. Each word must stay valid until next() has returned its
  /// command's reply: words over 4 KiB are not copied.
  void append(const Words& words) { append({}, words); }
  /// append() for a command in two parts.
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
  bool answered_ = false;              // a reply has arrived on this connection
  std::optional<StoreError> lost_;     // failure while appending
  RespWriter out_;                     // appended but not sent
  std::shared_ptr<ReplyArena> arena_;  // memory of the next reply
  std::uint64_t connections_ = 0;
  std::unique_ptr<Sentinels> sentinels_;  // null if the URL names none
  std::string waits_for_;                 // the command sent by begin_wait()
  ServerWait begun_;
  // A duplicate of the waiting socket, closed by the thread that takes it from here; or one of these two values.
  static constexpr int no_wait = -1, next_is_broken = -2;
  std::unique_ptr<std::atomic<int>> wait_ = std::make_unique<std::atomic<int>>(no_wait);
};

}  // namespace feedmill
