// Readiness of descriptors that a C library owns and drives itself (libcurl, c-ares), reported on our event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <sys/epoll.h>
#include <unordered_map>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace feedmill {

struct Ready {
  bool readable = false, writable = false;  ///< of what is wanted; both once the other end is gone
};

/// The descriptors a library wants to hear of. None is ever closed here. Lives on one loop thread.
///
/// They are in an epoll set of their own, each registered once for as long as it is open, since a library changes its
/// mind several times in each exchange: what it wants is kept here, and the kernel told of it only where an event that
/// has been reported already is wanted again.
class DescriptorWatches {
 public:
  using Callback = std::function<void(int descriptor, Ready ready)>;
  /// None can be waited for any longer, until watch() is called again; `error` says why.
  using Lost = std::function<void(const std::exception_ptr& error)>;

  /// Nothing is called back once this is destroyed, whatever is still queued. Both may call any member, and must not
  /// throw. Throws boost::system::system_error when there is no descriptor left.
  DescriptorWatches(const boost::asio::any_io_executor& executor, Callback on_ready, Lost on_lost);
  ~DescriptorWatches();
  DescriptorWatches(const DescriptorWatches&) = delete;
  DescriptorWatches& operator=(const DescriptorWatches&) = delete;

  /// Takes the place of what was wanted of it before, be it nothing; called back as often as it is ready, until that
  /// changes. Throws std::bad_alloc where something is wanted, and then may be asked again.
  void watch(int descriptor, bool for_reading, bool for_writing);

  /// To be called before the descriptor is closed.
  void forget(int descriptor) noexcept;

 private:
  struct Watch {
    std::uint32_t number = 0;  ///< tells it from another of the same descriptor
    std::uint32_t wanted = 0;  ///< EPOLLIN, EPOLLOUT
    std::uint32_t heard = 0;   ///< of these: reported since the kernel was last asked
  };

  class Wait;

  void wait();
  void take_events();
  void report(const epoll_event& event);
  void ask_again(int descriptor, Watch& watch);

  Callback on_ready_;
  Lost on_lost_;
  boost::asio::posix::stream_descriptor epoll_;
  std::unordered_map<int, Watch> watches_;  ///< of open descriptors, some with nothing wanted
  std::size_t wanted_ = 0;                  ///< of these: those with something
  std::uint32_t last_number_ = 0;
  std::uint32_t waiting_ = 0;                  ///< number of the wait for `epoll_` under way; 0: there is none
  std::shared_ptr<DescriptorWatches*> alive_;  ///< what waits hold; null inside once we are gone
};

}  // namespace feedmill
