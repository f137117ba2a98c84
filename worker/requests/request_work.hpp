// Carries out what programs ask for, one request after the other, by the code that verbs call. Blocking.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/requests/requests.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/config/config.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/requests/read_request.hpp"

namespace feedmill {

/// What holds for requests of the configuration, which a reload replaces. A value that nobody changes.
struct RequestRules {
  Config config;
  EgressViewer egress;
};

/// What one step came to.
struct RequestStep {
  bool waiting = false;        ///< another worker takes the requests
  bool idle = false;           ///< there are none
  std::uint64_t answered = 0;  ///< of all kinds, repeated answers among them
  std::uint64_t poison = 0;    ///< set aside
};

/// Not thread-safe. May be killed anywhere, may run several times at once: each request is done once, and answered.
class RequestWork {
 public:
  RequestWork(const StoreOptions& store, Requests::Options options);
  RequestWork(const RequestWork&) = delete;  // its parts refer to its store
  RequestWork& operator=(const RequestWork&) = delete;

  /// A bounded batch of requests, or as many of it as are done before `cancelled`. After an error call again: nothing
  /// is lost by it.
  StoreResult<RequestStep> step(const RequestRules& rules);
  /// Gives the right to take requests back.
  StoreResult<void> let_go();
  /// Asked between requests, on the thread that is in step().
  std::function<bool()> cancelled = [] { return false; };

  void set_signals_caps(std::uint64_t records, std::uint64_t bytes) { store_.set_signals_caps(records, bytes); }
  std::uint64_t reconnects() const { return store_.reconnects(); }

 private:
  StoreResult<void> work_on(const Request& request, const RequestRules& rules, RequestStep& step);
  StoreResult<void> carry_out(const Request& request, const std::string& note, const RequestRules& rules);
  StoreResult<void> add(const Request& request, const RequestRules& rules);
  StoreResult<void> remove(const Request& request, const std::string& note);
  StoreResult<void> set(const Request& request, const RequestRules& rules);
  StoreResult<void> move(const Request& request, const RequestRules& rules);
  StoreResult<void> follow(const Request& request);
  StoreResult<void> unfollow(const Request& request, const std::string& note);
  StoreResult<void> remove_channel(const Request& request);
  StoreResult<void> mark(const Request& request, const std::string& note);
  StoreResult<void> put_entry(const Request& request, const RequestRules& rules);

  Store store_;
  Requests requests_;
  Feeds feeds_{store_};
  Channels channels_{store_};
  Notifications notifications_{store_};
  Entries entries_{store_};
  bool holding_ = false;
};

}  // namespace feedmill
