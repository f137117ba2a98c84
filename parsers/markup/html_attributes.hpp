// What an attribute's value may say (SECURITY S4, S5, S14), once its name is on the policy's list.
#pragma once

#include <string>
#include <string_view>

#include "parsers/markup/html_policy.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {

/// A URL in markup made absolute and checked (SECURITY S5); "" when it must go. `link`: of an <a>, where mailto: and
/// tel: may be.
std::string clean_html_url(HtmlPolicy policy, std::string_view raw, const UrlBase& base, bool link);

/// Makes a value fit to be kept; false when the attribute must go. `value` is decoded; an attribute without one
/// (`has_value` false) gets what the policy writes for it.
bool clean_html_attribute(HtmlPolicy policy, const HtmlElement& element, std::string_view name, std::string& value,
                          bool has_value, const UrlBase& base);

}  // namespace feedmill
