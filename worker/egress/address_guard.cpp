#include "worker/egress/address_guard.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <functional>
#include <memory>
#include <netinet/in.h>
#include <optional>

#include <ifaddrs.h>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

struct V4Network {
  std::uint8_t bytes[4];
  unsigned bits;
};

// In the order of SECURITY §1.
constexpr V4Network blocked_v4[] = {
    {{0, 0, 0, 0}, 8},        {{10, 0, 0, 0}, 8},     {{100, 64, 0, 0}, 10}, {{127, 0, 0, 0}, 8},
    {{168, 63, 129, 16}, 32},  // a cloud host agent on a public address
    {{169, 254, 0, 0}, 16},   {{172, 16, 0, 0}, 12},  {{192, 0, 0, 0}, 24},  {{192, 0, 2, 0}, 24},
    {{192, 88, 99, 0}, 24},   {{192, 168, 0, 0}, 16}, {{198, 18, 0, 0}, 15}, {{198, 51, 100, 0}, 24},
    {{203, 0, 113, 0}, 24},   {{224, 0, 0, 0}, 4},    {{240, 0, 0, 0}, 4},
};

struct V6Network {
  std::uint16_t groups[8];
  unsigned bits;
};

constexpr V6Network global_v6 = {{0x2000, 0, 0, 0, 0, 0, 0, 0}, 3};
// Blocked parts of global_v6: IETF protocols such as Teredo, documentation, 6to4, more documentation.
constexpr V6Network blocked_v6[] = {
    {{0x2001, 0, 0, 0, 0, 0, 0, 0}, 23},
    {{0x2001, 0xdb8, 0, 0, 0, 0, 0, 0}, 32},
    {{0x2002, 0, 0, 0, 0, 0, 0, 0}, 16},
    {{0x3fff, 0, 0, 0, 0, 0, 0, 0}, 20},
};
constexpr V6Network well_known_nat64 = {{0x64, 0xff9b, 0, 0, 0, 0, 0, 0}, 96};
constexpr unsigned nat64_bits[] = {96, 64, 56, 48, 40, 32};  // RFC 6052 §2.2
constexpr V6Network mapped = {{0, 0, 0, 0, 0, 0xffff, 0, 0}, 96};

// Ports of other protocols, which could mistake our request for theirs: the "bad port" list of the Fetch standard.
constexpr std::uint16_t bad_ports[] = {
    0,    1,    7,    9,    11,   13,   15,   17,   19,   20,   21,   22,   23,   25,   37,   42,   43,
    53,   69,   77,   79,   87,   95,   101,  102,  103,  104,  109,  110,  111,  113,  115,  117,  119,
    123,  135,  137,  139,  143,  161,  179,  389,  427,  465,  512,  513,  514,  515,  526,  530,  531,
    532,  540,  548,  554,  556,  563,  587,  601,  636,  989,  990,  993,  995,  1719, 1720, 1723, 2049,
    3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080};

bool same_prefix(const std::uint8_t* a, const std::uint8_t* b, unsigned bits) {
  const unsigned whole = bits / 8, rest = bits % 8;
  if (std::memcmp(a, b, whole) != 0) return false;
  return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

std::array<std::uint8_t, 16> bytes_of(const V6Network& network) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[2 * i] = static_cast<std::uint8_t>(network.groups[i] >> 8);
    bytes[2 * i + 1] = static_cast<std::uint8_t>(network.groups[i] & 0xff);
  }
  return bytes;
}

bool within_v6(const std::array<std::uint8_t, 16>& bytes, const V6Network& network) {
  return same_prefix(bytes.data(), bytes_of(network).data(), network.bits);
}

template <class Number>
std::optional<Number> parse_number(std::string_view text, Number most) {
  Number value{};
  if (!read_number(text, value) || value > most) return std::nullopt;
  return value;
}

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

}  // namespace

EgressPolicy::EgressPolicy()
    : ports_{{80, 80}, {443, 443}, {8000, 8999}},
      nat64_{{Address{true, bytes_of(well_known_nat64)}, well_known_nat64.bits}} {}

