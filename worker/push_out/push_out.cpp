#include "worker/push_out/push_out.hpp"

#include <utility>
#include <vector>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "storage/events/event_stream.hpp"
#include "storage/queues/topics.hpp"
#include "worker/base/coroutines.hpp"

namespace feedmill {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

namespace {

constexpr std::chrono::seconds figures_every{15};  // OPERATIONS §3
constexpr std::chrono::seconds topics_every{5};

}  // namespace

PushOut::PushOut(const asio::any_io_executor& executor, const StoreOptions& store, Options options, Memory& memory,
                 Metrics& metrics, Log& log)
    : metrics_(metrics),
      log_(log),
      drain_(options.drain),
      tells_of_store_(options.tells_of_store),
      is_of_all_(store.of_all),
      store_(store),
      homes_(std::move(options.homes).value_or(all_in(store_))),
      tail_(executor, store, homes_, memory.deliveries.budget(), {.block = options.block}),
      fetcher_(executor, options.fetch),
      deliveries_(store),
      due_(executor),
      fan_out_(executor, deliveries_, tail_, due_, metrics,
               {options.engine.token, options.engine.look, options.engine.lead}),
      dispatcher_(executor, store,
                  {deliveries_, homes_, tail_, due_, fetcher_, memory.deliveries, sites_, metrics, log},
                  std::move(options.engine)),
      end_(executor, asio::steady_timer::time_point::max()),
      streams_(executor, tail_, options.streams),
      figures_due_(executor),
      topics_due_(executor) {
  if (options.outside)
    outside_.emplace(executor, store, std::move(*options.outside), std::move(options.fetch), streams_, memory.documents,
                     sites_, metrics);
}

asio::awaitable<void> PushOut::run() {
  co_await (tail_.run() && push() && streams_.run() && keep_figures() && close_ended_topics());
}

/// Keeps the tail running until the last request has ended, then stores the progress of each receiver.
asio::awaitable<void> PushOut::push() {
  co_await ((fan_out_.run() && dispatcher_.run()) || wait_until_expired(end_));
  co_await dispatcher_.lay_down();
  co_await fan_out_.let_go();
  tail_.stop();
}

asio::awaitable<void> PushOut::keep_figures() {
  std::uint64_t streamed = 0;
  bool down = false;
  while (!stopped_) {
    const auto count = [](Store& store) { return Subscribers(store).counts(); };
    const StoreResult<SubscriberCounts> counts = co_await store_.call(count);
    if (counts)
      metrics_.set_subscribers(*counts);
    else
      metrics_.store_error(counts.error());
    if (is_of_all_) co_await keep_stream_figures();
    const bool is_down = counts.has_error();
    if (tells_of_store_ && is_down != std::exchange(down, is_down)) {
      log_.write(is_down ? LogLevel::error : LogLevel::info, is_down ? "redis_down" : "redis_up",
                 is_down ? "no events can be delivered; feedmill retries" : "Redis is available again",
                 {{"detail", is_down ? std::string_view(counts.error().detail) : std::string_view()}});
    }
    metrics_.set_streams(streams_.figures().open);
    metrics_.push_out_streamed(streams_.figures().events - streamed);
    streamed = streams_.figures().events;
    co_await figures_due_.wait(figures_every);
  }
}

/// Updates the figures of the merged stream; the fetching half of a partition updates those of its stream.
asio::awaitable<void> PushOut::keep_stream_figures() {
  const auto read = [](Store& store) { return EventStream(store).figures(); };
  const StoreResult<StreamFigures> figures = co_await store_.call(read);
  if (figures)
    metrics_.set_stream(*figures);
  else
    metrics_.store_error(figures.error());
}

/// Closes the live streams of topics that were removed.
asio::awaitable<void> PushOut::close_ended_topics() {
  while (!stopped_) {
    co_await topics_due_.wait(topics_every);
    const std::vector<std::string> all = streams_.tokens();
    if (all.empty() || stopped_) continue;
    const auto find = [&](Store& store) -> StoreResult<std::vector<std::string>> {
      std::vector<std::string> ended;
      for (const std::string& token : all) {
        const auto topic = Topics(store).find(token);
        if (!topic) return topic.error();
        if (!*topic) ended.push_back(token);
      }
      return ended;
    };
    const StoreResult<std::vector<std::string>> ended = co_await store_.call(find);
    if (!ended) continue;
    for (const std::string& token : *ended) streams_.close_of(token);
  }
}

void PushOut::set_fetch_options(FetchOptions options) {
  if (outside_) outside_->set_fetch_options(options);
  fetcher_.set_options(std::move(options));
}

void PushOut::stop() {
  if (std::exchange(stopped_, true)) return;
  stop_pushing(drain_);
  streams_.stop();
  figures_due_.notify();
  topics_due_.notify();
}

void PushOut::hurry() {
  stop();
  stop_pushing(Milliseconds(0));
}

/// Running requests may continue for `grace`.
void PushOut::stop_pushing(Milliseconds grace) {
  fan_out_.stop();
  dispatcher_.stop();
  end_.expires_after(grace);
}

}  // namespace feedmill
