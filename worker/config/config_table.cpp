// The table of options and the checks of their values.
#include <algorithm>
#include <string>
#include <vector>

#include "parsers/text/strings.hpp"
#include "storage/redis/redis_address.hpp"
#include "worker/base/redact.hpp"
#include "worker/config/config.hpp"
#include "worker/config/config_values.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

using namespace std::chrono_literals;

template <class Value>
std::string at_least(Value value, std::type_identity_t<Value> least) {
  return value < least ? "at least " + show_value(least) : "";
}

template <class Value>
std::string between(Value value, std::type_identity_t<Value> least, std::type_identity_t<Value> most) {
  return value < least || value > most ? "between " + show_value(least) + " and " + show_value(most) : "";
}

std::string check_redis_url(const Config& config) {
  return config.redis.url.empty() ? "" : objection_to_redis_url(config.redis.url);
}

std::string check_key_prefix(const Config& config) {
  return has_only_alnum_and(config.redis.key_prefix, "_.:-") ? "" : "only letters, digits and _ . : -";
}

std::string check_egress_name(const Config& config) {
  const std::string& name = config.egress.name;
  const bool good = name.size() <= 32 && name != "-" && has_only_alnum_and(name, "_.-");
  return good ? "" : "at most 32 letters, digits and _ . -";
}

std::string check_contact(const Config& config) {
  const auto& contact = config.fetch.contact;
  const bool printable =
      std::ranges::all_of(contact, [](char c) { return c > ' ' && c < 0x7f && c != '(' && c != ')' && c != ';'; });
  const bool known = contact.empty() || contact.starts_with("https://") || contact.starts_with("http://") ||
                     contact.starts_with("mailto:");
  return printable && known ? "" : "write a URL: https://example.org/bot or mailto:feeds@example.org";
}

std::string check_proxy(const Config& config) {
  if (config.fetch.proxy.empty()) return {};
  const auto proxy = read_proxy(config.fetch.proxy);
  return proxy ? std::string() : proxy.error();
}

constexpr bool on_reload = true, on_restart = false, per_worker = true;

