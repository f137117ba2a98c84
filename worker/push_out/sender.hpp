// Requests to receivers: signed messages for webhooks, content for subscribers of the hub, and the questions whether
// they meant it (WEBSUB U4, U7, U9–U11; OPERATIONS B1, B2).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include <boost/asio/awaitable.hpp>

#include "storage/push_out/subscribers.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {

/// What became of a request.
struct Told {
  enum class Is {
    taken,     ///< 2xx
    gone,      ///< 410: nobody wants to be told there any more
    failed,    ///< any other answer, or none
    not_asked  ///< as many requests as may be are under way to that host: nothing was sent
  };
  Is is{};
  int status = 0;              ///< 0: no answer
  bool sent = true;            ///< false: no byte of the request has left
  std::string why;             ///< failed: for people, without secrets
  Milliseconds retry_after{};  ///< asked for by the receiver; not_asked: until a place there is likely to be free
  std::string answer;          ///< the start of the body of what was taken
};

/// Lives on the loop's thread.
class Sender {
 public:
  /// `per_host`: requests under way to one host; half of them to receivers that are not prompt. `fetcher` and
  /// `memory` outlive this.
  Sender(Fetcher& fetcher, MemoryBudget& memory, std::size_t per_host, std::chrono::milliseconds timeout)
      : fetcher_(fetcher), memory_(memory), per_host_(per_host), timeout_(timeout) {}

  /// One message. `id` is the same however often it is tried. `now`: Redis' clock.
  boost::asio::awaitable<Told> tell(const Subscriber& webhook, std::string id, std::string body, Milliseconds now);

  /// New content of a topic.
  struct Content {
    std::shared_ptr<const std::string> body;  ///< not copied for a receiver
    std::string type, hub, self;
  };
  boost::asio::awaitable<Told> deliver(const Subscriber& subscriber, const Content& content);

  /// Asks whether the subscriber meant its intent, or tells it that it is denied. Taken: it has confirmed. `address`:
  /// the only one to connect to, "" = any of its host's.
  boost::asio::awaitable<Told> verify(const Subscriber& subscriber, const std::string& address);

  /// The peer of a verification (Fetcher::peer_of).
  boost::asio::awaitable<Fetcher::Peer> peer_of(const Subscriber& subscriber);

  /// Whether it made us wait the last time, as far as this process knows.
  bool is_slow(const Subscriber& subscriber) const { return slow_.contains(subscriber.id); }
  /// 0 when a request to it may be sent now, else until a place at its host is likely to be free: its turn, which those
  /// that ask next come behind.
  Milliseconds wait_for_place(const Subscriber& subscriber);
  /// How many found no place at its host since a request to it has been under way. Whoever sees it change leaves.
  std::size_t refused_at_host_of(const Subscriber& subscriber) const;
  /// How many requests may be under way to its host, if none are to others there.
  std::size_t places_for(const Subscriber& subscriber) const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds usual_time{50};
  /// Requests under way to a host.
  struct Host {
    std::size_t all = 0, waited_for = 0;           ///< those to receivers that are not prompt
    std::size_t refused = 0;                       ///< a place
    Clock::duration took = usual_time;             ///< by the last that was answered
    Clock::time_point turn = Clock::time_point();  ///< of the last that found no place
  };
  /// Whether it has taken what it was sent, and soon.
  bool is_prompt(const Subscriber& subscriber) const;
  boost::asio::awaitable<Told> send(const Subscriber& receiver, Fetcher::Outbound outbound);

  Fetcher& fetcher_;
  MemoryBudget& memory_;
  const std::size_t per_host_;
  const std::chrono::milliseconds timeout_;
  std::map<std::string, Host, std::less<>> under_way_;  // by host
  std::unordered_set<std::string> slow_;                // ids of who made us wait the last time
};

/// hub.callback with what is asked behind its own query (WEBSUB U4).
std::string verification_url(const Subscriber& subscriber, std::string_view challenge);

}  // namespace feedmill
