// One request in flight: libcurl's options, connections opened under the egress policy (SECURITY E3), and the result.
// No other code of ours opens a socket to an untrusted destination (ctest one_way_out).
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

/// Lines as libcurl's linked list.
class CurlList {
 public:
  /// `lines` must outlive this.
  explicit CurlList(const std::vector<std::string>& lines);
  /// Null if empty.
  curl_slist* get() { return nodes_.empty() ? nullptr : nodes_.data(); }

 private:
  std::vector<curl_slist> nodes_;
};

/// A request in flight: joins the multi handle on construction and leaves it on destruction.
class HttpTransfer {
 public:
  /// `resolve_line`: the addresses to use, as in CURLOPT_RESOLVE; "" if the URL has a literal one. `request` must
  /// outlive the transfer.
  HttpTransfer(HttpShared& shared, const HttpRequest& request, const std::string& resolve_line);
  ~HttpTransfer();
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  /// Called when libcurl ended the transfer; wakes the coroutine. `error`: exception of one of our callbacks, or null.
  void finish(CURLcode code, const std::exception_ptr& error) noexcept;
  /// The result; only after finish().
  HttpResult result();
  /// Time of the next check if nothing happens first: the deadline, the end of a pause, or the stall check.
  std::chrono::steady_clock::time_point next_look();
  /// Call after `done` was woken or expired. Returns whether the transfer continues; if not, give it up.
  bool go_on();
  /// Result after go_on() returned false.
  HttpFailure given_up();
  /// The network without a free slot; "" if there is none.
  const std::string& crowded() const { return crowded_; }

  boost::asio::steady_timer done;
  bool finished = false;

 private:
  // libcurl's callbacks; each runs a member within guard_.
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
  /// Received bytes that count against the budget: the body, and a header above the usual size.
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
  HttpFailure own_failure() const;
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
  MemoryBudget::Share* memory_;  ///< owned by the caller; may be null
  bool granted_ = false;         ///< memory was granted after a pause
  bool stirred_ = false;         ///< `done` was cancelled only to be rescheduled
  std::optional<std::chrono::steady_clock::time_point> paused_until_;
  std::chrono::steady_clock::time_point stall_look_;  ///< time of the next stall check
  std::uint64_t stall_bytes_ = 0;                     ///< bytes received at the last stall check
  bool stalled_ = false;
  std::vector<std::string> places_;  ///< networks in which this holds a slot
  std::string crowded_;
  std::string session_key_;
  std::string trust_trouble_;  ///< why the request's own CA file could not be read
  unsigned proxy_port_ = 0;    ///< 0: no proxy
  bool resumed_ = false;
  bool http2_ = false;              ///< negotiated for the current connection
  bool opened_ = false;             ///< opened a socket to an allowed address
  std::optional<Refusal> refusal_;  ///< why we aborted the transfer; while connecting, the last egress refusal
  AnswerHead head_;
  std::uint64_t content_seen_ = 0;              ///< header and body bytes at the last change
  std::optional<std::uint64_t> received_then_;  ///< bytes received on the socket at the first check after that
  std::string body_;
};

}  // namespace feedmill
