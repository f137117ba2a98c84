// The checks of `doctor`: each examines one thing and reports problems with their remedies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/queues/subscribers.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/store/store.hpp"
#include "worker/config/config.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/http/resolver.hpp"
#include "worker/verbs/plan.hpp"

namespace feedmill {

enum class Verdict { ok, warn, fail };

/// "ok", "warn", "fail".
std::string_view to_string(Verdict verdict);

/// Result of a check. `remedy` is "" if there is no problem. Not escaped.
struct Finding {
  std::string check;
  Verdict verdict = Verdict::ok;
  std::string text, remedy;
};

/// Whether a name server resolves `name`, within 5 s. Blocks.
Finding check_dns(const ResolverOptions& options, const std::string& name);

/// Whether the PEM file of certificate authorities is usable.
Finding check_tls_roots(const std::string& file);

/// Whether descriptors suffice for worker.lanes refreshes on each loop; `limit`: the highest limit this process may
/// set.
Finding check_descriptors(std::size_t limit, const Config& config);

/// Whether hubs can reach us, judging by the configured addresses.
Finding check_websub(const Config& config);

/// Whether the private server can store its data; always fine for an operator's own Redis.
Finding check_data_directory(const Config& config);

/// Whether documents that trigger a bug can be kept (debug.keep_poison): the directory exists and is writable.
Finding check_poison_directory(const Config& config);

/// The addresses that feeds may connect to, with a warning if the policy is unwise (SECURITY §1).
Finding check_egress_policy(const Config& config, const EgressPolicy& standard);

/// A finding for each named policy that opens a cloud machine's metadata to feeds.
std::vector<Finding> check_named_policies(const std::map<std::string, EgressPolicy, std::less<>>& policies);

/// Whether fetch.proxy accepts a connection within 5 s; sends nothing. Blocks.
Finding check_proxy(const Config& config, const ResolverOptions& options);

/// A feed server, and the verdict of the policy that its feeds use.
struct FeedServer {
  std::string host;  ///< with its port, unless it is the scheme's default
  std::size_t feeds = 0;
  EgressView view;
};

/// A finding for each refused server, at most 20 and one for the rest; then the number examined, if not all were.
/// `asked`: the examined servers; `all`: the number of servers.
std::vector<Finding> check_feed_servers(const std::vector<FeedServer>& asked, std::size_t all);

/// Whether the server stores posts compactly, judging by measured ones (PERFORMANCE F8).
Finding check_packing(const MemoryUse& use, std::uint64_t stored_feeds);

/// Writes, disk, memory, role and clock of the server; `here`: our clock in unix milliseconds.
std::vector<Finding> check_server(const ServerFacts& facts, Milliseconds here);

/// Node and number of feeds of a partition.
struct PlacedPartition {
  std::uint32_t partition = 0;
  std::string node;
  std::uint64_t feeds = 0;
};
/// Partitions per node, and a warning for each crowded partition: with at least 1000 feeds and more than a third of the
/// feeds on its node, if the node has at least four partitions. Empty for fewer than two partitions.
std::vector<Finding> check_partitions(const std::vector<PlacedPartition>& partitions);

/// Whether API requests arrive faster than they are processed.
Finding check_requests(const RequestFigures& figures);
/// Whether workers run, how many feeds fail, and which stream consumers lag.
std::vector<Finding> check_fleet(const FleetFigures& fleet, const StreamFigures& stream);

/// Whether receivers get their events, and whether push_out.listen has a public URL. `led`: a worker pushes out.
std::vector<Finding> check_push_out(const Config& config, const SubscriberCounts& counts, bool led);

/// HTTP P19: with more than 1000 feeds, publishers need a contact address.
Finding check_contact(std::uint64_t feeds, const std::string& contact);

/// HTTP E1: a finding for each host that cannot serve the requests of its feeds, at most 20, and one for the rest.
std::vector<Finding> check_hosts(const std::vector<HostLoad>& do_not_fit, std::size_t hosts);

}  // namespace feedmill
