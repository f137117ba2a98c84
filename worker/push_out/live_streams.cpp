#include "worker/push_out/live_streams.hpp"

#include <algorithm>
#include <array>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "worker/base/json_text.hpp"
#include "worker/listener/client_share.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using namespace asio::experimental::awaitable_operators;
using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto quietly = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t lists = 60;                       // each stream gets one heartbeat in this many ticks
constexpr std::size_t enough_at_once = 64U << 10U;      // bytes per write; a single event may be larger
constexpr std::size_t turns = 64;                       // turns before the loop yields
constexpr std::size_t most_ignored_input = 16U << 10U;  // bytes; a client has nothing to send
constexpr std::size_t looked_at = 1'000;                // new events per step
constexpr std::uint64_t idle_cost = 4U << 10U;          // bytes per stream

constexpr std::string_view head =
    "HTTP/1.1 200 OK\r\n"
    "Content-Type: text/event-stream; charset=utf-8\r\n"
    "Cache-Control: no-store\r\n"
    "X-Accel-Buffering: no\r\n"  // makes nginx forward each event at once
    "X-Content-Type-Options: nosniff\r\n"
    "Access-Control-Allow-Origin: *\r\n"
    "Connection: close\r\n\r\n"
    "retry: 5000\n";

HttpReply problem(http::status status, std::string_view reason, std::string_view detail,
                  const boost::json::object& more = {}) {
  boost::json::object object{{"title", http::obsolete_reason(status)},
                             {"status", static_cast<unsigned>(status)},
                             {"reason", reason},
                             {"detail", detail}};
  for (const auto& [name, value] : more) object.emplace(name, value);
  HttpReply reply = http_reply(status, "application/problem+json", json_text(object) + "\n");
  reply.set(http::field::access_control_allow_origin, "*");
  if (status == http::status::service_unavailable) reply.set(http::field::retry_after, "30");
  return reply;
}

HttpReply too_old(const std::string& oldest) {
  HttpReply reply =
      problem(http::status::gone, "too_old",
              "events after that id have been trimmed, or the store was restored; the oldest available is " + oldest,
              {{"oldest", oldest}});
  reply.set("Feedmill-Oldest-Event-Id", oldest);
  reply.set(http::field::access_control_expose_headers, "Feedmill-Oldest-Event-Id");
  return reply;
}

/// Appends a frame of the HTML standard (Server-sent events, "Interpreting an event stream"); the JSON is one line.
void append_frame(std::string& bytes, const OutsideEvent& event) {
  bytes.append("id: ").append(event.id).append("\nevent: ").append(event.event.type);
  bytes.append("\ndata: ").append(event.json).append("\n\n");
}

}  // namespace

struct LiveStreams::Stream {
  tcp::socket socket;
  std::optional<asio::ip::address> network;
  EventFilter filter;
  std::optional<Topic> only;
  std::string token;  // token of the topic, if the stream was opened with one
  EventPlace after;   // processed up to here; while the stream rests, up to the mark if that is later
  EventPlace told;    // last id sent to the client
  // The unsent rest of the last write: of a text, or of an event from the byte `event_from`.
  std::string text_left;
  std::shared_ptr<const OutsideEvent> event_left;
  std::size_t event_from = 0;
  std::list<Stream*>::iterator behind;  // valid if event_left is set
  Clock::time_point blocked_since;
  std::size_t input = 0;  // bytes received and ignored
  std::size_t list = 0;
  std::list<StreamPtr>::iterator at;
  bool ready = false, past = false, blocked = false, closed = false;

  explicit Stream(tcp::socket taken) : socket(std::move(taken)) {}

  bool rests() const { return !ready && !past && !blocked; }
  bool wants(const OutsideEvent& event) const {
    if (!event.told || event.is_private) return false;
    if (only && only->kind == TopicKind::feed && event.event.feed_url != only->name) return false;
    if (only && only->kind == TopicKind::channel && std::ranges::count(event.channels, only->name) == 0) return false;
    return filter.wants(event.event, event.channels);
  }
};

