#include "worker/config/header_rules.hpp"

#include <algorithm>
#include <array>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

constexpr std::size_t longest_name = 64, longest_value = 4096;

bool is_token(std::string_view name) {
  const auto legal = [](char c) {
    return is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= longest_name && std::ranges::all_of(name, legal);
}

}  // namespace

std::string refused_header(std::string_view name) {
  static constexpr std::array forbidden{"host",
                                        "content-length",
                                        "transfer-encoding",
                                        "connection",
                                        "te",
                                        "upgrade",
                                        "forwarded",
                                        "remote-user",
                                        "x-remote-user",
                                        "x-webauth-user",
                                        "keep-alive",
                                        "trailer",
                                        "expect",
                                        "content-type",
                                        "content-encoding",
                                        "range",
                                        "user-agent",
                                        "accept-encoding",
                                        "if-none-match",
                                        "if-modified-since",
                                        "if-range",
                                        "if-match",
                                        "if-unmodified-since",
                                        "a-im",
                                        "referer"};
  if (!is_token(name)) return "a header name has only letters, digits and -";
  const std::string known = lower(name);
  if (known == "user-agent") return "use user_agent=… instead";
  if (std::ranges::find(forbidden, known) != forbidden.end() || known.starts_with("proxy-") ||
      known.starts_with("x-forwarded-")) {
    return "this header cannot be set";
  }
  return {};
}

std::string secret_header(std::string_view name) {
  static constexpr std::array words{"auth", "cookie", "token", "secret", "password", "key", "session", "signature"};
  const std::string known = lower(name);
  const bool smells = std::ranges::any_of(words, [&](const char* word) { return known.find(word) != known.npos; });
  return smells ? "secrets are not stored with feeds: put it in [feed_auth.\"NAME\"] and set auth=NAME" : "";
}

bool is_sendable_value(std::string_view value) {
  const auto visible = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; };
  return !value.empty() && value.size() <= longest_value && value.front() != ' ' && value.back() != ' ' &&
         std::ranges::all_of(value, visible);
}

}  // namespace feedmill
