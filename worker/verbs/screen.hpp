// The whole terminal, while something is shown live.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <termios.h>

#include "worker/base/terminal.hpp"

namespace feedmill {

/// Takes the other screen of a terminal, hides the cursor and reads keys as they are struck, Ctrl-C and Ctrl-Z among
/// them; ~Screen gives all of it back, however it comes to its end.
class Screen {
 public:
  struct Size {
    std::size_t columns = 80, rows = 24;
    bool operator==(const Size&) const = default;
  };

  /// `terminal` can_draw(), and outlives this.
  explicit Screen(Terminal& terminal);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  Size size() const;
  /// From the top; what does not fit is left out. Lines are no wider than the screen. Throws as Terminal::flush().
  void draw(std::span<const std::string> lines);
  /// The next key within so long; 0 when none was struck, or a signal came. Throws OutputClosed when the terminal has
  /// gone.
  char key(std::chrono::milliseconds wait);
  /// Stops this process as Ctrl-Z does, the terminal given back meanwhile.
  void suspend();

 private:
  void enter();
  void leave();

  Terminal& terminal_;
  std::optional<termios> before_;  ///< of the keyboard; nothing when stdin is no terminal
};

}  // namespace feedmill
