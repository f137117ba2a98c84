// Lists: of the one store there is, of a partition, or of all of them, which are asked at once and read as one
// (RELIABILITY L31).
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/numbers.hpp"
#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/store/partition.hpp"
#include "storage/timelines/channel_parts.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/notice_parts.hpp"
#include "storage/timelines/notifications.hpp"
#include "storage/timelines/stories.hpp"
#include "worker/admin/status_json.hpp"
#include "worker/api/api.hpp"
#include "worker/base/json_text.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr std::size_t stretch_size = 20'000;      // names
constexpr std::chrono::seconds stretch_kept{60};  // so old a list may be for pages behind the first
constexpr std::size_t enough_entries = 1'000;     // a page ends behind so many that it may not show

/// `more`: reads a stretch of the list `of` behind a name.
StoreResult<NamePage> name_page(NameStretch& stretch, const std::string& of, const std::string& after,
                                std::size_t limit,
                                const std::function<StoreResult<std::vector<std::string>>(const std::string&)>& more) {
  const auto now = std::chrono::steady_clock::now();
  // Whoever begins sees what there is now; whoever goes on, what was there a moment ago.
  const bool goes_on = !after.empty() && stretch.of == of && now - stretch.read_at < stretch_kept &&
                       stretch.from <= after &&
                       (stretch.to_the_end || (!stretch.names.empty() && after < stretch.names.back()));
  if (!goes_on) {
    auto names = more(after);
    if (!names) return names.error();
    const bool to_the_end = names->size() < stretch_size;
    stretch = {of, after, std::move(*names), to_the_end, now};
  }
  const auto first = std::upper_bound(stretch.names.begin(), stretch.names.end(), after);
  const auto end = first + std::min(static_cast<std::ptrdiff_t>(limit), stretch.names.end() - first);
  NamePage page{{first, end}, {}};
  if (first != end && !(stretch.to_the_end && end == stretch.names.end())) page.next = *(end - 1);
  return page;
}

/// The pages of all parts, each of `limit` names at most, as one.
NamePage page_together(std::vector<NamePage> parts, std::size_t limit) {
  bool goes_on = false;
  std::vector<std::vector<std::string>> names;
  for (NamePage& part : parts) {
    goes_on = goes_on || !part.next.is_null();
    names.push_back(std::move(part.names));
  }
  NamePage page{names_together(names, limit + 1), {}};
  if (page.names.size() > limit) {
    page.names.pop_back();
    goes_on = true;
  }
  if (goes_on && !page.names.empty()) page.next = page.names.back();
  return page;
}

ApiReply no_such_channel() {
  return problem("no_such_channel", "no such channel");
}

std::vector<std::string> picked(const std::vector<std::string>& all, const std::vector<std::size_t>& places) {
  std::vector<std::string> some;
  some.reserve(places.size());
  for (const std::size_t place : places) some.push_back(all[place]);
  return some;
}

using Shares = std::map<unsigned, std::vector<std::size_t>>;

/// What the parts that have some have found of their shares, in the order of all.
template <class Found>
std::vector<Found> in_order(std::size_t all, const Shares& shares, std::vector<std::vector<Found>> found) {
  std::vector<Found> ordered(all);
  auto its = found.begin();
  for (const auto& [part, places] : shares) {
    for (std::size_t i = 0; i < std::min(places.size(), its->size()); ++i) ordered[places[i]] = std::move((*its)[i]);
    ++its;
  }
  return ordered;
}

/// The names of each part that has some.
std::vector<std::vector<std::string>> in_shares(const std::vector<std::string>& all, const Shares& shares) {
  std::vector<std::vector<std::string>> own;
  for (const auto& [part, places] : shares) own.push_back(picked(all, places));
  return own;
}

/// The parts that have some.
std::vector<Api*> having_shares(std::span<Api* const> parts, const Shares& shares) {
  std::vector<Api*> some;
  for (const auto& [part, places] : shares) some.push_back(parts[part]);
  return some;
}

}  // namespace

StoreResult<NamePage> feed_page(const ApiReading& reading, const std::string& after, std::size_t limit) {
  return name_page(reading.stretches.feeds, "", after, limit,
                   [&](const std::string& from) { return Feeds(reading.store).urls_after(from, stretch_size); });
}

asio::awaitable<ApiReply> Api::read_list(ApiList list, const ApiCall& call, Parts parts) {
  if (limit_of(call) == 0) co_return bad_limit();
  if (list == ApiList::feeds) co_return co_await list_feeds(call, parts);
  if (list == ApiList::channels) co_return co_await list_channels(call, parts);
  if (list == ApiList::channel_feeds) co_return co_await list_channel_feeds(call, parts);
  if (list == ApiList::notices) co_return co_await list_notices(call, parts);
  if (list == ApiList::rules) co_return co_await list_rules(call, parts);
  co_return co_await list_timeline(call, parts);
}

