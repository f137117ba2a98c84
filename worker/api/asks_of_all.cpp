// What is asked for of all partitions together: each that has a part of a channel, a rule or a list of notices is asked
// for its own (RELIABILITY L31, L32).
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "storage/entries/entries.hpp"
#include "storage/records/json_member.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/requests/requests.hpp"
#include "storage/store/partition.hpp"
#include "storage/timelines/channel_parts.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/notice_parts.hpp"
#include "worker/api/api.hpp"
#include "worker/api/asks.hpp"
#include "worker/base/at_once.hpp"
#include "worker/base/json_text.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/requests/read_request.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

/// Empty where a body is no object: whoever is asked says so.
json::object object_in(const std::string& body) {
  boost::system::error_code error;
  const json::value value = json::parse(body, error);
  return error || !value.is_object() ? json::object() : value.get_object();
}

/// The names in its member `channels`.
std::vector<std::string> channels_in(const json::object& body) {
  std::vector<std::string> names;
  const json::value* const list = body.if_contains("channels");
  if (list == nullptr || !list->is_array()) return names;
  for (const json::value& one : list->get_array()) {
    if (one.is_string()) names.emplace_back(one.get_string());
  }
  return names;
}

/// The entries that `body` names, where that is a request which can be carried out; else whoever is asked says why not.
std::vector<std::string> entries_in(const json::object& body) {
  const json::value* const entries = body.if_contains("entries");
  if (entries == nullptr || !entries->is_array() || entries->get_array().size() > most_entries_of_request) return {};
  std::vector<std::string> ids;
  for (const json::value& one : entries->get_array()) {
    ids.push_back(one.is_string() ? std::string(one.get_string()) : json_text(one));
    if (!is_entry_id(ids.back())) return {};
  }
  return ids;
}

/// The bodies that mark the entries of `body`, each for the partition that has them: one for each entry.
std::map<unsigned, std::string> marks_by_partition(json::object body, const std::vector<unsigned>& partitions) {
  const json::array entries = body.at("entries").as_array();
  std::map<unsigned, json::array> shares;
  for (std::size_t i = 0; i < partitions.size(); ++i) shares[partitions[i]].push_back(entries[i]);
  std::map<unsigned, std::string> bodies;
  for (auto& [partition, share] : shares) {
    body["entries"] = std::move(share);
    bodies[partition] = json::serialize(body);
  }
  return bodies;
}

/// What the parts have answered, as one: the first that was not done, else how much changed in all.
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

/// Which partition has each of these entries: what its id says; else where one of that number is, first where it was
/// given out, unless that was before there were as many partitions; else that.
asio::awaitable<StoreResult<std::vector<unsigned>>> Api::partitions_with(const ApiCall& call,
                                                                         const std::vector<std::string>& entries) {
  const auto count = static_cast<unsigned>(partitions_.size());
  std::vector<unsigned> its;
  std::map<unsigned, std::vector<std::size_t>> sought;  // by where they were given out
  for (const std::string& entry : entries) {
    const unsigned partition = partition_of_entry(entry, count);
    if (!partition_of_key(entry, count)) sought[partition].push_back(its.size());
    its.push_back(partition);
  }
  std::vector<Api*> parts;
  std::vector<std::vector<std::string>> names;
  for (const auto& [partition, places] : sought) {
    parts.push_back(partitions_[partition]);
    names.emplace_back();
    for (const std::size_t place : places) names.back().push_back(entries[place]);
  }
  const auto look = [&](const ApiReading& reading, std::size_t part) {
    return Entries(reading.store).are_there(names[part]);
  };
  const auto at_home = co_await of_each<std::vector<bool>>(parts, call, look);
  if (!at_home) co_return at_home.error();
  std::vector<std::size_t> lost;
  std::size_t part = 0;
  for (const auto& [partition, places] : sought) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!(*at_home)[part][i]) lost.push_back(places[i]);
    }
    ++part;
  }
  if (lost.empty()) co_return its;
  names.assign(count, {});
  for (auto& of_one : names) {
    for (const std::size_t place : lost) of_one.push_back(entries[place]);
  }
  const auto anywhere = co_await of_each<std::vector<bool>>(partitions_, call, look);
  if (!anywhere) co_return anywhere.error();
  for (unsigned partition = 0; partition < count; ++partition) {
    for (std::size_t i = 0; i < lost.size(); ++i) {
      if ((*anywhere)[partition][i]) its[lost[i]] = partition;
    }
  }
  co_return its;
}

