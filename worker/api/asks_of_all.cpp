// Requests that concern all partitions: each one that has a part of the channel, rule or notices gets its own request
// (RELIABILITY L31, L32).
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "parsers/text/strings.hpp"
#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/queues/requests.hpp"
#include "storage/store/deployment.hpp"
#include "storage/store/partition.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "worker/api/api.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/json_text.hpp"
#include "worker/operations/families.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

/// Parses the body of a reply; empty if it is not a JSON object.
json::object object_in(const std::string& body) {
  boost::system::error_code error;
  const json::value value = json::parse(body, error);
  return error || !value.is_object() ? json::object() : value.get_object();
}

std::vector<std::string> picked(const std::vector<std::string>& all, const std::vector<std::size_t>& places) {
  std::vector<std::string> some;
  some.reserve(places.size());
  for (const std::size_t place : places) some.push_back(all[place]);
  return some;
}

/// Merges the replies of partitions: the first status except 200 and 404; else a 200 with the sum of `changed`; else
/// 404.
ApiReply together(const std::vector<ApiReply>& replies) {
  const auto unlike = [](const ApiReply& reply) { return reply.status != 200 && reply.status != 404; };
  const auto failed = std::ranges::find_if(replies, unlike);
  if (failed != replies.end()) return *failed;
  const auto done = std::ranges::find(replies, 200U, &ApiReply::status);
  if (done == replies.end()) return replies.front();
  std::int64_t changed = 0;
  for (const ApiReply& reply : replies) {
    const json::object told = object_in(reply.body);
    const json::value* const its = told.if_contains("changed");
    if (its != nullptr && its->is_int64()) changed += its->get_int64();
  }
  ApiReply all = *done;
  json::object told = object_in(all.body);
  if (!told.contains("changed")) return all;
  told["changed"] = changed;
  all.body = json_text(told) + "\n";
  return all;
}

}  // namespace

/// The partition of each entry. An id may contain it. A plain number is looked up in the partition that now assigns it,
/// then in all, because it may have been assigned when there were fewer partitions; if it is found nowhere, the first
/// is returned.
asio::awaitable<StoreResult<std::vector<unsigned>>> Api::partitions_with(const ApiCall& call,
                                                                         const std::vector<std::string>& entries) {
  const auto count = static_cast<unsigned>(partitions_.size());
  std::vector<unsigned> its;
  std::map<unsigned, std::vector<std::size_t>> sought;  // by the partition that assigns them
  for (const std::string& entry : entries) {
    const unsigned partition = partition_of_entry(entry, count);
    if (!partition_of_key(entry, count)) sought[partition].push_back(its.size());
    its.push_back(partition);
  }
  std::vector<std::size_t> lost;
  for (const auto& [partition, places] : sought) {
    const std::vector<std::string> names = picked(entries, places);
    const auto look = [&](Store& store) { return Entries(store).are_there(names); };
    const auto there = co_await partitions_[partition]->with_store(call.app, look);
    if (!there) co_return there.error();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!(*there)[i]) lost.push_back(places[i]);
    }
  }
  if (lost.empty()) co_return its;
  const std::vector<std::string> names = picked(entries, lost);
  const auto look = [&](Store& store) { return Entries(store).are_there(names); };
  const auto anywhere = co_await of_each(call, look);
  if (!anywhere) co_return anywhere.error();
  for (unsigned partition = 0; partition < count; ++partition) {
    for (std::size_t i = 0; i < lost.size(); ++i) {
      if ((*anywhere)[partition][i]) its[lost[i]] = partition;
    }
  }
  co_return its;
}

