// State shared by all transfers of a client: limits, connections, sessions, and the egress policy.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <boost/asio/any_io_executor.hpp>

#include "worker/egress/network_limit.hpp"
#include "worker/http/http_engine.hpp"
#include "worker/http/http_exchange.hpp"

using SSL_CTX = struct ssl_ctx_st;
using SSL_SESSION = struct ssl_session_st;

namespace feedmill {

// TLS sessions for resumption, shared by all connections of one egress policy (HTTP X1). libcurl keeps five per easy
// handle: with many hosts none would be resumed, and a full handshake costs more than the response.

/// Sessions by key. A key consists of everything two connections must have in common: host, port, trust. Sessions are
/// stored serialised, at a tenth of their size in memory, and never written to disk. Lives on one loop thread and must
/// outlive the SSL_CTXs it was attached to.
class TlsSessions {
 public:
  struct Options {
    std::size_t max_bytes = std::size_t{16} << 20;  ///< total; evicts the least recently used
    std::size_t max_session_bytes = 8192;           ///< servers choose ticket sizes; larger ones are dropped
    std::size_t max_per_key = 2;
    std::chrono::seconds max_age = std::chrono::hours(24);
  };

  TlsSessions() : TlsSessions(Options{}) {}
  explicit TlsSessions(Options options) : options_(options) {}
  TlsSessions(const TlsSessions&) = delete;
  TlsSessions& operator=(const TlsSessions&) = delete;

  /// Makes connections of `context` offer a session of `key` and store those that the server issues. A session is
  /// offered once; it is stored again if resumed in TLS 1.2, but not if rejected.
  void attach(SSL_CTX* context, std::string key);

  std::size_t size() const { return sessions_.size(); }

 private:
  struct Binding;
  struct Hooks;
  struct Free {
    void operator()(SSL_SESSION* session) const;
  };
  using Session = std::unique_ptr<SSL_SESSION, Free>;
  struct Kept {
    std::string key;
    std::string bytes;
    std::chrono::steady_clock::time_point until;
  };
  using Place = std::list<Kept>::iterator;

  void put(const std::string& key, SSL_SESSION* session);
  /// Removes and returns a session of `key` that has not expired; null if there is none.
  Session take(const std::string& key);
  void erase(Place place);
  static std::size_t size_of(const Kept& kept);

  Options options_;
  std::list<Kept> sessions_;  ///< newest first
  std::size_t bytes_ = 0;     ///< total
  std::unordered_multimap<std::string_view, Place> by_key_;
};

/// Owned by the client; must outlive all transfers.
struct HttpShared {
  /// `finished`: called for each transfer that ended.
  HttpShared(boost::asio::any_io_executor executor, HttpClientOptions given, HttpEngine::Finished finished);

  /// The policy, with this machine's current addresses blocked.
  const EgressPolicy& egress();

  HttpClientOptions options;
  NetworkLimit networks, posts;
  TlsSessions sessions;                               ///< must outlive the connections
  const bool resumes;                                 ///< `sessions` supports libcurl's TLS library
  std::chrono::steady_clock::time_point own_until;    ///< this machine's addresses are current
  std::chrono::steady_clock::time_point nat64_until;  ///< known NAT64 prefixes are current
  HttpEngine engine;
};

/// The refusal of `address` for any verdict except Egress::allowed.
Refusal refusal_of(Egress verdict, std::string_view address, unsigned port);

}  // namespace feedmill
