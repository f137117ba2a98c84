// Any text as a feed's URL or a redirect's target → rejected, or a canonical URL with an unambiguous host (HTTP C1;
// SECURITY E3, E4, T21).
#include <string>

#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"
#include "worker/egress/web_url.hpp"

namespace {

void check(const std::string& url) {
  using namespace feedmill;
  fuzz::require(url.size() <= max_url_bytes);
  fuzz::require(url.starts_with("http://") || url.starts_with("https://"));
  for (const char byte : url) fuzz::require(byte > 0x20 && byte < 0x7f && byte != '#');
  const Origin origin = origin_of(url);
  fuzz::require(!origin.host.empty() && origin.port < 65536);
  fuzz::require(origin.host == host_of(url));
  fuzz::require(origin.host.find_first_of("@\\/?#") == origin.host.npos);
}

}  // namespace

FEEDMILL_FUZZ_TARGET(web_url_fuzz, data, size) {
  using namespace feedmill;
  const std::string_view text = fuzz::view(data, size);
  if (const auto url = canonical_feed_url(text)) {
    check(*url);
    const auto again = canonical_feed_url(*url);
    fuzz::require(!again || *again == *url);  // libidn2 cannot read back the punycode of some symbols
  }
  if (const auto target = resolve_location("https://example.org/a/b?c", text)) {
    check(*target);
    fuzz::require(target->find('\\') >= target->find('?'));  // parsers disagree about backslashes before the query
  }
  return 0;
}
