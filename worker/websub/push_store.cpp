#include "worker/websub/push_store.hpp"

#include <limits>
#include <vector>

namespace feedmill {

namespace asio = boost::asio;

PushStore::PushStore(asio::any_io_executor executor, const StoreOptions& options)
    : StoreCalls(options),
      requests_(std::move(executor), 1, std::numeric_limits<std::size_t>::max(),
                [this](std::size_t, const Requests::Batch& batch) { return exchange(batch); }) {}

asio::awaitable<StoreResult<std::optional<PushRecord>>> PushStore::find(std::string hash) {
  return requests_.ask<StoreResult<std::optional<PushRecord>>>(std::move(hash));
}

asio::awaitable<StoreResult<PushNoted>> PushStore::note(PushNote note) {
  return requests_.ask<StoreResult<PushNoted>>(std::move(note));
}

asio::awaitable<void> PushStore::tell(Log& log, Metrics& metrics, PushNews news, Milliseconds now) {
  note_turn(log, metrics, news);
  const std::vector<Notice> notices = turn_notices(news, now);
  if (notices.empty()) co_return;
  const auto add = [&](Store& store) { return Notifications(store).add(notices); };
  const StoreResult<void> told = co_await call(add);
  if (!told) metrics.store_error(told.error());
}

asio::awaitable<void> PushStore::exchange(const Requests::Batch& batch) {
  const auto answer = [&](Store& store) {
    Pushes pushes(store);
    Requests::answer<std::string>(batch, [&](const auto& hashes) { return pushes.find(hashes); });
    Requests::answer<PushNote>(batch, [&](const auto& notes) { return pushes.note(notes); });
  };
  return call(answer);
}

}  // namespace feedmill
