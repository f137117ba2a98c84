// What changes a channel that is of all partitions: each of them that has a part of it is asked for its own
// (RELIABILITY L31).
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "storage/records/json_member.hpp"
#include "storage/requests/requests.hpp"
#include "storage/store/partition.hpp"
#include "storage/timelines/channel_parts.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/api/api.hpp"
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

/// The bodies that mark the entries which `body` names, each for the partition that has them; nothing where it names
/// none.
std::map<unsigned, std::string> marks_by_partition(json::object body, unsigned count) {
  std::map<unsigned, json::array> shares;
  const json::value* const entries = body.if_contains("entries");
  if (entries == nullptr || !entries->is_array()) return {};
  for (const json::value& one : entries->get_array()) {
    const std::string id = one.is_string() ? std::string(one.get_string()) : json_text(one);
    shares[partition_of_entry(id, count)].push_back(one);
  }
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
  const auto found = co_await of_each<std::vector<bool>>(partitions_, call, look);
  if (!found) co_return found.error();
  const auto count = static_cast<unsigned>(partitions_.size());
  const unsigned home = home_of_channel(uids.front(), count);
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < uids.size(); ++i) {
    const bool is_somewhere = std::ranges::any_of(*found, [i](const auto& known) { return known[i]; });
    if (is_somewhere && !(*found)[home][i] && home_of_channel(uids[i], count) == home) missing.push_back(uids[i]);
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
  const auto count = static_cast<unsigned>(partitions_.size());
  const json::object body = object_in(visit.body());
  std::map<unsigned, std::string> bodies;  // by partition, what it is asked for
  if (route.op == "channel_add") {
    bodies[home_of_channel(string_member(body, "channel"), count)] = visit.body();
  } else if (route.op == "channel_order") {
    const std::vector<std::string> uids = channels_in(body);
    if (!uids.empty() && uids.size() <= most_channels_of_request) {
      const auto given = co_await give_places(call, uids);
      if (!given) co_return store_is_away(given.error());
    }
    bodies[uids.empty() ? 0 : home_of_channel(uids.front(), count)] = visit.body();
  } else {
    const auto known = co_await parts_with_channel(call, partitions_);
    if (!known) co_return store_is_away(known.error());
    const auto first = std::ranges::find(*known, true);
    if (first == known->end()) co_return problem("no_such_channel", "nothing of that name is there");
    if (route.op == "channel_mark") bodies = marks_by_partition(body, count);
    if (call.parameters.contains("url")) {
      const auto url = canonical_feed_url(call.get("url"));
      const unsigned its = url ? partition_of(*url, count) : static_cast<unsigned>(first - known->begin());
      if (url && route.op == "channel_unfollow" && !(*known)[its])
        co_return resource({{"channel", call.get("channel")}, {"url", *url}, {"result", "not_followed"}});
      bodies[its] = visit.body();
    }
    if (bodies.empty()) {
      for (unsigned partition = 0; partition < count; ++partition) {
        if ((*known)[partition]) bodies[partition] = visit.body();
      }
    }
  }
  const std::vector<std::pair<unsigned, std::string>> asked(bodies.begin(), bodies.end());
  std::vector<ApiReply> replies(asked.size());
  const auto ask = [&](std::size_t i) -> asio::awaitable<void> {
    const auto& [partition, its_body] = asked[i];
    replies[i] = co_await ask_partition(partition, route, call, visit.head(), its_body, place);
  };
  co_await at_once(executor_, asked.size(), ask);
  co_return together(replies);
}

}  // namespace feedmill
