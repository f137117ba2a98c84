#include "worker/push_out/fan_out.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "storage/redis/test_point.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::size_t batch_events = 500;  // events per batch
constexpr std::size_t most_woken = 500;    // subscribers per script call

template <class Index>
void take_out(Index& index, const std::string& name, const std::string& id) {
  const auto found = index.find(name);
  if (found == index.end()) return;
  found->second.erase(id);
  if (found->second.empty()) index.erase(found);
}

}  // namespace

void ConcernedIndex::take(const SubscriberChanges& changes) {
  if (changes.anew) {
    rows_.clear();
    of_feed_.clear();
    of_channel_.clear();
    of_all_.clear();
  }
  for (const std::string& id : changes.gone) forget(id);
  for (const SubscriberChanges::Row& row : changes.changed) {
    forget(row.id);
    if (row.filter.of_all_feeds()) of_all_.insert(row.id);
    for (const std::string& feed : row.filter.feeds) of_feed_[feed].insert(row.id);
    for (const std::string& channel : row.filter.channels) of_channel_[channel].insert(row.id);
    rows_.emplace(row.id, row);
  }
}

void ConcernedIndex::forget(const std::string& id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return;
  of_all_.erase(id);
  for (const std::string& feed : found->second.filter.feeds) take_out(of_feed_, feed, id);
  for (const std::string& channel : found->second.filter.channels) take_out(of_channel_, channel, id);
  rows_.erase(found);
}

std::vector<std::string> ConcernedIndex::all() const {
  std::vector<std::string> ids;
  for (const auto& [id, row] : rows_) ids.push_back(id);
  return ids;
}

ConcernedIndex::Concerned ConcernedIndex::of(const OutsideEvent& event) const {
  Concerned ids;
  if (!event.told) return ids;
  std::unordered_set<std::string_view> seen;
  const auto add = [&](const Ids& some) {
    for (const std::string& id : some) {
      const SubscriberChanges::Row& row = rows_.find(id)->second;
      if (!row.filter.wants_kind(event.event) || !seen.insert(id).second) continue;
      (event.is_private && !row.with_private ? ids.withheld : ids.told).push_back(id);
    }
  };
  add(of_all_);
  if (const auto found = of_feed_.find(event.event.feed_url); found != of_feed_.end()) add(found->second);
  for (const std::string& channel : event.channels) {
    if (const auto found = of_channel_.find(channel); found != of_channel_.end()) add(found->second);
  }
  return ids;
}

FanOut::FanOut(const asio::any_io_executor& executor, StoreCalls& store, EventTail& tail, WakeEvent& due,
               Metrics& metrics, Options options)
    : store_(store),
      tail_(tail),
      due_(due),
      metrics_(metrics),
      options_(std::move(options)),
      listener_(tail.listen([this] { wake_.notify(); })),
      wake_(executor) {}

FanOut::~FanOut() {
  tail_.forget(listener_);
}

void FanOut::stop() {
  stopping_ = true;
  wake_.notify();
}

asio::awaitable<void> FanOut::run() {
  while (!stopping_) {
    const bool mine = co_await hold_lead();
    if (!mine) {
      co_await wake_.wait(look_to_lead());
      continue;
    }
    const bool more = co_await look_through();
    co_await keep_up();
    if (!more && !stopping_) co_await wake_.wait(options_.look);
  }
}

/// Takes or renews the lead. Other workers try only at intervals, however many events arrive.
asio::awaitable<bool> FanOut::hold_lead() {
  if (Clock::now() < renew_at_) co_return leading_;
  const auto take = [&](Store& store) { return Subscribers(store).lead(options_.token, options_.lead); };
  const StoreResult<bool> held = co_await store_.call(take);
  if (!held) metrics_.store_error(held.error());
  const bool mine = held && *held;
  renew_at_ = Clock::now() + (mine ? options_.lead / 3 : look_to_lead());
  if (!mine) leading_ = false;
  co_return mine;
}

asio::awaitable<bool> FanOut::learn_changes() {
  for (bool more = true; more && !stopping_;) {
    const auto ask = [&](Store& store) { return Subscribers(store).changes(changes_, batch_events); };
    StoreResult<SubscriberChanges> changes = co_await store_.call(ask);
    if (!changes) {
      metrics_.store_error(changes.error());
      co_return false;
    }
    index_.take(*changes);
    // The index restarts, so all subscribers are returned again.
    changes_ = changes->anew ? 0 : changes->number;
    more = changes->more || changes->anew;
  }
  co_return true;
}

