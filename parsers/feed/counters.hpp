// Counters in feed items: views, ratings, comments. They change at every poll and are never news. Pure; linear.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Whether an element of an extension is a counter: `slash:comments`, `thr:total`, `media:statistics`, `nyaa:seeders`,
/// `views` of any vocabulary. Case, `-` and `_` of the name do not count.
bool is_counter(std::string_view prefix, std::string_view local_name);

/// Whether the start tags around the items declare a usual prefix of counters.
bool may_have_counters(std::string_view start_tags);

/// The source of an XML item without the elements and attributes that are counters under their usual prefixes. Refers
/// to `item` when it has none, else to `buffer`.
std::string_view without_counters(std::string_view item, std::string& buffer);

}  // namespace feedmill
