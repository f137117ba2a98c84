#include "worker/config/config_values.hpp"

#include <cstddef>
#include <sstream>
#include <utility>

#include "parsers/text/strings.hpp"
#include "worker/base/units.hpp"

namespace feedmill {
namespace {

namespace fs = std::filesystem;
namespace ip = boost::asio::ip;

/// The names of an enum's values.
template <class Enum>
constexpr std::nullptr_t enum_names = nullptr;

template <>
constexpr std::pair<std::string_view, EmbeddedMode> enum_names<EmbeddedMode>[] = {
    {"auto", EmbeddedMode::automatic}, {"true", EmbeddedMode::always}, {"false", EmbeddedMode::never}};
template <>
constexpr std::pair<std::string_view, Durability> enum_names<Durability>[] = {
    {"ack", Durability::ack}, {"fsync", Durability::fsync}, {"replica", Durability::replica}};
template <>
constexpr std::pair<std::string_view, HtmlPolicy> enum_names<HtmlPolicy>[] = {{"strict", HtmlPolicy::strict}};
template <>
constexpr std::pair<std::string_view, LogLevel> enum_names<LogLevel>[] = {
    {"debug", LogLevel::debug}, {"info", LogLevel::info}, {"warn", LogLevel::warn}, {"error", LogLevel::error}};
template <>
constexpr std::pair<std::string_view, LogFormat> enum_names<LogFormat>[] = {{"auto", LogFormat::automatic},
                                                                            {"json", LogFormat::json},
                                                                            {"logfmt", LogFormat::logfmt},
                                                                            {"console", LogFormat::console}};

}  // namespace

std::string read_value(std::string_view text, std::string& into) {
  into = text;
  return {};
}

std::string read_value(std::string_view text, fs::path& into) {
  into = fs::path(text);
  return {};
}

std::string read_value(std::string_view text, bool& into) {
  into = text == "true";
  return text == "true" || text == "false" ? "" : "expected true or false";
}

std::string read_value(std::string_view text, std::uint32_t& into) {
  return read_number(text, into) ? "" : "expected a whole number";
}

std::string read_value(std::string_view text, std::chrono::milliseconds& into) {
  const auto duration = read_duration(text);
  if (!duration) return "expected a duration with its unit: 500ms 90s 15min 24h 7d";
  into = *duration;
  return {};
}

std::string read_value(std::string_view text, std::uint64_t& into) {
  const auto size = read_size(text);
  if (!size) return "expected a size with its unit: 64KiB 16MiB";
  into = *size;
  return {};
}

std::string read_value(std::string_view text, std::vector<std::string>& into) {
  into.clear();
  while (!text.empty()) {
    if (const auto item = trim(take_until(text, ',')); !item.empty()) into.emplace_back(item);
  }
  return {};
}

std::string read_value(std::string_view text, AutomaticSize& into) {
  into = read_size(text);
  return into || text == "auto" ? "" : "expected auto or a size with its unit: 512MiB 2GiB";
}

std::string read_value(std::string_view text, ListenAddress& into) {
  into.reset();
  if (text == "off") return {};
  std::string remedy = "expected address:port, such as 127.0.0.1:9810 or [::1]:9810, or off";
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return remedy;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  std::uint16_t port = 0;
  boost::system::error_code error;
  const auto address = ip::make_address(std::string(host), error);
  if (error || address.is_v6() != bracketed || !read_number(text.substr(colon + 1), port)) return remedy;
  into = ip::tcp::endpoint(address, port);
  return {};
}

std::string show_value(const std::string& value) {
  return value;
}
std::string show_value(const fs::path& value) {
  return value.string();
}
std::string show_value(bool value) {
  return value ? "true" : "false";
}
std::string show_value(std::uint32_t value) {
  return std::to_string(value);
}
std::string show_value(std::chrono::milliseconds value) {
  return format_duration(value);
}
std::string show_value(std::uint64_t value) {
  return format_size(value);
}

std::string show_value(const std::vector<std::string>& value) {
  std::string text;
  for (const auto& item : value) text.append(text.empty() ? "" : ",").append(item);
  return text;
}

std::string show_value(const AutomaticSize& value) {
  return value ? format_size(*value) : "auto";
}

std::string show_value(const ListenAddress& value) {
  if (!value) return "off";
  std::ostringstream text;
  text << *value;
  return text.str();
}

template <class Enum>
requires std::is_enum_v<Enum> std::string read_value(std::string_view text, Enum& into) {
  std::string remedy = "expected one of";
  for (const auto& [name, value] : enum_names<Enum>) {
    if (text == name) {
      into = value;
      return {};
    }
    remedy.append(" ").append(name);
  }
  return remedy;
}
template std::string read_value(std::string_view text, Durability& into);
template std::string read_value(std::string_view text, EmbeddedMode& into);
template std::string read_value(std::string_view text, HtmlPolicy& into);
template std::string read_value(std::string_view text, LogLevel& into);
template std::string read_value(std::string_view text, LogFormat& into);

template <class Enum>
requires std::is_enum_v<Enum> std::string show_value(Enum value) {
  for (const auto& [name, candidate] : enum_names<Enum>)
    if (candidate == value) return std::string(name);
  return {};
}
template std::string show_value(Durability value);
template std::string show_value(EmbeddedMode value);
template std::string show_value(HtmlPolicy value);
template std::string show_value(LogLevel value);
template std::string show_value(LogFormat value);

std::string variable_part(std::string_view name) {
  std::string part;
  for (const char c : name)
    part.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '.' || c == '-' ? '_' : c);
  return part;
}

std::string hide_password(std::string text) {
  const auto scheme = text.find("://");
  if (scheme == std::string::npos) return text;
  const auto authority = scheme + 3;
  const auto at = text.substr(0, text.find_first_of("/?#", authority)).rfind('@');
  if (at == std::string::npos || at < authority) return text;
  const auto colon = text.find(':', authority);
  if (colon == std::string::npos || colon >= at) return text;
  return text.replace(colon + 1, at - colon - 1, "<set>");
}

}  // namespace feedmill
