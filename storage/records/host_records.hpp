// What is kept of a server and set for a host: hash state:host:<gate> (HTTP §6, H1, H7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

/// Settings of the host gate that travel with each claim call (HTTP H1), for hosts without settings of their own.
struct HostLimits {
  std::uint32_t concurrency = 1;
  Milliseconds spacing{1000};
  std::string egress{};  ///< the name that whoever asks goes out under, "" = none (HTTP H10)
};

/// What those who go out under one name know of a host's quota (HTTP H10).
struct HostQuota {
  std::string egress;         ///< "" = no name
  Milliseconds pace{};        ///< least distance of two starts
  Milliseconds last_start{};  ///< under this name
  Milliseconds hold{};        ///< no start before that
  bool told = false;          ///< by the server itself; else found out by its refusals
  bool open_to_wish = false;  ///< told, and one request that an operator wishes may start before

  bool operator==(const HostQuota&) const = default;
};

/// The host whose slots and spacing a gate shares with those of other ports: as host_of_gate() of prelude.lua.
inline std::string_view host_of_gate(std::string_view gate) {
  if (gate.starts_with("group:") || gate.starts_with("hub:")) return gate;
  const std::size_t colon = gate.rfind(':');
  const bool has_port = colon != gate.npos && colon > 0 && gate[colon - 1] != ':' && colon + 1 < gate.size() &&
                        gate.find_first_not_of("0123456789", colon + 1) == gate.npos;
  return has_port ? gate.substr(0, colon) : gate;
}

/// What the fleet knows of a server: hash state:host:<gate> (HTTP §6). All zero when it was not asked of late.
struct HostState {
  Milliseconds last_start{};  ///< of the last request to its host, whatever the port
  Milliseconds not_before{};  ///< end of its back-off
  std::uint32_t in_flight = 0;
  std::uint64_t waiting = 0;      ///< feeds in its line (HTTP H1)
  std::uint32_t slow = 1;         ///< spacing is multiplied by it (HTTP H5)
  Milliseconds storm{};           ///< since when it is in trouble, with all its feeds; 0 = it is not (HTTP H11)
  std::vector<HostQuota> quotas;  ///< by name
  Fields other;                   ///< further fields as they stand

  bool operator==(const HostState&) const = default;
};

/// What an operator set for one host (HTTP H7); absent: as HostLimits say.
struct HostSettings {
  std::string host;
  std::optional<std::uint32_t> concurrency;
  std::optional<Milliseconds> spacing, min_interval;
  std::string group;  ///< hosts of one group share a gate; "" = alone
};

}  // namespace feedmill
