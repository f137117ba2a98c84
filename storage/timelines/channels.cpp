#include "storage/timelines/channels.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "storage/queues/topics.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/store/store_impl.hpp"
#include "storage/timelines/notifications.hpp"

namespace feedmill {
namespace {

constexpr std::size_t calls_per_trip = 200, marks_per_call = 500, pruned_per_step = 500, placed_per_call = 1000;
constexpr std::size_t examined_per_call = 1000, examined_per_step = 100;  // posts of one feed

bool is_blank(std::string_view text) {
  return text.find_first_not_of(' ') == std::string_view::npos;
}

}  // namespace

std::string_view unfit_name(std::string_view name) {
  if (name.empty()) return "it is empty";
  if (name.size() > 1024) return "it is longer than 1024 bytes";
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(name.begin(), name.end(), control)) return "it holds a control character";
  return {};
}

std::string_view unfit_text_name(std::string_view name) {
  if (const std::string_view unfit = unfit_name(name); !unfit.empty()) return unfit;
  return is_utf8(name) ? std::string_view() : "it is not valid UTF-8";
}

std::string_view unfit_new_channel(std::string_view uid) {
  if (const std::string_view unfit = unfit_text_name(uid); !unfit.empty()) return unfit;
  if (is_blank(uid)) return "it is blank";
  if (uid.find("://") != uid.npos)
    return "it is a URL; to put a feed into a channel, use feedmill channel feeds CHANNEL --add URL";
  const std::size_t slash = uid.find('/');
  const bool in_halves = slash != std::string_view::npos;
  if (in_halves && is_blank(uid.substr(0, slash))) return "the user before its slash is missing";
  if (in_halves && is_blank(uid.substr(slash + 1))) return "the name after its slash is missing";
  return {};
}

std::string_view unfit_new_user(std::string_view user) {
  if (const std::string_view unfit = unfit_text_name(user); !unfit.empty()) return unfit;
  if (is_blank(user)) return "it is blank";
  return user.find('/') == std::string_view::npos ? std::string_view() : "it holds a slash";
}

StoreResult<std::vector<bool>> Channels::add(std::span<const std::string> uids) {
  std::vector<bool> added;
  while (!uids.empty()) {
    const auto batch = uids.first(std::min(calls_per_trip, uids.size()));
    Args args;
    for (const std::string& uid : batch) args.add(std::string_view(uid));
    const auto reply = impl_.run(Script::channel_add, args);
    if (!reply) return reply.error();
    for (std::size_t i = 0; i < batch.size(); ++i) added.push_back((*reply)[i].integer() == 1);
    uids = uids.subspan(batch.size());
  }
  return added;
}

StoreResult<bool> Channels::remove(const std::string& uid) {
  InParts whole;
  return remove(uid, whole);
}

StoreResult<bool> Channels::remove(const std::string& uid, InParts& parts) {
  enum : std::size_t { rules, topic, data };
  const auto begin = [&](std::size_t stage, const char* cursor) {
    parts.list = stage;
    parts.cursor = cursor;
  };
  if (parts.channel != uid) {
    parts.channel = uid;
    parts.found = false;
    begin(rules, "0");
  }
  if (parts.list == rules) {
    if (const auto forgotten = Notifications(impl_).forget_channel(uid, parts); !forgotten) return forgotten.error();
    if (parts.ended_early) return false;
    begin(topic, "");
  }
  if (parts.list == topic) {
    do {
      auto next = Topics(impl_).end_step({TopicKind::channel, uid}, parts.cursor);
      if (!next) return next.error();
      parts.cursor = std::move(*next);
    } while (!parts.cursor.empty() && parts.may_go_on());
    if (parts.ended_early) return false;
    begin(data, "0");
  }
  while (parts.may_go_on()) {
    Args args;
    args.add(std::string_view(uid));
    args.add(std::string_view(parts.cursor));
    const auto reply = impl_.run(Script::channel_remove, args);
    if (!reply) return reply.error();
    parts.found = parts.found || (*reply)[0].integer() == 1;
    parts.cursor = (*reply)[2].text();
    if ((*reply)[1].integer() != 0) continue;
    parts.channel.clear();
    return parts.found;
  }
  return false;
}

