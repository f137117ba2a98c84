#include "worker/config/config_values.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "parsers/text/strings.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/base/units.hpp"

namespace feedmill {
namespace {

namespace fs = std::filesystem;
namespace ip = boost::asio::ip;

/// The names of an enum's values.
template <class Enum>
constexpr std::nullptr_t enum_names = nullptr;

template <>
constexpr std::pair<std::string_view, EmbeddedMode> enum_names<EmbeddedMode>[] = {
    {"auto", EmbeddedMode::automatic}, {"true", EmbeddedMode::always}, {"false", EmbeddedMode::never}};
template <>
constexpr std::pair<std::string_view, Durability> enum_names<Durability>[] = {
    {"ack", Durability::ack}, {"fsync", Durability::fsync}, {"replica", Durability::replica}};
template <>
constexpr std::pair<std::string_view, HtmlPolicy> enum_names<HtmlPolicy>[] = {{"strict", HtmlPolicy::strict}};
template <>
constexpr std::pair<std::string_view, LogLevel> enum_names<LogLevel>[] = {
    {"debug", LogLevel::debug}, {"info", LogLevel::info}, {"warn", LogLevel::warn}, {"error", LogLevel::error}};
template <>
constexpr std::pair<std::string_view, LogFormat> enum_names<LogFormat>[] = {{"auto", LogFormat::automatic},
                                                                            {"json", LogFormat::json},
                                                                            {"logfmt", LogFormat::logfmt},
                                                                            {"console", LogFormat::console}};

}  // namespace

std::string read_value(std::string_view text, std::string& into) {
  into = text;
  return {};
}

std::string read_value(std::string_view text, fs::path& into) {
  into = fs::path(text);
  return {};
}

std::string read_value(std::string_view text, bool& into) {
  into = text == "true";
  return text == "true" || text == "false" ? "" : "expected true or false";
}

std::string read_value(std::string_view text, std::uint32_t& into) {
  return read_number(text, into) ? "" : "expected a whole number";
}

std::string read_value(std::string_view text, std::chrono::milliseconds& into) {
  const auto duration = read_duration(text);
  if (!duration) return "expected a duration with its unit: 500ms 90s 15min 24h 7d";
  into = *duration;
  return {};
}

std::string read_value(std::string_view text, std::uint64_t& into) {
  const auto size = read_size(text);
  if (!size) return "expected a size with its unit: 64KiB 16MiB";
  into = *size;
  return {};
}

std::string read_value(std::string_view text, std::vector<std::string>& into) {
  into.clear();
  while (!text.empty()) {
    if (const auto item = trim(take_until(text, ',')); !item.empty()) into.emplace_back(item);
  }
  return {};
}

std::string read_value(std::string_view text, AutomaticSize& into) {
  into = read_size(text);
  return into || text == "auto" ? "" : "expected auto or a size with its unit: 512MiB 2GiB";
}

std::string read_value(std::string_view text, ListenAddress& into) {
  into.reset();
  if (text == "off") return {};
  std::string remedy = "expected address:port, such as 127.0.0.1:9810 or [::1]:9810, or off";
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return remedy;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  std::uint16_t port = 0;
  boost::system::error_code error;
  const auto address = ip::make_address(std::string(host), error);
  if (error || address.is_v6() != bracketed || !read_number(text.substr(colon + 1), port)) return remedy;
  into = ip::tcp::endpoint(address, port);
  return {};
}

std::string show_value(const std::string& value) {
  return value;
}
std::string show_value(const fs::path& value) {
  return value.string();
}
std::string show_value(bool value) {
  return value ? "true" : "false";
}
std::string show_value(std::uint32_t value) {
  return std::to_string(value);
}
std::string show_value(std::chrono::milliseconds value) {
  return format_duration(value);
}
std::string show_value(std::uint64_t value) {
  return format_size(value);
}

std::string show_value(const std::vector<std::string>& value) {
  std::string text;
  for (const auto& item : value) text.append(text.empty() ? "" : ",").append(item);
  return text;
}

std::string show_value(const AutomaticSize& value) {
  return value ? format_size(*value) : "auto";
}

std::string show_value(const ListenAddress& value) {
  if (!value) return "off";
  std::ostringstream text;
  text << *value;
  return text.str();
}

template <class Enum>
requires std::is_enum_v<Enum> std::string read_value(std::string_view text, Enum& into) {
  std::string remedy = "expected one of";
  for (const auto& [name, value] : enum_names<Enum>) {
    if (text == name) {
      into = value;
      return {};
    }
    remedy.append(" ").append(name);
  }
  return remedy;
}
template std::string read_value(std::string_view text, Durability& into);
template std::string read_value(std::string_view text, EmbeddedMode& into);
template std::string read_value(std::string_view text, HtmlPolicy& into);
template std::string read_value(std::string_view text, LogLevel& into);
template std::string read_value(std::string_view text, LogFormat& into);

template <class Enum>
requires std::is_enum_v<Enum> std::string show_value(Enum value) {
  for (const auto& [name, candidate] : enum_names<Enum>)
    if (candidate == value) return std::string(name);
  return {};
}
template std::string show_value(Durability value);
template std::string show_value(EmbeddedMode value);
template std::string show_value(HtmlPolicy value);
template std::string show_value(LogLevel value);
template std::string show_value(LogFormat value);

std::string variable_part(std::string_view name) {
  std::string part;
  for (const char c : name)
    part.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '.' || c == '-' ? '_' : c);
  return part;
}

