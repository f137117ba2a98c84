#include "worker/verbs/doctor.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <unistd.h>

#include "storage/redis/redis.hpp"
#include "worker/base/system.hpp"
#include "worker/base/units.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/process/run_options.hpp"
#include "worker/words/explanation.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::size_t shown_hosts = 20;
constexpr std::uintmax_t little_space = 256u << 20;
constexpr std::chrono::seconds probe_timeout{5};  // for name servers and proxies

Finding ok(std::string check, std::string text) {
  return {std::move(check), Verdict::ok, std::move(text), ""};
}

std::string count_text(double number) {
  return grouped(std::llround(number));
}

/// The nearest existing parent directory of `path`.
fs::path nearest_existing(fs::path path) {
  std::error_code ignored;
  while (!path.empty() && !fs::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path.empty() ? fs::path(".") : path;
}

std::size_t certificates_in(const std::string& file) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_file(file.c_str(), "r"), &BIO_free);
  std::size_t count = 0;
  while (bio != nullptr) {
    const std::unique_ptr<X509, decltype(&X509_free)> one(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr),
                                                          &X509_free);
    if (one == nullptr) break;
    ++count;
  }
  ERR_clear_error();  // the end of the file counts as an error
  return count;
}

LookedUp look_up_one(const ResolverOptions& options, const std::string& name) {
  return look_up(options, {name}, probe_timeout).at(name);
}