boost::system::result<EgressPolicy, std::string> EgressPolicy::parse(std::span<const std::string> allow,
                                                                     std::span<const std::string> deny,
                                                                     std::span<const std::string> ports,
                                                                     std::span<const std::string> nat64) {
  EgressPolicy policy;
  for (const bool allows : {true, false}) {
    for (const std::string& text : allows ? allow : deny) {
      auto entry = parse_entry(text);
      if (!entry) return (allows ? "egress.allow: " : "egress.deny: ") + entry.error();
      (allows ? policy.allow_ : policy.deny_).push_back(std::move(*entry));
    }
  }
  if (!ports.empty()) policy.ports_.clear();
  for (const std::string& text : ports) {
    const auto range = parse_ports(text);
    if (!range) return "egress.ports: " + in_quotes(text) + ": " + range.error();
    policy.ports_.push_back(*range);
  }
  for (const std::string& text : nat64) {
    const auto prefix = parse_prefix(text);
    if (!prefix) return "egress.nat64: " + in_quotes(text) + ": " + prefix.error();
    policy.nat64_.push_back(*prefix);
  }
  std::ranges::stable_sort(policy.nat64_, std::greater(), &Prefix::bits);
  return policy;
}

Egress EgressPolicy::check(const sockaddr* address, std::uint16_t port) const {
  Address parsed;
  return read(address, parsed) ? check(parsed, port, allow_) : Egress::blocked_address;
}

Egress EgressPolicy::check(std::string_view address, std::uint16_t port) const {
  Address parsed;
  return read(address, parsed) ? check(parsed, port, allow_) : Egress::blocked_address;
}

Egress EgressPolicy::check(const Address& address, std::uint16_t port, std::span<const Entry> allow) const {
  const Prefix* const prefix = nat64_of(address);
  if (prefix == nullptr) return judge(address, port, allow);
  Egress outside = prefix->found ? judge(address, port, allow) : denied(address, port);
  if (outside == Egress::allowed && is_own(address)) outside = Egress::blocked_address;
  return outside == Egress::allowed ? judge(embedded(address, prefix->bits), port, allow) : outside;
}

/// Judges the address itself, ignoring an IPv4 address embedded in it.
Egress EgressPolicy::judge(const Address& address, std::uint16_t port, std::span<const Entry> allow) const {
  if (never_opened(address)) return Egress::blocked_address;
  if (const Egress no = denied(address, port); no != Egress::allowed) return no;
  const bool bad_port = std::ranges::find(bad_ports, port) != std::end(bad_ports);
  bool open = is_public(address) && !is_own(address);
  if (open && !bad_port && contains(ports_, port)) return Egress::allowed;
  for (const Entry& entry : allow) {
    if (!within(address, entry.network, entry.bits)) continue;
    open = true;
    if (!bad_port && contains(entry.ports.empty() ? ports_ : entry.ports, port)) return Egress::allowed;
  }
  return open ? Egress::blocked_port : Egress::blocked_address;
}

bool EgressPolicy::uses(std::uint16_t port) const {
  if (std::ranges::find(bad_ports, port) != std::end(bad_ports)) return false;
  return contains(ports_, port) ||
         std::ranges::any_of(allow_, [&](const Entry& entry) { return contains(entry.ports, port); });
}

Egress EgressPolicy::denied(const Address& address, std::uint16_t port) const {
  for (const Entry& entry : deny_) {
    if (!within(address, entry.network, entry.bits)) continue;
    if (entry.ports.empty()) return Egress::blocked_address;
    if (contains(entry.ports, port)) return Egress::blocked_port;
  }
  return Egress::allowed;
}

bool EgressPolicy::opened_by_allow(std::string_view address, std::uint16_t port) const {
  Address parsed;
  return read(address, parsed) && check(parsed, port, allow_) == Egress::allowed &&
         check(parsed, port, {}) != Egress::allowed;
}

