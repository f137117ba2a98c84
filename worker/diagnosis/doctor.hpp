// The checks behind `doctor`: each looks at one thing and says what is wrong and what to do about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/push_out/subscribers.hpp"
#include "storage/records/fleet_figures.hpp"
#include "storage/records/request_figures.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/store/store.hpp"
#include "worker/config/config.hpp"
#include "worker/diagnosis/plan.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/http/resolver.hpp"

namespace feedmill {

enum class Verdict { ok, warn, fail };

/// "ok", "warn", "fail".
std::string_view to_string(Verdict verdict);

/// What a check came to. `remedy` is "" when all is well. Not cleaned.
struct Finding {
  std::string check;
  Verdict verdict = Verdict::ok;
  std::string text, remedy;
};

/// Whether a name server answers: `name` is looked up, for 5 s at most. Blocks.
Finding check_dns(const ResolverOptions& options, const std::string& name);

/// Whether certificates can be checked: the PEM file of the authorities.
Finding check_tls_roots(const std::string& file);

/// Whether worker.lanes refreshes at once on each loop can have their descriptors; `limit` is what this process may
/// raise its own to.
Finding check_descriptors(std::size_t limit, const Config& config);

/// Whether hubs can reach us, as far as the addresses tell.
Finding check_websub(const Config& config);

/// Whether the private server can keep its data; nothing to do with a Redis of the operator's own.
Finding check_data_directory(const Config& config);

/// Whether documents that met a bug can be kept (debug.keep_poison): the directory is there and may be written to.
Finding check_poison_directory(const Config& config);

/// What feeds may make us connect to, and what of that is unwise (SECURITY §1).
Finding check_egress_policy(const Config& config, const EgressPolicy& standard);

/// A finding for each policy that feeds may name and that opens a cloud machine's metadata to them.
std::vector<Finding> check_named_policies(const std::map<std::string, EgressPolicy, std::less<>>& policies);

/// Whether fetch.proxy can be connected to, for 5 s at most; nothing is sent. Blocks.
Finding check_proxy(const Config& config, const ResolverOptions& options);

/// A server of feeds, and what the policy that holds for these says of it.
struct FeedServer {
  std::string host;  ///< with its port, unless that is the scheme's own
  std::size_t feeds = 0;
  EgressView view;
};

/// A finding for each server that no request will be sent to, at most 20 and one for the rest; then how many were
/// looked at, unless that were all. `asked` of `all` servers have been.
std::vector<Finding> check_feed_servers(const std::vector<FeedServer>& asked, std::size_t all);

/// Writes, disk, memory and role of the server, and how far its clock is from ours (`here`, unix milliseconds).
std::vector<Finding> check_server(const ServerFacts& facts, Milliseconds here);

/// Where a partition of the store is, and how many feeds it has.
struct PlacedPartition {
  std::uint32_t partition = 0;
  std::string node;
  std::uint64_t feeds = 0;
};
/// How many partitions each node has, and which are crowded: with a third of the feeds of a node that has four or more.
/// Moving slots makes those no smaller. Nothing to say of less than two.
std::vector<Finding> check_partitions(const std::vector<PlacedPartition>& partitions);

/// Whether programs ask for more than is answered.
Finding check_requests(const RequestFigures& figures);
/// Whether workers run, how many feeds cannot be read, and which readers of the stream lag.
std::vector<Finding> check_fleet(const FleetFigures& fleet, const StreamFigures& stream);

/// Whether those who should be told of events are, and whether push_out.listen has an address that others know.
/// `led`: some worker pushes out.
std::vector<Finding> check_push_out(const Config& config, const SubscriberCounts& counts, bool led);

/// HTTP P19: above 1000 feeds publishers must be told whom to write to.
Finding check_contact(std::uint64_t feeds, const std::string& contact);

/// HTTP H9: a finding for each host whose feeds want more than its limits let through, at most 20 and one for the rest.
std::vector<Finding> check_hosts(const std::vector<HostLoad>& do_not_fit, std::size_t hosts);

}  // namespace feedmill