std::string listed(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

Finding check_clock(Milliseconds skew) {
  const double seconds = std::abs(static_cast<double>(skew.count())) / 1000.0;
  const std::string text = fmt::format("ours and the server's differ by {:.1f} s", seconds);
  if (abs(skew) <= clock_warning) return ok("clock", text);
  return {"clock", abs(skew) > clock_fault ? Verdict::fail : Verdict::warn, text,
          "synchronise both by NTP: due times use the server's clock, certificates and dates use ours"};
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  return verdict == Verdict::ok ? "ok" : verdict == Verdict::warn ? "warn" : "fail";
}

Finding check_dns(const ResolverOptions& options, const std::string& name) {
  const LookedUp answer = look_up_one(options, name);
  if (answer.has_value()) return ok("dns", fmt::format("{} is {}", name, answer->front()));
  if (answer.error().reason == Reason::dns_not_found)
    return ok("dns", fmt::format("the name servers answer: {} does not exist", name));
  return {"dns", Verdict::fail,
          fmt::format("{}: {}: {}", name, to_string(answer.error().reason), answer.error().detail),
          "check the name servers in /etc/resolv.conf and that UDP port 53 gets out"};
}

Finding check_tls_roots(const std::string& file) {
  const std::size_t count = certificates_in(file);
  if (count > 0) return ok("tls roots", fmt::format("{} authorities in {}", count, file));
  return {"tls roots", Verdict::fail, fmt::format("no certificate in {}: no https feed can be fetched", file),
          "install the authorities: apt-get install ca-certificates"};
}

Finding check_descriptors(std::size_t limit, const Config& config) {
  const std::size_t lanes = config.worker.lanes, stores = stores_of(config), loops = config.worker.threads * stores;
  const std::size_t least = least_descriptors(config);
  if (limit < least) {
    return {"descriptors", Verdict::fail, fmt::format("{} files may be open, and a worker needs {}", limit, least),
            "raise the limit (LimitNOFILE=, ulimit -Hn) or lower worker.threads or store.connections"};
  }
  const std::size_t carried = lanes_within(limit / loops, other_partitions(config, stores));
  const std::string text =
      fmt::format("{} files may be open, {} lanes configured{}", limit, lanes, lanes_of_each(stores, loops));
  if (carried >= lanes) return ok("descriptors", text);
  return {"descriptors", Verdict::warn, fmt::format("{}: only {} of them are usable", text, carried),
          fmt::format("raise the limit (LimitNOFILE=, ulimit -Hn) or lower worker.lanes to {}", carried)};
}

Finding check_websub(const Config& config) {
  const std::string url = config.url_of_partition(config.websub.public_url);
  if (url.empty()) return ok("websub", "off: no hub is subscribed to");
  const std::string host = host_of(url + "/");
  boost::system::error_code no_address;
  const bool bracketed = host.starts_with('[');
  const auto address = asio::ip::make_address(bracketed ? host.substr(1, host.size() - 2) : host, no_address);
  if (host == "localhost" || (!no_address && address.is_loopback())) {
    return {"websub", Verdict::warn, url + " is this machine's own: hubs elsewhere cannot reach it",
            "set websub.public_url to the URL they can reach from outside"};
  }
  if (!config.websub.listen) return ok("websub", url + ", served by another worker");
  boost::system::error_code error;
  asio::io_context loop(1);
  asio::ip::tcp::acceptor acceptor(loop);
  acceptor.open(config.websub.listen->protocol(), error);
  if (!error) acceptor.set_option(asio::ip::tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(*config.websub.listen, error);
  const std::string listen = config.websub.listen->address().to_string();
  if (error && error != asio::error::address_in_use) {
    return {"websub", Verdict::fail, fmt::format("cannot listen on {}: {}", listen, error.message()),
            "set websub.listen to an address of this machine"};
  }
  if (url.starts_with("http:")) {
    return {"websub", Verdict::warn, url + " is http: what hubs send can be read and forged",
            "put a proxy with a certificate in front of websub.listen, and use https"};
  }
  return ok("websub", fmt::format("{} leads to {}, port {}{}", url, listen, config.websub.listen->port(),
                                  error ? ", which a worker has" : ""));
}

Finding check_data_directory(const Config& config) {
  if (!config.embedded()) return ok("data directory", "not used: Redis is the operator's own");
  const fs::path& wanted = config.store.data_dir;
  const fs::path place = nearest_existing(wanted);
  std::error_code error;
  const bool directory = fs::is_directory(place, error);
  if (!directory || ::access(place.c_str(), W_OK | X_OK) != 0) {
    return {"data directory", Verdict::fail, fmt::format("{} cannot be written to", place.string()),
            fmt::format("give {} to this user, or set store.data_dir", wanted.string())};
  }
  const fs::space_info space = fs::space(place, error);
  if (!error && space.available < little_space) {
    return {"data directory", Verdict::warn,
            fmt::format("{} has {} left", wanted.string(), bytes_text(space.available)), "make room on its disk"};
  }
  struct stat status {};
  if (place == wanted && ::stat(place.c_str(), &status) == 0 && (status.st_mode & (S_IROTH | S_IXOTH)) != 0) {
    return {"data directory", Verdict::warn, fmt::format("other users may enter {}", wanted.string()),
            fmt::format("chmod 700 {}", wanted.string())};
  }
  return ok("data directory", fmt::format("{}, {} free", wanted.string(), bytes_text(error ? 0 : space.available)));
}

Finding check_poison_directory(const Config& config) {
  const fs::path& directory = config.debug.keep_poison;
  constexpr const char* check = "keep_poison";
  if (directory.empty()) return ok(check, "off: documents that trigger a bug are not kept");
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return {check, Verdict::fail,
            fmt::format("{} {}", directory.string(),
                        fs::exists(directory, error) ? "is not a directory" : "does not exist"),
            "create it for the worker's user, or leave debug.keep_poison empty"};
  }
  if (::access(directory.c_str(), W_OK | X_OK) == 0) return ok(check, directory.string());
  if (errno == EROFS) {  // under the service, almost all directories are read-only (ProtectSystem=strict)
    return {check, Verdict::fail, fmt::format("{} is read-only here", directory.string()),
            "choose a directory below /var/lib/feedmill, or name it in ReadWritePaths= of the service"};
  }
  return {check, Verdict::fail, fmt::format("{} cannot be written to", directory.string()),
          "give it to the worker's user, or leave debug.keep_poison empty"};
}

namespace {

bool opens(const EgressPolicy& policy, std::string_view address) {
  return policy.check(address, 443) == Egress::allowed || policy.check(address, 80) == Egress::allowed;
}

/// An address that serves a cloud machine's credentials (SECURITY §1) and is open; "" if none is.
std::string_view open_metadata(const EgressPolicy& policy) {
  for (const char* const secret : {"169.254.169.254", "fd00:ec2::254", "168.63.129.16"}) {
    if (opens(policy, secret)) return secret;
  }
  return "";
}

}  // namespace

Finding check_egress_policy(const Config& config, const EgressPolicy& standard) {
  std::string text = fmt::format("public addresses, ports {}", listed(config.egress.ports));
  if (!config.egress.allow.empty()) text += fmt::format("; opened: {}", listed(config.egress.allow));
  if (!config.egress.deny.empty()) text += fmt::format("; closed: {}", listed(config.egress.deny));
  if (!config.egress_policies.empty()) text += fmt::format("; {} more by name", config.egress_policies.size());
  if (const std::string_view secret = open_metadata(standard); !secret.empty()) {
    return {"egress", Verdict::warn,
            fmt::format("{}: {}, which hands out a cloud machine's credentials, is open to feeds", text, secret),
            "narrow egress.allow, or add this address to egress.deny"};
  }
  // Addresses of two root name servers: certainly public, and only checked against the policy.
  if (!opens(standard, "198.41.0.4") && !opens(standard, "2001:503:ba3e::2:30")) {
    return {"egress", Verdict::warn, text + ": no public address is open on port 80 or 443",
            "check egress.deny and egress.ports, unless all feeds are in the networks of egress.allow"};
  }
  return ok("egress", text);
}

std::vector<Finding> check_named_policies(const std::map<std::string, EgressPolicy, std::less<>>& policies) {
  std::vector<Finding> findings;
  for (const auto& [name, policy] : policies) {
    const std::string_view secret = open_metadata(policy);
    if (secret.empty()) continue;
    findings.push_back(
        {"egress", Verdict::warn,
         fmt::format("egress.policy.\"{}\": {}, which hands out a cloud machine's credentials, is open to its feeds",
                     name, secret),
         fmt::format("narrow egress.policy.\"{}\".allow, or add this address to its deny", name)});
  }
  return findings;
}

Finding check_proxy(const Config& config, const ResolverOptions& options) {
  const auto proxy = read_proxy(config.fetch.proxy);
  if (!proxy) return {"proxy", Verdict::fail, proxy.error(), "set fetch.proxy to http://host:port"};
  const std::string name = fmt::format("{}:{}", proxy->host, proxy->port);
  const std::string remedy = "start it, or correct fetch.proxy: nothing is fetched without it";
  Addresses addresses;
  if (is_address(proxy->host)) {
    const bool bracketed = proxy->host.starts_with('[');
    addresses = {bracketed ? proxy->host.substr(1, proxy->host.size() - 2) : proxy->host};
  } else if (LookedUp answer = look_up_one(options, proxy->host); answer.has_value()) {
    addresses = std::move(*answer);
  } else {
    return {"proxy", Verdict::fail,
            fmt::format("{}: {}: {}", name, to_string(answer.error().reason), answer.error().detail), remedy};
  }
  asio::io_context loop(1);
  boost::system::error_code error = asio::error::timed_out;
  for (const std::string& address : addresses) {
    asio::ip::tcp::socket socket(loop);
    error = asio::error::timed_out;
    const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(address), static_cast<std::uint16_t>(proxy->port));
    socket.async_connect(endpoint, [&](const boost::system::error_code& ended) { error = ended; });
    loop.restart();
    loop.run_for(probe_timeout);
    if (!error) return ok("proxy", fmt::format("{} answers at {}", name, address));
    boost::system::error_code ignored;
    socket.close(ignored);
    const boost::system::error_code why = error;
    loop.restart();
    loop.run();  // runs the handler of the closed socket
    error = why;
  }
  return {"proxy", Verdict::fail, fmt::format("{} cannot be connected to: {}", name, error.message()), remedy};
}