/// Makes the subscribers of one batch of events due. Returns true if more events may be waiting.
asio::awaitable<bool> FanOut::look_through() {
  if (!leading_) {
    const auto begin = [](Store& store) { return Subscribers(store).begin_leading(); };
    const StoreResult<std::string> mark = co_await store_.call(begin);
    if (!mark) {
      metrics_.store_error(mark.error());
      co_return false;
    }
    index_ = ConcernedIndex();
    changes_ = 0;
    mark_ = *mark;
    leading_ = true;
  }
  // Read events first, then subscribers, so that a subscriber added before an event is always known.
  const bool is_first = mark_.empty();
  const std::string newest = tail_.newest();
  StoreResult<EventTail::Since> read = EventTail::Since();
  if (!is_first) read = co_await tail_.next(mark_, batch_events);
  if (!read) {
    metrics_.store_error(read.error());
    co_return false;
  }
  if (is_first ? newest.empty() : !read->missed && read->events.empty()) co_return false;
  const bool learnt = co_await learn_changes();
  if (!learnt) co_return false;
  // First run on this stream: each subscriber looks for events since it was added.
  if (is_first) co_return co_await wake_all("0-0", newest);
  // Each subscriber finds its own gap.
  if (read->missed) co_return co_await wake_all(mark_, read->before_oldest);
  std::unordered_map<std::string, Subscribers::Concerned> of_batch;  // by id
  const auto row_of = [&](const std::string& id) -> Subscribers::Concerned& {
    return of_batch.try_emplace(id, Subscribers::Concerned{id, ""}).first->second;
  };
  std::string up_to = mark_;
  for (const auto& event : read->events) {
    const ConcernedIndex::Concerned ids = index_.of(*event);
    for (const std::string& id : ids.withheld) ++row_of(id).withheld;
    for (const std::string& id : ids.told) {
      if (std::string& before = row_of(id).before; before.empty()) before = up_to;
    }
    up_to = event->id;
  }
  std::vector<Subscribers::Concerned> concerned;
  concerned.reserve(of_batch.size());
  for (auto& [id, one] : of_batch) concerned.push_back(std::move(one));
  co_return co_await wake(std::move(concerned), std::move(up_to));
}

asio::awaitable<bool> FanOut::wake_all(std::string before, std::string up_to) {
  std::vector<Subscribers::Concerned> concerned;
  for (std::string& id : index_.all()) concerned.push_back({std::move(id), before});
  co_return co_await wake(std::move(concerned), std::move(up_to));
}

/// Works in parts. Only the last part moves the mark, so that the next leader repeats an unfinished batch.
asio::awaitable<bool> FanOut::wake(std::vector<Subscribers::Concerned> concerned, std::string mark) {
  for (std::size_t from = 0;;) {
    const std::size_t count = std::min(most_woken, concerned.size() - from);
    const bool last = from + count == concerned.size();
    const auto write = [&](Store& store) {
      return Subscribers(store).wake(options_.token, std::span(concerned).subspan(from, count), mark, last);
    };
    const StoreResult<bool> done = co_await store_.call(write);
    test_point("S20");
    if (!done) metrics_.store_error(done.error());
    if (!done || !*done) {
      leading_ = false;
      renew_at_ = Clock::now() + look_to_lead();
      co_return false;
    }
    from += count;
    if (last) break;
  }
  mark_ = std::move(mark);
  if (!concerned.empty()) due_.notify();
  co_return true;
}

asio::awaitable<void> FanOut::keep_up() {
  if (!leading_ || Clock::now() < upkeep_at_) co_return;
  upkeep_at_ = Clock::now() + options_.lead * 3 / 2;
  const auto expire = [](Store& store) { return Subscribers(store).expire(batch_events); };
  const StoreResult<std::size_t> expired = co_await store_.call(expire);
  if (!expired) metrics_.store_error(expired.error());
  if (expired && *expired > 0) due_.notify();
}

asio::awaitable<void> FanOut::let_go() {
  if (!std::exchange(leading_, false)) co_return;
  const auto let_go = [&](Store& store) { return Subscribers(store).lead(options_.token, Milliseconds(0)); };
  const auto gone = co_await store_.call(let_go);
  if (!gone) metrics_.store_error(gone.error());
}

}  // namespace feedmill
