#include "worker/store/store_calls.hpp"

#include <memory>
#include <sys/epoll.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "worker/base/system.hpp"

namespace feedmill {

namespace asio = boost::asio;

asio::awaitable<void> until_answered(ServerWait wait) {
  // Watches an epoll set that holds only the socket: Asio would make the socket non-blocking, and its reader needs it
  // blocking.
  UniqueFd set(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  if (wait.socket < 0 || !set || ::epoll_ctl(set.get(), EPOLL_CTL_ADD, wait.socket, &wanted) != 0) co_return;
  const auto executor = co_await asio::this_coro::executor;
  asio::posix::stream_descriptor watched(executor, set.release());
  const auto over = std::make_shared<asio::steady_timer>(executor, wait.until);  // the handler may outlive this call
  watched.async_wait(asio::posix::stream_descriptor::wait_read,
                     [over](const boost::system::error_code&) { over->cancel(); });
  co_await over->async_wait(
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::as_tuple(asio::use_awaitable)));
}

}  // namespace feedmill
