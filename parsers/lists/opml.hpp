// Subscription lists as OPML (1.0, 1.1, 2.0), with line numbers.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedmill {

/// Limits of SECURITY T32.
inline constexpr std::size_t max_opml_bytes = std::size_t{64} << 20;
inline constexpr std::size_t max_opml_depth = 32;
inline constexpr std::size_t max_opml_rows = 200'000;

/// Attributes in order. OPML's own names are in OPML's spelling ("xmlUrl"), others as written, with their prefix.
using OpmlAttributes = std::vector<std::pair<std::string, std::string>>;

/// An outline that is a feed.
struct OpmlRow {
  std::size_t line = 0;              ///< where its tag begins, from 1
  std::string url;                   ///< trimmed, otherwise as written; never ""
  std::vector<std::string> folders;  ///< names of the enclosing outlines, outermost first; each cut to 256 bytes
  OpmlAttributes attributes;         ///< all but the URL and xmlns, in document order; at most 64 KiB, values 8 KiB

  bool operator==(const OpmlRow&) const = default;
};

/// A fault in the file.
struct OpmlProblem {
  enum class Kind {
    broken,  ///< not well-formed or not OPML; the rest was read as far as possible
    refused  ///< an outline that should be a feed but is not
  };
  std::size_t line = 0;
  Kind kind{};
  std::string detail;  ///< for people; may quote the file

  bool operator==(const OpmlProblem&) const = default;
};

/// The content of an OPML file.
struct Opml {
  std::deque<OpmlRow> rows;           ///< in document order, duplicates included; callers consume them from the front
  std::vector<OpmlProblem> problems;  ///< in document order; at most a hundred are `broken`
  std::vector<std::pair<std::string, std::string>>
      namespaces;  ///< prefix → URI of at most 256 bytes; the first declaration of a prefix counts
};

/// Reads an OPML file in any state; from a broken one, the outlines that can be recognised.
///
/// An outline is a feed if it has `xmlUrl` in any case, or `url` and the type rss or atom. The file is read tag by tag,
/// not as a tree: no DTD, no external or expanding entities, no recursion (SECURITY T13, T18). Reading stops with a
/// problem before it takes more memory than limits::reading_cost, `bytes` included. Each row is charged three times, so
/// that callers that convert rows one by one also stay within that. Pure and reentrant; linear in `bytes`; throws only
/// std::bad_alloc.
Opml read_opml(std::string_view bytes);

/// Whether an attribute of this name can be written: `name` or `prefix:name` in ASCII.
bool is_opml_attribute(std::string_view name);

/// Writes an OPML 2.0 document in UTF-8, piece by piece, so that it is never in memory as a whole.
class OpmlWriter {
 public:
  /// Writes the head. `date_created` in RFC 822 form.
  OpmlWriter(std::string_view title, std::string_view date_created);
  /// Writes an outline with these attributes, in their order, inside `folders` (outermost first; none: at the top).
  /// Consecutive rows in the same folder share its outline; otherwise the folder is repeated. Skips attributes that are
  /// not is_opml_attribute(), and repeated names.
  void row(std::span<const std::string> folders, const OpmlAttributes& attributes);
  /// Closes all folders and the document.
  void end();
  /// The text written since the last call.
  std::string take();

 private:
  void leave(std::size_t depth);

  std::string out_;
  std::vector<std::string> open_;  // the open folders, outermost first
};

}  // namespace feedmill
