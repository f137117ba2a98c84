// How a post differs from its stored version: what a reader notices, and which URL parts changed (DESIGN
// §5). Pure; linear in both versions.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

/// The differences between two versions of a post.
struct PostChange {
  /// A reader notices it, regardless of volatile parts: texts, categories, URLs of pages and files, and extensions
  /// about the post's content (transcript, chapters, episode, place, price, severity of an alert). Dates are ignored.
  bool noticed = false;
  /// Other differences, in URL parts and numbers of files; news unless volatile: "?name" of a query, "/host/2" a path
  /// segment in the text, "@host" if only the host differs, "#length" a number.
  std::set<std::string> parts;
};

/// Compares two versions of a post. Ignores differences of spelling and time in URLs: scheme, `www.`, tracking,
/// signatures, cache busters. `other_rules`: another sanitiser version made `stored`, so only the words of markup are
/// compared.
PostChange change_between(const Fields& stored, const Fields& read, bool other_rules = false);

// Removes parts of a post's texts that change from one fetch to the next (DESIGN §5). Pure; linear.

/// Appends a URL without some of its parameters (parsers/text/url.hpp).
using AppendUrl = void (*)(std::string& out, std::string_view url);

/// Markup without tracking pixels; URLs of links pass through `link`, those of embedded files through `file`. Refers to
/// `html` if there is nothing to change, else to `buffer`.
std::string_view settled_markup(std::string_view html, std::string& buffer, AppendUrl link, AppendUrl file);

/// JSON text with the members "url" passed through `file`. Refers to `json` if they have no parameters, else to
/// `buffer`.
std::string_view settled_json(std::string_view json, std::string& buffer, AppendUrl file);

/// Whether an `<img …>` tag is a tracking pixel, at most one pixel in size.
bool is_pixel(std::string_view tag);

// Volatile parts of a feed's URLs, learned from its documents (DESIGN §5).

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
