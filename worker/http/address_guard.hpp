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
  static boost::system::result<EgressPolicy, std::string> parse(std::span<const std::string> allow,
                                                                std::span<const std::string> deny,
                                                                std::span<const std::string> ports);

  /// `port` in host order; the one inside `address` is not looked at. Null is refused.
  Egress check(const sockaddr* address, std::uint16_t port) const;

  /// For addresses as text, as libcurl and resolvers give them; text that is no address is refused.
  Egress check(std::string_view address, std::uint16_t port) const;

  /// This machine's own addresses: blocked like private ones from now on, unless `allow` opens them (SECURITY E7).
  void close_own(std::span<const std::string> addresses);

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

  static boost::system::result<Ports, std::string> parse_ports(std::string_view text);
  static boost::system::result<Entry, std::string> parse_entry(std::string_view text);
  friend std::string destination_network(std::string_view address);
  static bool read(const sockaddr* address, Address& result);
  static bool read(std::string_view text, Address& result);
  static Address without_nat64(const Address& address);
  static bool within(const Address& address, const Address& network, unsigned bits);
  static bool contains(std::span<const Ports> list, std::uint16_t port);
  static bool never_opened(const Address& address);
  static bool is_public(const Address& address);

  Egress check(Address address, std::uint16_t port, std::span<const Entry> allow) const;
  bool is_open(const Address& address) const;

  std::vector<Entry> allow_, deny_;
  std::vector<Address> own_;
  std::vector<Ports> ports_;
};

/// The network that connections to an address are counted in (HTTP H8): its /24, or /48 of IPv6, as text; NAT64 as the
/// IPv4 address inside. "" for what is no address.
std::string destination_network(std::string_view address);

}  // namespace feedmill
