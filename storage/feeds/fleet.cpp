#include "storage/feeds/fleet.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <utility>

#include <xxhash.h>

#include "parsers/text/strings.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/records/packed.hpp"
#include "storage/redis/redis_address.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

/// Primary process of a partition by rendezvous hashing: partitions are spread evenly, and a process that joins or
/// leaves changes only its own.
std::string first_of(std::span<const std::string> workers, const std::string& partition) {
  std::pair<std::uint64_t, std::string_view> best;
  for (const std::string& worker : workers) {
    const std::string_view process = process_of(worker);
    const std::string both = std::string(process) + partition;
    best = std::max(best, {XXH3_64bits(both.data(), both.size()), process});
  }
  return std::string(best.second);
}

}  // namespace

std::vector<std::string> differing_options(std::span<const WorkerRecord> workers) {
  constexpr std::size_t most_keys = 20;
  using Options = std::map<std::string, std::string>;  // key → digest
  std::set<std::string> differing;
  const auto compare = [&](std::optional<Options>& first, Options mine) {
    if (!first) first = mine;
    for (const auto& [key, digest] : *first) {
      if (const auto found = mine.find(key); found == mine.end() || found->second != digest) differing.insert(key);
    }
    for (const auto& [key, digest] : mine) {
      if (!first->contains(key)) differing.insert(key);
    }
  };
  std::optional<Options> fetching, pushing;  // of the first worker of its kind
  for (const WorkerRecord& worker : workers) {
    if (!worker.configuration) continue;
    Options push_out, others;
    for (const std::string& pair : read_words(Unpacked(*worker.configuration))) {
      const std::size_t equals = std::min(pair.find('='), pair.size());
      (pair.starts_with("push_out.") ? push_out : others)[pair.substr(0, equals)] = pair.substr(equals);
    }
    if (worker.fetches) compare(fetching, std::move(others));
    if (value_of(worker.fields, "does").find("push_out") != std::string_view::npos)
      compare(pushing, std::move(push_out));
  }
  std::vector<std::string> keys(differing.begin(), differing.end());
  if (keys.size() > most_keys) keys.resize(most_keys);
  return keys;
}

StoreResult<std::uint64_t> Fleet::heartbeat(const std::string& worker, const Fields& fields, Milliseconds ttl,
                                            bool fetches) {
  Args args;
  args.add(std::string_view(worker));
  args.add(ttl);
  args.add(std::string_view(fetches ? "1" : "0"));
  for (const auto& [name, value] : fields) {
    args.add(std::string_view(name));
    args.add(std::string_view(value));
  }
  const auto reply = impl_.run(Script::heartbeat, args);
  if (!reply) return reply.error();
  return static_cast<std::uint64_t>(reply->integer());
}

StoreResult<void> Fleet::retire(const std::string& worker) {
  const std::string key = impl_.keys.worker(worker), all = impl_.keys.workers(), others = impl_.keys.other_workers();
  const std::string store = impl_.keys.store();
  // Other workers' next heartbeats write `running` again.
  const std::vector<Words> commands{
      {"DEL", key}, {"ZREM", all, worker}, {"ZREM", others, worker}, {"HDEL", store, "running"}};
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  const auto let_go = lead(worker, Milliseconds(0));
  if (!let_go) return let_go.error();
  return {};
}

StoreResult<std::vector<WorkerRecord>> Fleet::workers() {
  const auto time = impl_.now();
  if (!time) return time.error();
  const std::string fetching = impl_.keys.workers(), others = impl_.keys.other_workers();
  const std::string now_text = std::to_string(time->count());
  const std::vector<Words> commands{{"ZRANGEBYSCORE", fetching, now_text, "+inf"},
                                    {"ZRANGEBYSCORE", others, now_text, "+inf"}};
  const auto alive = impl_.pipeline(commands);
  if (!alive) return alive.error();
  return records((*alive)[0].texts(), (*alive)[1].texts());
}

StoreResult<std::vector<WorkerRecord>> Fleet::records(std::span<const std::string> fetching,
                                                      std::span<const std::string> others) {
  std::vector<WorkerRecord> workers;
  for (const std::string& id : fetching) workers.emplace_back().id = id;
  for (const std::string& id : others) {
    workers.emplace_back().id = id;
    workers.back().fetches = false;
  }
  std::vector<std::string> names;
  names.reserve(workers.size());
  std::vector<Words> commands;
  commands.reserve(workers.size());
  for (const WorkerRecord& worker : workers) {
    commands.push_back({"HMGET", names.emplace_back(impl_.keys.worker(worker.id)), "alive_at", "host", "pid", "version",
                        "in_flight", "does", "configuration"});
  }
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Reply& row = (*replies)[i];
    const std::size_t last = row.size() - 1;
    workers[i].alive_at = Milliseconds(row[0].integer());
    for (std::size_t field = 1; field < last; ++field) {
      if (!row[field].is_nil()) workers[i].fields.emplace_back(commands[i][field + 2], row[field].text());
    }
    if (!row[last].is_nil()) workers[i].configuration = row[last].text();
  }
  std::erase_if(workers, [](const WorkerRecord& gone) { return gone.alive_at.count() == 0; });  // expired just now
  return workers;
}

