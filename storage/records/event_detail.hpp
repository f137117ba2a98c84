// How much of a post or feed its events tell (DESIGN §4).
#pragma once

#include <cstddef>

namespace feedmill {

struct EventDetail {
  std::size_t changed_max = 512;  ///< bytes of a value in `changed`; of a longer one only its size is told
  bool content = false;           ///< events of posts hold all of the post
  std::size_t content_max = std::size_t{64} << 10U;  ///< bytes of a post (entry_bytes()); of a larger one only its size
  bool content_text = false;                         ///< and its text without markup

  /// diff_entries() shows whole posts of up to so many bytes.
  std::size_t shown_up_to() const { return content ? content_max : 0; }
};

}  // namespace feedmill
