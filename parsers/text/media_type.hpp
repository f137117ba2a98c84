// Media types as publishers write them.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// A media type as RFC 6838 §4.2 spells it, in lower case, without parameters: "application/rss+xml" of
/// ` Application/RSS+XML; charset=utf-8`. "" for what is not one, or is longer than limits::word.
std::string media_type(std::string_view declared);

}  // namespace feedmill
