// Any text → nothing, or JSON that a strict parser accepts.
#include <boost/json.hpp>

#include "parsers/markup/salvage.hpp"
#include "parsers/text/charset.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"

FEEDMILL_FUZZ_TARGET(json_salvage_fuzz, data, size) {
  using namespace feedmill;
  const std::string text = decode_document(fuzz::view(data, size), "application/json;charset=utf-8").text;
  const std::string repaired = salvage_json(text, 63).text;
  if (repaired.empty()) return 0;
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = 64;
  boost::json::parse(repaired, error, {}, options);
  fuzz::require(!error);
  return 0;
}
