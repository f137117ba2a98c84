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

/// Events reported for a descriptor.
struct Ready {
  bool readable = false, writable = false;  ///< only events of interest; a hang-up or error counts as both
};

/// Watches a library's descriptors; never closes one. Lives on one loop thread.
/// Descriptors have their own epoll set and are registered once, because a library changes its interest several times
/// in each exchange. The interest is kept here; the kernel is called only to re-arm an event that was already reported.
class DescriptorWatches {
 public:
  using Callback = std::function<void(int descriptor, Ready ready)>;
  /// Called if waiting failed: nothing more is reported until the next watch(). `error` is the cause.
  using Lost = std::function<void(const std::exception_ptr& error)>;

  /// No callback runs after destruction, even if events are queued. Callbacks may call any member and must not throw.
  /// Throws boost::system::system_error if the process has no descriptor left.
  DescriptorWatches(const boost::asio::any_io_executor& executor, Callback on_ready, Lost on_lost);
  ~DescriptorWatches();
  DescriptorWatches(const DescriptorWatches&) = delete;
  DescriptorWatches& operator=(const DescriptorWatches&) = delete;

  /// Replaces the events of interest of `descriptor` (initially none). Calls back each time one is ready, until
  /// changed. Can throw std::bad_alloc only when adding interest; the call may be repeated.
  void watch(int descriptor, bool for_reading, bool for_writing);

  /// Call before closing the descriptor.
  void forget(int descriptor) noexcept;

 private:
  struct Watch {
    std::uint32_t number = 0;  ///< distinguishes registrations of one descriptor
    std::uint32_t wanted = 0;  ///< EPOLLIN, EPOLLOUT
    std::uint32_t heard = 0;   ///< events reported since last armed
  };

  class Wait;

  void wait();
  void take_events();
  void report(const epoll_event& event);
  void ask_again(int descriptor, Watch& watch);

  Callback on_ready_;
  Lost on_lost_;
  boost::asio::posix::stream_descriptor epoll_;
  std::unordered_map<int, Watch> watches_;  ///< open descriptors, some without interest
  std::size_t wanted_ = 0;                  ///< number of watches_ with interest
  std::uint32_t last_number_ = 0;
  std::uint32_t waiting_ = 0;                  ///< number of the pending wait on `epoll_`; 0: none
  std::shared_ptr<DescriptorWatches*> alive_;  ///< shared with waits; set to null on destruction
};

}  // namespace feedmill