asio::awaitable<StoreResult<void>> Api::give_places(const ApiCall& call, const std::vector<std::string>& uids) {
  const auto look = [&](Store& store) -> StoreResult<std::vector<bool>> {
    std::vector<bool> known;
    known.reserve(uids.size());
    for (const std::string& uid : uids) known.push_back(answered(Channels(store).is_known(uid)));
    return known;
  };
  const unsigned home = home_of_channel(uids.front(), static_cast<unsigned>(partitions_.size()));
  const auto at_home = co_await partitions_[home]->with_store(call.app, look);
  if (!at_home) co_return at_home.error();
  if (std::ranges::find(*at_home, false) == at_home->end()) co_return StoreResult<void>();
  const auto found = co_await of_each(call, look);
  if (!found) co_return found.error();
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < uids.size(); ++i) {
    const bool is_somewhere = std::ranges::any_of(*found, [i](const auto& known) { return known[i]; });
    if (is_somewhere && !(*found)[home][i]) missing.push_back(uids[i]);
  }
  const auto add = [&](Store& store) { return Channels(store).add(missing); };
  const auto added = co_await partitions_[home]->with_store(call.app, add);
  if (!added) co_return added.error();
  co_return StoreResult<void>();
}

asio::awaitable<StoreResult<std::vector<bool>>> Api::parts_with_channel(const ApiCall& call) {
  const auto look = [&](Store& store) { return Channels(store).is_known(call.get("channel")); };
  co_return co_await of_each(call, look);
}

asio::awaitable<ApiReply> Api::ask_of_channel(const Given& given, const ApiCall& call, std::optional<Place>& place) {
  const auto count = static_cast<unsigned>(partitions_.size());
  const RequestOp op = given.operation->request;
  if (op == RequestOp::channel_follow) co_return co_await follow(given, call, place);
  if (op == RequestOp::channel_unfollow) co_return co_await unfollow(given, call, place);
  if (op == RequestOp::channel_mark) co_return co_await mark_channel(given, call, place);
  if (op == RequestOp::channel_add) {
    const unsigned home = home_of_channel(given.values.text("channel"), count);
    co_return co_await ask_partition(home, given, call, place);
  }
  if (op == RequestOp::channel_order) {
    const std::vector<std::string> uids = given.values.texts("channels");
    const auto home = [count](const std::string& uid) { return home_of_channel(uid, count); };
    if (std::ranges::adjacent_find(uids, std::ranges::not_equal_to(), home) != uids.end())
      co_return problem("bad_value", "channels: in a store with partitions, only of one user at a time");
    const auto placed = co_await give_places(call, uids);
    if (!placed) co_return store_is_away(placed.error());
    co_return co_await ask_partition(home(uids.front()), given, call, place);
  }
  // Ask all partitions: those without a part of the channel may have rules that watch it.
  std::vector<PartGiven> parts;
  for (unsigned partition = 0; partition < count; ++partition) parts.emplace_back(partition, given);
  co_return co_await ask_parts(parts, call, place);
}

asio::awaitable<ApiReply> Api::mark_channel(const Given& given, const ApiCall& call, std::optional<Place>& place) {
  const auto count = static_cast<unsigned>(partitions_.size());
  std::vector<PartGiven> parts;
  if (const auto entries = given.values.texts("entries"); !entries.empty()) {
    const auto its = co_await partitions_with(call, entries);
    if (!its) co_return store_is_away(its.error());
    std::map<unsigned, json::array> shares;
    for (std::size_t i = 0; i < entries.size(); ++i) shares[(*its)[i]].emplace_back(json::string(entries[i]));
    for (auto& [partition, share] : shares) {
      parts.emplace_back(partition, given);
      parts.back().second.values.put("entries", std::move(share));
    }
  } else if (const std::string url = given.values.text("url"); !url.empty()) {
    parts.emplace_back(partition_of(url, count), given);
  } else {
    const auto known = co_await parts_with_channel(call);
    if (!known) co_return store_is_away(known.error());
    // If the channel is gone, each partition can repeat its earlier answer to this key.
    const bool is_gone = std::ranges::find(*known, true) == known->end();
    for (unsigned partition = 0; partition < count; ++partition) {
      if (is_gone || (*known)[partition]) parts.emplace_back(partition, given);
    }
  }
  const ApiReply reply = co_await ask_parts(parts, call, place);
  const json::object nothing{{"result", "marked"}, {"changed", 0}};
  if (reply.status == 404) co_return co_await unless_known(call, reply, nothing);
  co_return reply;
}

