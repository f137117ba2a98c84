#include "storage/timelines/notifications.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::array<std::string_view, 3> kinds{"feed", "channel", "words"};

/// Parses a stored rule: "feed https://…", "channel anna/news", "words redis cluster".
std::optional<Watch> read_watch(const std::string& user, const std::string& id, const std::string& text) {
  const std::size_t space = text.find(' ');
  const auto kind = std::find(kinds.begin(), kinds.end(), std::string_view(text).substr(0, space));
  if (space == std::string::npos || kind == kinds.end()) return {};
  return Watch{user, id, static_cast<Watch::Kind>(kind - kinds.begin()), text.substr(space + 1)};
}

/// Compares ids, which are ascending numbers.
bool is_older(const Watch& a, const Watch& b) {
  return std::pair(a.id.size(), a.id) < std::pair(b.id.size(), b.id);
}

}  // namespace

std::string_view to_string(Watch::Kind kind) {
  return kinds.at(static_cast<std::size_t>(kind));
}

StoreResult<std::vector<StoredNotice>> Notifications::list(const std::string& user) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto order = impl_.redis.command({"LRANGE", impl_.keys.notice_order(user), "0", "-1"});
  if (!order) return order.error();
  const std::vector<std::string> ids = order->texts();
  std::vector<StoredNotice> notices;
  if (ids.empty()) return notices;
  const std::string key = impl_.keys.notices(user);
  Words words{"HMGET", key};
  words.insert(words.end(), ids.begin(), ids.end());
  const auto values = impl_.redis.command(words);
  if (!values) return values.error();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    // Absent: removed concurrently.
    if (!(*values)[i].is_nil()) notices.push_back({ids[i], std::string((*values)[i].text())});
  }
  return notices;
}

StoreResult<void> Notifications::add(std::span<const Notice> notices) {
  Args args;
  args.add(std::string_view(impl_.keys.channel_prefix()));
  args.add(std::string_view());
  args.add(std::string_view());
  args.add(std::string_view());
  args.add(0);
  args.add(notices.size());
  for (const Notice& notice : notices) args.add(notice);
  const auto reply = impl_.run(Script::deliver_notices, args);
  if (!reply) return reply.error();
  if ((*reply)[3].integer() > 0) {
    return StoreError{StoreError::Code::refused, "a user's list of notices is not a list, or their hash is not a hash"};
  }
  return {};
}

StoreResult<std::size_t> Notifications::edit(const std::string& user, std::string_view how,
                                             std::span<const std::string> ids) {
  Args args;
  args.add(std::string_view(user));
  args.add(how);
  for (const std::string& id : ids) args.add(std::string_view(id));
  const auto reply = impl_.run(Script::notify_edit, args);
  if (!reply) return reply.error();
  return static_cast<std::size_t>(reply->integer());
}

StoreResult<std::size_t> Notifications::mark_read(const std::string& user, std::span<const std::string> ids) {
  return edit(user, "read", ids);
}

StoreResult<std::size_t> Notifications::mark_unread(const std::string& user, std::span<const std::string> ids) {
  return edit(user, "unread", ids);
}

StoreResult<std::size_t> Notifications::remove(const std::string& user, std::span<const std::string> ids) {
  return edit(user, "delete", ids);
}

StoreResult<std::optional<std::string>> Notifications::watch(const Watch& watch) {
  Args args;
  args.add(std::string_view(watch.user));
  args.add(std::string_view("add"));
  args.add(max_watches);
  args.own(std::string(to_string(watch.kind)) + " " + watch.target);
  const auto reply = impl_.run(Script::watch, args);
  if (!reply) return reply.error();
  const std::string id((*reply)[0].text());
  return id == "0" ? std::optional<std::string>() : std::optional(id);
}

StoreResult<std::size_t> Notifications::unwatch(const std::string& user, std::span<const std::string> ids) {
  Args args;
  args.add(std::string_view(user));
  args.add(std::string_view("remove"));
  args.add(max_watches);
  for (const std::string& id : ids) args.add(std::string_view(id));
  const auto reply = impl_.run(Script::watch, args);
  if (!reply) return reply.error();
  std::size_t gone = 0;
  for (std::size_t i = 0; i < reply->size(); ++i) gone += static_cast<std::size_t>((*reply)[i].integer());
  return gone;
}

StoreResult<std::vector<Watch>> Notifications::watches_of(std::span<const std::string> users) {
  std::vector<std::string> keys;
  keys.reserve(users.size());
  std::vector<Words> commands;
  for (const std::string& user : users) commands.push_back({"HGETALL", keys.emplace_back(impl_.keys.watches(user))});
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  std::vector<Watch> all;
  for (std::size_t i = 0; i < users.size(); ++i) {
    for (const auto& [id, text] : (*replies)[i].pairs()) {
      if (auto watch = read_watch(users[i], id, text)) all.push_back(std::move(*watch));
    }
  }
  std::sort(all.begin(), all.end(), is_older);
  return all;
}

StoreResult<std::vector<Watch>> Notifications::watches(const std::string& user) {
  return watches_of(std::span(&user, 1));
}

StoreResult<std::vector<Watch>> Notifications::all_watches() {
  std::set<std::string> seen;  // SSCAN may return one twice
  std::vector<Watch> all;
  const auto read = impl_.each_page(impl_.keys.watchers(), [&](std::vector<std::string> page) -> StoreResult<bool> {
    std::erase_if(page, [&](const std::string& user) { return !seen.insert(user).second; });
    auto watches = watches_of(page);
    if (!watches) return watches.error();
    std::move(watches->begin(), watches->end(), std::back_inserter(all));
    return true;
  });
  if (!read) return read.error();
  std::sort(all.begin(), all.end(), is_older);
  return all;
}

StoreResult<std::string> Notifications::watch_version() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto reply = impl_.redis.command({"GET", impl_.keys.watch_version()});
  if (!reply) return reply.error();
  return std::string(reply->text());
}

StoreResult<void> Notifications::forget_channel(const std::string& uid, InParts& parts) {
  const auto forget = [&](std::vector<std::string> page) -> StoreResult<bool> {
    if (!parts.may_go_on()) return false;
    const auto watches = watches_of(page);
    if (!watches) return watches.error();
    for (const Watch& watch : *watches) {
      if (watch.kind != Watch::Kind::channel || watch.target != uid) continue;
      if (const auto gone = unwatch(watch.user, std::span(&watch.id, 1)); !gone) return gone.error();
    }
    return true;
  };
  return impl_.each_page(impl_.keys.watchers(), forget, parts.cursor);
}

}  // namespace feedmill
