// libcurl's multi interface on an Asio event loop: timers, sockets, pooled handles. What is asked and what an answer
// means is http_transfer.hpp's business.
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

/// The multi handle and what it needs of the loop: one timer, and watches on the sockets it waits for. Owns the
/// connections. Lives on one loop thread; neither copied nor moved.
class HttpEngine {
  /// A host and port that libcurl was told the addresses of.
  struct Name {
    std::size_t users = 0;
    std::list<std::string> mark;  ///< "HOST:PORT", kept here or, once nobody may need it any more, in `ended_`
  };

 public:
  /// Told of each transfer that ended: its CURLOPT_PRIVATE and its code; `error` is what a callback of ours threw, null
  /// for nothing. It may be told of one more than once. Must not throw.
  using Finished = std::function<void(void* transfer, CURLcode code, const std::exception_ptr& error)>;

  /// Keeps libcurl knowing a host's addresses while it lives: a transfer may look its addresses up late, or again for a
  /// second connection.
  class Held {
   public:
    /// `line`: "HOST:PORT:ADDRESS,…", "" for none. The engine outlives it. (With a "+" in front the addresses would be
    /// no different from those that libcurl finds out itself, which 8.14 drops whenever a transfer ends.)
    Held(HttpEngine& engine, const std::string& line) : engine_(engine), name_(engine.hold(line, lines_)) {}
    ~Held() {
      if (name_ != nullptr) engine_.let_go(*name_);
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    /// What CURLOPT_RESOLVE takes so that libcurl knows the line, and forgets what nobody needs any more.
    const std::vector<std::string>& lines() const { return lines_; }

   private:
    HttpEngine& engine_;
    std::vector<std::string> lines_;
    Name* const name_;
  };

  /// At most `max_connections` are in use at once, and `keep_alive` kept beside them (HTTP X1).
  HttpEngine(boost::asio::any_io_executor executor, std::size_t max_connections, std::size_t keep_alive,
             Finished finished);
  ~HttpEngine();
  HttpEngine(const HttpEngine&) = delete;
  HttpEngine& operator=(const HttpEngine&) = delete;

  const boost::asio::any_io_executor& executor() const { return executor_; }

  /// Handles are pooled, their options reset (HTTP C3).
  Easy take_handle();
  void give_back(Easy easy) noexcept;
  /// Throws std::bad_alloc.
  void add(CURL* easy);
  void remove(CURL* easy) noexcept;
  /// The socket that libcurl waits for on behalf of a transfer, -1 for none yet.
  int socket_of(CURL* easy) const;

  /// To be called with each socket that libcurl is given: one of the same number may have been closed without a word,
  /// which libcurl 7.88 does while it connects.
  void opened(int socket) noexcept;

  /// Whether the connection of a transfer that begins now is worth keeping when it ends (HTTP X1): while there is much
  /// room, always; then for origins that have been asked within the last minute; else libcurl, which looks through all
  /// that it keeps for one to close, would do so for every transfer.
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

  /// When an origin was asked last. There is room for two of the same place; a third one has the older forgotten.
  struct Asked {
    std::size_t origin = 0;  ///< hash
    std::chrono::steady_clock::time_point at;
  };

  boost::asio::any_io_executor executor_;
  Finished finished_;
  const std::size_t keep_alive_;
  std::vector<bool> open_;          ///< sockets, by number: never grows
  std::size_t open_count_ = 0;      ///< of them
  std::vector<Asked> asked_{4096};  ///< by hash
  DescriptorWatches watches_;
  std::vector<Easy> idle_;                      ///< has room for all `handles_`
  std::size_t handles_ = 0;                     ///< made so far
  std::unordered_map<std::string, Name> held_;  ///< by "HOST:PORT"
  std::list<std::string> ended_;                ///< marks of these
  std::unordered_map<CURL*, int> sockets_;      ///< of the transfers under way; -1: none yet
  std::shared_ptr<HttpEngine*> alive_;          ///< what timer callbacks hold; null inside once we are gone
  bool acts_soon_ = false;                      ///< posted
  std::optional<std::chrono::steady_clock::time_point> timer_due_;  ///< when libcurl wants to be called
  std::optional<std::chrono::steady_clock::time_point> timer_set_;  ///< what `timer_` is waited for
  boost::asio::steady_timer timer_;
  CURLM* multi_;
};

}  // namespace feedmill
