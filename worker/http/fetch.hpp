// One refresh's exchange with the origin: redirects, conditional headers, limits. Policy-free: what an answer means is
// decided in decide.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "worker/base/report.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/egress/address_guard.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/http_client.hpp"
#include "worker/http/http_fields.hpp"

namespace feedmill {

/// Byte-exact field values as the server sent them (HTTP P1), "" when unknown; they belong to `url` alone (HTTP P3).
struct Validators {
  std::string etag, last_modified;
  std::string url;

  bool operator==(const Validators&) const = default;
};

struct FetchRequest {
  std::string feed_url;   ///< the feed's own address: what the feed-id in our User-Agent is made of (HTTP P19)
  std::string url;        ///< canonical absolute http(s) URL to ask; the feed's address unless it has moved
  Validators validators;  ///< sent on exactly the hop whose URL equals validators.url
  MemoryBudget::Share* memory = nullptr;  ///< bodies are read as far as it grants; null: as far as the limits go
  bool identity = false;                  ///< ask for no content coding: the retry of HTTP §4 after broken compression
  bool http1 = false;                     ///< do not offer HTTP/2: the host is known to fail at it (HTTP P20)
  /// Asked before a redirect is followed to a URL of a server that has not been asked yet; false: it may not be asked
  /// now, and the fetch ends with worker.host_wait (HTTP H6). None: every server may.
  std::function<boost::asio::awaitable<bool>(std::string url)> enter_server{};
  FeedSettings settings{};  ///< what the operator set for the feed
};

/// One answer on the way; `location` as resolved, "" for the last.
struct Hop {
  std::string url;
  int status = 0;
  std::string location;

  bool operator==(const Hop&) const = default;
};

/// Over all hops; `first_byte` is that of the last answer, since the start.
struct FetchTimings {
  std::chrono::duration<double> total{}, connect{}, first_byte{};
};

/// A complete final answer of any status but 3xx, and 304. `body` is as received: content coding still on
/// (content_coding.hpp takes it off).
struct FetchResponse {
  int status = 0;
  std::string url;  ///< of the last hop
  std::vector<Header> headers;
  std::string body;
  std::vector<Hop> hops;  ///< all, the last included
  FetchTimings timings;
  std::uint32_t connections_new = 0, connections_reused = 0, connections_resumed = 0;
  std::uint64_t wire_bytes = 0;  ///< received on all hops: headers and bodies
  bool conditional = false;      ///< the last hop carried validators
  bool opened_by_allow = false;  ///< the last hop's server is one that `egress.allow` opens (HTTP P6)
  std::string peer;              ///< address of that server
  std::uint16_t peer_port = 0;
  bool fell_back = false;  ///< HTTP/2 failed where HTTP/1.1 did not (HTTP P20)
  std::string fault;       ///< what the server did wrong although the document is whole, for people (HTTP §4)

