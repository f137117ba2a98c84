// Requests of coroutines, answered in batches: round trips are the cost, not commands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill {

/// Passes the requests of one turn of the loop on together, over the first connection that is free. `Request` and
/// `Answer` are variants. Lives on one loop and outlives every ask().
template <class Request, class Answer>
class Batches {
 public:
  /// A waiting request; on the frame of the coroutine that asks.
  struct Waiting {
    Request request;
    Answer answer;
    boost::asio::steady_timer answered;  ///< cancelled when `answer` is there
  };
  using Batch = std::vector<Waiting*>;
  /// Answers a batch of at most `most` over a connection.
  using Exchange = std::function<boost::asio::awaitable<void>(std::size_t connection, const Batch& batch)>;

  Batches(boost::asio::any_io_executor executor, std::size_t connections, std::size_t most, Exchange exchange)
      : executor_(std::move(executor)), most_(most), exchange_(std::move(exchange)), busy_(connections) {}
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// Not cancellable: a thread writes the answer into the coroutine's frame.
  template <class One>
  boost::asio::awaitable<One> ask(Request request) {
    namespace asio = boost::asio;
    Waiting waiting{std::move(request), {}, asio::steady_timer(executor_, asio::steady_timer::time_point::max())};
    waiting_.push_back(&waiting);
    start_if_idle();
    co_await waiting.answered.async_wait(
        asio::bind_cancellation_slot(asio::cancellation_slot(), asio::as_tuple(asio::use_awaitable)));
    co_return std::get<One>(std::move(waiting.answer));
  }

  /// Answers the requests of one type with `call(std::vector<One>)`, which returns their answers in the same order.
  template <class One, class Call>
  static void answer(const Batch& batch, const Call& call) {
    std::vector<One> requests;
    Batch asking;
    for (Waiting* const waiting : batch) {
      One* const request = std::get_if<One>(&waiting->request);
      if (request == nullptr) continue;
      requests.push_back(std::move(*request));
      asking.push_back(waiting);
    }
    if (requests.empty()) return;
    auto answers = call(requests);
    for (std::size_t i = 0; i < asking.size(); ++i) asking[i]->answer = std::move(answers[i]);
  }

 private:
  void start_if_idle() {
    const auto idle = std::ranges::find(busy_, false);
    if (idle == busy_.end()) return;
    *idle = true;
    boost::asio::co_spawn(executor_, serve(static_cast<std::size_t>(idle - busy_.begin())),
                          [](const std::exception_ptr& error) {
                            if (error)
                              std::rethrow_exception(error);  // out of memory: ends the loop, main() reports it
                          });
  }

  boost::asio::awaitable<void> serve(std::size_t connection) {
    co_await boost::asio::post(executor_, boost::asio::use_awaitable);  // the other requests of this turn of the loop
    Batch batch;
    while (!waiting_.empty()) {
      const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(most_, waiting_.size()));
      batch.assign(waiting_.begin(), end);
      waiting_.erase(waiting_.begin(), end);
      co_await exchange_(connection, batch);
      for (Waiting* const waiting : batch) waiting->answered.cancel();
    }
    busy_[connection] = false;
  }

  boost::asio::any_io_executor executor_;
  std::size_t most_;
  Exchange exchange_;
  std::deque<Waiting*> waiting_;
  std::vector<bool> busy_;  // by connection
};

}  // namespace feedmill
