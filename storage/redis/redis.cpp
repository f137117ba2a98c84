#include "storage/redis/redis.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
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

#include "parsers/text/numbers.hpp"
#include "storage/redis/address_text.hpp"
#include "storage/redis/cluster.hpp"
#include "storage/redis/redis_tls.hpp"
#include "storage/redis/reply_shape.hpp"
#include "storage/redis/sentinel.hpp"

namespace boost::system {
void throw_exception_from_error(const feedmill::StoreError& error, const boost::source_location&) {
  throw std::runtime_error("store: " + error.detail);
}
}  // namespace boost::system

namespace feedmill {
namespace {

constexpr std::size_t max_waiting = 64U << 10U;  // then it is sent: a pipeline may hold many megabytes

timeval to_timeval(Milliseconds duration) {
  return {static_cast<time_t>(duration.count() / 1000), static_cast<suseconds_t>(duration.count() % 1000 * 1000)};
}

/// An address, or what is wrong with the URL.
using ReadAddress = boost::system::result<RedisAddress, std::string>;

ReadAddress bad_url(std::string_view what) {
  return ReadAddress(boost::system::in_place_error, what);
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const char* first = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(first, first + 2, value, 16).ptr != first + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

/// Takes "user:password@" off the front of `rest`, which ends before any path; what is wrong with it, "" when nothing.
std::string_view read_login(std::string_view& rest, RedisAddress& address) {
  const auto at = rest.rfind('@');
  if (at == std::string_view::npos) return {};
  const std::string_view login = rest.substr(0, at);
  const auto colon = login.find(':');
  const auto user = percent_decoded(login.substr(0, colon));
  const auto password = percent_decoded(colon == std::string_view::npos ? std::string_view() : login.substr(colon + 1));
  if (!user || !password) return "bad %-escape in user or password";
  address.user = *user;
  address.password = *password;
  rest = rest.substr(at + 1);
  return {};
}

ReadAddress parse_unix(std::string_view rest) {
  RedisAddress address;
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    const auto slash = std::min(rest.find('/'), rest.size());
    std::string_view login = rest.substr(0, slash);
    if (const auto wrong = read_login(login, address); !wrong.empty()) return bad_url(wrong);
    rest = login.empty() ? rest.substr(slash) : rest;
  }
  if (const auto query = rest.find('?'); query != std::string_view::npos) {
    const std::string_view db = rest.substr(query + 1);
    if (!db.starts_with("db=") || !read_number(db.substr(3), address.database)) {
      return bad_url("after '?' only db=N is understood");
    }
    rest = rest.substr(0, query);
  }
  if (!rest.starts_with('/')) return bad_url("a unix socket needs an absolute path, as in unix:///run/redis.sock");
  address.socket = rest;
  return address;
}

/// "host[:port]"; what is wrong with it, "" when nothing.
std::string_view read_endpoint(std::string_view text, std::string& host, std::uint16_t& port) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return "'[' without ']'";
    host = text.substr(1, close - 1);
    text = text.substr(close + 1);
  } else {
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    text = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (!text.empty() && (text[0] != ':' || !read_number(text.substr(1), port) || port == 0)) return "bad port";
  if (host.empty()) host = "127.0.0.1";
  return {};
}

/// Those of `hosts`, which stand there one behind the other with commas between; what is wrong, "" when nothing.
std::string_view read_nodes(std::string_view hosts, std::uint16_t port, std::vector<NodeAddress>& nodes) {
  for (std::size_t at = 0; at <= hosts.size();) {
    const std::size_t end = std::min(hosts.find(',', at), hosts.size());
    NodeAddress& one = nodes.emplace_back(NodeAddress{"", port});
    if (const auto wrong = read_endpoint(hosts.substr(at, end - at), one.host, one.port); !wrong.empty()) return wrong;
    at = end + 1;
  }
  return {};
}

/// What is wrong with the login of a URL that names several servers, "" when nothing.
std::string_view objection_to_login(std::string_view hosts) {
  const bool has_two = hosts.find('@') != hosts.rfind('@');
  return has_two ? "one login is for all servers, before the first; an '@' within it is written %40" : "";
}

/// The sentinels of `hosts` and the service that they watch, off the front of `path`; what is wrong, "" when nothing.
std::string_view read_sentinels(std::string_view hosts, std::string_view& path, RedisAddress& address) {
  address.service = path.substr(0, path.find('/'));
  path = path.substr(std::min(address.service.size() + 1, path.size()));
  const auto may_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; };
  if (address.service.empty() || !std::all_of(address.service.begin(), address.service.end(), may_name)) {
    return "behind the sentinels stands what they call the primary, as in redis+sentinel://host:26379/mymaster";
  }
  return read_nodes(hosts, 26379, address.sentinels);
}

