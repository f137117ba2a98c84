// The egress policy: which addresses and ports outside data may make us connect to (SECURITY §1). Decided on the
// address of the socket, never on strings; pure, and refusing whatever it does not understand.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

#include <boost/system/result.hpp>

namespace feedmill {

enum class Egress { allowed, blocked_address, blocked_port };

/// What may be connected to: public addresses on the usual ports, what the operator opened, less what he closed.
/// A value; reading it is safe from any thread.
class EgressPolicy {
 public:
  /// Public addresses on ports 80, 443 and 8000-8999.
  EgressPolicy();

  /// `allow` and `deny`: `ADDRESS[/BITS][:PORT[-PORT]]`, IPv6 in brackets when a port follows
  /// ("[fd00:1::]/64:8000-8999"); `ports`: `PORT[-PORT]`, taking the place of the default list unless empty. The error
  /// names the entry and says what is wrong with it. (SECURITY E5, E6)
  /// `nat64`: `ADDRESS/BITS`, the operator's own prefixes (RFC 6052: 32, 40, 48, 56, 64 or 96 bits). An address under
  /// one of them, or under 64:ff9b::/96, is judged by the IPv4 address inside it; `deny` matches either form.
  static boost::system::result<EgressPolicy, std::string> parse(std::span<const std::string> allow,
                                                                std::span<const std::string> deny,
                                                                std::span<const std::string> ports,
                                                                std::span<const std::string> nat64 = {});

  /// `port` in host order; the one inside `address` is not looked at. Null is refused.
  Egress check(const sockaddr* address, std::uint16_t port) const;

  /// For addresses as text, as libcurl and resolvers give them; text that is no address is refused.
  Egress check(std::string_view address, std::uint16_t port) const;

  /// Whether any address at all may be reached on this port.
  bool uses(std::uint16_t port) const;

  /// This machine's own addresses: blocked like private ones from now on, unless `allow` opens them (SECURITY E7).
  void close_own(std::span<const std::string> addresses);

  /// `answers`: the IPv6 addresses of ipv4only.arpa, which tell a network's NAT64 prefixes (RFC 7050). From now on what
  /// lies under these must pass as the IPv4 address inside, too. Name servers close by this; they open nothing.
  void close_nat64(std::span<const std::string> answers);

  /// The network that connections to an address are counted in (HTTP H8): its /24, or /48 of IPv6, as text; NAT64 as
  /// the IPv4 address inside. "" for what is no address.
  std::string network_of(std::string_view address) const;

  /// Only the `allow` list lets this pass: a server of the operator's own, where short floors are legal (HTTP P6).
  bool opened_by_allow(std::string_view address, std::uint16_t port) const;

  bool operator==(const EgressPolicy&) const = default;

 private:
  /// IPv4 takes the first four bytes.
  struct Address {
    bool v6 = false;
    std::array<std::uint8_t, 16> bytes{};

    bool operator==(const Address&) const = default;
  };
  struct Ports {
    std::uint16_t first = 0, last = 0;

    bool operator==(const Ports&) const = default;
  };
  struct Entry {
    Address network;
    unsigned bits = 0;
    std::vector<Ports> ports;  ///< empty: none were named

    bool operator==(const Entry&) const = default;
  };

  /// A prefix of RFC 6052.
  struct Prefix {
    Address network;
    unsigned bits = 0;
    bool found = false;  ///< by close_nat64(): it closes, and opens nothing

    bool operator==(const Prefix&) const = default;
  };

  static boost::system::result<Ports, std::string> parse_ports(std::string_view text);
  static boost::system::result<Entry, std::string> parse_entry(std::string_view text);
  static boost::system::result<Prefix, std::string> parse_prefix(std::string_view text);
  static bool read(const sockaddr* address, Address& result);
  static bool read(std::string_view text, Address& result);
  static Address embedded(const Address& address, unsigned bits);
  static bool within(const Address& address, const Address& network, unsigned bits);
  static bool contains(std::span<const Ports> list, std::uint16_t port);
  static bool never_opened(const Address& address);
  static bool is_public(const Address& address);

  Egress check(const Address& address, std::uint16_t port, std::span<const Entry> allow) const;
  Egress judge(const Address& address, std::uint16_t port, std::span<const Entry> allow) const;
  Egress denied(const Address& address, std::uint16_t port) const;
  bool is_own(const Address& address) const;
  /// Of the prefixes that it lies under, the longest.
  const Prefix* nat64_of(const Address& address) const;

  std::vector<Entry> allow_, deny_;
  std::vector<Address> own_;
  std::vector<Ports> ports_;
  std::vector<Prefix> nat64_;  ///< longest first
};

}  // namespace feedmill
