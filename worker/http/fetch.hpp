// One refresh's exchange with the origin: redirects, conditional headers, limits. decide.hpp interprets the response.
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

/// Byte-exact field values from the server (HTTP P1), "" if unknown; valid only for `url` (HTTP P3).
struct Validators {
  std::string etag, last_modified;
  std::string url;

  bool operator==(const Validators&) const = default;
};

/// A secret header line and the only origin it may be sent to (HTTP R4).
struct Credential {
  Origin origin;
  std::string header_line;
};

/// A feed to fetch.
struct FetchRequest {
  std::string feed_url;   ///< the feed's own URL, from which the User-Agent's feed-id is derived (HTTP P19)
  std::string url;        ///< canonical absolute http(s) URL to request; the feed's URL unless it has moved
  Validators validators;  ///< sent only on the hop to validators.url
  MemoryBudget::Share* memory = nullptr;  ///< limits bodies to the memory it grants; null: only the size limits apply
  bool identity = false;                  ///< request no content coding: the retry of HTTP §4 after broken compression
  bool http1 = false;                     ///< do not offer HTTP/2: it fails on this host (HTTP P20)
  /// Called before following a redirect, unless the chain has never left its first server; if it returns false, the
  /// fetch ends with worker.host_wait (HTTP H6). Empty: redirects are followed at once.
  std::function<boost::asio::awaitable<bool>(std::string url)> enter_server{};
  FeedSettings settings{};            ///< the operator's settings for the feed
  std::optional<Credential> login{};  ///< the stored login that they name, if it exists (SECURITY K7)
};

/// One response in the chain; `location` is resolved, "" for the last.
struct Hop {
  std::string url;
  int status = 0;
  std::string location;

  bool operator==(const Hop&) const = default;
};

/// Over all hops; `first_byte` is the last response's, counted from the start.
struct FetchTimings {
  std::chrono::duration<double> total{}, connect{}, first_byte{};
};

/// The hops of a fetch, and totals over all of them.
struct FetchTotals {
  std::vector<Hop> hops;  ///< those with a response
  FetchTimings timings;
  bool sent = false;  ///< an HTTP byte was sent, on any hop (HTTP P6)
  std::uint32_t connections_new = 0, connections_reused = 0, connections_resumed = 0;
  std::uint64_t wire_bytes = 0;  ///< received: headers and bodies
};

/// A complete final response: 304 or any status but 3xx. `body` is still encoded (content_coding.hpp decodes it).
struct FetchResponse : FetchTotals {
  int status = 0;
  std::string url;  ///< of the last hop
  std::vector<Header> headers;
  std::string body;
  bool conditional = false;      ///< the last hop carried validators
  bool opened_by_allow = false;  ///< `egress.allow` opens the last hop's server (HTTP P6)
  std::string peer;              ///< address of that server
  std::uint16_t peer_port = 0;
  bool fell_back = false;  ///< HTTP/2 failed and HTTP/1.1 succeeded (HTTP P20)
  std::string fault;       ///< the server's mistake in an otherwise complete document, for people (HTTP §4)

  /// First value of the field `name` (lower case), "" if absent.
  std::string_view header(std::string_view name) const;
  /// The response's validators, if fit for storing (HTTP P1); `url` is the last hop's.
  Validators validators() const;
};

/// No complete response, or a redirect that cannot be followed; `status` and `headers` are then that response's
/// (Retry-After counts on 3xx too, HTTP P9).
struct FetchError : FetchTotals {
  Reason reason{};
  std::string detail;
  int status = 0;  ///< of the last response, on any hop; 0 if none
  std::vector<Header> headers;
  /// For a 200 with a body that ended early: status, url, headers and the part received (HTTP §4).
  std::optional<FetchResponse> cut_off{};
};

using FetchResult = std::variant<FetchResponse, FetchError>;

/// Configuration of a Fetcher. `egress` is the policy of feeds that name none.
struct FetchOptions : HttpClientOptions {
  std::chrono::milliseconds wall = std::chrono::seconds(60);   ///< over all hops
  bool allow_downgrade = false;                                ///< follow redirects from https to http
  std::map<std::string, EgressPolicy, std::less<>> policies;   ///< by name, for feeds that name one (SECURITY E8)
  std::map<std::string, Credential, std::less<>> credentials;  ///< by name, for feeds that name one (SECURITY K2)
  std::set<std::string, std::less<>> http1_hosts;              ///< use only HTTP/1.1 (HTTP H7)
  std::string proxy;                                           ///< for feeds that name none; "": none
  bool proxy_enforces_egress = false;                          ///< required for any use of a proxy (SECURITY E9)
  bool subscribers = false;  ///< report the subscriber count, if known, in the User-Agent (HTTP P19)
  std::string contact;       ///< URL for the User-Agent; "": none
};

/// Fetches feeds, thousands at a time. Lives on one loop thread and must outlive all running fetch() calls.
class Fetcher {
 public:
  Fetcher(boost::asio::any_io_executor executor, FetchOptions options);

  /// Sends one conditional GET and follows at most 5 redirects (HTTP §5). Cancellation unwinds with operation_aborted.
  boost::asio::awaitable<FetchResult> fetch(FetchRequest request);

  /// Sets the options of later fetches; running ones keep theirs. Drops idle connections, which were opened under the
  /// old policy.
  void set_options(FetchOptions options);

  /// POSTs a form to a feed's hub without following redirects (WEBSUB §3, S5). The feed's settings apply, except
  /// its secrets, and its pin unless the hub is on its host. Elsewhere its CA file is tried after the standard CAs.
  boost::asio::awaitable<HttpResult> post_form(const std::string& feed_url, const FeedSettings& settings,
                                               std::string url, std::string form,
                                               std::chrono::steady_clock::time_point deadline);

  /// A request to a receiver or a subscriber's callback: a POST if it has a body, otherwise a GET. The standard egress
  /// policy applies. Redirects are not followed (WEBSUB U11, U13).
  struct Outbound {
    std::string url;                          ///< canonical
    std::vector<std::string> header_lines;    ///< "Name: value"
    std::shared_ptr<const std::string> body;  ///< null: a GET
    std::chrono::steady_clock::time_point deadline;
    std::uint64_t most_answer = 16U << 10U;  ///< maximum bytes of the response
    std::string address{};                   ///< the only address to connect to (peer_of); "": any of the host's
  };
  boost::asio::awaitable<HttpResult> send(Outbound outbound);
  /// An address that send() to a URL may connect to, and its network (EgressPolicy::network_of). Both are empty if the
  /// host does not resolve, or if a proxy resolves it.
  struct Peer {
    std::string address, network;
  };
  boost::asio::awaitable<Peer> peer_of(std::string url, std::chrono::steady_clock::time_point deadline);

  /// Rereads the system's resolver configuration and this machine's addresses before their next use.
  void reload() {
    for (auto& [policy, client] : now_->clients) client.reload();
  }

 private:
  /// The options and the clients made from them.
  struct Generation {
    Generation(const boost::asio::any_io_executor& executor, FetchOptions fetch_options);
    FetchOptions options;
    std::map<std::string, HttpClient, std::less<>> clients;  // by policy name, "" = the default (HTTP §7)
  };

  boost::asio::awaitable<FetchResult> follow(FetchRequest request);
  static boost::asio::awaitable<HttpResult> ask(HttpClient& client, HttpRequest request, bool& fell_back);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Generation> now_;  // shared with the fetches that started under it
};

}  // namespace feedmill
