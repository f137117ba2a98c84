// State of a server and settings of a host: hash state:host:<gate> (HTTP §6, H1, H7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

/// Limits of the host gate, sent with each claim call (HTTP H1), for hosts without settings of their own.
struct HostLimits {
  std::uint32_t concurrency = 1;
  Milliseconds spacing{1000};
  std::string egress{};  ///< egress name of the worker, "" = none (HTTP H10)
};

/// A host's quota for one egress name, shared by all workers with that name (HTTP H10).
struct HostQuota {
  std::string egress;         ///< "" = no name
  Milliseconds pace{};        ///< minimum interval between two starts
  Milliseconds last_start{};  ///< under this name
  Milliseconds hold{};        ///< no start before then
  bool told = false;          ///< announced by the server; else inferred from its refusals
  bool open_to_wish = false;  ///< announced, and one manual request may start earlier

  bool operator==(const HostQuota&) const = default;
};

/// The host whose slots and spacing a gate shares with its other ports; mirrors host_of_gate() of prelude.lua.
inline std::string_view host_of_gate(std::string_view gate) {
  if (gate.starts_with("group:") || gate.starts_with("hub:")) return gate;
  const std::size_t colon = gate.rfind(':');
  const bool has_port = colon != gate.npos && colon > 0 && gate[colon - 1] != ':' && colon + 1 < gate.size() &&
                        gate.find_first_not_of("0123456789", colon + 1) == gate.npos;
  return has_port ? gate.substr(0, colon) : gate;
}

/// The fleet's state of a server: hash state:host:<gate> (HTTP §6). All zero if there was no request recently.
struct HostState {
  Milliseconds last_start{};  ///< last request to the host, any port
  Milliseconds not_before{};  ///< end of its back-off
  std::uint32_t in_flight = 0;
  std::uint64_t waiting = 0;      ///< feeds in its line (HTTP H1)
  std::uint32_t slow = 1;         ///< factor of its spacing (HTTP H5)
  Milliseconds storm{};           ///< start of its storm (all its feeds fail), 0 = none (HTTP H11)
  std::vector<HostQuota> quotas;  ///< by name
  Fields other;                   ///< further fields, unchanged

  bool operator==(const HostState&) const = default;
};

/// An operator's settings for one host (HTTP H7); absent: those of HostLimits.
struct HostSettings {
  std::string host;
  std::optional<std::uint32_t> concurrency;
  std::optional<Milliseconds> spacing, min_interval;
  std::string group;  ///< hosts of one group share a gate; "" = alone
};

}  // namespace feedmill
