// Any Link header and page → candidates: absolute http(s) addresses only, bounded in number, clean titles.
#include "parsers/feed/links.hpp"
#include "parsers/lists/discovery.hpp"
#include "parsers/text/url.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"

FEEDMILL_FUZZ_TARGET(discovery_fuzz, data, size) {
  using namespace feedmill;
  const std::string_view text = fuzz::view(data, size);
  const std::size_t split = text.find('\n');
  const std::string_view header = text.substr(0, split);
  const std::string_view body = split == std::string_view::npos ? std::string_view() : text.substr(split + 1);
  fuzz::require(read_link_header(header).size() <= 256);
  const PageLinks page = read_page(body, {"http://example.org/a/b?c", "text/html", header});
  fuzz::require(page.feeds.size() <= 48 && page.hubs.size() <= 4);
  fuzz::require_clean(page.title);
  for (const FeedCandidate& feed : page.feeds) {
    fuzz::require(is_http_url(feed.url) && feed.url.size() <= 2048 && feed.url.find('#') == std::string::npos);
    if (feed.found_in != FoundIn::link_header) fuzz::require_clean(feed.title);
  }
  for (const std::string& hub : page.hubs) fuzz::require(is_http_url(hub));
  return 0;
}
