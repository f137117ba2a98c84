// The pages of the admin listener (OPERATIONS §6): paths, queries of the store, and caching.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "storage/store/deployment.hpp"
#include "storage/store/store.hpp"
#include "worker/admin/admin.hpp"
#include "worker/admin/page_parts.hpp"
#include "worker/admin/status.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/config/host_rules.hpp"

namespace feedmill {

/// An HTML page as an answer.
AdminPage page_of(const PageFrame& frame, const Html& main, unsigned status = 200);

/// Queries the store over its own connection, one page at a time, so that page views do not delay refreshes. All
/// members are called on the loop's thread.
class StatusPages {
 public:
  struct Options {
    StoreOptions store;  ///< `patience` caps its timeout
    HostRules rules;
    std::string prefix{};                       ///< prefix of our paths (see PageFrame); requests arrive without it
    std::chrono::milliseconds patience{1'000};  ///< longest wait for one store command
    std::chrono::milliseconds kept{5'000};      ///< how long a page, or an error of the store, is reused; /status.json
                                                ///< at most 1 s
  };

  /// `history` must outlive this. `process`: returns the current status, without its history. `bug`: reports an
  /// unexpected error.
  StatusPages(const boost::asio::any_io_executor& executor, Options options, const StatusHistory& history,
              std::function<ProcessStatus()> process, std::function<void(const char*)> bug);
  StatusPages(const StatusPages&) = delete;
  StatusPages& operator=(const StatusPages&) = delete;

  /// The pages for the listener; this must outlive them.
  AdminPages pages();

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    AdminPage page;
    Clock::time_point until;
  };

  boost::asio::awaitable<AdminPage> answer(std::string path, std::string query);
  boost::asio::awaitable<AdminPage> make(const std::string& path, const std::string& query);
  boost::asio::awaitable<AdminPage> overview(bool as_json, bool refreshes);
  boost::asio::awaitable<StoreResult<StoreStatus>> store_status(bool kept_will_do);
  boost::asio::awaitable<AdminPage> feed_list(const std::string& query);
  boost::asio::awaitable<AdminPage> feed(const std::string& query, bool as_json);
  AdminPage store_is_away(const StoreError& error, const std::string& path, bool as_json);
  /// The frame for a page of this process.
  PageFrame frame_of(const std::string& title, const std::string& path, Milliseconds at) const;
  AdminPage not_found(const std::string& heading, const Html& text) const;
  const AdminPage* kept(const std::string& key);
  void keep(const std::string& key, const AdminPage& page, std::chrono::milliseconds span);

  /// Runs `work(store)`, which may throw StoreFailure, unless the store is known to be down.
  template <class Work, class Result = StoreResult<std::invoke_result_t<Work, Store&>>>
  boost::asio::awaitable<Result> ask(Work work) {
    if (const auto away = known_to_be_away()) co_return *away;
    auto task = [this, &work]() -> Result {  // `work` lives on this suspended frame
      store_.leave_closed();                 // the connection may have been idle for hours
      try {
        return work(store_);
      } catch (const StoreFailure& failure) {
        return failure.error;
      }
    };
    Result result = co_await run_on(calls_, task);
    if (result.has_error()) note_error(result.error());
    co_return result;
  }
  std::optional<StoreError> known_to_be_away() const;
  void note_error(const StoreError& error);

  Options options_;
  const StatusHistory& history_;
  std::function<ProcessStatus()> process_;
  std::function<void(const char*)> bug_;
  Store store_;
  std::map<std::string, Kept> kept_;
  std::optional<StoreStatus> store_status_;  ///< the last result
  Clock::time_point store_status_at_;
  std::optional<StoreError> last_error_;
  Clock::time_point last_error_at_;
  OneAtATime pages_in_turn_;
  BlockingCalls calls_;
};

}  // namespace feedmill
