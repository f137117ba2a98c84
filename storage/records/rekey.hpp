// Finds the posts of a document that are stored under other guids (DESIGN §5, "Re-keying, not flooding"). Pure; linear.
#pragma once

#include <cstddef>
#include <vector>

#include "storage/records/stored_snapshot.hpp"

namespace feedmill {

/// Indices of a document's post and of the stored post that it is.
struct Match {
  enum class By { guid, link, text };
  std::size_t read = 0, stored = 0;
  By by{};
  bool sure = false;  ///< unambiguous: the other evidence (date, or else title) agrees too
};

/// Finds the stored post for each document post with `wanted` set: by its former guid unless the links contradict, else
/// by link, else by text, unless several different posts in the document or the store share that key, or the document
/// lists the stored post itself. A link to a home page identifies no post. In the document's order.
std::vector<Match> match_posts(const std::vector<EntryRecord>& read, const std::vector<bool>& wanted,
                               const std::vector<StoredPost>& stored);

}  // namespace feedmill
