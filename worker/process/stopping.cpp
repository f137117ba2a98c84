#include "worker/process/stopping.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "storage/redis/test_point.hpp"
#include "worker/base/exits.hpp"
#include "worker/process/signal_wait.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds leave_within{1'800};  // RELIABILITY D2 allows 2 s

}  // namespace

asio::awaitable<void> Stopping::obey() {
  SignalWait signals(parts_.loop.get_executor(), signals_);
  for (;;) {
    co_await signals.next();
    stop();
  }
}

void Stopping::stop() {
  Worker& worker = parts_.worker;
  const bool first = !worker.stopping();
  worker.stop();
  test_point("S16");
  if (parts_.websub) first ? parts_.websub->stop() : parts_.websub->hurry();
  parts_.nap.cancel();
  if (!first) parts_.deliver.stop();
  if (parts_.mode == RunMode::selected) {  // a verb does not drain: it gives back what it has and ends with 130
    interrupted_ = true;
    worker.stop();
    parts_.deliver.stop();
  }
  // Before the store was opened nothing can be drained; a private server that is not up yet answers soon enough.
  const bool idle = !parts_.opened && parts_.server == nullptr;
  if (!first || parts_.mode == RunMode::selected || idle) leave_soon();
  parts_.metrics.set_draining(true);
  parts_.notify.stopping(first ? "draining" : "stopping");
  if (parts_.mode != RunMode::daemon) return;
  parts_.log.write(LogLevel::info, first ? "drain" : "stop",
                   first ? "told to stop: refreshes in flight may finish; a second signal cancels them"
                         : "told to stop now: refreshes in flight are cancelled and given back",
                   {{"in_flight", worker.in_flight()}});
}

/// RELIABILITY D2: a store that does not answer must not keep us; the leases run out by themselves.
void Stopping::leave_soon() {
  if (std::exchange(leaving_, true)) return;
  last_resort_.expires_after(leave_within);
  last_resort_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    const bool claims = parts_.opened;
    const std::string_view text = claims ? "feedmill: Redis does not answer; claims stay until their lease ends\n"
                                         : "feedmill: Redis does not answer; nothing had been claimed\n";
    if (parts_.server != nullptr) parts_.server->abandon();
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    std::_Exit(interrupted_ ? exits::interrupted : claims ? exits::unfinished : exits::done);
  });
}

}  // namespace feedmill
