// A WebSub hub (W3C Recommendation, §5–§7) that follows the rules unless told to break them. It runs on an HttpServer,
// which may also serve the publisher's documents.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/http_ask.hpp"
#include "tests/support/http_server.hpp"

namespace feedmill::test {

/// A received request to subscribe or unsubscribe.
struct HubRequest {
  std::string mode, topic, callback, secret, lease_seconds;  ///< "" if absent
  std::vector<std::pair<std::string, std::string>> fields;   ///< all form fields, decoded
  ServedRequest request;
};

/// A subscriber that confirmed its request.
struct HubSubscriber {
  std::string callback, topic, secret;
  std::string lease_seconds;  ///< as sent in the verification request
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
};

/// How the hub treats requests; the defaults follow the Recommendation.
struct HubHabits {
  using Header = std::pair<std::string, std::string>;

  int status = 202;                      ///< of the response to a request; only 2xx leads to a verification
  std::vector<Header> headers{};         ///< of that response, such as Location, Retry-After
  std::string body{};                    ///< of that response
  bool verifies = true;                  ///< false: sends nothing after the response
  unsigned verifications = 1;            ///< how often it verifies each request
  std::string lease_seconds = "864000";  ///< sent in the verification; "" = the field is omitted
  std::string topic{}, mode{};           ///< sent in the verification instead of the requested ones
  std::string denies{};                  ///< denies the request for this reason instead of verifying it
};

/// X-Hub-Signature: the method, "=" and the HMAC in lower-case hex. Accepts any method that OpenSSL knows: sha1,
/// sha256, sha384, sha512, md5.
std::string hub_signature(std::string_view method, std::string_view secret, std::string_view body);

/// All members may be called from any thread. One thread sends the verifications in sequence.
class WebSubHub {
 public:
  /// Serves `path` of the server, which must outlive the hub.
  explicit WebSubHub(HttpServer& server, std::string path = "/hub");
  ~WebSubHub();
  WebSubHub(const WebSubHub&) = delete;
  WebSubHub& operator=(const WebSubHub&) = delete;

  std::string url() const { return server_.url(path_); }
  /// Sets the habits for later requests.
  void behave(HubHabits habits);

  std::vector<HubRequest> requests() const;
  /// The current subscribers of a topic.
  std::vector<HubSubscriber> subscribers(const std::string& topic) const;
  /// Waits until `topic` has this many subscribers; false after 30 s.
  bool await_subscribers(const std::string& topic, std::size_t count) const;
  /// Waits until this many requests have arrived, and everything sent because of them has been answered; false after 30
  /// s.
  bool await_requests(std::size_t count) const;
  /// The responses to verifications and denials, in order.
  std::vector<HttpAnswer> verifications() const;

  /// Delivers to every subscriber of the topic with an unexpired lease, signed if there is a secret. Returns the
  /// responses; removes subscribers that respond with 410.
  std::vector<HttpAnswer> publish(const std::string& topic, const std::string& body,
                                  const std::string& content_type = "application/atom+xml",
                                  std::string_view method = "sha256");
  /// Sends one verification request with these parameters; stores nothing.
  static HttpAnswer verify(const std::string& callback,
                           const std::vector<std::pair<std::string, std::string>>& parameters,
                           std::string_view http_method = "GET");

 private:
  Response receive(const ServedRequest& request);
  void work();
  void carry_out(const HubRequest& request, const HubHabits& habits);

  struct Task {
    HubRequest request;
    HubHabits habits;
  };

  HttpServer& server_;
  std::string path_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  HubHabits habits_;
  std::vector<HubRequest> requests_;
  std::vector<HubSubscriber> subscribers_;
  std::vector<HttpAnswer> verifications_;
  std::deque<Task> tasks_;
  bool busy_ = false, stopping_ = false;
  std::uint64_t challenges_ = 0;
  std::thread thread_;
};

}  // namespace feedmill::test
