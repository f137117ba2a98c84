// What of a publisher's markup may be shown: an allow-list on our own tokenizer (SECURITY §4).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

/// The number of the rules that stored text and addresses were made by (SECURITY S13): what a release stores otherwise
/// than the one before it, of the same document, raises it. 0 marks what nobody has sanitised (SECURITY S14).
///
/// 2: types with parameters are markup, types of other markup are text; output ends within its cap; fewer schemes.
/// 3: posts of policy `classic`, which is gone, are made as strict makes them.
inline constexpr int sanitiser_version = 3;

struct SanitiseOptions {
  std::string_view base;    ///< URLs in attributes resolve against it; "" if unknown
  bool keep_class = false;  ///< keeps `class` too (SECURITY S4)
  bool xhtml = false;       ///< element names may carry prefixes, CDATA sections are text
  std::size_t max_bytes = std::size_t{1} << 20;
};

struct Sanitised {
  std::string html;
  std::size_t steps = 0;   ///< tokens, and open elements looked at for them
  bool truncated = false;  ///< cut within max_bytes, or where escaping would have blown it up (SECURITY S10)
};

/// Re-serialises `markup` with only the elements, attributes and URLs that SECURITY S1–S12 allow.
/// Output: valid UTF-8 if the input is, lower-case names, attributes in double quotes, every element closed, at most
/// 128 deep; reading it again changes nothing. Linear time; memory ≤ input + output.
Sanitised sanitise(std::string_view markup, const SanitiseOptions& options);

/// RSS titles and the like are plain unless they look like HTML: a close tag or an entity reference, and only known
/// tags and entities.
bool looks_like_html(std::string_view text);

}  // namespace feedmill
