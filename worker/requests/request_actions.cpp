#include "worker/requests/request_actions.hpp"

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

namespace feedmill {
namespace {

constexpr std::size_t longest_offer = 200;  // title of a feed that a page offers

/// What a call of the store came to, its value apart.
template <class T>
StoreResult<void> only_done(const StoreResult<T>& result) {
  if (!result) return result.error();
  return {};
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

/// Why no request would be sent to an address; none is found of names, which are looked up when they are fetched.
std::optional<RequestProblem> refusal_of(const std::string& url, const FeedSettings& settings,
                                         const RequestRules& rules) {
  const EgressView view = rules.egress.of_text({url, settings});
  if (view.verdict != EgressView::Verdict::refused) return {};
  return RequestProblem{"refused_address", visible(view.reason + ": " + view.detail)};
}

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

bool is_one_step(const Request& request) {
  const bool marks_all = request.op == RequestOp::channel_mark && request.entries.empty();
  return Requests::is_one_step(request.op) && !marks_all && request.page == Request::Page::no;
}

std::optional<RequestProblem> RequestActions::elsewhere(const std::string& feed_url) const {
  const auto its = feed_url.empty() ? std::nullopt : store_.elsewhere(feed_url);
  if (!its) return {};
  return RequestProblem{"bad_value", fmt::format("partition {} has {}; ask there", *its, visible(feed_url))};
}

/// All rules of a user stand at home, those that watch feeds of other partitions, too (RELIABILITY L32).
bool RequestActions::is_rule_at_home(const Request& request) const {
  const Partition& here = store_.partition();
  return request.op == RequestOp::watch_add && home_of_user(request.watch.user, here.count) == here.index;
}

StoreResult<void> RequestActions::carry_out(const Request& request, const std::string& note, InParts& parts,
                                            const RequestRules& rules, const PageOf& page) {
  const auto problem = request.problem || is_rule_at_home(request) ? request.problem : elsewhere(request.url);
  if (problem) return requests_.fail(request.asked, problem->reason, problem->detail);
  return change(request, note, parts, rules, page);
}

StoreResult<void> RequestActions::change(const Request& request, const std::string& note, InParts& parts,
                                         const RequestRules& rules, const PageOf& page) {
  const std::span<const std::string> one(&request.url, 1);
  switch (request.op) {
    case RequestOp::add:
      return add(request, rules, page);
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

StoreResult<void> RequestActions::add(const Request& request, const RequestRules& rules, const PageOf& page_of) {
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
      const FoundPage* const found = page_of(request);
      if (found == nullptr) return {};
      const auto& [feeds, reason, detail] = *found;
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

StoreResult<void> RequestActions::remove(const Request& request, const std::string& note, InParts& parts) {
  const Requests::Step step(requests_, request.asked, request.op);
  // Once it has begun, what is a feed again by now was added by somebody else.
  return only_done(note.empty() ? feeds_.remove(request.url, parts) : feeds_.finish_removal(request.url, parts));
}

StoreResult<void> RequestActions::set(const Request& request, const RequestRules& rules) {
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

StoreResult<void> RequestActions::move(const Request& request, const RequestRules& rules) {
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

StoreResult<void> RequestActions::follow(const Request& request) {
  const auto known = feeds_.is_registered(request.url);
  if (!known) return known.error();
  if (!*known) return requests_.fail(request.asked, "no_such_feed", "add it, with this channel in the same request");
  const Membership membership{request.channel, request.url};
  const Requests::Step step(requests_, request.asked, request.op);
  return only_done(channels_.follow(std::span(&membership, 1)));
}

StoreResult<void> RequestActions::unfollow(const Request& request, const std::string& note, InParts& parts) {
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

StoreResult<void> RequestActions::remove_channel(const Request& request) {
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

StoreResult<void> RequestActions::mark(const Request& request, const std::string& note, InParts& parts) {
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

StoreResult<void> RequestActions::put_entry(const Request& request, const RequestRules& rules) {
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
