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
/// a client it distinguishes commands and replies, so that a fault can hit a particular command. All members may be
/// called from any thread; settings apply to later traffic.
class FaultProxy {
 public:
  /// The protocol that is forwarded: any bytes (HTTP …), or Redis' protocol.
  enum class Speaks { bytes, redis };
  enum class Towards { server, client };

  /// How bytes travel in one direction. Zero values change nothing.
  struct Shape {
    std::chrono::milliseconds delay{};           ///< before each piece is forwarded
    std::chrono::milliseconds merge{};           ///< bytes that arrive within this time are forwarded as one piece
    std::size_t piece = 0;                       ///< largest piece that is forwarded at once: 1 = byte by byte
    std::size_t bytes_per_second = 0;            ///< maximum rate
    bool drop = false;                           ///< forwards nothing, and keeps both connections open
    std::optional<std::uint64_t> close_after{};  ///< closes each connection after forwarding this many bytes
    std::optional<std::uint64_t> corrupt_at{};   ///< flips the lowest bit of the byte at this offset in each connection
  };

  /// What happens to a command in Redis' protocol.
  enum class Fault {
    cut_request,    ///< the connection closes; the server never receives the command
    cut_reply,      ///< the server executes the command; the connection closes before the reply
    swallow_reply,  ///< the server executes the command; the client keeps waiting for the reply
    hold_reply,     ///< the server executes the command; the client receives the reply after let_go()
    replace_reply   ///< the client receives another reply, in Redis' protocol
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
  /// redis:// URL through the proxy for a user with the name as password (RedisServer::url_of).
  std::string redis_url_of(const std::string& user) const { return "redis://" + user + ":" + user + "@" + address(); }

  /// Sets how bytes travel in one direction.
  void shape(Towards towards, const Shape& shape);

  /// Makes the `nth` of the following commands that `match` accepts fail with `fault`; nth = 0: every such command
  /// until clear(). `reply`: the text for replace_reply, such as "-OOM command not allowed\r\n".
  void at(Match match, std::size_t nth, Fault fault, std::string reply = "");
  /// Removes the faults of at() that have not occurred yet.
  void clear();
  /// Waits until this many faults of at() have occurred; after a fault, the server has executed the command unless it
  /// never received it. False after 30 s.
  bool wait_for_faults(std::size_t count);
  std::size_t faults() const;
  /// Forwards the replies that hold_reply has held back.
  void let_go();

  /// Resets all open connections.
  void cut();
  /// Resets all connections and refuses new ones; up() accepts them again on the same port.
  void down();
  void up();

  /// Connects new clients to another server, like a name after a failover; existing connections stay.
  void lead_to(const std::string& server);

  /// Connections accepted so far.
  std::size_t connections() const;
  /// Bytes forwarded so far.
  std::uint64_t passed(Towards towards) const;

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;
  struct Session;
  struct Rule {
    Match match;
    std::size_t left;  // matches until the fault; 0 = every match
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

  mutable std::mutex mutex_;  ///< protects the next seven
  std::string server_;
  std::condition_variable changed_;
  std::array<Shape, 2> shapes_;
  std::vector<Rule> rules_;
  std::size_t faults_ = 0, connections_ = 0;
  std::array<std::uint64_t, 2> passed_{};

  boost::asio::io_context context_{1};  // the members from here on are used only on its thread
  boost::asio::ip::tcp::acceptor acceptor_{context_};
  std::uint16_t port_ = 0;
  bool is_down_ = false;
  std::set<Session*> sessions_;
  std::thread thread_;
};

/// Matches calls of this script (a text of storage/lua/scripts.hpp) by its hash. Call load_scripts() first; otherwise
/// it also matches the call that only finds the script missing on the server.
FaultProxy::Match runs_script(std::string_view script);
/// Matches commands of this name, in any case.
FaultProxy::Match is_command(std::string name);

}  // namespace feedmill::test
