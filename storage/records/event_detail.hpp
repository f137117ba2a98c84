// How much of a post or feed its events contain (DESIGN §4).
#pragma once

#include <cstddef>

namespace feedmill {

struct EventDetail {
  std::size_t changed_max = 512;  ///< longest value in `changed`, bytes; a longer one is reported by size
  bool content = false;           ///< events of posts contain the whole post
  std::size_t content_max = std::size_t{64} << 10U;  ///< largest post (entry_bytes()); a larger one is reported by size
  bool content_text = false;                         ///< … and its text without markup

  /// Limit of the posts that diff_entries() shows in full, bytes.
  std::size_t shown_up_to() const { return content ? content_max : 0; }
};

}  // namespace feedmill