void EgressPolicy::close_own(std::span<const std::string> addresses) {
  own_.clear();
  for (const std::string& text : addresses) {
    Address address;
    if (read(text, address)) own_.push_back(address);
  }
}

void EgressPolicy::close_nat64(std::span<const std::string> answers) {
  std::erase_if(nat64_, [](const Prefix& prefix) { return prefix.found; });
  for (const std::string& text : answers) {
    Address address;
    if (!read(text, address) || !address.v6) continue;
    for (const unsigned bits : nat64_bits) {
      const Address inner = embedded(address, bits);  // 192.0.0.170 or .171: RFC 7050 §8
      const bool known = inner.bytes[0] == 192 && inner.bytes[1] == 0 && inner.bytes[2] == 0;
      if (known && (inner.bytes[3] == 170 || inner.bytes[3] == 171)) nat64_.push_back({address, bits, true});
    }
  }
  std::ranges::stable_sort(nat64_, std::greater(), &Prefix::bits);
}

bool EgressPolicy::is_own(const Address& address) const {
  return std::ranges::find(own_, address) != own_.end();
}

const EgressPolicy::Prefix* EgressPolicy::nat64_of(const Address& address) const {
  const auto found =
      std::ranges::find_if(nat64_, [&](const Prefix& prefix) { return within(address, prefix.network, prefix.bits); });
  return found == nat64_.end() ? nullptr : &*found;
}

/// RFC 6052 §2.2: the four bytes after a prefix of `bits` bits, skipping byte 8.
EgressPolicy::Address EgressPolicy::embedded(const Address& address, unsigned bits) {
  Address inner;
  std::size_t from = bits / 8;
  for (std::size_t i = 0; i < 4; ++i, ++from) {
    if (from == 8) ++from;
    inner.bytes[i] = address.bytes[from];
  }
  return inner;
}

std::string EgressPolicy::network_of(std::string_view address) const {
  Address parsed;
  if (!read(address, parsed)) return "";
  if (const Prefix* const prefix = nat64_of(parsed)) parsed = embedded(parsed, prefix->bits);
  const std::size_t kept = parsed.v6 ? 6 : 3;
  std::fill(parsed.bytes.begin() + static_cast<std::ptrdiff_t>(kept), parsed.bytes.end(), std::uint8_t{0});
  char text[INET6_ADDRSTRLEN]{};
  inet_ntop(parsed.v6 ? AF_INET6 : AF_INET, parsed.bytes.data(), text, sizeof text);
  return text;
}

boost::system::result<EgressPolicy::Ports, std::string> EgressPolicy::parse_ports(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number<std::uint16_t>(text.substr(0, dash), 65535);
  const auto last = dash == text.npos ? first : parse_number<std::uint16_t>(text.substr(dash + 1), 65535);
  if (!first || !last || *first == 0)
    return std::string("a port is a number from 1 to 65535, a range two of them: 8000-8999");
  if (*last < *first) return std::string("the range of ports ends before it begins");
  return Ports{*first, *last};
}

boost::system::result<EgressPolicy::Entry, std::string> EgressPolicy::parse_entry(std::string_view text) {
  const auto refuse = [text](std::string_view why) { return in_quotes(text) + ": " + std::string(why); };
  std::string_view host, rest;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == text.npos) return refuse("the bracket is not closed");
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    const bool v6 = std::ranges::count(text, ':') > 1;  // bare IPv6: no port can follow
    const std::size_t end = text.find_first_of(v6 ? "/" : "/:");
    host = text.substr(0, end);
    rest = end == text.npos ? std::string_view() : text.substr(end);
  }
  Entry entry;
  if (!read(host, entry.network)) {
    return refuse("not an address; write ADDRESS[/BITS][:PORT[-PORT]], IPv6 with a port in brackets");
  }
  if (entry.network.v6 && within_v6(entry.network.bytes, mapped)) return refuse("write the IPv4 address itself");
  const unsigned width = entry.network.v6 ? 128 : 32;
  entry.bits = width;
  if (rest.starts_with('/')) {
    const std::size_t end = rest.find(':');
    const auto bits = parse_number<unsigned>(rest.substr(1, end == rest.npos ? end : end - 1), width);
    if (!bits) return refuse("after the slash, expected a number from 0 to " + std::to_string(width));
    entry.bits = *bits;
    rest = end == rest.npos ? std::string_view() : rest.substr(end);
  }
  if (rest.starts_with(':')) {
    const auto ports = parse_ports(rest.substr(1));
    if (!ports) return refuse(ports.error());
    entry.ports.push_back(*ports);
  } else if (!rest.empty()) {
    return refuse("not understood from " + in_quotes(rest) + " on");
  }
  return entry;
}