LiveStreams::LiveStreams(const asio::any_io_executor& executor, EventTail& tail, Options options)
    : tail_(tail),
      options_(options),
      tick_(Clock::duration(options.heartbeat) / static_cast<Clock::rep>(lists)),
      listener_(tail.listen([this] { added(); })),
      beats_(lists),
      wake_(executor),
      more_past_(executor),
      memory_(tail.budget(), 0) {}

LiveStreams::~LiveStreams() {
  stop();
  tail_.forget(listener_);
}

void LiveStreams::stop() {
  stopping_ = true;
  for (auto& list : beats_) {
    while (!list.empty()) close(*list.front());
  }
  wake_.cancel();
  more_past_.cancel();
}

asio::awaitable<void> LiveStreams::run() {
  co_await (serve_in_turns() && read_history());
}

// --- clients ---------------------------------------------------------------------------------------------------------

std::optional<HttpReply> LiveStreams::refusal(const std::optional<asio::ip::address>& network) {
  if (stopping_) return problem(http::status::service_unavailable, "stopping", "this server is stopping");
  if (tail_.newest().empty())
    return problem(http::status::service_unavailable, "store_away", "the store does not exist yet");
  const auto same = network ? of_network_.find(*network) : of_network_.end();
  const bool full = figures_.open >= options_.most;
  const bool crowded = same != of_network_.end() && same->second >= options_.per_network;
  if (!full && !crowded) return std::nullopt;
  ++figures_.refused;
  return problem(http::status::service_unavailable, "too_many",
                 full ? "too many streams" : "too many streams from your network");
}

asio::awaitable<HttpReply> LiveStreams::answer(Visit& visit, LiveQuery access) {
  const std::string_view target = visit.head().target();
  const std::string_view query = target.substr(std::min(target.find('?'), target.size()));
  auto request = read_live_request(query.substr(std::min<std::size_t>(1, query.size())), visit.head()["Last-Event-ID"]);
  if (!request) co_return problem(http::status::bad_request, "bad_parameter", request.error());
  const Partition& mine = options_.partition;
  for (const std::string& feed : request->filter.feeds) {
    const unsigned its = partition_of(feed, mine.count);
    if (its == mine.index) continue;
    co_return problem(http::status::bad_request, "bad_parameter",
                      fmt::format("feed: it is in partition {}: /p{}/events", its, its));
  }
  std::optional<asio::ip::address> network;
  if (access.client) network = client_network(*access.client);
  if (auto refused = refusal(network)) co_return std::move(*refused);
  OutsideEvents first;
  if (request->after) {
    const std::string after = to_string(*request->after);
    auto since = co_await tail_.since(after, options_.page);
    if (!since) co_return problem(http::status::service_unavailable, "store_away", "the store does not answer");
    if (since->missed) co_return too_old(since->oldest);
    first = std::move(since->events);
    if (auto refused = refusal(network)) co_return std::move(*refused);  // slots may be taken by now
  }
  if (visit.head().method() == http::verb::head) {
    HttpReply reply = http_reply(http::status::ok, "text/event-stream; charset=utf-8", "");
    reply.set(http::field::access_control_allow_origin, "*");
    co_return reply;
  }
  open(visit, std::move(*request), std::move(access), first);
  co_return HttpReply();
}

void LiveStreams::open(Visit& visit, LiveRequest request, LiveQuery access, const OutsideEvents& first) {
  const EventPlace newest = event_place(tail_.newest());
  const auto now = Clock::now();
  if (figures_.open == 0) {
    mark_ = newest;
    next_tick_ = now + tick_;
    wake_.cancel();
  }
  const auto stream = std::make_shared<Stream>(visit.take_over());
  if (access.client) stream->network = client_network(*access.client);
  stream->filter = std::move(request.filter);
  stream->only = std::move(access.only);
  stream->token = std::move(access.token);
  stream->after = stream->told = request.after.value_or(newest);
  boost::system::error_code ignored;
  stream->socket.non_blocking(true, ignored);
  stream->socket.set_option(tcp::no_delay(true), ignored);
  // Limited, because the kernel's default may grow to megabytes.
  stream->socket.set_option(asio::socket_base::send_buffer_size(options_.socket_bytes), ignored);
  // Detects clients that vanished: they no longer acknowledge data.
  const auto patience = static_cast<unsigned>(options_.patience.count());
  ::setsockopt(stream->socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);

  stream->list = next_list_++ % lists;
  beats_[stream->list].push_front(stream);
  stream->at = beats_[stream->list].begin();
  with_index(*stream, [&](Streams& streams) { streams.insert(stream.get()); });
  if (stream->network) ++of_network_[*stream->network];
  memory_.hold(++figures_.open * idle_cost);
  ++figures_.opened;

  // An id without data is not an event, but clients remember it and can resume from here.
  std::string begin(head);
  if (!request.after) begin.append("id: ").append(tail_.newest()).append("\n");
  send_text(*stream, begin.append("\n"));
  if (!stream->closed && !stream->blocked) send(*stream, first);
  if (!stream->closed) watch(*stream);
  make_ready(*stream);
}