StoreResult<std::vector<ChannelRecord>> Channels::list() {
  std::vector<ChannelRecord> all;
  const auto read = impl_.each_page(impl_.keys.channels(), [&](std::vector<std::string> page) -> StoreResult<bool> {
    auto some = records(page);
    if (!some) return some.error();
    std::move(some->begin(), some->end(), std::back_inserter(all));
    return true;
  });
  if (!read) return read.error();
  std::sort(all.begin(), all.end(), [](const ChannelRecord& a, const ChannelRecord& b) {
    return std::tie(a.position, a.uid) < std::tie(b.position, b.uid);
  });
  all.erase(std::unique(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.uid == b.uid; }),
            all.end());
  return all;
}

StoreResult<std::vector<std::string>> Channels::names_after(const std::string& after, std::size_t most,
                                                            const std::string& beginning) {
  return impl_.members_after(impl_.keys.channels(), after, most, beginning);
}

StoreResult<std::vector<ChannelRecord>> Channels::records(std::span<const std::string> uids) {
  std::vector<ChannelRecord> records;
  std::vector<std::string> keys;
  std::vector<Words> commands;
  keys.reserve(uids.size() * 3);
  for (const std::string& uid : uids) {
    commands.push_back({"GET", keys.emplace_back(impl_.keys.channel_order(uid))});
    commands.push_back({"SCARD", keys.emplace_back(impl_.keys.channel_feeds(uid))});
    commands.push_back({"ZCARD", keys.emplace_back(impl_.keys.timeline(uid))});
  }
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  for (std::size_t i = 0; i < uids.size(); ++i) {
    const Reply* row = replies->data() + i * 3;
    records.push_back({uids[i], row[0].integer(), static_cast<std::uint64_t>(row[1].integer()),
                       static_cast<std::uint64_t>(row[2].integer())});
  }
  return records;
}

StoreResult<void> Channels::order(std::span<const std::string> uids) {
  std::int64_t placed = 0;
  do {
    const auto batch = uids.first(std::min(placed_per_call, uids.size()));
    Args args;
    args.add(std::string_view("all"));
    args.add(placed);
    for (const std::string& uid : batch) args.add(std::string_view(uid));
    const auto reply = impl_.run(Script::channel_order, args);
    if (!reply) return reply.error();
    placed += reply->integer();
    uids = uids.subspan(batch.size());
  } while (!uids.empty());
  return {};
}

StoreResult<bool> Channels::order_among(std::span<const std::string> uids) {
  Args args;
  args.add(std::string_view("among"));
  args.add(0);
  for (const std::string& uid : uids) args.add(std::string_view(uid));
  const auto reply = impl_.run(Script::channel_order, args);
  if (!reply) return reply.error();
  return reply->integer() >= 0;
}

StoreResult<bool> Channels::is_known(const std::string& uid) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto known = impl_.redis.command({"SISMEMBER", impl_.keys.channels(), uid});
  if (!known) return known.error();
  return known->integer() == 1;
}

StoreResult<std::optional<std::vector<std::string>>> Channels::feeds(const std::string& uid) {
  const auto known = is_known(uid);
  if (!known) return known.error();
  if (!*known) return std::optional<std::vector<std::string>>();
  auto urls = feeds_after(uid, "", std::string::npos);
  if (!urls) return urls.error();
  return std::optional(std::move(*urls));
}

StoreResult<std::vector<std::string>> Channels::feeds_after(const std::string& uid, const std::string& after,
                                                            std::size_t most) {
  return impl_.members_after(impl_.keys.channel_feeds(uid), after, most, "");
}

StoreResult<std::vector<std::optional<bool>>> Channels::follow(std::span<const Membership> memberships) {
  return put_in(memberships, !impl_.options.partition.is_whole());
}

