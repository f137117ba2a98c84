#include "worker/process/run_options.hpp"

#include <algorithm>
#include <random>
#include <sys/resource.h>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "parsers/text/limits.hpp"
#include "storage/records/fleet_records.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {

std::string configuration_digest(const Config& config) {
  std::string text;
  for (const ShownOption& option : show(config)) text.append(option.key).append("=").append(option.value).append("\n");
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string roles_text(const Config& config) {
  std::string text;
  const auto add = [&](bool does, std::string_view role) {
    if (does) text.append(text.empty() ? "" : " ").append(role);
  };
  add(config.worker.ingest, "fetch");
  add(config.worker.deliver, "deliver");
  add(config.worker.push_out, "push_out");
  return text;
}

std::string common_digests(const Config& config) {
  std::string text;
  for (const auto& [key, value] : common_values(config)) {
    const auto digest = static_cast<std::uint32_t>(XXH3_64bits(value.data(), value.size()));
    text += fmt::format("{}{}={:08x}", text.empty() ? "" : " ", key, digest);
  }
  return text;
}

namespace {

EventDetail event_detail(const Config& config) {
  return {config.signals.changed_max, config.signals.content, config.signals.content_max, config.signals.content_text};
}

}  // namespace

StoreOptions store_options(const Config& config, std::string url) {
  StoreOptions options;
  options.url = std::move(url);
  options.password = config.redis.password;
  options.sentinel_user = config.redis.sentinel_user;
  options.sentinel_password = config.redis.sentinel_password;
  options.key_prefix = config.redis.key_prefix;
  options.partition = config.partition();
  options.timeout = config.redis.timeout;
  options.allow_eviction = config.store.allow_eviction;
  options.signals_max_len = config.signals.max_len;
  options.signals_max_bytes = config.signals.max_bytes;
  options.events = event_detail(config);
  options.signals_deleted = config.signals.deleted;
  options.durability = config.store.durability;
  options.ca_file = config.redis.ca_file.string();
  options.cert_file = config.redis.cert_file.string();
  options.key_file = config.redis.key_file.string();
  return options;
}

MemoryPlan memory_plan(const Config& config) {
  return plan_memory(config.memory.budget, MemoryBudget::least(config.fetch.max_body), config.embedded());
}

std::uint64_t shared_memory(const Config& config) {
  const std::uint64_t documents = memory_plan(config).documents;
  return documents - std::min(documents, limits::reading_cost(config.fetch.max_body));
}

namespace {

/// The Redis connections of one loop, including those to other partitions (see StorePool).
std::size_t redis_connections(const Config& config) {
  return config.store.connections + std::size_t{3} + other_partitions(config, stores_of(config));
}

constexpr std::size_t ours = 96;  // descriptors: files, listener, Redis, name servers, connections beyond the lanes

}  // namespace

std::size_t loops_of(const Config& config, RunMode mode) {
  return mode != RunMode::selected && config.worker.ingest ? config.worker.threads : 1;
}

std::size_t other_partitions(const Config& config, std::size_t stores) {
  return stores > 1 && loops_of(config, RunMode::daemon) == 1 ? 0 : config.redis.partitions - 1;
}

std::size_t lanes_within(std::size_t descriptors, std::size_t others) {
  descriptors -= std::min(descriptors, others);  // each may have one open connection
  return descriptors >= 2 * ours ? descriptors - ours : std::max<std::size_t>(descriptors / 4, 1);
}

std::string lanes_of_each(std::size_t stores, std::size_t loops) {
  return stores > 1  ? fmt::format(" for each of {} partitions", stores)
         : loops > 1 ? fmt::format(" for each of {} loops", loops)
                     : "";
}

std::size_t descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_max == RLIM_INFINITY ? 1'000'000 : limit.rlim_max;
}

std::size_t stores_of(const Config& config) {
  return config.redis.partition ? 1 : config.redis.partitions;
}

Milliseconds idle_pace(std::size_t stores, Milliseconds usual, Milliseconds of_most) {
  return std::clamp(of_most * static_cast<std::int64_t>(stores) / most_partitions, usual, of_most);
}

Milliseconds wait_in_redis(std::size_t stores) {
  return idle_pace(stores, Milliseconds(2'000), Milliseconds(180'000));
}

std::size_t least_descriptors(const Config& config) {
  constexpr std::size_t beside = 18, of_a_loop = 7, fetches = 4;
  return beside +
         stores_of(config) * loops_of(config, RunMode::daemon) * (of_a_loop + fetches + redis_connections(config));
}

std::size_t kept_within(std::size_t descriptors, std::size_t lanes) {
  constexpr std::size_t most = 1024;  // libcurl checks each idle connection every second
  return std::min(most, (descriptors - std::min(descriptors, lanes + ours)) / 2);
}

