#include "worker/requests/request_work.hpp"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/records/event_json.hpp"
#include "storage/redis/test_point.hpp"
#include "storage/timelines/notice_parts.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/config/hub_choice.hpp"
#include "worker/config/usable_names.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds look_for_memory{1'000};
constexpr std::size_t most_sought = 2;      // pages, at once: each is in hand, as whatever a worker may die of
constexpr std::size_t longest_offer = 200;  // title of a feed that a page offers

/// What a call of the store came to, its value apart.
template <class T>
StoreResult<void> only_done(const StoreResult<T>& result) {
  if (!result) return result.error();
  return {};
}

/// Why no request would be sent to an address; none is found of names, which are looked up when they are fetched.
std::optional<RequestProblem> refusal_of(const std::string& url, const FeedSettings& settings,
                                         const RequestRules& rules) {
  const EgressView view = rules.egress.of_text({url, settings});
  if (view.verdict != EgressView::Verdict::refused) return {};
  return RequestProblem{"refused_address", visible(view.reason + ": " + view.detail)};
}

/// What a page offers, for whoever must choose.
std::string feeds_json(const std::vector<FoundFeed>& feeds) {
  boost::json::array offers;
  for (const FoundFeed& feed : feeds) {
    offers.push_back({{"url", feed.url},
                      {"title", visible(utf8_prefix(feed.title, longest_offer))},
                      {"format", feed.format},
                      {"entries", feed.entries}});
  }
  return boost::json::serialize(offers);
}

/// Carries out the changes of a request on `settings`; what is wrong with them, "" when nothing is.
std::string change_all(FeedSettings& settings, const Request& request, const RequestRules& rules) {
  const FeedSettings before = settings;
  std::string remedy;
  for (const std::string& change : request.settings) {
    if (remedy.empty()) remedy = change_setting(settings, change);
  }
  if (remedy.empty() && !settings.ca_file.empty() && settings.ca_file != before.ca_file) {
    remedy = "ca_file: programs cannot name files on the workers' machines; an operator sets it: feedmill set";
  }
  if (remedy.empty()) remedy = check_settings(settings);
  if (remedy.empty()) remedy = unusable_names(rules.config, before, settings);
  return remedy;
}

}  // namespace

FoundPage found_page(const Discovery& discovery, bool complete) {
  FoundPage page{discovery.feeds, "no_feed", "the page offers no feed"};
  if (!complete) {
    page.reason = "unreachable";
    page.detail = "checking the page takes too long";
  } else if (discovery.look && discovery.look->is_refused()) {
    page.reason = "refused_address";
  } else if (discovery.look && discovery.look->may_answer_later()) {
    page.reason = "unreachable";
  }
  if (complete && discovery.look && !discovery.look->is_page()) page.detail = visible(discovery.look->trouble());
  return page;
}

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
  const bool is_page =
      !request.problem && request.page != Request::Page::no && !refusal_of(request.url, FeedSettings(), rules);
  if (!order_.comes_before(*named) && !(needs_memory && is_short_of_memory()) &&
      !(is_page && sought() >= most_sought)) {
    const auto came = work_on(request, rules, step);
    if (!came) return came.error();
    if (*came == Came::to_its_end) return {};
  }
  order_.put({record.id, *named, needs_memory, is_page});
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
    const auto entry = entries_.get(entries_.id_of(request.entries.front()));
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
  const auto problem = request.problem || is_rule_at_home(request) ? request.problem : elsewhere(request.url);
  auto done = problem ? requests_.fail(request.asked, problem->reason, problem->detail)
                      : carry_out(request, begun->note, parts, rules);
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

std::optional<RequestProblem> RequestWork::elsewhere(const std::string& feed_url) const {
  const auto its = feed_url.empty() ? std::nullopt : store_.elsewhere(feed_url);
  if (!its) return {};
  return RequestProblem{"bad_value", fmt::format("partition {} has {}; ask there", *its, visible(feed_url))};
}

/// All rules of a user stand at home, those that watch feeds of other partitions, too (RELIABILITY L32).
bool RequestWork::is_rule_at_home(const Request& request) const {
  const Partition& here = store_.partition();
  return request.op == RequestOp::watch_add && home_of_user(request.watch.user, here.count) == here.index;
}