asio::awaitable<StoreResult<void>> Api::give_places(const ApiCall& call, const std::vector<std::string>& uids) {
  const auto look = [&](const ApiReading& reading, std::size_t) -> StoreResult<std::vector<bool>> {
    std::vector<bool> known;
    for (const std::string& uid : uids) {
      const auto its = Channels(reading.store).is_known(uid);
      if (!its) return its.error();
      known.push_back(*its);
    }
    return known;
  };
  const auto count = static_cast<unsigned>(partitions_.size());
  const unsigned home = home_of_channel(uids.front(), count);
  const auto at_home = co_await of_each<std::vector<bool>>(Parts(&partitions_[home], 1), call, look);
  if (!at_home) co_return at_home.error();
  if (std::ranges::find(at_home->front(), false) == at_home->front().end()) co_return StoreResult<void>();
  const auto found = co_await of_each<std::vector<bool>>(partitions_, call, look);
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

asio::awaitable<ApiReply> Api::ask_of_channel(const ApiRoute& route, const ApiCall& call, Visit& visit,
                                              std::optional<Place>& place) {
  if (auto refused = co_await read_body(visit, longest_request)) co_return *refused;
  if (visit.gone()) co_return ApiReply();
  if (call.parameters.contains("url")) co_return co_await ask_of_membership(route, call, visit, place);
  if (route.op == "channel_mark") co_return co_await mark_channel(route, call, visit, place);
  const auto count = static_cast<unsigned>(partitions_.size());
  const json::object body = object_in(visit.body());
  std::vector<PartAsk> parts;
  if (route.op == "channel_add") {
    parts.push_back({home_of_channel(string_member(body, "channel"), count), call, visit.body()});
  } else if (route.op == "channel_order") {
    const std::vector<std::string> uids = channels_in(body);
    const auto home = [count](const std::string& uid) { return home_of_channel(uid, count); };
    if (std::ranges::adjacent_find(uids, std::ranges::not_equal_to(), home) != uids.end())
      co_return problem("bad_value", "channels: in a store with partitions, only of one user at a time");
    if (!uids.empty() && uids.size() <= most_channels_of_request) {
      const auto given = co_await give_places(call, uids);
      if (!given) co_return store_is_away(given.error());
    }
    parts.push_back({uids.empty() ? 0 : home_of_channel(uids.front(), count), call, visit.body()});
  } else {
    // Each: rules that watch a channel are in partitions, too, that have nothing else of it.
    for (unsigned partition = 0; partition < count; ++partition) parts.push_back({partition, call, visit.body()});
  }
  co_return co_await ask_parts(route, parts, visit.head(), place);
}

asio::awaitable<ApiReply> Api::mark_channel(const ApiRoute& route, const ApiCall& call, Visit& visit,
                                            std::optional<Place>& place) {
  const auto count = static_cast<unsigned>(partitions_.size());
  std::vector<PartAsk> parts;
  const json::object marks = object_in(visit.body());
  if (const std::vector<std::string> entries = entries_in(marks); !entries.empty()) {
    const auto its = co_await partitions_with(call, entries);
    if (!its) co_return store_is_away(its.error());
    for (auto& [partition, body] : marks_by_partition(marks, *its)) parts.push_back({partition, call, body});
  } else {
    const auto known = co_await parts_with_channel(call, partitions_);
    if (!known) co_return store_is_away(known.error());
    // Where it is gone, each tells what it has answered to this key before.
    const bool is_gone = std::ranges::find(*known, true) == known->end();
    for (unsigned partition = 0; partition < count; ++partition) {
      if (is_gone || (*known)[partition]) parts.push_back({partition, call, visit.body()});
    }
  }
  const ApiReply reply = co_await ask_parts(route, parts, visit.head(), place);
  const json::object nothing{{"result", "marked"}, {"changed", 0}};
  if (reply.status == 404) co_return co_await unless_known(call, reply, nothing);
  co_return reply;
}

/// Where a partition has no part of a channel that is there, nothing of it was there either.
asio::awaitable<ApiReply> Api::unless_known(const ApiCall& call, const ApiReply& unknown, json::object instead) {
  const auto known = co_await parts_with_channel(call, partitions_);
  if (!known) co_return store_is_away(known.error());
  if (std::ranges::find(*known, true) == known->end()) co_return unknown;
  instead["channel"] = call.get("channel");
  co_return resource(instead);
}

asio::awaitable<ApiReply> Api::ask_of_membership(const ApiRoute& route, const ApiCall& call, Visit& visit,
                                                 std::optional<Place>& place) {
  const auto count = static_cast<unsigned>(partitions_.size());
  const unsigned home = home_of_channel(call.get("channel"), count);
  const auto url = canonical_feed_url(call.get("url"));
  const unsigned its = url ? partition_of(*url, count) : home;
  if (url && route.op == "channel_follow") {
    // It would be made there.
    Api* const likely[] = {partitions_[home], partitions_[its]};
    auto known = co_await parts_with_channel(call, likely);
    const bool is_likely = known && std::ranges::find(*known, true) != known->end();
    if (!is_likely) known = co_await parts_with_channel(call, partitions_);
    if (!known) co_return store_is_away(known.error());
    if (std::ranges::find(*known, true) == known->end()) {
      const std::string key = key_in(visit.head()["Idempotency-Key"]);
      const auto look = [&](Store& store) { return RequestStream(store).answer(call.app, key); };
      const auto answer = co_await partitions_[its]->with_store(call.app, look);
      if (!answer) co_return store_is_away(answer.error());
      if (!*answer) co_return problem("no_such_channel", "no such channel");
    }
  }
  const ApiReply reply = co_await ask_partition(its, route, call, visit.head(), visit.body(), place);
  if (!url || route.op != "channel_unfollow" || reply.status != 404) co_return reply;
  const json::object nothing{{"result", "not_followed"}, {"url", *url}};
  co_return co_await unless_known(call, reply, nothing);
}

asio::awaitable<ApiReply> Api::ask_of_user(const ApiRoute& route, const ApiCall& call, Visit& visit,
                                           std::optional<Place>& place) {
  if (auto refused = co_await read_body(visit, longest_request)) co_return *refused;
  if (visit.gone()) co_return ApiReply();
  if (route.op == "watch_remove") co_return co_await remove_rule(route, call, visit.head(), place);
  const auto count = static_cast<unsigned>(partitions_.size());
  std::vector<PartAsk> parts;
  if (route.op == "notice_mark") {
    for (unsigned partition = 0; partition < count; ++partition) parts.push_back({partition, call, visit.body()});
    co_return co_await ask_parts(route, parts, visit.head(), place);
  }
  co_return co_await add_rule(route, call, visit, place);
}

asio::awaitable<ApiReply> Api::add_rule(const ApiRoute& route, const ApiCall& call, Visit& visit,
                                        std::optional<Place>& place) {
  const auto count = static_cast<unsigned>(partitions_.size());
  const unsigned home = home_of_user(call.get("user"), count);
  // It says whether the rule makes sense and is one too many, and gives the id.
  const ApiReply first = co_await ask_partition(home, route, call, visit.head(), visit.body(), place);
  if (first.status != 200 && first.status != 202) co_return first;
  const json::object body = object_in(visit.body());
  Watch rule{call.get("user"), "", Watch::Kind::words, std::string(string_member(body, "words"))};
  if (const auto url = canonical_feed_url(string_member(body, "url")))
    rule = {rule.user, "", Watch::Kind::feed, *url};
  else if (const std::string_view channel = string_member(body, "channel"); !channel.empty())
    rule = {rule.user, "", Watch::Kind::channel, std::string(channel)};
  std::vector<PartAsk> parts;
  for (const unsigned copy : copies_of_rule(rule, count)) parts.push_back({copy, call, visit.body()});
  const ApiReply others = co_await ask_parts(route, parts, visit.head(), place);
  if (others.status != 200) co_return others;
  if (first.status != 200) co_return first;
  // Whoever removes it meanwhile may have been at home before, and elsewhere after us.
  const auto make_whole = [&](Store& store) { return Notifications(store).watch(rule); };
  const auto is_whole = co_await partitions_[home]->with_store(call.app, make_whole);
  if (!is_whole) co_return store_is_away(is_whole.error());
  co_return first;
}

asio::awaitable<ApiReply> Api::remove_rule(const ApiRoute& route, const ApiCall& call, const Visit::Header& head,
                                           std::optional<Place>& place) {
  const auto count = static_cast<unsigned>(partitions_.size());
  const std::string& user = call.get("user");
  const unsigned home = home_of_user(user, count);
  const auto read = [&](const ApiReading& reading, std::size_t) { return Notifications(reading.store).watches(user); };
  const auto all = co_await of_each<std::vector<Watch>>(partitions_, call, read);
  if (!all) co_return store_is_away(all.error());
  std::vector<PartAsk> parts;
  const auto rule = std::ranges::find((*all)[home], call.item, &Watch::id);
  const bool is_there = rule != (*all)[home].end();
  for (const unsigned copy : is_there ? copies_of_rule(*rule, count) : std::vector<unsigned>()) {
    const auto same = [&](const Watch& one) { return is_same_rule(one, *rule); };
    const auto its = std::ranges::find_if((*all)[copy], same);
    if (its == (*all)[copy].end()) continue;
    parts.push_back({copy, call, ""});
    parts.back().call.item = its->id;
  }
  const ApiReply copies = co_await ask_parts(route, parts, head, place);
  const bool are_gone = copies.status == 200 || copies.status == 404 || copies.status == 202;
  if (!are_gone) co_return copies;
  const ApiReply last = co_await ask_partition(home, route, call, head, "", place);  // until then it can be repeated
  if (!is_there || last.status != 200) co_return last;
  // Whoever adds it meanwhile may have been at home before, and elsewhere after us.
  const auto still = co_await of_each<std::vector<Watch>>(partitions_, call, read);
  if (!still) co_return store_is_away(still.error());
  const auto same = [&](const Watch& one) { return is_same_rule(one, *rule); };
  if (std::ranges::any_of((*still)[home], same)) co_return last;
  const auto sweep = [&](const ApiReading& reading, std::size_t part) -> StoreResult<std::size_t> {
    const auto its = std::ranges::find_if((*still)[part], same);
    if (its == (*still)[part].end()) return std::size_t{0};
    return Notifications(reading.store).unwatch(user, std::span(&its->id, 1));
  };
  const auto swept = co_await of_each<std::size_t>(partitions_, call, sweep);
  if (!swept) co_return store_is_away(swept.error());
  co_return last;
}

asio::awaitable<ApiReply> Api::ask_parts(const ApiRoute& route, const std::vector<PartAsk>& parts,
                                         const Visit::Header& head, std::optional<Place>& place) {
  std::vector<ApiReply> replies(parts.size());
  const auto ask = [&](std::size_t i) -> asio::awaitable<void> {
    replies[i] = co_await ask_partition(parts[i].partition, route, parts[i].call, head, parts[i].body, place);
  };
  co_await at_once(executor_, parts.size(), ask);
  co_return replies.empty() ? ApiReply() : together(replies);
}

}  // namespace feedmill
