// Identifies the client of a request and limits each client network to its share of a listener (SECURITY W6, W8).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/system/result.hpp>

namespace feedmill {

// Rate limit of a listener: allows bursts after a pause, and keeps a flood from using the whole loop.

/// A token bucket, initially full. Lives on one thread.
class TokenBucket {
 public:
  /// Requests a second on average, and the largest burst.
  TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}

  /// Whether another request may be answered now; counts it.
  bool take() {
    fill();
    if (tokens_ < 1) return false;
    --tokens_;
    return true;
  }
  /// Whether a full burst is allowed again.
  bool is_full() {
    fill();
    return tokens_ >= burst_;
  }

 private:
  void fill() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> passed = now - std::exchange(counted_, now);
    tokens_ = std::min(tokens_ + passed.count() * per_second_, burst_);
  }

  double per_second_, burst_;
  double tokens_;
  std::chrono::steady_clock::time_point counted_ = std::chrono::steady_clock::now();
};

/// An IPv4 address that is mapped to IPv6 as IPv4; any other unchanged.
boost::asio::ip::address unmapped(const boost::asio::ip::address& address);

/// The network that limits apply to: an IPv6 address' /64, an IPv4 address itself, also if mapped.
boost::asio::ip::address client_network(const boost::asio::ip::address& address);

/// Proxies trusted to name the client's address.
class TrustedProxies {
 public:
  /// `networks`: addresses, or networks such as 10.0.0.0/8. The error names the invalid one.
  static boost::system::result<TrustedProxies, std::string> parse(std::span<const std::string> networks);

  bool is_trusted(const boost::asio::ip::address& address) const;
  /// The client of a request from `peer`. From a trusted proxy: the right-most untrusted address of X-Forwarded-For or
  /// Forwarded, or the proxy's own if that is missing or malformed or the two fields differ. Empty: the peer is an
  /// untrusted proxy (loopback, or a private address that sends such a field), so its clients cannot be distinguished.
  std::optional<boost::asio::ip::address> client_of(const boost::asio::ip::address& peer,
                                                    const boost::beast::http::request_header<>& head) const;

 private:
  struct Network {
    boost::asio::ip::address_v6 address;  ///< IPv4 as mapped
    unsigned bits = 128;
  };
  std::list<Network> networks_;
};

/// A token bucket per client network: a /24 of IPv4, a /64 of IPv6. Lives on one thread.
class NetworkBuckets {
 public:
  /// Requests a second and burst of each network. `most`: networks counted separately; while that many have partly used
  /// buckets, all others share one bucket.
  NetworkBuckets(double per_second, double burst, std::size_t most = 10'000)
      : per_second_(per_second), burst_(burst), most_(most), others_(per_second, burst) {}

  /// Whether another request of the client may be answered now; counts it.
  bool take(const boost::asio::ip::address& client);
  std::size_t size() const { return places_.size(); }

 private:
  struct Counted {
    boost::asio::ip::address network;
    TokenBucket bucket;
  };
  bool make_room();

  const double per_second_, burst_;
  const std::size_t most_;
  std::list<Counted> counted_;  // most recent request last
  std::map<boost::asio::ip::address, std::list<Counted>::iterator> places_;
  TokenBucket others_;
};

}  // namespace feedmill
