#include "worker/base/blocking_calls.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace feedmill {

namespace asio = boost::asio;

/// The process-wide thread pool.
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
      for (Thread* const one : idle_) one->wake.notify_one();
    }
    for (Thread& one : threads_) one.thread.join();
    if (left_.joinable()) left_.join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void make(BlockingCalls& calls) {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    waiting_.push_back({&calls, now});
    if (now - waiting_.front().since >= longest_wait) {
      if (now - changed_ >= until_more)
        set_at_once(std::max(at_once_, std::min({2 * at_once_, busy() + waiting_.size(), most(now)})), now);
    } else if (at_once_ > a_few && now - changed_ >= until_fewer) {
      set_at_once(std::max(at_once_ / 2, a_few), now);
    }
    try {
      while (!waiting_.empty() && busy() < at_once_) start();
    } catch (...) {  // continue with the existing threads
      if (!threads_.empty()) return;
      waiting_.pop_back();
      throw;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t a_few = 8, many = 32;
  static constexpr std::chrono::milliseconds longest_wait{100}, until_more{20};
  static constexpr std::chrono::seconds until_fewer{10}, longest_idle{30};

  struct Thread {
    std::thread thread;
    std::condition_variable wake;
    BlockingCalls* next = nullptr;                       // assigned when started or woken
    Clock::time_point began = Clock::time_point::max();  // start of the current call; idle: max()
  };
  struct Waiting {
    BlockingCalls* calls;
    Clock::time_point since;
  };

  Threads() = default;

  void set_at_once(std::size_t calls, Clock::time_point now) {
    at_once_ = calls;
    changed_ = now;
  }
  /// Limit of concurrent calls, however long the queue: the blocked calls, plus 32 or the number of blocked calls if
  /// that is more.
  std::size_t most(Clock::time_point now) const {
    const auto blocks = [now](const Thread& one) { return one.began < now - longest_wait; };
    const auto blocked = static_cast<std::size_t>(std::ranges::count_if(threads_, blocks));
    return blocked + std::max(blocked, many);
  }
  std::size_t busy() const { return threads_.size() - idle_.size(); }

  /// Starts the call that has waited longest.
  void start() {
    if (idle_.empty()) {
      Thread& one = threads_.emplace_back();
      try {
        one.thread = std::thread([this, &one] { run(one); });
      } catch (...) {
        threads_.pop_back();
        throw;
      }
      one.next = waiting_.front().calls;
    } else {
      idle_.back()->next = waiting_.front().calls;
      idle_.back()->wake.notify_one();
      idle_.pop_back();
    }
    waiting_.pop_front();
  }

  void run(Thread& mine) {
    std::unique_lock lock(mutex_);
    while (BlockingCalls* const next = std::exchange(mine.next, nullptr)) {
      mine.began = Clock::now();
      lock.unlock();
      next->make();
      lock.lock();
      mine.began = Clock::time_point::max();
      if (!waiting_.empty() && busy() <= at_once_) {
        mine.next = waiting_.front().calls;
        waiting_.pop_front();
        continue;
      }
      idle_.push_back(&mine);
      const auto is_wanted = [&] { return mine.next != nullptr || ends_; };
      while (!mine.wake.wait_for(lock, longest_idle, is_wanted) && threads_.size() <= a_few) {
      }
      if (mine.next == nullptr) std::erase(idle_, &mine);
    }
    if (ends_) return;
    std::thread before = std::exchange(left_, std::move(mine.thread));
    threads_.remove_if([&mine](const Thread& one) { return &one == &mine; });
    lock.unlock();
    if (before.joinable()) before.join();
  }

  std::mutex mutex_;
  std::list<Thread> threads_;
  std::vector<Thread*> idle_;    // longest idle first; the last is reused first, so surplus threads stay idle and end
  std::deque<Waiting> waiting_;  // while `at_once_` calls are running
  std::size_t at_once_ = a_few;  // concurrent calls allowed
  Clock::time_point changed_;    // when `at_once_` last changed
  std::thread left_;             // the last surplus thread to end, to be joined
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
  made_.notify_all();  // under the lock: join() may return and destroy this
}

Threads::Threads(std::size_t count) : context_(static_cast<int>(count)) {
  threads_.reserve(count);
  try {
    while (threads_.size() < count) threads_.emplace_back([this] { context_.run(); });
  } catch (...) {
    join();
    throw;
  }
}

void Threads::join() {
  work_.reset();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool is_short_of_threads(const std::exception& error) {
  std::error_code code;
  if (const auto* refused = dynamic_cast<const std::system_error*>(&error)) code = refused->code();
  if (const auto* refused = dynamic_cast<const boost::system::system_error*>(&error)) code = refused->code();
  return code == std::errc::resource_unavailable_try_again;
}

}  // namespace feedmill
