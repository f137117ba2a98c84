// What operators ask about: a host's state, the server itself.
#include <algorithm>
#include <charconv>
#include <random>

#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

std::uint64_t whole_number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

HostState host_state(Fields fields, Milliseconds now) {
  HostState state;
  for (auto& [name, value] : fields) {
    const Milliseconds number(static_cast<std::int64_t>(whole_number(value)));
    if (name.starts_with("s:")) {
      if (number > now) ++state.in_flight;  // a slot: claim id → end of its lease
    } else if (name == "last_start") {
      state.last_start = number;
    } else if (name == "tail") {
      state.tail = number;
    } else if (name == "not_before") {
      state.not_before = number;
    } else if (name == "slow") {
      state.slow = static_cast<std::uint32_t>(std::clamp<std::int64_t>(number.count(), 1, 64));
    } else {
      state.other.emplace_back(std::move(name), std::move(value));
    }
  }
  return state;
}

}  // namespace

StoreResult<HostState> Store::host(const std::string& host) {
  auto states = hosts(std::span(&host, 1));
  if (!states) return states.error();
  return std::move(states->front());
}

StoreResult<std::vector<HostState>> Store::hosts(std::span<const std::string> hosts) {
  const auto time = now();
  if (!time) return time.error();
  std::vector<std::string> names;
  names.reserve(hosts.size());
  std::vector<Words> commands;
  for (const std::string& host : hosts) commands.push_back({"HGETALL", names.emplace_back(impl_->keys.host(host))});
  const auto replies = impl_->pipeline(commands);
  if (!replies) return replies.error();
  std::vector<HostState> states;
  for (const Reply& reply : *replies) states.push_back(host_state(reply.pairs(), *time));
  return states;
}

StoreResult<ServerFacts> Store::server_facts() {
  if (impl_->bad_address) return *impl_->bad_address;
  const auto connected = impl_->redis.connect();
  if (!connected) return connected.error();
  std::vector<Reply> sections;
  for (const std::string_view section : {"server", "replication", "memory", "persistence"}) {
    auto info = impl_->redis.command({"INFO", section});
    if (!info) return info.error();
    sections.push_back(std::move(*info));
  }
  ServerFacts facts;
  facts.server = server_name(sections[0].text());
  facts.link = impl_->redis.link();
  facts.role = info_value(sections[1].text(), "role");
  facts.policy = info_value(sections[2].text(), "maxmemory_policy");
  facts.used_memory = whole_number(info_value(sections[2].text(), "used_memory"));
  facts.max_memory = whole_number(info_value(sections[2].text(), "maxmemory"));
  facts.append_only = info_value(sections[3].text(), "aof_enabled") == "1";
  const std::string_view aof = info_value(sections[3].text(), "aof_last_write_status");
  const std::string_view rdb = info_value(sections[3].text(), "rdb_last_bgsave_status");
  facts.last_save = facts.append_only && aof != "ok" ? aof : rdb;
  const auto time = impl_->redis.command({"TIME"});
  if (!time) return time.error();
  facts.now = Milliseconds((*time)[0].integer() * 1000 + (*time)[1].integer() / 1000);
  const std::string key = impl_->keys.trial(std::to_string(std::random_device()()));
  const auto written = impl_->redis.command({"SET", key, "1", "PX", "1000"});
  if (!written) {
    facts.write_error = written.error().detail;
  } else if (const auto removed = impl_->redis.command({"DEL", key}); !removed) {
    facts.write_error = removed.error().detail;
  }
  return facts;
}

}  // namespace feedmill
