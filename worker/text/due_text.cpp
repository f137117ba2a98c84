#include "worker/text/due_text.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/text/moments.hpp"

namespace feedmill {
namespace {

/// "S=54.50" → "S = 54.5"; everything else stays.
std::string readable(std::string_view from) {
  if (!from.starts_with("S=")) return std::string(from);
  std::string rate(from.substr(2));
  if (rate.find('.') != std::string::npos) {
    while (rate.ends_with('0')) rate.pop_back();
    if (rate.ends_with('.')) rate.pop_back();
  }
  return "S = " + rate;
}

std::string input_text(const boost::json::object& input) {
  const auto* const code = input.if_contains("code");
  const auto* const seconds = input.if_contains("s");
  const auto* const from = input.if_contains("from");
  if (code == nullptr || !code->is_string() || seconds == nullptr || !seconds->is_int64()) return {};
  const std::string_view name(code->get_string().data(), code->get_string().size());
  std::string text = fmt::format("{} {}{} s", name, name == "phase" ? "+" : "", grouped(seconds->get_int64()));
  if (from != nullptr && from->is_string() && !from->get_string().empty()) {
    text += fmt::format(" ({})", readable(std::string_view(from->get_string().data(), from->get_string().size())));
  }
  return text;
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > 3 + sign;) digits.insert(at -= 3, 1, ' ');
  return digits;
}

std::string due_inputs_text(std::string_view why) {
  boost::system::error_code bad;
  const boost::json::value value = boost::json::parse(why, bad);
  if (bad || !value.is_array()) return {};
  std::string text;
  for (const boost::json::value& input : value.get_array()) {
    if (!input.is_object()) continue;
    const std::string one = input_text(input.get_object());
    if (!one.empty()) text += (text.empty() ? "" : "  ") + one;
  }
  return text;
}

std::string due_text(Milliseconds due, Milliseconds now, std::string_view won) {
  return fmt::format("{}, {}{}{}", rfc3339(due), from_now(due, now), won.empty() ? "" : ", because of ", won);
}

}  // namespace feedmill
