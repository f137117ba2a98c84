#include "worker/websub/push_store.hpp"

#include <limits>

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

asio::awaitable<void> PushStore::exchange(const Requests::Batch& batch) {
  const auto answer = [&](Store& store) {
    Pushes pushes(store);
    Requests::answer<std::string>(batch, [&](const auto& hashes) { return pushes.find(hashes); });
    Requests::answer<PushNote>(batch, [&](const auto& notes) { return pushes.note(notes); });
  };
  return call(answer);
}

}  // namespace feedmill
