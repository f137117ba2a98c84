// Decodes documents to UTF-8, by their bytes and declared encodings.
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
  std::string detail;      ///< for people: which encoding was named and which was used
  EncodingRule rule = EncodingRule::standard;      ///< the rule that decided `encoding`
  std::string named;                               ///< the label that should have decided but cannot be right
  EncodingRule named_by = EncodingRule::standard;  ///< where `named` comes from
  std::size_t replaced = 0;                        ///< number of sequences replaced by U+FFFD
  std::size_t dropped = 0;                         ///< number of forbidden characters removed
  bool mojibake = false;                           ///< values may need repair_mojibake()
  bool verbatim = false;                           ///< `text` equals the bytes of the body, but for a byte-order mark
};

/// Decodes a document. The first label that fits decides, in the order of RFC 7303 §3: byte-order mark, `charset`
/// parameter of `content_type`, XML declaration (read in the family that the first bytes show), UTF-8. A label does not
/// fit if it is unknown, contradicts the bytes, or names a single-byte encoding although the body is valid UTF-8 with
/// at least two sequences. If none fits, mostly valid UTF-8 is read as such, and other bytes by the label of
/// detect_charset(). Supports every encoding of iconv except UTF-7. Linear; throws only std::bad_alloc.
Decoded decode_document(std::string_view body, std::string_view content_type);

/// The rule in words: "the byte order mark", "the XML declaration" …
std::string_view rule_name(EncodingRule rule);

/// The `charset` of a Content-Type header without quotes; "" if none.
std::string_view charset_parameter(std::string_view content_type);

/// Undoes two common faults in one value: UTF-8 that was encoded twice, and C1 controls that are windows-1252. All
/// other values stay unchanged.
void repair_mojibake(std::string& value);

// Detection of legacy encodings.

/// The most likely label of bytes that are not UTF-8: one of big5, euc-jp, euc-kr, gb18030, shift_jis, koi8-r, tis-620,
/// windows-1250 … windows-1257. Ignores markup and ASCII. Reads at most the first 256 KiB.
std::string_view detect_charset(std::string_view bytes);

// HZ (RFC 1843): seven-bit Chinese, which iconv does not support.

/// Converts HZ to GB 2312's eight-bit form: "~{" and "~}" switch pairs on and off, "~~" is a tilde, "~" before a line
/// end joins lines. A line end also switches pairs off. Linear.
std::string hz_to_gb2312(std::string_view bytes);

}  // namespace feedmill
