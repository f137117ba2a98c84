#include "worker/requests/request_work.hpp"

#include <algorithm>
#include <utility>

#include "storage/redis/test_point.hpp"
#include "worker/base/terminal.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds look_for_memory{1'000};
constexpr std::size_t most_sought = 2;  // pages, at once: each is in hand, as whatever a worker may die of

}  // namespace

RequestWork::RequestWork(const StoreOptions& store, Requests::Options options)
    : store_(store), requests_(store_, std::move(options)) {}

StoreResult<RequestStep> RequestWork::step(const RequestRules& rules) {
  RequestStep step;
  const auto waiting = requests_.waiting();
  if (!waiting) return waiting.error();
  step.idle = *waiting == 0;
  if (step.idle) {  // nothing is to be held for
    if (const auto gone = let_go(); !gone) return gone.error();
    return step;
  }
  // From the first again whenever nothing is left of what was taken: then no place in the stream must be remembered.
  const auto taken = order_.full() ? requests_.hold() : requests_.take(order_.empty() ? "" : last_);
  if (!taken) return taken.error();
  step.waiting = taken->waiting;
  holding_ = !taken->waiting;
  if (step.waiting) {
    forget();
    return step;
  }
  step.resting = taken->records.empty();
  for (const RequestRecord& record : taken->records) {
    if (cancelled()) return step;
    if (const auto done = take_on(record, rules, step); !done) return done.error();
    last_ = record.id;
  }
  if (const auto done = go_on(rules, step); !done) return done.error();
  for (const auto& [id, page] : pages_) {
    if (!page.found) step.pages.push_back({id, page.url});
  }
  return step;
}

StoreResult<void> RequestWork::let_go() {
  const auto sought = std::exchange(pages_, {});
  forget();
  if (!std::exchange(holding_, false)) return {};
  for (const auto& [id, page] : sought) {  // nobody died of them
    if (const auto laid_down = requests_.release(id); !laid_down) return laid_down.error();
  }
  return requests_.let_go();
}

void RequestWork::forget() {
  order_.clear();
  under_way_.clear();
  pages_.clear();
}

void RequestWork::found(const std::string& request, FoundPage page) {
  const auto sought = pages_.find(request);
  if (sought != pages_.end()) sought->second.found = std::move(page);
}

std::size_t RequestWork::sought() const {
  return static_cast<std::size_t>(std::ranges::count_if(pages_, [](const auto& one) { return !one.second.found; }));
}

/// Null until the page is found: step() hands it out to be probed.
const FoundPage* RequestWork::page_of(const Request& request) {
  const auto [page, is_new] = pages_.try_emplace(request.asked.id, Page{request.given.text("url"), std::nullopt});
  return page->second.found ? &*page->second.found : nullptr;
}

RequestWork::Came RequestWork::ended(const std::string& id) {
  under_way_.erase(id);
  pages_.erase(id);
  return Came::to_its_end;
}

/// One that has just been taken: carried out if it waits for none before it.
StoreResult<void> RequestWork::take_on(const RequestRecord& record, const RequestRules& rules, RequestStep& step) {
  const Request request = read_request(record);
  const auto named = names(request);
  if (!named) return named.error();
  const bool needs_memory = !request.problem && Requests::needs_memory(request.op);
  // What is refused as it stands is answered without waiting for a look at others.
  const bool has_page = !request.problem && is_page(request) && !is_refused_page(request, rules);
  if (!order_.comes_before(*named) && !(needs_memory && is_short_of_memory()) &&
      !(has_page && sought() >= most_sought)) {
    const auto came = work_on(request, rules, step);
    if (!came) return came.error();
    if (*came == Came::to_its_end) return {};
  }
  order_.put({record.id, *named, needs_memory, has_page});
  return {};
}

const RequestOrder::Waiting* RequestWork::next() {
  return order_.next([this, is_short = is_short_of_memory()](const RequestOrder::Waiting& one) {
    if (is_short && one.needs_memory) return false;
    if (!one.is_page) return true;
    const auto page = pages_.find(one.id);
    return page == pages_.end() ? sought() < most_sought : page->second.found.has_value();
  });
}

/// What was put aside, each in its turn, until the time for that is over.
StoreResult<void> RequestWork::go_on(const RequestRules& rules, RequestStep& step) {
  const auto until = Clock::now() + part;
  bool worked = false;
  while (!cancelled()) {
    const RequestOrder::Waiting* one = next();
    if (one == nullptr && !worked) one = next();  // the rest of a round was no more than that
    if (one == nullptr) return {};
    worked = true;
    step.resting = false;
    const auto taken = requests_.take_again(one->id);
    if (!taken) return taken.error();
    if (taken->waiting) {  // the next step will find the same
      forget();
      return {};
    }
    Came came = Came::to_its_end;
    if (!taken->records.empty()) {
      const auto result = work_on(read_request(taken->records.front()), rules, step);
      if (!result) return result.error();
      came = *result;
    }
    if (came == Came::to_its_end) {
      order_.ended();
    } else {
      order_.stays();
    }
    if (Clock::now() >= until) return {};
  }
  return {};
}

/// Which feed a post is of is asked for only where something might have to be waited for.
StoreResult<RequestNames> RequestWork::names(const Request& request) {
  std::string feed_url;
  if (request.op == RequestOp::entry_remove && !request.problem && !order_.empty()) {
    const auto entry = entries_.get(entries_.id_of(request.given.text("id")));
    if (!entry) return entry.error();
    if (*entry) feed_url = (*entry)->get("feed_url");
  }
  return names_of(request, feed_url);
}

StoreResult<RequestWork::Came> RequestWork::work_on(const Request& request, const RequestRules& rules,
                                                    RequestStep& step) {
  const auto begun = requests_.begin(request.asked);
  if (!begun) return begun.error();
  if (begun->state == Begun::State::gone) return ended(request.asked.id);
  if (begun->state != Begun::State::go) {
    ++step.answered;
    if (begun->state == Begun::State::poison) ++step.poison;
    return ended(request.asked.id);
  }
  test_point("S17");
  InParts& parts = under_way_[request.asked.id];
  parts.ended_early = false;
  parts.go_on = [this, first = true, until = Clock::now() + part]() mutable {
    return !cancelled() && (std::exchange(first, false) || Clock::now() < until);
  };
  const PageOf page_of_it = [this](const Request& one) { return page_of(one); };
  auto done = carry_out({store_, requests_, request, begun->note, parts, rules, page_of_it});
  const bool part_way = done && parts.ended_early;
  if (!done && Requests::is_in_other_hands(done.error())) return ended(request.asked.id);
  const auto page = pages_.find(request.asked.id);
  if (done && page != pages_.end() && !page->second.found) return Came::to_a_page;  // it stays in hand
  // A key of the wrong type, say, would refuse it every time, and those behind it would wait for ever.
  if (!done && !is_transient(done.error())) {
    done = requests_.fail(request.asked, "store_refused", visible(done.error().detail));
  }
  if (!done || part_way) {  // nobody died of it
    const auto laid_down = requests_.release(request.asked.id);
    if (!done && done.error().code != StoreError::Code::out_of_memory) return done.error();
    if (!laid_down) return laid_down.error();
    if (part_way) return Came::part_way;
    step.no_memory = done.error();
    memory_again_ = Clock::now() + look_for_memory;
    return Came::short_of_memory;
  }
  ++step.answered;
  test_point("S18");
  return ended(request.asked.id);
}

}  // namespace feedmill
