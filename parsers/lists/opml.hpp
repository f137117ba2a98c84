// Lists of subscriptions as OPML (1.0, 1.1, 2.0): what the file says, line by line.
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

/// Names of OPML are in OPML's own spelling ("xmlUrl"), others as written, prefix included.
using OpmlAttributes = std::vector<std::pair<std::string, std::string>>;

/// An outline that names a feed.
struct OpmlRow {
  std::size_t line = 0;              ///< where its tag begins, from 1
  std::string url;                   ///< trimmed, else as written; never ""
  std::vector<std::string> folders;  ///< names of the outlines around it, outermost first; each cut to 256 bytes
  OpmlAttributes attributes;         ///< all but the URL's and xmlns, in document order; at most 64 KiB, values 8 KiB

  bool operator==(const OpmlRow&) const = default;
};

/// A place where the file is not what it should be.
struct OpmlProblem {
  enum class Kind {
    broken,  ///< not well-formed or no OPML; what could be read around it was
    refused  ///< an outline that should be a feed and is none
  };
  std::size_t line = 0;
  Kind kind{};
  std::string detail;  ///< for people; may quote the file

  bool operator==(const OpmlProblem&) const = default;
};

struct Opml {
  std::deque<OpmlRow> rows;           ///< in document order, duplicates included; taken from the front as they are used
  std::vector<OpmlProblem> problems;  ///< in document order; of `broken` the first hundred
  std::vector<std::pair<std::string, std::string>>
      namespaces;  ///< prefix → URI of at most 256 bytes; the first declaration of a prefix counts
};

/// Reads an OPML file, whatever state it is in: a broken one gives the outlines that can be made out.
///
/// An outline is a feed when it has `xmlUrl` in any case, or `url` and the type rss or atom. It is read tag by tag, not
/// as a tree: no DTD, no external or expanding entities, no recursion (SECURITY T13, T14). Where it would take more
/// memory than limits::reading_cost says, `bytes` included, the rest is not read, and a problem says so. That counts
/// three times what a row takes by itself: who moves rows into something of theirs, one by one, stays within it.
/// Pure and reentrant; linear in `bytes`; throws only std::bad_alloc.
Opml read_opml(std::string_view bytes);

/// An OPML 2.0 document, UTF-8, part by part: nothing holds all of it. `date_created` as RFC 822 writes it.
class OpmlWriter {
 public:
  OpmlWriter(std::string_view title, std::string_view date_created);
  /// An outline in a folder, outermost first; none: at the top. `attributes` in the order to write. Rows of one folder
  /// stand together where they are given one after the other, else it is there again.
  void row(std::span<const std::string> folders, const OpmlAttributes& attributes);
  void end();
  /// What was written since the last call.
  std::string take();

 private:
  void leave(std::size_t depth);

  std::string out_;
  std::vector<std::string> open_;  // folders
};

}  // namespace feedmill