ReadAddress parse_url(std::string_view url) {
  if (url.starts_with("unix:")) return parse_unix(url.substr(5));
  const std::string_view scheme = url.substr(0, std::min(url.find("://"), url.size()));
  RedisAddress address;
  address.tls = scheme.starts_with("rediss");
  const bool by_sentinels = scheme == "redis+sentinel" || scheme == "rediss+sentinel";
  const bool in_cluster = scheme == "redis+cluster" || scheme == "rediss+cluster";
  if (!by_sentinels && !in_cluster && scheme != "redis" && scheme != "rediss") {
    return bad_url(
        "write redis://host:port/db, rediss://host:port/db for TLS, redis+sentinel://host:port/service, "
        "redis+cluster://host:port, or unix:///path/to/socket");
  }
  if (address.tls && !remedy_without_tls().empty()) return bad_url(remedy_without_tls());
  std::string_view rest = url.substr(std::min(scheme.size() + 3, url.size())), path;
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    path = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
  }
  if (by_sentinels || in_cluster) {
    if (const auto wrong = objection_to_login(rest); !wrong.empty()) return bad_url(wrong);
  }
  if (const auto wrong = read_login(rest, address); !wrong.empty()) return bad_url(wrong);
  for (const std::string_view part : {rest, path}) {
    if (part.find('?') != std::string_view::npos) return bad_url("it takes no query: leave out '?' and what follows");
  }
  if (!by_sentinels && !in_cluster && rest.find(',') != std::string_view::npos) {
    const std::string several(scheme);
    return bad_url("several servers are " + several + "+sentinel://HOST:PORT,HOST:PORT/SERVICE or " + several +
                   "+cluster://HOST:PORT,HOST:PORT");
  }
  const auto wrong = by_sentinels ? read_sentinels(rest, path, address)
                     : in_cluster ? read_nodes(rest, address.port, address.cluster)
                                  : read_endpoint(rest, address.host, address.port);
  if (!wrong.empty()) return bad_url(wrong);
  if (in_cluster && !path.empty() && path != "0") {
    return bad_url("a cluster has no databases; end the URL behind the port, as in redis+cluster://host:6379");
  }
  if (!path.empty() && (!read_number(path, address.database) || address.database < 0)) {
    return bad_url(by_sentinels ? "behind the name stands a database number, as in redis+sentinel://host/mymaster/0"
                                : "the path must be a database number, as in redis://host/0");
  }
  return address;
}

}  // namespace

boost::system::result<RedisAddress, StoreError> parse_redis_url(std::string_view url) {
  auto address = parse_url(url);
  if (address.has_value()) return std::move(*address);
  return StoreError{StoreError::Code::unsupported, "redis.url: " + address.error()};
}

std::string objection_to_redis_url(std::string_view url) {
  const auto address = parse_url(url);
  return address.has_value() ? "" : address.error();
}

bool ReplyView::is_nil() const {
  return reply_ == nullptr || reply_->type == REDIS_REPLY_NIL;
}
bool ReplyView::is_error() const {
  return reply_ != nullptr && reply_->type == REDIS_REPLY_ERROR;
}
bool ReplyView::is_array() const {
  return reply_ != nullptr && reply_->type == REDIS_REPLY_ARRAY;
}

bool ReplyView::is_integer() const {
  return reply_ != nullptr && reply_->type == REDIS_REPLY_INTEGER;
}
bool ReplyView::is_text() const {
  return reply_ != nullptr && (reply_->type == REDIS_REPLY_STRING || reply_->type == REDIS_REPLY_STATUS);
}

std::string_view ReplyView::text() const {
  if (reply_ == nullptr) return {};
  switch (reply_->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
      return {reply_->str, static_cast<std::size_t>(reply_->len)};
    default:
      return {};
  }
}

std::int64_t ReplyView::integer() const {
  if (reply_ != nullptr && reply_->type == REDIS_REPLY_INTEGER) return reply_->integer;
  return leading_number<std::int64_t>(text());
}

std::size_t ReplyView::size() const {
  return is_array() ? reply_->elements : 0;
}

ReplyView ReplyView::operator[](std::size_t index) const {
  return ReplyView(index < size() ? reply_->element[index] : nullptr);
}

