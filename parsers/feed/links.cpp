#include "parsers/feed/links.hpp"

#include <algorithm>
#include <utility>

#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

/// Resolves a hub or topic; "" if invalid. Valid absolute URLs stay unchanged, because hubs compare topics byte for
/// byte.
std::string absolute(std::string_view base, std::string_view reference) {
  if (reference.size() > most_url_bytes) return {};
  std::string url = is_hub_url(reference) ? std::string(reference) : resolve_url(base, reference);
  return is_hub_url(url) ? url : std::string();
}

void add_hub(std::vector<std::string>& hubs, std::string url) {
  url.resize(std::min(url.find('#'), url.size()));
  if (!is_hub_url(url) || std::find(hubs.begin(), hubs.end(), url) != hubs.end()) return;
  hubs.push_back(std::move(url));
}

}  // namespace

bool is_hub_url(std::string_view url) {
  const bool visible = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c != 0x7f; });
  return is_http_url(url) && url.size() <= most_url_bytes && visible &&
         split_url(url).authority.find('@') == std::string_view::npos;
}

HubLinks hub_links(std::string_view link_header, std::string_view url, const std::vector<std::string>& body_hubs,
                   std::string_view body_self) {
  HubLinks links;
  std::string header_self;
  for (const HeaderLink& link : read_link_header(link_header)) {
    const bool ascii = std::all_of(link.target.begin(), link.target.end(), [](char c) { return c > 0; });
    if (!ascii) continue;  // the encoding of non-ASCII bytes in a header is unknown
    if (!link.anchor.empty() && resolve_url(url, link.anchor) != url) continue;
    std::string target = absolute(url, link.target);
    if (link.has_rel("self") && header_self.empty()) header_self = target;
    if (link.has_rel("hub")) add_hub(links.hubs, std::move(target));
  }
  const bool of_header = !links.hubs.empty();
  if (!of_header) {
    for (const std::string& hub : body_hubs) add_hub(links.hubs, hub);
  }
  if (links.hubs.empty()) return links;
  std::stable_partition(links.hubs.begin(), links.hubs.end(),
                        [](const std::string& hub) { return istarts_with(hub, "https:"); });
  links.hubs.resize(std::min(links.hubs.size(), most_hubs));
  const std::string of_body = body_self.empty() ? std::string() : absolute(url, body_self);
  const std::string& first = of_header ? header_self : of_body;
  const std::string& second = of_header ? of_body : header_self;
  links.topic = !first.empty() ? first : !second.empty() ? second : std::string(url);
  return links;
}

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

/// The content of a quoted string; `rest` begins after the opening quote. Without a closing quote, all of `rest`.
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

/// False if no field holds the parameter.
bool set_parameter(HeaderLink& link, std::string_view name, const std::string& value) {
  if (name == "rel") {
    std::string_view words = value;
    for (std::string_view word = take_word(words); !word.empty(); word = take_word(words)) {
      link.rels.push_back(lower(word));
    }
  } else if (name == "type") {
    link.type = lower(trim(value));
  } else if (name == "title") {
    link.title = fold_space(value);
  } else if (name == "anchor") {
    link.anchor = trim(value);
  } else {
    return false;
  }
  return true;
}

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
    HeaderLink& link = links.emplace_back();
    link.target = trim(rest.substr(0, close));
    std::vector<std::string> seen;  // names of the parameters already set
    rest.remove_prefix(close + 1);
    for (skip_space(rest); !rest.empty() && rest.front() == ';'; skip_space(rest)) {
      rest.remove_prefix(1);
      skip_space(rest);
      auto [name, text] = take_parameter(rest);
      const bool is_new = std::ranges::find(seen, name) == seen.end();
      if (is_new && set_parameter(link, name, text)) seen.push_back(std::move(name));
    }
    rest.remove_prefix(std::min(rest.find(','), rest.size()));
  }
  return links;
}

}  // namespace feedmill
