// Any bytes, with one part repeated until the document is large → memory stays within the limit for its size (a small
// input always stays below the minimum). The first two bytes select the part.
#include <string>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/lists/opml.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/fuzz/within_cost.hpp"

FEEDMILL_FUZZ_TARGET(reading_cost_fuzz, data, size) {
  using namespace feedmill;
  if (size < 4) return 0;
  const std::string_view text = fuzz::view(data + 2, size - 2);
  const std::size_t from = text.size() * data[0] / 256;
  const std::size_t part = 1 + (text.size() - from - 1) * data[1] / 256;
  constexpr std::size_t large = std::size_t{400} << 10;
  std::string document(text.substr(0, from));
  document.reserve(large + 2 * text.size());
  while (document.size() < large) document += text.substr(from, part);
  document += text.substr(from + part);
  DocumentHints hints;
  hints.url = "http://example.org/feed";
  hints.whole_values = data[0] % 2 == 0;
  hints.html = data[1] % 4 == 0 ? HtmlPolicy::classic : HtmlPolicy::strict;
  {
    const fuzz::WithinCost cost(document.size());
    const auto feed = read_feed(document, hints);
    if (feed.has_value() && hints.whole_values) write_document_json(*feed, [](std::string_view) {});
  }
  const fuzz::WithinCost cost(document.size());
  read_opml(document);
  return 0;
}