std::vector<std::string> LiveStreams::tokens() const {
  std::unordered_set<std::string> seen;
  for (const auto& list : beats_) {
    for (const StreamPtr& stream : list) {
      if (!stream->token.empty()) seen.insert(stream->token);
    }
  }
  return {seen.begin(), seen.end()};
}

void LiveStreams::close_of(const std::string& token) {
  std::vector<StreamPtr> all;
  for (const auto& list : beats_) {
    for (const StreamPtr& stream : list) {
      if (stream->token == token) all.push_back(stream);
    }
  }
  for (const StreamPtr& stream : all) close(*stream);
}

void LiveStreams::close(Stream& stream) {
  if (stream.closed) return;
  const StreamPtr kept = *stream.at;
  stream.closed = true;
  boost::system::error_code ignored;
  stream.socket.close(ignored);
  with_index(stream, [&](Streams& streams) { streams.erase(&stream); });
  if (stream.network) {
    const auto network = of_network_.find(*stream.network);
    if (--network->second == 0) of_network_.erase(network);
  }
  beats_[stream.list].erase(stream.at);
  take_left(stream);
  memory_.hold(--figures_.open * idle_cost);
}

/// Calls `act` with each part of the index that the stream belongs to.
template <class Act>
void LiveStreams::with_index(Stream& stream, Act act) {
  const auto in = [&](std::unordered_map<std::string, Streams>& map, const std::string& name) {
    const auto found = map.try_emplace(name).first;
    act(found->second);
    if (found->second.empty()) map.erase(found);
  };
  if (stream.only) return in(stream.only->kind == TopicKind::feed ? of_feed_ : of_channel_, stream.only->name);
  if (stream.filter.of_all_feeds()) return act(of_all_);
  for (const std::string& feed : stream.filter.feeds) in(of_feed_, feed);
  for (const std::string& channel : stream.filter.channels) in(of_channel_, channel);
}

// --- turns -----------------------------------------------------------------------------------------------------------

/// Handles new events in the tail: resting streams move to the mark unless an event matches; other streams continue
/// from their own position.
void LiveStreams::added() {
  if (figures_.open == 0) return;
  for (;;) {
    const auto events = tail_.held(to_string(mark_), looked_at);
    if (!events) {  // the tail has restarted; each stream finds its own gap
      for (const auto& list : beats_) {
        for (const StreamPtr& stream : list) {
          if (!stream->rests()) continue;
          stream->after = std::max(stream->after, mark_);
          make_ready(*stream);
        }
      }
      mark_ = event_place(tail_.newest());
      return;
    }
    if (events->empty()) return;
    for (const auto& event : *events) {
      wake(of_all_, *event);
      const auto by_feed = of_feed_.find(event->event.feed_url);
      if (by_feed != of_feed_.end()) wake(by_feed->second, *event);
      for (const std::string& channel : event->channels) {
        const auto by_channel = of_channel_.find(channel);
        if (by_channel != of_channel_.end()) wake(by_channel->second, *event);
      }
    }
    mark_ = event_place(events->back()->id);
  }
}

void LiveStreams::wake(const Streams& streams, const OutsideEvent& event) {
  for (Stream* stream : streams) {
    if (!stream->rests() || !stream->wants(event)) continue;
    stream->after = std::max(stream->after, mark_);
    make_ready(*stream);
  }
}

