#include "worker/base/terminal.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <sys/ioctl.h>
#include <system_error>
#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "parsers/text/strings.hpp"
#include "worker/base/json_text.hpp"
#include "worker/base/redact.hpp"

namespace feedmill {
namespace {

struct Range {
  std::uint32_t first, last;
};

template <std::size_t N>
bool within(const std::array<Range, N>& ranges, std::uint32_t code) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](std::uint32_t value, const Range& range) { return value < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

/// Characters that a terminal obeys or hides: C1, bidi controls, zero width, invisible fillers, line separators, tags.
constexpr std::array<Range, 20> unseen{
    {{0x80, 0x9F},     {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},     {0x115F, 0x1160},
     {0x17B4, 0x17B5}, {0x180B, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
     {0x3164, 0x3164}, {0xFDD0, 0xFDEF},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},
     {0xFFFE, 0xFFFF}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}, {0xF0000, 0x10FFFF}}};

constexpr std::array<Range, 18> combining{{{0x300, 0x36F},
                                           {0x483, 0x489},
                                           {0x591, 0x5BD},
                                           {0x610, 0x61A},
                                           {0x64B, 0x65F},
                                           {0x6D6, 0x6DC},
                                           {0x900, 0x902},
                                           {0x93C, 0x93C},
                                           {0x941, 0x948},
                                           {0x94D, 0x94D},
                                           {0xE31, 0xE31},
                                           {0xE34, 0xE3A},
                                           {0xE47, 0xE4E},
                                           {0x1AB0, 0x1AFF},
                                           {0x1DC0, 0x1DFF},
                                           {0x20D0, 0x20FF},
                                           {0xFE00, 0xFE0F},
                                           {0xFE20, 0xFE2F}}};

constexpr std::array<Range, 16> wide{{{0x1100, 0x115F},
                                      {0x231A, 0x231B},
                                      {0x23E9, 0x23EC},
                                      {0x2E80, 0x303E},
                                      {0x3041, 0x33FF},
                                      {0x3400, 0x4DBF},
                                      {0x4E00, 0xA4CF},
                                      {0xA960, 0xA97C},
                                      {0xAC00, 0xD7A3},
                                      {0xF900, 0xFAFF},
                                      {0xFE30, 0xFE6F},
                                      {0xFF00, 0xFF60},
                                      {0xFFE0, 0xFFE6},
                                      {0x1F300, 0x1F64F},
                                      {0x1F680, 0x1FAFF},
                                      {0x20000, 0x3FFFD}}};

std::size_t columns_of(std::uint32_t code) {
  if (code < 0x300) return 1;
  if (within(combining, code)) return 0;
  return within(wide, code) ? 2 : 1;
}

/// Whether the terminal supports escape sequences.
bool is_able() {
  const char* const term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

bool takes_color(ColorMode mode, bool is_terminal) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  const char* const no_color = std::getenv("NO_COLOR");
  return is_terminal && (no_color == nullptr || *no_color == '\0') && is_able();
}

std::size_t width_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

/// Writes all of `text`. Returns 0, or the errno that stopped it.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

constexpr std::size_t buffer_bytes = std::size_t{64} << 10;

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    if (length == 0 || code < 0x20 || code == 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\x{:02X}", static_cast<std::uint32_t>(code));
    } else if (within(unseen, code)) {
      fmt::format_to(std::back_inserter(out), "\\u{{{:X}}}", static_cast<std::uint32_t>(code));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    width += columns_of(code);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return width;
}

std::string cut(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t used = 0, end = 0;
  while (end < text.size()) {
    const auto [code, length] = first_character(text.substr(end));
    if (used + columns_of(code) > width - 1) break;
    used += columns_of(code);
    end += std::max<std::size_t>(length, 1);
  }
  return std::string(text.substr(0, end)) + "…";
}

Terminal::Terminal(TerminalOptions options)
    : options_(options),
      out_is_terminal_(isatty(options.out) == 1),
      err_is_terminal_(isatty(options.err) == 1),
      color_(takes_color(options.color, out_is_terminal_)) {
  if (out_is_terminal_) out_width_ = width_of(options.out);
}

Terminal::~Terminal() {
  write_all(options_.out, buffer_);
}

void Terminal::line(std::string_view text) {
  buffer_ += text;
  buffer_ += '\n';
  if (out_is_terminal_ || buffer_.size() >= buffer_bytes) flush();
}

void Terminal::line(const boost::json::object& object) {
  line(json_text(object));
}

void Terminal::tell(boost::json::object fields, std::string_view text) {
  if (!json()) return line(text);
  boost::json::object row = json_row();
  for (auto& field : fields) row[field.key()] = std::move(field.value());
  line(row);
}

void Terminal::tell(boost::json::object fields, const std::vector<std::pair<std::string, std::string>>& lines,
                    std::size_t width) {
  if (json()) return tell(std::move(fields), "");
  Columns table(*this, {{"", width}, {"", 0}});
  for (const auto& [name, value] : lines) table.row({name, value});
}

void Terminal::raw(std::string_view text) {
  buffer_ += text;
  if (out_is_terminal_ || buffer_.size() >= buffer_bytes) flush();
}

void Terminal::flush() {
  const std::string text = std::exchange(buffer_, {});
  const int error = write_all(options_.out, text);
  pollfd reader{options_.out, 0, 0};
  const bool gone = ::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;  // the pipe's reader has closed it
  if (error == EPIPE || (error == EIO && out_is_terminal_) || gone) throw OutputClosed{};
  if (error != 0) throw OutputFailed("cannot write to standard output: " + std::generic_category().message(error));
}

void Terminal::note(std::string_view text) {
  if (options_.quiet) return;
  write_all(options_.err, std::string(text) + "\n");
}

void Terminal::error(std::string_view text) {
  const std::string line = fmt::format("{}{}{}", verb_, verb_.empty() ? "" : ": ", text);
  write_all(options_.err, fmt::format("feedmill: {}\n", redact(line)));  // SECURITY K1
}

bool Terminal::can_draw() const {
  return out_is_terminal_ && is_able();
}

bool Terminal::can_ask() const {
  return err_is_terminal_ && isatty(STDIN_FILENO) == 1;
}

bool Terminal::confirm(std::string_view question) {
  write_all(options_.err, fmt::format("{} [y/N] ", question));
  std::string answer;
  char c = 0;
  while (::read(STDIN_FILENO, &c, 1) == 1 && c != '\n') answer += c;
  return answer == "y" || answer == "Y" || answer == "yes";
}

std::string Terminal::painted(std::string_view code, std::string_view text) const {
  if (!color_) return std::string(text);
  return fmt::format("\x1B[{}m{}\x1B[0m", code, text);
}

Columns::Columns(Terminal& terminal, std::span<const Column> columns, const Choice& choice)
    : terminal_(terminal), header_(choice.header) {
  for (const std::string& name : choice.names) {
    const auto column = std::ranges::find(columns, name, &Column::name);
    shown_.emplace_back(column - columns.begin(), *column);
  }
  for (std::size_t i = 0; i < columns.size() && choice.names.empty(); ++i) {
    const std::size_t width = terminal.width() == 0 ? never - 1 : terminal.width();
    if (width >= columns[i].from) shown_.emplace_back(i, columns[i]);
  }
  if (terminal.width() == 0 || shown_.empty()) return;
  constexpr std::size_t least = 10;
  std::size_t taken = 2 * (shown_.size() - 1), open = 0;
  for (const auto& [place, column] : shown_) {
    taken += column.width;
    open += column.width == 0 ? 1 : 0;
  }
  if (open > 0) room_ = std::max(least, (terminal.width() - std::min(taken, terminal.width())) / open);
}

void Columns::heading() {
  if ((terminal_.width() == 0 && !header_) || terminal_.json()) return;
  std::vector<std::string> names;
  for (const auto& [place, column] : shown_) {
    if (names.size() <= place) names.resize(place + 1);
    std::ranges::transform(column.name, std::back_inserter(names[place]),
                           [](unsigned char c) { return static_cast<char>(c == '_' ? ' ' : std::toupper(c)); });
  }
  terminal_.line(terminal_.bold(laid_out(names)));
}

void Columns::row(const std::vector<std::string>& cells) {
  terminal_.line(laid_out(cells));
}

void Columns::row(boost::json::object fields, const std::vector<std::string>& cells) {
  terminal_.tell(std::move(fields), terminal_.json() ? "" : laid_out(cells));
}

std::string Columns::laid_out(const std::vector<std::string>& cells) const {
  std::string out;
  for (const auto& [place, column] : shown_) {
    std::string cell = visible(cells[place]);
    const std::size_t most = column.width > 0 ? column.width : place == shown_.back().first ? 0 : room_;
    if (most > 0 && terminal_.width() > 0) cell = cut(cell, most);
    const std::size_t taken = columns(cell);
    const std::size_t missing = column.width > taken ? column.width - taken : 0;
    cell.insert(column.right ? 0 : cell.size(), missing, ' ');
    out += cell + "  ";
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return terminal_.width() > 0 ? cut(out, terminal_.width()) : out;
}

Progress::Progress(const Terminal& terminal, std::string label, std::size_t total)
    : label_(std::move(label)),
      total_(total),
      err_(terminal.err()),
      shown_(terminal.err_is_terminal() && !terminal.quiet()) {}

Progress::~Progress() {
  if (shown_ && drawn_ != std::chrono::steady_clock::time_point{}) write_all(err_, "\r\x1B[K");
}

void Progress::reached(std::size_t done) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  if (total_ == 0) {
    write_all(err_, fmt::format("\r\x1B[K{} {}", label_, done));
    return;
  }
  constexpr std::size_t bar_columns = 30;
  const std::size_t filled = std::min(done, total_) * bar_columns / total_;
  write_all(err_, fmt::format("\r\x1B[K{} [{}{}] {}/{}", label_, std::string(filled, '#'),
                              std::string(bar_columns - filled, '.'), done, total_));
}

boost::json::object json_row() {
  return {{"schema", 1}};
}

}  // namespace feedmill