StoreResult<std::vector<std::optional<bool>>> Channels::put_in(std::span<const Membership> memberships,
                                                               bool makes_channels) {
  std::vector<std::optional<bool>> answers;
  while (!memberships.empty()) {
    const auto batch = memberships.first(std::min(calls_per_trip, memberships.size()));
    std::vector<Args> calls(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      calls[i].add(std::string_view(batch[i].uid));
      calls[i].add(std::string_view(batch[i].feed_url));
      calls[i].add(std::string_view(makes_channels ? "1" : ""));
      calls[i].add(std::string_view(batch[i].title));
    }
    for (const auto& reply : impl_.run_all(Script::channel_follow, calls)) {
      if (!reply) return reply.error();
      answers.push_back(reply->integer() < 0 ? std::optional<bool>() : reply->integer() == 1);
    }
    memberships = memberships.subspan(batch.size());
  }
  return answers;
}

StoreResult<std::optional<bool>> Channels::unfollow(const Membership& membership) {
  InParts whole;
  return unfollow(membership, whole);
}

StoreResult<std::optional<bool>> Channels::unfollow(const Membership& membership, InParts& parts) {
  return take_out(membership, false, parts);
}

StoreResult<std::optional<bool>> Channels::take_out(const Membership& membership, bool only_gone, InParts& parts) {
  Args args;
  args.add(std::string_view(membership.uid));
  args.add(std::string_view(membership.feed_url));
  args.add(std::string_view(only_gone ? "1" : ""));
  const auto reply = impl_.run(Script::channel_unfollow, args);
  if (!reply) return reply.error();
  if (reply->integer() < 0) {
    parts.channel.clear();
    return std::optional<bool>();
  }
  // Even if the feed was already out: an earlier call may have been interrupted here.
  if (const auto pruned = prune(membership.uid, parts); !pruned) return pruned.error();
  if (parts.ended_early) return std::optional<bool>();
  const auto built = is_built(membership.uid);
  if (!built) return built.error();
  if (!*built) {
    if (const auto rebuilt = rebuild(membership.uid, [] { return true; }); !rebuilt) return rebuilt.error();
  }
  return std::optional(reply->integer() == 1);
}

StoreResult<void> Channels::forget_feed(const std::string& feed_url) {
  InParts whole;
  return forget_feed(feed_url, whole);
}

StoreResult<void> Channels::forget_feed(const std::string& feed_url, InParts& parts) {
  const std::string state = impl_.keys.feed_state(feed_url);
  const auto take_from = [&](const std::string& uid) { return take_out({uid, feed_url}, true, parts); };
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto begun = impl_.redis.command({"HGET", state, "leaving"});  // set by this call, or by one that died
  if (!begun) return begun.error();
  if (!begun->is_nil()) {
    if (const auto done = take_from(std::string(begun->text())); !done) return done.error();
  }
  const auto uids = holding(std::span(&feed_url, 1));
  if (!uids) return uids.error();
  for (const std::string& uid : uids->front()) {
    if (!parts.may_go_on()) return {};
    if (const auto done = take_from(uid); !done) return done.error();
  }
  if (parts.ended_early || (begun->is_nil() && uids->front().empty())) return {};
  const auto done = impl_.redis.command({"HDEL", state, "leaving"});
  if (!done) return done.error();
  return {};
}

StoreResult<std::vector<bool>> Channels::holds(const std::string& uid, std::span<const std::string> feed_urls) {
  const std::string key = impl_.keys.channel_feeds(uid);
  std::vector<Words> commands;
  commands.reserve(feed_urls.size());
  for (const std::string& url : feed_urls) commands.push_back({"SISMEMBER", key, url});
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  std::vector<bool> held;
  held.reserve(replies->size());
  for (const Reply& reply : *replies) held.push_back(reply.integer() == 1);
  return held;
}

StoreResult<std::vector<std::string>> Channels::titles(const std::string& uid, std::span<const std::string> feed_urls) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  if (feed_urls.empty()) return std::vector<std::string>();
  const std::string key = impl_.keys.channel_titles(uid);
  Words words{"HMGET", key};
  words.insert(words.end(), feed_urls.begin(), feed_urls.end());
  const auto reply = impl_.redis.command(words);
  if (!reply) return reply.error();
  return reply->texts();
}

