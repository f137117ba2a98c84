// Configuration: one table of options, read once from defaults, a file, the environment and flags (OPERATIONS §2).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>

#include "parsers/feed/read_feed.hpp"
#include "storage/store/store.hpp"
#include "worker/base/log.hpp"

namespace feedmill {

/// When to start a private Redis (RELIABILITY R1): without a URL, always, never.
enum class EmbeddedMode { automatic, always, never };

/// A number of bytes; empty: `auto`.
using AutomaticSize = std::optional<std::uint64_t>;

/// Where a listener binds; empty: `off`. Port 0: any free port.
using ListenAddress = std::optional<boost::asio::ip::tcp::endpoint>;

/// [feed_auth."NAME"]: a secret that feeds naming it may send to one origin (SECURITY K2, HTTP R4).
struct FeedAuth {
  std::string user;                     ///< HTTP Basic, with password_file
  std::filesystem::path password_file;  ///< file with the password
  std::string header;                   ///< or a header of this name, with value_file
  std::filesystem::path value_file;
  std::string origin;       ///< scheme://host[:port], the only origin to send it to
  std::string header_line;  ///< the header line to send, built from the file: a secret
};

/// [api.token."NAME"]: a client of the HTTP API (OPERATIONS A1). Its name is the `app` of its requests.
struct ApiToken {
  std::filesystem::path file;
  bool asks = false;                             ///< may also make changes
  std::optional<std::uint32_t> rate{}, burst{};  ///< calls a second, and at once; absent: Api::Options
  std::string token;                             ///< content of the file, or of its variable: a secret
};

/// [host."NAME"]: settings that differ for one host (HTTP H7).
struct HostOverride {
  std::optional<std::uint32_t> concurrency;
  std::optional<std::chrono::milliseconds> spacing, min_interval;  ///< min_interval: between refreshes of one feed
  std::string http_version;                                        ///< "1.1", "" = whatever the server offers
};

/// [host_group."NAME"]: hosts that share one gate and one back-off (HTTP H7).
struct HostGroup {
  std::vector<std::string> hosts;
};

/// [egress.policy."NAME"] (SECURITY E8).
struct EgressRules {
  std::vector<std::string> allow, deny, ports;
};

/// Rows of a table with named rows, by name.
template <class Row>
using Named = std::map<std::string, Row, std::less<>>;

/// The effective value of every option. Defaults exist only in the table: get a Config from load_config(). Each part of
/// the program gets its own small Options made from this, by value.
struct Config {
  struct Redis {
    std::string url;                                     ///< "" = embedded; may hold a password
    std::filesystem::path password_file;                 ///< "" = none
    std::string password;                                ///< content of password_file, or of its variable
    std::string sentinel_user;                           ///< our user name at sentinels; "" = their default user
    std::filesystem::path sentinel_password_file;        ///< "" = none
    std::string sentinel_password;                       ///< likewise of sentinel_password_file
    std::filesystem::path ca_file, cert_file, key_file;  ///< with rediss://; "" = the system's CAs, none
    std::string key_prefix;
    std::uint32_t partitions = 1;            ///< number of stores in the deployment
    std::optional<std::uint32_t> partition;  ///< the selected store; see objection_to_partition()
    std::chrono::milliseconds timeout{};
    std::uint64_t buffer = 0;  ///< limit of bytes fetched but not stored; at the limit nothing is claimed
    EmbeddedMode embedded{};
  } redis;
  struct Store {
    std::filesystem::path data_dir;
    bool allow_eviction = false;
    Durability durability{};
    std::uint32_t connections = 0;
  } store;
  struct Retention {
    std::uint32_t entries = 0;
    bool strict = false;
    std::uint32_t hard_cap = 0;
    std::chrono::milliseconds age{};  ///< 0 = no limit
    std::uint64_t bytes = 0;          ///< 0 = no limit
    std::chrono::milliseconds grace{};
    std::optional<std::uint32_t> texts;  ///< newest entries that keep content and summary; empty: all
  } retention;
  struct Feeds {
    std::chrono::milliseconds orphan_after{};  ///< 0 = never remove feeds that are no longer in a channel
  } feeds;
  struct Signals {
    std::uint32_t max_len = 0;
    std::uint64_t max_bytes = 0;    ///< 0: no limit
    std::uint64_t changed_max = 0;  ///< bytes of a value in `changed`
    bool content = false;
    std::uint64_t content_max = 0;
    bool content_text = false;
    bool deleted = false;
    bool per_feed = false;
    bool merged = false;
    bool same_as = false;
  } signals;
  struct Requests {
    std::chrono::milliseconds keep{};  ///< how long an answered ref is remembered
  } requests;
  struct Worker {
    std::uint32_t threads = 0;
    std::uint32_t lanes = 0;
    std::uint32_t cpu_threads = 0;
    bool ingest = true, deliver = true, push_out = false;
  } worker;
  struct Schedule {
    std::chrono::milliseconds lease{}, poll{};
    std::chrono::milliseconds min_floor{}, floor{}, ceiling{}, manual_floor{};
    std::uint32_t import_rate = 0, catch_up_rate = 0;  ///< feeds per second, 0 = unpaced
  } schedule;
  struct Host {
    std::uint32_t concurrency = 0;
    std::chrono::milliseconds spacing{};
  } host;
  struct Fetch {
    std::string contact;
    std::chrono::milliseconds wall{}, connect{};
    std::uint64_t max_body = 0;  ///< decoded bytes
    std::uint32_t gap_pages = 0;
    bool http2 = false, allow_downgrade = false, subscribers = false;
    std::string proxy;  ///< "" = none; may hold a password
    bool proxy_enforces_egress = false;
  } fetch;
  struct Egress {
    std::vector<std::string> allow, deny;  ///< CIDR[:port[-port]], checked for syntax (SECURITY E6)
    std::vector<std::string> ports;        ///< port[-port]
    std::vector<std::string> nat64;        ///< ADDRESS/BITS, for named policies too (RFC 6052)
    std::string name;                      ///< of this worker's egress, "" = shared with all others (HTTP H10)
  } egress;
  struct Dns {
    std::vector<std::string> servers;  ///< ADDRESS[:port]; empty = the system's
  } dns;
  struct Memory {
    AutomaticSize budget;  ///< for documents in memory; empty: automatic_memory_budget() of memory_budget.hpp
  } memory;
  struct Html {
    HtmlPolicy policy{};
    bool keep_class = false;
  } html;
  struct Admin {
    ListenAddress listen;
    std::filesystem::path token_file;  ///< "" = none
    std::string token;                 ///< content of token_file, or of its variable: a secret
    std::vector<std::string> hosts;    ///< additional host names accepted in requests (SECURITY T33)
  } admin;
  struct Api {
    ListenAddress listen;  ///< off: the admin listener serves it
  } api;
  struct WebSub {
    std::string public_url;  ///< prefix of callbacks, "" = no subscriptions; no trailing slash
    ListenAddress listen;
    bool allow_http = false;
    std::chrono::milliseconds fallback_max{};
    std::uint32_t hub_concurrency = 0;        ///< concurrent requests of all workers to one hub …
    std::chrono::milliseconds hub_spacing{};  ///< … and between their starts
  } websub;
  struct PushOut {
    std::string public_url;  ///< prefix of public URLs, "" = none; no trailing slash
    ListenAddress listen;
    std::filesystem::path token_file;  ///< "" = none
    std::string token;                 ///< content of token_file, or of its variable: a secret
    std::uint32_t at_once = 0, per_host = 0;
    std::uint32_t per_site = 0;  ///< subscriptions to the hub
    std::chrono::milliseconds timeout{}, give_up{};
    std::uint32_t streams = 0;
    std::vector<std::string> trusted_proxies;
  } push_out;
  struct Drain {
    std::chrono::milliseconds listen{}, timeout{};
  } drain;
  struct Log {
    LogLevel level{};
    LogFormat format{};
    std::vector<std::string> redact_params;  ///< names of parameters with secret values (SECURITY K1)
  } log;
  struct Debug {
    bool core = false;                  ///< a crash may leave a core file, which contains secrets (SECURITY K4)
    std::filesystem::path keep_poison;  ///< directory for documents that triggered a bug, "" = none (SECURITY Q4)
  } debug;