void LiveStreams::make_ready(Stream& stream) {
  if (stream.closed || stream.ready) return;
  stream.ready = true;
  ready_.push_back(*stream.at);
  if (ready_.size() == 1) wake_.cancel();
}

asio::awaitable<void> LiveStreams::serve_in_turns() {
  const auto executor = co_await asio::this_coro::executor;
  while (!stopping_) {
    if (ready_.empty()) {
      wake_.expires_at(figures_.open > 0 ? next_tick_ : Clock::time_point::max());
      co_await wake_.async_wait(quietly);
    } else {
      co_await asio::post(executor, asio::use_awaitable);
    }
    if (figures_.open > 0 && Clock::now() >= next_tick_) tick();
    for (std::size_t turn = 0; turn < turns && !ready_.empty(); ++turn) {
      const StreamPtr stream = std::move(ready_.front());
      ready_.pop_front();
      stream->ready = false;
      if (!stream->closed && !stream->blocked && !stream->past) serve(*stream);
    }
  }
}

/// Sends one page of the stream's backlog.
void LiveStreams::serve(Stream& stream) {
  const auto held = tail_.held(to_string(stream.after), options_.page);
  if (!held) {
    stream.past = true;
    past_.push_back(*stream.at);
    if (past_.size() == 1) more_past_.cancel();
    return;
  }
  if (held->empty()) return;
  send(stream, *held);
  if (!stream.blocked) make_ready(stream);
}

/// Serves streams with a position before the tail from Redis, one page each in turn.
asio::awaitable<void> LiveStreams::read_history() {
  while (!stopping_) {
    if (past_.empty()) {
      more_past_.expires_at(Clock::time_point::max());
      co_await more_past_.async_wait(quietly);
      continue;
    }
    const StreamPtr stream = std::move(past_.front());
    past_.pop_front();
    if (stream->closed) continue;
    const std::string after = to_string(stream->after);
    const auto since = co_await tail_.since(after, options_.page);
    if (stream->closed) continue;
    if (!since) {
      past_.push_back(stream);
      more_past_.expires_after(options_.look_again);
      co_await more_past_.async_wait(quietly);
      continue;
    }
    stream->past = false;
    if (since->missed) {
      ++figures_.missed;
      close(*stream);
    } else if (!stream->blocked && !since->events.empty()) {  // a heartbeat may have blocked it during the read
      send(*stream, since->events);
      if (!stream->blocked) make_ready(*stream);
    }
  }
}

/// Sends heartbeats to one list of streams per tick, so that they are spread over time.
void LiveStreams::tick() {
  const auto now = Clock::now();
  next_tick_ = std::max(next_tick_ + tick_, now);
  auto& list = beats_[next_beat_++ % lists];
  for (auto at = list.begin(); at != list.end();) {
    Stream& stream = **at++;  // beat() may remove the stream from the list
    beat(stream);
  }
}

void LiveStreams::beat(Stream& stream) {
  if (stream.blocked) {
    if (Clock::now() - stream.blocked_since < options_.patience) return;
    ++figures_.stalled;
    return close(stream);
  }
  if (stream.rests()) stream.after = std::max(stream.after, mark_);
  if (stream.after <= stream.told) return send_text(stream, ":\n\n");
  // No events matched, but the client's last id must not become too old.
  stream.told = stream.after;
  send_text(stream, "id: " + to_string(stream.after) + "\n\n");
}

// --- bytes -----------------------------------------------------------------------------------------------------------

