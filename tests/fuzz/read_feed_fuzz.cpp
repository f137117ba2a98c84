// Any bytes → a feed or an error; all output is clean text, also as JSON.
#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/fuzz/within_cost.hpp"

FEEDMILL_FUZZ_TARGET(read_feed_fuzz, data, size) {
  using namespace feedmill;
  if (size == 0) return 0;
  DocumentHints hints;
  hints.url = data[0] % 2 == 0 ? "http://example.org/feed" : "";
  hints.html = data[0] % 3 == 0 ? HtmlPolicy::raw : data[0] % 3 == 1 ? HtmlPolicy::strict : HtmlPolicy::classic;
  hints.hash_items = true;
  const auto feed = [&] {
    const fuzz::WithinCost cost(size - 1);
    return read_feed(fuzz::view(data + 1, size - 1), hints);
  }();
  if (feed.has_error()) return 0;
  for (const Entry& entry : feed.value().entries) {
    fuzz::require(!entry.guid.empty());
    fuzz::require_clean(entry.guid);
    fuzz::require_clean(entry.link);
    fuzz::require_clean(entry.summary.value);
  }
  fuzz::require_clean(document_json(feed.value()));
  return 0;
}