StoreResult<void> RequestWork::carry_out(const Request& request, const std::string& note, InParts& parts,
                                         const RequestRules& rules) {
  const std::span<const std::string> one(&request.url, 1);
  switch (request.op) {
    case RequestOp::add:
      return add(request, rules);
    case RequestOp::remove:
      return remove(request, note, parts);
    case RequestOp::set:
      return set(request, rules);
    case RequestOp::pause: {
      const Requests::Step step(requests_, request.asked, request.op);
      return only_done(feeds_.pause(one));
    }
    case RequestOp::resume: {
      const ResumedFeed feed{request.url, Milliseconds(0)};
      const Requests::Step step(requests_, request.asked, request.op);
      return only_done(feeds_.resume(std::span(&feed, 1), rules.config.schedule.floor));
    }
    case RequestOp::refresh: {
      const Requests::Step step(requests_, request.asked, request.op);
      return only_done(feeds_.wake(one, rules.config.schedule.manual_floor, false));
    }
    case RequestOp::move:
      return move(request, rules);
    case RequestOp::channel_follow:
      return follow(request);
    case RequestOp::channel_unfollow:
      return unfollow(request, note, parts);
    case RequestOp::channel_mark:
      return mark(request, note, parts);
    case RequestOp::entry_put:
      return put_entry(request, rules);
    case RequestOp::entry_remove: {
      const Requests::Step step(requests_, request.asked, request.op);
      const std::string id = entries_.id_of(request.entries.front());
      if (!entries_.is_id(id)) return requests_.fail(request.asked, "no_such_entry", "no such entry");
      return only_done(entries_.remove(id));
    }
    case RequestOp::channel_add: {
      const Requests::Step step(requests_, request.asked, request.op);
      return only_done(channels_.add(std::span(&request.channel, 1)));
    }
    case RequestOp::channel_remove:
      return remove_channel(request);
    case RequestOp::channel_order: {
      const Requests::Step step(requests_, request.asked, request.op);
      return only_done(channels_.order_among(request.channels));
    }
    case RequestOp::notice_mark: {
      const Requests::Step step(requests_, request.asked, request.op);
      const std::string& user = request.watch.user;
      return only_done(request.unread ? notifications_.mark_unread(user, request.notices)
                                      : notifications_.mark_read(user, request.notices));
    }
    case RequestOp::watch_add: {
      const Requests::Step step(requests_, request.asked, request.op);
      return only_done(notifications_.watch(request.watch));
    }
    case RequestOp::watch_remove: {
      const Requests::Step step(requests_, request.asked, request.op);
      return only_done(notifications_.unwatch(request.watch.user, std::span(&request.watch.id, 1)));
    }
  }
  return {};
}

StoreResult<void> RequestWork::add(const Request& request, const RequestRules& rules) {
  FeedSettings settings;
  if (const std::string remedy = change_all(settings, request, rules); !remedy.empty()) {
    return requests_.fail(request.asked, "bad_value", remedy);
  }
  if (const auto refusal = refusal_of(request.url, settings, rules)) {
    return requests_.fail(request.asked, refusal->reason, refusal->detail);
  }
  Asked asked = request.asked;
  NewFeed feed{request.url, Milliseconds(0), settings_json(settings), request.title};
  if (request.page != Request::Page::no) {
    const auto known = feeds_.is_registered(request.url);
    if (!known) return known.error();
    if (!*known) {
      const auto [page, is_new] = pages_.try_emplace(asked.id, Page{request.url, std::nullopt});
      if (!page->second.found) return {};  // until it is looked at
      const auto& [feeds, reason, detail] = *page->second.found;
      if (feeds.empty()) return requests_.fail(asked, reason, detail);
      if (feeds.size() > 1 && request.page != Request::Page::first) {
        asked.members += "\"feeds\":" + feeds_json(feeds) + ",";
        return requests_.fail(asked, "many_feeds", "the page has several feeds: add one, or use page first");
      }
      feed.feed_url = feeds.front().url;
    }
    if (const auto refusal = refusal_of(feed.feed_url, settings, rules)) {
      return requests_.fail(asked, refusal->reason, refusal->detail);
    }
    if (const auto its = elsewhere(feed.feed_url)) return requests_.fail(asked, its->reason, its->detail);
    asked.feed_url = feed.feed_url;
    asked.members += "\"feed\":" + json_string(feed.feed_url) + ",";
  }
  const Requests::Step step(requests_, asked, request.op);
  return only_done(feeds_.add(std::span(&feed, 1), request.channel, rules.config.schedule.import_rate));
}

StoreResult<void> RequestWork::remove(const Request& request, const std::string& note, InParts& parts) {
  const Requests::Step step(requests_, request.asked, request.op);
  // Once it has begun, what is a feed again by now was added by somebody else.
  return only_done(note.empty() ? feeds_.remove(request.url, parts) : feeds_.finish_removal(request.url, parts));
}

StoreResult<void> RequestWork::set(const Request& request, const RequestRules& rules) {
  for (;;) {  // again when somebody else has changed the settings meanwhile
    const auto records = feeds_.records(std::span(&request.url, 1));
    if (!records) return records.error();
    if (!records->front()) return requests_.fail(request.asked, "no_such_feed");
    const std::string& stored = records->front()->state.settings;
    const FeedSettings before = read_settings(stored);
    FeedSettings settings = before;
    if (const std::string remedy = change_all(settings, request, rules); !remedy.empty()) {
      return requests_.fail(request.asked, "bad_value", remedy);
    }
    const Requests::Step step(requests_, request.asked, request.op);
    const bool other_hub = changes_hub(before, settings);
    const auto changed = feeds_.change_settings(request.url, stored, settings_json(settings), other_hub);
    if (!changed) return changed.error();
    if (*changed != SettingsChange::outdated) return {};
  }
}