Fields ReplyView::pairs() const {
  Fields fields;
  fields.reserve(size() / 2);
  for (std::size_t i = 0; i + 1 < size(); i += 2) fields.emplace_back((*this)[i].text(), (*this)[i + 1].text());
  return fields;
}

std::vector<std::string> ReplyView::texts() const {
  std::vector<std::string> all;
  all.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) all.emplace_back((*this)[i].text());
  return all;
}

StoreError redis_error(std::string_view text) {
  struct Row {
    std::string_view start;
    StoreError::Code code;
  };
  using Code = StoreError::Code;
  static constexpr std::array rows{
      Row{"LOADING", Code::loading},
      Row{"BUSY ", Code::loading},
      Row{"NOSCRIPT", Code::loading},  // gone again as soon as it was loaded
      Row{"TRYAGAIN", Code::loading},
      Row{"CLUSTERDOWN", Code::loading},
      Row{"MASTERDOWN", Code::loading},
      Row{"OOM", Code::out_of_memory},
      Row{"MISCONF", Code::misconfigured},
      Row{"NOREPLICAS", Code::misconfigured},
      Row{"READONLY", Code::read_only},
      Row{"NOAUTH", Code::auth},
      Row{"WRONGPASS", Code::auth},
      Row{"NOPERM", Code::auth},
      Row{"DENIED", Code::auth},  // protected mode
      Row{"ERR unknown command", Code::auth},
      Row{"ERR ACL failure in script", Code::auth},
      Row{"ERR The user executing the script", Code::auth},  // before 7.2
      Row{"MOVED", Code::loading},
      Row{"CROSSSLOT", Code::unsupported},  // who does not know that it is a node of a cluster
      Row{"ASK ", Code::loading},           // of a slot on its way: as TRYAGAIN, until it has come
      Row{"UNBLOCKED", Code::loading},  // of who waited for a key: the server is a replica by now, or the key has moved
      Row{"ERR AUTH", Code::auth},
      Row{"ERR invalid password", Code::auth},
      Row{"WRONGTYPE", Code::refused},
      Row{"ANSWERED", Code::refused},  // a request that is in other hands by now (storage/requests)
      Row{"ERR max number of clients", Code::unavailable},
  };
  for (const Row& row : rows) {
    if (text.starts_with(row.start)) return {row.code, std::string(text)};
  }
  return {Code::bug, std::string(text)};
}

bool leads_elsewhere(const StoreError& error) {
  return error.code == StoreError::Code::read_only || error.detail.starts_with("NOREPLICAS") ||
         error.detail.starts_with("MOVED") || error.detail.starts_with("UNBLOCKED");
}

std::string_view info_value(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; at < info.size();) {
    const std::size_t end = std::min(info.find("\r\n", at), info.size());
    const std::string_view line = info.substr(at, end - at);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
    at = end + 2;
  }
  return {};
}

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

/// Who is gone without a word (a machine that lost its power, a way that forgot us) is noticed while nobody asks it
/// anything, sooner than a failover takes.
void watch_peer(int socket) {
  const auto set = [&](int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof(value)); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

/// Of the server, for people.
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
  // Half of it: whoever tries again is then there within it, after a failover that it tried to connect through.
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

/// Of a connection that was just made: who we are, and whether that is who we wanted.
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
      return StoreError{StoreError::Code::unavailable, "the Redis at " + where() + ", is no node of a cluster"};
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
  if (!is_open) disconnect();  // what came without being asked for is of no use either
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
  return answer_to(words.front());
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
  if (socket >= 0) {  // else no descriptor is left: it lasts as long as it was meant to
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
  if (!context_) return;  // next() says so
  if (out_.waiting() > max_waiting) lost_ = send();
  if (!context_) return;
  out_.begin(head.size() + rest.size());
  for (const std::string_view word : head) out_.add(word);
  for (const std::string_view word : rest) out_.add(word);
}

/// What is said of a failure afterwards must come from it, not from another connection.
void Redis::before_transfer() {
  errno = 0;
  if (tls_ != nullptr) forget_tls_errors();
}

/// All that was appended. The error when the connection was lost over it.
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

/// The same where hiredis has to move the bytes: it takes them out of a buffer of its own only.
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

/// Of what hiredis says has happened.
StoreError Redis::lost() {
  const int number = errno;
  return lost(context_->err, number, static_cast<const char*>(context_->errstr));
}

/// `kind`: as hiredis has it. `number`: the errno of REDIS_ERR_IO.
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
    error.detail += "; if it speaks TLS alone, write rediss in place of redis into redis.url";
  }
  disconnect();
  return error;
}

}  // namespace feedmill
