// Requests to receivers: signed messages to webhooks, content to hub subscribers, and verification of their intent
// (WEBSUB U4, U7, U9, U11; OPERATIONS B1, B2).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include <boost/asio/awaitable.hpp>

#include "storage/queues/subscribers.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {

/// Result of a request.
struct Told {
  enum class Is {
    taken,     ///< 2xx
    gone,      ///< 410: the receiver wants no further events
    failed,    ///< any other answer, or none
    not_asked  ///< not sent: the host has its maximum of requests in flight
  };
  Is is{};
  int status = 0;              ///< 0: no answer
  bool sent = true;            ///< false: no byte of the request was sent
  std::string why;             ///< if failed: for people, without secrets
  Milliseconds retry_after{};  ///< the receiver's Retry-After; not_asked: until a slot is likely to be free
  std::string answer;          ///< if taken: the start of the response body
};

/// Lives on the loop's thread.
class Sender {
 public:
  /// `per_host`: requests in flight to one host; at most half of them to receivers that are not prompt. `fetcher` and
  /// `memory` outlive this.
  Sender(Fetcher& fetcher, MemoryBudget& memory, std::size_t per_host, std::chrono::milliseconds timeout)
      : fetcher_(fetcher), memory_(memory), per_host_(per_host), timeout_(timeout) {}

  /// Sends one message. Retries must use the same `id`. `now`: Redis' clock.
  boost::asio::awaitable<Told> tell(const Subscriber& webhook, std::string id, std::string body, Milliseconds now);

  /// New content of a topic.
  struct Content {
    std::shared_ptr<const std::string> body;  ///< not copied for a receiver
    std::string type, hub, self;
  };
  boost::asio::awaitable<Told> deliver(const Subscriber& subscriber, const Content& content);

  /// Asks the subscriber to confirm its intent, or sends it a denial. `taken`: confirmed. `address`: the only one to
  /// connect to, "" = any of its host's.
  boost::asio::awaitable<Told> verify(const Subscriber& subscriber, const std::string& address);

  /// Peer of a verification (Fetcher::peer_of).
  boost::asio::awaitable<Fetcher::Peer> peer_of(const Subscriber& subscriber);

  /// Whether its last request was slow, as far as this process knows.
  bool is_slow(const Subscriber& subscriber) const { return slow_.contains(subscriber.id); }
  /// 0 if a request to it may be sent now, else the time until a slot at its host is likely to be free; reserves that
  /// turn.
  Milliseconds wait_for_place(const Subscriber& subscriber);
  /// How often the host has refused a slot while it had requests in flight. A receiver that sees it change should
  /// yield.
  std::size_t refused_at_host_of(const Subscriber& subscriber) const;
  /// Most requests in flight to its host, if other receivers have none there.
  std::size_t places_for(const Subscriber& subscriber) const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds usual_time{50};
  /// Requests in flight to a host.
  struct Host {
    std::size_t all = 0, waited_for = 0;           ///< to receivers that are not prompt
    std::size_t refused = 0;                       ///< refused slots
    Clock::duration took = usual_time;             ///< duration of the last answered request
    Clock::time_point turn = Clock::time_point();  ///< of the last receiver without a slot
  };
  /// Whether it has accepted messages, and soon.
  bool is_prompt(const Subscriber& subscriber) const;
  boost::asio::awaitable<Told> send(const Subscriber& receiver, Fetcher::Outbound outbound);

  Fetcher& fetcher_;
  MemoryBudget& memory_;
  const std::size_t per_host_;
  const std::chrono::milliseconds timeout_;
  std::map<std::string, Host, std::less<>> under_way_;  // by host
  std::unordered_set<std::string> slow_;                // ids of receivers that were slow last time
};

/// hub.callback with the verification parameters appended to its own query (WEBSUB U4).
std::string verification_url(const Subscriber& subscriber, std::string_view challenge);

}  // namespace feedmill
