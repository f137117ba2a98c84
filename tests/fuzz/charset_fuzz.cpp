// Any bytes under any label → valid text without forbidden characters.
#include "parsers/text/charset.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"

FEEDMILL_FUZZ_TARGET(charset_fuzz, data, size) {
  using namespace feedmill;
  if (size == 0) return 0;
  constexpr std::string_view types[] = {"",
                                        "text/xml",
                                        "text/xml; charset=utf-8",
                                        "text/xml; charset=iso-8859-1",
                                        "text/xml; charset=utf-16",
                                        "text/xml; charset=shift_jis",
                                        "text/xml; charset=gb2312",
                                        "text/xml; charset=iso-2022-jp",
                                        "text/xml; charset=big5",
                                        "text/xml; charset=utf-7",
                                        "text/xml; charset=macturkish"};
  Decoded decoded = decode_document(fuzz::view(data + 1, size - 1), types[data[0] % std::size(types)]);
  fuzz::require_clean(decoded.text);
  fuzz::require_clean(decoded.encoding);
  repair_mojibake(decoded.text);
  fuzz::require_clean(decoded.text);
  return 0;
}
