#include "worker/websub/push_store.hpp"

#include <optional>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill {

namespace asio = boost::asio;

/// A queued request and its answer; `done` is the event.
struct PushStore::Waiting {
  explicit Waiting(const asio::any_io_executor& executor) : done(executor, asio::steady_timer::time_point::max()) {}

  std::string hash;              // to be found, or
  std::optional<PushNote> note;  // to be noted
  std::optional<StoreResult<std::optional<PushRecord>>> found;
  std::optional<StoreResult<PushNoted>> noted;
  asio::steady_timer done;
};

PushStore::PushStore(asio::any_io_executor executor, const StoreOptions& options)
    : executor_(std::move(executor)), store_(options) {}

asio::awaitable<StoreResult<std::optional<PushRecord>>> PushStore::find(std::string hash) {
  Waiting waiting(executor_);
  waiting.hash = std::move(hash);
  co_await wait_for(waiting);
  co_return std::move(*waiting.found);
}

asio::awaitable<StoreResult<PushNoted>> PushStore::note(PushNote note) {
  Waiting waiting(executor_);
  waiting.note = std::move(note);
  co_await wait_for(waiting);
  co_return std::move(*waiting.noted);
}

asio::awaitable<void> PushStore::wait_for(Waiting& waiting) {
  waiting_.push_back(&waiting);
  if (!busy_) {
    busy_ = true;
    asio::co_spawn(executor_, serve(), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);  // out of memory: ends the loop, main() reports it
    });
  }
  // Not cancellable: the thread writes into `waiting`, which must outlive that.
  co_await waiting.done.async_wait(
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::as_tuple(asio::use_awaitable)));
}

asio::awaitable<void> PushStore::serve() {
  // Collect other requests of this turn of the loop: round trips are the cost, not commands.
  co_await asio::post(executor_, asio::use_awaitable);
  while (!waiting_.empty()) {
    const std::vector<Waiting*> batch = std::exchange(waiting_, {});
    co_await run_on(calls_, [&] { exchange(batch); });
    for (Waiting* waiting : batch) waiting->done.cancel();
  }
  busy_ = false;
}

void PushStore::exchange(const std::vector<Waiting*>& batch) {
  Pushes pushes(store_);
  std::vector<std::string> hashes;
  std::vector<PushNote> notes;
  for (const Waiting* waiting : batch) {
    if (waiting->note)
      notes.push_back(*waiting->note);
    else
      hashes.push_back(waiting->hash);
  }
  std::vector<StoreResult<std::optional<PushRecord>>> found;
  if (!hashes.empty()) found = pushes.find(hashes);
  std::vector<StoreResult<PushNoted>> noted;
  if (!notes.empty()) noted = pushes.note(notes);
  std::size_t next_found = 0, next_noted = 0;
  for (Waiting* waiting : batch) {
    if (waiting->note)
      waiting->noted = std::move(noted[next_noted++]);
    else
      waiting->found = std::move(found[next_found++]);
  }
}

}  // namespace feedmill