StoreResult<void> RequestWork::move(const Request& request, const RequestRules& rules) {
  if (!request.undo) {
    const auto records = feeds_.records(std::span(&request.url, 1));
    if (!records) return records.error();
    const FeedSettings settings = read_settings(records->front() ? records->front()->state.settings : "");
    if (const auto refusal = refusal_of(request.to, settings, rules)) {
      return requests_.fail(request.asked, refusal->reason, refusal->detail);
    }
  }
  MoveResult became = MoveResult::busy;
  while (became == MoveResult::busy) {
    const Requests::Step step(requests_, request.asked, request.op);
    const auto moved = request.undo ? feeds_.undo_move(request.url) : feeds_.move(request.url, request.to);
    if (!moved) return moved.error();
    became = *moved;
  }
  // What was seen before the script was called is not answered yet.
  if (became == MoveResult::same) return requests_.done(request.asked, "same");
  if (became == MoveResult::nothing) return requests_.fail(request.asked, "not_moved");
  if (became == MoveResult::unknown) {
    const auto told = requests_.fail(request.asked, "no_such_feed");
    return told || !Requests::is_in_other_hands(told.error()) ? told : StoreResult<void>();
  }
  return {};
}

StoreResult<void> RequestWork::follow(const Request& request) {
  const auto known = feeds_.is_registered(request.url);
  if (!known) return known.error();
  if (!*known) return requests_.fail(request.asked, "no_such_feed", "add it, with this channel in the same request");
  const Membership membership{request.channel, request.url};
  const Requests::Step step(requests_, request.asked, request.op);
  return only_done(channels_.follow(std::span(&membership, 1)));
}

StoreResult<void> RequestWork::unfollow(const Request& request, const std::string& note, InParts& parts) {
  bool was_in_it = !note.empty();
  {
    const Requests::Step step(requests_, request.asked, request.op);
    const auto removed = channels_.unfollow({request.channel, request.url}, parts);
    if (!removed) return removed.error();
    if (parts.ended_early || !*removed) return {};  // no such channel: answered
    was_in_it = was_in_it || **removed;
  }
  test_point("S17");
  return requests_.done(request.asked, was_in_it ? "unfollowed" : "not_followed");
}

StoreResult<void> RequestWork::remove_channel(const Request& request) {
  bool was_there = false;
  {
    const Requests::Step step(requests_, request.asked, request.op);
    const auto removed = channels_.remove(request.channel);
    if (!removed) return removed.error();
    was_there = *removed;
  }
  if (!was_there) return {};  // answered
  test_point("S17");
  return requests_.done(request.asked, "removed");
}

StoreResult<void> RequestWork::mark(const Request& request, const std::string& note, InParts& parts) {
  if (!request.entries.empty()) {
    std::vector<std::string> ids;
    for (const std::string& id : request.entries) ids.push_back(entries_.id_of(id));
    const Requests::Step step(requests_, request.asked, request.op);
    return only_done(request.unread ? channels_.mark_unread(request.channel, ids)
                                    : channels_.mark_read(request.channel, ids));
  }
  std::string up_to = note;  // what came since it was begun stays unread
  if (up_to.empty()) {
    auto highest = channels_.highest_score(request.channel);
    if (!highest) return highest.error();
    up_to = std::move(*highest);
  }
  const Requests::Step step(requests_, request.asked, request.op, up_to);
  return only_done(channels_.mark_read_up_to(request.channel, up_to, parts));
}

StoreResult<void> RequestWork::put_entry(const Request& request, const RequestRules& rules) {
  const auto records = feeds_.records(std::span(&request.url, 1));
  if (!records) return records.error();
  if (!records->front()) return requests_.fail(request.asked, "no_such_feed");
  const auto policy = read_settings(records->front()->state.settings).html_policy;
  const GivenMarkup markup{policy.value_or(rules.config.html.policy), rules.config.html.keep_class};
  Saved saved;
  {
    const Requests::Step step(requests_, request.asked, request.op);
    auto put =
        request.replace ? entries_.save(request.entry, markup) : entries_.update_or_create(request.entry, markup);
    if (!put) return put.error();
    saved = std::move(*put);
  }
  if (saved.result == Saved::Result::unchanged) {
    return requests_.done(request.asked, "unchanged", "\"id\":\"" + saved.id + "\",");
  }
  if (saved.result == Saved::Result::unfit) return requests_.fail(request.asked, "bad_value", visible(saved.detail));
  return {};
}

}  // namespace feedmill
