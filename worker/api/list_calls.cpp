// Lists of subscriptions over HTTP: import and export, part by part.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/timelines/channel_parts.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/api/api.hpp"
#include "worker/base/terminal.hpp"
#include "worker/lists/export.hpp"
#include "worker/lists/import.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

/// Makes the channels that a list needs, in its order, which no partition sees whole (RELIABILITY L31).
void make_channels(const Deployment& all, const SubscriptionList& list, const std::string& user) {
  const auto count = static_cast<unsigned>(all.stores().size());
  std::map<unsigned, std::vector<std::string>> by_home;
  for (const std::string& uid : channels_in({list.feeds.begin(), list.feeds.end()}, user))
    by_home[home_of_channel(uid, count)].push_back(uid);
  for (const auto& [home, uids] : by_home) answered(Channels(all.home(home)).add(uids));
}

constexpr std::size_t longest_list = std::size_t{2} << 20U;  // reading it takes 36 MiB at most
constexpr std::size_t most_told = 100;                       // rows of a list that are no feeds
constexpr std::chrono::minutes longest_export{10};

}  // namespace

/// A list of subscriptions by the code of `feedmill import`, part by part: others are answered in between.
asio::awaitable<ApiReply> Api::import(const ApiCall& call, Visit& visit, Desk& desk) {
  const std::string& user = call.get("user");
  const std::string_view unfit = call.parameters.contains("user") ? unfit_new_user(user) : std::string_view();
  if (!unfit.empty()) co_return problem("bad_parameter", fmt::format("user: {}", unfit));
  if (importing_) co_return problem("busy", "another import is running");
  importing_ = true;
  struct Ended {
    bool& importing;
    ~Ended() { importing = false; }
  };
  const Ended ended{importing_};
  if (auto refused = co_await read_body(visit, longest_list)) co_return *refused;
  if (visit.gone()) co_return ApiReply();
  MemoryBudget::Share held(memory_, 0);
  held.hold(limits::reading_cost(visit.body().size()));
  const auto read = [&] { return read_subscriptions(visit.body()); };
  SubscriptionList read_list = co_await run_on(own_.calls, read);
  const auto begin_all = [&](const Deployment& all) -> StoreResult<bool> {
    // All of them answer before anything is added.
    const auto there = all.each([](Store& store) { return store.now(); });
    if (!there) return there.error();
    if (all.stores().size() > 1) make_channels(all, read_list, user);
    return true;
  };
  const auto begun = co_await ask_desk(desk, call.app, begin_all);
  if (!begun) co_return store_is_away(begun.error());
  std::size_t added = 0, feeds = 0;
  for (Store* const store : desk.deployment.stores()) {
    const auto choose = [&] { return share_of(*store, read_list); };
    const SubscriptionList list = co_await run_on(desk.calls, choose);
    feeds += list.feeds.size();
    for (std::size_t begin = 0; begin < list.feeds.size();) {
      const SubscriptionBatch batch = next_batch(list.feeds, begin);
      const auto put = [&](const Deployment&) -> StoreResult<std::size_t> {
        const auto is_new = add_batch(*store, batch, list, added, import_rate_);
        if (!is_new) return is_new.error();
        const auto followed = put_into_channels(*store, batch, user);
        if (!followed) return followed.error();
        return static_cast<std::size_t>(std::count(is_new->begin(), is_new->end(), true));
      };
      const auto done = co_await ask_desk(desk, call.app, put);
      if (!done) co_return store_is_away(done.error());
      added += *done;
      begin += batch.size();
    }
  }
  boost::json::array refused;
  const auto tell = [&](const RefusedRow& row) {
    if (refused.size() >= most_told) return;
    refused.push_back({{"line", row.line}, {"text", visible(row.text)}, {"detail", visible(row.reason)}});
  };
  std::ranges::for_each(read_list.broken, tell);
  std::ranges::for_each(read_list.refused, tell);
  boost::json::object row{{"result", "imported"},
                          {"added", added},
                          {"present", feeds - added},
                          {"refused", read_list.refused.size() + read_list.broken.size()},
                          {"rows", std::move(refused)}};
  if (!read_list.feeds.empty()) row["elsewhere"] = read_list.feeds.size();  // of other partitions
  co_return resource(row);
}

/// All feeds, or those of a user, as OPML: part by part, so that nobody holds all of it, and others are answered in
/// between.
asio::awaitable<ApiReply> Api::export_list(const ApiCall& call, Visit& visit, Desk& desk) {
  const std::string& user = call.get("user");
  const std::string_view unfit = call.parameters.contains("user") ? unfit_name(user) : std::string_view();
  if (!unfit.empty()) co_return problem("bad_parameter", fmt::format("user: {}", unfit));
  if (exporting_) co_return problem("busy", "another export is running");
  exporting_ = true;
  struct Ended {
    bool& exporting;
    ~Ended() { exporting = false; }
  };
  const Ended ended{exporting_};
  Export list(user, desk.stores.size());
  for (const auto until = Clock::now() + longest_export; !list.ended();) {
    const auto more = [&](const Deployment& stores) { return list.next(*stores.stores()[list.at()]); };
    const auto part = co_await ask_desk(desk, call.app, more);
    // What was begun and cannot go on is not ended: whoever reads it sees that.
    if (!part && !visit.answered()) co_return store_is_away(part.error());
    if (!part || Clock::now() > until) break;
    if (!visit.answered()) {
      HttpReply head = http_reply(http::status::ok, "text/x-opml; charset=utf-8", {});
      const bool begun = co_await visit.begin(std::move(head));
      if (!begun || visit.head().method() == http::verb::head) co_return ApiReply();
    }
    if (part->empty()) continue;
    const bool taken = co_await visit.write(*part);
    if (!taken) co_return ApiReply();
  }
  if (list.ended()) co_await visit.end();
  co_return ApiReply();
}

}  // namespace feedmill
