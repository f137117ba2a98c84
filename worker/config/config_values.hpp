// Reads, writes and checks the values of options, for the option tables.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "parsers/text/strings.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

// Each function reads `text` into `into`; returns the expected form, "" on success. Pure.

std::string read_value(std::string_view text, std::string& into);
std::string read_value(std::string_view text, std::filesystem::path& into);
std::string read_value(std::string_view text, bool& into);
std::string read_value(std::string_view text, std::uint32_t& into);
std::string read_value(std::string_view text, std::chrono::milliseconds& into);
std::string read_value(std::string_view text, std::uint64_t& into);
std::string read_value(std::string_view text, std::vector<std::string>& into);
std::string read_value(std::string_view text, AutomaticSize& into);
std::string read_value(std::string_view text, ListenAddress& into);
template <class Enum>
requires std::is_enum_v<Enum> std::string read_value(std::string_view text, Enum& into);

// Each function writes a value in the form read_value() reads.

std::string show_value(const std::string& value);
std::string show_value(const std::filesystem::path& value);
std::string show_value(bool value);
std::string show_value(std::uint32_t value);
std::string show_value(std::chrono::milliseconds value);
std::string show_value(std::uint64_t value);
std::string show_value(const std::vector<std::string>& value);
std::string show_value(const AutomaticSize& value);
std::string show_value(const ListenAddress& value);
template <class Enum>
requires std::is_enum_v<Enum> std::string show_value(Enum value);

/// Reads "" as unset.
template <class Value>
std::string read_value(std::string_view text, std::optional<Value>& into) {
  if (text.empty()) {
    into.reset();
    return {};
  }
  return read_value(text, into.emplace());
}

/// Writes "" if unset.
template <class Value>
std::string show_value(const std::optional<Value>& value) {
  return value ? show_value(*value) : "";
}

// Checks of lists of addresses, ports and names. Pure.

// Each function returns the problem with the first invalid item and the expected form; "" if all items are valid.

/// CIDR[:port[-port]]; IPv6 in brackets if ports follow (SECURITY E6).
std::string check_egress_rules(const std::vector<std::string>& rules);
/// port[-port].
std::string check_egress_ports(const std::vector<std::string>& ports);
/// ADDRESS/BITS of IPv6, as in RFC 6052.
std::string check_nat64_prefixes(const std::vector<std::string>& prefixes);
/// An address, or ADDRESS/BITS.
std::string check_networks(const std::vector<std::string>& networks);
/// ADDRESS[:port]; IPv6 in brackets if a port follows.
std::string check_name_servers(const std::vector<std::string>& servers);
/// Host names without scheme and port; no addresses.
std::string check_host_names(const std::vector<std::string>& names);
/// Names as they appear before the "=" in a URL's query.
std::string check_parameter_names(const std::vector<std::string>& names);

// Checks consistency between options.

/// Callbacks of check_together(), by option key.
struct Verdicts {
  std::function<bool(std::initializer_list<std::string_view> keys)> sound;  ///< whether all these options are valid
  std::function<void(std::string_view key, std::string remedy)> add;        ///< adds a problem
};

/// Compares only options that are valid by themselves. May check files that options name.
void check_together(const Config& config, bool in_kubernetes, const Verdicts& verdicts);

// Text of options.

/// "retention.hard_cap" or "log-level" as spelled in an environment variable: "RETENTION_HARD_CAP", "LOG_LEVEL".
std::string variable_part(std::string_view name);

/// Replaces a URL's password: "redis://user:<set>@host". Other text is unchanged (SECURITY K1).
std::string hide_password(std::string text);

}  // namespace feedmill
