// A World with a publisher, a hub that speaks https, and workers that the hub reaches through one address.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/end_to_end/program.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/dates.hpp"
#include "tests/support/http_ask.hpp"
#include "tests/support/websub_hub.hpp"

namespace feedmill::test {

struct PushedPost {
  std::string id, title;
  std::string updated = days_ago(6);
  std::string html{};
};

/// An Atom document; `links` stand at the level of the feed.
std::string atom(const std::vector<PushedPost>& posts, const std::string& links = "");

/// `feedmill run` with a callback listener.
class PushWorker {
 public:
  /// `more`: arguments.
  explicit PushWorker(const Environment& environment, const std::vector<std::string>& more = {});

  Program& program() { return program_; }
  std::uint16_t port() const { return port_; }  ///< of its callbacks
  /// A series as /metrics has it: name and labels; -1 when it is not there.
  std::int64_t metric(const std::string& series) const;
  /// A page of its admin listener: head and body.
  std::string page(const std::string& path) const;
  std::int64_t deliveries(const std::string& result) const;
  std::int64_t verifications(const std::string& result) const;
  /// What stays of its memory with the kernel, in KiB.
  std::int64_t resident() const;

 private:
  Program program_;
  std::string admin_;
  std::uint16_t port_ = 0;
};

/// Feeds are polled once, then every hour at the soonest: what arrives in between has been pushed.
class PushWorld : public World {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  /// `redis_arguments`: as of World.
  explicit PushWorld(const std::vector<std::string>& redis_arguments = {});

  /// Starts another worker behind the front, which forwards requests to all workers in turn. `more`: its environment.
  PushWorker& start(const Environment& more = {}, const std::vector<std::string>& arguments = {});
  PushWorker& worker(std::size_t index = 0) { return *workers_.at(index); }
  /// The front forwards to the last started worker only.
  void leave_to_last();

  std::string hub_links(const std::string& topic, const std::string& hub_url = "") const;
  /// The publisher serves an Atom document at `path`, and the feed is added; it is read when a worker runs.
  std::string add_feed(const std::string& path, const std::vector<PushedPost>& posts, const std::string& links);
  std::string add_served(const std::string& path);
  void serve_posts(const std::string& path, const std::vector<PushedPost>& posts, const std::string& links);
  /// A feed that is its own topic and has been subscribed to.
  std::string subscribed_feed(const std::string& path = "/feed",
                              const std::vector<PushedPost>& posts = {{"1", "first"}});

  HubSubscriber subscriber(const std::string& topic) const { return hub.subscribers(topic).at(0); }
  /// The path of a callback, as a worker sees it.
  std::string target_of(const std::string& callback) const { return callback.substr(front.url("").size()); }
  static HttpAnswer deliver(const std::string& callback, const std::string& body, Headers headers = {});
  /// With the right signature.
  static HttpAnswer push(const HubSubscriber& to, const std::string& body, const std::string& method = "sha256");
  /// Pushes and waits; returns whether the post is stored.
  bool push_and_wait(const std::string& url, const PushedPost& post);
  /// Like push_and_wait(), while so much is waiting to be read that a push may be taken as a hint.
  bool push_until_written(const std::string& url, const PushedPost& post);

  std::string state(const std::string& url, const std::string& field) const;
  /// "" when there is none.
  std::string title(const std::string& url, const std::string& guid) const;
  /// Field of the subscription that the feed has (or, `pending`, asks for).
  std::string subscription(const std::string& url, const std::string& field, bool pending = false) const;
  std::string callback_key(const std::string& url, bool pending = false) const;
  /// Makes the time of a subscription's task come now: `field` of its record and its place in the queue.
  void bring_forward(const std::string& url, const std::string& field, bool pending = false) const;
  /// All that is stored but what workers say of themselves and of hosts, and the counter of bad signatures.
  std::string everything() const;
  /// How often the publisher was asked for feeds, and the hub for anything.
  std::size_t requests_made() const { return http.requests().size() + hub_server.requests().size(); }

  Authority authority;
  HttpServer hub_server{authority.issue({.names = {"IP:127.0.0.1"}})};
  WebSubHub hub{hub_server};

 private:
  Response hand_on(const ServedRequest& request);

  std::vector<std::unique_ptr<PushWorker>> workers_;
  std::mutex mutex_;  ///< over the next two
  std::vector<std::uint16_t> ports_;
  std::size_t turn_ = 0;
  std::condition_variable known_;

 public:
  HttpServer front;  ///< ends before those it hands on to
};

/// The same request so often on one connection after the other; the statuses that came back and how often.
std::map<int, std::size_t> ask_often(std::uint16_t port, const HttpAsk& request, std::size_t times);

}  // namespace feedmill::test
