#include "storage/redis/redis.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <sys/socket.h>
#include <sys/time.h>
#include <system_error>

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <unistd.h>

#include "storage/redis/placement.hpp"
#include "storage/redis/redis_tls.hpp"
#include "storage/redis/resp.hpp"

namespace boost::system {
void throw_exception_from_error(const feedmill::StoreError& error, const boost::source_location&) {
  throw std::runtime_error("store: " + error.detail);
}
}  // namespace boost::system

namespace feedmill {
namespace {

constexpr std::size_t max_waiting = 64U << 10U;  // bytes buffered before sending: a pipeline may hold many megabytes

timeval to_timeval(Milliseconds duration) {
  return {static_cast<time_t>(duration.count() / 1000), static_cast<suseconds_t>(duration.count() % 1000 * 1000)};
}

}  // namespace

void Redis::Free::operator()(redisContext* context) const {
  redisFree(context);
}

Redis::Redis(RedisAddress address, Milliseconds timeout) : address_(std::move(address)), timeout_(timeout) {
  if (!address_.sentinels.empty()) sentinels_ = std::make_unique<Sentinels>();
}
Redis::~Redis() = default;
Redis::Redis(Redis&&) noexcept = default;
Redis& Redis::operator=(Redis&&) noexcept = default;

namespace {

/// Enables keep-alive, so that a peer lost silently (power failure, dropped route) is noticed while the connection is
/// idle, sooner than a failover takes.
void watch_peer(int socket) {
  const auto set = [&](int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof(value)); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

/// The server's address, for people.
std::string Redis::address() const {
  return address_.socket.empty() ? shown({address_.host, address_.port}) : address_.socket;
}

std::string Redis::where() const {
  std::string where = address();
  if (!address_.service.empty()) where += ", the primary of " + address_.service + " as its sentinels say";
  if (!address_.cluster.empty())
    where += ", which holds slot " + std::to_string(address_.slot) + " as its cluster says";
  return where;
}

Redis::Result<bool> Redis::connect() {
  if (context_ && sentinels_ && sentinels_->name_another(address_)) disconnect();
  if (context_) return false;
  if (sentinels_) {
    if (auto failed = sentinels_->find_primary(address_, timeout_)) return std::move(*failed);
  }
  if (!address_.cluster.empty()) {
    if (auto failed = find_holder(address_, timeout_)) return std::move(*failed);
    if (is_silent({address_.host, address_.port}))
      return StoreError{StoreError::Code::unavailable,
                        "the Redis at " + where() + ", did not answer another connection a moment ago"};
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  lost_.reset();
  answered_ = false;
  // Half the timeout, so that a retry during a failover still fits into it.
  const timeval connect_timeout = to_timeval(timeout_ / 2);
  context_.reset(address_.socket.empty()
                     ? redisConnectWithTimeout(address_.host.c_str(), address_.port, connect_timeout)
                     : redisConnectUnixWithTimeout(address_.socket.c_str(), connect_timeout));
  if (!context_) return StoreError{StoreError::Code::unavailable, "no memory for a connection to Redis"};
  if (context_->err != 0) {
    StoreError error{StoreError::Code::unavailable,
                     "cannot connect to Redis at " + where() + ": " + static_cast<const char*>(context_->errstr)};
    disconnect();
    return error;
  }
  if (address_.socket.empty()) watch_peer(context_->fd);
  arena_ = std::make_shared<ReplyArena>();
  arena_->build_for(*context_->reader);
  redisSetTimeout(context_.get(), to_timeval(timeout_));
  if (address_.tls) {
    const auto secured = start_tls(*context_, address_, deadline);
    if (secured.has_error()) {
      disconnect();
      return secured.error();
    }
    tls_ = *secured;
  }
  auto greeted = greet();
  if (!greeted) {
    disconnect();
    return greeted;
  }
  if (is_clustered()) note_answer({address_.host, address_.port});
  ++connections_;
  return greeted;
}

/// Authenticates on a new connection and checks that the server is the right one.
Redis::Result<bool> Redis::greet() {
  if (!address_.password.empty()) {
    Words words{"AUTH"};
    if (!address_.user.empty()) words.push_back(address_.user);
    words.push_back(address_.password);
    if (auto reply = command(words); !reply) return reply.error();
  }
  if (!address_.cluster.empty()) {
    const auto cluster = command({"INFO", "cluster"});
    if (!cluster) return cluster.error();
    if (info_value(cluster->text(), "cluster_enabled") != "1") {
      return StoreError{StoreError::Code::unavailable, "the Redis at " + where() + ", is not a cluster node"};
    }
  }
  if (sentinels_ || !address_.cluster.empty()) {
    const auto replication = command({"INFO", "replication"});
    if (!replication) return replication.error();
    if (info_value(replication->text(), "role") != "master") {
      if (sentinels_) std::rotate(address_.sentinels.begin(), address_.sentinels.begin() + 1, address_.sentinels.end());
      return StoreError{StoreError::Code::unavailable,
                        "the Redis at " + where() + ", is a replica: they do not know yet"};
    }
  }
  if (address_.database != 0) {
    auto reply = command({"SELECT", std::to_string(address_.database)});
    if (!reply && reply.error().detail.find("cluster mode") != std::string::npos) {
      return StoreError{StoreError::Code::unsupported, remedy_at_cluster_node(address_)};
    }
    if (!reply && reply.error().detail.find("out of range") != std::string::npos) {
      return StoreError{StoreError::Code::unsupported, "the server has no database " +
                                                           std::to_string(address_.database) +
                                                           "; name another one in redis.url (its databases setting)"};
    }
    if (!reply) return reply.error();
  }
  return true;
}

void Redis::leave_closed() {
  if (!context_) return;
  char byte = 0;
  const ssize_t got = recv(context_->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool is_open = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  if (!is_open) disconnect();  // unsolicited data also makes it unusable
}

void Redis::disconnect() {
  tls_ = nullptr;
  context_.reset();
  out_.clear();  // it refers to words
}

std::string Redis::link() const {
  std::string link = tls_ != nullptr ? tls_version(tls_) : address_.socket.empty() ? "TCP without TLS" : "unix socket";
  if (is_stood_by_for()) link += ", " + where();
  return link;
}

Redis Redis::beside(NodeAddress server, Milliseconds timeout) const {
  RedisAddress its = address_;
  its.host = std::move(server.host);
  its.port = server.port;
  its.socket.clear();
  its.sentinels.clear();
  its.service.clear();
  its.cluster.clear();
  return {std::move(its), timeout};
}

Redis Redis::at_slot(unsigned slot) const {
  RedisAddress its = address_;
  its.slot = slot;
  return {std::move(its), timeout_};
}

Redis::Result<Reply> Redis::command(const Words& words) {
  if (auto ready = connect(); !ready) return ready.error();
  append(words);
  auto reply = answer_to(words.front());
  return reply ? std::move(reply) : with_key(reply.error(), words);
}

Redis::Result<Reply> Redis::answer_to(std::string_view command, std::size_t most) {
  auto reply = next(most);
  if (!reply && leads_elsewhere(reply.error())) disconnect();
  if (!reply) return reply;
  if (auto wrong = misshapen(command, *reply)) return std::move(*wrong);
  return reply;
}

Redis::Result<ServerWait> Redis::begin_wait(const Words& words, Milliseconds longest) {
  if (auto ready = connect(); !ready) return ready.error();
  const int socket = fcntl(context_->fd, F_DUPFD_CLOEXEC, 0);
  if (socket >= 0) {  // without a free descriptor the wait cannot be broken
    int before = no_wait;
    if (!wait_->compare_exchange_strong(before, socket)) {
      ::close(socket);
      wait_->store(no_wait);
      return StoreError{StoreError::Code::unavailable, "the wait was broken off"};
    }
  }
  waits_for_ = words.front();
  append(words);
  lost_ = send();
  begun_ = {context_ ? context_->fd : -1, std::chrono::steady_clock::now() + longest + timeout_};
  return begun_;
}

Redis::Result<Reply> Redis::end_wait(std::size_t most) {
  const auto left = std::chrono::ceil<Milliseconds>(begun_.until - std::chrono::steady_clock::now());
  pollfd socket{begun_.socket, POLLIN, 0};
  const bool late = context_ && ::poll(&socket, 1, static_cast<int>(std::max(left, Milliseconds(0)).count())) == 0;
  auto reply = late ? Result<Reply>(lost(REDIS_ERR_IO, EAGAIN, "")) : answer_to(waits_for_, most);
  if (int mine = wait_->load(); mine >= 0 && wait_->compare_exchange_strong(mine, no_wait)) ::close(mine);
  return reply;
}

void Redis::break_wait() {
  for (int found = wait_->load(); found != next_is_broken;) {
    if (!wait_->compare_exchange_strong(found, found < 0 ? next_is_broken : no_wait)) continue;
    if (found < 0) return;
    ::shutdown(found, SHUT_RDWR);
    ::close(found);
    return;
  }
}

void Redis::append(std::initializer_list<std::string_view> head, std::span<const std::string_view> rest) {
  if (!context_) return;  // next() reports it
  if (out_.waiting() > max_waiting) lost_ = send();
  if (!context_) return;
  out_.begin(head.size() + rest.size());
  for (const std::string_view word : head) out_.add(word);
  for (const std::string_view word : rest) out_.add(word);
}

/// Clears old errors, so that a later one is this connection's.
void Redis::before_transfer() {
  errno = 0;
  if (tls_ != nullptr) forget_tls_errors();
}

/// Sends everything appended. Returns the error if the connection is lost.
std::optional<StoreError> Redis::send() {
  if (tls_ != nullptr && out_.waiting() > 0) return send_encrypted();
  std::array<iovec, 64> room{};
  while (out_.waiting() > 0) {
    const auto pieces = out_.pieces(room);
    msghdr message{};
    message.msg_iov = room.data();
    message.msg_iovlen = pieces.size();
    const ssize_t sent = sendmsg(context_->fd, &message, MSG_NOSIGNAL);
    if (sent >= 0) {
      out_.sent(static_cast<std::size_t>(sent));
    } else if (const int number = errno; number != EINTR) {
      return lost(REDIS_ERR_IO, number, std::generic_category().message(number));
    }
  }
  return {};
}

/// send() with TLS: hiredis only sends from its own buffer.
std::optional<StoreError> Redis::send_encrypted() {
  std::array<iovec, 64> room{};
  while (out_.waiting() > 0) {
    std::size_t taken = 0;
    for (const iovec& piece : out_.pieces(room)) {
      if (redisAppendFormattedCommand(context_.get(), static_cast<const char*>(piece.iov_base), piece.iov_len) !=
          REDIS_OK) {
        return lost();
      }
      taken += piece.iov_len;
    }
    out_.sent(taken);
  }
  before_transfer();
  for (int done = 0; done == 0;) {
    if (redisBufferWrite(context_.get(), &done) != REDIS_OK) return lost();
  }
  return {};
}

Redis::Result<Reply> Redis::next(std::size_t most) {
  if (!context_) return lost_.value_or(StoreError{StoreError::Code::unavailable, "the connection to Redis was lost"});
  if (auto failed = send()) return std::move(*failed);
  void* raw = nullptr;
  before_transfer();
  while (raw == nullptr) {
    if (redisGetReplyFromReader(context_.get(), &raw) != REDIS_OK) return lost();
    if (raw != nullptr) break;
    if (context_->reader->len > most) return lost(REDIS_ERR_OTHER, 0, "an answer was longer than it may be");
    if (redisBufferRead(context_.get()) != REDIS_OK) return lost();
  }
  answered_ = true;
  Reply reply(static_cast<redisReply*>(raw), std::exchange(arena_, std::make_shared<ReplyArena>()));
  arena_->build_for(*context_->reader);
  if (reply.is_error()) return redis_error(reply.text());
  return reply;
}

/// The error reported by hiredis.
StoreError Redis::lost() {
  const int number = errno;
  return lost(context_->err, number, static_cast<const char*>(context_->errstr));
}

/// `kind`: hiredis' code. `number`: the errno of REDIS_ERR_IO.
StoreError Redis::lost(int kind, int number, const std::string& words) {
  const bool timeout = kind == REDIS_ERR_IO && (number == EAGAIN || number == EWOULDBLOCK);
  StoreError error{StoreError::Code::unavailable, "lost the connection to Redis: " + words};
  if (timeout && is_clustered()) note_silence({address_.host, address_.port});
  if (timeout) {
    error = {StoreError::Code::timeout, "no answer from Redis within " + std::to_string(timeout_.count()) + " ms"};
  } else if (tls_ != nullptr && (kind == REDIS_ERR_IO || kind == REDIS_ERR_EOF)) {
    error = tls_lost(tls_, address_, words);
  } else if (kind == REDIS_ERR_OOM) {
    error.detail = "an answer of Redis is too large: over 16.7 million elements, or no memory";
  } else if (!answered_ && !address_.tls && address_.socket.empty()) {
    error.detail += "; if it only speaks TLS, use rediss:// in redis.url";
  }
  disconnect();
  return error;
}

}  // namespace feedmill
