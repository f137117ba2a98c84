#include "storage/feeds/hosts.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "parsers/text/strings.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

/// Mirrors read_quota() of host.lua; empty if an announced quota has expired.
std::optional<HostQuota> host_quota(std::string_view name, std::string_view numbers, Milliseconds now) {
  std::array<std::int64_t, 12> number{};
  for (std::size_t i = 0; i < number.size() && !numbers.empty(); ++i) {
    number[i] = leading_number<std::int64_t>(numbers);
    numbers.remove_prefix(std::min(numbers.find(' '), numbers.size() - 1) + 1);
  }
  constexpr std::int64_t day = std::chrono::milliseconds(std::chrono::days(1)).count();
  const bool is_told = number[9] != 0;
  const std::int64_t told_until = number[10] != 0 ? number[10] : number[9] + day;  // written by an earlier build
  if (is_told && told_until <= now.count()) return std::nullopt;
  return HostQuota{std::string(name == "-" ? "" : name),
                   Milliseconds(number[0]),
                   Milliseconds(number[1]),
                   Milliseconds(number[3]),
                   is_told,
                   is_told && number[11] <= now.count()};
}

/// `of_host`: the hash of the gate's host, if it differs (host.lua).
HostState host_state(Fields fields, Fields of_host, Milliseconds now) {
  HostState state;
  std::erase_if(of_host,
                [](const auto& field) { return !field.first.starts_with("s:") && field.first != "last_start"; });
  fields.insert(fields.end(), std::make_move_iterator(of_host.begin()), std::make_move_iterator(of_host.end()));
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
      auto quota = host_quota(std::string_view(name).substr(2), value, now);
      if (quota) state.quotas.push_back(*std::move(quota));
    } else if (name != "waiting" && name != "tail") {  // the line itself is more accurate
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

StoreResult<HostState> Hosts::state(const std::string& gate) {
  auto found = states(std::span(&gate, 1));
  if (!found) return found.error();
  return std::move(found->front());
}

StoreResult<std::vector<HostState>> Hosts::states(std::span<const std::string> gates) {
  const auto time = impl_.now();
  if (!time) return time.error();
  std::vector<std::string> names;
  names.reserve(3 * gates.size());
  std::vector<Words> commands;
  for (const std::string& gate : gates) {
    commands.push_back({"HGETALL", names.emplace_back(impl_.keys.host(gate))});
    commands.push_back({"ZCARD", names.emplace_back(impl_.keys.line(gate))});
    if (const auto host = host_of_gate(gate); host != gate)
      commands.push_back({"HGETALL", names.emplace_back(impl_.keys.host(host))});
  }
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  std::vector<HostState> states;
  std::size_t next = 0;
  for (const std::string& gate : gates) {
    Fields fields = (*replies)[next++].pairs();
    const auto waiting = static_cast<std::uint64_t>((*replies)[next++].integer());
    Fields of_host = host_of_gate(gate) != gate ? (*replies)[next++].pairs() : Fields();
    states.push_back(host_state(std::move(fields), std::move(of_host), *time));
    states.back().waiting = waiting;
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
