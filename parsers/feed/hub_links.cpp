#include "parsers/feed/hub_links.hpp"

#include <algorithm>

#include "parsers/feed/link_header.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

/// Keeps absolute URLs unchanged: hubs compare topics byte for byte.
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
    if (!ascii) continue;  // the encoding of such bytes in a header is unknown
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

}  // namespace feedmill
