// Volatile parts of a feed's URLs, learned from its documents (DESIGN §5).
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// Parts (PostChange::parts) that changed in three documents, on most posts and with nothing else, are volatile: later
/// changes of these parts are quiet. A part that did not change in ten documents is forgotten. At most 512 bytes as
/// text. Pure.
class VolatileParts {
 public:
  static constexpr std::size_t most_bytes = 512;
  static constexpr unsigned documents_to_learn = 3, documents_to_forget = 10;

  VolatileParts() = default;
  /// `text` from text(); malformed rows are skipped.
  explicit VolatileParts(std::string_view text);

  /// Whether a change of that part is quiet.
  bool contains(const std::string& part) const;
  bool contains_all(const std::set<std::string>& parts) const;
  /// The volatile parts.
  std::vector<std::string> parts() const;

  /// Counts one document. `on_most`: parts that changed, with nothing else, on most of its stored posts; `on_any`: all
  /// changed parts.
  void count(const std::set<std::string>& on_most, const std::set<std::string>& on_any);

  /// Value of state:volatile:<feed_url>: one line per part, "" if there are none.
  std::string text() const;

 private:
  struct Row {
    std::string part;
    unsigned changed = 0;  ///< documents in which it changed, at most documents_to_learn
    unsigned still = 0;    ///< documents since then in which it did not
  };
  std::vector<Row> rows_;
};

}  // namespace feedmill
