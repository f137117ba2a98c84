#include "worker/base/descriptor_watch.hpp"

#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace feedmill {

using boost::asio::posix::stream_descriptor;

/// Shared with the waits under way, which may come back after the descriptor was forgotten: `owner` is null from then
/// on.
struct DescriptorWatches::Watch {
  Watch(DescriptorWatches& watches, int number) : owner(&watches), descriptor(watches.executor_) {
    boost::system::error_code failed;  // then nothing is ever reported, and the library's own timeouts decide
    descriptor.assign(number, failed);
  }

  DescriptorWatches* owner;
  stream_descriptor descriptor;
  bool for_reading = false, for_writing = false;  ///< what is wanted
  bool reading = false, writing = false;          ///< what is being waited for
};

DescriptorWatches::DescriptorWatches(boost::asio::any_io_executor executor, Callback on_ready, Lost on_lost)
    : executor_(std::move(executor)), on_ready_(std::move(on_ready)), on_lost_(std::move(on_lost)) {}

DescriptorWatches::~DescriptorWatches() {
  while (!watches_.empty()) forget(watches_.begin()->first);
}

void DescriptorWatches::watch(int descriptor, bool for_reading, bool for_writing) {
  auto found = watches_.find(descriptor);
  if (found == watches_.end()) {
    found = watches_.emplace(descriptor, std::make_shared<Watch>(*this, descriptor)).first;
  }
  const std::shared_ptr<Watch> watch = found->second;
  watch->for_reading = for_reading;
  watch->for_writing = for_writing;
  wait(watch);
}

void DescriptorWatches::forget(int descriptor) {
  const auto found = watches_.find(descriptor);
  if (found == watches_.end()) return;
  const std::shared_ptr<Watch> watch = std::move(found->second);
  watches_.erase(found);
  watch->owner = nullptr;
  if (watch->descriptor.is_open()) watch->descriptor.release();
}

/// Starts the waits that are wanted and not yet under way. One that is no longer wanted runs out by itself.
void DescriptorWatches::wait(const std::shared_ptr<Watch>& watch) {
  if (watch->for_reading && !watch->reading) {
    watch->descriptor.async_wait(stream_descriptor::wait_read, [watch](boost::system::error_code error) {
      watch->reading = false;
      if (watch->owner == nullptr || error == boost::asio::error::operation_aborted || !watch->for_reading) return;
      watch->owner->report(watch, Ready{.readable = true, .writable = false, .failed = error.failed()});
    });
    watch->reading = true;
  }
  if (watch->for_writing && !watch->writing) {
    watch->descriptor.async_wait(stream_descriptor::wait_write, [watch](boost::system::error_code error) {
      watch->writing = false;
      if (watch->owner == nullptr || error == boost::asio::error::operation_aborted || !watch->for_writing) return;
      watch->owner->report(watch, Ready{.readable = false, .writable = true, .failed = error.failed()});
    });
    watch->writing = true;
  }
}

void DescriptorWatches::report(const std::shared_ptr<Watch>& watch, Ready ready) {
  on_ready_(watch->descriptor.native_handle(), ready);
  if (watch->owner == nullptr || ready.failed) return;  // forgotten meanwhile, or we destroyed
  try {
    wait(watch);
  } catch (...) {  // out of memory
    on_lost_(watch->descriptor.native_handle(), std::current_exception());
  }
}

}  // namespace feedmill
