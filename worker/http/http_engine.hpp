// libcurl's multi interface on an Asio event loop: timers, sockets, pooled handles. What is asked and what an answer
// means is http_transfer.hpp's business.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <curl/curl.h>

#include "worker/descriptor_watch.hpp"

namespace feedmill {

struct FreeEasy {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using Easy = std::unique_ptr<CURL, FreeEasy>;

/// The multi handle and what it needs of the loop: one timer, and watches on the sockets it waits for. Owns the
/// connections. Lives on one loop thread; neither copied nor moved.
class HttpEngine {
 public:
  /// Told of each transfer that ended: its CURLOPT_PRIVATE and its code.
  using Finished = std::function<void(void* transfer, CURLcode code)>;

  /// At most `max_connections` at once, and `keep_alive` kept for later.
  HttpEngine(boost::asio::any_io_executor executor, std::size_t max_connections, std::size_t keep_alive,
             Finished finished);
  ~HttpEngine();
  HttpEngine(const HttpEngine&) = delete;
  HttpEngine& operator=(const HttpEngine&) = delete;

  const boost::asio::any_io_executor& executor() const { return executor_; }

  /// Handles are pooled, their options reset (HTTP C3).
  Easy take_handle();
  void give_back(Easy easy);
  /// What CURLOPT_RESOLVE takes so that libcurl knows `line` ("HOST:PORT:ADDRESS,…", "" for none) until let_go(), and
  /// forgets what nobody needs any more. A transfer may look its addresses up late, or again for a second connection.
  /// (With a "+" in front they would be no different from those that libcurl finds out itself, which 8.14 drops
  /// whenever a transfer ends.)
  std::vector<std::string> hold(const std::string& line);
  void let_go(const std::string& line);
  void add(CURL* easy);
  void remove(CURL* easy);
  /// The socket that libcurl waits for on behalf of a transfer, -1 for none yet.
  int socket_of(CURL* easy) const;

  /// CURLOPT_CLOSESOCKETFUNCTION; its data is the engine, because connections outlive transfers.
  static int close_socket(void* engine, curl_socket_t socket);

 private:
  static int watch_socket(CURL*, curl_socket_t socket, int what, void* engine, void*);
  static int set_timer(CURLM*, long milliseconds, void* engine);

  void act(curl_socket_t socket, int events);

  boost::asio::any_io_executor executor_;
  Finished finished_;
  DescriptorWatches watches_;
  std::vector<Easy> idle_;
  std::unordered_map<std::string, std::size_t> held_;  ///< "HOST:PORT" and how many transfers need it
  std::unordered_map<CURL*, int> sockets_;             ///< of transfers
  std::vector<std::string> ended_;                     ///< of these, such as nobody may need any more
  std::shared_ptr<HttpEngine*> alive_;                 ///< what timer callbacks hold; null inside once we are gone
  boost::asio::steady_timer timer_;
  CURLM* multi_;
};

}  // namespace feedmill
