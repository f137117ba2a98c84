// Terminal: data on stdout, messages on stderr (OPERATIONS U1).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

namespace feedmill {

/// Outside text made safe for a terminal: controls (C0, DEL, C1), bidi and zero-width characters and invalid UTF-8
/// become \xNN or \u{…} (SECURITY O2). Line breaks are controls too, so the result is one line.
std::string visible(std::string_view text);

/// Columns that `text` takes on a terminal: 2 for wide characters, 0 for combining ones. `text` must be visible()
/// output.
std::size_t columns(std::string_view text);

/// `text` truncated to `width` columns, ending in "…" if truncated. `text` must be visible() output.
std::string cut(std::string_view text, std::size_t width);

enum class ColorMode { automatic, always, never };

/// Thrown by Terminal if stdout's reader is gone: the program ends quietly (OPERATIONS U5). Caught in main().
struct OutputClosed {};

/// Thrown by Terminal if stdout cannot be written; what() is for people: "cannot write to standard output: No space
/// left on device". Caught in main().
struct OutputFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Global output flags of the command line, and the descriptors to write to.
struct TerminalOptions {
  ColorMode color = ColorMode::automatic;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  int out = 1;  ///< data descriptor; not owned
  int err = 2;  ///< message descriptor; not owned
};

/// Output streams of a verb. Data is buffered and written in whole lines; a terminal gets each line at once.
class Terminal {
 public:
  explicit Terminal(TerminalOptions options);
  ~Terminal();  ///< writes the buffer; errors are ignored, so call flush() first
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool json() const { return options_.json; }
  bool quiet() const { return options_.quiet; }
  bool verbose() const { return options_.verbose; }
  /// Columns to truncate data lines to; 0: stdout is not a terminal, nothing is truncated.
  std::size_t width() const { return out_width_; }
  /// Whether stdout is a terminal and TERM is neither missing nor "dumb".
  bool can_draw() const;
  bool err_is_terminal() const { return err_is_terminal_; }
  int out() const { return options_.out; }
  int err() const { return options_.err; }

  /// Writes a data line unchanged; the caller has cleaned outside text.
  void line(std::string_view text);
  /// Writes a line of JSON that begins with `schema` (OPERATIONS U1).
  void line(const boost::json::object& object);

  /// Reports a result of the verb: for programs an object with `schema` and `fields`, for people `text`, cleaned by the
  /// caller.
  void tell(boost::json::object fields, std::string_view text);
  /// Reports a result as `fields` for programs, and for people as one line per name and value, values from column
  /// `width` + 2; cleaned here.
  void tell(boost::json::object fields, const std::vector<std::pair<std::string, std::string>>& lines,
            std::size_t width);

  /// Writes data that is not a line, such as a document.
  void raw(std::string_view text);
  /// Writes the buffer. Throws OutputClosed if the reader is gone (checked even if the buffer is empty) or the terminal
  /// is; OutputFailed on device errors.
  void flush();

  /// Sets the verb named in errors; "" (initially): none.
  void speak_for(std::string_view verb) { verb_ = verb; }
  const std::string& verb() const { return verb_; }

  /// Writes a message line to stderr, unless quiet.
  void note(std::string_view text);
  /// Writes "feedmill: ", the verb if any, and `text` as one line to stderr.
  void error(std::string_view text);
  /// Asks on the terminal; only "y" or "yes" confirms. Requires can_ask().
  bool confirm(std::string_view question);
  /// Whether stdin and stderr are terminals.
  bool can_ask() const;

  /// `text` in bold, faint or red if stdout supports colours. Colour never carries meaning alone.
  std::string bold(std::string_view text) const { return painted("1", text); }
  std::string faint(std::string_view text) const { return painted("2", text); }
  std::string red(std::string_view text) const { return painted("31", text); }

 private:
  std::string painted(std::string_view code, std::string_view text) const;

  TerminalOptions options_;
  bool out_is_terminal_, err_is_terminal_, color_;
  std::size_t out_width_ = 0;
  std::string buffer_, verb_;
};

/// Table rows, or for programs an object per row. On a terminal a column with a width is truncated to it, one without
/// to what those after it leave, and the line to the terminal. Without a terminal nothing is truncated.
class Columns {
 public:
  struct Column {
    std::string_view name;  ///< "last_success"; the heading is "LAST SUCCESS"
    std::size_t width;      ///< 0: as wide as its content
    bool right = false;
    std::size_t from = 0;  ///< unless it is chosen, shown only in pipes and on terminals of at least this width
  };
  /// As Column::from: shown only if it is chosen.
  static constexpr std::size_t never = SIZE_MAX;
  /// What the user wants to see instead of the usual.
  struct Choice {
    std::vector<std::string> names;  ///< of columns, in order; empty: the usual ones
    bool header = false;             ///< heading() also writes to a pipe
  };
  /// `terminal` must outlive this.
  Columns(Terminal& terminal, std::span<const Column> columns, const Choice& choice);
  Columns(Terminal& terminal, std::initializer_list<Column> columns)
      : Columns(terminal, std::span<const Column>(columns.begin(), columns.size()), Choice{}) {}

  /// Writes the column names, for people on a terminal only unless Choice::header is set.
  void heading();
  /// Writes a row with one cell per column, shown or not; cells are cleaned here.
  void row(const std::vector<std::string>& cells);
  /// Writes a row; programs get `fields` instead, as from Terminal::tell().
  void row(boost::json::object fields, const std::vector<std::string>& cells);

 private:
  std::string laid_out(const std::vector<std::string>& cells) const;

  Terminal& terminal_;
  std::vector<std::pair<std::size_t, Column>> shown_;  // with the place of its cell
  std::size_t room_ = 0;                               // of a column without a width; 0: unlimited
  bool header_;
};

/// Progress bar on stderr; nothing unless stderr is a terminal. Erased when destroyed.
class Progress {
 public:
  /// `terminal` must outlive this. `total` 0: unknown.
  Progress(const Terminal& terminal, std::string label, std::size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void reached(std::size_t done);

 private:
  std::string label_;
  std::size_t total_;
  int err_;
  bool shown_;
  std::chrono::steady_clock::time_point drawn_{};
};

/// An object that begins with `schema`, to be filled and passed to Terminal::line().
boost::json::object json_row();

// Exit codes for shells and systemd (OPERATIONS §1).

namespace exits {
inline constexpr int done = 0;
inline constexpr int no = 1;  ///< succeeded, the answer is no
inline constexpr int usage = 64;
inline constexpr int bad_input = 65;
inline constexpr int unavailable = 69;  ///< Redis, or its program is missing
inline constexpr int bug = 70;
inline constexpr int directory = 73;
inline constexpr int unfinished = 75;  ///< try again
inline constexpr int configuration = 78;
inline constexpr int interrupted = 130;
}  // namespace exits

}  // namespace feedmill
