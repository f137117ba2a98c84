// Full-screen terminal for live views.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <termios.h>

#include "worker/base/terminal.hpp"

namespace feedmill {

/// Switches to the alternate screen, hides the cursor and reads keys unbuffered, including Ctrl-C and Ctrl-Z; ~Screen
/// restores everything.
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
  /// Draws from the top; cuts lines below the screen. Lines must fit its width. Throws as Terminal::flush().
  void draw(std::span<const std::string> lines);
  /// The next key within `wait`; 0 if none was pressed or a signal arrived. Throws OutputClosed if the terminal is
  /// closed.
  char key(std::chrono::milliseconds wait);
  /// Suspends the process as Ctrl-Z does, and restores the terminal during that time.
  void suspend();

 private:
  void enter();
  void leave();

  Terminal& terminal_;
  std::optional<termios> before_;  ///< keyboard settings; empty if stdin is not a terminal
};

}  // namespace feedmill
