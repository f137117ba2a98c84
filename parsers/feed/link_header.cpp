#include "parsers/feed/link_header.hpp"

#include <algorithm>
#include <utility>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_links = 256;

void skip_space(std::string_view& rest) {
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
}

std::string_view take_token(std::string_view& rest, std::string_view stops) {
  const std::string_view token = rest.substr(0, rest.find_first_of(stops));
  rest.remove_prefix(token.size());
  return trim(token);
}

/// `rest` begins after the opening quote; an unclosed value takes the whole rest.
std::string take_quoted(std::string_view& rest) {
  std::string value;
  while (!rest.empty() && rest.front() != '"') {
    if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
    value += rest.front();
    rest.remove_prefix(1);
  }
  if (!rest.empty()) rest.remove_prefix(1);
  return value;
}

/// Parses one ";name=value"; `rest` begins after the semicolon.
std::pair<std::string, std::string> take_parameter(std::string_view& rest) {
  std::pair<std::string, std::string> parameter(lower(take_token(rest, "=;,")), "");
  if (rest.empty() || rest.front() != '=') return parameter;
  rest.remove_prefix(1);
  skip_space(rest);
  if (!rest.empty() && rest.front() == '"') {
    rest.remove_prefix(1);
    parameter.second = take_quoted(rest);
  } else {
    parameter.second = take_token(rest, ";,");
  }
  return parameter;
}

class Reader {
 public:
  explicit Reader(std::string_view target) { link_.target = trim(target); }

  void take(std::string name, const std::string& value) {
    if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) return;
    if (name == "rel") {
      std::string_view words = value;
      for (std::string_view word = take_word(words); !word.empty(); word = take_word(words)) {
        link_.rels.push_back(lower(word));
      }
    } else if (name == "type") {
      link_.type = lower(trim(value));
    } else if (name == "title") {
      link_.title = fold_space(value);
    } else if (name == "anchor") {
      link_.anchor = trim(value);
    } else {
      return;
    }
    seen_.push_back(std::move(name));
  }

  HeaderLink take_link() { return std::move(link_); }

 private:
  HeaderLink link_;
  std::vector<std::string> seen_;  // which of the four names above
};

}  // namespace

bool HeaderLink::has_rel(std::string_view rel) const {
  return std::find(rels.begin(), rels.end(), rel) != rels.end();
}

std::vector<HeaderLink> read_link_header(std::string_view value) {
  std::vector<HeaderLink> links;
  std::string_view rest = value;
  while (links.size() < most_links) {
    const std::size_t open = rest.find('<');
    if (open == std::string_view::npos) break;
    rest.remove_prefix(open + 1);
    const std::size_t close = rest.find('>');
    if (close == std::string_view::npos) break;
    Reader link(rest.substr(0, close));
    rest.remove_prefix(close + 1);
    for (skip_space(rest); !rest.empty() && rest.front() == ';'; skip_space(rest)) {
      rest.remove_prefix(1);
      skip_space(rest);
      auto [name, text] = take_parameter(rest);
      link.take(std::move(name), text);
    }
    rest.remove_prefix(std::min(rest.find(','), rest.size()));
    links.push_back(link.take_link());
  }
  return links;
}

}  // namespace feedmill
