// Which posts of a document are stored posts under new guids (DESIGN §5, "Re-keying, not flooding"). Pure; linear.
#pragma once

#include <cstddef>
#include <vector>

#include "storage/records/stored_snapshot.hpp"

namespace feedmill {

/// A post of a document and the stored post that it is, by their places.
struct Match {
  enum class By { guid, link, text };
  std::size_t read = 0, stored = 0;
  By by{};
  bool sure = false;  ///< by itself: what is given besides (date, else title) agrees too
};

/// For each post of the document that `wanted` says true of, the stored post that is the same: the one with its former
/// guid unless their links contradict, else with its link, else with its text; as long as neither the document nor the
/// store has different posts of the kind, and the document does not list the stored one itself. A link to a home page
/// names no post. In the document's order.
std::vector<Match> match_posts(const std::vector<EntryRecord>& read, const std::vector<bool>& wanted,
                               const std::vector<StoredPost>& stored);

}  // namespace feedmill
