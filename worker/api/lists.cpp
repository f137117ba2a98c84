// Lists of a store, of a partition, or of all partitions together (RELIABILITY L31, L32).
#include "worker/operations/lists.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/store/deployment.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "worker/admin/status.hpp"
#include "worker/api/api.hpp"
#include "worker/api/routes.hpp"
#include "worker/base/terminal.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t stretch_size = 20'000;                  // names read at once
constexpr std::size_t stretch_bytes = std::size_t{2} << 20U;  // names kept for each kind of list
constexpr std::chrono::seconds stretch_kept{60};              // how long further pages use them

/// Shortens a list to names of about `bytes` in total, but not below a page; returns whether any were dropped.
bool shorten(std::vector<std::string>& names, std::size_t bytes) {
  std::size_t kept = 0, held = 0;
  for (; kept < names.size() && (kept < most_page || held < bytes); ++kept)
    held += names[kept].size() + sizeof(std::string);
  if (kept == names.size()) return false;
  names.resize(kept);
  names.shrink_to_fit();
  return true;
}

/// A page of one store's list `of`. `more` reads a stretch of names after a given one; `bytes`: about how much of it to
/// keep.
template <class More>
NamePage name_page(NameStretch& stretch, const std::string& of, const std::string& after, std::size_t limit,
                   std::size_t bytes, More more) {
  const auto now = std::chrono::steady_clock::now();
  // The first page is always current; further pages may be as old as the stretch.
  const bool continues = !after.empty() && stretch.of == of && now - stretch.read_at < stretch_kept &&
                         stretch.from <= after &&
                         (stretch.to_the_end || (!stretch.names.empty() && after < stretch.names.back()));
  if (!continues) {
    stretch.names = {};  // freed before the next stretch is read
    auto names = answered(more(after));
    const bool was_all = names.size() < stretch_size;
    const bool to_the_end = !shorten(names, bytes) && was_all;
    stretch = {of, after, std::move(names), to_the_end, now};
  }
  const auto first = std::upper_bound(stretch.names.begin(), stretch.names.end(), after);
  const auto end = first + std::min(static_cast<std::ptrdiff_t>(limit), stretch.names.end() - first);
  NamePage page{{first, end}, {}};
  if (first != end && !(stretch.to_the_end && end == stretch.names.end())) page.next = *(end - 1);
  return page;
}

/// Bytes that each store's stretch of a list may keep.
std::size_t kept_bytes(const ApiReading& reading) {
  return stretch_bytes / reading.stores.stores().size();
}

/// Merges the pages of all stores, each of at most `limit` names.
NamePage page_together(const std::vector<NamePage>& parts, std::size_t limit) {
  bool goes_on = false;
  std::vector<std::vector<std::string>> names;
  for (const NamePage& part : parts) {
    goes_on = goes_on || !part.next.is_null();
    names.push_back(part.names);
  }
  NamePage page{names_together(names, limit + 1), {}};
  if (page.names.size() > limit) {
    page.names.pop_back();
    goes_on = true;
  }
  if (goes_on && !page.names.empty()) page.next = page.names.back();
  return page;
}

}  // namespace

NamePage channel_page(const ApiReading& reading, const std::string& user, const std::string& after, std::size_t limit) {
  const std::string beginning = user.empty() ? std::string() : user + "/";
  std::vector<NamePage> pages;
  for (std::size_t i = 0; Store* const store : reading.stores.stores()) {
    const auto more = [&](const std::string& from) {
      return Channels(*store).names_after(from, stretch_size, beginning);
    };
    pages.push_back(name_page(reading.stretches[i++].channels, beginning, after, limit, kept_bytes(reading), more));
  }
  return page_together(pages, limit);
}

std::optional<NamePage> channel_feed_page(const ApiReading& reading, const std::string& uid, const std::string& after,
                                          std::size_t limit) {
  std::vector<NamePage> pages;
  for (std::size_t i = 0; Store* const store : reading.stores.stores()) {
    NameStretch& stretch = reading.stretches[i++].channel_feeds;
    Channels channels(*store);
    if (!answered(channels.is_known(uid))) continue;
    const auto more = [&](const std::string& from) { return channels.feeds_after(uid, from, stretch_size); };
    pages.push_back(name_page(stretch, uid, after, limit, kept_bytes(reading), more));
  }
  return pages.empty() ? std::nullopt : std::optional(page_together(pages, limit));
}

NamePage feed_page(const ApiReading& reading, const std::string& after, std::size_t limit) {
  std::vector<NamePage> pages;
  for (std::size_t i = 0; Store* const store : reading.stores.stores()) {
    const auto more = [&](const std::string& from) { return Feeds(*store).urls_after(from, stretch_size); };
    pages.push_back(name_page(reading.stretches[i++].feeds, "", after, limit, kept_bytes(reading), more));
  }
  return page_together(pages, limit);
}

std::string cursor_behind(const std::string& uid, const std::string& url) {
  return url + " " + uid;  // URLs have no spaces
}

