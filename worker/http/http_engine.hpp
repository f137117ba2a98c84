// libcurl's multi interface on an Asio event loop: timers, sockets, pooled handles. http_transfer.hpp has the requests
// and responses.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <curl/curl.h>

#include "worker/base/descriptor_watch.hpp"

namespace feedmill {

struct FreeEasy {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using Easy = std::unique_ptr<CURL, FreeEasy>;

/// The multi handle, its timer and its socket watches. Owns the connections. Lives on one loop thread; not copyable or
/// movable.
class HttpEngine {
  /// A host and port with addresses given to libcurl.
  struct Name {
    std::size_t users = 0;
    std::list<std::string> mark;  ///< "HOST:PORT"; in this list while in use, then in `ended_`
  };

 public:
  /// Called for each transfer that ended, possibly repeatedly: its CURLOPT_PRIVATE and code; `error`: exception of one
  /// of our callbacks, or null. Must not throw.
  using Finished = std::function<void(void* transfer, CURLcode code, const std::exception_ptr& error)>;

  /// Keeps a host's addresses known to libcurl for its lifetime: a transfer may resolve late, or again for a second
  /// connection.
  class Held {
   public:
    /// `line`: "HOST:PORT:ADDRESS,…"; "": none. The engine must outlive this. (A "+" prefix would make libcurl treat
    /// the addresses like those it resolves itself, which 8.14 drops whenever a transfer ends.)
    Held(HttpEngine& engine, const std::string& line) : engine_(engine), name_(engine.hold(line, lines_)) {}
    ~Held() {
      if (name_ != nullptr) engine_.let_go(*name_);
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    /// Lines for CURLOPT_RESOLVE: adds this line and removes unused ones.
    const std::vector<std::string>& lines() const { return lines_; }

   private:
    HttpEngine& engine_;
    std::vector<std::string> lines_;
    Name* const name_;
  };

  /// At most `max_connections` in use at once, plus `keep_alive` idle ones (HTTP X1).
  HttpEngine(boost::asio::any_io_executor executor, std::size_t max_connections, std::size_t keep_alive,
             Finished finished);
  ~HttpEngine();
  HttpEngine(const HttpEngine&) = delete;
  HttpEngine& operator=(const HttpEngine&) = delete;

  const boost::asio::any_io_executor& executor() const { return executor_; }

  /// Takes a handle from the pool, with its options reset.
  Easy take_handle();
  void give_back(Easy easy) noexcept;
  /// Throws std::bad_alloc.
  void add(CURL* easy);
  void remove(CURL* easy) noexcept;
  /// The socket of a transfer; -1 if none yet.
  int socket_of(CURL* easy) const;

  /// Call for each new socket handed to libcurl: while connecting, libcurl 7.88 may close a socket of the same number
  /// without notice.
  void opened(int socket) noexcept;

  /// Whether to keep a new transfer's connection when it ends (HTTP X1): always while fewer than half of `keep_alive`
  /// are idle, then only for origins used within the last minute. Otherwise libcurl would search all its connections on
  /// every transfer for one to close.
  bool worth_keeping(std::string_view origin);
  /// CURLOPT_CLOSESOCKETFUNCTION; its data is the engine, because connections outlive transfers.
  static int close_socket(void* engine, curl_socket_t socket);

 private:
  Name* hold(const std::string& line, std::vector<std::string>& lines);
  void let_go(Name& name) noexcept;

  static int watch_socket(CURL*, curl_socket_t socket, int what, void* engine, void*);
  static int set_timer(CURLM*, long milliseconds, void* engine);

  void start_timer(long milliseconds);
  void wait_for_timer();
  void timer_ended();
  void act_soon();
  void act_on_time();
  void act(curl_socket_t socket, int events);
  void fail(CURL* easy, const std::exception_ptr& error);
  void fail_all(const std::exception_ptr& error);

  /// When an origin was last used. Hash buckets hold two origins; a third one replaces the older.
  struct Asked {
    std::size_t origin = 0;  ///< hash
    std::chrono::steady_clock::time_point at;
  };

  boost::asio::any_io_executor executor_;
  Finished finished_;
  const std::size_t keep_alive_;
  std::vector<bool> open_;          ///< sockets, by number; fixed size
  std::size_t open_count_ = 0;      ///< number of open sockets
  std::vector<Asked> asked_{4096};  ///< by hash
  DescriptorWatches watches_;
  std::vector<Easy> idle_;                      ///< has capacity for all `handles_`
  std::size_t handles_ = 0;                     ///< created so far
  std::unordered_map<std::string, Name> held_;  ///< by "HOST:PORT"
  std::list<std::string> ended_;                ///< marks of unused entries of `held_`
  std::unordered_map<CURL*, int> sockets_;      ///< of running transfers; -1: none yet
  std::shared_ptr<HttpEngine*> alive_;          ///< shared with timer callbacks; set to null on destruction
  bool acts_soon_ = false;                      ///< a call is posted
  std::optional<std::chrono::steady_clock::time_point> timer_due_;  ///< when libcurl next needs a call
  std::optional<std::chrono::steady_clock::time_point> timer_set_;  ///< when the running wait of `timer_` ends
  boost::asio::steady_timer timer_;
  CURLM* multi_;
};

}  // namespace feedmill