/// Handles a 404 of partitions without a part of the channel: if another partition has the channel, the call was a
/// no-op and the reply is `instead`; else it is `unknown`.
asio::awaitable<ApiReply> Api::unless_known(const ApiCall& call, const ApiReply& unknown, json::object instead) {
  const auto known = co_await parts_with_channel(call);
  if (!known) co_return store_is_away(known.error());
  if (std::ranges::find(*known, true) == known->end()) co_return unknown;
  instead["channel"] = call.get("channel");
  co_return resource(instead);
}

asio::awaitable<ApiReply> Api::follow(const Given& given, const ApiCall& call, std::optional<Place>& place) {
  const auto count = static_cast<unsigned>(partitions_.size());
  const unsigned home = home_of_channel(given.values.text("channel"), count);
  const unsigned its = partition_of(given.values.text("url"), count);
  // The feed's partition would create a missing channel, so check first that it exists: probably at its home or there.
  const auto look = [&](Store& store) { return Channels(store).is_known(call.get("channel")); };
  StoreResult<bool> known = co_await partitions_[home]->with_store(call.app, look);
  if (known && !*known && its != home) known = co_await partitions_[its]->with_store(call.app, look);
  if (known && !*known) {
    const auto parts = co_await parts_with_channel(call);
    known = parts ? StoreResult<bool>(std::ranges::find(*parts, true) != parts->end()) : parts.error();
  }
  if (!known) co_return store_is_away(known.error());
  if (!*known) {
    const auto look_again = [&](Store& store) { return RequestStream(store).answer(call.app, given.key); };
    const auto answer = co_await partitions_[its]->with_store(call.app, look_again);
    if (!answer) co_return store_is_away(answer.error());
    if (!*answer) co_return problem("no_such_channel", "no such channel");
  }
  co_return co_await ask_partition(its, given, call, place);
}

asio::awaitable<ApiReply> Api::unfollow(const Given& given, const ApiCall& call, std::optional<Place>& place) {
  const std::string url = given.values.text("url");
  const unsigned its = partition_of(url, static_cast<unsigned>(partitions_.size()));
  const ApiReply reply = co_await ask_partition(its, given, call, place);
  if (reply.status != 404) co_return reply;
  const json::object nothing{{"result", "not_followed"}, {"url", url}};
  co_return co_await unless_known(call, reply, nothing);
}

asio::awaitable<ApiReply> Api::ask_of_user(const Given& given, const ApiCall& call, std::optional<Place>& place) {
  const RequestOp op = given.operation->request;
  if (op == RequestOp::watch_add) co_return co_await add_rule(given, call, place);
  if (op == RequestOp::watch_remove) co_return co_await remove_rule(given, call, place);
  std::vector<PartGiven> parts;
  for (unsigned partition = 0; partition < partitions_.size(); ++partition) parts.emplace_back(partition, given);
  co_return co_await ask_parts(parts, call, place);
}

asio::awaitable<ApiReply> Api::add_rule(const Given& given, const ApiCall& call, std::optional<Place>& place) {
  const auto count = static_cast<unsigned>(partitions_.size());
  const Watch rule = rule_of(given.values);
  const unsigned home = home_of_user(rule.user, count);
  // The home partition enforces the limit on rules and assigns the id.
  const ApiReply first = co_await ask_partition(home, given, call, place);
  if (first.status != 200 && first.status != 202) co_return first;
  std::vector<PartGiven> parts;
  for (const unsigned copy : copies_of_rule(rule, count)) parts.emplace_back(copy, given);
  const ApiReply others = co_await ask_parts(parts, call, place);
  if (others.status != 200) co_return others;
  if (first.status != 200) co_return first;
  // A concurrent removal may have removed the rule at home before we added the copies; restore it.
  const auto make_whole = [&](Store& store) { return Notifications(store).watch(rule); };
  const auto is_whole = co_await partitions_[home]->with_store(call.app, make_whole);
  if (!is_whole) co_return store_is_away(is_whole.error());
  co_return first;
}

