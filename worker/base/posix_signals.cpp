#include "worker/base/posix_signals.hpp"

#include <cerrno>
#include <sys/signalfd.h>
#include <system_error>

#include <poll.h>

namespace feedmill {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

constexpr std::initializer_list<int> of_run{SIGTERM, SIGINT, SIGHUP, SIGUSR1};

}  // namespace

void hold_signals() {
  const sigset_t set = set_of(of_run);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void unblock_posix_signals() {
  const sigset_t set = set_of(of_run);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool is_end_waiting() {
  sigset_t waiting;
  return ::sigpending(&waiting) == 0 && (sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1);
}

BlockedPosixSignals::BlockedPosixSignals(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  descriptor_ = UniqueFd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!descriptor_) throw std::system_error(errno, std::generic_category(), "signalfd");
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

BlockedPosixSignals::~BlockedPosixSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool BlockedPosixSignals::is_waiting() const {
  pollfd watched{descriptor_.get(), POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

std::optional<int> BlockedPosixSignals::take() {
  signalfd_siginfo info;
  if (::read(descriptor_.get(), &info, sizeof info) != sizeof info) return {};
  return static_cast<int>(info.ssi_signo);
}

}  // namespace feedmill