  /// First value of that name (lower case), "" when absent.
  std::string_view header(std::string_view name) const;
  /// What this answer says about itself, fit to be kept (HTTP P1); `url` is that of the last hop.
  Validators validators() const;
};

/// No complete answer, or a redirect that cannot be followed: then `status` and `headers` are that answer's
/// (Retry-After counts on 3xx too, HTTP P9).
struct FetchError {
  Reason reason{};
  std::string detail;
  std::vector<Hop> hops;  ///< those that had an answer
  FetchTimings timings;
  bool sent = false;  ///< an HTTP byte got out, on any hop (HTTP P6)
  int status = 0;     ///< of the last answer, on any hop; 0 when there was none
  std::vector<Header> headers;
  std::uint32_t connections_new = 0, connections_reused = 0, connections_resumed = 0;
  std::uint64_t wire_bytes = 0;
  /// Of a 200 whose body ended early, as far as HTTP goes: status, url, headers and as much of the body as had come
  /// (HTTP §4).
  std::optional<FetchResponse> cut_off{};
};

using FetchResult = std::variant<FetchResponse, FetchError>;

/// A secret header line and the one origin it may go to (HTTP R4).
struct Credential {
  Origin origin;
  std::string header_line;
};

struct FetchOptions {
  std::chrono::milliseconds wall = std::chrono::seconds(60);     ///< over all hops
  std::chrono::milliseconds connect = std::chrono::seconds(10);  ///< TCP and TLS
  std::uint64_t max_body_bytes = 16u << 20;
  bool http2 = true;
  bool allow_downgrade = false;  ///< follow redirects from https to http
  EgressPolicy egress;
  ResolverOptions resolver;
  std::map<std::string, EgressPolicy, std::less<>> policies;   ///< by name, for feeds that name one (SECURITY E8)
  std::map<std::string, Credential, std::less<>> credentials;  ///< by name, for feeds that name one (SECURITY K2)
  std::set<std::string, std::less<>> http1_hosts;              ///< spoken to over HTTP/1.1 alone (HTTP H7)
  std::string proxy;                                           ///< for feeds that name none, "" for none
  bool proxy_enforces_egress = false;                          ///< else nothing goes through a proxy (SECURITY E9)
  bool subscribers = false;                                    ///< told in the User-Agent where known (HTTP P19)
  std::string contact;                                         ///< URL for the User-Agent, "" for none
  std::size_t max_connections = 256 + 16;
  std::size_t keep_alive = 1024;                                      ///< connections that wait for their next use
  std::size_t max_per_network = HttpClientOptions{}.max_per_network;  ///< in use at once (HTTP H8)
  std::chrono::milliseconds network_wait = HttpClientOptions{}.network_wait;  ///< for a place among these
  std::chrono::milliseconds memory_wait = HttpClientOptions{}.memory_wait;    ///< for memory to read on
  std::chrono::seconds stall_time = HttpClientOptions{}.stall_time;           ///< with next to nothing received
  std::string ca_bundle = HttpClientOptions{}.ca_bundle;                      ///< PEM file of the authorities trusted
};

/// Fetches feeds, thousands at a time. Lives on one loop thread and must outlive every fetch() under way.
class Fetcher {
 public:
  Fetcher(boost::asio::any_io_executor executor, FetchOptions options);

  /// One conditional GET and the redirects it meets, at most 5 (HTTP §5). Cancellation unwinds with operation_aborted.
  boost::asio::awaitable<FetchResult> fetch(FetchRequest request);

  /// For fetches that begin from now on; those under way end under the options they began with. Connections that are
  /// kept alive are given up: they were opened under the old policy.
  void set_options(FetchOptions options);

  /// One POST of a form to a feed's hub, redirects not followed (WEBSUB S1, S5). The feed's settings hold but for
  /// secrets and pins, which are its own host's alone. Its authorities are asked where the usual ones know no better.
  boost::asio::awaitable<HttpResult> post_form(const std::string& feed_url, const FeedSettings& settings,
                                               std::string url, std::string form,
                                               std::chrono::steady_clock::time_point deadline);

  /// One request to somebody who asked to be told, or to be asked: a GET, or a POST where there is a body. It goes
  /// where the standard policy lets it, as a fetch does, and nowhere else: redirects are answers (WEBSUB U11, U13).
  struct Outbound {
    std::string url;                          ///< canonical
    std::vector<std::string> header_lines;    ///< "Name: value"
    std::shared_ptr<const std::string> body;  ///< null: a GET
    std::chrono::steady_clock::time_point deadline;
    std::uint64_t most_answer = 16U << 10U;  ///< bytes of the answer
    std::string address{};                   ///< the only one to connect to (peer_of); "": any of the host's
  };
  boost::asio::awaitable<HttpResult> send(Outbound outbound);
  /// An address that send() to a URL may connect to, and its network (EgressPolicy::network_of). Both are empty if its
  /// host does not resolve, or a proxy resolves it.
  struct Peer {
    std::string address, network;
  };
  boost::asio::awaitable<Peer> peer_of(std::string url, std::chrono::steady_clock::time_point deadline);

  /// Reads the system's resolver configuration and this machine's addresses again before they are next needed.
  void reload() {
    for (auto& [policy, client] : now_->clients) client.reload();
  }

 private:
  /// The options and what is made of them.
  struct Generation {
    Generation(const boost::asio::any_io_executor& executor, FetchOptions fetch_options);
    FetchOptions options;
    std::map<std::string, HttpClient, std::less<>> clients;  // by name of the policy, "" = the default one: HTTP §7
  };

  boost::asio::awaitable<FetchResult> follow(FetchRequest request);
  static boost::asio::awaitable<HttpResult> ask(HttpClient& client, HttpRequest request, bool& fell_back);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Generation> now_;  // shared with the fetches that began under it: the last of them ends it
};

}  // namespace feedmill
