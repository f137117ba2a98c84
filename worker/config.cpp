#include "worker/config.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <toml++/toml.h>
#include <unistd.h>

#include "worker/units.hpp"

namespace feedmill {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace ip = boost::asio::ip;

constexpr std::string_view env_prefix = "FEEDMILL_";

// --- how each type of value is read and shown ------------------------------------------------------------------------

template <class Enum>
using Names = std::span<const std::pair<std::string_view, Enum>>;

constexpr std::pair<std::string_view, EmbeddedMode> embedded_names[] = {
    {"auto", EmbeddedMode::automatic}, {"true", EmbeddedMode::always}, {"false", EmbeddedMode::never}};
constexpr std::pair<std::string_view, HtmlPolicy> html_names[] = {{"strict", HtmlPolicy::strict},
                                                                  {"classic", HtmlPolicy::classic}};
constexpr std::pair<std::string_view, LogLevel> level_names[] = {
    {"debug", LogLevel::debug}, {"info", LogLevel::info}, {"warn", LogLevel::warn}, {"error", LogLevel::error}};
constexpr std::pair<std::string_view, LogFormat> format_names[] = {
    {"auto", LogFormat::automatic}, {"json", LogFormat::json}, {"logfmt", LogFormat::logfmt}};

Names<EmbeddedMode> names_of(EmbeddedMode) {
  return embedded_names;
}
Names<HtmlPolicy> names_of(HtmlPolicy) {
  return html_names;
}
Names<LogLevel> names_of(LogLevel) {
  return level_names;
}
Names<LogFormat> names_of(LogFormat) {
  return format_names;
}

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && rest == text.data() + text.size() && !text.empty();
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

// Each reads `text` into `into` and says what should have been written instead, "" when it could be read.

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
  return text == "true" || text == "false" ? "" : "write true or false";
}

std::string read_value(std::string_view text, std::uint32_t& into) {
  return read_number(text, into) ? "" : "write a whole number";
}

std::string read_value(std::string_view text, std::chrono::milliseconds& into) {
  const auto duration = read_duration(text);
  if (!duration) return "write a duration with its unit: 500ms 90s 15min 24h 7d";
  into = *duration;
  return {};
}

std::string read_value(std::string_view text, std::uint64_t& into) {
  const auto size = read_size(text);
  if (!size) return "write a size with its unit: 64KiB 16MiB";
  into = *size;
  return {};
}

std::string read_value(std::string_view text, std::vector<std::string>& into) {
  into.clear();
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto item = trim(text.substr(0, comma));
    if (!item.empty()) into.emplace_back(item);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return {};
}

