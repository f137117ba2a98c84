#include "worker/base/posix_signals.hpp"

#include <cerrno>
#include <csignal>
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

namespace {

volatile std::sig_atomic_t noted = 0;

void note(int /*signal*/) {
  noted = 1;
}

}  // namespace

void note_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // no SA_RESTART: a blocked read returns
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() {
  return noted != 0;
}

void stop_if_interrupted() {
  if (interrupted()) throw Interrupted{};
}

}  // namespace feedmill
