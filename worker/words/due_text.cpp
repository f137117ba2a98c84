#include "worker/words/due_text.hpp"

#include <algorithm>
#include <charconv>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/redis/utf8.hpp"
#include "worker/words/moments.hpp"

namespace feedmill {

namespace {

/// "S=54.50" → "S = 54.5"; other text is unchanged.
std::string readable(std::string_view from) {
  const std::string rate = posts_a_week(from);
  return rate.empty() ? std::string(from) : "S = " + rate;
}

std::string input_text(const DueInput& input) {
  std::string text = fmt::format("{} {}{} s", input.code, input.code == "phase" ? "+" : "", grouped(input.seconds));
  if (!input.from.empty()) text += fmt::format(" ({})", readable(input.from));
  return text;
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > 3 + sign;) digits.insert(at -= 3, 1, ' ');
  return digits;
}

std::string posts_a_week(std::string_view from) {
  if (!from.starts_with("S=")) return {};
  std::string rate(from.substr(2));
  if (rate.find('.') != std::string::npos) {
    while (rate.ends_with('0')) rate.pop_back();
    if (rate.ends_with('.')) rate.pop_back();
  }
  return rate;
}

std::string due_inputs_text(std::string_view why) {
  std::string text;
  for (const DueInput& input : decode_due_inputs(why)) text += (text.empty() ? "" : "  ") + input_text(input);
  return text;
}

boost::json::value due_inputs_json(std::string_view why) {
  if (why.empty()) return {};
  boost::json::array rows;
  for (const DueInput& input : decode_due_inputs(why)) {
    boost::json::object& row = rows.emplace_back(boost::json::object()).get_object();
    row["code"] = input.code;
    row["s"] = input.seconds;
    if (!input.from.empty()) row["from"] = cleaned_text(input.from);
  }
  return rows;
}

std::string due_text(Milliseconds due, Milliseconds now, std::string_view due_reason) {
  return fmt::format("{}, {}{}{}", rfc3339(due), from_now(due, now), due_reason.empty() ? "" : ", because of ",
                     due_reason);
}

std::string encode_due_inputs(std::span<const DueInput> inputs) {
  std::string text;
  for (const DueInput& input : inputs) {
    if (!text.empty()) text += '\n';
    text += input.code;
    text += ' ';
    text += std::to_string(input.seconds);
    if (input.from.empty()) continue;
    text += ' ';
    for (const char c : utf8_prefix(input.from, 120)) text += c == '\n' ? ' ' : c;
  }
  return text;
}

std::vector<DueInput> decode_due_inputs(std::string_view why) {
  std::vector<DueInput> inputs;
  while (!why.empty()) {
    const std::string_view line = why.substr(0, why.find('\n'));
    why.remove_prefix(std::min(line.size() + 1, why.size()));
    const auto space = line.find(' ');
    if (space == std::string_view::npos) continue;
    DueInput input{line.substr(0, space), 0, ""};
    const char* const last = line.data() + line.size();
    const auto [end, error] = std::from_chars(line.data() + space + 1, last, input.seconds);
    if (error != std::errc() || (end != last && *end != ' ')) continue;
    if (end != last) input.from.assign(end + 1, last);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace feedmill