StoreResult<FleetFigures> Fleet::figures(bool reads_workers) {
  FleetFigures figures;
  const auto time = impl_.now();
  if (!time) return time.error();
  figures.now = *time;
  const Keys& keys = impl_.keys;
  const std::string feeds = keys.feeds(), schedule = keys.schedule(), events = keys.signals();
  const std::string states = keys.feed_states(), workers = keys.workers(), push_states = keys.push_states();
  const std::string now_text = std::to_string(time->count());
  const std::string open_circuits = keys.open_circuits(), store = keys.store(), by_url = keys.feeds_by_url();
  const std::string other_workers = keys.other_workers();
  const std::vector<Words> commands{{"SCARD", feeds},
                                    {"ZCOUNT", schedule, "-inf", now_text},
                                    {"ZRANGE", schedule, "0", "0", "WITHSCORES"},
                                    {"XLEN", events},
                                    {"HGETALL", states},
                                    {"ZRANGEBYSCORE", workers, now_text, "+inf"},
                                    {"HGETALL", push_states},
                                    {"ZCOUNT", open_circuits, now_text, "+inf"},
                                    {"ZCARD", schedule},
                                    {"HMGET", store, "claimed", "oldest_success", "differing"},
                                    {"ZCARD", by_url},
                                    {"ZRANGEBYSCORE", other_workers, now_text, "+inf"}};
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  const auto& row = *replies;
  figures.feeds = static_cast<std::uint64_t>(row[0].integer());
  figures.is_indexed = row[0].integer() == row[10].integer();
  figures.due = static_cast<std::uint64_t>(row[1].integer());
  if (row[2].size() == 2) figures.oldest_due = Milliseconds(row[2][1].integer());
  figures.stream_records = static_cast<std::uint64_t>(row[3].integer());
  const Reply& states_row = row[4];
  for (std::size_t i = 0; i + 1 < states_row.size(); i += 2) {
    figures.states.emplace_back(states_row[i].text(), std::max<std::int64_t>(states_row[i + 1].integer(), 0));
  }
  // Every feed that is neither paused nor scheduled waits in a line.
  std::uint64_t elsewhere = static_cast<std::uint64_t>(row[8].integer());
  for (const auto& [state, count] : figures.states) {
    if (state == "paused") elsewhere += static_cast<std::uint64_t>(count);
  }
  figures.waiting = figures.feeds - std::min(figures.feeds, elsewhere);
  const Reply& push_row = row[6];
  for (std::size_t i = 0; i + 1 < push_row.size(); i += 2) {
    figures.push_states.emplace_back(push_row[i].text(), std::max<std::int64_t>(push_row[i + 1].integer(), 0));
  }
  const std::vector<std::string> alive = row[5].texts(), others = row[11].texts();
  figures.workers = alive.size();
  figures.other_workers = others.size();
  if (!impl_.options.partition.is_whole()) figures.first = first_of(alive, keys.prefix());
  figures.open_circuits = static_cast<std::uint64_t>(row[7].integer());

  if (!row[9][1].is_nil()) figures.oldest_success = Milliseconds(row[9][1].integer());
  if (!reads_workers) {
    if (!row[9][0].is_nil()) figures.claimed = static_cast<std::uint64_t>(row[9][0].integer());
    figures.differing = read_words(Unpacked(row[9][2].text()));
    return figures;
  }

  const auto heartbeats = records(alive, others);
  if (!heartbeats) return heartbeats.error();
  for (const WorkerRecord& worker : *heartbeats) {
    figures.claimed += leading_number<std::uint64_t>(value_of(worker.fields, "in_flight"));
  }
  figures.differing = differing_options(*heartbeats);
  return figures;
}

StoreResult<bool> Fleet::lead(const std::string& worker, Milliseconds ttl) {
  return impl_.hold_lock("fleet", worker, ttl);
}

StoreResult<void> Fleet::note(const FleetFigures& figures, std::optional<Milliseconds> oldest_success) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.store(), count = std::to_string(figures.claimed);
  const std::string oldest = std::to_string(oldest_success.value_or(Milliseconds(0)).count());
  std::string differing;
  for (const std::string& option : figures.differing) differing.append(differing.empty() ? "" : " ").append(option);
  Words words{"HSET", key, "claimed", count, "differing", differing};
  if (oldest_success) words.insert(words.end(), {"oldest_success", oldest});
  const auto reply = impl_.redis.command(words);
  if (!reply) return reply.error();
  return {};
}

