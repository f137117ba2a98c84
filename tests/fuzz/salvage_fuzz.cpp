// Any text → nothing, or a properly nested document.
#include "parsers/markup/salvage.hpp"
#include "parsers/markup/well_formed.hpp"
#include "parsers/text/charset.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"

FEEDMILL_FUZZ_TARGET(salvage_fuzz, data, size) {
  using namespace feedmill;
  const std::string text = decode_document(fuzz::view(data, size), "text/xml;charset=utf-8").text;
  check_well_formed(text);
  const std::string repaired = salvage(text).text;
  if (repaired.empty()) return 0;
  fuzz::require_clean(repaired);
  fuzz::require(check_well_formed(repaired).nested);
  fuzz::require(repaired.size() <= 8 * text.size() + 65536);
  return 0;
}