asio::awaitable<ApiReply> Api::list_feeds(const ApiCall& call, Parts parts) {
  const std::size_t limit = limit_of(call);
  const auto read_names = [limit](const ApiReading& reading, std::size_t) {
    return feed_page(reading, reading.call.get("after"), limit);
  };
  auto pages = co_await of_each<NamePage>(parts, call, read_names);
  if (!pages) co_return store_is_away(pages.error());
  const NamePage page = page_together(std::move(*pages), limit);
  const Shares shares = shares_of(page.names, static_cast<unsigned>(parts.size()));
  using Records = std::vector<std::optional<FeedRecord>>;
  const auto own = in_shares(page.names, shares);
  const auto read_records = [&](const ApiReading& reading, std::size_t part) {
    return Feeds(reading.store).records(own[part]);
  };
  const auto some = having_shares(parts, shares);
  auto records = co_await of_each<Records>(some, call, read_records);
  if (!records) co_return store_is_away(records.error());
  json::array feeds;
  for (const auto& record : in_order(page.names.size(), shares, std::move(*records))) {
    if (record) feeds.emplace_back(list_json(*record));  // else it went meanwhile
  }
  co_return resource({{"feeds", std::move(feeds)}, {"next", page.next}});
}

asio::awaitable<ApiReply> Api::list_channels(const ApiCall& call, Parts parts) {
  const std::size_t limit = limit_of(call);
  const std::string& user = call.get("user");
  if (user.empty() && call.parameters.contains("user")) co_return problem("bad_parameter", "user: it is empty");
  const std::string beginning = user.empty() ? std::string() : user + "/";
  using Part = std::pair<NamePage, std::vector<ChannelRecord>>;
  const auto read = [&](const ApiReading& reading, std::size_t) -> StoreResult<Part> {
    Channels channels(reading.store);
    auto page =
        name_page(reading.stretches.channels, beginning, reading.call.get("after"), limit,
                  [&](const std::string& after) { return channels.names_after(after, stretch_size, beginning); });
    if (!page) return page.error();
    auto records = channels.records(page->names);
    if (!records) return records.error();
    return Part(std::move(*page), std::move(*records));
  };
  auto found = co_await of_each<Part>(parts, call, read);
  if (!found) co_return store_is_away(found.error());
  std::vector<NamePage> pages;
  std::vector<std::vector<ChannelRecord>> records;
  for (auto& [page, its] : *found) {
    pages.push_back(std::move(page));
    records.push_back(std::move(its));
  }
  const NamePage page = page_together(std::move(pages), limit);
  auto channels = channels_together(records);
  std::erase_if(channels, [&](const ChannelRecord& channel) { return page.names.back() < channel.uid; });
  std::ranges::sort(channels, {}, &ChannelRecord::uid);
  json::array rows;
  for (const ChannelRecord& channel : channels) {
    rows.push_back(json::object{{"channel", channel.uid},
                                {"position", channel.position},
                                {"feeds", channel.feeds},
                                {"unread", channel.unread}});
  }
  co_return resource({{"channels", std::move(rows)}, {"next", page.next}});
}

asio::awaitable<ApiReply> Api::list_channel_feeds(const ApiCall& call, Parts parts) {
  const std::size_t limit = limit_of(call);
  const std::string& uid = call.get("channel");
  using Part = std::optional<NamePage>;
  const auto read = [&](const ApiReading& reading, std::size_t) -> StoreResult<Part> {
    Channels channels(reading.store);
    const auto known = channels.is_known(uid);
    if (!known) return known.error();
    if (!*known) return Part();
    auto page = name_page(reading.stretches.channel_feeds, uid, reading.call.get("after"), limit,
                          [&](const std::string& after) { return channels.feeds_after(uid, after, stretch_size); });
    if (!page) return page.error();
    return Part(std::move(*page));
  };
  auto found = co_await of_each<Part>(parts, call, read);
  if (!found) co_return store_is_away(found.error());
  std::vector<NamePage> pages;
  for (Part& part : *found) {
    if (part) pages.push_back(std::move(*part));
  }
  if (pages.empty()) co_return no_such_channel();
  const NamePage page = page_together(std::move(pages), limit);
  co_return resource(
      {{"channel", uid}, {"feeds", json::array(page.names.begin(), page.names.end())}, {"next", page.next}});
}

asio::awaitable<StoreResult<std::optional<std::vector<EntryCursor>>>> Api::timeline_places(
    const ApiCall& call, Parts parts, std::size_t most, const std::optional<EntryCursor>& before) {
  using Places = std::optional<std::vector<EntryCursor>>;
  const auto read = [&](const ApiReading& reading, std::size_t) {
    return Channels(reading.store).places(reading.call.get("channel"), Channels::Of::unread, most, before);
  };
  auto found = co_await of_each<Places>(parts, call, read);
  if (!found) co_return found.error();
  std::vector<std::vector<EntryCursor>> known;
  for (Places& places : *found) {
    if (places) known.push_back(std::move(*places));
  }
  co_return known.empty() ? Places() : Places(places_together(known, most));
}

