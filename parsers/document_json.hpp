// The JSON document of the parse contract: what `feedmill parse` prints.
#pragma once

#include <string>
#include <string_view>

#include "parsers/feed.hpp"

namespace feedmill {

/// One JSON object, UTF-8, on one line without a line end. Keys without a value are left out.
std::string document_json(const Feed& feed);

/// The contract's word for a format: "rss20", "atom10" …
std::string_view format_name(Format format);

/// The contract's token for what was repaired: "malformed-xml" …; "" for none.
std::string_view bozo_token(Bozo bozo);

}  // namespace feedmill