std::string hide_password(std::string text) {
  const auto scheme = text.find("://");
  if (scheme == std::string::npos) return text;
  const auto authority = scheme + 3;
  const auto at = text.substr(0, text.find_first_of("/?#", authority)).rfind('@');
  if (at == std::string::npos || at < authority) return text;
  const auto colon = text.find(':', authority);
  if (colon == std::string::npos || colon >= at) return text;
  return text.replace(colon + 1, at - colon - 1, "<set>");
}

// --- checks ----------------------------------------------------------------------------------------------------------

namespace {

/// port or port-port, both ≥ 1 and in order.
bool is_port_range(std::string_view text) {
  const auto dash = text.find('-');
  std::uint16_t first = 0, last = 0;
  if (!read_number(text.substr(0, dash), first) || first == 0) return false;
  return dash == std::string_view::npos || (read_number(text.substr(dash + 1), last) && last >= first);
}

/// CIDR[:port[-port]]; IPv6 in brackets if ports follow (SECURITY E6).
bool is_egress_rule(std::string_view text) {
  boost::system::error_code error;
  std::string_view network = text;
  const bool bracketed = text.starts_with('[');
  const auto colon = bracketed ? text.find(':', std::min(text.find(']'), text.size())) : text.find(':');
  if (bracketed || std::ranges::count(text, ':') == 1) {
    network = text.substr(0, colon);
    if (colon != std::string_view::npos && !is_port_range(text.substr(colon + 1))) return false;
  }
  std::string plain(network);
  std::erase_if(plain, [](char c) { return c == '[' || c == ']'; });
  if (plain.find('/') == std::string::npos) {
    ip::make_address(plain, error);
  } else if (plain.find(':') == std::string::npos) {
    ip::make_network_v4(plain, error);
  } else {
    ip::make_network_v6(plain, error);
  }
  return !error;
}

bool is_name_server(std::string_view text) {
  boost::system::error_code error;
  const bool bracketed = text.starts_with('[');
  const bool with_port = bracketed || std::ranges::count(text, ':') == 1;
  std::string_view host = text;
  if (with_port) {
    const auto colon = text.rfind(':');
    host = text.substr(0, colon);
    std::uint16_t port = 0;
    if (colon == std::string_view::npos || !read_number(text.substr(colon + 1), port) || port == 0) return false;
    if (bracketed && (host.size() < 2 || !host.ends_with(']'))) return false;
    if (bracketed) host = host.substr(1, host.size() - 2);
  }
  const auto address = ip::make_address(std::string(host), error);
  return !error && (!with_port || address.is_v6() == bracketed);
}

bool is_nat64_prefix(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  boost::system::error_code error;
  const auto address = ip::make_address_v6(std::string(text.substr(0, slash)), error);
  if (error || address.is_unspecified() || address.is_multicast() || address.is_v4_mapped()) return false;
  const std::string_view bits = text.substr(slash + 1);
  return bits == "32" || bits == "40" || bits == "48" || bits == "56" || bits == "64" || bits == "96";
}

/// The problem with the first invalid item and its expected form; "" if all items are valid.
template <class Valid>
std::string objection_to_first(const std::vector<std::string>& items, Valid valid, std::string_view expected) {
  const auto found = std::ranges::find_if_not(items, valid);
  return found == items.end() ? std::string() : fmt::format("\"{}\" is not {}", *found, expected);
}

}  // namespace