/// Sends the matching events after `stream.after`, up to the size of one write. Requires that the last write left
/// nothing unsent.
void LiveStreams::send(Stream& stream, const OutsideEvents& events) {
  scratch_.clear();
  parts_.clear();
  EventPlace looked = stream.after;
  for (const auto& event : events) {
    const EventPlace place = event_place(event->id);
    if (place > stream.after && stream.wants(*event)) {
      append_frame(scratch_, *event);
      parts_.push_back({scratch_.size(), event});
    }
    looked = std::max(looked, place);
    if (scratch_.size() >= enough_at_once) break;
  }
  const std::size_t taken = write(stream, scratch_);
  if (stream.closed) return;
  const auto left = std::ranges::find_if(parts_, [&](const Part& part) { return part.end > taken; });
  const auto sent = static_cast<std::size_t>(left - parts_.begin()) + (left == parts_.end() ? 0 : 1);
  figures_.events += sent;
  if (sent > 0) stream.told = event_place(parts_[sent - 1].event->id);
  stream.after = looked;
  if (left == parts_.end()) return;
  stream.after = event_place(left->event->id);
  stream.event_from = taken - (left == parts_.begin() ? 0 : std::prev(left)->end);
  wait_until_writable(stream);
  leave(stream, left->event);
}

/// Records that the client has received only part of the event. While the total size of such events exceeds
/// Options::most_left, closes the clients that have lagged the longest (SECURITY M6).
void LiveStreams::leave(Stream& stream, std::shared_ptr<const OutsideEvent> event) {
  stream.event_left = std::move(event);
  stream.behind = behind_.insert(behind_.end(), &stream);
  if (++left_[stream.event_left.get()] == 1) left_bytes_ += stream.event_left->json.size();
  while (left_bytes_ > options_.most_left) {
    ++figures_.stalled;
    close(*behind_.front());
  }
}

void LiveStreams::take_left(Stream& stream) {
  if (!stream.event_left) return;
  const auto at = left_.find(stream.event_left.get());
  if (--at->second == 0) {
    left_bytes_ -= stream.event_left->json.size();
    left_.erase(at);
  }
  behind_.erase(stream.behind);
  stream.event_left.reset();
}

void LiveStreams::send_text(Stream& stream, std::string_view text) {
  const std::size_t taken = write(stream, text);
  if (stream.closed || taken == text.size()) return;
  stream.text_left = text.substr(taken);
  wait_until_writable(stream);
}

void LiveStreams::send_rest(Stream& stream) {
  if (stream.event_left) {
    scratch_.clear();
    append_frame(scratch_, *stream.event_left);
    stream.event_from += write(stream, std::string_view(scratch_).substr(stream.event_from));
    if (stream.closed) return;
    if (stream.event_from < scratch_.size()) return wait_until_writable(stream);
    take_left(stream);
  } else {
    stream.text_left.erase(0, write(stream, stream.text_left));
    if (stream.closed) return;
    if (!stream.text_left.empty()) return wait_until_writable(stream);
    stream.text_left.shrink_to_fit();
  }
  make_ready(stream);
}

/// Writes without blocking and returns the number of bytes written. Closes the stream on an error.
std::size_t LiveStreams::write(Stream& stream, std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    boost::system::error_code error;
    taken += stream.socket.write_some(asio::buffer(bytes.substr(taken)), error);
    if (error == asio::error::would_block) break;
    if (error) {
      lose(stream, error);
      break;
    }
  }
  return taken;
}

/// Handles a connection that the client has closed or the kernel has timed out.
void LiveStreams::lose(Stream& stream, const boost::system::error_code& why) {
  if (why == asio::error::timed_out) ++figures_.stalled;
  close(stream);
}

void LiveStreams::wait_until_writable(Stream& stream) {
  stream.blocked = true;
  stream.blocked_since = Clock::now();
  const StreamPtr kept = *stream.at;
  stream.socket.async_wait(tcp::socket::wait_write, [this, kept](const boost::system::error_code& error) {
    if (kept->closed) return;  // check first: `this` may no longer exist
    if (error) return lose(*kept, error);
    kept->blocked = false;
    send_rest(*kept);
  });
}

/// Detects that the client has left. Ignores a limited amount of input.
void LiveStreams::watch(Stream& stream) {
  const StreamPtr kept = *stream.at;
  stream.socket.async_wait(tcp::socket::wait_read, [this, kept](boost::system::error_code error) {
    if (kept->closed) return;
    std::array<char, 4096> bytes;
    if (!error) kept->input += kept->socket.read_some(asio::buffer(bytes), error);
    if (error && error != asio::error::would_block) return lose(*kept, error);
    if (kept->input > most_ignored_input) return close(*kept);
    watch(*kept);
  });
}

}  // namespace feedmill