std::string read_value(std::string_view text, ListenAddress& into) {
  into.reset();
  if (text == "off") return {};
  std::string remedy = "write address:port, as 127.0.0.1:9810 or [::1]:9810, or off";
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

template <class Enum>
requires std::is_enum_v<Enum> std::string read_value(std::string_view text, Enum& into) {
  std::string remedy = "write one of";
  for (const auto& [name, value] : names_of(Enum{})) {
    if (text == name) {
      into = value;
      return {};
    }
    remedy.append(" ").append(name);
  }
  return remedy;
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

std::string show_value(const ListenAddress& value) {
  if (!value) return "off";
  std::ostringstream text;
  text << *value;
  return text.str();
}

template <class Enum>
requires std::is_enum_v<Enum> std::string show_value(Enum value) {
  for (const auto& [name, candidate] : names_of(value))
    if (candidate == value) return std::string(name);
  return {};
}

/// A URL's password replaced: "redis://user:<set>@host". Everything else passes unchanged (SECURITY K1).
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

// --- what each value must hold to ------------------------------------------------------------------------------------

template <class Value>
std::string at_least(Value value, std::type_identity_t<Value> least) {
  return value < least ? "at least " + show_value(least) : "";
}

template <class Value>
std::string between(Value value, std::type_identity_t<Value> least, std::type_identity_t<Value> most) {
  return value < least || value > most ? "between " + show_value(least) + " and " + show_value(most) : "";
}

std::string check_redis_url(const Config& config) {
  for (const std::string_view scheme : {"", "redis://", "rediss://", "unix:"})
    if (scheme.empty() ? config.redis.url.empty() : config.redis.url.starts_with(scheme)) return {};
  return "write redis://host:port/db, rediss://… or unix:///path/to/socket; leave it empty for a private server";
}

std::string check_key_prefix(const Config& config) {
  constexpr std::string_view legal = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";
  return config.redis.key_prefix.find_first_not_of(legal) == std::string::npos ? ""
                                                                               : "only letters, digits and _ . : -";
}

std::string check_contact(const Config& config) {
  const auto& contact = config.fetch.contact;
  const bool printable =
      std::ranges::all_of(contact, [](char c) { return c > ' ' && c < 0x7f && c != '(' && c != ')' && c != ';'; });
  const bool known = contact.empty() || contact.starts_with("https://") || contact.starts_with("http://") ||
                     contact.starts_with("mailto:");
  return printable && known ? "" : "write a URL: https://example.org/bot or mailto:feeds@example.org";
}

/// port or port-port, both ≥ 1 and in order.
bool is_port_range(std::string_view text) {
  const auto dash = text.find('-');
  std::uint16_t first = 0, last = 0;
  if (!read_number(text.substr(0, dash), first) || first == 0) return false;
  return dash == std::string_view::npos || (read_number(text.substr(dash + 1), last) && last >= first);
}

/// CIDR[:port[-port]]; IPv6 in brackets when ports follow (SECURITY E6).
bool is_egress_rule(std::string_view text) {
  boost::system::error_code error;
  std::string_view network = text, ports;
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

std::string check_rules(const std::vector<std::string>& rules) {
  for (const auto& rule : rules) {
    if (!is_egress_rule(rule))
      return "\"" + rule + "\" is not CIDR[:port[-port]], as 10.20.0.0/16:443, 192.168.1.10 or [fd00:1::]/64:8000-8999";
  }
  return {};
}

std::string check_ports(const Config& config) {
  for (const auto& range : config.egress.ports)
    if (!is_port_range(range)) return "\"" + range + "\" is not a port or a range of ports, as 80 or 8000-8999";
  return {};
}

// --- the table -------------------------------------------------------------------------------------------------------

const Option table[] = {{"redis.url", "REDIS_URL", "--redis", "", "URL", "the server; empty: a private one is started",
                         [](Config& c) -> auto& {return c.redis.url;
}  // namespace
, check_redis_url
}  // namespace feedmill
, {"redis.password_file", "REDIS_PASSWORD_FILE", "", "$CREDENTIALS_DIRECTORY/redis-password if present", "path",
   "file that holds the server's password", [](Config& c) -> auto& {return c.redis.password_file;
}
}
, {"redis.key_prefix", "REDIS_KEY_PREFIX", "--key-prefix", "", "text", "goes before every key and channel",
   [](Config& c) -> auto& {return c.redis.key_prefix;
}
, check_key_prefix
}
, {"redis.timeout", "REDIS_TIMEOUT", "", "5s", "duration", "longest wait for one command",
   [](Config& c) -> auto& {return c.redis.timeout;
}
, [](const Config& c) { return at_least(c.redis.timeout, 10ms); }
}
, {"redis.embedded", "REDIS_EMBEDDED", "--embedded", "auto", "auto/true/false",
   "start a private server; auto: when redis.url is empty", [](Config& c) -> auto& {return c.redis.embedded;
}
}
, {"store.data_dir", "DATA_DIR", "--data-dir", "$STATE_DIRECTORY, else the user's data directory", "path",
   "where the private server keeps its data", [](Config& c) -> auto& {return c.store.data_dir;
}
}
, {"store.allow_eviction", "ALLOW_EVICTION", "", "false", "bool", "start although the server may evict keys",
   [](Config& c) -> auto& {return c.store.allow_eviction;
}
}
, {"store.connections", "STORE_CONNECTIONS", "", "4", "per loop", "threads with a Redis connection each",
   [](Config& c) -> auto& {return c.store.connections;
}
, [](const Config& c) { return between(c.store.connections, 1, 64); }
}
, {"retention.entries", "RETENTION_ENTRIES", "--keep", "50", "entries per feed",
   "how many are kept, or what the document lists if that is more", [](Config& c) -> auto& {return c.retention.entries;
}
, [](const Config& c) { return at_least(c.retention.entries, 1); }
}
, {"retention.strict", "RETENTION_STRICT", "", "false", "bool",
   "keep exactly retention.entries even if the document lists more", [](Config& c) -> auto& {return c.retention.strict;
}
}
, {"retention.hard_cap", "RETENTION_HARD_CAP", "", "2000", "entries per feed", "upper bound of what is kept",
   [](Config& c) -> auto& {return c.retention.hard_cap;
}
}
, {"retention.grace", "RETENTION_GRACE", "", "7d", "duration",
   "how long a trimmed entry is remembered after it left the document",
   [](Config& c) -> auto& {return c.retention.grace;
}
}
, {"signals.max_len", "SIGNALS_MAX_LEN", "", "100000", "records per partition", "how long the signal stream may grow",
   [](Config& c) -> auto& {return c.signals.max_len;
}
, [](const Config& c) { return at_least(c.signals.max_len, 1000); }
}
, {"signals.deleted", "SIGNALS_DELETED", "", "false", "bool", "publish post_deleted for trimmed entries",
   [](Config& c) -> auto& {return c.signals.deleted;
}
}
, {"signals.per_feed", "SIGNALS_PER_FEED", "", "false", "bool",
   "publish each signal on <type>:<feed_url> as well, when it is delivered",
   [](Config& c) -> auto& {return c.signals.per_feed;
}
}
, {"worker.lanes", "LANES", "--lanes", "256", "refreshes per loop", "refreshes at once",
   [](Config& c) -> auto& {return c.worker.lanes;
}
, [](const Config& c) { return between(c.worker.lanes, 1, 100'000); }
}
, {"worker.cpu_threads", "CPU_THREADS", "", "CPUs, at most 8", "threads", "threads that parse",
   [](Config& c) -> auto& {return c.worker.cpu_threads;
}
, [](const Config& c) { return between(c.worker.cpu_threads, 1, 256); }
}
, {"worker.ingest", "INGEST", "--no-ingest", "true", "bool", "fetch feeds",
   [](Config& c) -> auto& {return c.worker.ingest;
}
}
, {"worker.deliver", "DELIVER", "--no-deliver", "true", "bool", "keep timelines and notices",
   [](Config& c) -> auto& {return c.worker.deliver;
}
}
, {"schedule.lease", "LEASE", "", "90s", "duration", "how long a worker owns a feed it claimed",
   [](Config& c) -> auto& {return c.schedule.lease;
}
}
, {"schedule.commit_budget", "COMMIT_BUDGET", "", "20s", "duration", "what a commit may take of the lease",
   [](Config& c) -> auto& {return c.schedule.commit_budget;
}
, [](const Config& c) { return at_least(c.schedule.commit_budget, 200ms); }
}
, {"schedule.poll", "POLL", "", "500ms", "duration", "how often an idle worker looks for due feeds",
   [](Config& c) -> auto& {return c.schedule.poll;
}
, [](const Config& c) { return between(c.schedule.poll, 10ms, 1min); }
}
, {"schedule.min_floor", "MIN_FLOOR", "", "10min", "duration",
   "no feed is polled more often; below 10min only where egress.allow opens the address",
   [](Config& c) -> auto& {return c.schedule.min_floor;
}
, [](const Config& c) { return at_least(c.schedule.min_floor, 1s); }
}
, {"schedule.floor", "FLOOR", "", "60min", "duration", "shortest interval chosen for a feed that does not ask for less",
   [](Config& c) -> auto& {return c.schedule.floor;
}
}
, {"schedule.ceiling", "CEILING", "", "24h", "duration", "longest interval; dormant feeds up to 7d",
   [](Config& c) -> auto& {return c.schedule.ceiling;
}
}
, {"schedule.manual_floor", "MANUAL_FLOOR", "", "5min", "duration", "shortest interval between refreshes by hand",
   [](Config& c) -> auto& {return c.schedule.manual_floor;
}
}
, {"schedule.import_rate", "IMPORT_RATE", "", "200", "feeds/s", "first fetches after an import; 0: all at once",
   [](Config& c) -> auto& {return c.schedule.import_rate;
}
}
, {"schedule.catch_up_rate", "CATCH_UP_RATE", "", "200", "feeds/s", "overdue feeds after an outage; 0: all at once",
   [](Config& c) -> auto& {return c.schedule.catch_up_rate;
}
}
, {"host.concurrency", "HOST_CONCURRENCY", "", "1", "requests", "at once per host, by all workers together",
   [](Config& c) -> auto& {return c.host.concurrency;
}
, [](const Config& c) { return between(c.host.concurrency, 1, 1000); }
}
, {"host.spacing", "HOST_SPACING", "", "1s", "duration", "between requests to a host; 0: none",
   [](Config& c) -> auto& {return c.host.spacing;
}
, [](const Config& c) { return between(c.host.spacing, 0ms, 1h); }
}
, {"fetch.contact", "CONTACT", "--contact", "", "URL", "who asks, in the User-Agent; required above 1000 feeds",
   [](Config& c) -> auto& {return c.fetch.contact;
}
, check_contact
}
, {"fetch.wall", "FETCH_WALL", "", "60s", "duration", "longest exchange, redirects included",
   [](Config& c) -> auto& {return c.fetch.wall;
}
, [](const Config& c) { return at_least(c.fetch.wall, 10ms); }
}
, {"fetch.connect", "FETCH_CONNECT", "", "10s", "duration", "longest wait for a connection",
   [](Config& c) -> auto& {return c.fetch.connect;
}
, [](const Config& c) { return at_least(c.fetch.connect, 10ms); }
}
, {"fetch.max_body", "MAX_BODY", "", "16MiB", "size", "largest document, decoded",
   [](Config& c) -> auto& {return c.fetch.max_body;
}
, [](const Config& c) { return between(c.fetch.max_body, 1 << 10, 64 << 20); }
}
, {"fetch.http2", "HTTP2", "", "true", "bool", "HTTP/2 where the server offers it",
   [](Config& c) -> auto& {return c.fetch.http2;
}
}
, {"fetch.allow_downgrade", "ALLOW_DOWNGRADE", "", "false", "bool", "follow redirects from https to http",
   [](Config& c) -> auto& {return c.fetch.allow_downgrade;
}
}
, {"egress.allow", "EGRESS_ALLOW", "--allow", "", "CIDR[:port] list", "addresses opened that are blocked by default",
   [](Config& c) -> auto& {return c.egress.allow;
}
, [](const Config& c) { return check_rules(c.egress.allow); }
}
, {"egress.deny", "EGRESS_DENY", "", "", "CIDR[:port] list", "addresses never connected to; wins over egress.allow",
   [](Config& c) -> auto& {return c.egress.deny;
}
, [](const Config& c) { return check_rules(c.egress.deny); }
}
, {"egress.ports", "EGRESS_PORTS", "", "80,443,8000-8999", "list", "ports that may be connected to",
   [](Config& c) -> auto& {return c.egress.ports;
}
, check_ports
}
, {"html.policy", "HTML_POLICY", "", "strict", "strict/classic", "which markup of entries survives",
   [](Config& c) -> auto& {return c.html.policy;
}
}
, {"admin.listen", "ADMIN_LISTEN", "--listen", "127.0.0.1:9810", "address",
   "metrics and probes; off; port 0: any free one, which the log names", [](Config& c) -> auto& {return c.admin.listen;
}
}
, {"drain.listen", "DRAIN_LISTEN", "", "5s", "duration", "how long listeners go on when stopping",
   [](Config& c) -> auto& {return c.drain.listen;
}
}
, {"drain.timeout", "DRAIN_TIMEOUT", "", "25s", "duration", "how long refreshes may go on when stopping",
   [](Config& c) -> auto& {return c.drain.timeout;
}
}
, {"log.level", "LOG_LEVEL", "--log-level", "info", "debug/info/warn/error", "least level that is written",
   [](Config& c) -> auto& {return c.log.level;
}
}
, {"log.format", "LOG_FORMAT", "", "auto", "auto/json/logfmt", "auto: logfmt on a terminal, else JSON",
   [](Config& c) -> auto& {return c.log.format;
}
}
,
}
;

const Option* find_option(std::string_view key) {
  const auto found = std::ranges::find(table, key, &Option::key);
  return found == std::end(table) ? nullptr : found;
}

std::string_view variable(const ConfigSources& sources, std::string_view name) {
  const auto found = sources.environment.find(name);
  return found == sources.environment.end() ? std::string_view() : std::string_view(found->second);
}

/// $XDG_<which>_HOME, else ~/<usual>; "" when there is no home.
fs::path user_directory(const ConfigSources& sources, std::string_view variable_name, std::string_view usual) {
  fs::path own = variable(sources, variable_name);
  if (own.is_absolute()) return own;
  const fs::path home = variable(sources, "HOME");
  return home.empty() ? fs::path() : home / usual;
}

/// The defaults that depend on where we run.
std::string computed_default(const Option& option, const ConfigSources& sources) {
  if (option.key == "worker.cpu_threads")
    return std::to_string(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
  if (option.key == "store.data_dir") {
    const auto state = variable(sources, "STATE_DIRECTORY");
    if (!state.empty()) return std::string(state.substr(0, state.find(':')));
    const fs::path user = user_directory(sources, "XDG_DATA_HOME", ".local/share");
    return user.empty() ? "/var/lib/feedmill" : (user / "feedmill").string();
  }
  if (option.key == "redis.password_file") {
    const fs::path directory = variable(sources, "CREDENTIALS_DIRECTORY");
    std::error_code ignored;
    const fs::path file = directory / "redis-password";
    return !directory.empty() && fs::exists(file, ignored) ? file.string() : "";
  }
  return std::string(option.fallback);
}

/// The content of a small file without the newline at its end; nothing when it cannot be read.
std::optional<std::string> read_secret(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream content;
  if (!in || fs::is_directory(file) || (in.peek() != EOF && !(content << in.rdbuf()))) return std::nullopt;
  std::string text = content.str();
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

bool readable_by_all(const fs::path& file) {
  std::error_code error;
  const auto permissions = fs::status(file, error).permissions();
  return !error && (permissions & fs::perms::others_read) != fs::perms::none;
}

// --- reading the sources ---------------------------------------------------------------------------------------------

/// Collects values and problems from one source after another; a later value replaces an earlier one whole.
class Reader {
 public:
  explicit Reader(const ConfigSources& sources) : sources_(sources) {}

  boost::system::result<Config, std::vector<ConfigProblem>> read() {
    for (const auto& option : table) set(option, computed_default(option, sources_), "default");
    read_file();
    read_environment();
    read_flags();
    read_password();
    check_together();
    if (!problems_.empty()) return std::move(problems_);
    return std::move(config_);
  }

 private:
  void set(const Option& option, std::string_view text, const std::string& origin) {
    std::string remedy = std::visit([&](auto place) { return read_value(text, place(config_)); }, option.field);
    if (remedy.empty() && option.check) remedy = option.check(config_);
    config_.origins[std::string(option.key)] = origin;
    if (!remedy.empty())
      problems_.push_back({std::string(option.key), hide_password(std::string(text)), origin, std::move(remedy)});
  }

  void read_file() {
    const fs::path file = config_file(sources_);
    if (file.empty()) return;
    const std::string origin = "file " + file.string();
    const auto text = read_secret(file);
    if (!text) {
      problems_.push_back({"", "", origin, "the file cannot be read; check its path and permissions"});
      return;
    }
    try {
      const toml::table document = toml::parse(*text);
      read_table(document, "", origin);
    } catch (const toml::parse_error& error) {
      problems_.push_back({"", "", at(origin, error.source()), std::string(error.description())});
    }
  }

  static std::string at(const std::string& origin, const toml::source_region& place) {
    return origin + ":" + std::to_string(place.begin.line);
  }

  void read_table(const toml::table& document, const std::string& path, const std::string& origin) {
    for (const auto& [name, node] : document) {
      const std::string key = path.empty() ? std::string(name.str()) : path + "." + std::string(name.str());
      const std::string where = at(origin, node.source());
      const Option* option = find_option(key);
      if (option != nullptr) {
        const auto text = as_text(node);
        if (text) {
          set(*option, *text, where);
        } else {
          problems_.push_back({key, "", where, "write " + std::string(option->unit)});
        }
      } else if (node.is_table() && std::ranges::any_of(table, [&](const Option& candidate) {
                   return candidate.key.starts_with(key + ".");
                 })) {
        read_table(*node.as_table(), key, origin);
      } else {
        add_unknown(key, "", where, &Option::key);
      }
    }
  }

  /// A scalar or a flat list as the environment would have it; nothing for tables, dates and fractions.
  static std::optional<std::string> as_text(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (const auto* list = node.as_array()) {
      std::string joined;
      for (const auto& item : *list) {
        const auto text = item.is_array() ? std::nullopt : as_text(item);
        if (!text) return std::nullopt;
        joined.append(joined.empty() ? "" : ",").append(*text);
      }
      return joined;
    }
    return std::nullopt;
  }

  void add_unknown(const std::string& name, const std::string& value, const std::string& origin,
                   std::string_view Option::*which) {
    std::vector<std::string_view> names;
    for (const auto& option : table) names.push_back(option.*which);
    const auto near = nearest_name(name, names);
    problems_.push_back({name, value, origin,
                         near.empty() ? "no such option; `feedmill config show` lists them all"
                                      : "no such option; did you mean " + std::string(near) + "?"});
  }

  void read_environment() {
    for (const auto& [name, value] : sources_.environment) {
      if (!name.starts_with(env_prefix)) continue;
      const std::string_view own = std::string_view(name).substr(env_prefix.size());
      if (is_service_link(own)) continue;
      const std::string origin = "environment " + name;
      if (const auto* option = std::ranges::find(table, own, &Option::env); option != std::end(table)) {
        set(*option, value, origin);
        continue;
      }
      constexpr std::string_view from_file = "_FILE";
      const auto* option = own.ends_with(from_file)
                               ? std::ranges::find(table, own.substr(0, own.size() - from_file.size()), &Option::env)
                               : std::end(table);
      if (option == std::end(table)) {
        add_unknown(std::string(own), "", origin, &Option::env);
      } else if (sources_.environment.contains(std::string(env_prefix) + std::string(option->env))) {
        problems_.push_back({std::string(option->key), value, origin,
                             "given twice: unset one of " + name + " and FEEDMILL_" + std::string(option->env)});
      } else if (const auto text = read_secret(value)) {
        if (readable_by_all(value) && option->key == "redis.url") warn_readable(value);
        set(*option, *text, origin);
      } else {
        problems_.push_back({std::string(option->key), value, origin, "the file cannot be read"});
      }
    }
  }

  /// What Kubernetes puts into every container for a Service named "feedmill"; not ours.
  static bool is_service_link(std::string_view name) {
    return name == "PORT" || name.starts_with("PORT_") || name == "SERVICE_HOST" || name.starts_with("SERVICE_PORT");
  }

  void read_flags() {
    for (const auto& [key, text] : sources_.flags) {
      if (const Option* option = find_option(key)) {
        set(*option, text, option->flag.empty() ? "flag" : "flag " + std::string(option->flag));
      } else {
        add_unknown(key, text, "flag", &Option::key);
      }
    }
  }

  void read_password() {
    const auto& file = config_.redis.password_file;
    if (file.empty()) return;
    if (auto password = read_secret(file)) {
      config_.redis.password = std::move(*password);
      if (readable_by_all(file)) warn_readable(file);
    } else {
      add("redis.password_file", "the file cannot be read");
    }
  }

  void warn_readable(const fs::path& file) {
    config_.warnings.push_back(file.string() + " holds a secret and every user may read it; chmod 600 it");
  }

  // What must hold between options. Only options that are sound by themselves are compared.

  void check_together() {
    if (sound({"schedule.lease", "fetch.wall", "schedule.commit_budget"})) {
      const auto least = config_.fetch.wall + config_.schedule.commit_budget;
      if (config_.schedule.lease < least)
        add("schedule.lease", "at least fetch.wall + schedule.commit_budget, which is " + format_duration(least));
    }
    if (sound({"schedule.floor", "schedule.min_floor"}) && config_.schedule.floor < config_.schedule.min_floor)
      add("schedule.floor", "at least schedule.min_floor, which is " + format_duration(config_.schedule.min_floor));
    if (sound({"schedule.ceiling", "schedule.floor"}) && config_.schedule.ceiling < config_.schedule.floor)
      add("schedule.ceiling", "at least schedule.floor, which is " + format_duration(config_.schedule.floor));
    if (sound({"retention.hard_cap", "retention.entries"}) && config_.retention.hard_cap < config_.retention.entries)
      add("retention.hard_cap", "at least retention.entries, which is " + std::to_string(config_.retention.entries));
    if (!config_.worker.ingest && !config_.worker.deliver)
      add("worker.deliver", "with worker.ingest off as well there is nothing to do; leave one of them on");
    if (sound({"redis.url", "redis.embedded"})) check_embedded();
  }

  void check_embedded() {
    const bool has_url = !config_.redis.url.empty();
    if (config_.redis.embedded == EmbeddedMode::always && has_url)
      add("redis.embedded", "contradicts redis.url; leave one of them out");
    if (config_.redis.embedded == EmbeddedMode::never && !has_url)
      add("redis.url", "redis.embedded is false, so a server is needed: redis://host:port");
    if (config_.redis.embedded == EmbeddedMode::automatic && !has_url &&
        !variable(sources_, "KUBERNETES_SERVICE_HOST").empty())  // RELIABILITY R12
      add("redis.url", "in Kubernetes name a server, or set redis.embedded=true and run one replica");
  }

  bool sound(std::initializer_list<std::string_view> keys) const {
    return std::ranges::none_of(keys, [&](std::string_view key) {
      return std::ranges::find(problems_, key, &ConfigProblem::key) != problems_.end();
    });
  }

  void add(std::string_view key, std::string remedy) {
    const Option& option = *find_option(key);
    const std::string value = std::visit([&](auto place) { return show_value(place(config_)); }, option.field);
    problems_.push_back({std::string(key), hide_password(value), config_.origins[std::string(key)], std::move(remedy)});
  }

  const ConfigSources& sources_;  // the caller's, outlives the reader
  Config config_;
  std::vector<ConfigProblem> problems_;
};

}  // namespace

std::span<const Option> option_table() {
  return table;
}

std::map<std::string, std::string, std::less<>> process_environment() {
  std::map<std::string, std::string, std::less<>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

fs::path config_file(const ConfigSources& sources) {
  if (!sources.file.empty()) return sources.file;
  std::vector<fs::path> directories;
  std::string_view listed = variable(sources, "CONFIGURATION_DIRECTORY");
  while (!listed.empty()) {
    const auto colon = listed.find(':');
    if (colon != 0) directories.emplace_back(listed.substr(0, colon));
    listed = colon == std::string_view::npos ? std::string_view() : listed.substr(colon + 1);
  }
  const fs::path user = user_directory(sources, "XDG_CONFIG_HOME", ".config");
  if (!user.empty()) directories.push_back(user / "feedmill");
  directories.emplace_back("/etc/feedmill");
  std::error_code ignored;
  for (const auto& directory : directories)
    if (fs::exists(directory / "feedmill.toml", ignored)) return directory / "feedmill.toml";
  return {};
}

std::string to_string(const ConfigProblem& problem) {
  std::string line = problem.key;
  // What is no URL may hold a password all the same.
  const bool may_be_secret = problem.key == "redis.url" && problem.value.find('@') != std::string::npos;
  const std::string& value = may_be_secret ? "<redacted>" : problem.value;
  if (!problem.key.empty() && !value.empty()) line += " = \"" + value + "\"";
  if (!line.empty()) line += " ";
  return line + "(" + problem.origin + "): " + problem.remedy;
}

void throw_exception_from_error(const std::vector<ConfigProblem>& problems, const boost::source_location&) {
  std::string text = "configuration refused";
  for (const auto& problem : problems) text += "\n" + to_string(problem);
  throw std::runtime_error(text);
}

boost::system::result<Config, std::vector<ConfigProblem>> load_config(const ConfigSources& sources) {
  return Reader(sources).read();
}

std::vector<ShownOption> show(const Config& config) {
  Config copy = config;  // the table reaches fields for writing
  std::vector<ShownOption> shown;
  for (const auto& option : table) {
    const std::string value = std::visit([&](auto place) { return show_value(place(copy)); }, option.field);
    const auto origin = config.origins.find(option.key);
    shown.push_back({std::string(option.key), hide_password(value),
                     origin == config.origins.end() ? "default" : origin->second, std::string(option.fallback),
                     std::string(option.meaning)});
  }
  return shown;
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> names) {
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto candidate : names) {
    std::vector<std::size_t> row(candidate.size() + 1);  // Levenshtein's table, one row at a time
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= name.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i);
      for (std::size_t j = 1; j < row.size(); ++j) {
        const std::size_t replaced = diagonal + (name[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
      }
    }
    if (row.back() < least) {
      least = row.back();
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace feedmill
