#include "tests/support/fault_proxy.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <deque>
#include <future>
#include <stdexcept>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <openssl/sha.h>

namespace feedmill::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace asio::experimental::awaitable_operators;

namespace {

constexpr std::size_t at_once = 64U << 10U;
constexpr std::chrono::seconds patience{30};

std::size_t index(FaultProxy::Towards towards) {
  return towards == FaultProxy::Towards::server ? 0 : 1;
}

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) throw std::runtime_error("no RESP number");
  return number;
}

/// Walks over RESP2 values. Throws std::runtime_error at anything else.
class RespWalk {
 public:
  explicit RespWalk(std::string_view text) : text_(text) {}

  /// Steps over one complete value and appends its strings to `words`; false if the value is incomplete.
  bool step(std::vector<std::string>* words) {
    for (std::int64_t left = 1; left > 0; --left) {
      const auto end = text_.find("\r\n", at_);
      if (end == std::string_view::npos) return false;
      const char type = text_[at_];
      const std::string_view line = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 2;
      if (type == '*') {
        left += std::max<std::int64_t>(number_in(line), 0);
      } else if (type == '$') {
        const std::int64_t size = number_in(line);
        if (size < 0) continue;
        const auto bytes = static_cast<std::size_t>(size);
        if (text_.size() - at_ < bytes + 2) return false;
        if (words != nullptr) words->emplace_back(text_.substr(at_, bytes));
        at_ += bytes + 2;
      } else if (type != '+' && type != '-' && type != ':') {
        throw std::runtime_error("no RESP");
      }
    }
    return true;
  }
  std::size_t at() const { return at_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Removes the first complete value from `buffer` and returns it; "" if it is incomplete.
std::string take_value(std::string& buffer, std::vector<std::string>* words = nullptr) {
  RespWalk walk(buffer);
  if (buffer.empty() || !walk.step(words)) return {};
  std::string value = buffer.substr(0, walk.at());
  buffer.erase(0, walk.at());
  return value;
}

asio::generic::stream_protocol::endpoint endpoint_of(const std::string& server) {
  constexpr std::string_view unix_start = "unix://";
  if (server.starts_with(unix_start)) {
    return asio::local::stream_protocol::endpoint(server.substr(unix_start.size()));
  }
  const auto colon = server.rfind(':');
  const auto port = static_cast<std::uint16_t>(number_in(std::string_view(server).substr(colon + 1)));
  return tcp::endpoint(asio::ip::make_address(server.substr(0, colon)), port);
}

/// Sets close-on-exec: child processes would otherwise keep listening, and hold connections that we close.
template <class Socket>
void keep_from_children(Socket& socket) {
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

asio::awaitable<void> sleep_for(std::chrono::nanoseconds time) {
  if (time.count() <= 0) co_return;
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace

struct FaultProxy::Session {
  Session(Socket from_client, Socket to_server)
      : client(std::move(from_client)), server(std::move(to_server)), held(client.get_executor()) {
    held.expires_at(asio::steady_timer::time_point::max());
  }

  Socket client, server;
  std::deque<Planned> planned;               // planned faults of the commands without a reply so far
  std::array<std::uint64_t, 2> travelled{};  // bytes received, whether forwarded or not
  asio::steady_timer held;                   // cancelled by let_go()

  /// Closes both sides, the client's with a reset, so that nothing already written still arrives.
  void reset() {
    boost::system::error_code ignored;
    client.set_option(asio::socket_base::linger(true, 0), ignored);
    client.close(ignored);
    server.close(ignored);
  }
};

FaultProxy::FaultProxy(const std::string& server, Speaks speaks) : speaks_(speaks), server_(server) {
  bind();
  listen();
  thread_ = std::thread([this] {
    const auto work = asio::make_work_guard(context_);  // keeps the thread running while the proxy is down
    context_.run();
  });
}

FaultProxy::~FaultProxy() {
  context_.stop();
  thread_.join();
}

/// Binds the port without accepting: connections are refused, and no other process can take the port.
void FaultProxy::bind() {
  acceptor_.open(tcp::v4());
  keep_from_children(acceptor_);
  acceptor_.set_option(tcp::acceptor::reuse_address(true));
  acceptor_.bind(tcp::endpoint(asio::ip::address_v4::loopback(), port_));
  port_ = acceptor_.local_endpoint().port();
}

void FaultProxy::listen() {
  acceptor_.listen();
  is_down_ = false;
  asio::co_spawn(context_, accept(), asio::detached);
}

/// Runs `work` on the proxy's thread and waits until it is done.
void FaultProxy::run_there(const std::function<void()>& work) {
  std::promise<void> done;
  asio::post(context_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void FaultProxy::shape(Towards towards, const Shape& shape) {
  const std::lock_guard lock(mutex_);
  shapes_[index(towards)] = shape;
}

FaultProxy::Shape FaultProxy::shape_of(Towards towards) const {
  const std::lock_guard lock(mutex_);
  return shapes_[index(towards)];
}

void FaultProxy::at(Match match, std::size_t nth, Fault fault, std::string reply) {
  const std::lock_guard lock(mutex_);
  rules_.push_back({std::move(match), nth, fault, std::move(reply)});
}

void FaultProxy::clear() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
}

/// The fault of the first rule that is due for this command. Rules before it count the command.
FaultProxy::Planned FaultProxy::plan(const Words& words) {
  const std::lock_guard lock(mutex_);
  for (auto rule = rules_.begin(); rule != rules_.end(); ++rule) {
    if (!rule->match(words)) continue;
    if (rule->left == 0) return {rule->fault, rule->reply};
    if (--rule->left > 0) continue;
    Planned planned{rule->fault, std::move(rule->reply)};
    rules_.erase(rule);
    return planned;
  }
  return {};
}

void FaultProxy::happened() {
  const std::lock_guard lock(mutex_);
  ++faults_;
  changed_.notify_all();
}

bool FaultProxy::wait_for_faults(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return faults_ >= count; });
}

std::size_t FaultProxy::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

std::size_t FaultProxy::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

std::uint64_t FaultProxy::passed(Towards towards) const {
  const std::lock_guard lock(mutex_);
  return passed_[index(towards)];
}

void FaultProxy::let_go() {
  run_there([this] {
    for (Session* session : sessions_) session->held.cancel();
  });
}

void FaultProxy::cut_all() {
  for (Session* session : sessions_) session->reset();
}

void FaultProxy::cut() {
  run_there([this] { cut_all(); });
}

void FaultProxy::lead_to(const std::string& server) {
  const std::lock_guard lock(mutex_);
  server_ = server;
}

void FaultProxy::down() {
  run_there([this] {
    acceptor_.close();
    bind();
    is_down_ = true;
    cut_all();
  });
}

void FaultProxy::up() {
  run_there([this] {
    if (is_down_) listen();
  });
}

asio::awaitable<void> FaultProxy::accept() {
  for (;;) {
    auto [error, accepted] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
    if (error) co_return;  // down()
    accepted.set_option(tcp::no_delay(true));
    keep_from_children(accepted);
    {
      const std::lock_guard lock(mutex_);
      ++connections_;
    }
    auto session = std::make_shared<Session>(Socket(std::move(accepted)), Socket(context_));
    asio::co_spawn(context_, serve(std::move(session)), asio::detached);
  }
}

asio::awaitable<void> FaultProxy::serve(std::shared_ptr<Session> session) {
  sessions_.insert(session.get());
  try {
    std::string server;
    {
      const std::lock_guard lock(mutex_);
      server = server_;
    }
    const auto target = endpoint_of(server);
    session->server.open(target.protocol());
    keep_from_children(session->server);
    co_await session->server.async_connect(target, asio::use_awaitable);
    co_await (to_server(*session) && to_client(*session));
  } catch (const std::exception&) {  // one side is gone, or does not speak Redis' protocol
  }
  session->reset();
  sessions_.erase(session.get());
}

/// Appends the next bytes to `buffer` and returns their number. Throws at the end of the connection.
asio::awaitable<std::size_t> FaultProxy::read(Session& session, Towards towards, std::string& buffer) {
  Socket& from = towards == Towards::server ? session.client : session.server;
  const std::size_t before = buffer.size();
  for (bool first = true; first || from.available() > 0; first = false) {
    const std::size_t end = buffer.size();
    buffer.resize(end + at_once);
    const std::size_t got =
        co_await from.async_read_some(asio::buffer(buffer.data() + end, at_once), asio::use_awaitable);
    buffer.resize(end + got);
    const auto merge = shape_of(towards).merge;
    if (merge.count() == 0) break;
    co_await sleep_for(merge);
  }
  co_return buffer.size() - before;
}

asio::awaitable<void> FaultProxy::to_server(Session& session) {
  std::string buffer;
  for (;;) {
    co_await read(session, Towards::server, buffer);
    if (speaks_ == Speaks::bytes) {
      co_await pass(session, Towards::server, std::exchange(buffer, {}));
      continue;
    }
    std::string together;  // data that arrives in one piece is forwarded in one piece
    for (;;) {
      Words words;
      std::string command = take_value(buffer, &words);
      if (command.empty()) break;
      Planned planned = plan(words);
      if (planned.fault == Fault::cut_request) {
        co_await pass(session, Towards::server, std::move(together));
        session.reset();
        happened();
        co_return;
      }
      session.planned.push_back(std::move(planned));
      together += command;
    }
    co_await pass(session, Towards::server, std::move(together));
  }
}

asio::awaitable<void> FaultProxy::to_client(Session& session) {
  std::string buffer;
  for (;;) {
    co_await read(session, Towards::client, buffer);
    if (speaks_ == Speaks::bytes) {
      co_await pass(session, Towards::client, std::exchange(buffer, {}));
      continue;
    }
    for (;;) {
      std::string reply = take_value(buffer);
      if (reply.empty()) break;
      Planned planned;
      if (!session.planned.empty()) {  // otherwise unsolicited: a push message or a final error
        planned = std::move(session.planned.front());
        session.planned.pop_front();
      }
      const bool goes_on = co_await run_verb(session, planned, std::move(reply));
      if (!goes_on) co_return;
    }
  }
}

/// Applies the planned fault to a reply; false if that ended the connection.
asio::awaitable<bool> FaultProxy::run_verb(Session& session, const Planned& planned, std::string reply) {
  if (!planned.fault) {
    co_await pass(session, Towards::client, std::move(reply));
    co_return true;
  }
  happened();
  switch (*planned.fault) {
    case Fault::cut_request:
    case Fault::cut_reply:
      session.reset();
      co_return false;
    case Fault::swallow_reply:
      break;
    case Fault::hold_reply:
      co_await session.held.async_wait(asio::as_tuple(asio::use_awaitable));
      co_await pass(session, Towards::client, std::move(reply));
      break;
    case Fault::replace_reply:
      co_await pass(session, Towards::client, planned.reply);
      break;
  }
  co_return true;
}

asio::awaitable<void> FaultProxy::pass(Session& session, Towards towards, std::string bytes) {
  if (bytes.empty()) co_return;
  const Shape shape = shape_of(towards);
  const std::size_t way = index(towards);
  const std::uint64_t from = session.travelled[way];
  session.travelled[way] += bytes.size();
  if (shape.drop) co_return;
  if (shape.corrupt_at && *shape.corrupt_at >= from && *shape.corrupt_at < from + bytes.size()) {
    char& byte = bytes[static_cast<std::size_t>(*shape.corrupt_at - from)];
    byte = static_cast<char>(byte ^ 1);
  }
  const bool ends = shape.close_after && *shape.close_after <= from + bytes.size();
  if (ends) bytes.resize(static_cast<std::size_t>(*shape.close_after - std::min(*shape.close_after, from)));
  Socket& to = towards == Towards::server ? session.server : session.client;
  const std::size_t piece = shape.piece != 0 ? shape.piece : shape.bytes_per_second != 0 ? 1024 : at_once;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::size_t size = std::min(piece, bytes.size() - at);
    co_await sleep_for(shape.delay);
    if (shape.bytes_per_second != 0) {
      co_await sleep_for(std::chrono::nanoseconds(std::chrono::seconds(1)) * size / shape.bytes_per_second);
    }
    co_await asio::async_write(to, asio::buffer(bytes.data() + at, size), asio::use_awaitable);
    const std::lock_guard lock(mutex_);
    passed_[way] += size;
  }
  if (!ends) co_return;
  // Shut down in order, so that the client receives all data before the end of the stream.
  session.client.shutdown(asio::socket_base::shutdown_both);
  session.server.close();
}

FaultProxy::Match runs_script(std::string_view script) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(script.data()), script.size(), digest.data());
  std::string hash;
  for (const unsigned char byte : digest) {
    hash += "0123456789abcdef"[byte >> 4U];
    hash += "0123456789abcdef"[byte & 15U];
  }
  return [hash](const FaultProxy::Words& words) { return words.size() > 1 && words[1] == hash; };
}

FaultProxy::Match is_command(std::string name) {
  return [name = std::move(name)](const FaultProxy::Words& words) {
    return !words.empty() && std::equal(name.begin(), name.end(), words[0].begin(), words[0].end(), [](char a, char b) {
      return std::toupper(static_cast<unsigned char>(a)) == std::toupper(static_cast<unsigned char>(b));
    });
  };
}

}  // namespace feedmill::test
