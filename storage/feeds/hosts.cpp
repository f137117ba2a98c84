#include "storage/feeds/hosts.hpp"

#include <algorithm>
#include <array>

#include "parsers/text/numbers.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

/// As read_quota() of host.lua reads it.
HostQuota host_quota(std::string_view name, std::string_view numbers) {
  std::array<std::int64_t, 10> number{};
  for (std::size_t i = 0; i < number.size() && !numbers.empty(); ++i) {
    number[i] = leading_number<std::int64_t>(numbers);
    numbers.remove_prefix(std::min(numbers.find(' '), numbers.size() - 1) + 1);
  }
  return {std::string(name == "-" ? "" : name), Milliseconds(number[0]), Milliseconds(number[1]),
          Milliseconds(number[3]), number[9] != 0};
}

HostState host_state(Fields fields, Milliseconds now) {
  HostState state;
  for (auto& field : fields) {
    const auto& [name, value] = field;
    const Milliseconds number(leading_number<std::int64_t>(value));
    if (name.starts_with("s:")) {
      if (number > now) ++state.in_flight;  // a slot: claim id → end of its lease
    } else if (name == "last_start") {
      state.last_start = number;
    } else if (name == "not_before") {
      state.not_before = number;
    } else if (name == "storm") {
      state.storm = number;
    } else if (name == "slow") {
      state.slow = static_cast<std::uint32_t>(std::clamp<std::int64_t>(number.count(), 1, 64));
    } else if (name.starts_with("q:")) {
      state.quotas.push_back(host_quota(std::string_view(name).substr(2), value));
    } else if (name != "waiting" && name != "tail") {  // of the line itself more is known
      state.other.push_back(std::move(field));
    }
  }
  std::ranges::sort(state.quotas, {}, &HostQuota::egress);
  return state;
}

template <class Value>
std::string number_or_usual(const std::optional<Value>& value) {
  if (!value) return "-";
  if constexpr (std::is_same_v<Value, Milliseconds>)
    return std::to_string(value->count());
  else
    return std::to_string(*value);
}

}  // namespace

StoreResult<void> Hosts::set(std::span<const HostSettings> hosts) {
  Args args;
  for (const HostSettings& host : hosts) {
    args.add(std::string_view(host.host));
    args.own(number_or_usual(host.concurrency) + " " + number_or_usual(host.spacing) + " " +
             number_or_usual(host.min_interval) + " " + host.group);
  }
  const auto reply = impl_.run(Script::hosts, args);
  if (!reply) return reply.error();
  return {};
}

StoreResult<HostState> Hosts::state(const std::string& host) {
  auto found = states(std::span(&host, 1));
  if (!found) return found.error();
  return std::move(found->front());
}

StoreResult<std::vector<HostState>> Hosts::states(std::span<const std::string> hosts) {
  const auto time = impl_.now();
  if (!time) return time.error();
  std::vector<std::string> names;
  names.reserve(2 * hosts.size());
  std::vector<Words> commands;
  for (const std::string& host : hosts) {
    commands.push_back({"HGETALL", names.emplace_back(impl_.keys.host(host))});
    commands.push_back({"ZCARD", names.emplace_back(impl_.keys.line(host))});
  }
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  std::vector<HostState> states;
  for (std::size_t i = 0; i < replies->size(); i += 2) {
    states.push_back(host_state((*replies)[i].pairs(), *time));
    states.back().waiting = static_cast<std::uint64_t>((*replies)[i + 1].integer());
  }
  return states;
}

StoreResult<std::vector<std::string>> Hosts::backing_off(std::size_t limit) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  if (limit == 0) return std::vector<std::string>();
  const auto reply = impl_.redis.command({"ZREVRANGE", impl_.keys.open_circuits(), "0", std::to_string(limit - 1)});
  if (!reply) return reply.error();
  return reply->texts();
}

}  // namespace feedmill
