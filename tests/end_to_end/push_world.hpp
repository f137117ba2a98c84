// A World with a publisher, an https hub, and workers that the hub reaches at one address.
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

/// An Atom document; `links` are elements of the feed, not of an entry.
std::string atom(const std::vector<PushedPost>& posts, const std::string& links = "");

/// `feedmill run` with a callback listener.
class PushWorker {
 public:
  /// `more`: further arguments.
  explicit PushWorker(const Environment& environment, const std::vector<std::string>& more = {});

  Program& program() { return program_; }
  std::uint16_t port() const { return port_; }  ///< of the callback listener
  /// The value of a series in /metrics, given by name and labels; -1 if it is missing.
  std::int64_t metric(const std::string& series) const;
  /// A page of the admin listener, head and body.
  std::string page(const std::string& path) const;
  std::int64_t deliveries(const std::string& result) const;
  std::int64_t verifications(const std::string& result) const;
  /// Resident memory in KiB, -1 if unknown.
  std::int64_t resident() const;

 private:
  Program program_;
  std::string admin_;
  std::uint16_t port_ = 0;
};

/// A World that polls each feed once, and then at most every hour: posts that arrive in between were pushed.
class PushWorld : public World {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  /// `redis_arguments`: as for World.
  explicit PushWorld(const std::vector<std::string>& redis_arguments = {});

  /// Starts another worker, which gets its share of the requests to `front`. `more`: its environment.
  PushWorker& start(const Environment& more = {}, const std::vector<std::string>& arguments = {});
  PushWorker& worker(std::size_t index = 0) { return *workers_.at(index); }
  /// Makes the front forward to the last started worker only.
  void leave_to_last();

  std::string hub_links(const std::string& topic, const std::string& hub_url = "") const;
  /// Serves an Atom document at `path` and adds the feed, which is fetched once a worker runs; returns the feed's URL.
  std::string add_feed(const std::string& path, const std::vector<PushedPost>& posts, const std::string& links);
  std::string add_served(const std::string& path);
  void serve_posts(const std::string& path, const std::vector<PushedPost>& posts, const std::string& links);
  /// Adds a feed that is its own topic, and waits until the worker has subscribed to it; returns the feed's URL.
  std::string subscribed_feed(const std::string& path = "/feed",
                              const std::vector<PushedPost>& posts = {{"1", "first"}});

  HubSubscriber subscriber(const std::string& topic) const { return hub.subscribers(topic).at(0); }
  /// The path of a callback as a worker sees it.
  std::string target_of(const std::string& callback) const { return callback.substr(front.url("").size()); }
  static HttpAnswer deliver(const std::string& callback, const std::string& body, Headers headers = {});
  /// Delivers `body` with a valid signature.
  static HttpAnswer push(const HubSubscriber& to, const std::string& body, const std::string& method = "sha256");
  /// Pushes a post and waits; returns whether it is stored.
  bool push_and_wait(const std::string& url, const PushedPost& post);
  /// Pushes a post repeatedly until it is stored, for when a push may be taken as a hint because many wait to be read.
  bool push_until_written(const std::string& url, const PushedPost& post);

  std::string state(const std::string& url, const std::string& field) const;
  /// The title of the stored post, "" if there is none.
  std::string title(const std::string& url, const std::string& guid) const;
  /// A field of the feed's subscription, or with `pending` of the one it is requesting.
  std::string subscription(const std::string& url, const std::string& field, bool pending = false) const;
  std::string callback_key(const std::string& url, bool pending = false) const;
  /// Makes a subscription's task due now: sets `field` of its record and its place in the queue.
  void bring_forward(const std::string& url, const std::string& field, bool pending = false) const;
  /// All stored data as text, without the state of workers and hosts and the counter of bad signatures.
  std::string everything() const;
  /// The number of requests to the publisher and to the hub.
  std::size_t requests_made() const { return http.requests().size() + hub_server.requests().size(); }

  Authority authority;
  HttpServer hub_server{authority.issue({.names = {"IP:127.0.0.1"}})};
  WebSubHub hub{hub_server};

 private:
  Response hand_on(const ServedRequest& request);

  std::vector<std::unique_ptr<PushWorker>> workers_;
  std::mutex mutex_;  ///< guards ports_ and turn_
  std::vector<std::uint16_t> ports_;
  std::size_t turn_ = 0;
  std::condition_variable known_;

 public:
  HttpServer front;  ///< destroyed before the workers it forwards to
};

/// Sends a request `times` times over successive connections; returns how often each status came back.
std::map<int, std::size_t> ask_often(std::uint16_t port, const HttpAsk& request, std::size_t times);

}  // namespace feedmill::test
