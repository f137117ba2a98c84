// Sanitises publishers' markup: an allow-list on our own tokenizer (SECURITY §4).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "parsers/markup/html_policy.hpp"

namespace feedmill {

/// Version of the rules that made the stored text and URLs (SECURITY S13). Raise it when a release stores the same
/// document differently. 0: not sanitised (SECURITY S14).
///
/// 2: types with parameters are markup, types of other markup are text; output ends within its cap; fewer schemes.
/// 3: nothing is stored by policy `classic` any longer; posts are sanitised by `strict`.
inline constexpr int sanitiser_version = 3;

/// Options of sanitise().
struct SanitiseOptions {
  HtmlPolicy policy = HtmlPolicy::strict;  ///< anything but `raw`, which the caller must not sanitise
  std::string_view base;                   ///< base of relative URLs in attributes; "" if unknown
  bool keep_class = false;                 ///< keep `class` under `strict`, too; `classic` always does (SECURITY S4)
  bool xhtml = false;                      ///< element names may carry prefixes, CDATA sections are text
  std::size_t max_bytes = std::size_t{1} << 20;
};

/// Sanitised markup.
struct Sanitised {
  std::string html;
  std::size_t steps = 0;   ///< work done: tokens, plus the open elements examined for them
  bool truncated = false;  ///< cut at max_bytes, or earlier if escaping would exceed it (SECURITY S10)
};

/// Re-serialises `markup` with only the elements, attributes, URLs and CSS properties that the policy keeps (SECURITY
/// S1, S4, S5, S7, S8, S10, S14). The output is valid UTF-8 if the input is, with lower-case names, double-quoted
/// attributes, every element closed, and at most 128 levels. Sanitising is idempotent. Linear time; memory ≤ input +
/// output.
Sanitised sanitise(std::string_view markup, const SanitiseOptions& options);

/// The declarations of a `style` attribute that policy `classic` keeps; "" if there are none or the style looks
/// hostile.
std::string sanitise_style(std::string_view style);

/// Whether text such as an RSS title is HTML: it has an end tag or an entity reference, and only known tags and
/// entities. Otherwise it is plain text.
bool looks_like_html(std::string_view text);

}  // namespace feedmill
