// How each type of configuration value is read from text and written as text: what the option tables are made of.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/text/numbers.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

// Each reads `text` into `into` and says what should have been written instead, "" when it could be read. Pure.

std::string read_value(std::string_view text, std::string& into);
std::string read_value(std::string_view text, std::filesystem::path& into);
std::string read_value(std::string_view text, bool& into);
std::string read_value(std::string_view text, std::uint32_t& into);
std::string read_value(std::string_view text, std::chrono::milliseconds& into);
std::string read_value(std::string_view text, std::uint64_t& into);
std::string read_value(std::string_view text, std::vector<std::string>& into);
std::string read_value(std::string_view text, AutomaticSize& into);
std::string read_value(std::string_view text, ListenAddress& into);
std::string read_value(std::string_view text, Durability& into);
std::string read_value(std::string_view text, EmbeddedMode& into);
std::string read_value(std::string_view text, HtmlPolicy& into);
std::string read_value(std::string_view text, LogLevel& into);
std::string read_value(std::string_view text, LogFormat& into);

// Each writes a value as read_value reads it.

std::string show_value(const std::string& value);
std::string show_value(const std::filesystem::path& value);
std::string show_value(bool value);
std::string show_value(std::uint32_t value);
std::string show_value(std::chrono::milliseconds value);
std::string show_value(std::uint64_t value);
std::string show_value(const std::vector<std::string>& value);
std::string show_value(const AutomaticSize& value);
std::string show_value(const ListenAddress& value);
std::string show_value(Durability value);
std::string show_value(EmbeddedMode value);
std::string show_value(HtmlPolicy value);
std::string show_value(LogLevel value);
std::string show_value(LogFormat value);

/// "" as what is not set.
template <class Value>
std::string read_value(std::string_view text, std::optional<Value>& into) {
  if (text.empty()) {
    into.reset();
    return {};
  }
  return read_value(text, into.emplace());
}

/// "" for what was not set.
template <class Value>
std::string show_value(const std::optional<Value>& value) {
  return value ? show_value(*value) : "";
}

/// A URL's password replaced: "redis://user:<set>@host". Everything else passes unchanged (SECURITY K1).
std::string hide_password(std::string text);

}  // namespace feedmill