asio::awaitable<ApiReply> Api::remove_rule(const Given& given, const ApiCall& call, std::optional<Place>& place) {
  const auto count = static_cast<unsigned>(partitions_.size());
  const std::string user = given.values.text("user");
  const std::string id = std::to_string(given.values.number("id", 0));
  const unsigned home = home_of_user(user, count);
  const auto read = [&](Store& store) { return Notifications(store).watches(user); };
  const auto all = co_await of_each(call, read);
  if (!all) co_return store_is_away(all.error());
  std::vector<PartGiven> parts;
  const auto rule = std::ranges::find((*all)[home], id, &Watch::id);
  const bool is_there = rule != (*all)[home].end();
  for (const unsigned copy : is_there ? copies_of_rule(*rule, count) : std::vector<unsigned>()) {
    const auto same = [&](const Watch& one) { return is_same_rule(one, *rule); };
    const auto its = std::ranges::find_if((*all)[copy], same);
    if (its == (*all)[copy].end()) continue;
    parts.emplace_back(copy, given);
    parts.back().second.values.put("id", leading_number<std::int64_t>(its->id));
  }
  const ApiReply copies = co_await ask_parts(parts, call, place);
  const bool are_gone = copies.status == 200 || copies.status == 404 || copies.status == 202;
  if (!are_gone) co_return copies;
  const ApiReply last = co_await ask_partition(home, given, call, place);  // last: a failed removal can be repeated
  if (!is_there || last.status != 200) co_return last;
  // A concurrent addition may have added copies after we removed ours; unless the rule is at home again, remove them.
  const auto still = co_await of_each(call, read);
  if (!still) co_return store_is_away(still.error());
  const auto same = [&](const Watch& one) { return is_same_rule(one, *rule); };
  if (std::ranges::any_of((*still)[home], same)) co_return last;
  const auto sweep = [&](const Deployment& stores) -> StoreResult<bool> {
    for (unsigned partition = 0; partition < count; ++partition) {
      const auto its = std::ranges::find_if((*still)[partition], same);
      if (its == (*still)[partition].end()) continue;
      answered(Notifications(stores.home(partition)).unwatch(user, std::span(&its->id, 1)));
    }
    return true;
  };
  const auto swept = co_await ask_desk(all_desk(), call.app, sweep);
  if (!swept) co_return store_is_away(swept.error());
  co_return last;
}

asio::awaitable<std::optional<ApiReply>> Api::refuse_taken(const Given& given, const ApiCall& call,
                                                           unsigned partition) {
  const std::string target = given.values.text("to");
  const unsigned its = target.empty() ? partition : partition_of(target, static_cast<unsigned>(partitions_.size()));
  if (its == partition) co_return std::nullopt;
  const auto look = [&](Store& store) { return Feeds(store).is_registered(target); };
  const auto is_feed = co_await partitions_[its]->with_store(call.app, look);
  if (!is_feed) co_return store_is_away(is_feed.error());
  if (!*is_feed) co_return std::nullopt;
  const auto look_again = [&](Store& store) { return RequestStream(store).answer(call.app, given.key); };
  const auto answer = co_await partitions_[partition]->with_store(call.app, look_again);
  if (!answer) co_return store_is_away(answer.error());
  if (*answer) co_return std::nullopt;  // a repeated call, answered before the other feed was added
  co_return problem("taken", "the new URL is a feed of its own");
}

asio::awaitable<ApiReply> Api::ask_parts(const std::vector<PartGiven>& parts, const ApiCall& call,
                                         std::optional<Place>& place) {
  std::vector<ApiReply> replies(parts.size());
  const auto ask = [&](std::size_t i) -> asio::awaitable<void> {
    replies[i] = co_await ask_partition(parts[i].first, parts[i].second, call, place);
  };
  co_await at_once(executor_, parts.size(), ask);
  co_return replies.empty() ? ApiReply() : together(replies);
}

}  // namespace feedmill