namespace {

/// Remedy for a feed server that the policy refuses.
std::string_view remedy_of_refusal(const EgressView& view) {
  if (view.unusable_settings) {
    return "restore it in the configuration, or remove it from the feed with feedmill set URL policy= (auth=, proxy=)";
  }
  if (view.reason == to_string(Reason::egress_port)) {
    return "add the port to egress.ports if it should be allowed; else remove the feeds";
  }
  return "if it is yours, open it in egress.allow or a separate policy (set URL policy=NAME); else remove the feeds";
}

}  // namespace

std::vector<Finding> check_feed_servers(const std::vector<FeedServer>& asked, std::size_t all) {
  std::vector<Finding> findings;
  std::size_t refused = 0, unknown = 0;
  for (const FeedServer& server : asked) {
    if (server.view.verdict == EgressView::Verdict::unknown) ++unknown;
    if (server.view.verdict != EgressView::Verdict::refused || ++refused > shown_hosts) continue;
    findings.push_back({"feeds' servers", Verdict::warn,
                        fmt::format("{}: its {} feed{} will not be fetched: {}: {}", server.host, server.feeds,
                                    server.feeds == 1 ? "" : "s", server.view.reason, server.view.detail),
                        std::string(remedy_of_refusal(server.view))});
  }
  if (refused > shown_hosts) {
    findings.push_back({"feeds' servers", Verdict::warn, fmt::format("{} more", refused - shown_hosts),
                        "feedmill list --state never_read lists those that were tried"});
  }
  if (refused > 0 && unknown == 0 && asked.size() == all) return findings;
  std::string text = refused > 0 ? fmt::format("{} of {} are refused", refused, asked.size())
                                 : fmt::format("{} feed host{} allowed", asked.size(), asked.size() == 1 ? "" : "s");
  if (asked.size() < all) text += fmt::format(", sampled from {}", all);
  if (unknown > 0) text += fmt::format("; {} could not be looked up", unknown);
  findings.push_back(ok("feeds' servers", text));
  return findings;
}

