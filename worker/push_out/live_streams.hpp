// The live stream of Server-Sent Events: `GET /events`, held open for each client (OPERATIONS V1, V2, V5, SECURITY W7).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/records/topic.hpp"
#include "storage/store/partition.hpp"
#include "worker/listener/connection.hpp"
#include "worker/push_out/event_tail.hpp"
#include "worker/push_out/outside_requests.hpp"

namespace feedmill {

/// The events that a client may see; its query narrows them.
struct LiveQuery {
  std::optional<Topic> only{};  ///< only events of this feed, or of the feeds in this channel; none: of all feeds
  std::string token{};          ///< token of the topic; "" for all events
  /// Empty if the client comes through an untrusted proxy; then no limit per network applies
  /// (TrustedProxies::client_of).
  std::optional<boost::asio::ip::address> client{};
};

/// Serves all clients of the live stream. All members are called on the loop's thread.
///
/// A client costs a socket, its filter and a position in the stream. Unsent events are not copied: they are read again
/// from the tail or from Redis when the client accepts more. Clients take turns, and none blocks the others.
class LiveStreams {
 public:
  struct Options {
    std::size_t most = 10'000;      ///< maximum of streams
    std::size_t per_network = 256;  ///< maximum of streams per client_network()
    std::chrono::milliseconds heartbeat{15'000};
    std::chrono::milliseconds patience{30'000};      ///< a client that accepts no bytes for this long is closed
    std::chrono::milliseconds look_again{1'000};     ///< delay before reading history again after a store error
    std::size_t page = 100;                          ///< events per turn of a client
    int socket_bytes = 64 << 10;                     ///< the kernel's send buffer per client
    std::size_t most_left = std::size_t{16} << 20U;  ///< limit of partly sent events in bytes, each counted once
    Partition partition{};                           ///< only feeds of this partition are served
  };
  /// Counts since the start, except `open`.
  struct Figures {
    std::size_t open = 0;
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;  ///< rejected because there was no free slot
    std::uint64_t events = 0;   ///< sent; counted for each client
    std::uint64_t stalled = 0;  ///< closed because the client accepted no bytes
    std::uint64_t missed = 0;   ///< closed because unread events were trimmed
  };

  /// `tail` must outlive this.
  LiveStreams(const boost::asio::any_io_executor& executor, EventTail& tail, Options options);
  /// Destroy only after run() has ended.
  ~LiveStreams();
  LiveStreams(const LiveStreams&) = delete;
  LiveStreams& operator=(const LiveStreams&) = delete;

  /// Serves the streams until stop().
  boost::asio::awaitable<void> run();
  /// Closes all streams; clients reconnect with their last id.
  void stop();

  /// Answers a GET after its head was read: takes over the connection, or returns an error (400, 410 with the oldest
  /// available id, or 503).
  boost::asio::awaitable<HttpReply> answer(Visit& visit, LiveQuery access);

  /// Tokens of topics with open streams, without duplicates.
  std::vector<std::string> tokens() const;
  /// Closes the streams that were opened with a removed token.
  void close_of(const std::string& token);

  const Figures& figures() const { return figures_; }

 private:
  struct Stream;
  using StreamPtr = std::shared_ptr<Stream>;
  using Streams = std::unordered_set<Stream*>;
  struct Part {
    std::size_t end = 0;  // its end within one write, in bytes
    std::shared_ptr<const OutsideEvent> event;
  };

  std::optional<HttpReply> refusal(const std::optional<boost::asio::ip::address>& network);
  void open(Visit& visit, LiveRequest request, LiveQuery access, const OutsideEvents& first);
  void close(Stream& stream);
  template <class Act>
  void with_index(Stream& stream, Act act);

  void added();
  void wake(const Streams& streams, const OutsideEvent& event);
  void make_ready(Stream& stream);
  boost::asio::awaitable<void> serve_in_turns();
  boost::asio::awaitable<void> read_history();
  void serve(Stream& stream);
  void tick();
  void beat(Stream& stream);

  void send(Stream& stream, const OutsideEvents& events);
  void send_text(Stream& stream, std::string_view text);
  void send_rest(Stream& stream);
  void leave(Stream& stream, std::shared_ptr<const OutsideEvent> event);
  void take_left(Stream& stream);
  std::size_t write(Stream& stream, std::string_view bytes);
  void wait_until_writable(Stream& stream);
  void watch(Stream& stream);
  void lose(Stream& stream, const boost::system::error_code& why);

  EventTail& tail_;
  const Options options_;
  const std::chrono::steady_clock::duration tick_;
  EventTail::Listener listener_;
  EventPlace mark_;                          // resting streams have received all matching events up to here
  std::vector<std::list<StreamPtr>> beats_;  // all streams, by the time of their heartbeat
  std::size_t next_beat_ = 0, next_list_ = 0;
  Streams of_all_;  // index by filter: all feeds, feeds, channels
  std::unordered_map<std::string, Streams> of_feed_, of_channel_;
  std::map<boost::asio::ip::address, std::size_t> of_network_;
  std::deque<StreamPtr> ready_, past_;  // streams to write to; streams that need events from Redis
  boost::asio::steady_timer wake_, more_past_;
  std::chrono::steady_clock::time_point next_tick_;
  bool stopping_ = false;
  Figures figures_;
  MemoryBudget::Share memory_;                                 // memory of idle streams
  std::unordered_map<const OutsideEvent*, std::size_t> left_;  // partly sent events and their numbers of clients
  std::size_t left_bytes_ = 0;
  std::list<Stream*> behind_;  // clients with a partly sent event, longest lag first
  std::string scratch_;        // buffer for one write
  std::vector<Part> parts_;
};

}  // namespace feedmill
