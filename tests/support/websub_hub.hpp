// A WebSub hub (W3C Recommendation, §5–§7) that keeps the rules until told to break them. It runs on an HttpServer,
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

/// A request to subscribe or unsubscribe as it came.
struct HubRequest {
  std::string mode, topic, callback, secret, lease_seconds;  ///< "" when absent
  std::vector<std::pair<std::string, std::string>> fields;   ///< all of them, decoded
  ServedRequest request;
};

/// A subscriber whose intent has been verified.
struct HubSubscriber {
  std::string callback, topic, secret;
  std::string lease_seconds;  ///< as sent in the verification
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
};

/// What the hub does with requests; nothing set: as the Recommendation says.
struct HubHabits {
  using Header = std::pair<std::string, std::string>;

  int status = 202;                      ///< of the answer to a request; anything but 2xx: nothing follows
  std::vector<Header> headers{};         ///< of that answer: Location, Retry-After
  std::string body{};                    ///< of that answer
  bool verifies = true;                  ///< false: silent after its answer
  unsigned verifications = 1;            ///< how often each request is verified
  std::string lease_seconds = "864000";  ///< told when verifying; "" = the field is left out
  std::string topic{}, mode{};           ///< claimed when verifying in place of the real ones
  std::string denies{};                  ///< denies with this reason in place of verifying
};

/// "sha256=" and the HMAC in lower-case hex; any method that OpenSSL knows: sha1, sha256, sha384, sha512, md5.
std::string hub_signature(std::string_view method, std::string_view secret, std::string_view body);

/// All members may be called from any thread. Verifications are sent by a thread of its own, one after the other.
class WebSubHub {
 public:
  /// Answers on `path` of the server, which outlives it.
  explicit WebSubHub(HttpServer& server, std::string path = "/hub");
  ~WebSubHub();
  WebSubHub(const WebSubHub&) = delete;
  WebSubHub& operator=(const WebSubHub&) = delete;

  std::string url() const { return server_.url(path_); }
  /// From the next request on.
  void behave(HubHabits habits);

  std::vector<HubRequest> requests() const;
  /// Those that are subscribed to a topic now.
  std::vector<HubSubscriber> subscribers(const std::string& topic) const;
  /// Waits until `topic` has so many subscribers, for 30 s at most; whether it has.
  bool await_subscribers(const std::string& topic, std::size_t count) const;
  /// Waits until so many requests came and all that was to be sent because of them has been sent and answered.
  bool await_requests(std::size_t count) const;
  /// The answers to its verifications and denials, in their order.
  std::vector<HttpAnswer> verifications() const;

  /// Delivers to every subscriber of the topic with a running lease, signed if there is a secret. Returns the answers;
  /// a subscriber that answers 410 is removed.
  std::vector<HttpAnswer> publish(const std::string& topic, const std::string& body,
                                  const std::string& content_type = "application/atom+xml",
                                  std::string_view method = "sha256");
  /// Sends one verification as given; nothing is stored.
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
