// Checks the values of attributes whose names the policy allows (SECURITY S4, S5, S14).
#pragma once

#include <string>
#include <string_view>

#include "parsers/markup/html_policy.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {

/// Resolves a URL from markup and checks it (SECURITY S5); "" if it must be dropped. `link`: it is an <a> href, where
/// mailto: and tel: are allowed.
std::string clean_html_url(HtmlPolicy policy, std::string_view raw, const UrlBase& base, bool link);

/// Sanitises an attribute's decoded `value` in place; false if the attribute must be dropped. Without a value
/// (`has_value` false) it gets the policy's replacement.
bool clean_html_attribute(HtmlPolicy policy, const HtmlElement& element, std::string_view name, std::string& value,
                          bool has_value, const UrlBase& base);

}  // namespace feedmill
