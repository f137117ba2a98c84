#include "worker/words/due_inputs.hpp"

#include <algorithm>
#include <charconv>

#include "parsers/text/strings.hpp"

namespace feedmill {

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
