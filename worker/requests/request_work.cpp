#include "worker/requests/request_work.hpp"

#include <utility>

#include "storage/redis/test_point.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/config/usable_names.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {
namespace {

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

/// Carries out the changes of a request on `settings`; what is wrong with them, "" when nothing is.
std::string change_all(FeedSettings& settings, const Request& request, const RequestRules& rules) {
  const FeedSettings before = settings;
  std::string remedy;
  for (const std::string& change : request.settings) {
    if (remedy.empty()) remedy = change_setting(settings, change);
  }
  if (remedy.empty()) remedy = check_settings(settings);
  if (remedy.empty()) remedy = unusable_names(rules.config, before, settings);
  return remedy;
}

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
  const auto taken = requests_.take();
  if (!taken) return taken.error();
  step.waiting = taken->waiting;
  holding_ = !taken->waiting;
  for (const RequestRecord& record : taken->records) {
    if (cancelled()) break;
    const Request request = read_request(record);
    if (const auto done = work_on(request, rules, step); !done) return done.error();
  }
  return step;
}

StoreResult<void> RequestWork::let_go() {
  if (!std::exchange(holding_, false)) return {};
  return requests_.let_go();
}

StoreResult<void> RequestWork::work_on(const Request& request, const RequestRules& rules, RequestStep& step) {
  const auto begun = requests_.begin(request.asked);
  if (!begun) return begun.error();
  if (begun->state == Begun::State::gone) return {};
  ++step.answered;
  if (begun->state == Begun::State::poison) ++step.poison;
  if (begun->state != Begun::State::go) return {};
  test_point("S17");
  auto done = request.problem ? requests_.fail(request.asked, request.problem->reason, request.problem->detail)
                              : carry_out(request, begun->note, rules);
  if (!done && Requests::is_in_other_hands(done.error())) {
    --step.answered;
    return {};
  }
  // A key of the wrong type, say, would refuse it every time, and those behind it would wait for ever.
  if (!done && !is_transient(done.error())) {
    done = requests_.fail(request.asked, "store_refused", visible(done.error().detail));
  }
  if (!done) {  // the store went; that is nobody's death
    (void)requests_.release(request.asked);
    return done;
  }
  test_point("S18");
  return {};
}

StoreResult<void> RequestWork::carry_out(const Request& request, const std::string& note, const RequestRules& rules) {
  const std::span<const std::string> one(&request.url, 1);
  switch (request.op) {
    case RequestOp::add:
      return add(request, rules);
    case RequestOp::remove:
      return remove(request, note);
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
      return unfollow(request, note);
    case RequestOp::channel_mark:
      return mark(request, note);
    case RequestOp::entry_put:
      return put_entry(request, rules);
    case RequestOp::entry_remove: {
      const Requests::Step step(requests_, request.asked, request.op);
      const std::string id = entries_.id_of(request.entries.front());
      const auto removed = entries_.remove(id);
      if (!removed) return removed.error();
      return {};
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
  const NewFeed feed{request.url, Milliseconds(0), settings_json(settings), request.title};
  const Requests::Step step(requests_, request.asked, request.op);
  return only_done(feeds_.add(std::span(&feed, 1), request.channel));
}

StoreResult<void> RequestWork::remove(const Request& request, const std::string& note) {
  const Requests::Step step(requests_, request.asked, request.op);
  // Once it has begun, what is a feed again by now was added by somebody else.
  return only_done(note.empty() ? feeds_.remove(request.url) : feeds_.finish_removal(request.url));
}

StoreResult<void> RequestWork::set(const Request& request, const RequestRules& rules) {
  for (;;) {  // again when somebody else has changed the settings meanwhile
    const auto records = feeds_.records(std::span(&request.url, 1));
    if (!records) return records.error();
    if (!records->front()) return requests_.fail(request.asked, "no_such_feed");
    const std::string& stored = records->front()->state.settings;
    FeedSettings settings = read_settings(stored);
    if (const std::string remedy = change_all(settings, request, rules); !remedy.empty()) {
      return requests_.fail(request.asked, "bad_value", remedy);
    }
    const Requests::Step step(requests_, request.asked, request.op);
    const auto changed = feeds_.change_settings(request.url, stored, settings_json(settings));
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

StoreResult<void> RequestWork::unfollow(const Request& request, const std::string& note) {
  bool was_in_it = !note.empty();
  {
    const Requests::Step step(requests_, request.asked, request.op);
    const auto removed = channels_.unfollow({request.channel, request.url});
    if (!removed) return removed.error();
    if (!*removed) return {};  // no such channel: answered
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

StoreResult<void> RequestWork::mark(const Request& request, const std::string& note) {
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
  return only_done(channels_.mark_read_up_to(request.channel, up_to));
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
