// The live stream as Server-Sent Events: `GET /events`, held open for each client (OPERATIONS V1–V5, SECURITY W7).
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
#include "worker/live/live_request.hpp"
#include "worker/push_out/event_tail.hpp"

namespace feedmill {

/// What whoever asks may be told of, within which he chooses.
struct LiveQuery {
  std::optional<Topic> only{};  ///< events of this feed, or of the feeds that are in this channel; nothing: of all
  std::string token{};          ///< of the topic's address; "" for all
  /// Absent: clients behind an untrusted proxy, which share no limit of a network (TrustedProxies::client_of).
  std::optional<boost::asio::ip::address> client{};
};

/// All members are called on the loop's thread.
///
/// A client costs a socket, its filter and a place in the stream. What it has not taken yet is not copied for it: it is
/// read again from the tail, or from Redis, once it can take more. Each is written to in its turn and never waited for.
class LiveStreams {
 public:
  struct Options {
    std::size_t most = 10'000;      ///< at once
    std::size_t per_network = 256;  ///< of these of one client_network()
    std::chrono::milliseconds heartbeat{15'000};
    std::chrono::milliseconds patience{30'000};      ///< with a client that takes no bytes
    std::chrono::milliseconds look_again{1'000};     ///< for history, after an error of the store
    std::size_t page = 100;                          ///< events looked at before the next one's turn
    int socket_bytes = 64 << 10;                     ///< that the kernel holds for a client that is slow
    std::size_t most_left = std::size_t{16} << 20U;  ///< bytes of partly sent events, each counted once
    Partition partition{};                           ///< whose feeds alone there are
  };
  struct Figures {
    std::size_t open = 0;
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;  ///< for want of a place
    std::uint64_t events = 0;   ///< sent, to each client
    std::uint64_t stalled = 0;  ///< closed because they took nothing
    std::uint64_t missed = 0;   ///< closed because what they had not read is gone
  };

  /// `tail` outlives this.
  LiveStreams(const boost::asio::any_io_executor& executor, EventTail& tail, Options options);
  /// run() has ended.
  ~LiveStreams();
  LiveStreams(const LiveStreams&) = delete;
  LiveStreams& operator=(const LiveStreams&) = delete;

  /// Serves the streams until stop().
  boost::asio::awaitable<void> run();
  /// Closes them all; clients come again with the last id they were told.
  void stop();

  /// To a GET whose head has been read: takes the connection over, or says why not: 400, 410 with the oldest id there
  /// is, 503.
  boost::asio::awaitable<HttpReply> answer(Visit& visit, LiveQuery access);

  /// The tokens that streams were opened by, each once.
  std::vector<std::string> tokens() const;
  /// Closes the streams that were opened by it: it stands for nothing any more.
  void close_of(const std::string& token);

  const Figures& figures() const { return figures_; }

 private:
  struct Stream;
  using StreamPtr = std::shared_ptr<Stream>;
  using Streams = std::unordered_set<Stream*>;
  struct Part {
    std::size_t end = 0;  // of its bytes, in those that are written at once
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
  EventPlace mark_;                          // up to which resting streams have been told all that they want
  std::vector<std::list<StreamPtr>> beats_;  // all streams, by when in the interval their heart beats
  std::size_t next_beat_ = 0, next_list_ = 0;
  Streams of_all_;  // by what they may want: of every feed, of feeds, of channels
  std::unordered_map<std::string, Streams> of_feed_, of_channel_;
  std::map<boost::asio::ip::address, std::size_t> of_network_;
  std::deque<StreamPtr> ready_, past_;  // to be written to; to be read for from Redis
  boost::asio::steady_timer wake_, more_past_;
  std::chrono::steady_clock::time_point next_tick_;
  bool stopping_ = false;
  Figures figures_;
  MemoryBudget::Share memory_;                                 // of idle streams
  std::unordered_map<const OutsideEvent*, std::size_t> left_;  // partly sent events, and to how many clients
  std::size_t left_bytes_ = 0;
  std::list<Stream*> behind_;  // clients with a partly sent event, longest lag first
  std::string scratch_;        // what is written at once
  std::vector<Part> parts_;
};

}  // namespace feedmill
