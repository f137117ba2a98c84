// The egress policy: addresses and ports that untrusted input may make us connect to (SECURITY §1). Pure. Judges the
// address of the socket, never a host name, and refuses anything it does not understand.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

#include <boost/system/result.hpp>

namespace feedmill {

/// The policy's verdict on an address and port.
enum class Egress { allowed, blocked_address, blocked_port };

/// Allowed destinations: public addresses on the usual ports and what the operator allows, minus what the operator
/// denies. A value; safe to read from any thread.
class EgressPolicy {
 public:
  /// Public addresses on ports 80, 443 and 8000-8999.
  EgressPolicy();

  /// `allow` and `deny`: `ADDRESS[/BITS][:PORT[-PORT]]`, IPv6 in brackets if a port follows
  /// ("[fd00:1::]/64:8000-8999"); `ports`: `PORT[-PORT]`, replacing the default list unless empty (SECURITY E6).
  /// `nat64`: `ADDRESS/BITS`, the operator's own prefixes (RFC 6052: 32, 40, 48, 56, 64 or 96 bits). An address under
  /// one of these, or under 64:ff9b::/96, is judged by its embedded IPv4 address; `deny` matches either form. The error
  /// quotes the entry and states its mistake.
  static boost::system::result<EgressPolicy, std::string> parse(std::span<const std::string> allow,
                                                                std::span<const std::string> deny,
                                                                std::span<const std::string> ports,
                                                                std::span<const std::string> nat64 = {});

  /// `port` in host order; the port inside `address` is ignored. Null is refused.
  Egress check(const sockaddr* address, std::uint16_t port) const;

  /// Checks an address as text, as libcurl and resolvers return it; refuses any other text.
  Egress check(std::string_view address, std::uint16_t port) const;

  /// Whether this port is allowed for any address.
  bool uses(std::uint16_t port) const;

  /// Blocks this machine's own addresses like private ones, unless `allow` opens them (SECURITY E6).
  void close_own(std::span<const std::string> addresses);

  /// `answers`: the IPv6 addresses of ipv4only.arpa, which reveal a network's NAT64 prefixes (RFC 7050). From now on,
  /// addresses under these must also pass as their embedded IPv4 address. Name servers can only block this way, never
  /// allow.
  void close_nat64(std::span<const std::string> answers);

  /// The network that an address's connections are counted in (HTTP H8): its /24, or /48 for IPv6, as text; NAT64
  /// counts as its embedded IPv4 address. "" if `address` is invalid.
  std::string network_of(std::string_view address) const;

  /// Whether only the `allow` list permits the destination: the operator's own server, where short floors are allowed
  /// (HTTP P6).
  bool opened_by_allow(std::string_view address, std::uint16_t port) const;

  bool operator==(const EgressPolicy&) const = default;

 private:
  /// IPv4 uses the first four bytes.
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
    std::vector<Ports> ports;  ///< empty: the entry names none

    bool operator==(const Entry&) const = default;
  };

  /// A prefix of RFC 6052.
  struct Prefix {
    Address network;
    unsigned bits = 0;
    bool found = false;  ///< by close_nat64(): only blocks, never allows

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
  /// The longest NAT64 prefix that contains `address`; null if none does.
  const Prefix* nat64_of(const Address& address) const;

  std::vector<Entry> allow_, deny_;
  std::vector<Address> own_;
  std::vector<Ports> ports_;
  std::vector<Prefix> nat64_;  ///< longest first
};

/// An IPv4 or IPv6 address as text, without scope; "" for any other, and for null.
std::string text_of(const sockaddr* address);

// This machine's own addresses (SECURITY E6): even a public one could be a way in.

/// Addresses of all interfaces as text, IPv6 without scope; empty if the kernel does not report them (for example
/// without descriptors): keep the previous ones then.
std::optional<std::vector<std::string>> interface_addresses();

/// How long a result of interface_addresses() is used.
inline constexpr std::chrono::seconds own_addresses_age{60};

}  // namespace feedmill
