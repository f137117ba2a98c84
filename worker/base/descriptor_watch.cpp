#include "worker/base/descriptor_watch.hpp"

#include <array>
#include <cerrno>
#include <new>
#include <sys/epoll.h>
#include <utility>

#include <boost/system/system_error.hpp>

namespace feedmill {
namespace {

using boost::asio::posix::stream_descriptor;

int new_epoll() {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) throw boost::system::system_error(errno, boost::system::system_category());
  return epoll;
}

/// Edge-triggered: an event is reported once, and again after it changes or is re-armed.
int control(int epoll, int operation, int descriptor, std::uint32_t number) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  event.data.u64 = std::uint64_t{number} << 32U | static_cast<std::uint32_t>(descriptor);
  return ::epoll_ctl(epoll, operation, descriptor, &event);
}

}  // namespace

/// Handler of the wait on `epoll_`. Out of memory, Asio destroys it without calling it; the next watch() then starts a
/// new wait.
class DescriptorWatches::Wait {
 public:
  Wait(std::shared_ptr<DescriptorWatches*> alive, std::uint32_t number) : alive_(std::move(alive)), number_(number) {}
  ~Wait() {
    if (is_current()) (*alive_)->waiting_ = 0;
  }
  Wait(Wait&&) = default;
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  Wait& operator=(Wait&&) = delete;

  void operator()(boost::system::error_code) {
    if (is_current()) (*alive_)->take_events();
  }

 private:
  bool is_current() const { return alive_ != nullptr && *alive_ != nullptr && (*alive_)->waiting_ == number_; }

  std::shared_ptr<DescriptorWatches*> alive_;  ///< null when moved from
  std::uint32_t number_;
};

DescriptorWatches::DescriptorWatches(const boost::asio::any_io_executor& executor, Callback on_ready, Lost on_lost)
    : on_ready_(std::move(on_ready)),
      on_lost_(std::move(on_lost)),
      epoll_(executor, new_epoll()),
      alive_(std::make_shared<DescriptorWatches*>(this)) {}

DescriptorWatches::~DescriptorWatches() {
  *alive_ = nullptr;
}

void DescriptorWatches::watch(int descriptor, bool for_reading, bool for_writing) {
  const std::uint32_t wanted = (for_reading ? EPOLLIN : 0U) | (for_writing ? EPOLLOUT : 0U);
  auto found = watches_.find(descriptor);
  if (found == watches_.end()) {
    if (wanted == 0) return;
    found = watches_.emplace(descriptor, Watch{.number = ++last_number_}).first;
    int failed = control(epoll_.native_handle(), EPOLL_CTL_ADD, descriptor, last_number_);
    if (failed != 0 && errno == EEXIST) {  // was forgotten but is still open
      failed = control(epoll_.native_handle(), EPOLL_CTL_MOD, descriptor, last_number_);
    }
    if (failed != 0 && (errno == ENOMEM || errno == ENOSPC)) {
      watches_.erase(found);
      throw std::bad_alloc();
    }
    // After any other failure nothing is ever reported, and the library's own timeouts decide.
  }
  Watch& watch = found->second;
  if (watch.wanted != 0) --wanted_;
  if (wanted != 0) ++wanted_;
  watch.wanted = wanted;
  ask_again(descriptor, watch);
  if (wanted != 0) {
    wait();
  } else if (wanted_ == 0 && std::exchange(waiting_, 0) != 0) {  // lets an otherwise idle loop end
    boost::system::error_code ignored;
    epoll_.cancel(ignored);
  }
}

void DescriptorWatches::forget(int descriptor) noexcept {
  watch(descriptor, false, false);
  watches_.erase(descriptor);
}

/// Re-arms a descriptor if reported events are of interest again: they may still hold.
void DescriptorWatches::ask_again(int descriptor, Watch& watch) {
  if ((watch.heard & watch.wanted) == 0) return;
  watch.heard = 0;
  control(epoll_.native_handle(), EPOLL_CTL_MOD, descriptor, watch.number);
}

void DescriptorWatches::wait() {
  if (waiting_ != 0) return;
  if (++last_number_ == 0) ++last_number_;
  epoll_.async_wait(stream_descriptor::wait_read, Wait(alive_, last_number_));
  waiting_ = last_number_;
}

void DescriptorWatches::take_events() {
  const std::shared_ptr<DescriptorWatches*> alive = alive_;
  waiting_ = 0;
  std::array<epoll_event, 64> events{};  // the rest is reported next time
  const int count = ::epoll_wait(epoll_.native_handle(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    report(events[static_cast<std::size_t>(i)]);
    if (*alive == nullptr) return;
  }
  if (wanted_ == 0) return;
  try {
    wait();
  } catch (...) {  // out of memory
    on_lost_(std::current_exception());
  }
}

void DescriptorWatches::report(const epoll_event& event) {
  const std::shared_ptr<DescriptorWatches*> alive = alive_;
  const auto descriptor = static_cast<int>(event.data.u64 & 0xffffffffU);
  const auto number = static_cast<std::uint32_t>(event.data.u64 >> 32U);
  const auto find = [&]() -> Watch* {
    const auto found = watches_.find(descriptor);
    return found == watches_.end() || found->second.number != number ? nullptr : &found->second;
  };
  Watch* watch = find();
  if (watch == nullptr) return;  // forgotten by an earlier callback of this batch
  watch->heard |= (event.events & (EPOLLERR | EPOLLHUP)) != 0 ? EPOLLIN | EPOLLOUT : event.events;
  const std::uint32_t ready = watch->heard & watch->wanted;
  if (ready == 0) return;
  on_ready_(descriptor, Ready{.readable = (ready & EPOLLIN) != 0, .writable = (ready & EPOLLOUT) != 0});
  if (*alive == nullptr) return;
  watch = find();
  if (watch != nullptr) ask_again(descriptor, *watch);
}

}  // namespace feedmill