std::string check_egress_rules(const std::vector<std::string>& rules) {
  return objection_to_first(rules, is_egress_rule,
                            "CIDR[:port[-port]], such as 10.20.0.0/16:443, 192.168.1.10 or [fd00:1::]/64:8000-8999");
}

std::string check_egress_ports(const std::vector<std::string>& ports) {
  return objection_to_first(ports, is_port_range, "a port or a range of ports, such as 80 or 8000-8999");
}

std::string check_nat64_prefixes(const std::vector<std::string>& prefixes) {
  return objection_to_first(prefixes, is_nat64_prefix,
                            "a NAT64 prefix of 32, 40, 48, 56, 64 or 96 bits, such as 2001:db8:64::/96");
}

std::string check_networks(const std::vector<std::string>& networks) {
  const auto is_network = [](std::string_view text) {
    return text.find(']') == npos && is_egress_rule(text) && (text.find('.') == npos || text.find(':') == npos);
  };
  return objection_to_first(networks, is_network, "an address or a network, such as 10.0.0.5, 10.0.0.0/8 or fd00::/64");
}

std::string check_name_servers(const std::vector<std::string>& servers) {
  return objection_to_first(servers, is_name_server,
                            "ADDRESS[:port], such as 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53");
}

std::string check_host_names(const std::vector<std::string>& names) {
  const auto is_host_name = [](std::string_view name) {
    return !name.empty() && name.size() <= 253 && has_only_alnum_and(name, ".-_");
  };
  return objection_to_first(names, is_host_name, "a host name such as feedmill.example (no scheme, no port)");
}

std::string check_parameter_names(const std::vector<std::string>& names) {
  const auto is_name = [](std::string_view name) { return !name.empty() && has_only_alnum_and(name, "_.-"); };
  return objection_to_first(names, is_name, "a parameter name: only letters, digits and _ . -");
}

namespace {

void check_memory(const Config& config, const Verdicts& verdicts) {
  std::string objection = objection_to_memory(config.memory.budget, config.fetch.max_body,
                                              verdicts.sound({"redis.url"}) && config.embedded());
  if (!objection.empty()) verdicts.add("memory.budget", std::move(objection));
}

void check_embedded(const Config& config, bool in_kubernetes, const Verdicts& verdicts) {
  const bool has_url = !config.redis.url.empty();
  if (config.redis.embedded == EmbeddedMode::always && has_url)
    verdicts.add("redis.embedded", "contradicts redis.url; remove one");
  if (config.redis.embedded == EmbeddedMode::never && !has_url)
    verdicts.add("redis.url", "redis.embedded is false, so a server is required: redis://host:port");
  if (config.redis.embedded == EmbeddedMode::automatic && !has_url && in_kubernetes)  // RELIABILITY R1
    verdicts.add("redis.url", "in Kubernetes, name a server, or set redis.embedded=true and run one replica");
}

void check_sentinels(const Config& config, const Verdicts& verdicts) {
  const bool asked = config.redis.url.find("+sentinel://") != std::string::npos;
  const bool has_user = !config.redis.sentinel_user.empty();
  const bool has_password = !config.redis.sentinel_password_file.empty();
  constexpr const char* not_asked = "only for redis+sentinel:// in redis.url; remove it";
  if (!asked && has_user) verdicts.add("redis.sentinel_user", not_asked);
  if (!asked && has_password) verdicts.add("redis.sentinel_password_file", not_asked);
  if (asked && has_user && !has_password) verdicts.add("redis.sentinel_user", "needs redis.sentinel_password_file");
}

/// Does not require a selected partition: opening a store does, because some verbs address all.
void check_partition(const Config& config, const Verdicts& verdicts) {
  const std::uint32_t partitions = config.redis.partitions, mine = config.redis.partition.value_or(0);
  if (partitions == 1 && config.signals.merged)
    verdicts.add("signals.merged", "only for several redis.partitions; a single partition has one stream");
  if (partitions > 1 && config.embedded())
    verdicts.add("redis.partitions", "a private server holds one; remove it, or name a cluster in redis.url");
  if (mine >= partitions) {
    verdicts.add("redis.partition",
                 partitions == 1 ? "there is only one partition; set redis.partitions to the number of partitions"
                                 : fmt::format("between 0 and {}", partitions - 1));
  }
}

/// Rejects a path that looks like a partition's: "/p3" is appended to it (RELIABILITY L29), and a proxy may have
/// removed the path.
void check_public_path(std::string_view key, std::string_view url, const Config& config, const Verdicts& verdicts) {
  const std::size_t host = url.find("://");
  if (host == url.npos || url.find('/', host + 3) == url.npos) return;
  const std::string_view last = url.substr(url.rfind('/') + 1);
  const bool names_one = last.size() > 1 && last.front() == 'p' && last.find_first_not_of("0123456789", 1) == last.npos;
  if (names_one && config.redis.partitions > 1)
    verdicts.add(key, "its path ends like that of a partition; choose another ending");
}

/// SECURITY §10. Rejects TLS files without rediss://: they would have no effect, although the user expects TLS.
void check_redis_tls(const Config& config, const Verdicts& verdicts) {
  const auto& [ca, cert, key] = std::tie(config.redis.ca_file, config.redis.cert_file, config.redis.key_file);
  for (const auto& [option, file] :
       {std::pair("redis.ca_file", &ca), {"redis.cert_file", &cert}, {"redis.key_file", &key}}) {
    if (file->empty()) continue;
    if (!config.redis.url.starts_with("rediss")) {
      verdicts.add(option, "only for TLS: use rediss:// in redis.url, or remove it");
    } else if (::access(file->c_str(), R_OK) != 0) {
      verdicts.add(option, "the file cannot be read; check its path and permissions");
    } else if (std::error_code ignored; !fs::is_regular_file(*file, ignored)) {
      verdicts.add(option, "is reread for each connection, so it must be a regular file");
    }
  }
  if (cert.empty() != key.empty())
    verdicts.add(cert.empty() ? "redis.cert_file" : "redis.key_file",
                 "redis.cert_file and redis.key_file must be set together");
}

}  // namespace