StoreResult<std::vector<std::vector<std::string>>> Channels::holding(std::span<const std::string> feed_urls) {
  std::vector<std::string> keys;
  keys.reserve(feed_urls.size());
  std::vector<Words> commands;
  for (const std::string& url : feed_urls) {
    commands.push_back({"SSCAN", keys.emplace_back(impl_.keys.holders(url)), "0", "COUNT", "1000"});
  }
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  std::vector<std::vector<std::string>> all;
  for (const Reply& reply : *replies) {
    // A feed in many channels has more than one page.
    auto uids = reply[0].text() == "0" ? StoreResult<std::vector<std::string>>(reply[1].texts())
                                       : impl_.members_after(keys[all.size()], "", std::string::npos, "");
    if (!uids) return uids.error();
    std::sort(uids->begin(), uids->end());
    all.push_back(std::move(*uids));
  }
  return all;
}

StoreResult<bool> Channels::is_built(const std::string& uid) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string floors = impl_.keys.channel_floors(), indexes = impl_.keys.delivered("indexes"),
                    timelines = impl_.keys.delivered("timelines");
  const std::array commands{Words{"HGET", floors, uid}, Words{"GET", indexes}, Words{"GET", timelines}};
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  const ReplyView floor = (*replies)[0];
  const bool are_kept = (*replies)[1].text() == (*replies)[2].text();
  return are_kept && !floor.is_nil() && !floor.text().starts_with('~');
}

StoreResult<std::vector<std::string>> Channels::unbuilt() {
  const std::string key = impl_.keys.channel_floors();
  std::set<std::string> found;
  const auto looked = impl_.each_page(impl_.keys.channels(), [&](std::vector<std::string> page) -> StoreResult<bool> {
    if (page.empty()) return true;
    Words words{"HMGET", key};
    words.insert(words.end(), page.begin(), page.end());
    const auto floors = impl_.redis.command(words);
    if (!floors) return floors.error();
    for (std::size_t i = 0; i < page.size(); ++i) {
      if ((*floors)[i].is_nil() || (*floors)[i].text().starts_with('~')) found.insert(std::move(page[i]));
    }
    return true;
  });
  if (!looked) return looked.error();
  return std::vector<std::string>(found.begin(), found.end());
}

StoreResult<std::optional<std::vector<EntryCursor>>> Channels::places(const std::string& uid, Of which,
                                                                      std::size_t limit,
                                                                      const std::optional<EntryCursor>& before) {
  const auto known = is_known(uid);
  if (!known) return known.error();
  if (!*known) return std::optional<std::vector<EntryCursor>>();
  auto found = impl_.newest(which == Of::all ? impl_.keys.channel_index(uid) : impl_.keys.timeline(uid), limit, before);
  if (!found) return found.error();
  if (which == Of::all) {
    const auto built = is_built(uid);
    if (!built) return built.error();
    if (!*built) {
      return StoreError{StoreError::Code::refused,
                        "the list of all posts of this channel is not built yet: a delivering worker builds it"};
    }
  }
  return std::optional(std::move(*found));
}

StoreResult<FeedPlaces> Channels::places_of(const Membership& membership, Of which, std::size_t limit,
                                            const std::optional<EntryCursor>& before) {
  const auto held = holds(membership.uid, std::span(&membership.feed_url, 1));
  if (!held) return held.error();
  FeedPlaces found{{}, before};
  if (!held->front()) return FeedPlaces();
  const std::string key = impl_.keys.sort(membership.feed_url);
  for (std::size_t left = examined_per_call; left > 0;) {
    const std::size_t most = std::min(left, which == Of::all ? limit : examined_per_step);
    const auto some = impl_.newest(key, most, found.rest);
    if (!some) return some.error();
    const StoreResult<std::vector<bool>> unread =
        which == Of::all ? std::vector<bool>(some->size(), true) : are_unread(membership.uid, ids_of(*some));
    if (!unread) return unread.error();
    for (std::size_t i = 0; i < some->size(); ++i) {
      if ((*unread)[i]) found.places.push_back((*some)[i]);
      found.rest = (*some)[i];
      if (found.places.size() == limit) return found;
    }
    left -= some->size();
    if (some->size() < most) return FeedPlaces{std::move(found.places), {}};
  }
  return found;
}