ChannelFeeds channel_feeds_after(const ApiReading& reading, const std::string& user, const std::string& after,
                                 std::size_t most) {
  constexpr std::size_t most_channels = 200;
  const std::size_t space = after.find(' ');
  if (!after.empty() && (space == std::string::npos || space + 1 == after.size())) throw bad_cursor();
  std::string url = after.substr(0, std::min(space, after.size()));
  std::string uid = after.empty() ? "" : after.substr(space + 1);
  ChannelFeeds page;
  std::size_t taken = 0;
  // Adds the channel's next feeds; false if the page is full.
  const auto take = [&] {
    auto feeds = channel_feed_page(reading, uid, url, most - taken);
    page.next = cursor_behind(uid, url);
    if (!feeds) return true;  // it was removed in between
    taken += feeds->names.size();
    if (!feeds->names.empty()) page.next = cursor_behind(uid, feeds->names.back());
    page.parts.push_back({uid, std::move(feeds->names)});
    return feeds->next.is_null() && taken < most;
  };
  if (!url.empty() && !take()) return page;  // a cursor without a feed: the whole channel was listed
  for (std::size_t channels = 0; channels < most_channels;) {
    const NamePage names = channel_page(reading, user, uid, most_channels - channels);
    channels += names.names.size();
    for (const std::string& name : names.names) {
      uid = name;
      url.clear();
      if (!take()) return page;
    }
    if (names.next.is_null()) {
      page.next.clear();
      return page;
    }
  }
  return page;
}

ApiReply list_channels(const ApiReading& reading) {
  const ApiCall& call = reading.call;
  const std::size_t limit = limit_of(call);
  const NamePage page = channel_page(reading, name_of(call, "user"), call.get("after"), limit);
  json::array rows;
  for (const ChannelRecord& channel : ChannelsOfAll(reading.stores).records(page.names)) {
    rows.push_back(json::object{{"channel", channel.uid},
                                {"position", channel.position},
                                {"feeds", channel.feeds},
                                {"unread", channel.unread}});
  }
  return resource({{"channels", std::move(rows)}, {"next", page.next}});
}

ApiReply list_notices(const ApiReading& reading) {
  const std::string& user = reading.call.get("user");
  const auto read = [&](Store& store) { return Notifications(store).list(user); };
  json::array notices;
  for (const StoredNotice& notice : notices_together(user, answered(reading.stores.each(read)))) {
    json::value one = embedded_json(notice.json);
    // A feed's URL may contain a secret; operators' notices must not show it (SECURITY K1).
    notices.push_back(user == operator_user ? without_secrets(std::move(one)) : std::move(one));
  }
  return resource({{"user", user}, {"notices", std::move(notices)}});
}

ApiReply list_rules(const ApiReading& reading) {
  const std::string& user = reading.call.get("user");
  const auto count = static_cast<unsigned>(reading.stores.stores().size());
  json::array rules;
  for (const Watch& watch : answered(Notifications(reading.stores.home(home_of_user(user, count))).watches(user))) {
    rules.push_back(json::object{
        {"id", leading_number<std::uint64_t>(watch.id)}, {"kind", to_string(watch.kind)}, {"watched", watch.target}});
  }
  return resource({{"user", user}, {"rules", std::move(rules)}});
}

// Import and export of subscription lists over HTTP, part by part.

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

/// Creates the channels of a list in its order, which no single partition sees completely (RELIABILITY L31).
void make_channels(const Deployment& all, const SubscriptionList& list, const std::string& user) {
  const auto count = static_cast<unsigned>(all.stores().size());
  std::map<unsigned, std::vector<std::string>> by_home;
  for (const std::string& uid : channels_in({list.feeds.begin(), list.feeds.end()}, user))
    by_home[home_of_channel(uid, count)].push_back(uid);
  for (const auto& [home, uids] : by_home) answered(Channels(all.home(home)).add(uids));
}

constexpr std::size_t longest_list = std::size_t{2} << 20U;  // reading it takes 36 MiB at most
constexpr std::size_t most_told = 100;                       // refused rows in the reply to an import
constexpr std::chrono::minutes longest_export{10};

}  // namespace

/// Imports a subscription list with the code of `feedmill import`, part by part, so that other calls can run in
/// between.
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
    // Check that all partitions are available before anything is added.
    answered(all.each([](Store& store) { return store.now(); }));
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
        put_into_channels(*store, batch, user);
        return static_cast<std::size_t>(std::count(is_new.begin(), is_new.end(), true));
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
  if (!read_list.feeds.empty()) row["elsewhere"] = read_list.feeds.size();  // feeds of other partitions
  co_return resource(row);
}

/// Sends all feeds, or a user's, as OPML. Works part by part: memory use stays small, and other calls can run in
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
    const auto more = [&](const Deployment& stores) -> StoreResult<std::string> {
      return list.next(*stores.stores()[list.at()]);
    };
    const auto part = co_await ask_desk(desk, call.app, more);
    // A truncated body is not ended properly, so that the client notices.
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
