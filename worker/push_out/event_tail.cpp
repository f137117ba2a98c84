#include "worker/push_out/event_tail.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "parsers/text/strings.hpp"
#include "storage/events/event_stream.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::size_t read_at_once = 500;

/// An event that is charged to the memory budget while it exists.
struct Counted {
  Counted(MemoryBudget& memory, std::shared_ptr<const OutsideEvent> counted)
      : event(std::move(counted)), share(memory, 0) {
    share.hold(sizeof(OutsideEvent) + 2 * event->json.size());  // the members contain the texts again
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  const std::shared_ptr<const OutsideEvent> event;
  MemoryBudget::Share share;
};

}  // namespace

EventTail::EventTail(const asio::any_io_executor& executor, const StoreOptions& store, const FeedHomes& homes,
                     MemoryBudget& memory, Options options)
    : homes_(homes), options_(options), tail_(store), store_(store), memory_(memory), pause_(executor) {}

asio::awaitable<void> EventTail::run() {
  while (!stopping_) {
    bool failed = false;
    if (newest_.empty()) {
      const auto read_last = [](Store& store) { return EventStream(store).last_seq(); };
      auto last = co_await tail_.call(read_last);
      failed = last.has_error();
      if (!failed) newest_ = *last;
    } else {
      auto read = co_await wait();
      failed = read.has_error();
      if (!failed) {
        auto events = co_await known(std::move(*read));
        failed = events.has_error();
        if (!failed && !events->empty()) add(std::move(*events));
      }
      drop_old();
    }
    if (!failed || stopping_) continue;
    pause_.expires_after(options_.look_again);
    co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<StoreResult<UnknownEvents>> EventTail::wait() {
  const auto begin = [this](Store& store) {
    return EventStream(store).begin_to_wait(newest_, read_at_once, options_.block);
  };
  const auto end = [](Store& store) -> StoreResult<UnknownEvents> {
    const auto records = EventStream(store).come();
    if (!records) return records.error();
    return UnknownEvents(*records);
  };
  return tail_.wait(begin, end);
}

asio::awaitable<StoreResult<OutsideEvents>> EventTail::known(UnknownEvents events) {
  const auto facts = co_await homes_.of_feeds(events.feed_urls(), read_facts);
  if (!facts) co_return facts.error();
  OutsideEvents all = std::move(events).with(*facts);
  for (auto& event : all) {
    const auto counted = std::make_shared<Counted>(memory_, std::move(event));
    event = {counted, counted->event.get()};
  }
  co_return all;
}

void EventTail::stop() {
  stopping_ = true;
  tail_.break_wait();
  pause_.cancel();
}

void EventTail::add(OutsideEvents events) {
  for (auto& event : events) {
    if (event_place(event->prev) > event_place(newest_)) {
      held_.clear();
      bytes_ = 0;
    }
    newest_ = event->id;
    bytes_ += event->json.size();
    held_.push_back({std::move(event), std::chrono::steady_clock::now()});
  }
  drop_old();
  for (auto& listener : listeners_) listener();
}

void EventTail::drop_old() {
  while (!held_.empty() && (held_.size() > options_.records || bytes_ > options_.bytes || is_old(held_.front()))) {
    bytes_ -= held_.front().event->json.size();
    held_.pop_front();
  }
}

bool EventTail::is_old(const Held& held) const {
  return held.read < std::chrono::steady_clock::now() - options_.age;
}

EventTail::Listener EventTail::listen(std::function<void()> added) {
  return listeners_.insert(listeners_.end(), std::move(added));
}

void EventTail::forget(Listener listener) {
  listeners_.erase(listener);
}

std::optional<OutsideEvents> EventTail::held(const std::string& after, std::size_t most) const {
  const EventPlace from = event_place(after), end = event_place(newest_);
  if (newest_.empty() || from > end) return std::nullopt;
  if (from == end) return OutsideEvents();
  if (held_.empty() || from < event_place(held_.front().event->prev)) return std::nullopt;
  auto next = std::ranges::upper_bound(held_, from, {}, [](const Held& held) { return event_place(held.event->id); });
  if (next != held_.end() && is_old(*next)) return std::nullopt;
  OutsideEvents events;
  for (std::size_t bytes = 0; next != held_.end() && events.size() < most && bytes < options_.page_bytes; ++next) {
    bytes += next->event->json.size();
    events.push_back(next->event);
  }
  return events;
}

asio::awaitable<StoreResult<EventTail::Since>> EventTail::since(std::string after, std::size_t most) {
  Since since;
  const auto read_page = [&](Store& store) -> StoreResult<UnknownEvents> {
    auto found = EventStream(store).since(after, most);
    if (!found) return found.error();
    since.oldest = std::move(found->oldest);
    since.before_oldest = std::move(found->before_oldest);
    since.missed = !found->records;
    std::vector<EventRecord> records = since.missed ? std::vector<EventRecord>() : std::move(*found->records);
    std::size_t bytes = 0;
    records.erase(std::ranges::find_if(records,
                                       [&](const EventRecord& record) {
                                         return std::exchange(bytes, bytes + record.json.size()) >= options_.page_bytes;
                                       }),
                  records.end());
    return UnknownEvents(records);
  };
  auto read = co_await store_.call(read_page);
  if (!read) co_return read.error();
  auto events = co_await known(std::move(*read));
  if (!events) co_return events.error();
  since.events = std::move(*events);
  co_return since;
}

asio::awaitable<StoreResult<EventTail::Since>> EventTail::next(std::string after, std::size_t most) {
  auto events = held(after, most);
  if (!events) co_return co_await since(std::move(after), most);
  Since since;
  since.events = std::move(*events);
  co_return since;
}

}  // namespace feedmill
