// Decodes documents to UTF-8 by their bytes and declared encodings.
#pragma once

#include <string>
#include <string_view>

#include "parsers/text/defects.hpp"

namespace feedmill {

/// The rule that decided the encoding. `standard`: UTF-8 by default.
enum class EncodingRule { byte_order_mark, content_type, declaration, first_bytes, standard, detected };

/// A decoded document: valid UTF-8 with LF line ends, without NUL, C0 (except TAB and LF), DEL and noncharacters.
struct Decoded {
  std::string text;
  std::string encoding;    ///< label of the encoding used, lower case
  Bozo bozo = Bozo::none;  ///< encoding_override, encoding_undetermined, or malformed_xml (forbidden characters)
  std::string detail;      ///< for people
  EncodingRule rule = EncodingRule::standard;      ///< the rule that decided `encoding`
  std::string named;                               ///< the label that should have decided but cannot be right
  EncodingRule named_by = EncodingRule::standard;  ///< the source of `named`
  std::size_t replaced = 0;                        ///< sequences replaced by U+FFFD
  std::size_t dropped = 0;                         ///< forbidden characters removed
  bool mojibake = false;                           ///< values may need repair_mojibake
  bool verbatim = false;                           ///< `text` equals the bytes at the end of the body
};

/// Decodes a document. Order of RFC 7303 §3: byte-order mark, `charset` parameter of `content_type`, XML declaration
/// (read in the family that the first bytes show), UTF-8. A label is overridden if it is unknown, contradicts the
/// bytes, or names a single-byte encoding although the body is valid UTF-8 with at least two sequences; undeclared
/// bytes that are not UTF-8 are detected (charset_detect.hpp). Supports every encoding of iconv except UTF-7. Linear;
/// throws only std::bad_alloc.
Decoded decode_document(std::string_view body, std::string_view content_type);

/// "the byte order mark", "the XML declaration" …
std::string_view rule_name(EncodingRule rule);

/// The `charset` of a Content-Type header, quotes removed; "" if none.
std::string_view charset_parameter(std::string_view content_type);

/// Undoes two common faults in one value: UTF-8 that was encoded twice, and C1 controls that are windows-1252. Leaves
/// everything else unchanged.
void repair_mojibake(std::string& value);

// Detects the legacy encoding of undeclared bytes.

/// A label for bytes that are not UTF-8: one of big5, euc-jp, euc-kr, gb18030, shift_jis, koi8-r, tis-620, windows-1250
/// … windows-1257. Ignores markup and ASCII. Reads at most the first 256 KiB.
std::string_view detect_charset(std::string_view bytes);

// HZ (RFC 1843): seven-bit Chinese, which iconv does not support.

/// Converts to GB 2312's eight-bit form: "~{" and "~}" switch the pairs on and off, "~~" is a tilde, "~" before a line
/// end joins lines. A line end also ends the pairs. Linear.
std::string hz_to_gb2312(std::string_view bytes);

}  // namespace feedmill
