#include "worker/base/blocking_calls.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill {

namespace asio = boost::asio;

/// Of the process. They stay: what has hung once may hang again.
class BlockingCalls::Threads {
 public:
  static Threads& of_process() {
    static Threads threads;
    return threads;
  }
  ~Threads() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void make(BlockingCalls& calls) {
    {
      const std::lock_guard lock(mutex_);
      if (busy_ + waiting_.size() >= threads_.size()) grow();
      waiting_.push_back(&calls);
    }
    wake_.notify_one();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t a_few = 8;
  static constexpr std::chrono::milliseconds longest_wait{10};

  Threads() = default;

  void grow() {
    if (threads_.size() < a_few) {
      threads_.emplace_back([this] { run(); });
      return;
    }
    if (waiting_.empty() || Clock::now() - moved_ < longest_wait) return;
    try {
      for (std::size_t more = std::min(waiting_.size(), threads_.size() / 2); more > 0; --more)
        threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {  // it goes on with those there are
    }
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      BlockingCalls& calls = *waiting_.front();
      waiting_.pop_front();
      ++busy_;
      moved_ = Clock::now();
      lock.unlock();
      calls.make();
      lock.lock();
      --busy_;
      moved_ = Clock::now();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<BlockingCalls*> waiting_;
  std::vector<std::thread> threads_;
  std::size_t busy_ = 0;
  Clock::time_point moved_;  // when a thread began or ended something
  bool ends_ = false;
};

void BlockingCalls::post(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (under_way_) return;
  try {
    Threads::of_process().make(*this);
  } catch (...) {
    jobs_.pop_back();
    throw;
  }
  under_way_ = true;
}

asio::awaitable<void> BlockingCalls::finish(std::function<void()> job) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer done(executor, asio::steady_timer::time_point::max());
  post([job = std::move(job), executor, &done] {
    job();
    asio::post(executor, [&done] { done.cancel(); });
  });
  co_await done.async_wait(
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::as_tuple(asio::use_awaitable)));
}

void BlockingCalls::join() {
  std::unique_lock lock(mutex_);
  made_.wait(lock, [this] { return !under_way_; });
}

void BlockingCalls::make() {
  std::unique_lock lock(mutex_);
  while (!jobs_.empty()) {
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = {};
    lock.lock();
  }
  under_way_ = false;
  made_.notify_all();  // under the lock: whoever waits may end this
}

}  // namespace feedmill