  Named<FeedAuth> feed_auth;
  Named<ApiToken> api_tokens;
  Named<HostOverride> hosts;
  Named<HostGroup> host_groups;
  Named<EgressRules> egress_policies;

  std::map<std::string, std::string, std::less<>> origins;  ///< key → "default", "environment FEEDMILL_REDIS_URL", …
  std::vector<std::string> warnings;                        ///< valid but unwise, one sentence each

  /// Whether the store is our private server: requested, or no URL is set (load_config() rejects that with `never`).
  bool embedded() const { return redis.embedded == EmbeddedMode::always || redis.url.empty(); }
  Partition partition() const { return {redis.partition.value_or(0), redis.partitions}; }
  /// A copy in which partition `named` is selected.
  Config of_partition(std::uint32_t named) const {
    Config its = *this;
    its.redis.partition = named;
    return its;
  }
  /// One Config per partition, in order, if several exist and none is selected; else only this one.
  std::vector<Config> of_each_partition() const {
    if (objection_to_partition().empty()) return {*this};
    std::vector<Config> all;
    for (std::uint32_t i = 0; i < redis.partitions; ++i) all.push_back(of_partition(i));
    return all;
  }
  /// The URL of the selected partition: websub.public_url or push_out.public_url with "/p3" appended (RELIABILITY L29).
  /// Unchanged if there is only one partition, none is selected, or it is empty.
  std::string url_of_partition(const std::string& public_url) const {
    if (public_url.empty() || redis.partitions == 1 || !redis.partition) return public_url;
    return public_url + "/p" + std::to_string(*redis.partition);
  }
  /// Why the store cannot be opened: it has several partitions and none is selected. "" if it can be.
  std::string objection_to_partition() const {
    if (redis.partitions == 1 || redis.partition) return {};
    return "the store has " + std::to_string(redis.partitions) + " partitions; choose one with --partition 0…" +
           std::to_string(redis.partitions - 1) + " (feedmill where URL prints a feed's partition)";
  }
};

/// Accessor of an option's value in a Config; the alternative determines its format.
using ConfigField =
    std::variant<std::string& (*)(Config&), std::filesystem::path& (*)(Config&), bool& (*)(Config&),
                 std::uint32_t& (*)(Config&), std::chrono::milliseconds& (*)(Config&), std::uint64_t& (*)(Config&),
                 std::vector<std::string>& (*)(Config&), AutomaticSize& (*)(Config&), ListenAddress& (*)(Config&),
                 EmbeddedMode& (*)(Config&), Durability& (*)(Config&), HtmlPolicy& (*)(Config&), LogLevel& (*)(Config&),
                 LogFormat& (*)(Config&), std::optional<std::uint32_t>& (*)(Config&)>;

/// A row of the option table, from which parsing, `--help`, `config show`, the sample file and the manual are derived.
struct Option {
  std::string_view key;       ///< in the file: "redis.url"
  std::string_view flag;      ///< "--redis", "" if there is none
  std::string_view fallback;  ///< the default as a user would write it, or a description if it is computed
  std::string_view unit;      ///< accepted format: "URL", "duration", "auto/true/false"
  std::string_view meaning;
  ConfigField field;
  /// The remedy for an invalid value, for people; "" if it is valid. Null: every readable value is valid.
  std::string (*check)(const Config&) = nullptr;
  bool reloads = false;     ///< SIGHUP applies a new value; otherwise a restart is needed
  bool per_worker = false;  ///< workers of one store may differ: addresses, paths, roles, sizes of a machine
  /// If the option names a file that holds a secret: accessor of the secret (SECURITY K3). Null: no secret.
  std::string& (*secret)(Config&) = nullptr;
};

/// The option's environment variable: "FEEDMILL_REDIS_URL" for redis.url.
std::string variable_of(const Option& option);

/// The variable that holds the option's secret itself: "FEEDMILL_REDIS_PASSWORD" for redis.password_file; "" if it has
/// no secret.
std::string secret_variable_of(const Option& option);

/// Feeds that may be fetched without fetch.contact (HTTP P19).
inline constexpr std::size_t feeds_without_contact = 1000;

/// All options, in the order of the manual. Constant for the program's lifetime.
std::span<const Option> option_table();

/// Keys of the options probably meant by a name that no option has: one known from another program, or an option's with
/// a part left out. `name`: "fetch.timeout", or a variable without FEEDMILL_, "FLOOR". Best first.
std::vector<std::string_view> guessed_options(std::string_view name);

/// Sources of configuration in addition to the defaults, in order of increasing precedence.
struct ConfigSources {
  std::filesystem::path file;                                   ///< --config; "" = search (see config_file)
  std::map<std::string, std::string, std::less<>> environment;  ///< all of it: FEEDMILL_*, HOME, XDG_*, …
  std::map<std::string, std::string, std::less<>> flags;        ///< key → text
};

/// The environment of this process.
std::map<std::string, std::string, std::less<>> process_environment();

/// The file to read: --config, else the first existing feedmill.toml in $CONFIGURATION_DIRECTORY,
/// $XDG_CONFIG_HOME/feedmill (~/.config/feedmill), /etc/feedmill. "" if there is none.
std::filesystem::path config_file(const ConfigSources& sources);

/// A reason why a configuration is rejected.
struct ConfigProblem {
  std::string key;     ///< "" if the whole file cannot be read
  std::string value;   ///< as written, without secrets
  std::string origin;  ///< "file /etc/feedmill/feedmill.toml:3", "environment FEEDMILL_SCHEDULE_FLOOR", "flag --keep"
  std::string remedy;

