#include "worker/command_line/cli_values.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "parsers/text/numbers.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names) {
  const std::string_view nearest = nearest_name(name, names);
  return nearest.empty() ? std::string() : fmt::format(", did you mean {}?", nearest);
}

void refuse(std::string text) {
  throw CLI::ValidationError(std::move(text));
}

std::uint64_t number(std::string_view flag, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  if (!read_number(text, value) || value < least || value > most) {
    refuse(fmt::format("{}: \"{}\" is no number from {} to {}", flag, visible(text), least, most));
  }
  return value;
}

void one_of(std::string_view flag, const std::string& text, std::span<const std::string_view> names) {
  if (std::find(names.begin(), names.end(), text) != names.end()) return;
  const std::string hint = did_you_mean(text, names);
  refuse(fmt::format("{}: \"{}\" is none of {}{}", flag, visible(text), fmt::join(names, " "), hint));
}

EntryCursor cursor(const std::string& text) {
  EntryCursor before;
  const std::size_t colon = text.find(':');
  const bool has_score = read_number(std::string_view(text).substr(0, colon), before.score);
  if (colon == std::string::npos || !has_score || colon + 1 == text.size()) {
    refuse(fmt::format("--before: \"{}\" is no SCORE:ID such as 1763689990:Entry:17", visible(text)));
  }
  before.id = text.substr(colon + 1);
  return before;
}

void check_stream_id(const std::string& text) {
  if (text == "$") return;
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.size() <= 19 && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::string_view view = text;
  const std::size_t dash = view.find('-');
  if (digits(view.substr(0, dash)) && (dash == std::string_view::npos || digits(view.substr(dash + 1)))) return;
  refuse(fmt::format("--from: \"{}\" is no stream id such as 1763690000000-3, 0 or $", visible(text)));
}

std::pair<std::string, std::string> header(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) {
    refuse(fmt::format("--header: \"{}\" is no \"Name: value\"", visible(text)));
  }
  std::string value = text.substr(colon + 1);
  value.erase(0, value.find_first_not_of(" \t"));
  value.erase(value.find_last_not_of(" \t") + 1);
  return {text.substr(0, colon), value};
}

}  // namespace feedmill
