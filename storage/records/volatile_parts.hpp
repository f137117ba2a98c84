// Volatile parts of a feed's URLs, learned from its documents (DESIGN §5).
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// Parts (PostChange::parts) that changed in three documents on most posts with nothing else are volatile: later
/// changes of them are quiet. One that did not change in ten documents is forgotten. At most 512 bytes as text. Pure.
class VolatileParts {
 public:
  static constexpr std::size_t most_bytes = 512;
  static constexpr unsigned documents_to_learn = 3, documents_to_forget = 10;

  VolatileParts() = default;
  /// `text` of text(); malformed rows are skipped.
  explicit VolatileParts(std::string_view text);

  /// Whether a change of that part is quiet.
  bool contains(const std::string& part) const;
  bool contains_all(const std::set<std::string>& parts) const;
  /// Those that are.
  std::vector<std::string> parts() const;

  /// Counts one document. `on_most`: parts that changed on most of its stored posts with nothing else; `on_any`: all
  /// that changed.
  void count(const std::set<std::string>& on_most, const std::set<std::string>& on_any);

  /// For state:volatile:<feed_url>: a line each, "" when there is none.
  std::string text() const;

 private:
  struct Row {
    std::string part;
    unsigned changed = 0;  ///< documents in which it did, at most documents_to_learn
    unsigned still = 0;    ///< documents since in which it did not
  };
  std::vector<Row> rows_;
};

}  // namespace feedmill
