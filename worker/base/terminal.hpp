// What a verb says and to whom: data on stdout, talk on stderr (OPERATIONS U1, U2, U6).
#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

namespace feedmill {

/// Text from outside as a terminal may show it: controls (C0, DEL, C1), bidi and zero-width characters and what is no
/// UTF-8 come out as \xNN or \u{…} (SECURITY O2). Line breaks are controls too: the result is one line.
std::string visible(std::string_view text);

/// Columns that `text` takes on a terminal: wide characters two, combining ones none. `text` is visible() already.
std::size_t columns(std::string_view text);

/// `text` cut to at most `width` columns; what was cut leaves "…". `text` is visible() already.
std::string cut(std::string_view text, std::size_t width);

enum class ColorMode { automatic, always, never };

/// Thrown by Terminal when stdout's reader has gone: the program ends quietly (OPERATIONS U5). Caught in main().
struct OutputClosed {};

/// Thrown by Terminal when stdout could not be written: what() is for people, "cannot write to standard output: No
/// space left on device". Caught in main().
struct OutputFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct TerminalOptions {
  ColorMode color = ColorMode::automatic;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  int out = 1;  ///< descriptor of the data stream; not owned
  int err = 2;  ///< descriptor of the talk stream; not owned
};

/// The two streams of a verb. Data is buffered and written in whole lines; a terminal gets each line at once.
class Terminal {
 public:
  explicit Terminal(TerminalOptions options);
  ~Terminal();  ///< writes what is buffered; errors are ignored, so call flush() first
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool json() const { return options_.json; }
  bool quiet() const { return options_.quiet; }
  bool verbose() const { return options_.verbose; }
  /// Columns to cut lines of data to; 0: the stream is no terminal, nothing is cut.
  std::size_t width() const { return out_width_; }
  /// Stdout is a terminal that can be drawn on: one whose TERM is neither missing nor "dumb".
  bool can_draw() const;
  bool err_is_terminal() const { return err_is_terminal_; }
  int out() const { return options_.out; }
  int err() const { return options_.err; }

  /// A line of data as it stands; the caller has cleaned what came from outside.
  void line(std::string_view text);
  /// A line of JSON; `schema` stands first (OPERATIONS U1).
  void line(const boost::json::object& object);

  /// Something that a verb found or did: for programs an object with `schema` and then `fields`, for people `text`,
  /// cleaned by the caller.
  void tell(boost::json::object fields, std::string_view text);
  /// The same where people read names and values, a line each, the values from column `width` + 2 on; cleaned here.
  void tell(boost::json::object fields, const std::vector<std::pair<std::string, std::string>>& lines,
            std::size_t width);

  /// Data that is no line: a document.
  void raw(std::string_view text);
  /// Hands on what is buffered. Throws OutputClosed when the reader has gone (noticed even with nothing to write), or
  /// the terminal; OutputFailed when the device failed.
  void flush();

  /// From now on errors tell which verb they are of; "" at first: of none.
  void speak_for(std::string_view verb) { verb_ = verb; }
  const std::string& verb() const { return verb_; }

  /// Talk, unless quiet: one line on stderr.
  void note(std::string_view text);
  /// "feedmill: ", the verb if any, and `text` on one line on stderr.
  void error(std::string_view text);
  /// Asks on the terminal; only "y" or "yes" is a yes. Call only if can_ask().
  bool confirm(std::string_view question);
  /// A person sits at stdin and stderr.
  bool can_ask() const;

  /// `text` in bold, or faint, or red when stdout takes colours. Colour never carries meaning alone.
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

/// Lines of columns, or for programs an object each. Every column but the last has a fixed width and is cut to it on a
/// terminal; the last takes what is left. Away from a terminal nothing is cut.
class Columns {
 public:
  struct Column {
    std::string_view name;
    std::size_t width;  ///< 0: as wide as it comes (the last)
    bool right = false;
  };
  /// `terminal` outlives this.
  Columns(Terminal& terminal, std::vector<Column> columns);

  /// The names, on a terminal only, and not for programs.
  void heading();
  /// A cell for each column; cells are cleaned here.
  void row(const std::vector<std::string>& cells);
  /// The same, and for programs `fields`, as Terminal::tell() has them.
  void row(boost::json::object fields, const std::vector<std::string>& cells);

 private:
  std::string laid_out(const std::vector<std::string>& cells) const;

  Terminal& terminal_;
  std::vector<Column> columns_;
};

/// A bar on stderr while something takes long; nothing unless stderr is a terminal. Gone when destroyed.
class Progress {
 public:
  /// `terminal` outlives this. `total` 0: unknown.
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

/// An object with the field `schema` in it, to be filled and given to Terminal::line.
boost::json::object json_row();

}  // namespace feedmill
