// Carries out what programs ask for by the code that verbs call: one request at a time, of a long one a part at a time,
// so that those behind it do not wait (RELIABILITY Q3). Blocking.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "storage/entries/entries.hpp"
#include "storage/redis/server_wait.hpp"
#include "storage/requests/requests.hpp"
#include "storage/store/store.hpp"
#include "worker/operations/request.hpp"
#include "worker/requests/request_order.hpp"

namespace feedmill {

/// An address behind which the feed is looked for that a request wants added.
struct SoughtPage {
  std::string request;  ///< its id
  std::string url;      ///< canonical
};

/// What one step came to.
struct RequestStep {
  bool waiting = false;                 ///< another worker takes the requests
  bool idle = false;                    ///< there are none
  bool resting = false;                 ///< none can be carried out now
  std::uint64_t answered = 0;           ///< of all kinds, repeated answers among them
  std::uint64_t poison = 0;             ///< set aside: workers died of them, or their ids are from the future
  std::optional<StoreError> no_memory;  ///< some wait because of this; the others do not
  std::vector<SoughtPage> pages;        ///< to be looked at and told by found(); these requests wait for nothing else
};

/// Not thread-safe. May be killed anywhere, may run several times at once: each request is done once, and answered.
class RequestWork {
 public:
  RequestWork(const StoreOptions& store, Requests::Options options);
  RequestWork(const RequestWork&) = delete;  // its parts refer to its store
  RequestWork& operator=(const RequestWork&) = delete;

  /// A bounded batch of requests, and a bounded part of what is under way; or as much of it as is done before
  /// `cancelled`. After an error call again: nothing is lost by it.
  StoreResult<RequestStep> step(const RequestRules& rules);
  /// Behind a step that was idle: as Requests has it.
  StoreResult<ServerWait> begin_to_wait(Milliseconds longest) { return requests_.begin_to_wait(longest); }
  StoreResult<bool> has_come() { return requests_.has_come(); }
  /// From any thread: that ends with an error, else the next one that begins.
  void break_wait() { store_.break_wait(); }
  /// What is behind a page that was sought. Between two steps.
  void found(const std::string& request, FoundPage page);
  /// Gives the right to take requests back.
  StoreResult<void> let_go();
  /// Asked between requests and parts of them, on the thread that is in step().
  std::function<bool()> cancelled = [] { return false; };
  /// How long a request of many steps goes on before others have their turn; one step at least.
  Milliseconds part{20};

  void set_signals_caps(std::uint64_t records, std::uint64_t bytes) { store_.set_signals_caps(records, bytes); }
  std::uint64_t reconnects() const { return store_.reconnects(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Came { to_its_end, part_way, short_of_memory, to_a_page };

  StoreResult<void> take_on(const RequestRecord& record, const RequestRules& rules, RequestStep& step);
  StoreResult<void> go_on(const RequestRules& rules, RequestStep& step);
  StoreResult<RequestNames> names(const Request& request);
  void forget();
  bool is_short_of_memory() const { return Clock::now() < memory_again_; }
  StoreResult<Came> work_on(const Request& request, const RequestRules& rules, RequestStep& step);
  Came ended(const std::string& id);
  std::size_t sought() const;
  const RequestOrder::Waiting* next();
  const FoundPage* page_of(const Request& request);

  Store store_;
  Requests requests_;
  Entries entries_{store_};
  bool holding_ = false;

  RequestOrder order_;                        // what was taken and has not come to its end
  std::string last_;                          // of those that were taken
  std::map<std::string, InParts> under_way_;  // by id: how far they have come
  struct Page {
    std::string url;
    std::optional<FoundPage> found;  // nothing: it is still sought
  };
  std::map<std::string, Page> pages_;  // by id, of requests in hand
  Clock::time_point memory_again_{};   // Redis has none until then, as far as is known
};

}  // namespace feedmill
