// What an attribute's value may say (SECURITY S4, S5), once its name is on the list.
#pragma once

#include <string>
#include <string_view>

#include "parsers/text/url.hpp"

namespace feedmill {

/// A URL in markup made absolute and checked (SECURITY S5); "" when it must go. `link`: of an <a>, where mailto: and
/// tel: may be.
std::string clean_html_url(std::string_view raw, const UrlBase& base, bool link);

/// Makes a decoded value fit to be kept; false when the attribute must go.
bool clean_html_attribute(std::string_view name, std::string& value, const UrlBase& base);

}  // namespace feedmill
