// Who a request is from, and that nobody takes the share of others of a listener (SECURITY W6, W8).
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/system/result.hpp>

#include "worker/listener/token_bucket.hpp"

namespace feedmill {

/// The proxies whose word is taken for the address of a client.
class TrustedProxies {
 public:
  /// `networks`: addresses, or networks as 10.0.0.0/8. The error names the one that is neither.
  static boost::system::result<TrustedProxies, std::string> parse(std::span<const std::string> networks);

  bool is_trusted(const boost::asio::ip::address& address) const;
  /// The client of a request from `peer`. Of a trusted proxy: the right-most address of X-Forwarded-For or Forwarded
  /// that is not trusted; the proxy's own where there is none that can be read, or where both fields are there and
  /// differ. Absent: the peer is an untrusted proxy, so all its clients look alike (loopback, or a private address that
  /// forwards).
  std::optional<boost::asio::ip::address> client_of(const boost::asio::ip::address& peer,
                                                    const boost::beast::http::request_header<>& head) const;

 private:
  struct Network {
    boost::asio::ip::address_v6 address;  ///< IPv4 as mapped
    unsigned bits = 128;
  };
  std::list<Network> networks_;
};

/// A token bucket for each network of clients: a /24 of IPv4, a /64 of IPv6. Lives on one thread.
class NetworkBuckets {
 public:
  /// Requests a second and at once of each network. `most`: networks that are counted apart; while that many have used
  /// up part of their share, all others share one bucket.
  NetworkBuckets(double per_second, double burst, std::size_t most = 10'000)
      : per_second_(per_second), burst_(burst), most_(most), others_(per_second, burst) {}

  /// Whether one more request of the client may be answered now, which is counted.
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
  std::list<Counted> counted_;  // the one that asked last at the end
  std::map<boost::asio::ip::address, std::list<Counted>::iterator> places_;
  TokenBucket others_;
};

}  // namespace feedmill