namespace {

std::string_view remedy_of_refused_write(const ServerFacts& facts) {
  const StoreError error = redis_error(facts.write_error);
  if (error.code == StoreError::Code::loading) {
    return "wait for the server; for a cluster, redis-cli --cluster check reports moving and lost slots";
  }
  if (error.code == StoreError::Code::out_of_memory) return remedy_of_full_server;
  if (facts.role != "master") return "point redis.url at the primary";
  return "allow this user to write all keys and run scripts (ACL); check the server's disk";
}

/// Problems that would follow a fail-over to this replica; empty if there are none.
std::vector<Finding> check_standby(const StandbyFacts& standby, bool needs_file) {
  const auto warning = [&](std::string text, std::string remedy) {
    return Finding{"redis replicas", Verdict::warn, standby.address + " " + std::move(text), std::move(remedy)};
  };
  if (!standby.trouble.empty()) {
    return {warning("cannot be reached: " + standby.trouble,
                    "make it reachable for workers at this address (replica-announce-ip, cluster-announce-ip), with "
                    "the same users: after a failover they use it")};
  }
  std::vector<Finding> findings;
  if (!standby.policy.empty() && standby.policy != "noeviction") {
    findings.push_back(
        warning("has maxmemory-policy '" + standby.policy + "'", "set it to 'noeviction' there as well"));
  }
  if (needs_file && !standby.append_only)
    findings.push_back(warning("has no append-only file", "set appendonly yes there, too"));
  const Milliseconds skew = standby.now - standby.then;
  if (abs(skew) > clock_warning) {
    findings.push_back(warning(fmt::format("has a clock that differs by {:.1f} s from the primary's",
                                           std::abs(static_cast<double>(skew.count())) / 1000.0),
                               "synchronise both by NTP: due times use the primary's clock"));
  }
  return findings;
}

}  // namespace

std::vector<Finding> check_server(const ServerFacts& facts, Milliseconds here) {
  std::vector<Finding> findings;
  if (facts.write_error.empty()) {
    findings.push_back(ok("redis writes", "a key was written and removed"));
  } else {
    findings.push_back({"redis writes", Verdict::fail, facts.write_error, std::string(remedy_of_refused_write(facts))});
  }
  if (facts.last_save != "ok") {
    findings.push_back({"redis disk", Verdict::fail, "its last write to disk failed: " + facts.last_save,
                        "check the server's log and disk"});
  } else if (!facts.append_only) {
    findings.push_back({"redis disk", Verdict::warn,
                        "no append-only file: a crash loses everything since the last snapshot", "set appendonly yes"});
  } else {
    findings.push_back(ok("redis disk", "append-only file in use"));
  }
  const std::string used = bytes_text(facts.used_memory);
  const std::string text = facts.max_memory == 0 ? fmt::format("{} used, no limit", used)
                                                 : fmt::format("{} of {} used", used, bytes_text(facts.max_memory));
  if (facts.max_memory != 0 && facts.used_memory > facts.max_memory / 10 * 9) {
    findings.push_back({"redis memory", Verdict::warn, text, std::string(remedy_of_full_server)});
  } else {
    findings.push_back(ok("redis memory", text));
  }
  if (facts.max_clients != 0 && facts.clients > facts.max_clients / 10 * 9) {
    findings.push_back({"redis connections", Verdict::warn,
                        fmt::format("{} of {} in use", facts.clients, facts.max_clients),
                        "raise maxclients of the server, or lower worker.threads or store.connections of the workers"});
  }
  if (facts.replicas == 0) {
    findings.push_back({"redis replicas", Verdict::warn, "none: no server takes over when this one fails",
                        "start a replica, or let one log in (masteruser, masterauth)"});
  }
  std::string ready;
  for (const StandbyFacts& standby : facts.standbys) {
    const std::vector<Finding> wrong = check_standby(standby, facts.append_only);
    if (wrong.empty()) ready += (ready.empty() ? "" : ", ") + standby.address;
    findings.insert(findings.end(), wrong.begin(), wrong.end());
  }
  if (!ready.empty()) findings.push_back(ok("redis replicas", "ready to take over: " + ready));
  if (facts.failovers > 0) {
    findings.push_back(ok("redis failovers",
                          fmt::format("{} failover{}, the last {} ago", facts.failovers,
                                      facts.failovers == 1 ? "" : "s", span_text(facts.now - facts.failed_over_at))));
  }
  findings.push_back(check_clock(here - facts.now));
  return findings;
}

