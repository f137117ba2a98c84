// What of a publisher's markup may be shown: an allow-list on our own tokenizer (SECURITY §4).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "parsers/markup/html_policy.hpp"

namespace feedmill {

/// The number of the rules that stored text and addresses were made by (SECURITY S13): what a release stores otherwise
/// than the one before it, of the same document, raises it. 0 marks what nobody has sanitised (SECURITY S14).
///
/// 2: types with parameters are markup, types of other markup are text; output ends within its cap; fewer schemes.
/// 3: posts of policy `classic`, which stores nothing any more, are made as strict makes them.
inline constexpr int sanitiser_version = 3;

struct SanitiseOptions {
  HtmlPolicy policy = HtmlPolicy::strict;  ///< `raw` is no business of the sanitiser's: callers leave it out
  std::string_view base;                   ///< URLs in attributes resolve against it; "" if unknown
  bool keep_class = false;                 ///< `strict` keeps `class` too; `classic` always does (SECURITY S4)
  bool xhtml = false;                      ///< element names may carry prefixes, CDATA sections are text
  std::size_t max_bytes = std::size_t{1} << 20;
};

struct Sanitised {
  std::string html;
  std::size_t steps = 0;   ///< tokens, and open elements looked at for them
  bool truncated = false;  ///< cut within max_bytes, or where escaping would have blown it up (SECURITY S10)
};

/// Re-serialises `markup` with only the policy's elements, attributes, URLs and CSS properties (SECURITY S1–S14).
/// Output: valid UTF-8 if the input is, lower-case names, attributes in double quotes, every element closed, at most
/// 128 deep; reading it again changes nothing. Linear time; memory ≤ input + output.
Sanitised sanitise(std::string_view markup, const SanitiseOptions& options);

/// The declarations of a `style` attribute that policy `classic` keeps; "" when none or when the style looks hostile.
std::string sanitise_style(std::string_view style);

/// RSS titles and the like are plain unless they look like HTML: a close tag or an entity reference, and only known
/// tags and entities.
bool looks_like_html(std::string_view text);

}  // namespace feedmill
