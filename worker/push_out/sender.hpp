// Sends requests to receivers: signed messages to webhooks, content to hub subscribers, and verifications of intent
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

/// The result of a request.
struct Told {
  enum class Is {
    taken,     ///< 2xx
    gone,      ///< 410: the receiver does not accept events any longer
    failed,    ///< any other answer, or none
    not_asked  ///< not sent: too many requests to the host are in flight
  };
  Is is{};
  int status = 0;              ///< 0: there was no answer
  bool sent = true;            ///< false: not a single byte was sent
  std::string why;             ///< if failed: the reason, for people, without secrets
  Milliseconds retry_after{};  ///< the receiver's Retry-After; if not_asked, the time until a slot is likely to be free
  std::string answer;          ///< if taken: the start of the response body
};

/// Lives on the loop's thread.
class Sender {
 public:
  /// `per_host`: limit of requests in flight to one host; receivers that are not prompt get at most half of them.
  /// `fetcher` and `memory` must outlive this.
  Sender(Fetcher& fetcher, MemoryBudget& memory, std::size_t per_host, std::chrono::milliseconds timeout)
      : fetcher_(fetcher), memory_(memory), per_host_(per_host), timeout_(timeout) {}

  /// Sends one message. Retries must use the same `id`. `now`: Redis' time.
  boost::asio::awaitable<Told> tell(const Subscriber& webhook, std::string id, std::string body, Milliseconds now);

  /// New content of a topic.
  struct Content {
    std::shared_ptr<const std::string> body;  ///< shared by all receivers, not copied
    std::string type, hub, self;
  };
  boost::asio::awaitable<Told> deliver(const Subscriber& subscriber, const Content& content);

  /// Asks the subscriber to confirm its intent, or sends it a denial. The result is `taken` if it confirmed. `address`:
  /// the only address to connect to; "" = any address of the host.
  boost::asio::awaitable<Told> verify(const Subscriber& subscriber, const std::string& address);

  /// The peer of a verification (Fetcher::peer_of).
  boost::asio::awaitable<Fetcher::Peer> peer_of(const Subscriber& subscriber);

  /// Whether the receiver's last request was slow, as far as this process knows.
  bool is_slow(const Subscriber& subscriber) const { return slow_.contains(subscriber.id); }
  /// Returns 0 if a request may be sent to the receiver now; otherwise reserves a turn and returns the time until then,
  /// when a slot at its host is likely to be free.
  Milliseconds wait_for_place(const Subscriber& subscriber);
  /// How often the host had no free slot since it last had no requests in flight. A receiver that is being served
  /// should yield when the number changes.
  std::size_t refused_at_host_of(const Subscriber& subscriber) const;
  /// The limit of requests in flight to the receiver's host, if other receivers have none there.
  std::size_t places_for(const Subscriber& subscriber) const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds usual_time{50};
  /// The requests in flight to a host.
  struct Host {
    std::size_t all = 0, waited_for = 0;           ///< all; those to receivers that are not prompt
    std::size_t refused = 0;                       ///< requests that found no slot
    Clock::duration took = usual_time;             ///< duration of the last request that was answered
    Clock::time_point turn = Clock::time_point();  ///< turn of the last receiver that found no slot
  };
  /// Whether the receiver has accepted messages, and quickly.
  bool is_prompt(const Subscriber& subscriber) const;
  boost::asio::awaitable<Told> send(const Subscriber& receiver, Fetcher::Outbound outbound);

  Fetcher& fetcher_;
  MemoryBudget& memory_;
  const std::size_t per_host_;
  const std::chrono::milliseconds timeout_;
  std::map<std::string, Host, std::less<>> under_way_;  // by host
  std::unordered_set<std::string> slow_;                // ids of receivers that were slow last time
};

/// The URL for a verification: hub.callback with parameters appended to its own query (WEBSUB U4).
std::string verification_url(const Subscriber& subscriber, std::string_view challenge);

}  // namespace feedmill
