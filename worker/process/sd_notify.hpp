// Reports the service state to systemd (RELIABILITY N1; sd_notify(3)), without libsystemd.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace feedmill {

/// A no-op without a socket. Each call sends at most one datagram and never blocks.
class SdNotify {
 public:
  /// `socket`: the value of $NOTIFY_SOCKET, a path or an abstract name that starts with '@'; "" disables. `watchdog`:
  /// the manager's timeout for watchdog(), from $WATCHDOG_USEC.
  explicit SdNotify(std::string socket, std::optional<std::chrono::microseconds> watchdog = {});

  /// Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID.
  static SdNotify from_environment();

  bool enabled() const { return !socket_.empty(); }

  /// The interval for calling watchdog(): half of the manager's timeout; empty if there is no watchdog.
  std::optional<std::chrono::microseconds> watchdog_interval() const;

  void ready(std::string_view status) const;
  void status(std::string_view status) const;
  void stopping(std::string_view status) const;
  /// Reports that a reload has started; ready() ends it.
  void reloading() const;
  void watchdog() const;

 private:
  void send(const std::string& message) const;

  std::string socket_;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace feedmill