std::string worker_id() {
  std::random_device random;
  std::string id;
  while (id.size() < 28) id += fmt::format("{:08x}", random());
  return worker_id(id, 0);
}

std::string worker_id(const std::string& first, std::size_t loop) {
  return std::string(process_of(first)) + fmt::format("{:04x}", loop);
}

std::size_t reading_threads(const Config& config, std::size_t loops) {
  return std::max<std::size_t>(config.worker.cpu_threads / loops, 1);
}

std::size_t least_tasks(const Config& config) {
  constexpr std::size_t beside = 32;  // log, blocking calls, probes of pages, a private server
  const std::size_t loops = loops_of(config, RunMode::daemon), others = (loops - 1) * stores_of(config);
  return beside + reading_threads(config, loops) + others * (1 + reading_threads(config, loops * stores_of(config)));
}

RefreshOptions refresh_options(const Config& config, RunMode mode) {
  RefreshOptions options;
  options.reading.max_body_bytes = config.fetch.max_body;
  options.reading.html = config.html.policy;
  options.reading.keep_class = config.html.keep_class;
  options.policy.schedule = {config.schedule.min_floor, config.schedule.floor, config.schedule.ceiling};
  options.policy.retention.entries = config.retention.entries;
  options.policy.retention.hard_cap = config.retention.hard_cap;
  options.policy.retention.strict = config.retention.strict;
  options.policy.retention.grace = config.retention.grace;
  options.policy.retention.age = config.retention.age;
  options.policy.retention.bytes = config.retention.bytes;
  if (config.retention.texts) options.policy.retention.texts = *config.retention.texts;
  options.policy.events = event_detail(config);
  options.policy.gap_pages = config.fetch.gap_pages;
  options.policy.push = {!config.websub.public_url.empty(), config.websub.fallback_max};
  options.lease = config.schedule.lease;
  options.host = {config.host.concurrency, config.host.spacing, config.egress.name};
  options.hosts = HostRules(config);
  options.partition = config.partition();
  options.keep_poison = config.debug.keep_poison;
  if (mode != RunMode::daemon) options.memory_wait = config.fetch.wall;
  for (const auto& [host, differing] : config.hosts) {
    if (differing.min_interval) options.policy.host_min_interval[host] = *differing.min_interval;
  }
  return options;
}

WorkerOptions worker_options(const Config& config, std::string id, std::size_t lanes, std::size_t stores) {
  WorkerOptions options;
  options.id = std::move(id);
  options.lanes = lanes;
  options.lease = config.schedule.lease;
  options.poll = config.schedule.poll;
  options.host = {config.host.concurrency, config.host.spacing, config.egress.name};
  options.catch_up_rate = config.schedule.catch_up_rate;
  options.buffer = config.redis.buffer;
  options.drain = config.drain.timeout;
  options.listen = wait_in_redis(stores);
  options.look = std::max(options.poll, idle_pace(stores, Milliseconds(10'000), Milliseconds(60'000)));
  return options;
}

DeliverLoop::Options deliver_options(const Config& config, const std::string& token, RunMode mode, std::size_t stores) {
  DeliverLoop::Options options;
  options.deliverer.token = token;
  options.deliverer.per_feed = config.signals.per_feed;
  options.deliverer.merges = config.signals.merged;
  if (config.signals.same_as) {
    options.deliverer.stories = StoryIndex::kept;
  } else if (mode == RunMode::selected) {  // a verb may run without the workers' configuration file
    options.deliverer.stories = StoryIndex::left;
  }
  options.deliverer.upkeep_every = idle_pace(stores, Milliseconds(15'000), Milliseconds(300'000));
  options.block = mode == RunMode::daemon ? wait_in_redis(stores) : Milliseconds(0);  // ends with the work
  options.wait_for_others = mode == RunMode::once;
  options.tells_of_store = !config.worker.ingest;
  return options;
}

RequestRules request_rules(const Config& config) {
  return {config, EgressViewer(look_options(config))};
}

Api::Options api_options(const Config& config, std::string url) {
  Api::Options options;
  options.store = store_options(config, std::move(url));
  if (config.api.listen) {  // probes use the admin listener
    options.at_once = 32;
    options.waiting = 64;
  }
  return options;
}

std::optional<WebSub::Options> websub_options(const Config& config, const std::string& id, RunMode mode) {
  if (mode != RunMode::daemon || !config.worker.ingest || config.websub.public_url.empty()) return {};
  WebSub::Options options;
  options.answers_hubs = config.websub.listen.has_value();
  options.intake.worker = id;
  options.subscriber.public_url = config.url_of_partition(config.websub.public_url);
  options.subscriber.partition = config.partition();
  options.subscriber.per_hub = config.websub.hub_concurrency;
  options.subscriber.spacing = config.websub.hub_spacing;
  options.drain = config.drain.listen;
  return options;
}

