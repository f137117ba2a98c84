// Any markup → clean markup of bounded size that sanitising again does not change (SECURITY S8, S10).
#include "parsers/markup/sanitise.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/charset.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"

FEEDMILL_FUZZ_TARGET(sanitise_fuzz, data, size) {
  using namespace feedmill;
  if (size == 0) return 0;
  const std::string markup = decode_document(fuzz::view(data + 1, size - 1), "text/html;charset=utf-8").text;
  SanitiseOptions options;
  options.policy = data[0] % 2 == 0 ? HtmlPolicy::strict : HtmlPolicy::classic;
  options.xhtml = data[0] % 4 >= 2;
  options.base = data[0] % 8 >= 4 ? "http://example.org/a/b?c" : "";
  const Sanitised once = sanitise(markup, options);
  fuzz::require_clean(once.html);
  fuzz::require(once.html.size() <= 8 * markup.size() + 8192);
  options.max_bytes = once.html.size() * 9 + 8192;
  const Sanitised twice = sanitise(once.html, options);
  fuzz::require(twice.html == once.html);
  fuzz::require_clean(plain_text(markup));
  looks_like_html(markup);
  return 0;
}