StoreResult<std::optional<EntryCursor>> Channels::place_at(const std::string& uid, const EntryCursor& cursor) {
  return impl_.place_at(impl_.keys.channel_index(uid), cursor);
}

StoreResult<std::optional<std::vector<StoredEntry>>> Channels::timeline(const std::string& uid, std::size_t limit,
                                                                        const std::optional<EntryCursor>& before) {
  return page(uid, Of::unread, limit, before);
}

StoreResult<std::optional<std::vector<StoredEntry>>> Channels::posts(const std::string& uid, std::size_t limit,
                                                                     const std::optional<EntryCursor>& before) {
  return page(uid, Of::all, limit, before);
}

StoreResult<std::optional<std::vector<StoredEntry>>> Channels::page(const std::string& uid, Of which, std::size_t limit,
                                                                    const std::optional<EntryCursor>& before) {
  const auto found = places(uid, which, limit, before);
  if (!found) return found.error();
  if (!*found) return std::optional<std::vector<StoredEntry>>();
  auto entries = impl_.entries(ids_of(**found));
  if (!entries) return entries.error();
  return std::optional(std::move(*entries));
}

StoreResult<std::vector<bool>> Channels::are_unread(const std::string& uid, std::span<const std::string> ids) {
  const std::string key = impl_.keys.timeline(uid);
  std::vector<Words> commands;
  commands.reserve(ids.size());
  for (const std::string& id : ids) commands.push_back({"ZSCORE", key, id});
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  std::vector<bool> unread;
  for (const Reply& reply : *replies) unread.push_back(!reply.is_nil());
  return unread;
}

StoreResult<std::vector<std::uint64_t>> Channels::unread_of(const std::string& uid,
                                                            std::span<const std::string> feed_urls) {
  const std::string key = impl_.keys.timeline(uid);
  std::vector<std::uint64_t> counts;
  while (!feed_urls.empty()) {
    const auto batch = feed_urls.first(std::min(calls_per_trip, feed_urls.size()));
    std::vector<std::string> sorts;
    sorts.reserve(batch.size());
    std::vector<Words> commands;
    for (const std::string& url : batch)
      commands.push_back({"ZINTERCARD", "2", key, sorts.emplace_back(impl_.keys.sort(url))});
    const auto replies = impl_.pipeline(commands);
    if (!replies) return replies.error();
    for (const Reply& reply : *replies) counts.push_back(static_cast<std::uint64_t>(reply.integer()));
    feed_urls = feed_urls.subspan(batch.size());
  }
  return counts;
}

StoreResult<std::optional<std::size_t>> Channels::mark(const std::string& uid, std::string_view how,
                                                       std::span<const std::string> rest) {
  std::size_t changed = 0;
  do {
    const auto batch = rest.first(std::min(marks_per_call, rest.size()));
    Args args;
    args.add(std::string_view(uid));
    args.add(how);
    for (const std::string& word : batch) args.add(std::string_view(word));
    const auto reply = impl_.run(Script::channel_mark, args);
    if (!reply) return reply.error();
    if (reply->integer() < 0) return std::optional<std::size_t>();
    changed += static_cast<std::size_t>(reply->integer());
    rest = rest.subspan(batch.size());
  } while (!rest.empty());
  return std::optional(changed);
}

StoreResult<std::optional<std::size_t>> Channels::mark_read(const std::string& uid, std::span<const std::string> ids) {
  return mark(uid, "read", ids);
}

StoreResult<std::optional<std::size_t>> Channels::mark_unread(const std::string& uid,
                                                              std::span<const std::string> ids) {
  return mark(uid, "unread", ids);
}