boost::system::result<EgressPolicy::Prefix, std::string> EgressPolicy::parse_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  Prefix prefix;
  const auto bits = slash == text.npos ? std::nullopt : parse_number<unsigned>(text.substr(slash + 1), 128);
  if (!bits || !read(text.substr(0, slash), prefix.network) || !prefix.network.v6 ||
      std::ranges::find(nat64_bits, *bits) == std::end(nat64_bits) || never_opened(prefix.network)) {
    return std::string("not a NAT64 prefix; write ADDRESS/BITS, an IPv6 address and 32, 40, 48, 56, 64 or 96 bits");
  }
  prefix.bits = *bits;
  return prefix;
}

/// Returns false for unknown families and scoped IPv6 addresses, which are then refused (SECURITY E2).
bool EgressPolicy::read(const sockaddr* address, Address& result) {
  if (address == nullptr) return false;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    result = Address{};
    std::memcpy(result.bytes.data(), &v4.sin_addr, 4);
    return true;
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    if (v6.sin6_scope_id != 0) return false;
    result.v6 = true;
    std::memcpy(result.bytes.data(), &v6.sin6_addr, 16);
    return true;
  }
  return false;
}

bool EgressPolicy::read(std::string_view text, Address& result) {
  if (text.size() >= INET6_ADDRSTRLEN) return false;
  char copy[INET6_ADDRSTRLEN]{};
  std::copy(text.begin(), text.end(), copy);
  result = Address{};
  result.v6 = text.find(':') != text.npos;
  return inet_pton(result.v6 ? AF_INET6 : AF_INET, copy, result.bytes.data()) == 1;
}

bool EgressPolicy::within(const Address& address, const Address& network, unsigned bits) {
  return address.v6 == network.v6 && same_prefix(address.bytes.data(), network.bytes.data(), bits);
}

bool EgressPolicy::contains(std::span<const Ports> list, std::uint16_t port) {
  return std::ranges::any_of(list, [port](Ports range) { return range.first <= port && port <= range.last; });
}

/// Unspecified, multicast and broadcast addresses, and mapped IPv4, which belongs to the IPv4 rules (SECURITY E6).
bool EgressPolicy::never_opened(const Address& address) {
  const auto& bytes = address.bytes;
  if (address.v6) {
    const bool unspecified = std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
    return unspecified || bytes[0] == 0xff || within_v6(bytes, mapped);
  }
  const bool broadcast = bytes[0] == 255 && bytes[1] == 255 && bytes[2] == 255 && bytes[3] == 255;
  return bytes[0] == 0 || (bytes[0] >= 224 && bytes[0] <= 239) || broadcast;
}

bool EgressPolicy::is_public(const Address& address) {
  if (!address.v6) {
    return std::ranges::none_of(blocked_v4, [&](const V4Network& network) {
      return same_prefix(address.bytes.data(), network.bytes, network.bits);
    });
  }
  return within_v6(address.bytes, global_v6) &&
         std::ranges::none_of(blocked_v6, [&](const V6Network& network) { return within_v6(address.bytes, network); });
}

std::string text_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address != nullptr && address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address != nullptr && address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  }
  return text;
}

std::optional<std::vector<std::string>> interface_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(first, freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    std::string text = text_of(one->ifa_addr);
    if (!text.empty()) addresses.push_back(std::move(text));
  }
  return addresses;
}

}  // namespace feedmill
