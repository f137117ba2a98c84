#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/numbers.hpp"
#include "storage/entries/entries.hpp"
#include "storage/redis/cluster.hpp"
#include "storage/store/partition.hpp"
#include "worker/command_line/operation_verbs.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {
namespace {

/// The number of "17", "Entry:17" or "{p003.a}:Entry:17"; nothing where it is no id.
std::optional<std::uint64_t> number_of(std::string_view id) {
  if (id.find("://") != id.npos) return std::nullopt;
  std::uint64_t number = 0;
  const bool is_number = read_number(id.substr(id.rfind(':') + 1), number);
  return is_number ? std::optional(number) : std::nullopt;
}

StoreSession session_of(const Config& config, unsigned partition) {
  return StoreSession::prepare(config.of_partition(partition), StoreUse::read);
}

int tell(Store& store, unsigned partition, const Config& config, Terminal& terminal) {
  const auto opened = store.open(false);
  if (!opened && opened.error().code == StoreError::Code::unsupported) or_fail(opened);  // it has another shape
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

}  // namespace

int run_verb(const WhereVerb& verb, const Config& config, Terminal& terminal) {
  const unsigned count = config.redis.partitions;
  const auto number = number_of(verb.what);
  if (!number) {
    const unsigned partition = partition_of(feed_url(terminal, verb.what), count);
    StoreSession session = session_of(config, partition);
    return tell(session.store(), partition, config, terminal);
  }
  // Where its id says, else where the number was given out, unless it was brought from a store of another shape.
  const auto named = partition_of_key(verb.what, count);
  for (unsigned i = 0; i < (named ? 1 : count); ++i) {
    const auto partition = named ? *named : static_cast<unsigned>((*number + i) % count);
    StoreSession session = session_of(config, partition);
    or_fail(session.store().open(false));
    Entries entries(session.store());
    if (or_fail(entries.get(entries.id_of(std::to_string(*number))))) {
      return tell(session.store(), partition, config, terminal);
    }
  }
  throw VerbFailure{exits::no, fmt::format("no such entry: {}", visible(verb.what))};
}

}  // namespace feedmill
