// Any bytes → rows with a URL and problems with a line number; a list written from the rows reads back as the same
// rows.
#include "parsers/lists/opml.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/fuzz/within_cost.hpp"

FEEDMILL_FUZZ_TARGET(opml_fuzz, data, size) {
  using namespace feedmill;
  const Opml opml = [&] {
    const fuzz::WithinCost cost(size);
    return read_opml(fuzz::view(data, size));
  }();
  OpmlWriter writer("t", "Thu, 01 Jan 2004 00:00:00 GMT");
  for (const OpmlRow& row : opml.rows) {
    fuzz::require(!row.url.empty() && row.line > 0 && row.folders.size() <= max_opml_depth);
    fuzz::require_clean(row.url);
    for (const std::string& folder : row.folders) fuzz::require_clean(folder);
    for (const auto& [name, value] : row.attributes) fuzz::require_clean(value);
    writer.row({}, {{"xmlUrl", row.url}});
  }
  for (const OpmlProblem& problem : opml.problems) fuzz::require_clean(problem.detail);
  writer.end();
  const Opml again = read_opml(writer.take());
  fuzz::require(again.rows.size() == opml.rows.size());
  for (std::size_t i = 0; i < again.rows.size(); ++i) fuzz::require(again.rows[i].url == opml.rows[i].url);
  return 0;
}
