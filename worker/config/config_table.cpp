// The table of options, and what each value must hold to.
#include <algorithm>

#include "storage/redis/redis_address.hpp"
#include "worker/base/redact.hpp"
#include "worker/config/config.hpp"
#include "worker/config/config_checks.hpp"
#include "worker/config/config_values.hpp"
#include "worker/egress/proxy.hpp"

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
  constexpr std::string_view legal = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";
  return config.redis.key_prefix.find_first_not_of(legal) == std::string::npos ? ""
                                                                               : "only letters, digits and _ . : -";
}

std::string check_egress_name(const Config& config) {
  constexpr std::string_view legal = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  const std::string& name = config.egress.name;
  return name.size() <= 32 && name != "-" && name.find_first_not_of(legal) == std::string::npos
             ? ""
             : "at most 32 letters, digits and _ . -";
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

constexpr bool on_reload = true;

std::string check_public_url(const std::string& url) {
  if (url.empty()) return {};
  const bool known = url.starts_with("https://") || url.starts_with("http://");
  const auto host = url.find("//") + 2;
  const bool clean = std::ranges::all_of(
      url, [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#' && c != '@' && c != '\\' && c != '"'; });
  if (known && clean && host < url.size() && url[host] != '/') return {};
  return "write https://host[:port][/path]: what can be reached from outside, without credentials, query and fragment";
}

/// The place of an option in a Config.
template <auto Group, auto Member>
auto& at(Config& config) {
  return config.*Group.*Member;
}

const Option all_options[] = {
    {"redis.url", "", "--redis", "", "URL",
     "the server: redis://, rediss:// for TLS, redis+sentinel://, redis+cluster://, or unix:; empty: a private one is "
     "started",
     at<&Config::redis, &Config::Redis::url>, check_redis_url},
    {"redis.password_file", "", "", "$CREDENTIALS_DIRECTORY/redis-password if present", "path",
     "file that holds the server's password", at<&Config::redis, &Config::Redis::password_file>},
    {"redis.sentinel_user", "", "", "", "text", "user name at the sentinels of redis+sentinel://, if they have users",
     at<&Config::redis, &Config::Redis::sentinel_user>},
    {"redis.sentinel_password_file", "", "", "", "path", "file that holds the password of the sentinels",
     at<&Config::redis, &Config::Redis::sentinel_password_file>},
    {"redis.ca_file", "", "", "", "path", "authorities trusted for rediss:// (PEM); empty: the system's",
     at<&Config::redis, &Config::Redis::ca_file>},
    {"redis.cert_file", "", "", "", "path", "our certificate for rediss://, where the server asks for one",
     at<&Config::redis, &Config::Redis::cert_file>},
    {"redis.key_file", "", "", "", "path", "its key (PEM, without a passphrase)",
     at<&Config::redis, &Config::Redis::key_file>},
    {"redis.key_prefix", "", "--key-prefix", "", "text", "goes before every key and channel",
     at<&Config::redis, &Config::Redis::key_prefix>, check_key_prefix},
    {"redis.partitions", "", "", "1", "number",
     "how many partitions the store has; fixed when it is made, for more posts than one node of a cluster holds",
     at<&Config::redis, &Config::Redis::partitions>,
     [](const Config& c) { return between(c.redis.partitions, 1, most_partitions); }},
    {"redis.partition", "", "--partition", "", "number",
     "which partition of the store is meant, from 0 on; a worker that is told none serves all",
     at<&Config::redis, &Config::Redis::partition>},
    {"redis.timeout", "", "", "5s", "duration", "longest wait for one command",
     at<&Config::redis, &Config::Redis::timeout>, [](const Config& c) { return at_least(c.redis.timeout, 10ms); }},
    {"redis.buffer", "", "", "32MiB", "size", "what may be fetched and wait to be stored; beyond it nothing is claimed",
     at<&Config::redis, &Config::Redis::buffer>, [](const Config& c) { return at_least(c.redis.buffer, 1 << 20); }},
    {"redis.embedded", "", "--embedded", "auto", "auto/true/false",
     "start a private server; auto: when redis.url is empty", at<&Config::redis, &Config::Redis::embedded>},
    {"store.data_dir", "DATA_DIR", "--data-dir",
     "$STATE_DIRECTORY, else for root /var/lib/feedmill if it is there, else the user's data directory", "path",
     "where the private server keeps its data", at<&Config::store, &Config::Store::data_dir>},
    {"store.allow_eviction", "ALLOW_EVICTION", "", "false", "bool", "start although the server may evict keys",
     at<&Config::store, &Config::Store::allow_eviction>},
    {"store.durability", "DURABILITY", "", "ack", "ack/fsync/replica",
     "a commit counts when the server has answered, has it on disk, or a replica has it",
     at<&Config::store, &Config::Store::durability>},
    {"store.connections", "", "", "1", "per loop", "connections to Redis for look-ups and commits",
     at<&Config::store, &Config::Store::connections>,
     [](const Config& c) { return between(c.store.connections, 1, 64); }},
    {"retention.entries", "", "--keep", "50", "entries per feed",
     "how many are kept, or what the document lists if that is more",
     at<&Config::retention, &Config::Retention::entries>,
     [](const Config& c) { return at_least(c.retention.entries, 1); }, on_reload},
    {"retention.strict", "", "", "false", "bool", "keep exactly retention.entries even if the document lists more",
     at<&Config::retention, &Config::Retention::strict>, nullptr, on_reload},
    {"retention.hard_cap", "", "", "2000", "entries per feed", "upper bound of what is kept",
     at<&Config::retention, &Config::Retention::hard_cap>, nullptr, on_reload},
    {"retention.age", "", "", "0", "duration", "entries older than this go, listed or not; 0: no limit",
     at<&Config::retention, &Config::Retention::age>, nullptr, on_reload},
    {"retention.bytes", "", "", "0", "size per feed",
     "names and values of a feed's entries together, the newest stays; 0: no limit",
     at<&Config::retention, &Config::Retention::bytes>, nullptr, on_reload},
    {"retention.grace", "", "", "7d", "duration", "how long a trimmed entry is remembered after it left the document",
     at<&Config::retention, &Config::Retention::grace>},
    {"feeds.orphan_after", "", "", "0", "duration",
     "a feed that was added for a channel and has been in none for so long is paused, after as long again removed with "
     "its entries; 0: never",
     at<&Config::feeds, &Config::Feeds::orphan_after>,
     [](const Config& c) {
       return c.feeds.orphan_after == 0ms ? std::string() : between(c.feeds.orphan_after, 1s, 24h * 3650);
     },
     on_reload},
    {"signals.max_len", "", "", "100000", "records per partition", "how long the signal stream may grow",
     at<&Config::signals, &Config::Signals::max_len>, [](const Config& c) { return at_least(c.signals.max_len, 1000); },
     on_reload},
    {"signals.max_bytes", "", "", "0", "size per partition",
     "how many bytes of signals the stream may hold; 0: any number", at<&Config::signals, &Config::Signals::max_bytes>,
     [](const Config& c) {
       return c.signals.max_bytes == 0 ? std::string() : between(c.signals.max_bytes, 1ULL << 20U, 1ULL << 50U);
     },
     on_reload},
    {"signals.changed_max", "", "", "512B", "size per value",
     "a changed value is told old and new up to so many bytes; beyond, how long both are",
     at<&Config::signals, &Config::Signals::changed_max>,
     [](const Config& c) { return between(c.signals.changed_max, 0, 64 << 10); }},
    {"signals.content", "", "", "false", "bool", "tell all of a post when it is new or has changed",
     at<&Config::signals, &Config::Signals::content>},
    {"signals.content_max", "", "", "64KiB", "size per post",
     "of a larger post signals.content tells only how large it is", at<&Config::signals, &Config::Signals::content_max>,
     [](const Config& c) { return between(c.signals.content_max, 0, 256 << 10); }},
    {"signals.content_text", "", "", "false", "bool", "tell with signals.content also its whole text without markup",
     at<&Config::signals, &Config::Signals::content_text>},
    {"signals.deleted", "", "", "false", "bool", "publish post_deleted for trimmed entries",
     at<&Config::signals, &Config::Signals::deleted>},
    {"signals.per_feed", "", "", "false", "bool",
     "publish each signal on <type>:<feed_url> as well, when it is delivered",
     at<&Config::signals, &Config::Signals::per_feed>},
    {"signals.merged", "", "", "false", "bool", "copy the events of all partitions into one stream:signals",
     at<&Config::signals, &Config::Signals::merged>},
    {"signals.same_as", "", "", "false", "bool",
     "index posts by the page they are about, and tell which tell one story",
     at<&Config::signals, &Config::Signals::same_as>},
    {"requests.keep", "", "", "7d", "duration", "how long the answer to a request's ref is remembered",
     at<&Config::requests, &Config::Requests::keep>, [](const Config& c) { return at_least(c.requests.keep, 1min); }},
    {"worker.threads", "", "--threads", "1", "event loops",
     "loops that fetch, each with a thread, lanes and connections of its own",
     at<&Config::worker, &Config::Worker::threads>, [](const Config& c) { return between(c.worker.threads, 1, 16); }},
    {"worker.lanes", "LANES", "--lanes", "256", "refreshes per loop", "refreshes at once",
     at<&Config::worker, &Config::Worker::lanes>, [](const Config& c) { return between(c.worker.lanes, 1, 100'000); }},
    {"worker.cpu_threads", "CPU_THREADS", "", "CPUs, at most 8", "threads",
     "threads that parse, shared out among the loops", at<&Config::worker, &Config::Worker::cpu_threads>,
     [](const Config& c) { return between(c.worker.cpu_threads, 1, 256); }},
    {"worker.ingest", "INGEST", "--no-ingest", "true", "bool", "fetch feeds",
     at<&Config::worker, &Config::Worker::ingest>},
    {"worker.deliver", "DELIVER", "--no-deliver", "true", "bool", "keep timelines and notices",
     at<&Config::worker, &Config::Worker::deliver>},
    {"worker.push_out", "", "--push-out", "false", "bool",
     "tell webhooks and subscribers of the hub, and serve push_out.listen",
     at<&Config::worker, &Config::Worker::push_out>},
    {"schedule.lease", "LEASE", "", "90s", "duration", "how long a worker owns a feed it claimed",
     at<&Config::schedule, &Config::Schedule::lease>},
    {"schedule.poll", "POLL", "", "2s", "duration",
     "how often a worker that waits looks for due feeds; a daemon no more often than every 10s unless one is due",
     at<&Config::schedule, &Config::Schedule::poll>,
     [](const Config& c) { return between(c.schedule.poll, 10ms, 1min); }},
    {"schedule.min_floor", "MIN_FLOOR", "", "10min", "duration",
     "no feed is polled more often; below 10min only where egress.allow opens the address",
     at<&Config::schedule, &Config::Schedule::min_floor>,
     [](const Config& c) { return at_least(c.schedule.min_floor, 1s); }, on_reload},
    {"schedule.floor", "FLOOR", "", "60min", "duration",
     "shortest interval chosen for a feed that does not ask for less", at<&Config::schedule, &Config::Schedule::floor>,
     nullptr, on_reload},
    {"schedule.ceiling", "CEILING", "", "24h", "duration", "longest interval; dormant feeds up to 7d",
     at<&Config::schedule, &Config::Schedule::ceiling>, nullptr, on_reload},
    {"schedule.manual_floor", "MANUAL_FLOOR", "", "5min", "duration", "shortest interval between refreshes by hand",
     at<&Config::schedule, &Config::Schedule::manual_floor>, nullptr, on_reload},
    {"schedule.import_rate", "IMPORT_RATE", "", "200", "feeds/s",
     "first fetches after an import, or of what programs ask for; 0: all at once",
     at<&Config::schedule, &Config::Schedule::import_rate>},
    {"schedule.catch_up_rate", "CATCH_UP_RATE", "", "200", "feeds/s",
     "overdue feeds after an outage, of all workers; 0: all at once",
     at<&Config::schedule, &Config::Schedule::catch_up_rate>, nullptr, on_reload},
    {"host.concurrency", "", "", "1", "requests", "at once per host, by all workers together",
     at<&Config::host, &Config::Host::concurrency>,
     [](const Config& c) { return between(c.host.concurrency, 1, 1000); }, on_reload},
    {"host.spacing", "", "", "1s", "duration", "between requests to a host; 0: none",
     at<&Config::host, &Config::Host::spacing>, [](const Config& c) { return between(c.host.spacing, 0ms, 1h); },
     on_reload},
    {"fetch.contact", "CONTACT", "--contact", "", "URL", "who asks, in the User-Agent; required above 1000 feeds",
     at<&Config::fetch, &Config::Fetch::contact>, check_contact},
    {"fetch.wall", "", "", "60s", "duration", "longest exchange, redirects included",
     at<&Config::fetch, &Config::Fetch::wall>, [](const Config& c) { return at_least(c.fetch.wall, 10ms); }, on_reload},
    {"fetch.connect", "", "", "10s", "duration", "longest wait for a connection",
     at<&Config::fetch, &Config::Fetch::connect>, [](const Config& c) { return at_least(c.fetch.connect, 10ms); },
     on_reload},
    {"fetch.max_body", "MAX_BODY", "", "16MiB", "size", "largest document, decoded",
     at<&Config::fetch, &Config::Fetch::max_body>,
     [](const Config& c) { return between(c.fetch.max_body, 1 << 10, 64 << 20); }, on_reload},
    {"fetch.gap_pages", "", "", "10", "pages", "of older posts that are read when posts were missed, at most; 0: none",
     at<&Config::fetch, &Config::Fetch::gap_pages>, [](const Config& c) { return between(c.fetch.gap_pages, 0, 1000); },
     on_reload},
    {"fetch.http2", "HTTP2", "", "true", "bool", "HTTP/2 where the server offers it",
     at<&Config::fetch, &Config::Fetch::http2>, nullptr, on_reload},
    {"fetch.allow_downgrade", "ALLOW_DOWNGRADE", "", "false", "bool", "follow redirects from https to http",
     at<&Config::fetch, &Config::Fetch::allow_downgrade>, nullptr, on_reload},
    {"fetch.subscribers", "SUBSCRIBERS", "", "false", "bool",
     "tell publishers in the User-Agent how many read a feed, where that is known",
     at<&Config::fetch, &Config::Fetch::subscribers>, nullptr, on_reload},
    {"fetch.proxy", "", "", "", "URL",
     "http://host:port that all fetches go through; those of the environment are not used",
     at<&Config::fetch, &Config::Fetch::proxy>, check_proxy},
    {"fetch.proxy_enforces_egress", "PROXY_ENFORCES_EGRESS", "", "false", "bool",
     "the proxy refuses private addresses itself: needed with a proxy",
     at<&Config::fetch, &Config::Fetch::proxy_enforces_egress>},
    {"egress.allow", "", "--allow", "", "CIDR[:port] list", "addresses opened that are blocked by default",
     at<&Config::egress, &Config::Egress::allow>, [](const Config& c) { return check_egress_rules(c.egress.allow); },
     on_reload},
    {"egress.deny", "", "", "", "CIDR[:port] list", "addresses never connected to; wins over egress.allow",
     at<&Config::egress, &Config::Egress::deny>, [](const Config& c) { return check_egress_rules(c.egress.deny); },
     on_reload},
    {"egress.ports", "", "", "80,443,8000-8999", "list", "ports that may be connected to",
     at<&Config::egress, &Config::Egress::ports>, [](const Config& c) { return check_egress_ports(c.egress.ports); },
     on_reload},
    {"egress.nat64", "", "", "", "CIDR list",
     "own NAT64 prefixes beside 64:ff9b::/96: an address under one counts as the IPv4 address inside",
     at<&Config::egress, &Config::Egress::nat64>, [](const Config& c) { return check_nat64_prefixes(c.egress.nat64); },
     on_reload},
    {"egress.name", "", "", "", "text",
     "name of the address that this worker asks from, where others of the store ask from another one: hosts' quotas "
     "are "
     "learned for each name",
     at<&Config::egress, &Config::Egress::name>, check_egress_name, on_reload},
    {"dns.servers", "", "", "", "ADDRESS[:port] list",
     "name servers for the names of feeds; empty: those of the system", at<&Config::dns, &Config::Dns::servers>,
     [](const Config& c) { return check_name_servers(c.dns.servers); }},
    {"memory.budget", "", "", "auto", "size",
     "for documents in memory; auto: 60 % of the cgroup's limit, with a private server a third, at least 324MiB; "
     "without "
     "a limit 512MiB",
     at<&Config::memory, &Config::Memory::budget>},
    {"html.policy", "", "", "strict", "strict", "which markup of entries survives",
     at<&Config::html, &Config::Html::policy>},
    {"html.keep_class", "", "", "false", "bool", "the policy strict keeps class attributes",
     at<&Config::html, &Config::Html::keep_class>},
    {"admin.listen", "", "--listen", "127.0.0.1:9810", "address",
     "metrics, probes, pings and the status page; off; port 0: any free one, which the log names",
     at<&Config::admin, &Config::Admin::listen>},
    {"admin.token_file", "", "", "", "path",
     "file that holds a token: who asks for metrics or the status page, or pings from another machine, must know it",
     at<&Config::admin, &Config::Admin::token_file>},
    {"admin.hosts", "", "", "", "list",
     "names that admin.listen is called by in requests without a token, besides addresses and localhost, as "
     "feedmill.example; no port",
     at<&Config::admin, &Config::Admin::hosts>, [](const Config& c) { return check_host_names(c.admin.hosts); }},
    {"api.listen", "", "", "off", "address",
     "/api/v1 for programs on a listener of its own; off: admin.listen has it; either way it needs an [api.token]",
     at<&Config::api, &Config::Api::listen>},
    {"websub.public_url", "", "", "", "URL", "where hubs reach websub.listen from outside; empty: no subscriptions",
     at<&Config::websub, &Config::WebSub::public_url>,
     [](const Config& c) { return check_public_url(c.websub.public_url); }},
    {"websub.listen", "", "", "127.0.0.1:9811", "address",
     "callbacks of hubs; off: another worker has them; port 0: any free one, which the log names",
     at<&Config::websub, &Config::WebSub::listen>},
    {"websub.allow_http", "", "", "false", "bool", "websub.public_url may be http",
     at<&Config::websub, &Config::WebSub::allow_http>},
    {"websub.fallback_max", "", "", "24h", "duration", "longest interval of a feed whose pushes have proven themselves",
     at<&Config::websub, &Config::WebSub::fallback_max>,
     [](const Config& c) { return between(c.websub.fallback_max, 1h, 7 * 24h); }},
    {"websub.hub_concurrency", "", "", "4", "requests", "at once per hub, by all workers together",
     at<&Config::websub, &Config::WebSub::hub_concurrency>,
     [](const Config& c) { return between(c.websub.hub_concurrency, 1, 64); }},
    {"websub.hub_spacing", "", "", "100ms", "duration", "between requests to a hub; 0: none",
     at<&Config::websub, &Config::WebSub::hub_spacing>,
     [](const Config& c) { return between(c.websub.hub_spacing, 0ms, 1min); }},
    {"push_out.public_url", "", "", "", "URL",
     "where push_out.listen is reached from outside; empty: no hub and no documents for others",
     at<&Config::push_out, &Config::PushOut::public_url>,
     [](const Config& c) { return check_public_url(c.push_out.public_url); }},
    {"push_out.listen", "", "", "off", "address",
     "documents of topics, the hub and the live stream, for a proxy to the outside; port 0: any free one, which the "
     "log names",
     at<&Config::push_out, &Config::PushOut::listen>},
    {"push_out.token_file", "", "", "", "path",
     "file that holds a token: who shows it may follow the live stream of all feeds; empty: of single topics alone",
     at<&Config::push_out, &Config::PushOut::token_file>},
    {"push_out.at_once", "", "", "256", "requests",
     "to receivers at once; those that failed last time have half at most",
     at<&Config::push_out, &Config::PushOut::at_once>,
     [](const Config& c) { return between(c.push_out.at_once, 1, 1024); }},
    {"push_out.per_host", "", "", "4", "requests", "to receivers on one host at once",
     at<&Config::push_out, &Config::PushOut::per_host>,
     [](const Config& c) { return between(c.push_out.per_host, 1, 64); }},
    {"push_out.per_site", "", "", "10000", "subscriptions",
     "to the hub whose callbacks are below one registrable domain, or in one network",
     at<&Config::push_out, &Config::PushOut::per_site>,
     [](const Config& c) { return between(c.push_out.per_site, 1, 100'000); }},
    {"push_out.timeout", "", "", "15s", "duration", "for a receiver to answer",
     at<&Config::push_out, &Config::PushOut::timeout>,
     [](const Config& c) { return between(c.push_out.timeout, 1s, 30s); }},
    {"push_out.give_up", "", "", "7d", "duration", "a webhook that has failed for so long is suspended",
     at<&Config::push_out, &Config::PushOut::give_up>,
     [](const Config& c) { return between(c.push_out.give_up, 1min, 30 * 24h); }},
    {"push_out.streams", "", "", "10000", "connections", "that may follow the live stream",
     at<&Config::push_out, &Config::PushOut::streams>,
     [](const Config& c) { return between(c.push_out.streams, 1, 100'000); }},
    {"push_out.trusted_proxies", "", "", "", "CIDR list",
     "proxies before push_out.listen whose X-Forwarded-For or Forwarded names the client, as 127.0.0.1 or 10.0.0.0/8; "
     "empty: requests by way of a proxy are not told apart by client",
     at<&Config::push_out, &Config::PushOut::trusted_proxies>,
     [](const Config& c) { return check_networks(c.push_out.trusted_proxies); }},
    {"drain.listen", "", "", "5s", "duration",
     "how long hubs may still call back when stopping; not after Ctrl-C at a terminal",
     at<&Config::drain, &Config::Drain::listen>, nullptr, on_reload},
    {"drain.timeout", "", "", "25s", "duration", "how long refreshes may go on when stopping",
     at<&Config::drain, &Config::Drain::timeout>, nullptr, on_reload},
    {"log.level", "", "--log-level", "info", "debug/info/warn/error", "least level that is written",
     at<&Config::log, &Config::Log::level>, nullptr, on_reload},
    {"log.format", "", "", "auto", "auto/json/logfmt/console", "auto: console on a terminal, else JSON",
     at<&Config::log, &Config::Log::format>},
    {"log.redact_params", "", "", usual_secret_parameters, "list",
     "parameters in URLs whose values are taken out of logs, metrics, pages, traces and explanations; verbs that name "
     "a "
     "feed to act on it show its whole URL",
     at<&Config::log, &Config::Log::redact_params>,
     [](const Config& c) { return check_parameter_names(c.log.redact_params); }, on_reload},
    {"debug.core", "", "", "false", "bool",
     "a crash may leave a core file, which holds secrets; the unit's LimitCORE= must permit it",
     at<&Config::debug, &Config::Debug::core>},
    {"debug.keep_poison", "", "", "", "path",
     "directory for the first 64KiB of documents that met a bug, one of each feed; empty: nowhere",
     at<&Config::debug, &Config::Debug::keep_poison>},
};
}  // namespace

std::span<const Option> option_table() {
  return all_options;
}

}  // namespace feedmill
