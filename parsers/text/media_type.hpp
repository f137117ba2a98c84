// Normalises media types as publishers write them.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// A media type in RFC 6838 §4.2 form, lower case, without parameters: "application/rss+xml" for ` Application/RSS+XML;
/// charset=utf-8`. "" if it is not one or is longer than limits::word.
std::string media_type(std::string_view declared);

}  // namespace feedmill