void check_together(const Config& config, bool in_kubernetes, const Verdicts& verdicts) {
  if (verdicts.sound({"schedule.lease", "fetch.wall"})) {
    const auto least = config.fetch.wall + config.fetch.wall / 3;  // the rest is for the commit
    if (config.schedule.lease < least)
      verdicts.add("schedule.lease", "at least a third more than fetch.wall, which is " + format_duration(least));
  }
  if (verdicts.sound({"schedule.floor", "schedule.min_floor"}) && config.schedule.floor < config.schedule.min_floor)
    verdicts.add("schedule.floor",
                 "at least schedule.min_floor, which is " + format_duration(config.schedule.min_floor));
  if (verdicts.sound({"schedule.ceiling", "schedule.floor"}) && config.schedule.ceiling < config.schedule.floor)
    verdicts.add("schedule.ceiling", "at least schedule.floor, which is " + format_duration(config.schedule.floor));
  if (verdicts.sound({"retention.hard_cap", "retention.entries"}) &&
      config.retention.hard_cap < config.retention.entries)
    verdicts.add("retention.hard_cap",
                 "at least retention.entries, which is " + std::to_string(config.retention.entries));
  const Config::Worker& parts = config.worker;
  if (verdicts.sound({"worker.ingest", "worker.deliver", "worker.push_out"}) && !parts.ingest && !parts.deliver &&
      !parts.push_out)
    verdicts.add("worker.deliver", "nothing to do with worker.ingest off as well; leave one on");
  if (verdicts.sound({"memory.budget", "fetch.max_body"})) check_memory(config, verdicts);
  if (verdicts.sound({"redis.url", "redis.embedded"})) check_embedded(config, in_kubernetes, verdicts);
  if (verdicts.sound({"redis.url"})) check_redis_tls(config, verdicts);
  if (verdicts.sound({"redis.url"})) check_sentinels(config, verdicts);
  if (verdicts.sound({"redis.url", "redis.partitions", "redis.partition", "signals.merged"}))
    check_partition(config, verdicts);
  if (verdicts.sound({"websub.public_url"}) && config.websub.public_url.starts_with("http:") &&
      !config.websub.allow_http)
    verdicts.add("websub.public_url",
                 "pushes over http can be read and forged; use https, or set websub.allow_http=true");
  check_public_path("websub.public_url", config.websub.public_url, config, verdicts);
  check_public_path("push_out.public_url", config.push_out.public_url, config, verdicts);
  if (verdicts.sound({"fetch.proxy"}) && !config.fetch.proxy.empty() && !config.fetch.proxy_enforces_egress) {
    verdicts.add("fetch.proxy",  // SECURITY E9
                 "feedmill cannot check addresses when using a proxy, so the proxy must reject private ones; if it "
                 "does, set fetch.proxy_enforces_egress=true");
  }
}

}  // namespace feedmill
