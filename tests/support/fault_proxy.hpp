// A real proxy between a client and a server that injects network faults on request.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace feedmill::test {

/// Listens on a TCP port of loopback and forwards to one server, from its own thread until destroyed. Between Redis and
/// its client it knows commands and replies apart, so that a fault can meet a certain one. All members may be called
/// from any thread; settings apply to the traffic from then on.
class FaultProxy {
 public:
  /// The protocol of the two sides: any bytes (HTTP …), or Redis' protocol.
  enum class Speaks { bytes, redis };
  enum class Towards { server, client };

  /// How bytes travel one way. Values of zero change nothing.
  struct Shape {
    std::chrono::milliseconds delay{};           ///< before each piece is passed on
    std::chrono::milliseconds merge{};           ///< what arrives within this time travels as one piece
    std::size_t piece = 0;                       ///< largest piece that is written at once: 1 = byte by byte
    std::size_t bytes_per_second = 0;            ///< most that passes
    bool drop = false;                           ///< nothing passes, and neither side is notified
    std::optional<std::uint64_t> close_after{};  ///< the connection ends after that many bytes of it this way
    std::optional<std::uint64_t> corrupt_at{};   ///< the lowest bit of that byte of each connection is turned over
  };

  /// What happens to a command of Redis' protocol.
  enum class Fault {
    cut_request,    ///< the connection ends, the server never sees it
    cut_reply,      ///< the server answers, then the connection ends without that answer
    swallow_reply,  ///< the server answers, the client keeps waiting
    hold_reply,     ///< the server answers; the client gets it after let_go()
    replace_reply   ///< the client gets another answer, in Redis' protocol
  };

  using Words = std::vector<std::string>;
  using Match = std::function<bool(const Words& words)>;

  /// `server`: "unix:///path" or "127.0.0.1:PORT".
  explicit FaultProxy(const std::string& server, Speaks speaks = Speaks::bytes);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  std::uint16_t port() const { return port_; }
  /// "127.0.0.1:PORT"
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string redis_url() const { return "redis://" + address(); }
  /// redis:// URL through the proxy for a user whose password is its name (RedisServer::url_of).
  std::string redis_url_of(const std::string& user) const { return "redis://" + user + ":" + user + "@" + address(); }

  void shape(Towards towards, const Shape& shape);

  /// `fault` hits the `nth` command from now on that `match` accepts; nth = 0: every such command until clear().
  /// `reply`: of replace_reply, as in "-OOM command not allowed\r\n".
  void at(Match match, std::size_t nth, Fault fault, std::string reply = "");
  /// Drops the faults of at() that have not occurred yet.
  void clear();
  /// Waits until that many faults of at() have met a command, and the server has answered those it has seen; false
  /// after half a minute.
  bool wait_for_faults(std::size_t count);
  std::size_t faults() const;
  /// Replies held back by hold_reply pass now.
  void let_go();

  /// Ends all connections that are there, by a reset.
  void cut();
  /// Ends all connections and refuses new ones; up() takes them again on the same port.
  void down();
  void up();

  /// Leads to another server from now on, as a name does after a failover; connections that are there stay.
  void lead_to(const std::string& server);

  /// Connections accepted so far.
  std::size_t connections() const;
  /// Bytes passed on so far.
  std::uint64_t passed(Towards towards) const;

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;
  struct Session;
  struct Rule {
    Match match;
    std::size_t left;  // 0 = every one
    Fault fault;
    std::string reply;
  };
  struct Planned {
    std::optional<Fault> fault;
    std::string reply;
  };

  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> serve(std::shared_ptr<Session> session);
  boost::asio::awaitable<void> to_server(Session& session);
  boost::asio::awaitable<void> to_client(Session& session);
  boost::asio::awaitable<bool> run_verb(Session& session, const Planned& planned, std::string reply);
  boost::asio::awaitable<std::size_t> read(Session& session, Towards towards, std::string& buffer);
  boost::asio::awaitable<void> pass(Session& session, Towards towards, std::string bytes);
  Planned plan(const Words& words);
  Shape shape_of(Towards towards) const;
  void bind();
  void listen();
  void happened();
  void cut_all();
  void run_there(const std::function<void()>& work);

  const Speaks speaks_;

  mutable std::mutex mutex_;  ///< over the next seven
  std::string server_;
  std::condition_variable changed_;
  std::array<Shape, 2> shapes_;
  std::vector<Rule> rules_;
  std::size_t faults_ = 0, connections_ = 0;
  std::array<std::uint64_t, 2> passed_{};

  boost::asio::io_context context_{1};  // the rest belongs to its thread
  boost::asio::ip::tcp::acceptor acceptor_{context_};
  std::uint16_t port_ = 0;
  bool is_down_ = false;
  std::set<Session*> sessions_;
  std::thread thread_;
};

/// Says yes to calls of this script (a text of storage/lua/scripts.hpp) by its hash; also to one that only finds out
/// that the server has not got it, unless load_scripts() was called before.
FaultProxy::Match runs_script(std::string_view script);
/// Says yes to commands of this name, whatever its case.
FaultProxy::Match is_command(std::string name);

}  // namespace feedmill::test
