// Readiness of descriptors that a C library owns and drives itself (libcurl, c-ares), reported on our event loop.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <unordered_map>

#include <boost/asio/any_io_executor.hpp>

namespace feedmill {

struct Ready {
  bool readable = false, writable = false;
  bool failed = false;  ///< it can no longer be waited for
};

/// The descriptors a library wants to hear of. None is ever closed here. Lives on one loop thread.
class DescriptorWatches {
 public:
  using Callback = std::function<void(int descriptor, Ready ready)>;
  /// A descriptor cannot be waited for any longer; `error` says why.
  using Lost = std::function<void(int descriptor, const std::exception_ptr& error)>;

  /// Nothing is called back once this is destroyed, whatever is still queued. `on_ready` may call any member.
  DescriptorWatches(boost::asio::any_io_executor executor, Callback on_ready, Lost on_lost);
  ~DescriptorWatches();
  DescriptorWatches(const DescriptorWatches&) = delete;
  DescriptorWatches& operator=(const DescriptorWatches&) = delete;

  /// Takes the place of what was wanted of it before; called back as often as it is ready, until that changes. Throws
  /// std::bad_alloc, and then may be asked again.
  void watch(int descriptor, bool for_reading, bool for_writing);

  /// To be called before the descriptor is closed.
  void forget(int descriptor);

 private:
  struct Watch;

  void wait(const std::shared_ptr<Watch>& watch);
  void report(const std::shared_ptr<Watch>& watch, Ready ready);

  boost::asio::any_io_executor executor_;
  Callback on_ready_;
  Lost on_lost_;
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;
};

}  // namespace feedmill
