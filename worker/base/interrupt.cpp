#include "worker/base/interrupt.hpp"

#include <csignal>

namespace feedmill {
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