asio::awaitable<StoreResult<std::vector<Api::Shown>>> Api::shown_entries(const ApiCall& call, Parts parts,
                                                                         std::span<const EntryCursor> places) {
  const std::vector<std::string> ids = ids_of(places);
  const Shares shares = shares_of_entries(ids, static_cast<unsigned>(parts.size()));
  const auto shared = in_shares(ids, shares);
  const auto read = [&](const ApiReading& reading, std::size_t part) -> StoreResult<std::vector<Shown>> {
    const std::vector<std::string>& own = shared[part];
    auto entries = Entries(reading.store).get_all(own);
    if (!entries) return entries.error();
    auto first = std::vector<bool>(own.size(), true);
    if (reading.call.get("once") == "true") {
      auto told = Stories(reading.store).is_first_told(reading.call.get("channel"), false, own);
      if (!told) return told.error();
      first = std::move(*told);
    }
    std::vector<Shown> shown(own.size());
    for (StoredEntry& entry : *entries) {
      const auto its = static_cast<std::size_t>(std::ranges::find(own, entry.id) - own.begin());
      shown[its] = {first[its], std::move(entry)};
    }
    return shown;
  };
  const auto some = having_shares(parts, shares);
  auto found = co_await of_each<std::vector<Shown>>(some, call, read);
  if (!found) co_return found.error();
  co_return in_order(ids.size(), shares, std::move(*found));
}

asio::awaitable<ApiReply> Api::list_timeline(const ApiCall& call, Parts parts) {
  const std::size_t limit = limit_of(call);
  const std::string& once = call.get("once");
  if (!once.empty() && once != "true" && once != "false") co_return problem("bad_parameter", "once: true or false");
  std::optional<EntryCursor> before;
  if (const auto wrong = read_before(call, before)) co_return *wrong;
  json::array rows;
  json::value next;
  std::size_t bytes = 0, seen = 0;
  for (bool goes_on = true; goes_on && rows.size() < limit && bytes < enough_bytes && seen < enough_entries;) {
    const std::size_t most = limit - rows.size();
    const auto places = co_await timeline_places(call, parts, most, before);
    if (!places) co_return store_is_away(places.error());
    if (!*places) co_return no_such_channel();
    goes_on = (*places)->size() == most;
    next = nullptr;
    for (std::span<const EntryCursor> left = **places; !left.empty();) {
      if (bytes >= enough_bytes) {
        goes_on = true;  // on the page behind this one
        break;
      }
      const auto some = left.first(std::min(entries_at_once, left.size()));
      const auto entries = co_await shown_entries(call, parts, some);
      if (!entries) co_return store_is_away(entries.error());
      for (const Shown& shown : *entries) {
        bytes += size_of(shown.entry.fields);
        if (shown.is_wanted) rows.emplace_back(entry_json(shown.entry));
      }
      seen += some.size();
      before = some.back();
      left = left.subspan(some.size());
    }
    if (goes_on) next = fmt::format("{}:{}", before->score, before->id);
  }
  co_return resource({{"entries", std::move(rows)}, {"next", std::move(next)}});
}

asio::awaitable<ApiReply> Api::list_notices(const ApiCall& call, Parts parts) {
  const std::string& user = call.get("user");
  const auto read = [&](const ApiReading& reading, std::size_t) { return Notifications(reading.store).list(user); };
  const auto found = co_await of_each<std::vector<StoredNotice>>(parts, call, read);
  if (!found) co_return store_is_away(found.error());
  json::array notices;
  for (const StoredNotice& notice : notices_together(*found)) {
    json::value one = embedded_json(notice.json);
    // A feed's address may hold a secret, and operators read this aloud (SECURITY K1).
    notices.push_back(user == operator_user ? without_secrets(std::move(one)) : std::move(one));
  }
  co_return resource({{"user", user}, {"notices", std::move(notices)}});
}

asio::awaitable<ApiReply> Api::list_rules(const ApiCall& call, Parts parts) {
  const std::string& user = call.get("user");
  Api& home = *parts[home_of_user(user, static_cast<unsigned>(parts.size()))];
  const auto read = [&](Store& store) { return Notifications(store).watches(user); };
  const auto all = co_await home.with_store(call.app, read);
  if (!all) co_return store_is_away(all.error());
  json::array rules;
  for (const Watch& watch : *all) {
    rules.push_back(json::object{
        {"id", leading_number<std::uint64_t>(watch.id)}, {"kind", to_string(watch.kind)}, {"watched", watch.target}});
  }
  co_return resource({{"user", user}, {"rules", std::move(rules)}});
}

asio::awaitable<StoreResult<std::vector<bool>>> Api::parts_with_channel(const ApiCall& call, Parts parts) {
  const auto read = [](const ApiReading& reading, std::size_t) {
    return Channels(reading.store).is_known(reading.call.get("channel"));
  };
  co_return co_await of_each<bool>(parts, call, read);
}

}  // namespace feedmill
