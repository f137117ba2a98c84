#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>

namespace feedmill {

/// A one-shot callback to a loop, callable from any thread. Copies share one call: it runs at most once.
class LoopCall {
 public:
  LoopCall() = default;
  LoopCall(boost::asio::any_io_executor loop, std::function<void()> work)
      : loop_(std::move(loop)), work_(std::make_shared<std::function<void()>>(std::move(work))) {}

  explicit operator bool() const { return work_ != nullptr; }
  bool operator==(const LoopCall& other) const { return work_ == other.work_; }

  /// Runs the work on the loop; immediately if called on the loop's thread. From any thread.
  void tell() const {
    if (!work_) return;
    boost::asio::dispatch(loop_, [work = work_] {
      if (const auto once = std::exchange(*work, nullptr)) once();
    });
  }
  /// Prevents the work from running. On the loop's thread only.
  void cancel() {
    if (work_) *work_ = nullptr;
  }

 private:
  boost::asio::any_io_executor loop_;
  std::shared_ptr<std::function<void()>> work_;
};

}  // namespace feedmill
