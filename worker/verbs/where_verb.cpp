#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/records/stored_entry.hpp"
#include "storage/redis/placement.hpp"
#include "storage/store/partition.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill {
namespace {

StoreSession session_of(const Config& config, unsigned partition) {
  return StoreSession::prepare(config.of_partition(partition), StoreUse::read);
}

int tell(Store& store, unsigned partition, const Config& config, Terminal& terminal) {
  const auto opened = store.open(false);
  if (!opened && opened.error().code == StoreError::Code::unsupported) or_fail(opened);  // the store has another layout
  const auto found = opened ? store.node() : opened;
  const std::string node = found ? *found : "";
  const bool in_cluster = config.redis.url.find("+cluster://") != std::string::npos;
  const unsigned slot = slot_of_tag(tag_of({partition, config.redis.partitions}));
  if (terminal.json()) {
    boost::json::object row = json_row();
    row["partition"] = partition;
    row["partitions"] = config.redis.partitions;
    row["prefix"] = store.prefix();
    row["slot"] = in_cluster ? boost::json::value(slot) : boost::json::value();
    row["node"] = node.empty() ? boost::json::value() : boost::json::value(node);
    terminal.line(row);
    or_fail(found);
    return exits::done;
  }
  terminal.line(fmt::format("partition {} of {}", partition, config.redis.partitions));
  if (!store.prefix().empty()) terminal.line(fmt::format("keys      {}", store.prefix()));
  if (in_cluster) terminal.line(fmt::format("slot      {}", slot));
  if (!node.empty()) terminal.line(fmt::format("node      {}", node));
  terminal.flush();
  or_fail(found);
  return exits::done;
}

int tell_where(const OperationValues& given, const Config& config, Terminal& terminal) {
  const std::string what = given.text("URL|ID");
  const unsigned count = config.redis.partitions;
  const bool is_entry = what.find("://") == what.npos && is_entry_id(what);
  const auto partition =
      is_entry ? partition_with_entry(config, what) : std::optional(partition_of(feed_url(terminal, what), count));
  if (!partition) throw VerbFailure{exits::no, fmt::format("no such entry: {}", visible(what))};
  StoreSession session = session_of(config, *partition);
  return tell(session.store(), *partition, config, terminal);
}

}  // namespace

VerbRow where_verb() {
  static constexpr std::array taken{fields::argument("URL|ID", "URL of a feed, or id of an entry")};
  return {.name = "where",
          .about = "Show the partition, and the cluster node, of a feed or an entry",
          .example = "feedmill where https://example.org/feed.xml",
          .exits = "1 if the entry does not exist",
          .fields = taken,
          .run = tell_where};
}

}  // namespace feedmill