Finding check_packing(const MemoryUse& use, std::uint64_t stored_feeds) {
  const double saved = use.saved_by_packing();
  if (use.posts == 0) return ok("redis packing", "no posts to measure");
  if (!use.is_worth_packing(stored_feeds)) return ok("redis packing", "posts are stored compactly, or are few");
  return {"redis packing", Verdict::warn,
          fmt::format("a post takes {}; in compact form {:.0f} % less",
                      bytes_text(static_cast<std::uint64_t>(use.post_bytes)), 100 * saved),
          std::string(remedy_of_loose_posts)};
}

std::vector<Finding> check_partitions(const std::vector<PlacedPartition>& partitions) {
  if (partitions.size() < 2) return {};
  constexpr std::uint64_t few = 1000;  // with fewer feeds a share means little
  constexpr std::size_t most_told = 10;
  struct Node {
    std::size_t partitions = 0;
    std::uint64_t feeds = 0;
  };
  std::map<std::string, Node> nodes;
  for (const PlacedPartition& one : partitions) {
    Node& node = nodes[one.node];
    ++node.partitions;
    node.feeds += one.feeds;
  }
  std::vector<Finding> findings;
  for (const PlacedPartition& one : partitions) {
    const Node& node = nodes[one.node];
    if (node.partitions < 4 || one.feeds < few || one.feeds * 3 <= node.feeds) continue;
    findings.push_back(
        {"partitions", Verdict::warn,
         fmt::format("partition {} has {} of the {} feeds at {}: a host, or a few, with many feeds", one.partition,
                     grouped(std::int64_t(one.feeds)), grouped(std::int64_t(node.feeds)), one.node),
         "move slots of other hosts away from that node: feeds of one host stay together"});
  }
  std::string text;
  std::size_t told = 0;
  for (const auto& [address, node] : nodes) {
    if (++told > most_told) break;
    text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", node.partitions, address);
  }
  if (nodes.size() > most_told) text += fmt::format(", and {} more nodes", nodes.size() - most_told);
  findings.push_back(ok("partitions", text));
  return findings;
}

Finding check_requests(const RequestFigures& figures) {
  const std::string text = fmt::format("{} of programs waiting, {} in Redis", grouped(std::int64_t(figures.waiting)),
                                       bytes_text(figures.bytes));
  if (figures.set_aside > 0) {
    return {"requests", Verdict::warn, fmt::format("{}; {} moved to state:requests:poison", text, figures.set_aside),
            "find the program that appended them (redis-cli xrange state:requests:poison - +), then delete that key"};
  }
  if (!figures.piles_up()) return ok("requests", text);
  return {"requests", Verdict::warn, text, "check what writes to stream:requests, and whether a worker runs"};
}

