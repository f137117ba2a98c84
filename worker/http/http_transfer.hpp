// One request in flight: libcurl's options, every connection opened under the egress policy (SECURITY E1), and what an
// ending means. Nothing else of ours opens a socket to a place that strangers name (ctest one_way_out).
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <curl/curl.h>

#include "worker/http/answer_head.hpp"
#include "worker/http/c_guard.hpp"
#include "worker/http/http_engine.hpp"
#include "worker/http/http_exchange.hpp"
#include "worker/http/http_shared.hpp"

namespace feedmill {

/// Lines as libcurl takes them.
class CurlList {
 public:
  /// Refers to the lines, and does not outlive them.
  explicit CurlList(const std::vector<std::string>& lines);
  /// Null when there are none.
  curl_slist* get() { return nodes_.empty() ? nullptr : nodes_.data(); }

 private:
  std::vector<curl_slist> nodes_;
};

/// A request in flight: joins the multi handle when made, leaves it when destroyed.
class HttpTransfer {
 public:
  /// `resolve_line`: the addresses to use, as CURLOPT_RESOLVE has it; "" when the URL holds one. The request outlives
  /// the transfer.
  HttpTransfer(HttpShared& shared, const HttpRequest& request, const std::string& resolve_line);
  ~HttpTransfer();
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  /// libcurl is done with it, or must be: wakes the coroutine. `error`: what a callback of ours threw, null for
  /// nothing.
  void finish(CURLcode code, const std::exception_ptr& error) noexcept;
  /// After finish().
  HttpResult result();
  /// When to look after it if nothing happens before: its deadline, or the end of a pause.
  std::chrono::steady_clock::time_point next_look();
  /// `done` was woken, or its time has come: true when the transfer goes on, false when it must be given up.
  bool go_on();
  /// After go_on() said false.
  HttpFailure given_up();
  /// The network that had no place for it, "" for none.
  const std::string& crowded() const { return crowded_; }

  boost::asio::steady_timer done;
  bool finished = false;

 private:
  // Called by libcurl. Each is a member within guard_.
  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* transfer);
  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* transfer);
  static int on_resolve(void*, void*, void* transfer);
  static curl_socket_t on_open(void* transfer, curlsocktype, curl_sockaddr* address);
  static CURLcode on_tls(CURL*, void* context, void* transfer);
  static int on_request(void* transfer, char* peer, char*, int port, int);
  static int on_progress(void* transfer, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  int resolve();
  curl_socket_t open(const curl_sockaddr& address);
  CURLcode start_tls(void* context);
  int request(const char* peer, std::uint16_t port);
  int look_at_progress();
  std::size_t take_header(std::string_view line);
  std::size_t take_body(std::string_view bytes);
  /// Received bytes that count in the budget: the body, and a head larger than usual.
  std::size_t counted() const;

  void configure(const HttpRequest& request);
  void trust(const HttpRequest& request);
  const std::string& trust_of(const HttpRequest& request) const {
    return request.ca_file.empty() ? shared_.options.ca_bundle : request.ca_file;
  }
  bool enter_network(std::string_view address, unsigned port);
  bool moves();
  void pause();
  bool refuse(Reason reason, std::string detail);
  Egress verdict_of_proxy(unsigned port) const;
  bool egress_allows(Egress verdict, std::string_view address, unsigned port);
  bool is_refused_everywhere() const;
  HttpTrace trace() const;
  HttpFailure with_what_came(HttpFailure ending);
  HttpFailure failure(Reason reason, std::string detail) const;
  HttpFailure failure_of_code() const;
  std::optional<HttpFailure> refused_by_proxy() const;
  Reason connect_reason() const;

  HttpShared& shared_;
  NetworkLimit& networks_;
  Easy easy_;
  CurlList header_list_;
  const HttpEngine::Held held_;
  CurlList resolve_list_;
  CGuard guard_;  ///< of the callbacks
  char error_text_[CURL_ERROR_SIZE]{};
  CURLcode code_ = CURLE_OK;
  std::chrono::steady_clock::time_point deadline_;
  const std::uint64_t max_body_bytes_;
  MemoryBudget::Share* memory_;  ///< the caller's; may be null
  bool granted_ = false;         ///< memory, after a pause
  bool stirred_ = false;         ///< `done` was cancelled to be set anew
  std::optional<std::chrono::steady_clock::time_point> paused_until_;
  std::chrono::steady_clock::time_point stall_look_;  ///< when to compare with
  std::uint64_t stall_bytes_ = 0;                     ///< what had come at the look before
  bool stalled_ = false;
  std::vector<std::string> places_;  ///< networks that it counts in
  std::string crowded_;
  std::string session_key_;
  std::string trust_trouble_;  ///< why the request's own authorities could not be read
  unsigned proxy_port_ = 0;    ///< 0: no proxy
  bool resumed_ = false;
  bool http2_ = false;              ///< agreed upon for the connection in use
  bool opened_ = false;             ///< a socket to an address that may be asked
  std::optional<Refusal> refusal_;  ///< why we stopped it ourselves; the last egress refusal while connecting
  AnswerHead head_;
  std::uint64_t content_seen_ = 0;              ///< header and body bytes at the last read that brought some
  std::optional<std::uint64_t> received_then_;  ///< by the socket, at the first read after that
  std::string body_;
};

}  // namespace feedmill