std::string check_public_url(const std::string& url) {
  if (url.empty()) return {};
  const bool known = url.starts_with("https://") || url.starts_with("http://");
  const auto host = url.find("//") + 2;
  const bool clean = std::ranges::all_of(
      url, [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#' && c != '@' && c != '\\' && c != '"'; });
  if (known && clean && host < url.size() && url[host] != '/') return {};
  return "write https://host[:port][/path] as reached from outside, without credentials, query or fragment";
}

/// Accessor of an option's value in a Config.
template <auto Group, auto Member>
auto& at(Config& config) {
  return config.*Group.*Member;
}

const Option all_options[] = {
    {"redis.url", "--redis", "", "URL",
     "the server: redis://, rediss:// for TLS, redis+sentinel://, redis+cluster://, or unix:; empty: start a private "
     "server",
     at<&Config::redis, &Config::Redis::url>, check_redis_url, on_restart, per_worker},
    {"redis.password_file", "", "$CREDENTIALS_DIRECTORY/redis-password if present", "path",
     "file that holds the server's password", at<&Config::redis, &Config::Redis::password_file>, nullptr, on_restart,
     per_worker, at<&Config::redis, &Config::Redis::password>},
    {"redis.sentinel_user", "", "", "text", "user name for the sentinels of redis+sentinel://, if they require one",
     at<&Config::redis, &Config::Redis::sentinel_user>, nullptr, on_restart, per_worker},
    {"redis.sentinel_password_file", "", "", "path", "file that holds the password of the sentinels",
     at<&Config::redis, &Config::Redis::sentinel_password_file>, nullptr, on_restart, per_worker,
     at<&Config::redis, &Config::Redis::sentinel_password>},
    {"redis.ca_file", "", "", "path", "authorities trusted for rediss:// (PEM); empty: the system's",
     at<&Config::redis, &Config::Redis::ca_file>, nullptr, on_restart, per_worker},
    {"redis.cert_file", "", "", "path", "client certificate for rediss://, if the server requires one",
     at<&Config::redis, &Config::Redis::cert_file>, nullptr, on_restart, per_worker},
    {"redis.key_file", "", "", "path", "its key (PEM, without a passphrase)",
     at<&Config::redis, &Config::Redis::key_file>, nullptr, on_restart, per_worker},
    {"redis.key_prefix", "--key-prefix", "", "text", "prefix of every key and channel",
     at<&Config::redis, &Config::Redis::key_prefix>, check_key_prefix},
    {"redis.partitions", "", "1", "number",
     "number of partitions of the store; fixed at creation; use several for more posts than one cluster node holds",
     at<&Config::redis, &Config::Redis::partitions>,
     [](const Config& c) { return between(c.redis.partitions, 1, most_partitions); }},
    {"redis.partition", "--partition", "", "number", "partition to use, from 0; a worker without it serves all",
     at<&Config::redis, &Config::Redis::partition>, nullptr, on_restart, per_worker},
    {"redis.timeout", "", "5s", "duration", "longest wait for one command", at<&Config::redis, &Config::Redis::timeout>,
     [](const Config& c) { return at_least(c.redis.timeout, 10ms); }, on_restart, per_worker},
    {"redis.buffer", "", "32MiB", "size",
     "fetched data that may wait to be stored; beyond it, the worker claims nothing",
     at<&Config::redis, &Config::Redis::buffer>, [](const Config& c) { return at_least(c.redis.buffer, 1 << 20); },
     on_restart, per_worker},
    {"redis.embedded", "--embedded", "auto", "auto/true/false", "start a private server; auto: when redis.url is empty",
     at<&Config::redis, &Config::Redis::embedded>, nullptr, on_restart, per_worker},
    {"store.data_dir", "--data-dir",
     "$STATE_DIRECTORY, else for root /var/lib/feedmill if it exists, else the user's data directory", "path",
     "where the private server keeps its data", at<&Config::store, &Config::Store::data_dir>, nullptr, on_restart,
     per_worker},
    {"store.allow_eviction", "", "false", "bool", "start even if the server may evict keys",
     at<&Config::store, &Config::Store::allow_eviction>},
    {"store.durability", "", "ack", "ack/fsync/replica",
     "count a commit once the server has answered, has synced it to disk, or a replica has it",
     at<&Config::store, &Config::Store::durability>},
    {"store.connections", "", "1", "per loop", "connections to Redis for look-ups and commits",
     at<&Config::store, &Config::Store::connections>,
     [](const Config& c) { return between(c.store.connections, 1, 64); }, on_restart, per_worker},
    {"retention.entries", "--keep", "50", "entries per feed",
     "entries to keep, or as many as the document lists if more", at<&Config::retention, &Config::Retention::entries>,
     [](const Config& c) { return at_least(c.retention.entries, 1); }, on_reload},
    {"retention.strict", "", "false", "bool", "keep exactly retention.entries even if the document lists more",
     at<&Config::retention, &Config::Retention::strict>, nullptr, on_reload},
    {"retention.hard_cap", "", "2000", "entries per feed", "maximum number of entries kept",
     at<&Config::retention, &Config::Retention::hard_cap>, nullptr, on_reload},
    {"retention.age", "", "0", "duration", "delete entries older than this, listed or not; 0: no limit",
     at<&Config::retention, &Config::Retention::age>, nullptr, on_reload},
    {"retention.bytes", "", "0", "size per feed",
     "maximum size of a feed's entries (names and values); the newest always stays; 0: no limit",
     at<&Config::retention, &Config::Retention::bytes>, nullptr, on_reload},
    {"retention.grace", "", "7d", "duration", "how long a trimmed entry is remembered after it leaves the document",
     at<&Config::retention, &Config::Retention::grace>},
    {"retention.texts", "", "", "entries per feed",
     "newest entries that keep content and summary; older ones keep their other fields; empty: all",
     at<&Config::retention, &Config::Retention::texts>, nullptr, on_reload},
    {"feeds.orphan_after", "", "0", "duration",
     "pause a feed added for a channel once it has been in no channel for this long; after the same time again, remove "
     "it with its entries; 0: never",
     at<&Config::feeds, &Config::Feeds::orphan_after>,
     [](const Config& c) {
       return c.feeds.orphan_after == 0ms ? std::string() : between(c.feeds.orphan_after, 1s, 24h * 3650);
     },
     on_reload},
    {"signals.max_len", "", "100000", "records per partition", "maximum length of the signal stream",
     at<&Config::signals, &Config::Signals::max_len>, [](const Config& c) { return at_least(c.signals.max_len, 1000); },
     on_reload},
    {"signals.max_bytes", "", "0", "size per partition", "maximum bytes of signals in the stream; 0: no limit",
     at<&Config::signals, &Config::Signals::max_bytes>,
     [](const Config& c) {
       return c.signals.max_bytes == 0 ? std::string() : between(c.signals.max_bytes, 1ULL << 20U, 1ULL << 50U);
     },
     on_reload},
    {"signals.changed_max", "", "512B", "size per value",
     "report old and new values up to this size; beyond it, only their lengths",
     at<&Config::signals, &Config::Signals::changed_max>,
     [](const Config& c) { return between(c.signals.changed_max, 0, 64 << 10); }},
    {"signals.content", "", "false", "bool", "include the whole post when it is new or changed",
     at<&Config::signals, &Config::Signals::content>},
    {"signals.content_max", "", "64KiB", "size per post", "larger posts are reported by size only",
     at<&Config::signals, &Config::Signals::content_max>,
     [](const Config& c) { return between(c.signals.content_max, 0, 256 << 10); }},
    {"signals.content_text", "", "false", "bool", "with signals.content, also include the whole text without markup",
     at<&Config::signals, &Config::Signals::content_text>},
    {"signals.deleted", "", "false", "bool", "publish post_deleted for trimmed entries",
     at<&Config::signals, &Config::Signals::deleted>},
    {"signals.per_feed", "", "false", "bool", "also publish each signal on <type>:<feed_url> when it is delivered",
     at<&Config::signals, &Config::Signals::per_feed>},
    {"signals.merged", "", "false", "bool", "copy the events of all partitions into one stream:signals",
     at<&Config::signals, &Config::Signals::merged>},
    {"signals.same_as", "", "false", "bool",
     "index posts by the page they are about, and link posts about the same story",
     at<&Config::signals, &Config::Signals::same_as>},
    {"requests.keep", "", "7d", "duration", "how long the result of a request's ref is kept",
     at<&Config::requests, &Config::Requests::keep>, [](const Config& c) { return at_least(c.requests.keep, 1min); }},
    {"worker.threads", "--threads", "1", "event loops", "fetch loops, each with its own thread, lanes and connections",
     at<&Config::worker, &Config::Worker::threads>, [](const Config& c) { return between(c.worker.threads, 1, 16); },
     on_restart, per_worker},
    {"worker.lanes", "--lanes", "256", "refreshes per loop", "concurrent refreshes",
     at<&Config::worker, &Config::Worker::lanes>, [](const Config& c) { return between(c.worker.lanes, 1, 100'000); },
     on_restart, per_worker},
    {"worker.cpu_threads", "", "CPUs, at most 8", "threads", "parser threads, shared by the loops",
     at<&Config::worker, &Config::Worker::cpu_threads>,
     [](const Config& c) { return between(c.worker.cpu_threads, 1, 256); }, on_restart, per_worker},
    {"worker.ingest", "--no-ingest", "true", "bool", "fetch feeds", at<&Config::worker, &Config::Worker::ingest>,
     nullptr, on_restart, per_worker},
    {"worker.deliver", "--no-deliver", "true", "bool", "maintain timelines and notices",
     at<&Config::worker, &Config::Worker::deliver>, nullptr, on_restart, per_worker},
    {"worker.push_out", "--push-out", "false", "bool",
     "deliver to webhooks and hub subscribers; listen on push_out.listen",
     at<&Config::worker, &Config::Worker::push_out>, nullptr, on_restart, per_worker},
    {"schedule.lease", "", "90s", "duration", "how long a worker owns a feed it claimed",
     at<&Config::schedule, &Config::Schedule::lease>},
    {"schedule.poll", "", "2s", "duration",
     "how often an idle worker looks for due feeds; a daemon at most every 10s unless one is due",
     at<&Config::schedule, &Config::Schedule::poll>,
     [](const Config& c) { return between(c.schedule.poll, 10ms, 1min); }, on_restart, per_worker},
    {"schedule.min_floor", "", "10min", "duration",
     "minimum interval of every feed; below 10min only for addresses opened by egress.allow",
     at<&Config::schedule, &Config::Schedule::min_floor>,
     [](const Config& c) { return at_least(c.schedule.min_floor, 1s); }, on_reload},
    {"schedule.floor", "", "60min", "duration",
     "shortest interval chosen for a feed that does not ask for a shorter one",
     at<&Config::schedule, &Config::Schedule::floor>, nullptr, on_reload},
    {"schedule.ceiling", "", "24h", "duration", "longest interval; dormant feeds up to 7d",
     at<&Config::schedule, &Config::Schedule::ceiling>, nullptr, on_reload},
    {"schedule.manual_floor", "", "5min", "duration", "shortest interval between manual refreshes",
     at<&Config::schedule, &Config::Schedule::manual_floor>, nullptr, on_reload},
    {"schedule.import_rate", "", "200", "feeds/s",
     "rate of first fetches after an import or for feeds that programs request; 0: all at once",
     at<&Config::schedule, &Config::Schedule::import_rate>},
    {"schedule.catch_up_rate", "", "200", "feeds/s",
     "rate of overdue feeds after an outage, over all workers; 0: all at once",
     at<&Config::schedule, &Config::Schedule::catch_up_rate>, nullptr, on_reload},
    {"host.concurrency", "", "1", "requests", "concurrent requests per host, over all workers",
     at<&Config::host, &Config::Host::concurrency>,
     [](const Config& c) { return between(c.host.concurrency, 1, 1000); }, on_reload},
    {"host.spacing", "", "1s", "duration", "time between requests to a host; 0: none",
     at<&Config::host, &Config::Host::spacing>, [](const Config& c) { return between(c.host.spacing, 0ms, 1h); },
     on_reload},
    {"fetch.contact", "--contact", "", "URL", "contact URL in the User-Agent; required above 1000 feeds",
     at<&Config::fetch, &Config::Fetch::contact>, check_contact},
    {"fetch.wall", "", "60s", "duration", "longest exchange, redirects included",
     at<&Config::fetch, &Config::Fetch::wall>, [](const Config& c) { return at_least(c.fetch.wall, 10ms); }, on_reload},
    {"fetch.connect", "", "10s", "duration", "longest wait for a connection",
     at<&Config::fetch, &Config::Fetch::connect>, [](const Config& c) { return at_least(c.fetch.connect, 10ms); },
     on_reload},
    {"fetch.max_body", "", "16MiB", "size", "largest document, decoded", at<&Config::fetch, &Config::Fetch::max_body>,
     [](const Config& c) { return between(c.fetch.max_body, 1 << 10, 64 << 20); }, on_reload},
    {"fetch.gap_pages", "", "10", "pages", "maximum pages of older posts to read when posts were missed; 0: none",
     at<&Config::fetch, &Config::Fetch::gap_pages>, [](const Config& c) { return between(c.fetch.gap_pages, 0, 1000); },
     on_reload},
    {"fetch.http2", "", "true", "bool", "use HTTP/2 if the server offers it", at<&Config::fetch, &Config::Fetch::http2>,
     nullptr, on_reload},
    {"fetch.allow_downgrade", "", "false", "bool", "follow redirects from https to http",
     at<&Config::fetch, &Config::Fetch::allow_downgrade>, nullptr, on_reload},
    {"fetch.subscribers", "", "false", "bool",
     "report a feed's number of readers to publishers in the User-Agent, if known",
     at<&Config::fetch, &Config::Fetch::subscribers>, nullptr, on_reload},
    {"fetch.proxy", "", "", "URL", "http://host:port for all fetches; proxy variables of the environment are ignored",
     at<&Config::fetch, &Config::Fetch::proxy>, check_proxy, on_restart, per_worker},
    {"fetch.proxy_enforces_egress", "", "false", "bool",
     "the proxy itself rejects private addresses; required with a proxy",
     at<&Config::fetch, &Config::Fetch::proxy_enforces_egress>, nullptr, on_restart, per_worker},
    {"egress.allow", "--allow", "", "CIDR[:port] list", "addresses to allow although blocked by default",
     at<&Config::egress, &Config::Egress::allow>, [](const Config& c) { return check_egress_rules(c.egress.allow); },
     on_reload},
    {"egress.deny", "", "", "CIDR[:port] list", "addresses never to connect to; wins over egress.allow",
     at<&Config::egress, &Config::Egress::deny>, [](const Config& c) { return check_egress_rules(c.egress.deny); },
     on_reload},
    {"egress.ports", "", "80,443,8000-8999", "list", "ports to allow", at<&Config::egress, &Config::Egress::ports>,
     [](const Config& c) { return check_egress_ports(c.egress.ports); }, on_reload},
    {"egress.nat64", "", "", "CIDR list",
     "your own NAT64 prefixes in addition to 64:ff9b::/96; addresses under them are checked as the IPv4 address inside",
     at<&Config::egress, &Config::Egress::nat64>, [](const Config& c) { return check_nat64_prefixes(c.egress.nat64); },
     on_reload, per_worker},
    {"egress.name", "", "", "text",
     "name of this worker's source address, if workers of the store use different ones; host quotas are learned per "
     "name",
     at<&Config::egress, &Config::Egress::name>, check_egress_name, on_reload, per_worker},
    {"dns.servers", "", "", "ADDRESS[:port] list", "DNS servers for feed hosts; empty: the system's",
     at<&Config::dns, &Config::Dns::servers>, [](const Config& c) { return check_name_servers(c.dns.servers); },
     on_restart, per_worker},
    {"memory.budget", "", "auto", "size",
     "memory for documents; auto: 60 % of the cgroup limit, a third of it with a private server, at least 324MiB; "
     "512MiB without a limit",
     at<&Config::memory, &Config::Memory::budget>, nullptr, on_restart, per_worker},
    {"html.policy", "", "strict", "strict", "which markup of entries to keep",
     at<&Config::html, &Config::Html::policy>},
    {"html.keep_class", "", "false", "bool", "keep class attributes under the policy strict",
     at<&Config::html, &Config::Html::keep_class>},
    {"admin.listen", "--listen", "127.0.0.1:9810", "address",
     "metrics, probes, pings and the status page; off; port 0: any free port, which is logged",
     at<&Config::admin, &Config::Admin::listen>, nullptr, on_restart, per_worker},
    {"admin.token_file", "", "", "path",
     "file that holds a token, required for metrics, the status page and pings from other machines",
     at<&Config::admin, &Config::Admin::token_file>, nullptr, on_restart, per_worker,
     at<&Config::admin, &Config::Admin::token>},
    {"admin.hosts", "", "", "list",
     "host names of admin.listen accepted without a token, in addition to IP addresses and localhost, such as "
     "feedmill.example; no port",
     at<&Config::admin, &Config::Admin::hosts>, [](const Config& c) { return check_host_names(c.admin.hosts); },
     on_restart, per_worker},
    {"api.listen", "", "off", "address",
     "separate listener for /api/v1; off: admin.listen serves it; both need an [api.token]",
     at<&Config::api, &Config::Api::listen>, nullptr, on_restart, per_worker},
    {"websub.public_url", "", "", "URL", "public URL at which hubs reach websub.listen; empty: no subscriptions",
     at<&Config::websub, &Config::WebSub::public_url>,
     [](const Config& c) { return check_public_url(c.websub.public_url); }},
    {"websub.listen", "", "127.0.0.1:9811", "address",
     "listener for hub callbacks; off: another worker receives them; port 0: any free port, which is logged",
     at<&Config::websub, &Config::WebSub::listen>, nullptr, on_restart, per_worker},
    {"websub.allow_http", "", "false", "bool", "allow http in websub.public_url",
     at<&Config::websub, &Config::WebSub::allow_http>},
    {"websub.fallback_max", "", "24h", "duration", "longest interval of a feed with proven pushes",
     at<&Config::websub, &Config::WebSub::fallback_max>,
     [](const Config& c) { return between(c.websub.fallback_max, 1h, 7 * 24h); }},
    {"websub.hub_concurrency", "", "4", "requests", "concurrent requests per hub, over all workers",
     at<&Config::websub, &Config::WebSub::hub_concurrency>,
     [](const Config& c) { return between(c.websub.hub_concurrency, 1, 64); }},
    {"websub.hub_spacing", "", "100ms", "duration", "time between requests to a hub; 0: none",
     at<&Config::websub, &Config::WebSub::hub_spacing>,
     [](const Config& c) { return between(c.websub.hub_spacing, 0ms, 1min); }},
    {"push_out.public_url", "", "", "URL", "public URL of push_out.listen; empty: no hub and no shared documents",
     at<&Config::push_out, &Config::PushOut::public_url>,
     [](const Config& c) { return check_public_url(c.push_out.public_url); }},
    {"push_out.listen", "", "off", "address",
     "listener for topic documents, the hub and the live stream, for a public proxy; port 0: any free port, which "
     "is logged",
     at<&Config::push_out, &Config::PushOut::listen>, nullptr, on_restart, per_worker},
    {"push_out.token_file", "", "", "path",
     "file that holds the token for the live stream of all feeds; empty: only single topics",
     at<&Config::push_out, &Config::PushOut::token_file>, nullptr, on_restart, per_worker,
     at<&Config::push_out, &Config::PushOut::token>},
    {"push_out.at_once", "", "256", "requests",
     "concurrent deliveries; receivers that failed last time get at most half",
     at<&Config::push_out, &Config::PushOut::at_once>,
     [](const Config& c) { return between(c.push_out.at_once, 1, 1024); }, on_restart, per_worker},
    {"push_out.per_host", "", "4", "requests", "concurrent deliveries per receiver host",
     at<&Config::push_out, &Config::PushOut::per_host>,
     [](const Config& c) { return between(c.push_out.per_host, 1, 64); }},
    {"push_out.per_site", "", "10000", "subscriptions",
     "hub subscriptions with callbacks in one registrable domain or one network",
     at<&Config::push_out, &Config::PushOut::per_site>,
     [](const Config& c) { return between(c.push_out.per_site, 1, 100'000); }},
    {"push_out.timeout", "", "15s", "duration", "time limit for a receiver's answer",
     at<&Config::push_out, &Config::PushOut::timeout>,
     [](const Config& c) { return between(c.push_out.timeout, 1s, 30s); }},
    {"push_out.give_up", "", "7d", "duration", "suspend a webhook that has failed for this long",
     at<&Config::push_out, &Config::PushOut::give_up>,
     [](const Config& c) { return between(c.push_out.give_up, 1min, 30 * 24h); }},
    {"push_out.streams", "", "10000", "connections", "maximum clients of the live stream",
     at<&Config::push_out, &Config::PushOut::streams>,
     [](const Config& c) { return between(c.push_out.streams, 1, 100'000); }, on_restart, per_worker},
    {"push_out.trusted_proxies", "", "", "CIDR list",
     "proxies in front of push_out.listen that name the client in X-Forwarded-For or Forwarded, such as 127.0.0.1 or "
     "10.0.0.0/8; empty: clients of a proxy are not distinguished",
     at<&Config::push_out, &Config::PushOut::trusted_proxies>,
     [](const Config& c) { return check_networks(c.push_out.trusted_proxies); }, on_restart, per_worker},
    {"drain.listen", "", "5s", "duration",
     "how long hubs may still call back while stopping; not after Ctrl-C at a terminal",
     at<&Config::drain, &Config::Drain::listen>, nullptr, on_reload, per_worker},
    {"drain.timeout", "", "25s", "duration", "how long refreshes may continue while stopping",
     at<&Config::drain, &Config::Drain::timeout>, nullptr, on_reload, per_worker},
    {"log.level", "--log-level", "info", "debug/info/warn/error", "minimum level to log",
     at<&Config::log, &Config::Log::level>, nullptr, on_reload, per_worker},
    {"log.format", "", "auto", "auto/json/logfmt/console", "auto: console on a terminal, else JSON",
     at<&Config::log, &Config::Log::format>, nullptr, on_restart, per_worker},
    {"log.redact_params", "", usual_secret_parameters, "list",
     "URL parameters to redact in logs, metrics, pages, traces and explanations; verbs that act on a "
     "named feed show its whole URL",
     at<&Config::log, &Config::Log::redact_params>,
     [](const Config& c) { return check_parameter_names(c.log.redact_params); }, on_reload},
    {"debug.core", "", "false", "bool",
     "allow a core file after a crash; it holds secrets; the unit's LimitCORE= must permit it",
     at<&Config::debug, &Config::Debug::core>, nullptr, on_restart, per_worker},
    {"debug.keep_poison", "", "", "path",
     "directory for the first 64KiB of documents that triggered a bug, one per feed; empty: none",
     at<&Config::debug, &Config::Debug::keep_poison>, nullptr, on_restart, per_worker},
};

/// What other programs call an option; separated by spaces.
struct OptionGuesses {
  std::string_view keys, words;
};

constexpr OptionGuesses option_guesses[] = {
    {"redis.url",
     "redis redis_uri redis_host redis_addr redis_address redis_server redis_dsn store_url store_redis_url "
     "database_url "
     "db_url broker_url"},
    {"fetch.wall fetch.connect",
     "timeout fetch_timeout http_timeout http_client_timeout client_timeout request_timeout fetcher_timeout "
     "download_timeout"},
    {"worker.lanes host.concurrency",
     "concurrency max_concurrency fetch_concurrency worker_concurrency pool_size worker_pool_size max_connections "
     "parallel jobs workers worker_count fetcher_concurrency concurrent_requests"},
    {"fetch.contact", "user_agent useragent agent http_user_agent http_client_user_agent fetch_user_agent email"},
    {"fetch.proxy", "http_proxy https_proxy proxy proxy_url http_client_proxy http_client_proxy_url fetch_http_proxy"},
    {"fetch.max_body",
     "max_size max_body_size http_client_max_body_size fetch_max_size max_document_size max_response_size"},
    {"egress.allow", "allow_private allow_local allow_localhost fetch_allow_private allow_private_networks"},
    {"schedule.floor schedule.ceiling",
     "interval poll_interval polling_interval polling_frequency refresh_interval fetch_interval update_interval "
     "min_interval schedule_interval scheduler_interval schedule_min_interval scheduler_min_interval frequency "
     "polling_scheduler scheduler_round_robin_min_interval schedule_default_interval default_interval"},
    {"retention.entries",
     "max_entries max_items max_posts entries_limit store_max_entries keep_entries feed_max_items"},
    {"retention.age",
     "max_age max_days retention_days cleanup_archive_read_days cleanup_archive_unread_days archive_days"},
    {"admin.listen",
     "port host bind bind_address address listen listen_addr listen_address http_listen http_port http_addr "
     "server_port "
     "server_host server_listen metrics metrics_enabled metrics_collector metrics_listen metrics_port metrics_addr "
     "prometheus prometheus_port health_port"},
    {"api.listen", "api api_port api_address api_addr api_bind api_enabled"},
    {"log.level", "loglevel logging_level verbosity debug log_debug verbose logging"},
    {"log.format", "logging_format log_json json_logs"},
    {"push_out.public_url", "base_url public_url root_url external_url"},
    {"store.data_dir", "data data_directory data_path storage_path storage_dir db_path"},
};

/// A key or variable in one notation: "fetch_timeout".
std::string in_one_notation(std::string_view name) {
  std::string plain = lower(name);
  std::ranges::replace_if(
      plain, [](char c) { return c == '.' || c == '-'; }, '_');
  return plain;
}

}  // namespace

std::span<const Option> option_table() {
  return all_options;
}

std::vector<std::string_view> guessed_options(std::string_view name) {
  const std::string word = in_one_notation(name);
  for (const OptionGuesses& row : option_guesses) {
    if (!is_word_of(word, row.words)) continue;
    std::vector<std::string_view> keys;
    for (std::string_view rest = row.keys; !rest.empty();) keys.push_back(take_until(rest, ' '));
    return keys;
  }
  for (const Option& option : option_table()) {
    const std::string key = in_one_notation(option.key),
                      flag = "_" + in_one_notation(option.flag.substr(std::min<std::size_t>(2, option.flag.size())));
    const std::string section = key.substr(0, option.key.find('.') + 1), last = key.substr(section.size());
    const bool is_flag = flag.size() > 1 && ("_" + word).ends_with(flag);
    const bool is_end = word.starts_with(section) && last.ends_with("_" + word.substr(section.size()));
    if (word == last || is_flag || is_end) return {option.key};
  }
  return {};
}

}  // namespace feedmill