  bool operator==(const ConfigProblem&) const = default;
};

/// One line: key = value (origin): remedy.
std::string to_string(const ConfigProblem& problem);

[[noreturn]] void throw_exception_from_error(const std::vector<ConfigProblem>& problems, const boost::source_location&);

/// Reads and checks everything; on failure returns all problems, at least one (the caller exits 78).
boost::system::result<Config, std::vector<ConfigProblem>> load_config(const ConfigSources& sources);

/// Result of rereading the configuration in a running worker (RELIABILITY D5).
struct Reload {
  Config config;                     ///< the running one with the applied changes
  std::vector<std::string> changed;  ///< changed keys that were applied
  std::vector<std::string> restart;  ///< changed keys that need a restart
};

/// Like load_config(), but options that need a restart keep their running values; the combination is checked as well.
boost::system::result<Reload, std::vector<ConfigProblem>> reload_config(const ConfigSources& sources,
                                                                        const Config& running);

/// An option as printed by `config show`. `value` as a user would write it, secrets as "<set>".
struct ShownOption {
  std::string key, value, origin, fallback, meaning;
};

/// All options in the order of the table.
std::vector<ShownOption> show(const Config& config);

/// What workers of one store should have in common and differs from the defaults: values of options by key, and rows of
/// named tables by the table's path. Without secrets and paths.
std::map<std::string, std::string> common_values(const Config& config);

/// The number of letters inserted, deleted, replaced, or exchanged with their neighbour, between two words.
std::size_t typing_errors(std::string_view a, std::string_view b);

/// The entry of `names` nearest to a mistyped name, "" if none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> names);

}  // namespace feedmill
