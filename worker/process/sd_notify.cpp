#include "worker/process/sd_notify.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sys/socket.h>
#include <sys/un.h>

#include <time.h>
#include <unistd.h>

#include "parsers/text/strings.hpp"
#include "worker/base/log.hpp"
#include "worker/base/system.hpp"

namespace feedmill {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

SdNotify::SdNotify(std::string socket, std::optional<std::chrono::microseconds> watchdog)
    : socket_(std::move(socket)), watchdog_(watchdog) {}

SdNotify SdNotify::from_environment() {
  std::optional<std::chrono::microseconds> watchdog;
  std::int64_t interval = 0, process = 0;
  const bool wanted = read_number(variable("WATCHDOG_USEC"), interval) && interval > 0;
  const std::string_view of = variable("WATCHDOG_PID");
  const bool ours = of.empty() || (read_number(of, process) && process == ::getpid());
  if (wanted && ours) watchdog = std::chrono::microseconds(interval);
  return SdNotify(std::string(variable("NOTIFY_SOCKET")), watchdog);
}

std::optional<std::chrono::microseconds> SdNotify::watchdog_interval() const {
  if (!enabled() || !watchdog_) return std::nullopt;
  return *watchdog_ / 2;
}

void SdNotify::ready(std::string_view status) const {
  send("READY=1\nSTATUS=" + clean(status));
}
void SdNotify::status(std::string_view status) const {
  send("STATUS=" + clean(status));
}
void SdNotify::stopping(std::string_view status) const {
  send("STOPPING=1\nSTATUS=" + clean(status));
}

void SdNotify::reloading() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t microseconds = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

void SdNotify::watchdog() const {
  send("WATCHDOG=1");
}

void SdNotify::send(const std::string& message) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  std::ranges::copy(socket_, address.sun_path);
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // Errors are ignored: there is no remedy.
  [[maybe_unused]] const auto sent = ::sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                              reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace feedmill
