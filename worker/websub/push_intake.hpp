// Reads pushed documents and commits them like fetched ones, without contacting the origin (WEBSUB P4).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/log.hpp"
#include "worker/base/report.hpp"
#include "worker/ingest/reading_threads.hpp"
#include "worker/ingest/refresh.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/push_turns.hpp"
#include "worker/websub/push_store.hpp"
#include "worker/websub/pushed_document.hpp"

namespace feedmill {

/// Lives on one loop. All constructor arguments must outlive run().
class PushIntake {
 public:
  struct Options {
    std::string worker;                                 ///< 32 hex digits: prefix of its claim ids
    std::size_t lanes = 8;                              ///< read concurrently
    std::size_t per_feed = 8;                           ///< held for one feed
    std::size_t most = 1000;                            ///< held in total
    std::function<void(const Report&)> tell = nullptr;  ///< on the loop: called for each that was read and compared
  };

  PushIntake(const boost::asio::any_io_executor& executor, Refresher& refresher, ReadingThreads& threads,
             PushStore& pushes, Metrics& metrics, Log& log, Options options);

  /// False if the queue is full: then the push only causes a fetch.
  bool has_room(const std::string& feed_url) const;
  void take(Pushed pushed);

  /// Reads until finish(), then the rest of the queue.
  boost::asio::awaitable<void> run();
  void finish();
  std::size_t held() const { return queue_.size() + busy_.size(); }

 private:
  boost::asio::awaitable<void> lane();
  std::deque<Pushed>::iterator next();
  boost::asio::awaitable<void> handle(Pushed& pushed);
  boost::asio::awaitable<void> write(const Claim& claim, Pushed& pushed);
  boost::asio::awaitable<void> tell_turn(const Report& report, Milliseconds now);
  boost::asio::awaitable<void> give_back(const Claim& claim);
  boost::asio::awaitable<void> fetch_instead(const std::string& hash);

  Refresher& refresher_;
  ReadingThreads& threads_;
  PushStore& pushes_;
  Metrics& metrics_;
  Log& log_;
  Options options_;
  std::deque<Pushed> queue_;
  std::map<std::string, std::size_t> held_;  // by feed, including those being read
  std::set<std::string> busy_;               // feeds being written, one push at a time
  boost::asio::steady_timer changed_;        // cancelled when there is work
  bool finishing_ = false;
  std::uint64_t claims_ = 0;
};

}  // namespace feedmill