std::optional<PushOut::Options> push_out_options(const Config& config, const std::string& token, RunMode mode,
                                                 std::size_t descriptors, std::size_t stores) {
  if (mode != RunMode::daemon || !config.worker.push_out) return {};
  PushOut::Options options;
  options.block = wait_in_redis(stores);
  options.engine.look = idle_pace(stores, Milliseconds(1'000), Milliseconds(15'000));
  options.engine.lead = idle_pace(stores, Milliseconds(10'000), Milliseconds(60'000));
  options.engine.token = token;
  options.engine.hub = config.url_of_partition(config.push_out.public_url) + "/hub";
  options.engine.at_once = config.push_out.at_once;
  options.engine.per_host = config.push_out.per_host;
  options.engine.timeout = config.push_out.timeout;
  options.engine.give_up = config.push_out.give_up;
  if (config.push_out.listen) {
    Outside::Options& outside = options.outside.emplace();
    outside.public_url = config.url_of_partition(config.push_out.public_url);
    outside.of_listener = config.push_out.public_url;
    outside.token = config.push_out.token;
    outside.bounds.of_site = config.push_out.per_site;
    outside.bounds.unverified_of_site =
        std::min<std::size_t>(outside.bounds.unverified_of_site, config.push_out.per_site);
  }
  options.streams.most = std::min<std::size_t>(config.push_out.streams, descriptors / 2);
  options.streams.partition = config.partition();
  options.drain = config.drain.listen;
  options.tells_of_store = !config.worker.ingest && !config.worker.deliver;
  return options;
}

CallbackListener::Options callback_options(const Config& config) {
  CallbackListener::Options options;
  options.listen = *config.websub.listen;
  options.base = path_of(config.websub.public_url);
  return options;
}

OutsideListener::Options outside_options(const Config& config) {
  OutsideListener::Options options;
  options.listen = *config.push_out.listen;
  options.base = path_of(config.push_out.public_url);
  options.proxies = *TrustedProxies::parse(config.push_out.trusted_proxies);  // valid: the configuration was checked
  return options;
}

boost::system::result<EgressPolicies, std::string> egress_policies(const Config& config) {
  auto standard =
      EgressPolicy::parse(config.egress.allow, config.egress.deny, config.egress.ports, config.egress.nat64);
  if (!standard) return standard.error();
  EgressPolicies policies{std::move(*standard), {}};
  for (const auto& [name, rules] : config.egress_policies) {
    auto policy = EgressPolicy::parse(rules.allow, rules.deny, rules.ports, config.egress.nat64);
    if (!policy) return "egress.policy." + name + ": " + policy.error();
    policies.named.emplace(name, std::move(*policy));
  }
  return policies;
}

FetchOptions look_options(const Config& config) {
  return fetch_options(config, *egress_policies(config), 1, RunMode::selected);
}

ProbeOptions probe_options(const Config& config) {
  ProbeOptions options;
  options.fetch = look_options(config);
  RefreshOptions refresh = refresh_options(config, RunMode::selected);
  options.reading = std::move(refresh.reading);
  options.host = std::move(refresh.host);
  options.hosts = std::move(refresh.hosts);
  return options;
}

FetchOptions fetch_options(const Config& config, EgressPolicies egress, std::size_t lanes, RunMode mode) {
  FetchOptions options;
  options.wall = config.fetch.wall;
  options.connect_timeout = config.fetch.connect;
  options.max_body_bytes = config.fetch.max_body;
  options.http2 = config.fetch.http2;
  options.allow_downgrade = config.fetch.allow_downgrade;
  options.contact = config.fetch.contact;
  options.max_connections = lanes + std::min<std::size_t>(lanes, 16);
  if (!config.websub.public_url.empty()) options.max_connections += most_hub_requests;
  options.max_per_network = std::max<std::size_t>(8, lanes / 10);                          // HTTP H8
  if (mode != RunMode::daemon) options.network_wait = options.memory_wait = options.wall;  // wait, do not defer
  options.egress = std::move(egress.standard);
  options.policies = std::move(egress.named);
  for (const auto& [name, auth] : config.feed_auth) {
    options.credentials[name] = {origin_of(auth.origin), auth.header_line};
  }
  for (const auto& [host, differing] : config.hosts) {
    if (differing.http_version == "1.1") options.http1_hosts.insert(host);
  }
  options.proxy = config.fetch.proxy;
  options.proxy_enforces_egress = config.fetch.proxy_enforces_egress;
  options.subscribers = config.fetch.subscribers;
  for (const std::string& server : config.dns.servers) {
    options.resolver.servers.append(options.resolver.servers.empty() ? "" : ",").append(server);
  }
  return options;
}

}  // namespace feedmill
