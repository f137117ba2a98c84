#include "worker/listener/client_share.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include "parsers/text/strings.hpp"

namespace feedmill {

namespace ip = boost::asio::ip;
namespace http = boost::beast::http;

namespace {

ip::address_v6 mapped(const ip::address& address) {
  return address.is_v6() ? address.to_v6() : ip::make_address_v6(ip::v4_mapped, address.to_v4());
}

ip::address_v6 masked(const ip::address_v6& address, unsigned bits) {
  auto bytes = address.to_bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned here = bits > 8 * i ? std::min(bits - static_cast<unsigned>(8 * i), 8U) : 0;
    bytes[i] = static_cast<unsigned char>(bytes[i] & (0xFFU << (8U - here)));
  }
  return ip::address_v6(bytes);
}

bool is_within(const ip::address& address, std::string_view network, unsigned bits) {
  return masked(mapped(address), bits) == mapped(ip::make_address(network));
}

/// An address of a private network (RFC 1918, RFC 6598, RFC 4193, link-local).
bool is_private(const ip::address& address) {
  return is_within(address, "10.0.0.0", 104) || is_within(address, "172.16.0.0", 108) ||
         is_within(address, "192.168.0.0", 112) || is_within(address, "100.64.0.0", 106) ||
         is_within(address, "169.254.0.0", 112) || is_within(address, "fc00::", 7) || is_within(address, "fe80::", 10);
}

/// Parses "192.0.2.1", "192.0.2.1:8080", "2001:db8::1" and "[2001:db8::1]:8080".
std::optional<ip::address> read_address(std::string_view text) {
  if (text.starts_with('[')) {
    text = text.substr(1, std::min(text.find(']'), text.size()) - 1);
  } else if (std::ranges::count(text, ':') == 1) {
    text = text.substr(0, text.find(':'));
  }
  boost::system::error_code error;
  const auto address = ip::make_address(std::string(text), error);
  if (error) return {};
  return unmapped(address);
}

/// The node of a forwarded-element (RFC 7239 §4); "" if it has none.
std::string_view forwarded_for(std::string_view element) {
  while (!element.empty()) {
    const std::string_view pair = trim(take_until(element, ';'));
    if (!istarts_with(pair, "for=")) continue;
    std::string_view node = pair.substr(4);
    if (node.size() >= 2 && node.starts_with('"') && node.ends_with('"')) node = node.substr(1, node.size() - 2);
    return node;
  }
  return {};
}

}  // namespace

ip::address unmapped(const ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, address.to_v6());
  return address;
}

ip::address client_network(const ip::address& address) {
  const ip::address plain = unmapped(address);
  return plain.is_v4() ? plain : ip::address(masked(plain.to_v6(), 64));
}

boost::system::result<TrustedProxies, std::string> TrustedProxies::parse(std::span<const std::string> networks) {
  TrustedProxies proxies;
  for (const std::string& text : networks) {
    const auto slash = std::min(text.find('/'), text.size());
    boost::system::error_code error;
    const auto address = ip::make_address(text.substr(0, slash), error);
    const unsigned most = !error && address.is_v4() ? 32 : 128;
    unsigned bits = most;
    const bool read = slash == text.size() || read_number(std::string_view(text).substr(slash + 1), bits);
    if (error || !read || bits > most)
      return boost::system::result<TrustedProxies, std::string>(
          boost::system::in_place_error,
          "\"" + text + "\" is not an address or a network, such as 10.0.0.5 or fd00::/64");
    proxies.networks_.push_back({masked(mapped(address), bits + 128 - most), bits + 128 - most});
  }
  return proxies;
}

bool TrustedProxies::is_trusted(const ip::address& address) const {
  const ip::address_v6 one = mapped(address);
  return std::ranges::any_of(networks_,
                             [&](const Network& network) { return masked(one, network.bits) == network.address; });
}

std::optional<ip::address> TrustedProxies::client_of(const ip::address& peer,
                                                     const http::request_header<>& head) const {
  const auto elements_of = [&head](std::string_view name) {
    std::vector<std::string_view> all;
    for (const auto& field : head) {
      if (!iequals(std::string_view(field.name_string()), name)) continue;
      for (std::string_view rest = field.value(); !rest.empty();) all.push_back(trim(take_until(rest, ',')));
    }
    return all;
  };
  std::vector<std::string_view> listed = elements_of("X-Forwarded-For"), forwarded = elements_of("Forwarded");
  if (!is_trusted(peer)) {
    const bool forwards = !listed.empty() || !forwarded.empty();
    if (peer.is_loopback() || (forwards && is_private(peer))) return {};
    return peer;
  }
  std::ranges::transform(forwarded, forwarded.begin(), forwarded_for);
  const auto client_in = [&](const std::vector<std::string_view>& nodes) -> std::optional<ip::address> {
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      auto address = read_address(*node);
      if (!address || !is_trusted(*address)) return address;
    }
    return {};
  };
  const auto one = client_in(listed), other = client_in(forwarded);
  if (!listed.empty() && !forwarded.empty() && one != other) return peer;
  return (listed.empty() ? other : one).value_or(peer);
}

/// A full bucket carries no information, so it may be dropped.
bool NetworkBuckets::make_room() {
  if (counted_.size() < most_) return true;
  if (!counted_.front().bucket.is_full()) return false;
  places_.erase(counted_.front().network);
  counted_.pop_front();
  return true;
}

bool NetworkBuckets::take(const ip::address& client) {
  const ip::address plain = unmapped(client);
  const ip::address network(masked(mapped(plain), plain.is_v4() ? 120 : 64));
  auto found = places_.find(network);
  if (found == places_.end()) {
    if (!make_room()) return others_.take();
    found =
        places_.emplace(network, counted_.insert(counted_.end(), {network, TokenBucket(per_second_, burst_)})).first;
  }
  counted_.splice(counted_.end(), counted_, found->second);
  return found->second->bucket.take();
}

}  // namespace feedmill
