#include "worker/base/redact.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

bool is_word(char c) {
  return is_alnum(c) || c == '_' || c == '-';
}

using Names = std::vector<std::string>;

std::shared_ptr<const Names> names_in(std::string_view list) {
  Names names;
  while (!list.empty()) names.emplace_back(take_until(list, ','));
  return std::make_shared<const Names>(std::move(names));
}

std::atomic<std::shared_ptr<const Names>> secret_parameters = names_in(usual_secret_parameters);
constexpr std::string_view secret_headers[] = {"authorization", "proxy-authorization", "cookie", "set-cookie"};

constexpr std::string_view end_of_authority = "/?# \t\r\n\"'<>\\", end_of_value = "&;#, \t\r\n\"'<>\\";

/// "https://user:password@host" → "https://<redacted>@host"
std::string redact_credentials(std::string_view text) {
  std::string safe;
  std::size_t done = 0;
  for (auto at = text.find("://"); at != std::string_view::npos; at = text.find("://", at)) {
    at += 3;
    const auto end = text.find_first_of(end_of_authority, at);
    const auto sign = text.substr(0, end).rfind('@');
    if (sign == std::string_view::npos || sign < at) continue;
    safe.append(text.substr(done, at - done)).append(redacted);
    done = sign;
  }
  return safe.append(text.substr(done));
}

/// "token=abc" → "token=<redacted>", "Cookie: abc" → "Cookie: <redacted>"
std::string redact_named(std::string_view text) {
  const std::shared_ptr<const Names> parameters = secret_parameters;
  std::string safe;
  std::size_t done = 0;
  for (auto at = text.find_first_of("=:"); at != std::string_view::npos; at = text.find_first_of("=:", at + 1)) {
    const bool header = text[at] == ':';
    auto start = at;
    while (start > done && (is_word(text[start - 1]) || (!header && text[start - 1] == '.'))) --start;
    const std::string_view name = text.substr(start, at - start);
    const auto is_name = [name](std::string_view secret) { return iequals(name, secret); };
    const bool is_secret = header ? std::ranges::any_of(secret_headers, is_name)
                                  : std::ranges::any_of(*parameters, is_name) || is_name("hub.secret");
    if (!is_secret) continue;
    auto value = at + 1;
    while (header && value < text.size() && text[value] == ' ') ++value;
    const auto end = std::min(text.find_first_of(header ? std::string_view("\r\n") : end_of_value, value), text.size());
    if (end <= value) continue;
    const std::string_view kept = text.substr(value, end - value);
    if (!header && (kept == "value" || kept == "NAME" || kept.starts_with("OWNER/NAME") || kept.starts_with("VALUE")))
      continue;  // a usage line, not a value
    safe.append(text.substr(done, value - done)).append(redacted);
    done = end;
    at = end - 1;
  }
  return safe.append(text.substr(done));
}

/// "/w/<base32>" is a callback's path, known only to the hub.
std::string redact_callbacks(std::string_view text) {
  std::string safe;
  std::size_t done = 0;
  for (auto at = text.find("/w/"); at != std::string_view::npos; at = text.find("/w/", at)) {
    at += 3;
    auto end = at;
    while (end < text.size() && is_alnum(text[end])) ++end;
    if (end - at < 20) continue;
    safe.append(text.substr(done, at - done)).append(redacted);
    done = at = end;
  }
  return safe.append(text.substr(done));
}

}  // namespace

std::string redact(std::string_view text) {
  return redact_callbacks(redact_named(redact_credentials(text)));
}

bool has_secret(std::string_view text) {
  return redact(text) != text;
}

void set_secret_parameters(std::vector<std::string> names) {
  secret_parameters = std::make_shared<const Names>(std::move(names));
}

}  // namespace feedmill