namespace {

StoreResult<Milliseconds> clock_of(Redis& redis) {
  const auto time = redis.command({"TIME"});
  if (!time) return time.error();
  return Milliseconds((*time)[0].integer() * 1000 + (*time)[1].integer() / 1000);
}

/// Queries a replica.
StoreResult<void> look_at(Redis& replica, StandbyFacts& facts) {
  const auto memory = replica.command({"INFO", "memory"});
  if (!memory) return memory.error();
  facts.policy = info_value(memory->text(), "maxmemory_policy");
  const auto persistence = replica.command({"INFO", "persistence"});
  if (!persistence) return persistence.error();
  facts.append_only = info_value(persistence->text(), "aof_enabled") == "1";
  const auto now = clock_of(replica);
  if (!now) return now.error();
  facts.now = *now;
  return {};
}

/// Parses the replicas in INFO replication: "slave0:ip=10.0.0.2,port=6379,state=online,…".
std::vector<NodeAddress> replicas_in(std::string_view info) {
  constexpr std::size_t most = 16;
  std::vector<NodeAddress> replicas;
  while (replicas.size() < most) {
    const std::string_view row = info_value(info, "slave" + std::to_string(replicas.size()));
    const std::size_t comma = row.find(",port=");
    if (!row.starts_with("ip=") || comma == std::string_view::npos) break;
    const auto port = leading_number<std::uint16_t>(row.substr(comma + 6));
    replicas.push_back({std::string(row.substr(3, comma - 3)), port, true});
  }
  return replicas;
}

}  // namespace

StoreResult<ServerFacts> Fleet::server() {
  if (impl_.bad_address) return *impl_.bad_address;
  const auto connected = impl_.redis.connect();
  if (!connected) return connected.error();
  std::vector<Reply> sections;
  for (const std::string_view section : {"server", "replication", "memory", "persistence", "clients"}) {
    auto info = impl_.redis.command({"INFO", section});
    if (!info) return info.error();
    sections.push_back(std::move(*info));
  }
  if (const auto fit = impl_.check_kind(sections[0].text()); !fit) return fit.error();
  ServerFacts facts;
  facts.server = server_name(sections[0].text());
  facts.link = impl_.redis.link();
  facts.role = info_value(sections[1].text(), "role");
  facts.policy = info_value(sections[2].text(), "maxmemory_policy");
  facts.used_memory = leading_number<std::uint64_t>(info_value(sections[2].text(), "used_memory"));
  facts.max_memory = leading_number<std::uint64_t>(info_value(sections[2].text(), "maxmemory"));
  facts.append_only = info_value(sections[3].text(), "aof_enabled") == "1";
  const std::string_view aof = info_value(sections[3].text(), "aof_last_write_status");
  const std::string_view rdb = info_value(sections[3].text(), "rdb_last_bgsave_status");
  facts.last_save = facts.append_only && aof != "ok" ? aof : rdb;
  facts.clients = leading_number<std::uint64_t>(info_value(sections[4].text(), "connected_clients"));
  facts.max_clients = leading_number<std::uint64_t>(info_value(sections[4].text(), "maxclients"));
  if (impl_.redis.is_stood_by_for()) {
    facts.replicas = leading_number<std::uint64_t>(info_value(sections[1].text(), "connected_slaves"));
    for (const NodeAddress& replica : replicas_in(sections[1].text())) {
      StandbyFacts& standby = facts.standbys.emplace_back();
      standby.address = shown(replica);
      Redis its = impl_.redis.beside(replica, std::min(impl_.options.timeout, Milliseconds(1000)));
      if (const auto asked = look_at(its, standby); !asked) standby.trouble = asked.error().detail;
      if (impl_.options.allow_eviction) standby.policy.clear();
      const auto then = clock_of(impl_.redis);
      if (!then) return then.error();
      standby.then = *then;
    }
  }
  const auto now = clock_of(impl_.redis);
  if (!now) return now.error();
  facts.now = *now;
  const std::string store = impl_.keys.store();
  const auto noted = impl_.redis.command({"HMGET", store, "failovers", "failed_over_at"});
  if (noted) {  // an error here is reported by open()
    facts.failovers = static_cast<std::uint64_t>((*noted)[0].integer());
    facts.failed_over_at = milliseconds((*noted)[1]);
  }
  const std::string key = impl_.keys.trial(std::to_string(std::random_device()()));
  const auto written = impl_.redis.command({"SET", key, "1", "PX", "1000"});
  if (!written) {
    facts.write_error = written.error().detail;
  } else if (const auto removed = impl_.redis.command({"DEL", key}); !removed) {
    facts.write_error = removed.error().detail;
  }
  return facts;
}

}  // namespace feedmill