StoreResult<std::string> Channels::highest_score(const std::string& uid) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto newest = impl_.redis.command({"ZRANGE", impl_.keys.timeline(uid), "-1", "-1", "WITHSCORES"});
  if (!newest) return newest.error();
  return std::string(newest->size() == 2 ? (*newest)[1].text() : "-inf");
}

StoreResult<std::optional<std::size_t>> Channels::mark_all_read(const std::string& uid) {
  const auto up_to = highest_score(uid);  // posts added later have a higher score and stay unread
  if (!up_to) return up_to.error();
  InParts whole;
  return mark_read_up_to(uid, *up_to, "", whole);
}

StoreResult<std::optional<std::size_t>> Channels::mark_read_up_to(const std::string& uid, const std::string& place,
                                                                  const std::string& feed_url, InParts& parts) {
  const std::array words{place, feed_url};
  for (std::size_t all = 0;;) {
    if (!parts.may_go_on()) return std::optional(all);
    auto some = mark(uid, "all", words);
    if (!some || !*some) return some;
    if (**some == 0) return std::optional(all);
    all += **some;
  }
}

StoreResult<void> Channels::prune(const std::string& uid, InParts& parts) {
  constexpr std::array<std::string_view, 3> lists{"posts", "all", "read"};
  if (parts.channel != uid) {
    parts.channel = uid;
    parts.list = parts.rank = 0;
    parts.found = false;
  }
  while (parts.list < lists.size()) {
    if (!parts.may_go_on()) return {};
    Args args;
    args.add(std::string_view(uid));
    args.add(lists[parts.list]);
    args.add(parts.rank);
    args.add(pruned_per_step);
    const auto reply = impl_.run(Script::channel_prune, args);
    if (!reply) return reply.error();
    const auto looked_at = static_cast<std::size_t>((*reply)[0].integer());
    const auto removed = static_cast<std::size_t>((*reply)[1].integer());
    parts.found = parts.found || removed > 0;
    parts.rank += looked_at - removed;
    if (looked_at > 0) continue;
    // Concurrent removals shift the ranks: repeat a pass that found something.
    if (!std::exchange(parts.found, false)) ++parts.list;
    parts.rank = 0;
  }
  parts.channel.clear();
  return {};
}

StoreResult<void> Channels::mark_index(const std::string& uid, std::string_view how) {
  Args args;
  args.add(std::string_view(uid));
  args.add(how);
  const auto reply = impl_.run(Script::channel_index, args);
  if (!reply) return reply.error();
  return {};
}

StoreResult<void> Channels::rebuild(const std::string& uid, const std::function<bool()>& step) {
  const auto known = is_known(uid);
  if (!known) return known.error();
  if (!*known) return {};
  if (const auto begun = mark_index(uid, "begin"); !begun) return begun.error();
  bool ended_early = false;
  const auto put = [&](std::vector<std::string> urls) -> StoreResult<bool> {
    std::vector<Membership> memberships;
    memberships.reserve(urls.size());
    for (std::string& url : urls) memberships.push_back({uid, std::move(url)});
    for (std::span<const Membership> left = memberships; !left.empty();) {
      ended_early = !step();
      if (ended_early) return false;
      const auto batch = left.first(std::min(calls_per_trip, left.size()));
      if (const auto done = put_in(batch, false); !done) return done.error();
      left = left.subspan(batch.size());
    }
    return true;
  };
  if (const auto done = impl_.each_page(impl_.keys.channel_feeds(uid), put); !done) return done.error();
  if (ended_early) return {};
  InParts parts;
  parts.go_on = step;
  if (const auto pruned = prune(uid, parts); !pruned) return pruned.error();
  if (!parts.may_go_on()) return {};
  return mark_index(uid, "end");
}

StoreResult<std::size_t> Channels::expire_marks(Milliseconds grace) {
  Args args;
  args.add(grace);
  const auto reply = impl_.run(Script::channel_expire, args);
  if (!reply) return reply.error();
  return static_cast<std::size_t>(reply->integer());
}

}  // namespace feedmill
