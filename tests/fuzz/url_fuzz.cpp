// Any base and reference → a URL; a URL that counts as safe never has a scheme that runs code.
#include "parsers/text/url.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"

FEEDMILL_FUZZ_TARGET(url_fuzz, data, size) {
  using namespace feedmill;
  const std::string_view text = fuzz::view(data, size);
  const std::size_t split = text.find('\n');
  const std::string_view base = text.substr(0, split);
  const std::string_view reference = split == std::string_view::npos ? text : text.substr(split + 1);
  const std::string url = resolve_safe_url(base, reference);
  fuzz::require(!url.starts_with("javascript:") && !url.starts_with("data:") && !url.starts_with("vbscript:"));
  canonical_url(url);
  std::string alias;
  append_url_alias(alias, text);
  fuzz::require(alias.size() < text.size() || alias.empty());
  without_credentials(url);
  return 0;
}