std::vector<Finding> check_fleet(const FleetFigures& fleet, const StreamFigures& stream) {
  std::vector<Finding> findings;
  if (fleet.workers == 0 && fleet.feeds > 0) {
    findings.push_back({"workers", Verdict::warn,
                        fleet.other_workers == 0 ? std::string("none runs: nothing is fetched")
                                                 : fmt::format("{} running, but none fetches", fleet.other_workers),
                        "start one: feedmill run, or systemctl start feedmill"});
  } else {
    const std::string fetching = fleet.other_workers == 0 ? "" : fmt::format(" (fetching: {})", fleet.workers);
    findings.push_back(ok("workers", fmt::format("{} running{}", fleet.workers + fleet.other_workers, fetching)));
  }
  if (!fleet.differing.empty()) {
    findings.push_back(
        {"configuration", Verdict::warn, fmt::format("workers differ in {}", listed(fleet.differing)),
         "give all workers of this store the same values; feedmill config show prints those of a machine"});
  }
  std::uint64_t unread = 0;
  for (const auto& [state, count] : fleet.states) {
    if (state != "new" && state != "healthy" && state != "degraded" && state != "paused") unread += count;
  }
  const std::string feeds = fmt::format("{} of {} cannot be read", unread, fleet.feeds);
  if (unread * 20 > fleet.feeds) {
    findings.push_back(
        {"feeds", Verdict::warn, feeds, "feedmill stats shows their states, feedmill list --state STATE the reasons"});
  } else {
    findings.push_back(ok("feeds", feeds));
  }
  bool lags = false;
  for (const StreamFigures::Group& group : stream.groups) {
    if (!stream.lags(group)) continue;
    lags = true;
    findings.push_back({"consumers", Verdict::warn,
                        fmt::format("{} lags by {} records, the oldest {} old", group.name,
                                    grouped(std::int64_t(group.lag)), span_text(stream.now - *group.oldest)),
                        "start its consumer, or XGROUP DESTROY stream:signals " + group.name});
  }
  if (!lags) {
    findings.push_back(ok("consumers", stream.groups.empty()
                                           ? std::string("no consumer group")
                                           : fmt::format("consumer groups: {}, none lags", stream.groups.size())));
  }
  return findings;
}

std::vector<Finding> check_push_out(const Config& config, const SubscriberCounts& counts, bool led) {
  constexpr const char* check = "push out";
  const std::uint64_t webhooks = counts.webhooks_active + counts.webhooks_suspended;
  const std::uint64_t at_hub = counts.hub_pending + counts.hub_active;
  const std::string text = fmt::format("{} webhook{}, {} subscriber{} of the hub", grouped(std::int64_t(webhooks)),
                                       webhooks == 1 ? "" : "s", grouped(std::int64_t(at_hub)), at_hub == 1 ? "" : "s");
  std::vector<Finding> findings;
  if (!led && counts.webhooks_active + at_hub > 0) {
    findings.push_back({check, Verdict::warn, text + ", but no worker delivers to them",
                        "start one that does: feedmill run --push-out"});
  }
  if (counts.webhooks_suspended > 0) {
    findings.push_back({check, Verdict::warn,
                        fmt::format("{} of {} webhook{} suspended after failing for push_out.give_up",
                                    grouped(std::int64_t(counts.webhooks_suspended)), grouped(std::int64_t(webhooks)),
                                    webhooks == 1 ? " is" : "s are"),
                        "feedmill webhook list shows them; feedmill webhook resume ID resumes one"});
  }
  if (config.push_out.listen && config.push_out.public_url.empty()) {
    findings.push_back({check, Verdict::warn, "push_out.listen without push_out.public_url: no hub and no documents",
                        "set push_out.public_url to the listener's URL as seen from outside"});
  }
  if (findings.empty()) findings.push_back(ok(check, text + (led ? "" : "; no worker pushes out")));
  return findings;
}

Finding check_contact(std::uint64_t feeds, const std::string& contact) {
  if (!contact.empty()) return ok("fetch.contact", contact);
  if (feeds <= 1000) return ok("fetch.contact", fmt::format("not set; required above 1000 feeds (now {})", feeds));
  return {"fetch.contact", Verdict::fail, fmt::format("not set, with {} feeds: no worker will start", feeds),
          "set fetch.contact to a contact URL for publishers"};
}

std::vector<Finding> check_hosts(const std::vector<HostLoad>& do_not_fit, std::size_t hosts) {
  if (do_not_fit.empty())
    return {ok("hosts", hosts == 1 ? std::string("the feeds of the only host fit its limits")
                                   : fmt::format("the feeds of each of {} hosts fit its limits", hosts))};
  std::vector<Finding> findings;
  for (const HostLoad& host : do_not_fit) {
    if (findings.size() == shown_hosts) {
      findings.push_back({"hosts", Verdict::warn, fmt::format("{} more", do_not_fit.size() - shown_hosts),
                          "feedmill plan --json lists all"});
      break;
    }
    findings.push_back({"hosts", Verdict::warn,
                        fmt::format("{}: its {} feeds need {} polls a day, but only {} fit", host.host, host.feeds,
                                    count_text(host.wanted_a_day), count_text(host.possible_a_day)),
                        "poll them less often, or lower host.spacing if the host allows it"});
  }
  return findings;
}

}  // namespace feedmill
